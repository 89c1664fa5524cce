#include "anystream/bayes_tree/covariance_table.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

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
}

std::int32_t CovarianceTable::append(std::span<const double> covariance, const Blocks& blocks, const double* mean_in_z,
                                     std::int64_t records) {
    const std::size_t d = blocks.order.size();
    const auto begin = static_cast<std::int64_t>(values.size());
    const InverseFactor factor = inverse_factor(covariance, blocks);
    if (std::isnan(factor.log2_norm)) return -1;
    append_panels(factor, first.own(), values.own());
    const auto row = static_cast<std::int32_t>(rows());
    count.own().push_back(records);
    order.own().insert(order.own().end(), blocks.order.begin(), blocks.order.end());
    offset.own().push_back(begin);
    log2_norm.own().push_back(static_cast<float>(factor.log2_norm));
    mean.own().resize(mean.size() + d);
    set_mean(static_cast<std::size_t>(row), mean_in_z, d);
    return row;
}

void CovarianceTable::set_mean(std::size_t row, const double* mean_in_z, std::size_t dimensions) {
    const std::int32_t* const places = order.data() + row * dimensions;
    float* const out = mean.own().data() + row * dimensions;
    for (std::size_t j = 0; j < dimensions; ++j) out[j] = static_cast<float>(mean_in_z[places[j]]);
}

float CovarianceTable::exponent(std::size_t row, const float* x, std::size_t dimensions, float* z) const noexcept {
    const std::int32_t* const places = order.data() + row * dimensions;
    const float* const centre = mean.data() + row * dimensions;
    for (std::size_t j = 0; j < dimensions; ++j) z[j] = x[places[j]] - centre[j];
    const std::size_t panels = panels_of(dimensions);
    return kernels().panel_exponent(z, values.data() + offset[row], first.data() + row * panels, panels);
}

const char* CovarianceTable::flaw(std::size_t nodes, std::size_t dimensions) const noexcept {
    const std::size_t k = rows(), panels = panels_of(dimensions);
    if (of_node.size() != nodes || count.size() != k || order.size() != k * dimensions || first.size() != k * panels ||
        offset.size() != k || mean.size() != k * dimensions)
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
        const std::size_t floats = panel_values(first.view().subspan(row * panels, panels));
        if (!inside(offset[row], 0, values.size() + 1) ||
            floats > values.size() - static_cast<std::size_t>(offset[row]))
            return "a covariance lies outside its array";
    }
    return nullptr;
}

void RootModel::log2_joint(const double* x, std::span<double> out) const {
    const std::size_t d = shift.size(), panels = panels_of(d);
    thread_local std::vector<float> at, z;
    thread_local std::vector<std::int32_t> first;
    at.resize(d);
    z.assign(panels * kPanelRows, 0.0F);
    first.assign(panels, 0);
    for (std::size_t j = 0; j < d; ++j)
        at[j] = static_cast<float>(std::clamp((x[j] - shift[j]) / scale[j], -kMaxZ, kMaxZ));
    const std::size_t floats = full_panel_values(d);
    for (std::size_t c = 0; c < classes(); ++c) {
        const float* const centre = mean.data() + c * d;
        for (std::size_t j = 0; j < d; ++j) z[j] = at[j] - centre[j];
        const float exponent = kernels().panel_exponent(z.data(), values.data() + c * floats, first.data(), panels);
        out[c] = std::max(static_cast<double>(log2_norm[c]) - kHalfLog2E * static_cast<double>(exponent), -1e30);
    }
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
