// The scan of blocks for Python: for tests and benchmarks, and for exact neighbours of plain vectors.
#include <nanobind/stl/string.h>

#include "anystream/scan.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

namespace {

Norm norm_named(const std::string& name) {
    if (name == "euclidean") return Norm::euclidean;
    if (name == "manhattan") return Norm::manhattan;
    if (name == "chebyshev") return Norm::chebyshev;
    if (name == "mixed") return Norm::mixed;
    throw std::invalid_argument("norm is '" + name + "'; use euclidean, manhattan, chebyshev or mixed");
}

void require_width(const BlockStore& store, std::size_t got) {
    require_equal("number of features", got, store.dimensions());
}

void require_position(const BlockStore& store, std::size_t i) {
    if (i >= store.size())
        throw nb::index_error(("vector " + std::to_string(i) + " of " + std::to_string(store.size())).c_str());
}

}  // namespace

void bind_scan(nb::module_& m) {
    nb::class_<BlockStore>(m, "BlockStore", "Vectors in blocks of 16. Reads may run concurrently, changes may not.")
        .def(
            "__init__",
            [](BlockStore* store, std::size_t dimensions, const std::string& norm, std::size_t categorical) {
                if (dimensions == 0) throw std::invalid_argument("dimensions is 0; use 1 or more");
                if (categorical > dimensions)
                    throw std::invalid_argument("categorical is " + std::to_string(categorical) + ", dimensions is " +
                                                std::to_string(dimensions));
                new (store) BlockStore(dimensions, norm_named(norm), categorical);
            },
            "dimensions"_a, "norm"_a = "euclidean", "categorical"_a = 0)
        .def("__len__", &BlockStore::size)
        .def(
            "assign",
            [](BlockStore& store, Matrix<double> rows) {
                require_width(store, rows.shape(1));
                const auto values = as_span(rows);
                const nb::gil_scoped_release unlocked;
                store.assign(values);
            },
            "rows"_a.noconvert(), "Replace all vectors.")
        .def(
            "append",
            [](BlockStore& store, Vector<double> row) {
                require_width(store, row.size());
                store.append(row.data());
            },
            "row"_a.noconvert(), "Add one vector at the end.")
        .def(
            "swap_remove",
            [](BlockStore& store, std::size_t i) {
                require_position(store, i);
                store.swap_remove(i);
            },
            "i"_a, "Remove vector i: the last vector takes its position.")
        .def(
            "nearest",
            [](const BlockStore& store, Vector<double> x, std::size_t k, std::size_t first, std::size_t last) {
                require_width(store, x.size());
                if (k == 0) throw std::invalid_argument("k is 0; use 1 or more");
                std::vector<std::int64_t> position;
                std::vector<double> distance;
                {
                    const nb::gil_scoped_release unlocked;
                    thread_local Scan scan;
                    thread_local NearestSet best;
                    scan.open(store, x.data());
                    best.reset(k);
                    scan.nearest(store, first, std::min(last, store.size()), {}, best);
                    for (const Neighbor& found : best.found()) {
                        position.push_back(found.position);
                        distance.push_back(distance_of_power(store.norm(), found.power));
                    }
                }
                return nb::make_tuple(to_numpy(std::move(position)), to_numpy(std::move(distance)));
            },
            "x"_a.noconvert(), "k"_a = 1, "first"_a = 0, "last"_a = std::numeric_limits<std::size_t>::max(),
            "Positions and distances of the k nearest at positions first to last - 1, nearest first.")
        .def(
            "all_nearest",
            [](const BlockStore& store, std::size_t k, int threads, OutMatrix<std::int64_t> position,
               OutMatrix<double> distance, Counter* done, const StopFlag* stop) {
                require_equal("rows of position", position.shape(0), store.size());
                require_equal("rows of distance", distance.shape(0), store.size());
                require_equal("columns of position", position.shape(1), k);
                require_equal("columns of distance", distance.shape(1), k);
                if (k == 0) throw std::invalid_argument("k is 0; use 1 or more");
                const auto out = as_span(distance);
                const nb::gil_scoped_release unlocked;
                all_nearest(store, k, {}, threads, as_span(position), out, done == nullptr ? nullptr : &done->value,
                            stop);
                for (double& value : out) value = distance_of_power(store.norm(), value);
            },
            "k"_a, "threads"_a, "position"_a.noconvert(), "distance"_a.noconvert(), "done"_a.none() = nb::none(),
            "stop"_a.none() = nb::none(),
            "The k nearest others of every vector; -1 and infinity where there are fewer.");
}

}  // namespace anystream::bindings
