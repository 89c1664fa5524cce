// A model read from a file whose parts do not fit each other.
#pragma once

#include <stdexcept>

namespace anystream {

struct DamagedModel : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace anystream
