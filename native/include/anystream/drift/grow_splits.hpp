// A tree of splits of a set of labelled records, grown while the information gain pays for the split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace anystream {

struct GrowRules {
    std::size_t min_side;     // records on either side of a split
    std::size_t min_records;  // fewer are not split
    std::size_t n_features;   // of the model; records may have fewer columns
    double min_gain;          // n records are split if gain > log(n_features (n - 1)) + min_gain, in nats
};

/// Nodes, parents before their children; node 0 has all records. Of a leaf feature, left and right are -1.
struct SplitTree {
    std::vector<std::int64_t> feature;
    std::vector<double> threshold;  // values up to it go left, missing ones (NaN) right
    std::vector<double> gain;       // information gain in nats, summed over the records of the node
    std::vector<std::int64_t> left, right;
    std::vector<std::int64_t> begin, end;  // records of the node: order[begin ... end)
    std::vector<std::int64_t> order;       // rows; those of a leaf ascend
};

/// Rows are `features` wide. A node is split by the highest gain; of equal gains the split with fewer records on the
/// left counts, then the first feature. Records of one class are not split.
SplitTree grow_splits(std::span<const double> rows, std::size_t features, std::span<const std::int32_t> labels,
                      const GrowRules& rules);

}  // namespace anystream
