// The arrays of a model, and how they are stored.
//
// A column is an array that either owns its values or borrows them: from a memory-mapped file, or from memory that
// Python holds for it. It copies borrowed values when it is first changed.
//
// A model with columns lists them, by the names that model files and pickles use, in `NamedColumns columns()`. All
// storing goes through this list: `each_column` visits it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "anystream/growing_array.hpp"

namespace anystream {

/// Const members may run concurrently; members that change it may not run concurrently with any other.
template <typename T>
class Column {
  public:
    Column() = default;
    explicit Column(std::span<const T> values) : own_(values) {}
    /// Borrows `values`, which live as long as `owner`; `mapped` if they lie in a file rather than in memory.
    Column(std::span<const T> values, std::shared_ptr<const void> owner, bool mapped)
        : borrowed_(values), owner_(std::move(owner)), mapped_(mapped) {}

    [[nodiscard]] const T* data() const noexcept { return owner_ ? borrowed_.data() : own_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return owner_ ? borrowed_.size() : own_.size(); }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
    [[nodiscard]] std::span<const T> view() const noexcept { return {data(), size()}; }
    [[nodiscard]] std::vector<T> copy() const { return {data(), data() + size()}; }
    /// Bytes of memory that this column holds or keeps alive; bytes of a mapped file are not counted.
    [[nodiscard]] std::size_t own_bytes() const noexcept {
        return (own_.capacity() + (mapped_ ? 0 : borrowed_.size())) * sizeof(T);
    }

    /// The values, to be changed; borrowed ones are copied first.
    [[nodiscard]] GrowingArray<T>& own() {
        if (owner_) {
            own_.assign(borrowed_.begin(), borrowed_.end());
            owner_.reset();
            borrowed_ = {};
            mapped_ = false;
        }
        return own_;
    }

  private:
    GrowingArray<T> own_;
    std::span<const T> borrowed_;
    std::shared_ptr<const void> owner_;
    bool mapped_ = false;
};

/// A column of a model and its name.
struct NamedColumn {
    const char* name;
    std::variant<Column<double>*, Column<float>*, Column<std::int64_t>*, Column<std::int32_t>*, Column<std::uint64_t>*,
                 Column<std::uint32_t>*, Column<std::uint8_t>*>
        column;
};
using NamedColumns = std::vector<NamedColumn>;

/// Calls visit(name, column) for every column that model.columns() lists; columns of a const model are const.
template <typename Model, typename Visit>
void each_column(Model& model, Visit&& visit) {
    for (const NamedColumn& each : const_cast<std::remove_const_t<Model>&>(model).columns())  // lists, changes nothing
        std::visit(
            [&](auto* column) {
                if constexpr (std::is_const_v<Model>)
                    visit(each.name, std::as_const(*column));
                else
                    visit(each.name, *column);
            },
            each.column);
}

/// Bytes of memory that the columns of a model hold.
template <typename Model>
[[nodiscard]] std::size_t column_bytes(const Model& model) {
    std::size_t bytes = 0;
    each_column(model, [&](const char*, const auto& column) { bytes += column.own_bytes(); });
    return bytes;
}

}  // namespace anystream
