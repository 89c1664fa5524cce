// Keeps the process alive when a mapped file is truncated.
//
// A page of a mapping that lies beyond the end of its file cannot be read: the system sends SIGBUS, which ends the
// process. Below a guard the page is replaced by zeros, and the guard remembers it. Zeros are not the model: whoever
// reads the mapping asks `lost` before it returns a result.
#pragma once

#include <cstddef>

namespace anystream {

/// Guards the pages of one mapping as long as it lives. `lost` may run concurrently with everything.
class MappingGuard {
  public:
    /// `begin` is the first byte of the mapping. Throws std::runtime_error beyond 4,096 guards, std::system_error if
    /// the signal cannot be handled.
    MappingGuard(const void* begin, std::size_t bytes);
    ~MappingGuard();
    MappingGuard(const MappingGuard&) = delete;
    MappingGuard& operator=(const MappingGuard&) = delete;

    /// Whether a page could not be read and was replaced.
    [[nodiscard]] bool lost() const noexcept;

  private:
    std::size_t slot_;
};

}  // namespace anystream
