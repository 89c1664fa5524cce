// The machine-dependent part of gaussian_lanes.hpp, chosen once by the instructions that the machine offers.
#pragma once

#include <cstddef>

namespace anystream::bayes_tree {

/// The arrays of GaussianLanes, borrowed.
struct LaneView {
    const double* mean;
    const double* precision;
    const double* constant;
    std::size_t dimensions;
};

struct LaneKernels {
    /// constant - sum_i (rows[r][i] - mean)^2 precision, for the Gaussians of blocks [first, last). Those of row r go
    /// to out[r * row_distance ..], those of the first block first.
    void (*log_density)(const LaneView& lanes, std::size_t first, std::size_t last, const double* const* rows,
                        std::size_t count, double* out, std::size_t row_distance);

    /// The same with (rows[r][i] - mean)^2 + variances[r][i] in place of the square.
    void (*expected_log_density)(const LaneView& lanes, std::size_t first, std::size_t last, const double* const* rows,
                                 const double* const* variances, std::size_t count, double* out,
                                 std::size_t row_distance);

    /// sum += weight[r] * rows[r] and square += weight[r] * rows[r]^2 for the rows r = 0 .. count - 1 in this order;
    /// `size` is a multiple of 8.
    void (*add_moments)(const double* const* rows, const double* weight, std::size_t count, std::size_t size,
                        double* sum, double* square);
};

const LaneKernels& lane_kernels();

}  // namespace anystream::bayes_tree
