// The published LOCUST: the blocks that are kept, and the one that is being filled.
//
// A block is used from a sixteenth of its size on (the first one at once) and is rebuilt whenever its
// points have doubled, so about half of its points can be found. Building takes steps, one with each record that is
// learned, up to `build_within`; the block is used when its building ends. It ends before the next one starts, except
// that a block that is full is built anew at once. When a block is first used, each older block
// is dropped with probability 1 - 2^-lambda: block t is there at time t_c with probability 2^(lambda (t - t_c)), which
// is what Eq. 10 adds up. (The paper prints 2^-lambda as the probability of being dropped; with that Eq. 10 would not
// hold.)
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "anystream/column.hpp"
#include "anystream/subspace/block_building.hpp"

namespace anystream::subspace {

struct BlocksSettings {
    std::size_t block_size = 20'000;  // at most kMaxPoints
    std::size_t ranges = 10;          // Phi
    double decay = 0.2;               // lambda
    std::size_t max_blocks = 10;      // q
    std::size_t build_within = 256;   // records; at most a sixteenth of the points, 0 and 1: at once
    std::uint64_t seed = 0;
    std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
    std::vector<std::uint32_t> categorical;
};

/// Const members may run on any number of threads; other members may not run concurrently with any.
class Blocks {
  public:
    Blocks(BlocksSettings settings, std::size_t dimensions);

    // -- what queries read -----------------------------------------------------------------------------------------
    [[nodiscard]] const BlocksSettings& settings() const noexcept { return settings_; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
    /// Blocks in use, r; the newest is the last.
    [[nodiscard]] std::size_t size() const noexcept { return blocks_.size(); }
    [[nodiscard]] const Block& block(std::size_t b) const noexcept { return *blocks_[b]; }
    /// The only class of all blocks, or -1 if there are more.
    [[nodiscard]] std::int32_t only_class() const noexcept { return only_class_; }
    /// When a class was first learned: breaks ties between classes, independently of their numbers.
    [[nodiscard]] std::int64_t first_seen(std::size_t c) const noexcept { return first_seen_[c]; }
    [[nodiscard]] std::int64_t seen() const noexcept { return seen_; }

    // -- learning --------------------------------------------------------------------------------------------------
    /// Whether learning these points neither starts nor ends a building, so that `reserve` suffices.
    [[nodiscard]] bool learns_in_place(std::span<const double> values, std::span<const std::int32_t> labels,
                                       std::size_t classes) const noexcept;
    /// Allocates what declaring the classes and learning the points can need; if this throws, nothing has changed that
    /// can be observed.
    void reserve(std::span<const double> values, std::span<const std::int32_t> labels, std::size_t classes);
    void learn(std::span<const double> values, std::span<const std::int32_t> labels);
    /// Ends a building at once.
    void finish_building();
    [[nodiscard]] bool is_building() const noexcept { return building_.has_value(); }
    void declare_classes(std::size_t classes);
    void add_features(std::size_t dimensions, std::vector<std::uint32_t> categorical);
    /// Blocks of equal age become one: their points, as exactly as the blocks store them, thinned evenly to one block's
    /// size. The blocks being filled are closed.
    static Blocks merged(std::span<const Blocks* const> parts, std::span<const std::vector<std::int32_t>> class_maps,
                         std::size_t classes);

    // -- storage ---------------------------------------------------------------------------------------------------
    /// The model as arrays: what files and pickles hold.
    struct Arrays {
        Column<std::uint8_t> code;         // (points of blocks, dimensions)
        Column<std::int32_t> point_class;  // (points of blocks,)
        Column<std::int64_t> block_size;   // (blocks,)
        Column<float> middle;              // (ranges of all dimensions of all blocks,)
        Column<float> cut;                 // (cuts,)
        Column<std::int64_t> cut_end;      // (blocks, dimensions)
        Column<float> open_value;          // (open points, dimensions)
        Column<std::int32_t> open_class;   // (open points,)
        Column<float> full_value;          // (points of the full block that is being built, dimensions)
        Column<std::int32_t> full_class;   // (points of the full block that is being built,)
        Column<std::int64_t> state;       // (5,): seen, begun blocks, points of the open block built, in use?, steps of
                                          // the present building or 0
        Column<std::int64_t> first_seen;  // (classes,)

        [[nodiscard]] NamedColumns columns() {
            return {{"code", &code},
                    {"point_class", &point_class},
                    {"block_size", &block_size},
                    {"middle", &middle},
                    {"cut", &cut},
                    {"cut_end", &cut_end},
                    {"open_value", &open_value},
                    {"open_class", &open_class},
                    {"full_value", &full_value},
                    {"full_class", &full_class},
                    {"state", &state},
                    {"first_seen", &first_seen}};
        }
    };
    [[nodiscard]] Arrays arrays() const;
    /// Throws DamagedModel if the arrays do not fit each other.
    static Blocks from_arrays(BlocksSettings settings, std::size_t dimensions, std::size_t classes,
                              const Arrays& arrays);
    [[nodiscard]] std::size_t own_bytes() const noexcept;

  private:
    [[nodiscard]] std::size_t blocks_that_fit(std::size_t dimensions, std::size_t classes) const;
    void start_building();
    void step_building();
    void publish(std::shared_ptr<const Block> block);
    [[nodiscard]] std::size_t steps_for(std::size_t points) const noexcept;
    /// The points of the present building, and perhaps points after them.
    [[nodiscard]] BlockPoints points_to_build() const noexcept;
    void restart_building(std::size_t points, std::size_t steps, std::size_t taken);
    void drop_old_blocks();
    void find_only_class();

    BlocksSettings settings_;
    std::size_t dimensions_;
    std::size_t classes_ = 0;
    std::int64_t seen_ = 0;
    std::int64_t begun_ = 0;                            // blocks that have been used, t_c
    std::vector<std::shared_ptr<const Block>> blocks_;  // shared with copies: a block never changes
    bool open_in_use_ = false;                          // the last of them is the one being filled
    std::int64_t built_ = 0;                            // the number of its points when it was built
    std::vector<float> open_value_;
    std::vector<std::int32_t> open_class_;
    std::vector<std::int64_t> first_seen_;  // (classes,), kNever for one that is only declared
    std::int32_t only_class_ = -1;
    struct Points {
        std::vector<float> value;
        std::vector<std::int32_t> point_class;
    };
    std::shared_ptr<const Points> full_;  // the full block before the open one, while it is being built; never changes
    std::optional<BlockBuilding> building_;  // of the full block, or of the first built_ points of the open one
    std::vector<float> row_;                 // scratch

    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
};

}  // namespace anystream::subspace
