// The tree bottom up by EM over Gaussians: each entry f_i of a level stands for a block of R_i samples, all of which
// come from the same component g_j of the coarser mixture.
//
//     E:  z_ij ~ alpha_j [G(mu_i; mu_j, Sigma_j) exp(-1/2 tr(Sigma_j^-1 Sigma_i))]^R_i
//     M:  alpha_j = sum_i z_ij / r,  mu_j and Sigma_j the moments under the weights z_ij R_i
//
// R_i is the number of records below the entry. In the end each entry goes to the component of its highest z_ij.
//
// Source: Vasconcelos and Lippman, "Learning mixture hierarchies", NIPS 1998, as used by Kranen, Krieger, Denker,
// Seidl, PAKDD 2010, section 3.2. Departures: as in goldberger.hpp.
#pragma once

#include "anystream/bayes_tree/construction.hpp"

namespace anystream::bayes_tree {

/// Reads fanout, threads, all_groups, tolerance, kernel_variance (which must be given), placed and stop.
[[nodiscard]] TreeShape virtual_sampling(const Points& points, const BuildOptions& options);

}  // namespace anystream::bayes_tree
