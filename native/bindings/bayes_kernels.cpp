// The kernels of Bayes forests for Python, for tests.
#include "anystream/bayes_tree/kernels.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <tuple>
#include <vector>

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
            std::vector<float> density(std::max<std::size_t>(lanes, 8)), value(density.size());
            if (log2_norm.size() == 1) {
                require_equal("length of precision", precision.size(), x.size());
                kernels().shared_densities(x.data(), mean.data(), precision.data(), log2_norm.data()[0], x.size(),
                                           lanes, density.data());
            } else {
                require_equal("length of precision", precision.size(), mean.size());
                require_equal("length of log2_norm", log2_norm.size(), lanes);
                require_equal("length of log2_count", log2_count.size(), lanes);
                kernels().own_densities(x.data(),
                                        {mean.data(), precision.data(), log2_norm.data(), log2_count.data(), lanes},
                                        x.size(), nothing_ahead(x.data()), density.data(), value.data());
                std::copy_n(value.data(), lanes, log2_value.data());
            }
            std::copy_n(density.data(), lanes, log2_density.data());
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
    m.def(
        "bayes_sum_powers",
        [](Vector<float> log2_value, float origin, std::size_t count) {
            if (log2_value.size() % 8 != 0 || count > log2_value.size())
                throw std::invalid_argument("log2_value must have a multiple of 8 values, and at least count");
            const LaneSum found = kernels().sum_powers(log2_value.data(), origin, count);
            return std::tuple(found.sum, found.flags);
        },
        "log2_value"_a.noconvert(), "origin"_a, "count"_a,
        "The sum of 2^(log2_value - origin) over the first values, and its flags; for tests.");
    m.def(
        "bayes_leaf_sum",
        [](Vector<float> x, Vector<float> mean, Vector<float> precision, float log2_norm, std::size_t count,
           float origin, OutVector<float> out) {
            const std::size_t lanes = out.size();
            if ((lanes != 4 && lanes % 8 != 0) || count > lanes)
                throw std::invalid_argument("lanes must be 4 or a multiple of 8, and at least count");
            require_equal("length of mean", mean.size(), x.size() * lanes);
            require_equal("length of precision", precision.size(), x.size());
            std::vector<float> density(std::max<std::size_t>(lanes, 8));
            const LaneSum found = kernels().leaf_sum(x.data(), mean.data(), precision.data(), log2_norm, x.size(),
                                                     lanes, count, origin, nothing_ahead(x.data()), density.data());
            std::copy_n(density.data(), lanes, out.data());
            return std::tuple(found.sum, found.flags);
        },
        "x"_a.noconvert(), "mean"_a.noconvert(), "precision"_a.noconvert(), "log2_norm"_a, "count"_a, "origin"_a,
        "out"_a.noconvert(),
        "The log2 densities of a leaf's kernels, the sum of 2^(density - origin) over the first, and its flags; for "
        "tests.");
    m.def(
        "bayes_fill_group",
        [](Vector<float> log2_density, Vector<float> log2_value, Vector<std::int32_t> child, std::size_t count,
           float origin, std::int32_t nodes, bool by_density, std::int32_t step) {
            for (const std::size_t size : {log2_density.size(), log2_value.size(), child.size()})
                require_equal("length of an array", size, EntryGroup::kLanes);
            std::vector<float> bits(child.size());
            std::memcpy(bits.data(), child.data(), bits.size() * sizeof(float));
            EntryGroup group;
            const LaneSum found = kernels().fill_group(
                {log2_density.data(), log2_value.data(), bits.data(), count, origin, nodes, by_density, step}, group);
            const auto lanes = [](const auto& of) { return to_numpy(std::vector(std::begin(of), std::end(of))); };
            return std::make_tuple(found.sum, found.flags, lanes(group.key), lanes(group.value),
                                   lanes(group.log2_value), lanes(group.node));
        },
        "log2_density"_a.noconvert(), "log2_value"_a.noconvert(), "child"_a.noconvert(), "count"_a, "origin"_a,
        "nodes"_a, "by_density"_a, "step"_a,
        "The sum of the children's values, its flags, and keys, values, log2 values and nodes of their group; for "
        "tests.");
    m.def(
        "bayes_take_keys",
        [](Vector<std::int64_t> key, Vector<std::int32_t> node) {
            require_equal("length of key", key.size(), EntryGroup::kLanes);
            require_equal("length of node", node.size(), EntryGroup::kLanes);
            EntryGroup group;
            std::copy_n(key.data(), key.size(), group.key);
            std::copy_n(node.data(), node.size(), group.node);
            std::vector<std::int64_t> taken;
            std::size_t lane = kernels().take_key(group, EntryGroup::kLanes);
            while (group.key[lane] != EntryGroup::kNoKey) {
                taken.push_back(static_cast<std::int64_t>(lane));
                lane = kernels().take_key(group, lane);
            }
            return to_numpy(std::move(taken));
        },
        "key"_a.noconvert(), "node"_a.noconvert(),
        "The lanes of a group in the order in which they are taken; for tests.");
    m.def(
        "bayes_highest_classes",
        [](Vector<double> key, std::size_t count) {
            if (key.size() > kFewClasses || count > key.size())
                throw std::invalid_argument("there may be 32 keys at most, and at least count");
            std::vector<double> padded(kFewClasses, -std::numeric_limits<double>::infinity());
            std::copy_n(key.data(), key.size(), padded.begin());
            std::vector<std::int32_t> out(count);
            out.resize(kernels().highest_classes(padded.data(), key.size(), count, out.data()));
            return to_numpy(std::move(out));
        },
        "key"_a.noconvert(), "count"_a, "The classes of the highest keys, the highest first; for tests.");
}

}  // namespace anystream::bindings
