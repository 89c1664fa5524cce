// The error for a model whose arrays do not fit each other: what a damaged file or pickle turns out to hold. Python
// sees it as ModelFileError. Wrong arguments of a caller are std::invalid_argument instead.
#pragma once

#include <stdexcept>
#include <string>

namespace anystream {

struct DamagedModel : std::runtime_error {
    explicit DamagedModel(const std::string& fault)
        : std::runtime_error("the model is damaged: " + fault +
                             "; restore the file from a copy or save the model again") {}
};

/// Throws DamagedModel unless `holds`. `part` is the part of the model at fault ("a level"), `fault` what is wrong.
inline void require_intact(bool holds, const char* part, const char* fault) {
    if (!holds) throw DamagedModel(std::string(part) + ": " + fault);
}

}  // namespace anystream
