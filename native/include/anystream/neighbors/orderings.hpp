// Orders in which exemplars are compared, useful ones first. Each function returns a permutation.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// Options of an ordering.
struct OrderWork {
    int threads = 0;
    std::uint64_t seed = 0;
    std::atomic<std::int64_t>* done = nullptr;      // counts up to twice the number of exemplars
    const StopFlag* stop = nullptr;                 // if set, the work ends with std::runtime_error
    std::atomic<std::int64_t>* compared = nullptr;  // counts pairs of exemplars that filling lists again compares
};

/// Throws std::runtime_error if the work was stopped, or what check_interrupts throws.
void throw_if_stopped(const OrderWork& work);

using Order = std::vector<std::int64_t>;

/// SimpleRank of Ueno et al., from the end: the worst exemplar is last.
[[nodiscard]] Order simple_rank(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                                const OrderWork& work);

/// DROP1, DROP2 or DROP3 of Wilson and Martinez as an order (`variant` 1, 2, 3): the exemplar that helps its associates
/// least is removed first.
[[nodiscard]] Order drop_order(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                               int variant, const OrderWork& work);

/// Best first: the exemplars that correct the largest part of the training data, then those closest to the border.
[[nodiscard]] Order greedy_order(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                                 const OrderWork& work);

/// Whether each exemplar's label is another than that of most of its three nearest others (Wilson's editing rule).
[[nodiscard]] std::vector<bool> suspected_noise(const Space& space, std::span<const std::int32_t> labels,
                                                std::size_t classes, const OrderWork& work);

}  // namespace anystream::neighbors
