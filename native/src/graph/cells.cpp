#include "anystream/graph/cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace anystream::graph {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Cuts vertices in halves across their widest dimension until they fit a cell.
class Cutter {
  public:
    Cutter(std::span<const double> rows, std::size_t dimensions) : rows_(rows), dimensions_(dimensions) {}

    /// Appends the cells of `part` to `full` or, if they have less than 16 vertices, to `small`.
    void cut(std::span<std::int64_t> part, std::vector<std::span<std::int64_t>>& full,
             std::vector<std::span<std::int64_t>>& small) const {
        if (part.size() <= kBlockLanes) {
            std::sort(part.begin(), part.end());
            (part.size() == kBlockLanes ? full : small).push_back(part);
            return;
        }
        const std::size_t j = widest(part);
        const std::size_t blocks = (part.size() + kBlockLanes - 1) / kBlockLanes;
        const std::size_t half = blocks / 2 * kBlockLanes;  // whole blocks: at most one small cell for each class
        std::nth_element(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(half), part.end(),
                         [&](std::int64_t a, std::int64_t b) {
                             const double left = value(a, j), right = value(b, j);
                             return left < right || (left == right && a < b);
                         });
        cut(part.first(half), full, small);
        cut(part.subspan(half), full, small);
    }

  private:
    /// Missing values lie below all others.
    [[nodiscard]] double value(std::int64_t v, std::size_t j) const noexcept {
        const double found = rows_[static_cast<std::size_t>(v) * dimensions_ + j];
        return std::isnan(found) ? -kInfinity : found;
    }
    [[nodiscard]] std::size_t widest(std::span<const std::int64_t> part) const noexcept {
        std::size_t best = 0;
        double width = -1.0;
        for (std::size_t j = 0; j < dimensions_; ++j) {
            double low = kInfinity, high = -kInfinity;
            for (const std::int64_t v : part) {
                const double found = rows_[static_cast<std::size_t>(v) * dimensions_ + j];
                if (found < low) low = found;
                if (found > high) high = found;
            }
            if (high - low > width) width = high - low, best = j;
        }
        return best;
    }

    std::span<const double> rows_;
    std::size_t dimensions_;
};

}  // namespace

Cells::Cells(std::span<const double> rows, std::size_t dimensions, std::span<const std::int32_t> classes_of,
             std::int64_t first_vertex)
    : dimensions_(dimensions), store_(dimensions), means_(dimensions) {
    std::vector<std::int64_t> order(classes_of.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return classes_of[static_cast<std::size_t>(a)] < classes_of[static_cast<std::size_t>(b)];
    });

    std::vector<std::span<std::int64_t>> cells, small;
    const Cutter cutter(rows, dimensions);
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        while (end < order.size() &&
               classes_of[static_cast<std::size_t>(order[end])] == classes_of[static_cast<std::size_t>(order[begin])])
            ++end;
        cutter.cut(std::span(order).subspan(begin, end - begin), cells, small);
    }
    cells.insert(cells.end(), small.begin(), small.end());

    first_.assign(1, 0);
    std::vector<double> laid_out;
    laid_out.reserve(rows.size());
    for (const auto& cell : cells) {
        for (const std::int64_t v : cell) {
            vertex_.push_back(first_vertex + v);
            const auto row = rows.subspan(static_cast<std::size_t>(v) * dimensions, dimensions);
            laid_out.insert(laid_out.end(), row.begin(), row.end());
        }
        first_.push_back(vertex_.size());
    }
    store_.assign(laid_out);
    radius_.resize(cells.size());
    measure();
}

void Cells::measure() {
    std::vector<double> means(size() * dimensions_, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t c = 0; c < size(); ++c) {
        double* const mean = means.data() + c * dimensions_;
        bool missing = false;
        for (std::size_t j = 0; j < dimensions_; ++j) {
            double sum = 0.0, present = 0.0;
            for (std::size_t i = first(c); i < last(c); ++i)
                if (const double value = store_.row(i)[j]; !std::isnan(value)) sum += value, present += 1.0;
            if (present > 0.0) mean[j] = sum / present;
            missing |= present < static_cast<double>(last(c) - first(c));
        }
        radius_[c] = missing ? kInfinity : 0.0;
        for (std::size_t i = first(c); i < last(c) && !missing; ++i)
            radius_[c] = std::max(radius_[c], distance_of_power(Norm::euclidean, store_.power(i, mean)));
    }
    means_.assign(means);
}

std::size_t Cells::own_bytes() const noexcept {
    return store_.own_bytes() + means_.own_bytes() + vertex_.capacity() * sizeof(std::int64_t) +
           first_.capacity() * sizeof(std::size_t) + radius_.capacity() * sizeof(double);
}

}  // namespace anystream::graph
