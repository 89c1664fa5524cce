// One query on blocks in progress: the algorithm of the paper's Figure 1. A step is one subspace sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/state_bytes.hpp"
#include "anystream/subspace/blocks.hpp"
#include "anystream/subspace/dimension_draw.hpp"
#include "anystream/subspace/sequential_test.hpp"

namespace anystream::subspace {

enum class Dominant : std::int32_t { count, lift };
enum class Votes : std::int32_t { plain, gamma };
enum class Failed : std::int32_t { fallback, vote, silent };
/// A dimension that would leave no point: it is skipped, or the sample ends without a vote.
enum class Empty : std::int32_t { skip, end };

/// How dimensions are drawn: by gini^power, or by a power that falls as samples are taken (`adaptive`).
struct BlockSampling {
    double power = 1.0;           // 0 unbiased, 0.5 square root, 1 proportional
    bool adaptive = false;        // 1 for the first 2 samples, 0.5 up to the 50th, then 0
    double significance = 3.0;    // t
    std::int64_t min_points = 5;  // n_thresh
    Dominant dominant = Dominant::count;
    Votes votes = Votes::plain;
    Failed failed = Failed::fallback;
    Empty empty = Empty::skip;
    std::int64_t max_samples = 100;
    double error = 0.0;  // of the sequential test; 0: do not test
};

/// Reusable: `open` starts a new query in the memory of the last one. One thread at a time.
class BlockQuery {
  public:
    using Model = Blocks;
    using Settings = BlockSampling;
    static constexpr std::size_t kRecordsPerTask = 64;
    static constexpr std::int64_t kRoundSteps = 4;

    void open(const Blocks& model, const BlockSampling& settings, std::span<const double> x);
    /// One sample; the blocks take turns, the newest first. False if nothing is left to do.
    bool step(const Blocks& model);
    std::int64_t advance(const Blocks& model, std::int64_t steps, StopWatch* watch) {
        return advance_stepwise(*this, model, steps, watch);
    }

    [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
    [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }
    [[nodiscard]] bool certified() const noexcept { return exhausted_; }
    void posterior(const Blocks& model, std::span<double> out) const;
    [[nodiscard]] std::size_t label(const Blocks& model) const;

    [[nodiscard]] std::vector<std::byte> suspend() const;
    void resume(const Blocks& model, std::span<const std::byte> state);

  private:
    struct View {
        bool open = false;
        std::vector<std::uint8_t> code;
        double power = -1.0;  // for which the weights were computed
        DimensionWeights weights;
    };
    static constexpr std::size_t kNoClass = static_cast<std::size_t>(-1);
    struct Sampled {
        std::size_t dominant;  // kNoClass if no point is left
        double gamma;
        bool success;
    };

    void prepare(const Blocks& model);
    [[nodiscard]] double power() const noexcept;
    [[nodiscard]] const View& look(const Blocks& model, std::size_t b);
    [[nodiscard]] Sampled sample(const Blocks& model, std::size_t b, const View& view, Generator& random);
    [[nodiscard]] Sampled judge(const Blocks& model, const Block& block, std::size_t size) const;
    void check_exhausted(const Blocks& model);
    /// The votes that decide at present: successes, or failures if there is no success yet and failures may vote.
    [[nodiscard]] const std::vector<double>* deciding() const noexcept;

    BlockSampling settings_;
    std::int64_t steps_ = 0;
    bool exhausted_ = false;
    double succeeded_ = 0.0, failed_ = 0.0;  // sums of the votes
    std::uint64_t seed_ = 0;
    std::vector<float> x_;          // padded
    std::vector<double> vote_;      // (classes,) Count(r) of successes
    std::vector<double> fallback_;  // (classes,) of failures
    SequentialTest test_;

    std::vector<View> view_;  // scratch
    DimensionDraw draw_;
    std::vector<std::uint64_t> narrowed_[2];
    std::vector<std::uint32_t> count_, next_count_;  // (slots of the block,) of U
};

}  // namespace anystream::subspace
