#include "anystream/bayes_tree/virtual_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "anystream/bayes_tree/mixture_reduction.hpp"
#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {
namespace {

constexpr int kMaxIterations = 10'000;
constexpr double kRounding = 1e-14;    // a smaller relative rise of the log likelihood counts as none
constexpr double kNegligible = -25.0;  // log of the smallest ratio to the best component that still counts
constexpr std::size_t kChunk = 256;

/// The z_ij of some consecutive entries that are not negligible.
struct Shares {
    struct One {
        std::size_t entry, group;
        double z;
    };
    std::vector<One> shares;
    double log_likelihood = 0.0;
};

class Reduction {
  public:
    Reduction(const Level& level, const BuildOptions& options)
        : level_(level),
          options_(options),
          group_of_(first_mapping(level, options)),
          groups_(static_cast<std::size_t>(*std::max_element(group_of_.begin(), group_of_.end())) + 1),
          gaussians_(level, groups_, options),
          log_weight_(groups_, 0.0),
          chunks_((level.size() + kChunk - 1) / kChunk) {
        for (std::size_t i = 0; i < level.size(); ++i) {  // binary z_ij
            chunks_[i / kChunk].shares.push_back({i, static_cast<std::size_t>(group_of_[i]), 1.0});
        }
    }

    Groups reduce() {
        double before = GaussianLanes::kNothing;
        for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
            maximise();
            const double now = expect();
            const double rise = options_.tolerance * static_cast<double>(level_.size());
            if (!(now - before > std::max(rise, kRounding * std::abs(now)))) break;
            before = now;
        }
        return keep_fanout(level_, group_of_, Closeness::kResponsibility, options_);
    }

  private:
    double expect();
    void maximise();

    const Level& level_;
    const BuildOptions& options_;
    std::vector<std::int32_t> group_of_;  // of the highest z_ij
    std::size_t groups_;
    GroupGaussians gaussians_;
    std::vector<double> log_weight_;  // log alpha_j
    std::vector<Shares> chunks_;
};

double Reduction::expect() {
    parallel_for(level_.size(), kChunk, options_.threads, [&](std::size_t first, std::size_t last) {
        throw_if_stopped(options_);
        Shares& chunk = chunks_[first / kChunk];
        chunk.shares.clear();
        double peaks = 0.0;
        LogProduct rest;
        std::vector<double> joint;
        for (std::size_t i = first; i < last; ++i) {
            const auto blocks = gaussians_.near(static_cast<std::size_t>(group_of_[i]));
            const std::size_t offset = blocks.first * GaussianLanes::kLanes;
            joint.resize(blocks.lanes());
            gaussians_.compare(i, blocks, joint.data());
            joint.resize(std::min(joint.size(), groups_ - offset));
            for (std::size_t j = 0; j < joint.size(); ++j) {
                joint[j] = joint[j] * level_.weight[i] + log_weight_[offset + j];
            }
            const auto best = static_cast<std::size_t>(std::max_element(joint.begin(), joint.end()) - joint.begin());
            group_of_[i] = static_cast<std::int32_t>(offset + best);
            const std::size_t begin = chunk.shares.size();
            double total = 0.0;
            for (std::size_t j = 0; j < joint.size(); ++j) {
                const double t = joint[j] - joint[best];
                if (!(t > kNegligible)) continue;
                chunk.shares.push_back({i, offset + j, portable_exp(t)});
                total += chunk.shares.back().z;
            }
            for (std::size_t s = begin; s < chunk.shares.size(); ++s) chunk.shares[s].z /= total;
            peaks += joint[best];
            rest.multiply(total);
        }
        chunk.log_likelihood = peaks + rest.log();
    });
    double sum = 0.0;
    for (const Shares& chunk : chunks_) sum += chunk.log_likelihood;
    return sum;
}

void Reduction::maximise() {
    const std::size_t d = level_.dimensions;
    std::vector<double> n(groups_), weight(groups_), mean(groups_ * d), variance(groups_ * d);
    for (const Shares& chunk : chunks_) {
        for (const auto& [i, j, z] : chunk.shares) {
            const double w = z * level_.weight[i];
            n[j] += z;
            weight[j] += w;
            for (std::size_t k = 0; k < d; ++k) mean[j * d + k] += w * level_.mean_of(i)[k];
        }
    }
    for (std::size_t j = 0; j < groups_; ++j) {
        for (std::size_t k = 0; k < d; ++k) mean[j * d + k] /= weight[j];
    }
    for (const Shares& chunk : chunks_) {
        for (const auto& [i, j, z] : chunk.shares) {
            const double w = z * level_.weight[i];
            for (std::size_t k = 0; k < d; ++k) {
                const double t = level_.mean_of(i)[k] - mean[j * d + k];
                variance[j * d + k] += w * (t * t + level_.variance_of(i)[k]);
            }
        }
    }
    Moments moments(d);
    for (std::size_t j = 0; j < groups_; ++j) {
        if (!(n[j] > 1e-9)) {
            gaussians_.clear(j);
            log_weight_[j] = 0.0;
            continue;
        }
        for (std::size_t k = 0; k < d; ++k) {
            moments.mean[k] = mean[j * d + k];
            moments.variance[k] = variance[j * d + k] / weight[j];
        }
        gaussians_.set(j, moments);
        log_weight_[j] = portable_log(n[j] / static_cast<double>(level_.size()));
    }
}

}  // namespace

TreeShape virtual_sampling(const Points& points, const BuildOptions& options) {
    require_buildable(points, options);
    require_kernel_variance(options);
    return build_bottom_up(points, options.kernel_variance, options,
                           [&](const Level& level) { return Reduction(level, options).reduce(); });
}

}  // namespace anystream::bayes_tree
