#include "anystream/bayes_tree/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "anystream/bayes_tree/kernels.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr double kSingle = 0x1p-24;  // the relative rounding error of a single-precision operation
constexpr double kWorn = 1e-7;       // upper sums below this share of their peak are summed again
constexpr double kSlack = 1e-13;     // of the peak: what additions and subtractions in double precision may have lost
constexpr double kMargin = 1e-6;     // relative: a power of two in single precision is exact to 2e-7
constexpr double kHalfLog2EDouble = 0.5 * std::numbers::log2e;

}  // namespace

void Certificate::open(const Forest& forest, std::span<const float> x, bool missing,
                       std::span<const double> log2_factor) {
    const std::size_t d = x.size(), classes = forest.classes();
    missing_ = missing;
    x_.resize(d);
    for (std::size_t j = 0; j < d; ++j) x_[j] = std::isnan(x[j]) ? 0.0 : static_cast<double>(x[j]);
    log2_factor_.assign(classes, 0.0);
    if (!log2_factor.empty()) std::copy(log2_factor.begin(), log2_factor.end(), log2_factor_.begin());
    log2_norm_.resize(classes);
    sums_.assign(classes, {});
    lower_key_.assign(classes, -std::numeric_limits<double>::infinity());
    upper_key_ = lower_key_;
    if (missing) own_precision_.assign(classes * d, 0.0F);
    for (std::size_t c = 0; c < classes; ++c) {
        double log2_norm = forest.kernel_log2_norm(c);
        if (missing) {  // missing dimensions are integrated out
            log2_norm = 0.0;
            for (std::size_t j = 0; j < d; ++j) {
                if (std::isnan(x[j])) continue;
                const float precision = forest.kernel_precision(c)[j];
                own_precision_[c * d + j] = precision;
                log2_norm += std::log2(static_cast<double>(precision)) - 0.5 * std::log2(2.0 * std::numbers::pi);
            }
        }
        log2_norm_[c] = log2_norm;
    }
}

Certificate::Bounds Certificate::bounds(const Forest& forest, std::size_t c, std::size_t node) const noexcept {
    const std::size_t d = x_.size();
    const auto count = static_cast<double>(forest.node_count(node));
    const double base = log2_norm_[c] + log2_factor_[c];
    const double rounding = 4.0 * kSingle * (std::abs(log2_norm_[c]) + 1.0);
    const float* box = forest.node_box(node);
    // Incomplete records have wider kernels than their class, each its own: only the peak of a kernel is known.
    if (std::isnan(box[0])) return {count, -std::numeric_limits<double>::infinity(), base + rounding, base, 1.0};

    const float* precision = missing_ ? own_precision_.data() + c * d : forest.kernel_precision(c);
    const BoxExponents u = kernels().box_exponents(
        x_.data(), precision, {box, box + d, forest.node_mean(node), forest.node_scatter(node), 1.0 / count}, d);
    // Centres are rounded to single precision, which moves the root of an exponent by at most `moved`.
    const double moved = 2.0 * kSingle * std::sqrt(u.reach), root = std::sqrt(u.mean);
    const double relative = (static_cast<double>(d) + 16.0) * kSingle;
    const double highest_mean = (root + moved) * (root + moved) * (1.0 + relative);
    const double lowest = u.lowest * (1.0 - relative), highest = u.highest * (1.0 - relative);
    double near = 1.0;
    if (highest > lowest)
        near = (highest - std::clamp((u.mean - 2.0 * moved * root) * (1.0 - relative), lowest, highest)) /
               (highest - lowest);
    return {count, base - rounding - kHalfLog2EDouble * highest_mean, base + rounding - kHalfLog2EDouble * lowest,
            base + rounding - kHalfLog2EDouble * highest, near};
}

void Certificate::values(std::span<const Bounds> of, double origin, double* lower, double* upper) noexcept {
    float log2_value[3 * kAtOnce] = {};
    double value[3 * kAtOnce];
    for (std::size_t i = 0; i < of.size(); ++i) {
        log2_value[i] = static_cast<float>(of[i].lower - origin);
        log2_value[kAtOnce + i] = static_cast<float>(of[i].upper - origin);
        log2_value[2 * kAtOnce + i] = static_cast<float>(of[i].floor - origin);
    }
    kernels().powers_of_two(log2_value, 0.0F, 3 * kAtOnce, value);
    for (std::size_t i = 0; i < of.size(); ++i) {
        lower[i] = of[i].count * value[i];
        upper[i] = of[i].count * (of[i].near * value[kAtOnce + i] + (1.0 - of[i].near) * value[2 * kAtOnce + i]);
    }
}

void Certificate::add_kernels(std::size_t c, std::span<const float> log2_value) noexcept {
    Sums& sums = sums_[c];
    float relative[kAtOnce];
    double value[kAtOnce];
    for (std::size_t first = 0; first < log2_value.size(); first += kAtOnce) {
        const std::size_t run = std::min(kAtOnce, log2_value.size() - first);
        for (std::size_t i = 0; i < run; ++i)
            relative[i] =
                static_cast<float>(static_cast<double>(log2_value[first + i]) + log2_factor_[c] - sums.origin);
        kernels().powers_of_two(relative, 0.0F, run, value);
        for (std::size_t i = 0; i < run; ++i) {
            sums.lower += value[i];
            sums.upper += value[i];
        }
    }
}

void Certificate::add_up(const Forest& forest, std::size_t c, std::span<const std::int32_t> nodes,
                         std::span<const float> kernels) {
    found_.clear();
    double highest = -std::numeric_limits<double>::infinity();
    for (const std::int32_t node : nodes) {
        found_.push_back(bounds(forest, c, static_cast<std::size_t>(node)));
        highest = std::max(highest, found_.back().upper);
    }
    for (const float value : kernels) highest = std::max(highest, static_cast<double>(value) + log2_factor_[c]);
    Sums& sums = sums_[c] = {};
    if (!nodes.empty() || !kernels.empty()) {
        sums.origin = std::ceil(highest);
        double lower[kAtOnce], upper[kAtOnce];
        for (std::size_t first = 0; first < found_.size(); first += kAtOnce) {
            const std::size_t run = std::min(kAtOnce, found_.size() - first);
            values({found_.data() + first, run}, sums.origin, lower, upper);
            for (std::size_t i = 0; i < run; ++i) {
                sums.lower += lower[i];
                sums.upper += upper[i];
            }
        }
        add_kernels(c, kernels);
        sums.peak = sums.upper;
    }
    renew_keys(c);
}

void Certificate::refine(const Forest& forest, std::size_t c, std::int32_t refined,
                         std::span<const std::int32_t> entries, std::span<const float> log2_value,
                         std::span<float> priority) {
    Sums& sums = sums_[c];
    double lower[kAtOnce], upper[kAtOnce];
    const Bounds above = bounds(forest, c, static_cast<std::size_t>(refined));
    values({&above, 1}, sums.origin, lower, upper);
    sums.lower -= lower[0];
    sums.upper -= upper[0];
    for (std::size_t first = 0; first < entries.size(); first += kAtOnce) {
        const std::size_t last = std::min(first + kAtOnce, entries.size());
        Bounds found[kAtOnce];
        float known[kAtOnce];
        std::size_t nodes = 0, kernels = 0, place[kAtOnce];
        for (std::size_t i = first; i < last; ++i) {
            if (entries[i] < 0) {
                known[kernels++] = log2_value[i];
            } else {
                place[nodes] = i;
                found[nodes++] = bounds(forest, c, static_cast<std::size_t>(entries[i]));
            }
        }
        add_kernels(c, {known, kernels});
        if (nodes == 0) continue;
        values({found, nodes}, sums.origin, lower, upper);
        for (std::size_t n = 0; n < nodes; ++n) {
            sums.lower += lower[n];
            sums.upper += upper[n];
            priority[place[n]] = static_cast<float>(order_key(std::max(upper[n] - lower[n], 0.0), sums.origin));
        }
    }
    sums.peak = std::max(sums.peak, sums.upper);
    renew_keys(c);
}

bool Certificate::worn(std::size_t c) const noexcept {
    return !(sums_[c].upper > kWorn * sums_[c].peak);
}

void Certificate::set_sums(std::vector<Sums> sums) {
    sums_ = std::move(sums);
    for (std::size_t c = 0; c < sums_.size(); ++c) renew_keys(c);
}

bool Certificate::agrees_with(std::span<const Sums> others) const noexcept {
    constexpr double kSame = 1e-3;      // relative to the upper sum: powers of two in single precision, another origin
    constexpr double kLost = 1e-9;      // relative to the peak: more than additions and subtractions lose
    constexpr double kMaxApart = 1000;  // of the logarithms
    for (std::size_t c = 0; c < sums_.size(); ++c) {
        const Sums &now = sums_[c], &other = others[c];
        if (!std::isfinite(other.lower) || !std::isfinite(other.peak) || !(other.upper >= 0.0) ||
            !(other.upper <= other.peak) || other.origin != std::floor(other.origin))
            return false;
        if (now.peak == 0.0 && other.peak == 0.0) continue;
        const double apart = other.origin - now.origin;
        if (!(std::abs(apart) <= kMaxApart)) return false;
        const double scale = std::exp2(apart), allowed = kSame * now.upper + kLost * other.peak * scale;
        if (!(std::abs(other.lower * scale - now.lower) <= allowed)) return false;
        if (!(std::abs(other.upper * scale - now.upper) <= allowed)) return false;
    }
    return true;
}

Scaled Certificate::lower(std::size_t c) const noexcept {
    return Scaled::of((sums_[c].lower - kSlack * sums_[c].peak) * (1.0 - kMargin), sums_[c].origin);
}

Scaled Certificate::upper(std::size_t c) const noexcept {
    return Scaled::of((sums_[c].upper + kSlack * sums_[c].peak) * (1.0 + kMargin), sums_[c].origin);
}

Scaled Certificate::middle(std::size_t c) const noexcept {
    return Scaled::of(0.5 * (std::max(sums_[c].lower, 0.0) + sums_[c].upper), sums_[c].origin);
}

void Certificate::renew_keys(std::size_t c) noexcept {
    const auto key = [](const Scaled& bound) {
        return bound.fraction > 0.0 ? order_key(bound.fraction, bound.exponent)
                                    : -std::numeric_limits<double>::infinity();
    };
    lower_key_[c] = key(lower(c));
    upper_key_[c] = key(upper(c));
}

double Certificate::width_key(std::size_t c) const noexcept {
    return order_key(std::max(sums_[c].upper - sums_[c].lower, 0.0), sums_[c].origin);
}

bool Certificate::decided() const noexcept {
    const auto leader =
        static_cast<std::size_t>(std::max_element(lower_key_.begin(), lower_key_.end()) - lower_key_.begin());
    for (std::size_t c = 0; c < upper_key_.size(); ++c)
        if (c != leader && !(upper_key_[c] < lower_key_[leader])) return false;
    return true;
}

}  // namespace anystream::bayes_tree
