#include "anystream/bayes_tree/covariance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "anystream/portable_math.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr double kMinShrinkage = 1e-3;  // duplicated or dependent columns: the raw matrix would be singular
constexpr double kMinGain = 1e-12;

/// log |C_aa| of the dimensions in `a`.
double log_determinant(std::span<const double> covariance, std::size_t d, std::span<const std::int32_t> a,
                       std::vector<double>& scratch) {
    const std::size_t s = a.size();
    scratch.resize(s * s);
    for (std::size_t i = 0; i < s; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            scratch[i * s + j] = covariance[static_cast<std::size_t>(a[i]) * d + static_cast<std::size_t>(a[j])];
    if (!cholesky(scratch.data(), s, s)) return -std::numeric_limits<double>::infinity();
    LogProduct product;
    for (std::size_t i = 0; i < s; ++i) product.multiply(scratch[i * s + i]);
    return 2.0 * product.log();
}

}  // namespace

Blocks Blocks::single(std::size_t dimensions) {
    Blocks blocks;
    blocks.order.resize(dimensions);
    blocks.first.resize(dimensions + 1);
    std::iota(blocks.order.begin(), blocks.order.end(), 0);
    std::iota(blocks.first.begin(), blocks.first.end(), 0);
    return blocks;
}

Blocks Blocks::whole(std::size_t dimensions) {
    Blocks blocks;
    blocks.order.resize(dimensions);
    std::iota(blocks.order.begin(), blocks.order.end(), 0);
    blocks.first = {0, static_cast<std::int32_t>(dimensions)};
    return blocks;
}

std::size_t panel_values(std::span<const std::int32_t> first) noexcept {
    std::size_t values = 0;
    for (std::size_t p = 0; p < first.size(); ++p)
        values += kPanelRows * ((p + 1) * kPanelRows - static_cast<std::size_t>(first[p]));
    return values;
}

std::size_t covariance_values(std::size_t dimensions, std::size_t max_block) noexcept {
    std::size_t values = 0;
    for (std::size_t p = 0; p < panels_of(dimensions); ++p)
        values += kPanelRows * std::min((p + 1) * kPanelRows, kPanelRows + max_block - 1);
    return values;
}

bool cholesky(double* matrix, std::size_t size, std::size_t stride) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
        double* const row = matrix + i * stride;
        for (std::size_t j = 0; j <= i; ++j) {
            const double* const other = matrix + j * stride;
            double value = row[j];
            for (std::size_t k = 0; k < j; ++k) value -= row[k] * other[k];
            if (j < i) {
                row[j] = value / other[j];
            } else {
                if (!(value > 0.0) || !std::isfinite(value)) return false;
                row[i] = std::sqrt(value);
            }
        }
    }
    return true;
}

// An edge between two blocks joins them whatever its ends, and the joint block is filled (Fig. 3), so hill climbing
// over edges is joining of blocks. Mean and diagonal stay, so the log likelihood rises by n/2 of log |C_aa| + log
// |C_bb| - log |C_abab|, which depends on the two blocks alone.
Blocks search_blocks(std::span<const double> covariance, std::size_t d, std::size_t max_block) {
    if (max_block >= d) return Blocks::whole(d);
    std::vector<std::vector<std::int32_t>> member(d);  // of a block, under the number of its smallest dimension
    std::vector<double> log_det(d), gain(d * d, 0.0);  // gain: of joining a < b
    std::vector<double> scratch;
    std::vector<std::int32_t> both;
    for (std::size_t i = 0; i < d; ++i) {
        member[i] = {static_cast<std::int32_t>(i)};
        log_det[i] = log_determinant(covariance, d, member[i], scratch);
    }
    const auto measure = [&](std::size_t a, std::size_t b) {
        double& value = gain[a * d + b];
        value = 0.0;
        if (member[a].empty() || member[b].empty() || member[a].size() + member[b].size() > max_block) return;
        both = member[a];
        both.insert(both.end(), member[b].begin(), member[b].end());
        value = log_det[a] + log_det[b] - log_determinant(covariance, d, both, scratch);
    };
    for (std::size_t a = 0; a < d; ++a)
        for (std::size_t b = a + 1; b < d; ++b) measure(a, b);
    while (true) {
        std::size_t first = 0, second = 0;
        double highest = kMinGain;
        for (std::size_t a = 0; a < d; ++a) {
            if (member[a].empty()) continue;
            for (std::size_t b = a + 1; b < d; ++b)
                if (gain[a * d + b] > highest) highest = gain[a * d + b], first = a, second = b;
        }
        if (first == second) break;
        member[first].insert(member[first].end(), member[second].begin(), member[second].end());
        member[second].clear();
        std::sort(member[first].begin(), member[first].end());
        log_det[first] = log_determinant(covariance, d, member[first], scratch);
        for (std::size_t c = 0; c < d; ++c) {
            gain[std::min(c, second) * d + std::max(c, second)] = 0.0;
            if (c != first) measure(std::min(c, first), std::max(c, first));
        }
    }
    Blocks blocks;
    blocks.first.push_back(0);
    for (std::size_t a = 0; a < d; ++a) {
        if (member[a].empty()) continue;
        blocks.order.insert(blocks.order.end(), member[a].begin(), member[a].end());
        blocks.first.push_back(static_cast<std::int32_t>(blocks.order.size()));
    }
    return blocks;
}

void shrink(std::span<double> covariance, std::span<const double> variance, double records, double strength) {
    const std::size_t d = variance.size();
    const double a = strength * static_cast<double>(d);
    const double kept = 1.0 - std::max(kMinShrinkage, a / (a + records));
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) covariance[i * d + j] = i == j ? variance[i] : kept * covariance[i * d + j];
}

InverseFactor inverse_factor(std::span<const double> covariance, const Blocks& blocks) {
    const std::size_t d = blocks.order.size();
    InverseFactor found{std::vector<std::int32_t>(d), {}, std::numeric_limits<double>::quiet_NaN()};
    std::vector<double> block, inverse;
    LogProduct determinant;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
        const std::size_t at = blocks.begin(b), s = blocks.size(b);
        block.assign(s * s, 0.0);
        inverse.assign(s * s, 0.0);
        for (std::size_t i = 0; i < s; ++i)
            for (std::size_t j = 0; j <= i; ++j)
                block[i * s + j] = covariance[static_cast<std::size_t>(blocks.order[at + i]) * d +
                                              static_cast<std::size_t>(blocks.order[at + j])];
        if (!cholesky(block.data(), s, s)) return found;
        for (std::size_t i = 0; i < s; ++i) {  // row i of the inverse from the rows above it
            double* const row = inverse.data() + i * s;
            for (std::size_t k = 0; k < i; ++k)
                for (std::size_t j = 0; j <= k; ++j) row[j] -= block[i * s + k] * inverse[k * s + j];
            const double pivot = 1.0 / block[i * s + i];
            for (std::size_t j = 0; j < i; ++j) row[j] *= pivot;
            row[i] = pivot;
            determinant.multiply(pivot);
            found.begin[at + i] = static_cast<std::int32_t>(at);
            found.values.insert(found.values.end(), row, row + i + 1);
        }
    }
    found.log2_norm =
        determinant.log() * std::numbers::log2e - 0.5 * static_cast<double>(d) * std::log2(2.0 * std::numbers::pi);
    return found;
}

void append_panels(const InverseFactor& factor, std::vector<std::int32_t>& first, std::vector<float>& values) {
    const std::size_t d = factor.begin.size();
    std::vector<std::size_t> row_at(d);  // where row i begins in the factor
    for (std::size_t i = 0, at = 0; i < d; ++i) {
        row_at[i] = at;
        at += i + 1 - static_cast<std::size_t>(factor.begin[i]);
    }
    for (std::size_t p = 0; p < panels_of(d); ++p) {
        first.push_back(factor.begin[p * kPanelRows]);
        for (auto j = static_cast<std::size_t>(first.back()); j < (p + 1) * kPanelRows; ++j) {
            for (std::size_t i = p * kPanelRows; i < (p + 1) * kPanelRows; ++i) {
                const bool inside = i < d && j <= i && j >= static_cast<std::size_t>(factor.begin[i]);
                values.push_back(inside ? static_cast<float>(
                                              factor.values[row_at[i] + j - static_cast<std::size_t>(factor.begin[i])])
                                        : 0.0F);
            }
        }
    }
}

void CrossProducts::add(const double* deviation) noexcept {
    const std::size_t d = sum_.size();
    count_ += 1.0;
    for (std::size_t i = 0; i < d; ++i) {
        const double value = deviation[i];
        sum_[i] += value;
        double* const row = product_.data() + i * d;
        for (std::size_t j = 0; j <= i; ++j) row[j] += value * deviation[j];
    }
}

void CrossProducts::add(const CrossProducts& other) noexcept {
    count_ += other.count_;
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += other.sum_[i];
    for (std::size_t i = 0; i < product_.size(); ++i) product_[i] += other.product_[i];
}

std::vector<double> CrossProducts::covariance() const {
    const std::size_t d = sum_.size();
    std::vector<double> covariance(d * d);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            covariance[i * d + j] = covariance[j * d + i] =
                product_[i * d + j] / count_ - (sum_[i] / count_) * (sum_[j] / count_);
    return covariance;
}

}  // namespace anystream::bayes_tree
