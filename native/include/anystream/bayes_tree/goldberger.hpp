// The tree bottom up by mixture reduction: the entries of a level are mapped to fewer Gaussians so that the mixture
// changes little, measured by d(f, g) = sum_i alpha_i min_j KL(f_i || g_j). Regroup (each entry to the Gaussian of the
// smallest divergence) and refit (each Gaussian to its entries' moments) take turns while d falls.
//
// Source: Goldberger and Roweis, "Hierarchical clustering of a mixture model", NIPS 2004, as used by Kranen, Krieger,
// Denker, Seidl, PAKDD 2010, section 3.2. Departures: on levels with many groups an entry is compared with near groups
// only, and a lone entry that finds no group with a free slot stays for the next level (see mixture_reduction.hpp).
#pragma once

#include "anystream/bayes_tree/construction.hpp"

namespace anystream::bayes_tree {

/// Reads fanout, threads, all_groups, kernel_variance (which must be given), placed and stop.
[[nodiscard]] TreeShape goldberger(const Points& points, const BuildOptions& options);

}  // namespace anystream::bayes_tree
