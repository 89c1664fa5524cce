// Bounds on the density of a class after all refinements, and whether they decide the label.
//
// Complete densities are sums of kernels. The kernels below a node have their centres in the node's box, and their
// exponents u_i = |(x - x_i) / h|^2 lie between those of the box's nearest and farthest corner. Their mean follows from
// the node's mean and variance. Since exp(-u / 2) is convex in u, n records together have a density of
//
//     at least  n exp(-mean(u) / 2)                              (Jensen)
//     at most   n times the chord from u_min to u_max at mean(u)
//
// Exhausted queries sum kernels in single precision. The bounds are widened by the rounding error of such a
// sum, so that a certified label is always the label of the exhausted query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anystream/bayes_tree/forest.hpp"
#include "anystream/scaled.hpp"

namespace anystream::bayes_tree {

/// The bounds of one query's classes, as its frontiers change. `forest` is always the forest of the query.
class Certificate {
  public:
    /// Sums of a class's bounds, relative to 2^origin.
    struct Sums {
        double lower = 0.0, upper = 0.0;
        double peak = 0.0;  // the largest upper sum since they were last added up: the rounding error is relative to it
        double origin = 0.0;
    };

    /// Starts a query; class c's density is multiplied by 2^log2_factor[c] (empty: by one). Then `add_up` must be
    /// called for every class.
    void open(const Forest& forest, std::span<const float> x, bool missing, std::span<const double> log2_factor);
    /// The sums of a class whose frontier is these nodes and kernels (log2 of their densities).
    void add_up(const Forest& forest, std::size_t point_class, std::span<const std::int32_t> nodes,
                std::span<const float> kernels);

    /// The class refines a node of its frontier into these entries (nodes, or records with the log2 of their
    /// densities). priority[i] becomes a number that grows with how far the bounds of entry i are apart, if it is a
    /// node.
    void refine(const Forest& forest, std::size_t point_class, std::int32_t refined,
                std::span<const std::int32_t> entries, std::span<const float> log2_value, std::span<float> priority);
    /// Whether the sums of a class lost too many digits and must be summed again.
    [[nodiscard]] bool worn(std::size_t point_class) const noexcept;

    /// Whether one class's density will exceed those of all others.
    [[nodiscard]] bool decided() const noexcept;
    /// A number that grows with the class's upper bound, and one with how far its bounds are apart.
    [[nodiscard]] double upper_key(std::size_t point_class) const noexcept { return upper_key_[point_class]; }
    [[nodiscard]] double width_key(std::size_t point_class) const noexcept;
    [[nodiscard]] Scaled lower(std::size_t point_class) const noexcept;
    [[nodiscard]] Scaled upper(std::size_t point_class) const noexcept;
    [[nodiscard]] Scaled middle(std::size_t point_class) const noexcept;

    /// The part of a suspended query's state.
    [[nodiscard]] const std::vector<Sums>& sums() const noexcept { return sums_; }
    void set_sums(std::vector<Sums> sums);
    /// Whether these sums, one per class, are the present ones but for rounding.
    [[nodiscard]] bool agrees_with(std::span<const Sums> sums) const noexcept;

  private:
    /// Bounds of the density of n records: n 2^lower, and n times between 2^upper and 2^floor on the chord, at `near`.
    struct Bounds {
        double count, lower, upper, floor, near;
    };
    static constexpr std::size_t kAtOnce = 8;

    [[nodiscard]] Bounds bounds(const Forest& forest, std::size_t point_class, std::size_t node) const noexcept;
    /// The bounds relative to 2^origin, of at most kAtOnce nodes.
    static void values(std::span<const Bounds> of, double origin, double* lower, double* upper) noexcept;
    void add_kernels(std::size_t point_class, std::span<const float> log2_value) noexcept;
    void renew_keys(std::size_t point_class) noexcept;

    std::vector<double> x_;             // missing dimensions are 0, and so is their precision
    std::vector<float> own_precision_;  // (classes, d), used if the query misses dimensions
    bool missing_ = false;
    std::vector<double> log2_norm_, log2_factor_;  // (classes,)
    std::vector<Sums> sums_;
    std::vector<double> lower_key_, upper_key_;  // (classes,) order_key of the bounds; -inf: no density
    std::vector<Bounds> found_;                  // scratch
};

}  // namespace anystream::bayes_tree
