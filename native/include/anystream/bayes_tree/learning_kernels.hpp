// The machine-dependent part of EM and of margin maximisation, chosen once by the instructions that the machine offers.
#pragma once

#include <cstddef>

namespace anystream::bayes_tree {

struct LearningKernels {
    /// out[i] = portable_exp(x[i]) of values that are not above 0.
    void (*exponentials)(const double* x, std::size_t count, double* out);

    /// scatter[i, j] += weight[r] z[r, i] z[r, j] for j <= i and the rows r = 0 .. count - 1 in this order; above the
    /// diagonal it leaves values that mean nothing. Row r of z begins at r * size; `scratch` holds `count` values.
    void (*add_scatter)(const double* z, const double* weight, std::size_t count, std::size_t size, double* scratch,
                        double* scatter);

    /// offset[j] += weight[r] z[r, j] for the rows r = 0 .. count - 1 in this order.
    void (*add_offsets)(const double* z, const double* weight, std::size_t count, std::size_t size, double* offset);

    // Eight rows are lanes in what follows: value i of row r lies at i * 8 + r.

    /// out[r] = log_scale - |W (x_r - mean)|^2 / 2; W is lower triangular, its row i holds the columns 0 .. i, and the
    /// rows follow each other. `scratch` holds 8 values per dimension.
    void (*log_joints)(const double* x, const double* mean, const double* factor, double log_scale,
                       std::size_t dimensions, double* scratch, double* out);

    /// peak[r] = the largest of `count` values of row r, sum[r] = the sum of e^(scale (value - peak)) in their order;
    /// terms below e^kInvisible are left out.
    void (*exponential_sums)(const double* values, std::size_t count, double scale, double* peak, double* sum);

    /// out[i * stride + r] = -influence[r] e^min(scale * value - log_sum[r], 0) for `count` values of every row; 0
    /// where the exponential is below e^kInvisible, or the result is nearer to 0 than `negligible`.
    void (*rival_weights)(const double* values, std::size_t count, double scale, const double* log_sum,
                          const double* influence, double negligible, double* out, std::size_t stride);
};

/// Log of a share that no longer changes a sum.
inline constexpr double kInvisible = -40.0;

const LearningKernels& learning_kernels();

}  // namespace anystream::bayes_tree
