// The default LOCUST: levels that reach further and further back, and the trust in each of them.
//
// Trust is learned: one labelled point in 128 is classified by each level before it is learned, and levels are
// weighted by exp(-eta * regret) of their discounted logarithmic losses. With a label delay copies of the levels are
// judged that are up to `label_delay` points old, because levels are that old when they classify.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "anystream/column.hpp"
#include "anystream/subspace/level.hpp"
#include "anystream/subspace/level_sampler.hpp"

namespace anystream::subspace {

inline constexpr std::size_t kMaxLevels = 16;

struct LevelsSettings {
    std::size_t levels = 4;  // at most kMaxLevels
    std::size_t level_size = 1024;
    std::size_t stride = 4;
    std::size_t ranges = 8;
    std::size_t support = 24;
    double smoothing = 1.0;
    double kernel = 0.5;
    double affinity = 0.2;
    std::size_t class_floor = 2;
    std::int64_t label_delay = 0;
    std::uint64_t seed = 0;
    std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
    std::vector<std::uint32_t> categorical;
};

/// Const members may run on any number of threads; other members may not run concurrently with any.
class Levels {
  public:
    Levels(LevelsSettings settings, std::size_t dimensions);

    // -- what queries read -----------------------------------------------------------------------------------------
    [[nodiscard]] const LevelsSettings& settings() const noexcept { return settings_; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
    [[nodiscard]] std::size_t size() const noexcept { return levels_.size(); }
    [[nodiscard]] const Level& level(std::size_t l) const noexcept { return levels_[l]; }
    [[nodiscard]] const VoteRule& rule() const noexcept { return rule_; }
    /// The trust in a level; the weights add up to 1, and a level with too few points has 0.
    [[nodiscard]] double weight(std::size_t l) const noexcept { return weight_[l]; }
    /// Its share of the samples, proportional to the root of its weight.
    [[nodiscard]] double share(std::size_t l) const noexcept { return share_[l]; }
    /// The only class of all levels, or -1 if there are more.
    [[nodiscard]] std::int32_t only_class() const noexcept { return only_class_; }
    [[nodiscard]] std::int64_t seen() const noexcept { return seen_; }

    // -- learning --------------------------------------------------------------------------------------------------
    /// Whether learning these points, of `classes` classes, needs no more than `reserve` allocates.
    [[nodiscard]] bool learns_in_place(std::span<const double> values, std::span<const std::int32_t> labels,
                                       std::size_t classes) const noexcept;
    /// Allocates what declaring the classes and learning the points can need; if this throws, nothing has changed that
    /// can be observed.
    void reserve(std::span<const double> values, std::span<const std::int32_t> labels, std::size_t classes);
    /// Points one after another; labels are below classes(). On more than one thread levels learn side by side, with
    /// the same result: then it may throw what the signal check throws, and leaves the model undefined. False if a
    /// value is infinite.
    bool learn(std::span<const double> values, std::span<const std::int32_t> labels, int threads = 1);
    void declare_classes(std::size_t classes);
    void add_features(std::size_t dimensions, std::vector<std::uint32_t> categorical);
    /// One model of all parts: each level holds the youngest points of the parts' levels, by their age in their part.
    static Levels merged(std::span<const Levels* const> parts, std::span<const std::vector<std::int32_t>> class_maps,
                         std::size_t classes);

    // -- storage ---------------------------------------------------------------------------------------------------
    /// The model as arrays: what files and pickles hold.
    struct Arrays {
        Column<float> value;               // (points, dimensions)
        Column<std::int32_t> point_class;  // (points,)
        Column<std::int64_t> arrival;      // (points,)
        Column<std::int64_t> level_state;  // (levels, 4): points, inserted since the cut, points then, surprised?
        Column<float> constant;            // (levels, dimensions)
        Column<float> cut;                 // (cuts,)
        Column<std::int64_t> cut_end;      // (levels, dimensions): where the cuts of a dimension end
        Column<double> regret;             // (settings.levels,)
        Column<std::int64_t> class_seen;   // (classes,)
        Column<std::int64_t> seen;         // (1,)

        [[nodiscard]] NamedColumns columns() {
            return {{"value", &value},           {"point_class", &point_class},
                    {"arrival", &arrival},       {"level_state", &level_state},
                    {"constant", &constant},     {"cut", &cut},
                    {"cut_end", &cut_end},       {"regret", &regret},
                    {"class_seen", &class_seen}, {"seen", &seen}};
        }
    };
    /// All levels, then with a label delay the levels by which they are judged.
    [[nodiscard]] Arrays arrays() const;
    /// Throws DamagedModel if the arrays do not fit each other.
    static Levels from_arrays(LevelsSettings settings, std::size_t dimensions, std::size_t classes,
                              const Arrays& arrays);
    [[nodiscard]] std::size_t own_bytes() const noexcept;

  private:
    static constexpr int kJudgeBits = 64 - 7;  // one point in 2^7 is judged
    static constexpr std::uint64_t kJudgeSamples = 10;
    static constexpr std::size_t kMinPoints = 32;    // a level with fewer is not used, unless it is the first
    static constexpr double kEta = 0.2;              // how sharply losses decide
    static constexpr double kForget = 0.995;         // how fast they are forgotten
    static constexpr double kEvenShare = 0.1;        // of the weight is spread evenly
    static constexpr double kMinProbability = 0.05;  // used in a loss
    static constexpr std::int64_t kNever = -1;
    static constexpr std::size_t kMaxBlock = 8192;   // points that a level learns before it waits for the others
    static constexpr std::size_t kNearBlock = 2048;  // on one thread: they stay in the cache for the next level
    static constexpr std::size_t kMaxJudged = 256;   // points of a block that are judged, at most

    /// Points that all levels learn before the next ones.
    struct Block {
        const double* values = nullptr;
        const std::int32_t* labels = nullptr;
        std::size_t size = 0, judged = 0;
        std::uint8_t levels[kMaxBlock];  // so many levels take the point by its lot
        bool is_judged[kMaxBlock];
    };
    using Losses = std::array<double, kMaxJudged>;  // of the points of a block that are judged
    /// Memory for learning in one level.
    struct Workspace {
        LevelSampler sampler;
        LevelView view;
        Vote vote;
        std::vector<float> row;
    };

    [[nodiscard]] LevelShape shape() const;
    /// The shares of the classes in level l. In the first level, the most recent points, classes have none.
    [[nodiscard]] StreamShares shares(std::size_t l) const noexcept {
        return l == 0 ? StreamShares{} : StreamShares{class_seen_, seen_};
    }
    [[nodiscard]] VoteRule make_rule() const;
    [[nodiscard]] std::size_t bytes_beside_levels() const noexcept;
    void drop_levels(std::size_t max_levels);
    /// The next points, of at most `points`.
    void fill(Block& block, std::size_t points) const noexcept;
    /// Learns a block in level l. `class_seen` is class_seen_, or a copy of it; it is the same afterwards. False if a
    /// value is infinite; the first level looks at all.
    bool learn_block(std::size_t l, const Block& block, Workspace& work, std::span<std::int64_t> class_seen);
    /// The same in every level, side by side.
    bool learn_on_threads(const Block& block, int threads);
    [[nodiscard]] std::size_t levels_that_fit(std::size_t dimensions, std::size_t classes) const;
    [[nodiscard]] std::uint64_t lot(std::int64_t seen) const noexcept;
    /// How many levels take the point of a lot: one in stride^l points goes to level l.
    [[nodiscard]] std::size_t levels_taking(std::uint64_t lot) const noexcept;
    /// The largest number of these points that each level takes.
    [[nodiscard]] std::array<std::size_t, kMaxLevels> max_taken(std::size_t points, std::size_t classes) const noexcept;
    /// The loss of level l for a point.
    [[nodiscard]] double judge(std::size_t l, const float* x, std::int32_t point_class, Workspace& work) const;
    /// Adds the losses of a block to regret_.
    void add_losses(const Block& block);
    /// The first number of points seen, from `seen` on, at which levels are copied.
    [[nodiscard]] std::int64_t next_copy(std::int64_t seen) const noexcept;
    void weigh();

    LevelsSettings settings_;
    std::size_t dimensions_;
    std::size_t classes_ = 0;
    std::int64_t seen_ = 0;
    VoteRule rule_;
    std::vector<Level> levels_;
    std::vector<Level> judged_;             // with a label delay: copies of the levels, not older than the delay
    std::int64_t copied_at_ = kNever;       // points seen when judged_ were copies of levels_
    std::vector<std::int64_t> class_seen_;  // (classes,) points of each class, ever
    std::vector<double> regret_;
    std::vector<double> weight_, share_;
    std::int32_t only_class_ = -1;

    std::vector<Losses> loss_;  // (levels,)
    Workspace work_;            // of learning on one thread
};

}  // namespace anystream::subspace
