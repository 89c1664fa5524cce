// The choice of a horizon, in portions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace anystream::microclusters {

class Clusters;
struct Horizon;

/// Classifies the points held back with every horizon; the one with the most right answers is the outcome, the longest
/// of several. It sees the model as it was when the choice began, so the outcome does not depend on the portions.
class HorizonChoice {
  public:
    /// Points held back before `first_held` take no part: an earlier choice used them.
    HorizonChoice(std::shared_ptr<const Clusters> then, std::size_t first_held);

    /// Classifications of one point with one horizon.
    [[nodiscard]] std::size_t work() const noexcept;
    /// Works until `target` classifications are done; returns the distances computed. If an allocation fails, what is
    /// done stays done.
    std::uint64_t advance(std::size_t target);
    /// The time of the snapshot that the best horizon begins with, or -1 for the whole past, as far as is known.
    [[nodiscard]] std::int64_t best_time() const noexcept { return best_time_; }
    [[nodiscard]] std::size_t own_bytes() const noexcept;

  private:
    std::shared_ptr<const Clusters> then_;
    std::size_t first_held_;
    std::size_t done_ = 0;
    std::size_t right_ = 0, best_right_ = 0;
    std::int64_t best_time_ = -1;
    std::shared_ptr<const Horizon> horizon_;  // in use
    std::vector<float> row_;                  // scratch
};

}  // namespace anystream::microclusters
