// The tree by sort-tile-recursive packing: the entries are sorted by the first dimension and cut into slabs, each slab
// is sorted by the second dimension and cut, and so on, so that tiles have about as many cuts in each dimension. One
// tile is one node; the means of the nodes are packed again, until one node is left.
//
// Source: Leutenegger, Lopez, Edgington, "STR: a simple and efficient algorithm for R-tree packing", ICDE 1997. With
// P = ceil(N / M) tiles and k dimensions left, a slab takes M ceil(P^((k - 1) / k)) entries.
#pragma once

#include "anystream/bayes_tree/construction.hpp"

namespace anystream::bayes_tree {

/// Reads fanout, placed and stop.
[[nodiscard]] TreeShape str_packing(const Points& points, const BuildOptions& options);

}  // namespace anystream::bayes_tree
