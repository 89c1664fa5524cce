// EMTopDown: the tree by recursive clustering, from the whole class down to the records.
//
// Every set of more than `fanout` records is cut into at most `fanout` clusters by a mixture of diagonal Gaussians (EM
// from a Var-Part start, then each record to its most probable component). A cluster of one record becomes a kernel in
// place, one of at most `fanout` records a leaf node, a larger one is cut again. The tree need not be balanced.
//
// Source: Kranen, Krieger, Denker, Seidl, "Bulk loading hierarchical mixture models for efficient stream
// classification", PAKDD 2010, section 3.2; the start is Su and Dy, "In search of deterministic methods for
// initializing K-means and Gaussian mixture clustering", 2007.
#pragma once

#include "anystream/bayes_tree/construction.hpp"

namespace anystream::bayes_tree {

/// Reads fanout, seed, threads, sample_size, placed and stop.
[[nodiscard]] TreeShape em_top_down(const Points& points, const BuildOptions& options);

}  // namespace anystream::bayes_tree
