// What the bindings share: array types that state dtype, rank and order, and shape checks with both numbers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "anystream/stop.hpp"

namespace anystream::bindings {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T>
using Vector = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutVector = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutMatrix = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Array>
[[nodiscard]] auto as_span(const Array& array) noexcept {
    return std::span(array.data(), array.size());
}

/// A new NumPy array that owns `values`.
template <typename T>
[[nodiscard]] auto to_numpy(std::vector<T> values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig>(owned->data(), {owned->size()}, owner);
}

inline void require_equal(const char* what, std::size_t got, std::size_t expected) {
    if (got == expected) return;
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(got) + ", expected " +
                                std::to_string(expected));
}

/// How far a piece of work has come; any thread may look at it.
struct Counter {
    std::atomic<std::int64_t> value{0};
};

/// The limits of one call: -1 stands for no limit.
[[nodiscard]] inline Limits make_limits(std::int64_t steps, std::int64_t nanoseconds, const StopFlag* stop) {
    Limits limits;
    if (steps >= 0) limits.steps = steps;
    if (nanoseconds >= 0) limits.until = Clock::now() + std::chrono::nanoseconds(nanoseconds);
    limits.flag = stop;
    return limits;
}

void bind_stop(nb::module_& m);
void bind_bayes_tree(nb::module_& m);
void bind_tree_shape(nb::module_& m);
void bind_subspace(nb::module_& m);
void bind_microclusters(nb::module_& m);
void bind_bayes_margin(nb::module_& m);
void bind_scan(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_drift(nb::module_& m);

}  // namespace anystream::bindings
