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
    Cutter(std::span<const double> rows, std::size_t dimensions)
        : rows_(rows), dimensions_(dimensions), low_(dimensions), high_(dimensions) {}

    /// Appends the cells of `part` to `full` or, if they have less than 16 vertices, to `small`.
    void cut(std::span<std::int64_t> part, std::vector<std::span<std::int64_t>>& full,
             std::vector<std::span<std::int64_t>>& small) {
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
    [[nodiscard]] std::size_t widest(std::span<const std::int64_t> part) {
        std::fill(low_.begin(), low_.end(), kInfinity);
        std::fill(high_.begin(), high_.end(), -kInfinity);
        for (const std::int64_t v : part) {
            const double* const row = rows_.data() + static_cast<std::size_t>(v) * dimensions_;
            for (std::size_t j = 0; j < dimensions_; ++j) {  // row by row as in memory; comparing NaN is false
                low_[j] = row[j] < low_[j] ? row[j] : low_[j];
                high_[j] = row[j] > high_[j] ? row[j] : high_[j];
            }
        }
        std::size_t best = 0;
        double width = -1.0;
        for (std::size_t j = 0; j < dimensions_; ++j)
            if (high_[j] - low_[j] > width) width = high_[j] - low_[j], best = j;
        return best;
    }

    std::span<const double> rows_;
    std::size_t dimensions_;
    std::vector<double> low_, high_;  // of a part, by dimension
};

}  // namespace

Cells::Cells(std::span<const double> rows, std::size_t dimensions, std::span<const std::int32_t> classes_of,
             std::int64_t first_vertex)
    : Cells(dimensions) {
    CellsInProgress steps({rows.begin(), rows.end()}, dimensions, {classes_of.begin(), classes_of.end()}, first_vertex);
    while (steps.advance()) {}
    *this = steps.take();
}

CellsInProgress::CellsInProgress(std::vector<double> rows, std::size_t dimensions, std::vector<std::int32_t> classes_of,
                                 std::int64_t first_vertex)
    : rows_(std::move(rows)), classes_of_(std::move(classes_of)), first_vertex_(first_vertex), cells_(dimensions) {}

bool CellsInProgress::advance() {
    switch (step_++) {
        case 0:
            cut();
            return true;
        case 1:
            lay_out();
            return true;
        case 2:
            cells_.measure();
            return true;
        default:
            --step_;
            return false;
    }
}

void CellsInProgress::cut() {
    const auto class_of = [&](std::int64_t v) { return classes_of_[static_cast<std::size_t>(v)]; };
    order_.resize(classes_of_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::int64_t a, std::int64_t b) { return class_of(a) < class_of(b); });

    std::vector<std::span<std::int64_t>> small;
    Cutter cutter(rows_, cells_.dimensions_);
    for (std::size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
        while (end < order_.size() && class_of(order_[end]) == class_of(order_[begin])) ++end;
        cutter.cut(std::span(order_).subspan(begin, end - begin), cut_, small);
    }
    cut_.insert(cut_.end(), small.begin(), small.end());
}

void CellsInProgress::lay_out() {
    const std::size_t d = cells_.dimensions_;
    cells_.first_.assign(1, 0);
    cells_.vertex_.reserve(order_.size());
    std::vector<double> laid_out;
    laid_out.reserve(rows_.size());
    for (const auto& cell : cut_) {
        for (const std::int64_t v : cell) {
            cells_.vertex_.push_back(first_vertex_ + v);
            const auto row = std::span(rows_).subspan(static_cast<std::size_t>(v) * d, d);
            laid_out.insert(laid_out.end(), row.begin(), row.end());
        }
        cells_.first_.push_back(cells_.vertex_.size());
    }
    rows_ = {};
    cells_.store_.assign(laid_out);
    cells_.radius_.resize(cut_.size());
}

void Cells::measure() {
    std::vector<double> means(size() * dimensions_, std::numeric_limits<double>::quiet_NaN());
    std::vector<double> sum(dimensions_), present(dimensions_);
    for (std::size_t c = 0; c < size(); ++c) {
        double* const mean = means.data() + c * dimensions_;
        std::fill(sum.begin(), sum.end(), 0.0);
        std::fill(present.begin(), present.end(), 0.0);
        for (std::size_t i = first(c); i < last(c); ++i) {
            const double* const row = store_.row(i).data();
            for (std::size_t j = 0; j < dimensions_; ++j) {
                sum[j] += std::isnan(row[j]) ? 0.0 : row[j];
                present[j] += std::isnan(row[j]) ? 0.0 : 1.0;
            }
        }
        bool missing = false;
        for (std::size_t j = 0; j < dimensions_; ++j) {
            if (present[j] > 0.0) mean[j] = sum[j] / present[j];
            missing |= present[j] < static_cast<double>(last(c) - first(c));
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
