// Shared by all bindings: array types that state dtype, rank and order, and checks of shapes and records.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "anystream/answer_batch.hpp"
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

[[noreturn]] inline void throw_infinite_record() {
    throw std::invalid_argument("a record holds an infinite value; use NaN for a missing one");
}

inline void require_finite_records(std::span<const double> values) {
    constexpr std::size_t kTogether = 512;  // without a branch, which the compiler turns into vectors
    for (std::size_t first = 0; first < values.size(); first += kTogether) {
        std::int64_t infinite = 0;
        for (const double value : values.subspan(first, std::min(kTogether, values.size() - first)))
            infinite |= std::abs(value) > std::numeric_limits<double>::max();
        if (infinite != 0) throw_infinite_record();
    }
}

template <typename Model>
void require_features(const Model& model, std::size_t features) {
    if (features != model.dimensions())
        throw std::invalid_argument("records have " + std::to_string(features) + " features, fit saw " +
                                    std::to_string(model.dimensions()) + "; pass the same columns");
}

/// A record that the model can classify.
template <typename Model>
[[nodiscard]] std::span<const double> checked_record(const Model& model, const Vector<double>& x) {
    require_features(model, x.size());
    require_finite_records(as_span(x));
    return as_span(x);
}

/// Records that the model can classify, one per row.
template <typename Model>
[[nodiscard]] RecordRows checked_records(const Model& model, const Matrix<double>& records) {
    require_features(model, records.shape(1));
    require_finite_records(as_span(records));
    return {as_span(records), model.dimensions()};
}

inline void require_classes(std::span<const std::int32_t> numbers, std::size_t classes) {
    for (const std::int32_t c : numbers)
        if (c < 0 || static_cast<std::size_t>(c) >= classes)
            throw std::invalid_argument("class number " + std::to_string(c) + " is not below " +
                                        std::to_string(classes));
}

/// The value of a parameter that is one of a few names.
template <typename Enum>
Enum by_name(const std::string& name, const char* what, std::initializer_list<std::pair<const char*, Enum>> names) {
    std::string known;
    for (const auto& [text, value] : names) {
        if (name == text) return value;
        known += (known.empty() ? "" : ", ") + std::string(text);
    }
    throw std::invalid_argument(std::string(what) + " is '" + name + "'; use one of " + known);
}

/// The progress of some work; any thread may read it.
struct Counter {
    std::atomic<std::int64_t> value{0};
};

/// The limits of one call; -1 is no limit.
[[nodiscard]] inline Limits make_limits(std::int64_t steps, std::int64_t nanoseconds, const StopFlag* stop) {
    Limits limits;
    if (steps >= 0) limits.steps = steps;
    if (nanoseconds >= 0) limits.until = Clock::now() + std::chrono::nanoseconds(nanoseconds);
    limits.flag = stop;
    return limits;
}

void bind_calibration(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_stop(nb::module_& m);
void bind_mapping(nb::module_& m);
void bind_bayes_first_look(nb::module_& m);
void bind_bayes_metric(nb::module_& m);
void bind_bayes_query(nb::module_& m);
void bind_bayes_forest(nb::module_& m);
void bind_bayes_kernels(nb::module_& m);
void bind_tree_shape(nb::module_& m);
void bind_subspace(nb::module_& m);
void bind_microclusters(nb::module_& m);
void bind_bayes_margin(nb::module_& m);
void bind_scan(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_drift(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_text(nb::module_& m);

}  // namespace anystream::bindings
