// The machine-dependent part of the Bayes tree: exponents of a node's Gaussians, and powers of two.
//
// A node's entries are lanes. Its means lie dimension-major, so that one vector load brings one dimension of all
// siblings:  mean[j * lanes + l] is dimension j of entry l. Lanes are a multiple of 4 up to 4, of 8 above.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anystream::bayes_tree {

struct Kernels {
    /// out[l] = sum_j ((x[j] - mean[j, l]) * precision[j, l])^2: every entry has deviations of its own.
    void (*own_exponents)(const float* x, const float* mean, const float* precision, std::size_t dimensions,
                          std::size_t lanes, float* out);
    /// out[l] = sum_j ((x[j] - mean[j, l]) * precision[j])^2: all entries are kernels of one class.
    void (*shared_exponents)(const float* x, const float* mean, const float* precision, std::size_t dimensions,
                             std::size_t lanes, float* out);
    /// out[i] = 2^(log2_value[i] - origin), 0 where that is below 2^-1000; the caller keeps it below 2^1000.
    void (*powers_of_two)(const float* log2_value, float origin, std::size_t count, double* out);
    /// |W z|^2 for the panels of covariance.hpp; z has 8 values per panel, zeros behind the last dimension.
    float (*panel_exponent)(const float* z, const float* values, const std::int32_t* first, std::size_t panels);
    /// out[r] = |W (x_r - mean)|^2 of eight rows at once, in double precision, for learning. x holds dimension j of row
    /// r at j * 8 + r; W is lower triangular: its row i holds the columns begin[i] .. i, and row and column i stand for
    /// dimension order[i]. `scratch` holds 8 values per dimension.
    void (*row_exponents)(const double* x, const double* mean, const std::int32_t* order, const double* factor,
                          const std::int32_t* begin, std::size_t dimensions, double* scratch, double* out);
};

/// The table for this machine, chosen once.
const Kernels& kernels();

}  // namespace anystream::bayes_tree
