// An array that is either its own or lent: by a memory-mapped file, or by memory that Python holds for it. It becomes
// its own when it is first changed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace anystream {

/// Reading may run concurrently; changing may not run beside anything else.
template <typename T>
class Column {
  public:
    Column() = default;
    explicit Column(std::vector<T> own) : own_(std::move(own)) {}
    /// Lends `values`, which live as long as `owner`; `mapped` if they lie in a file rather than in memory.
    Column(std::span<const T> values, std::shared_ptr<const void> owner, bool mapped)
        : lent_(values), owner_(std::move(owner)), mapped_(mapped) {}

    [[nodiscard]] const T* data() const noexcept { return owner_ ? lent_.data() : own_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return owner_ ? lent_.size() : own_.size(); }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
    [[nodiscard]] std::span<const T> view() const noexcept { return {data(), size()}; }
    /// Bytes of memory that this column holds or keeps alive; what a file lends is not counted.
    [[nodiscard]] std::size_t own_bytes() const noexcept {
        return (own_.capacity() + (mapped_ ? 0 : lent_.size())) * sizeof(T);
    }

    /// The values, to be changed: lent ones are copied first.
    [[nodiscard]] std::vector<T>& own() {
        if (owner_) {
            own_.assign(lent_.begin(), lent_.end());
            owner_.reset();
            lent_ = {};
            mapped_ = false;
        }
        return own_;
    }

  private:
    std::vector<T> own_;
    std::span<const T> lent_;
    std::shared_ptr<const void> owner_;
    bool mapped_ = false;
};

}  // namespace anystream
