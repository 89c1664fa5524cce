#include "anystream/bayes_tree/construction.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace anystream::bayes_tree {
namespace {

constexpr std::size_t kMaxRecords = std::size_t{1} << 30;  // entries are numbered in 32 bits
constexpr double kMaxValue = 1e100;                        // squares and their sums stay finite

}  // namespace

void require_buildable(const Points& points, const BuildOptions& options) {
    const auto refuse = [](const std::string& message) { throw std::invalid_argument(message); };
    if (points.size() == 0) refuse("there are no points; a tree needs at least one record");
    if (points.size() > kMaxRecords) {
        refuse("there are " + std::to_string(points.size()) + " points in one class; at most 2^30 fit into one tree");
    }
    for (std::size_t i = 0; i < points.values.size(); ++i) {
        if (std::abs(points.values[i]) <= kMaxValue) continue;
        refuse("points[" + std::to_string(i / points.dimensions) + ", " + std::to_string(i % points.dimensions) +
               "] is " + std::to_string(points.values[i]) + "; pass finite, standardised values");
    }
    if (options.fanout < 2) refuse("fanout is " + std::to_string(options.fanout) + "; pass at least 2");
    if (options.sample_size < 2) refuse("sample_size is " + std::to_string(options.sample_size) + "; pass at least 2");
    if (!options.kernel_variance.empty()) {
        if (options.kernel_variance.size() != points.dimensions) {
            refuse("kernel_variance has " + std::to_string(options.kernel_variance.size()) + " values, points have " +
                   std::to_string(points.dimensions) + " dimensions; pass one variance per dimension");
        }
        for (const double v : options.kernel_variance) {
            if (v > 0.0 && std::isfinite(v)) continue;
            refuse("kernel_variance holds " + std::to_string(v) + "; every variance must be finite and above 0");
        }
    }
}

void require_kernel_variance(const BuildOptions& options) {
    if (!options.kernel_variance.empty()) return;
    throw std::invalid_argument("kernel_variance is missing; this construction needs one variance per dimension");
}

TreeShape breadth_first(const TreeShape& tree, std::int32_t root) {
    TreeShape numbered;
    std::vector<std::int32_t> node{root};  // by new number
    for (std::size_t next = 0; next < node.size(); ++next) {
        for (const auto entry : tree.entries_of(static_cast<std::size_t>(node[next]))) {
            if (entry >= 0) {
                numbered.entry.push_back(static_cast<std::int32_t>(node.size()));
                node.push_back(entry);
            } else {
                numbered.entry.push_back(entry);
            }
        }
        numbered.first_entry.push_back(static_cast<std::int32_t>(numbered.entry.size()));
    }
    return numbered;
}

}  // namespace anystream::bayes_tree
