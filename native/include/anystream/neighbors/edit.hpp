// Edit distance of texts: the minimum number of insertions, deletions and replacements of a symbol.
#pragma once

#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// Levenshtein's distance; a row holds the code points of a text, or any symbols as numbers.
[[nodiscard]] std::unique_ptr<Space> make_edit_space();

}  // namespace anystream::neighbors
