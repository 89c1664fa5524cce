// The split of highest information gain of a set of labelled records.
#pragma once

#include <cstdint>
#include <span>

namespace anystream {

struct SplitFound {
    double gain = 0.0;          // information gain in nats, summed over all records
    std::int64_t feature = -1;  // -1: there is no valid split
    double threshold = 0.0;     // values up to it go left, missing ones (NaN) right
};

/// Rows are `features` wide. At least `min_records` are on either side. Of equal gains the split with fewer records on
/// the left counts, then the first feature.
SplitFound best_split(std::span<const double> rows, std::size_t features, std::span<const std::int32_t> labels,
                      std::size_t min_records);

}  // namespace anystream
