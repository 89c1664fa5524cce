// Neighbourhood components analysis with one weight per feature: how well kernels of width one over the others classify
// each row, and how that changes with the weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace anystream::bayes_tree {

/// With p_ij proportional to exp(-sum_k weight_k (z_ik - z_jk)^2) over j != i: the mean over i of
/// log sum_{j of the class of i} p_ij, and in `gradient`, (d,), its derivatives by log weight_k. Rows without a
/// visible neighbour of their class do not count. z is (rows, d).
double neighbour_gradient(std::span<const double> z, std::span<const std::int32_t> label,
                          std::span<const double> weight, int threads, std::span<double> gradient);

}  // namespace anystream::bayes_tree
