#include "anystream/bayes_tree/hilbert.hpp"

#include "anystream/bayes_tree/curve_order.hpp"

namespace anystream::bayes_tree {

TreeShape hilbert(const Points& points, const BuildOptions& options) {
    require_buildable(points, options);
    return build_bottom_up(points, {}, options, [&](const Level& level) {
        return runs_of(curve_order(level, Curve::kHilbert, options), options.fanout);
    });
}

}  // namespace anystream::bayes_tree
