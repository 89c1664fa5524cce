// Writing the state of a query to bytes, and reading it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace anystream {

class StateWriter {
  public:
    template <typename T>
    void value(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto* from = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), from, from + sizeof(T));
    }
    template <typename T>
    void array(const std::vector<T>& values) {
        value(static_cast<std::uint64_t>(values.size()));
        for (const T& each : values) value(each);
    }
    [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

/// Throws std::invalid_argument whenever the bytes are not what the reader expects.
class StateReader {
  public:
    explicit StateReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <typename T>
    [[nodiscard]] T value() {
        static_assert(std::is_trivially_copyable_v<T>);
        require(bytes_.size() >= sizeof(T), "it is too short");
        T value;
        std::memcpy(&value, bytes_.data(), sizeof(T));
        bytes_ = bytes_.subspan(sizeof(T));
        return value;
    }
    template <typename T>
    void array(std::vector<T>& values) {
        const auto size = value<std::uint64_t>();
        require(size <= bytes_.size() / sizeof(T), "it is too short");
        values.resize(size);
        for (T& each : values) each = value<T>();
    }
    /// An array that must have `size` elements.
    template <typename T>
    void array(std::vector<T>& values, std::size_t size, const char* otherwise) {
        array(values);
        require(values.size() == size, otherwise);
    }
    /// A flag, written as one byte.
    [[nodiscard]] bool flag() {
        const auto byte = value<std::uint8_t>();
        require(byte <= 1, "a flag is damaged");
        return byte == 1;
    }
    /// An enumeration with the values from 0 to `last`.
    template <typename Enum>
    [[nodiscard]] Enum choice(Enum last) {
        const auto number = value<std::underlying_type_t<Enum>>();
        require(number >= 0 && number <= static_cast<std::underlying_type_t<Enum>>(last), "its settings are damaged");
        return static_cast<Enum>(number);
    }
    void end() const { require(bytes_.empty(), "it is too long"); }

    /// Throws if a value of a record is infinite; NaN is a missing one.
    template <typename T>
    static void require_record(const std::vector<T>& record) {
        for (const T value : record) require(!std::isinf(value), "its record is damaged");
    }
    /// Throws unless all are numbers from 0 on.
    template <typename T>
    static void require_sums(const std::vector<T>& sums) {
        for (const T value : sums) require(value >= T{0} && std::isfinite(value), "its votes are damaged");
    }
    static void require(bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("not the state of a query of this model: ") + what);
    }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace anystream
