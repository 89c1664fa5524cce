#include "anystream/bayes_tree/tree_shape.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <optional>

#include "anystream/bayes_tree/em_top_down.hpp"
#include "anystream/bayes_tree/goldberger.hpp"
#include "anystream/bayes_tree/guttman.hpp"
#include "anystream/bayes_tree/hilbert.hpp"
#include "anystream/bayes_tree/str_packing.hpp"
#include "anystream/bayes_tree/virtual_sampling.hpp"
#include "anystream/bayes_tree/z_curve.hpp"
#include "bindings.hpp"

namespace anystream::bindings {
namespace {

using namespace bayes_tree;

struct Method {
    const char* name;
    TreeShape (*build)(const Points&, const BuildOptions&);
};
constexpr Method kMethods[] = {
    {"em_top_down", em_top_down}, {"goldberger", goldberger}, {"virtual_sampling", virtual_sampling},
    {"hilbert", hilbert},         {"z_curve", z_curve},       {"str_packing", str_packing},
    {"guttman", guttman},
};

const Method& method_named(const std::string& name) {
    std::string known;
    for (const Method& method : kMethods) {
        if (name == method.name) return method;
        known += std::string(known.empty() ? "" : ", ") + method.name;
    }
    throw std::invalid_argument("method is '" + name + "'; pass one of " + known);
}

std::size_t checked_min(const char* what, std::int64_t value, std::int64_t min) {
    if (value >= min) return static_cast<std::size_t>(value);
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) + "; pass at least " +
                                std::to_string(min));
}

}  // namespace

void bind_tree_shape(nb::module_& m) {
    m.def(
        "build_shape",
        [](const std::string& method, Matrix<double> points, std::int64_t fanout, std::uint64_t seed, int threads,
           std::int64_t sample_size, std::optional<std::size_t> window, double tolerance,
           std::optional<Vector<double>> kernel_variance, Counter* progress, const StopFlag* stop) {
            const Method& chosen = method_named(method);
            BuildOptions options;
            options.fanout = checked_min("fanout", fanout, 2);
            options.seed = seed;
            options.threads = threads;
            options.sample_size = checked_min("sample_size", sample_size, 2);
            options.all_groups = window.value_or(std::numeric_limits<std::size_t>::max());
            options.tolerance = tolerance;
            if (kernel_variance) options.kernel_variance = as_span(*kernel_variance);
            options.placed = progress == nullptr ? nullptr : &progress->value;
            options.stop = stop;
            const Points records{as_span(points), points.shape(1)};
            TreeShape shape;
            {
                nb::gil_scoped_release unlocked;
                shape = chosen.build(records, options);
            }
            return std::pair(to_numpy(std::move(shape.first_entry)), to_numpy(std::move(shape.entry)));
        },
        "method"_a, "points"_a.noconvert(), nb::kw_only(), "fanout"_a, "seed"_a = 0, "threads"_a = 1,
        "sample_size"_a = 2000, "window"_a.none() = 512, "tolerance"_a = 1e-2,
        "kernel_variance"_a.noconvert().none() = nb::none(), "progress"_a.none() = nb::none(),
        "stop"_a.none() = nb::none(),
        "The tree of one class's records, as (first_entry, entry): node i owns entry[first_entry[i]:first_entry[i + "
        "1]],\n"
        "where a number >= 0 is a child node and ~entry a record.\n\n"
        "`method` is em_top_down (which alone reads `seed` and `sample_size`), goldberger or virtual_sampling (which\n"
        "alone read `kernel_variance` and `window`, the latter `tolerance` too), hilbert, z_curve, str_packing or "
        "guttman. `progress` counts the records "
        "placed;\n"
        "setting `stop` ends the work with BuildStopped.");
}

}  // namespace anystream::bindings
