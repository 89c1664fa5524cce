#include "anystream/bayes_tree/construction.hpp"

#include <stdexcept>
#include <string>

namespace anystream::bayes_tree {
namespace {

constexpr std::size_t kMostObjects = std::size_t{1} << 30;  // entries are numbered in 32 bits

}  // namespace

void require_buildable(const Points& points, const BuildOptions& options) {
    const auto refuse = [](const std::string& message) { throw std::invalid_argument(message); };
    if (points.size() == 0) refuse("there are no points; a tree needs at least one object");
    if (points.size() > kMostObjects) {
        refuse("there are " + std::to_string(points.size()) + " points in one class; at most 2^30 fit into one tree");
    }
    if (options.fanout < 2) refuse("fanout is " + std::to_string(options.fanout) + "; pass at least 2");
    if (options.sample_size < 2) refuse("sample_size is " + std::to_string(options.sample_size) + "; pass at least 2");
    if (!options.kernel_variance.empty()) {
        if (options.kernel_variance.size() != points.dimensions) {
            refuse("kernel_variance has " + std::to_string(options.kernel_variance.size()) + " values, points have " +
                   std::to_string(points.dimensions) + " dimensions; pass one variance per dimension");
        }
        for (const double v : options.kernel_variance) {
            if (!(v > 0.0)) refuse("kernel_variance holds " + std::to_string(v) + "; every variance must be above 0");
        }
    }
}

}  // namespace anystream::bayes_tree
