// Memory that is allocated before it is needed.
#pragma once

#include <algorithm>
#include <cstddef>

namespace anystream {

/// Lets a vector hold `size` elements without another allocation; like push_back it doubles the memory, so that
/// reserving one element more at a time is not quadratic.
template <typename Vector>
void reserve_doubling(Vector& values, std::size_t size) {
    if (values.capacity() < size) values.reserve(std::max(size, 2 * values.capacity()));
}

}  // namespace anystream
