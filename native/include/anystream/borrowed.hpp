// Memory of a thread that one call after another uses.
#pragma once

#include <utility>

namespace anystream {

/// Memory that one call at a time uses; a call within it, as by a signal handler, gets other memory.
template <typename T>
class Borrowed {
  public:
    explicit Borrowed(T& spare) : spare_(spare), value_(std::move(spare)) {}
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed() { spare_ = std::move(value_); }
    T& operator*() noexcept { return value_; }

  private:
    T& spare_;
    T value_;
};

}  // namespace anystream
