// The original Bayes tree: the records are inserted one after the other, as into an R-tree.
//
// A record descends into the entry whose box grows least in volume (ties: the smaller box, then the first). A node of
// fanout + 1 entries is split in two of at least 2 by Guttman's quadratic method: the two entries whose common box
// wastes the most volume are the seeds, then the entry that prefers one side most goes there, and so on.
//
// Volumes are taken in units of the class's bounding box, without the dimensions in which the class is constant: that
// compares alike and does not overflow. In many dimensions most volumes are 0 or underflow to it; the first entry then
// wins, a weakness that the bulk loadings do not have.
//
// Source: Guttman, "R-trees: a dynamic index structure for spatial searching", SIGMOD 1984; Seidl, Assent, Kranen,
// Krieger, Herrmann, EDBT 2009.
#pragma once

#include "anystream/bayes_tree/construction.hpp"

namespace anystream::bayes_tree {

/// Reads fanout (at least 3, since a split leaves 2 entries or more on each side), placed and stop.
[[nodiscard]] TreeShape guttman(const Points& points, const BuildOptions& options);

}  // namespace anystream::bayes_tree
