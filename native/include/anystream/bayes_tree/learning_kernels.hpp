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
};

const LearningKernels& learning_kernels();

}  // namespace anystream::bayes_tree
