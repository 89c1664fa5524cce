#include "anystream/bayes_tree/covariance_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "anystream/bayes_tree/kernels.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr double kMaxZ = 1e15;

std::size_t full_panel_values(std::size_t dimensions) noexcept {
    const std::size_t panels = panels_of(dimensions);
    return kPanelRows * kPanelRows * panels * (panels + 1) / 2;
}

}  // namespace

void CovarianceTable::clear(std::size_t nodes) {
    *this = {};
    of_node.own().assign(nodes, -1);
    free_rows_known = true;
}

void CovarianceTable::assign(std::size_t node, std::span<const double> covariance, const Blocks& blocks,
                             const double* mean_in_z, std::int64_t records, std::size_t row_values) {
    const std::size_t d = blocks.order.size(), panels = panels_of(d);
    const InverseFactor factor = inverse_factor(covariance, blocks);
    if (std::isnan(factor.log2_norm)) return remove(node);
    std::vector<std::int32_t> own_first;
    std::vector<float> own_values;
    append_panels(factor, own_first, own_values);
    find_free_rows();
    if (of_node[node] < 0 && free_rows.empty()) append_row(d, row_values);  // becomes free
    // From here on nothing fails.
    std::int32_t& row = of_node.own()[node];
    if (row < 0) { row = take_free_row(); }
    const auto r = static_cast<std::size_t>(row);
    count.own()[r] = records;
    log2_norm.own()[r] = static_cast<float>(factor.log2_norm);
    std::copy(blocks.order.begin(), blocks.order.end(), order.own().data() + r * d);
    std::copy(own_first.begin(), own_first.end(), first.own().data() + r * panels);
    std::copy(own_values.begin(), own_values.end(), values.own().data() + r * row_values);
    set_mean(r, mean_in_z, d);
}

void CovarianceTable::remove(std::size_t node) noexcept {
    const std::int32_t row = of_node[node];
    if (row < 0) return;
    of_node.own()[node] = -1;
    if (free_rows_known) add_free_row(row);  // has the capacity for all rows
}

void CovarianceTable::add_free_row(std::int32_t row) {
    free_rows.push_back(row);
    std::ranges::push_heap(free_rows, std::greater{});
}

std::int32_t CovarianceTable::take_free_row() noexcept {
    std::ranges::pop_heap(free_rows, std::greater{});
    const std::int32_t row = free_rows.back();
    free_rows.pop_back();
    return row;
}

void CovarianceTable::append_row(std::size_t d, std::size_t row_values) {
    const std::size_t row = rows();
    const auto grow = [](auto& column, std::size_t size) {
        auto& own = column.own();
        if (own.capacity() < size) own.reserve(std::max(size, own.capacity() * 2));
    };
    grow(count, row + 1);
    grow(order, (row + 1) * d);
    grow(first, (row + 1) * panels_of(d));
    grow(mean, (row + 1) * d);
    grow(log2_norm, row + 1);
    grow(values, (row + 1) * row_values);
    if (free_rows.capacity() < row + 1) free_rows.reserve(2 * (row + 1));
    count.own().push_back(0);
    order.own().resize((row + 1) * d, 0);
    first.own().resize((row + 1) * panels_of(d), 0);
    mean.own().resize((row + 1) * d, 0.0F);
    values.own().resize((row + 1) * row_values, 0.0F);
    log2_norm.own().push_back(0.0F);
    add_free_row(static_cast<std::int32_t>(row));
}

void CovarianceTable::find_free_rows() {
    if (free_rows_known) return;
    std::vector<std::int32_t> found;
    found.reserve(rows());
    std::vector<bool> used(rows(), false);
    for (const std::int32_t row : of_node.view())
        if (row >= 0) used[static_cast<std::size_t>(row)] = true;
    for (std::size_t row = 0; row < rows(); ++row)  // ascending: a heap
        if (!used[row]) found.push_back(static_cast<std::int32_t>(row));
    free_rows = std::move(found);
    free_rows_known = true;
}

void CovarianceTable::set_mean(std::size_t row, const double* mean_in_z, std::size_t dimensions) {
    const std::int32_t* const places = order.data() + row * dimensions;
    float* const out = mean.own().data() + row * dimensions;
    for (std::size_t j = 0; j < dimensions; ++j) out[j] = static_cast<float>(mean_in_z[places[j]]);
}

void CovarianceTable::deviations(std::size_t row, const float* x, std::size_t dimensions, float* z) const noexcept {
    const std::int32_t* const places = order.data() + row * dimensions;
    const float* const centre = mean.data() + row * dimensions;
    std::int32_t moved = 0;  // 0: every dimension is in its own place, as in a single block
    for (std::size_t j = 0; j < dimensions; ++j) moved |= places[j] ^ static_cast<std::int32_t>(j);
    if (moved == 0)
        for (std::size_t j = 0; j < dimensions; ++j) z[j] = x[j] - centre[j];
    else
        for (std::size_t j = 0; j < dimensions; ++j) z[j] = x[places[j]] - centre[j];
}

void CovarianceTable::exponents(std::span<const std::int32_t> some_rows, const float* x, std::size_t dimensions,
                                float* z, float* out) const noexcept {
    const std::size_t panels = panels_of(dimensions), width = panels * kPanelRows, stride = values.size() / rows();
    const auto single_block = [&](std::int32_t row) {
        const std::int32_t* const begin = first.data() + static_cast<std::size_t>(row) * panels;
        return std::all_of(begin, begin + panels, [](std::int32_t column) { return column == 0; });
    };
    while (!some_rows.empty()) {
        const bool together =
            some_rows.size() >= kTogether && std::ranges::all_of(some_rows.first(kTogether), single_block);
        const auto now = some_rows.first(together ? kTogether : 1);
        const float* factor[kTogether];
        for (std::size_t k = 0; k < now.size(); ++k) {
            const auto row = static_cast<std::size_t>(now[k]);
            deviations(row, x, dimensions, z + k * width);
            factor[k] = values.data() + row * stride;
        }
        if (together)
            kernels().panel_exponents(z, factor, panels, out);
        else
            *out = kernels().panel_exponent(z, factor[0], first.data() + static_cast<std::size_t>(now[0]) * panels,
                                            panels);
        out += now.size();
        some_rows = some_rows.subspan(now.size());
    }
}

const char* CovarianceTable::flaw(std::size_t nodes, std::size_t dimensions, std::size_t row_values) const noexcept {
    const std::size_t k = rows(), panels = panels_of(dimensions);
    if (of_node.size() != nodes || count.size() != k || order.size() != k * dimensions || first.size() != k * panels ||
        mean.size() != k * dimensions || values.size() != k * row_values)
        return "the arrays of the covariances have different lengths";
    const auto inside = [](std::int64_t value, std::int64_t low, std::size_t end) {
        return value >= low && value < static_cast<std::int64_t>(end);
    };
    for (const std::int32_t row : of_node.view())
        if (!inside(row, -1, k)) return "a node refers to a covariance that does not exist";
    for (const std::int32_t dimension : order.view())
        if (!inside(dimension, 0, dimensions)) return "a covariance refers to a feature that does not exist";
    for (std::size_t row = 0; row < k; ++row) {
        for (std::size_t p = 0; p < panels; ++p)
            if (!inside(first[row * panels + p], 0, p * kPanelRows + 1)) return "the blocks of a covariance overlap";
        if (panel_values(first.view().subspan(row * panels, panels)) > row_values)
            return "a covariance lies outside its array";
    }
    return nullptr;
}

namespace {

constexpr double kMaxMarginalWork = 8e6;  // products, a few milliseconds, for the root model of one incomplete record

/// out = W z; z has 8 values per panel, and so has out.
void multiply_panels(const float* values, std::size_t panels, const double* z, double* out) noexcept {
    for (std::size_t p = 0; p < panels; ++p) {
        double* const rows = out + p * kPanelRows;
        std::fill_n(rows, kPanelRows, 0.0);
        for (std::size_t j = 0; j < (p + 1) * kPanelRows; ++j, values += kPanelRows)
            for (std::size_t i = 0; i < kPanelRows; ++i) rows[i] += static_cast<double>(values[i]) * z[j];
    }
}

/// A Gaussian with the factor W at the distance z from its mean, with the rows of `directions` integrated out:
/// |W z|^2 - |L^-1 v|^2 for v = R^T W z, R = W directions^T and L L^T = R^T R; and log2 |L|.
class Marginal {
  public:
    Marginal(std::span<const double> directions, std::size_t dimensions)
        : directions_(directions),
          d_(dimensions),
          width_(panels_of(dimensions) * kPanelRows),
          missing_(directions.size() / dimensions),
          padded_(width_),
          distance_(width_),
          rotated_(missing_ * width_),
          gram_(missing_ * missing_),
          solved_(missing_) {}

    struct Result {
        double exponent, log2_determinant;
    };
    Result of(const float* values, const double* z) {
        const auto product = [&](const double* from, double* to) {
            std::copy_n(from, d_, padded_.begin());
            multiply_panels(values, width_ / kPanelRows, padded_.data(), to);
        };
        const auto dot = [&](const double* a, const double* b) { return std::inner_product(a, a + width_, b, 0.0); };
        product(z, distance_.data());
        for (std::size_t s = 0; s < missing_; ++s) product(directions_.data() + s * d_, &rotated_[s * width_]);
        for (std::size_t s = 0; s < missing_; ++s)
            for (std::size_t t = 0; t <= s; ++t)
                gram_[s * missing_ + t] = dot(&rotated_[s * width_], &rotated_[t * width_]);
        Result found{dot(distance_.data(), distance_.data()), 0.0};
        if (!cholesky(gram_.data(), missing_, missing_)) return {std::numeric_limits<double>::quiet_NaN(), 0.0};
        for (std::size_t s = 0; s < missing_; ++s) {
            double value = dot(&rotated_[s * width_], distance_.data());
            for (std::size_t t = 0; t < s; ++t) value -= gram_[s * missing_ + t] * solved_[t];
            solved_[s] = value / gram_[s * missing_ + s];
            found.exponent -= solved_[s] * solved_[s];
            found.log2_determinant += std::log2(gram_[s * missing_ + s]);
        }
        found.exponent = std::max(found.exponent, 0.0);
        return found;
    }

  private:
    std::span<const double> directions_;
    std::size_t d_, width_, missing_;
    std::vector<double> padded_, distance_, rotated_, gram_, solved_;
};

}  // namespace

/// The same for an incomplete record.
bool RootModel::log2_marginal(const TreeRecord& record, std::span<double> out) const {
    const std::size_t d = shift.size();
    std::vector<double> at(d), directions, z(d);
    for (std::size_t j = 0; j < d; ++j) {
        at[j] = std::clamp((record.x[j] - shift[j]) / scale[j], -kMaxZ, kMaxZ);
        if (!std::isnan(record.x[j])) continue;
        at[j] = 0.0;
        directions.resize(directions.size() + d, 0.0);
        directions[directions.size() - d + j] = 1.0;
    }
    for (std::size_t k = 0; k < record.directions.size(); ++k)
        directions.push_back(record.directions[k] / scale[k % d]);
    const double columns = static_cast<double>(directions.size() / d + 1);
    if (columns * static_cast<double>(classes() * d) * (0.5 * static_cast<double>(d) + columns) > kMaxMarginalWork)
        return false;
    Marginal marginal(directions, d);
    const std::size_t floats = full_panel_values(d);
    for (std::size_t c = 0; c < classes(); ++c) {
        for (std::size_t j = 0; j < d; ++j) z[j] = at[j] - static_cast<double>(mean[c * d + j]);
        const auto [exponent, log2_determinant] = marginal.of(values.data() + c * floats, z.data());
        if (std::isnan(exponent)) return false;
        const double log2_density =
            static_cast<double>(log2_norm[c]) - log2_determinant - 0.5 * std::numbers::log2e * exponent;
        out[c] = std::max(log2_density, -1e30);
    }
    return true;
}

bool RootModel::log2_joint(const TreeRecord& record, std::span<double> out) const {
    const double* const x = record.x.data();
    if (!record.missing_axes.empty() ||
        std::any_of(x, x + shift.size(), [](double value) { return std::isnan(value); }))
        return log2_marginal(record, out);
    thread_local Scratch scratch;
    log2_joint_complete(x, out, scratch);
    return true;
}

void RootModel::log2_joint_complete(const double* x, std::span<double> out, Scratch& scratch) const {
    const std::size_t d = shift.size(), panels = panels_of(d);
    auto& [at, z, exponent, first] = scratch;
    const std::size_t k = classes(), width = panels * kPanelRows;
    at.resize(d);
    z.assign(kTogether * width, 0.0F);
    first.assign(panels, 0);
    exponent.resize(k);
    for (std::size_t j = 0; j < d; ++j)
        at[j] = static_cast<float>(std::clamp((x[j] - shift[j]) / scale[j], -kMaxZ, kMaxZ));
    const auto centre_on = [&](std::size_t c, float* out_z) {
        const float* const centre = mean.data() + c * d;
        for (std::size_t j = 0; j < d; ++j) out_z[j] = at[j] - centre[j];
    };
    const std::size_t floats = full_panel_values(d);
    std::size_t c = 0;
    for (; c + kTogether <= k; c += kTogether) {
        const float* factor[kTogether];
        for (std::size_t l = 0; l < kTogether; ++l) {
            centre_on(c + l, z.data() + l * width);
            factor[l] = values.data() + (c + l) * floats;
        }
        kernels().panel_exponents(z.data(), factor, panels, exponent.data() + c);
    }
    for (; c < k; ++c) {
        centre_on(c, z.data());
        exponent[c] = kernels().panel_exponent(z.data(), values.data() + c * floats, first.data(), panels);
    }
    for (c = 0; c < k; ++c)
        out[c] = std::max(static_cast<double>(log2_norm[c]) - kHalfLog2E * static_cast<double>(exponent[c]), -1e30);
}

const char* RootModel::flaw(std::size_t classes_now, std::size_t dimensions) const noexcept {
    const std::size_t k = classes(), d = shift.size();
    if (k == 0 && d == 0 && scale.size() == 0 && mean.size() == 0 && values.size() == 0 && known.size() == 0)
        return nullptr;
    if (k != classes_now || d != dimensions || scale.size() != d || mean.size() != k * d ||
        values.size() != k * full_panel_values(d) || known.size() != 1)
        return "the arrays of the root model have different lengths";
    for (std::size_t j = 0; j < d; ++j)
        if (!(scale[j] > 0.0) || !std::isfinite(scale[j]) || !std::isfinite(shift[j]))
            return "the scale of the root model is not a positive number";
    return nullptr;
}

}  // namespace anystream::bayes_tree
