// Dynamic time warping of series of equal length within a band, with LB_Keogh and early abandoning.
#pragma once

#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// DTW(x, e) = sqrt of the minimum sum of squared differences along a warping path with |i - j| <= band.
[[nodiscard]] std::unique_ptr<Space> make_dtw_space(std::size_t width, std::size_t band);

}  // namespace anystream::neighbors
