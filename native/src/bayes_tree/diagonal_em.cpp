#include "anystream/bayes_tree/diagonal_em.hpp"

#include <algorithm>
#include <limits>

#include "anystream/bayes_tree/learning_kernels.hpp"
#include "anystream/portable_math.hpp"

namespace anystream::bayes_tree {
namespace {

constexpr std::size_t kLanes = GaussianLanes::kLanes;
constexpr double kNothing = GaussianLanes::kNothing;
constexpr int kMaxIterations = 20;
constexpr double kTolerance = 1e-2;      // the mean log likelihood has to rise by more
constexpr double kFlatDimension = 1e-9;  // floor of a dimension, as a share of the widest one's variance
constexpr double kNegligible = -25.0;    // log of the smallest ratio to the best component that still counts, 1e-11
constexpr std::size_t kAtOnce = 32;      // rows whose joints are kept at once

inline std::size_t best_of(const double* joint, std::size_t components) noexcept {
    std::size_t best = 0;
    double highest = joint[0];
    for (std::size_t j = 1; j < components; ++j) {  // no branch that a processor would have to guess
        const bool higher = joint[j] > highest;
        best = higher ? j : best;
        highest = higher ? joint[j] : highest;
    }
    return best;
}

/// A set of rows during Var-Part: member[first .. last), and the most promising cut.
struct Cluster {
    std::size_t first, last;
    double scatter;         // the sum of squared distances to the mean; <= 0: not to be cut
    std::size_t dimension;  // of the highest variance
    double border;          // the mean there
};

}  // namespace

DiagonalEm::DiagonalEm(std::size_t dimensions, std::size_t components)
    : dimensions_(dimensions),
      stride_((dimensions + 7) / 8 * 8),
      components_(components),
      relative_floor_(
          0.5 * portable_exp(-2.0 / static_cast<double>(dimensions) * portable_log(static_cast<double>(components)))),
      floor_(dimensions),
      lanes_(dimensions, components),
      joints_(kAtOnce * lanes_.blocks() * kLanes),
      shares_(joints_.size()),
      n_(components),
      sum_(components * stride_),
      square_(components * stride_) {}

// Var-Part: the cluster of the largest scatter is cut at its mean, across its dimension of the highest variance, until
// there are k clusters. Leaves the clusters' moments in n_, sum_, square_ and returns how many there are.
std::size_t DiagonalEm::start(const Rows& rows) {
    member_.resize(rows.size());
    moved_.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) member_[i] = static_cast<std::int32_t>(i);

    double ones[kAtOnce];
    std::fill_n(ones, kAtOnce, 1.0);
    const auto summarise = [&](std::size_t slot, std::size_t first, std::size_t last) {
        double* const sum = sum_.data() + slot * stride_;
        double* const square = square_.data() + slot * stride_;
        std::fill_n(sum, stride_, 0.0);
        std::fill_n(square, stride_, 0.0);
        for (std::size_t i = first; i < last; i += kAtOnce) {
            const std::size_t count = std::min(kAtOnce, last - i);
            const double* hand[kAtOnce];
            for (std::size_t r = 0; r < count; ++r) hand[r] = rows.row(static_cast<std::size_t>(member_[i + r]));
            kernels_.add_moments(hand, ones, count, stride_, sum, square);
        }
        const auto n = static_cast<double>(last - first);
        n_[slot] = n;
        Cluster cluster{first, last, 0.0, 0, 0.0};
        double highest = -1.0;
        for (std::size_t i = 0; i < dimensions_; ++i) {
            const double scatter = square[i] - sum[i] * (sum[i] / n);
            cluster.scatter += scatter;
            if (scatter > highest) highest = scatter, cluster.dimension = i;
        }
        cluster.border = sum[cluster.dimension] / n;
        if (last - first < 2) cluster.scatter = 0.0;
        return cluster;
    };

    std::vector<Cluster> clusters{summarise(0, 0, rows.size())};
    measure_floor(rows.size());
    while (clusters.size() < components_) {
        std::size_t widest = 0;
        for (std::size_t c = 1; c < clusters.size(); ++c) {
            if (clusters[c].scatter > clusters[widest].scatter) widest = c;
        }
        const Cluster whole = clusters[widest];
        if (!(whole.scatter > 0.0)) break;
        std::size_t low = whole.first, high = 0;
        for (std::size_t i = whole.first; i < whole.last; ++i) {
            const auto m = member_[i];
            if (rows.row(static_cast<std::size_t>(m))[whole.dimension] > whole.border) {
                moved_[high++] = m;
            } else {
                member_[low++] = m;
            }
        }
        std::copy_n(moved_.begin(), high, member_.begin() + static_cast<std::ptrdiff_t>(low));
        if (low == whole.first || high == 0) {  // all values equal up to rounding
            clusters[widest].scatter = 0.0;
            continue;
        }
        clusters[widest] = summarise(widest, whole.first, low);
        clusters.push_back(summarise(clusters.size(), low, whole.last));
    }
    return clusters.size();
}

// From the moments of all rows, in place 0.
void DiagonalEm::measure_floor(std::size_t rows) {
    const auto n = static_cast<double>(rows);
    double widest = 0.0;
    for (std::size_t i = 0; i < dimensions_; ++i) {
        floor_[i] = std::max(0.0, square_[i] / n - (sum_[i] / n) * (sum_[i] / n));
        widest = std::max(widest, floor_[i]);
    }
    const double lowest = std::max(kFlatDimension * widest, std::numeric_limits<double>::min());
    for (double& f : floor_) f = std::max(relative_floor_ * f, lowest);
}

// E: each row's best component and the moments under the responsibilities. Returns the log likelihood, up to a
// constant.
double DiagonalEm::expect(const Rows& rows, std::span<std::int32_t> component) {
    std::fill(n_.begin(), n_.end(), 0.0);
    std::fill(sum_.begin(), sum_.end(), 0.0);
    std::fill(square_.begin(), square_.end(), 0.0);
    const std::size_t width = lanes_.blocks() * kLanes;
    double peaks = 0.0;
    LogProduct rest;
    for (std::size_t first = 0; first < rows.size(); first += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, rows.size() - first);
        const double* hand[kAtOnce];
        for (std::size_t r = 0; r < count; ++r) hand[r] = rows.row(first + r);
        lanes_.log_density(0, lanes_.blocks(), {hand, count}, joints_.data(), width);
        for (std::size_t r = 0; r < count; ++r) {
            double* const joint = joints_.data() + r * width;
            const std::size_t best = best_of(joint, components_);
            component[first + r] = static_cast<std::int32_t>(best);
            const double peak = joint[best];
            peaks += peak;
            for (std::size_t j = 0; j < width; ++j) joint[j] -= peak;  // lanes behind the last component have -inf
        }
        learning_kernels().exponentials(joints_.data(), count * width, shares_.data());
        double total[kAtOnce];
        for (std::size_t r = 0; r < count; ++r) {
            const double* const below = joints_.data() + r * width;
            double* const share = shares_.data() + r * width;
            for (std::size_t j = 0; j < width; ++j) share[j] = below[j] > kNegligible ? share[j] : 0.0;
            share[component[first + r]] = 1.0;  // even if all densities are 0
            total[r] = 0.0;
            for (std::size_t j = 0; j < components_; ++j) total[r] += share[j];
            rest.multiply(total[r]);
        }
        for (std::size_t j = 0; j < components_; ++j) {
            std::size_t added = 0;
            const double* added_row[kAtOnce];
            double responsibility[kAtOnce], added_total[kAtOnce];
            for (std::size_t r = 0; r < count; ++r) {
                const double share = shares_[r * width + j];
                added_row[added] = hand[r];
                responsibility[added] = share;
                added_total[added] = total[r];
                added += share != 0.0 ? 1 : 0;  // no branch that a processor would have to guess
            }
            for (std::size_t a = 0; a < added; ++a) responsibility[a] /= added_total[a];
            for (std::size_t a = 0; a < added; ++a) n_[j] += responsibility[a];
            kernels_.add_moments(added_row, responsibility, added, stride_, sum_.data() + j * stride_,
                                 square_.data() + j * stride_);
        }
    }
    return peaks + rest.log();
}

// M: the lanes from the moments. A component that has lost all its rows stays out.
void DiagonalEm::maximise(std::size_t rows) {
    for (std::size_t j = 0; j < components_; ++j) {
        if (!(n_[j] > 1e-9)) {
            lanes_.clear(j);
            continue;
        }
        const double* const sum = sum_.data() + j * stride_;
        const double* const square = square_.data() + j * stride_;
        const double per_row = 1.0 / n_[j];
        const auto mean = [&](std::size_t i) { return sum[i] * per_row; };
        const auto variance = [&](std::size_t i) {
            return std::max(floor_[i], square[i] * per_row - mean(i) * mean(i));
        };
        lanes_.set(j, mean, variance, portable_log(n_[j] / static_cast<double>(rows)));
    }
}

void DiagonalEm::fit(const Rows& rows, std::span<std::int32_t> component, const std::function<void()>& poll) {
    const std::size_t clusters = start(rows);
    std::fill(n_.begin() + static_cast<std::ptrdiff_t>(clusters), n_.end(), 0.0);
    double before = kNothing;
    for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
        poll();
        maximise(rows.size());
        const double now = expect(rows, component);
        if (!(now - before > kTolerance * static_cast<double>(rows.size()))) break;
        before = now;
    }
}

void DiagonalEm::best(std::span<const double* const> rows, std::int32_t* component) const {
    const std::size_t width = lanes_.blocks() * kLanes;
    std::vector<double> joints(rows.size() * width);
    lanes_.log_density(0, lanes_.blocks(), rows, joints.data(), width);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        component[r] = static_cast<std::int32_t>(best_of(joints.data() + r * width, components_));
    }
}

}  // namespace anystream::bayes_tree
