// One query on micro-clusters in progress: a step is one cluster compared. The nearest centroid decides.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/microclusters/clusters.hpp"
#include "anystream/state_bytes.hpp"

namespace anystream::microclusters {

struct QuerySettings {};

/// Reusable: `open` starts a new query in the memory of the last one. One thread at a time.
class ClusterQuery {
  public:
    using Model = Clusters;
    using Settings = QuerySettings;
    static constexpr std::size_t kRecordsPerTask = 64;
    static constexpr std::int64_t kRoundSteps = 4;

    void open(const Clusters& model, const QuerySettings& settings, std::span<const double> x);
    /// Compares one cluster. False if nothing is left to do.
    bool step(const Clusters& model);
    std::int64_t advance(const Clusters& model, std::int64_t steps, StopWatch* watch) {
        return advance_stepwise(*this, model, steps, watch);
    }

    [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
    /// Every cluster was compared, or all are of one class.
    [[nodiscard]] bool exhausted() const noexcept {
        return horizon_->only_class >= 0 || static_cast<std::size_t>(steps_) == horizon_->size();
    }
    [[nodiscard]] bool certified() const noexcept { return exhausted(); }
    /// Inverse squared distances of the nearest cluster of each class, made to sum to 1; class shares before any step.
    void posterior(const Clusters& model, std::span<double> out) const;
    [[nodiscard]] std::size_t label(const Clusters& model) const;

    [[nodiscard]] std::vector<std::byte> suspend() const;
    void resume(const Clusters& model, std::span<const std::byte> state);

  private:
    std::shared_ptr<const Horizon> horizon_;
    std::int64_t steps_ = 0;
    std::vector<float> x_;         // standardised, padded
    std::vector<float> distance_;  // (classes,) squared, to the nearest cluster so far
};

}  // namespace anystream::microclusters
