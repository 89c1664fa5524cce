// The structure of a tree, as every construction returns it: which records are in which nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace anystream::bayes_tree {

/// The nodes of one class's tree. Node 0 is the node below the class's root entry; children come after their parents.
///
///     first_entry  [0, 3, 5, ...]          node i owns entries first_entry[i] .. first_entry[i + 1] - 1
///     entry        [ 1, ~4, 2 | ~0, ~7 | ...]   >= 0: a child node; < 0: the record ~entry, a kernel
///
/// Every record is the child of exactly one entry, every node but node 0 is the child of exactly one entry, and a node
/// holds 2 to fanout entries. One record alone has no node (first_entry is {0}): the root entry is its kernel.
struct TreeShape {
    std::vector<std::int32_t> first_entry{0};
    std::vector<std::int32_t> entry;

    [[nodiscard]] std::size_t nodes() const noexcept { return first_entry.size() - 1; }
    [[nodiscard]] std::span<const std::int32_t> entries_of(std::size_t node) const noexcept {
        return {entry.data() + first_entry[node], static_cast<std::size_t>(first_entry[node + 1] - first_entry[node])};
    }
};

/// Records of one class, row-major, borrowed. Values are finite and standardised (about unit variance over all
/// classes).
struct Points {
    std::span<const double> values;  // (size, dimensions)
    std::size_t dimensions;

    [[nodiscard]] std::size_t size() const noexcept { return dimensions == 0 ? 0 : values.size() / dimensions; }
    [[nodiscard]] const double* row(std::size_t i) const noexcept { return values.data() + i * dimensions; }
};

}  // namespace anystream::bayes_tree
