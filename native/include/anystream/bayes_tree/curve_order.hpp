// The order of points along a space-filling curve, in any number of dimensions.
//
// Each dimension's range is cut into 2^16 equal cells. A point's key takes the highest bit of each cell number, one
// dimension after the other, then the second highest, and so on: 16 d bits, compared as one long integer. That is the
// z-curve; the Hilbert curve transforms the cell numbers first (Skilling, "Programming the Hilbert curve", 2004), so
// that neighbours on the curve are neighbours in space.
#pragma once

#include <vector>

#include "anystream/bayes_tree/bottom_up.hpp"

namespace anystream::bayes_tree {

enum class Curve { kZ, kHilbert };

/// The positions of the level's means along the curve; equal keys stay in order.
[[nodiscard]] std::vector<std::int32_t> curve_order(const Level& level, Curve curve, const BuildOptions& options);

}  // namespace anystream::bayes_tree
