// A node of a tree, with any kind of split.
#pragma once

#include <cstdint>

namespace anystream::forest {

struct Node {
    static constexpr std::uint32_t kMissingLeft = 1u << 31, kZeroMissing = 1u << 30, kCategories = 1u << 29;
    static constexpr std::uint32_t kFeature = kCategories - 1;
    static constexpr double kZero = 0x1.a95a5cp-117;  // of float32: LightGBM takes values up to this for zero

    double threshold;       // of a split on categories: the number of its set
    std::uint32_t feature;  // and flags
    std::int32_t left;      // of a leaf: itself
};

}  // namespace anystream::forest
