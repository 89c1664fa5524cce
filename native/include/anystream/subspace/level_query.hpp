// One query on levels in progress: a step is one subspace sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/state_bytes.hpp"
#include "anystream/subspace/levels.hpp"
#include "anystream/subspace/sequential_test.hpp"

namespace anystream::subspace {

/// When a query is done.
struct SamplingSettings {
    std::int64_t max_samples = 100;
    double error = 0.0;  // of the sequential test; 0: do not test
};

/// Reusable: `open` starts a new query in the memory of the last one. One thread at a time.
class LevelQuery {
  public:
    using Model = Levels;
    using Settings = SamplingSettings;
    static constexpr std::size_t kRecordsPerTask = 64;
    static constexpr std::int64_t kRoundSteps = 4;

    void open(const Levels& model, const SamplingSettings& settings, std::span<const double> x);
    /// One sample, in the level that is furthest behind its share. False if nothing is left to do.
    bool step(const Levels& model);
    std::int64_t advance(const Levels& model, std::int64_t steps, StopWatch* watch) {
        return advance_stepwise(*this, model, steps, watch);
    }

    [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
    /// No sample is left, or none can change the label: with certainty, or with the error probability of the test.
    [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }
    [[nodiscard]] bool certified() const noexcept { return exhausted_; }
    void posterior(const Levels& model, std::span<double> out) const;
    [[nodiscard]] std::size_t label(const Levels& model) const;

    [[nodiscard]] std::vector<std::byte> suspend() const;
    void resume(const Levels& model, std::span<const std::byte> state);

  private:
    void prepare(const Levels& model);
    [[nodiscard]] std::size_t next_level(const Levels& model, const std::vector<std::int64_t>& given,
                                         std::int64_t step) const;
    void check_exhausted(const Levels& model);
    [[nodiscard]] bool cannot_change(const Levels& model);
    [[nodiscard]] double score(const Levels& model, std::size_t c) const;

    static constexpr std::int64_t kCheckEvery = 8;  // samples between two checks whether the rest can change the label

    SamplingSettings settings_;
    std::int64_t steps_ = 0;
    bool exhausted_ = false;
    std::uint64_t seed_ = 0;
    std::vector<float> x_;             // padded
    std::vector<std::int64_t> given_;  // (levels,) samples so far
    std::vector<double> sum_;          // (levels, classes) of the votes for touched classes
    std::vector<double> prior_sum_;    // (levels,) of the votes that follow the level's class shares
    SequentialTest test_;

    std::vector<LevelView> view_;      // scratch
    std::vector<std::int64_t> final_;  // samples per level at the end; empty until needed
    LevelSampler sampler_;
    Vote vote_;
};

}  // namespace anystream::subspace
