// The arrays of a model as a dict of NumPy arrays, and back: what model files and pickles hold.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "anystream/column.hpp"
#include "anystream/damaged_model.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

/// Every column of `owner` as a read-only array, by name; the arrays keep `owner` alive.
template <typename Owner>
[[nodiscard]] nb::dict arrays_of(std::shared_ptr<const Owner> owner) {
    using Share = std::shared_ptr<const Owner>;
    auto held = std::make_unique<Share>(std::move(owner));
    const Owner& columns = **held;
    const nb::capsule keeper(held.release(), [](void* p) noexcept { delete static_cast<Share*>(p); });
    nb::dict all;
    each_column(columns, [&]<typename T>(const char* name, const Column<T>& column) {
        all[name] = nb::cast(
            nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig>(column.data(), {column.size()}, keeper));
    });
    return all;
}

/// A column that borrows an array from Python, in memory or in a mapped file; it may be dropped on any thread. Whole
/// numbers of a mapped file are copied: they are positions, which are checked once, and the file may change later.
template <typename T>
[[nodiscard]] Column<T> borrowed_column(const Vector<T>& array, nb::handle object) {
    nb::object base = nb::borrow(object);
    while (nb::hasattr(base, "base") && !base.attr("base").is_none()) base = base.attr("base");
    if (nb::hasattr(base, "obj")) base = base.attr("obj");  // a memoryview's owner
    const bool mapped = nb::isinstance(base, nb::module_::import_("mmap").attr("mmap"));
    if (mapped && std::is_integral_v<T>) return Column<T>(std::vector<T>(array.data(), array.data() + array.size()));
    object.inc_ref();
    std::shared_ptr<const void> owner(object.ptr(), [](const void* held) {
        const nb::gil_scoped_acquire locked;
        nb::handle(static_cast<PyObject*>(const_cast<void*>(held))).dec_ref();
    });
    return {as_span(array), std::move(owner), mapped};
}

/// Sets every column of `columns` to the array of its name. Throws DamagedModel if one is missing or of another type.
template <typename Columns>
void adopt_arrays(Columns& columns, const nb::dict& given) {
    each_column(columns, [&]<typename T>(const char* name, Column<T>& column) {
        if (!given.contains(name)) throw DamagedModel(std::string("the array '") + name + "' is missing");
        Vector<T> array;
        if (!nb::try_cast<Vector<T>>(given[name], array, false))
            throw DamagedModel(std::string("the array '") + name + "' has another type or more than one axis");
        column = borrowed_column<T>(array, given[name]);
    });
}

}  // namespace anystream::bindings
