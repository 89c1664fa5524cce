// One query on micro-clusters in progress: a step is one cluster compared. The nearest centroid decides.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "anystream/microclusters/clusters.hpp"
#include "anystream/state_bytes.hpp"

namespace anystream::microclusters {

struct QuerySettings {};

/// Reusable: `open` starts a new query in the memory of the last one. One thread at a time.
class ClusterQuery {
  public:
    using Model = Clusters;
    using Settings = QuerySettings;

    void open(const Clusters& model, const QuerySettings& settings, const double* x);
    bool step(const Clusters& model);

    [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
    /// Every cluster was compared, or all are of one class.
    [[nodiscard]] bool finished() const noexcept {
        return horizon_->only_class >= 0 || static_cast<std::size_t>(steps_) == horizon_->size();
    }
    /// Inverse squared distances of the nearest cluster of each class, made to sum to 1; class shares before any step.
    void posterior(std::span<double> out) const;
    [[nodiscard]] std::size_t label() const;

    [[nodiscard]] std::vector<std::byte> suspend() const;
    void resume(const Clusters& model, std::span<const std::byte> state);

  private:
    std::shared_ptr<const Horizon> horizon_;
    std::int64_t steps_ = 0;
    std::vector<float> x_;         // standardised, padded
    std::vector<float> distance_;  // (classes,) squared, to the nearest cluster so far
};

}  // namespace anystream::microclusters
