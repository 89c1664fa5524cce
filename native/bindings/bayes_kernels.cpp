// The kernels of Bayes forests for Python, for tests.
#include "anystream/bayes_tree/kernels.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"

namespace anystream::bindings {

using namespace anystream::bayes_tree;

void bind_bayes_kernels(nb::module_& m) {
    m.def(
        "bayes_densities",
        [](Vector<float> x, Vector<float> mean, Vector<float> precision, Vector<float> log2_norm,
           Vector<float> log2_count, OutVector<float> log2_density, OutVector<float> log2_value) {
            const std::size_t lanes = log2_density.size();
            require_equal("length of mean", mean.size(), x.size() * lanes);
            require_equal("length of log2_value", log2_value.size(), lanes);
            if (lanes != 4 && lanes % 8 != 0) throw std::invalid_argument("lanes must be 4 or a multiple of 8");
            if (log2_norm.size() == 1) {
                require_equal("length of precision", precision.size(), x.size());
                kernels().shared_densities(x.data(), mean.data(), precision.data(), log2_norm.data()[0], x.size(),
                                           lanes, log2_density.data());
                return;
            }
            require_equal("length of precision", precision.size(), mean.size());
            require_equal("length of log2_norm", log2_norm.size(), lanes);
            require_equal("length of log2_count", log2_count.size(), lanes);
            kernels().own_densities(x.data(),
                                    {mean.data(), precision.data(), log2_norm.data(), log2_count.data(), lanes},
                                    x.size(), log2_density.data(), log2_value.data());
        },
        "x"_a.noconvert(), "mean"_a.noconvert(), "precision"_a.noconvert(), "log2_norm"_a.noconvert(),
        "log2_count"_a.noconvert(), "log2_density"_a.noconvert(), "log2_value"_a.noconvert(),
        "The log2 densities of a node's entries, or with a single norm of a class's kernels; for tests.");
    m.def(
        "bayes_box_exponents",
        [](Vector<double> x, Vector<float> precision, Vector<float> low, Vector<float> high, Vector<double> mean,
           Vector<double> scatter, double share) {
            for (const std::size_t size : {precision.size(), low.size(), high.size(), mean.size(), scatter.size()})
                require_equal("length of an array", size, x.size());
            const BoxExponents u = kernels().box_exponents(
                x.data(), precision.data(), {low.data(), high.data(), mean.data(), scatter.data(), share}, x.size());
            return std::tuple(u.lowest, u.mean, u.highest, u.reach);
        },
        "x"_a.noconvert(), "precision"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "mean"_a.noconvert(),
        "scatter"_a.noconvert(), "share"_a, "Bounds on the exponents of a cloud of records; for tests.");
    m.def(
        "powers_of_two",
        [](Vector<float> log2_value, float origin, OutVector<double> out) {
            require_equal("length of out", out.size(), log2_value.size());
            kernels().powers_of_two(log2_value.data(), origin, out.size(), out.data());
        },
        "log2_value"_a.noconvert(), "origin"_a, "out"_a.noconvert(), "2^(log2_value - origin), for tests.");
}

}  // namespace anystream::bindings
