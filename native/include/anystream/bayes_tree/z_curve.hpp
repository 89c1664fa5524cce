// The tree by packing along the z-curve: records in curve order fill one leaf node after the other, the means of the
// nodes are ordered and packed again, until one node is left. All nodes are full but the last of each level.
//
// Source: Kranen, Krieger, Denker, Seidl, PAKDD 2010, section 3.3.
#pragma once

#include "anystream/bayes_tree/construction.hpp"

namespace anystream::bayes_tree {

/// Reads fanout, threads, placed and stop.
[[nodiscard]] TreeShape z_curve(const Points& points, const BuildOptions& options);

}  // namespace anystream::bayes_tree
