#include "anystream/bayes_tree/z_curve.hpp"

#include "anystream/bayes_tree/curve_order.hpp"

namespace anystream::bayes_tree {

TreeShape z_curve(const Points& points, const BuildOptions& options) {
    require_buildable(points, options);
    return build_bottom_up(points, {}, options, [&](const Level& level) {
        return runs_of(curve_order(level, Curve::kZ, options), options.fanout);
    });
}

}  // namespace anystream::bayes_tree
