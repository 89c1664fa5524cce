// One mixture of diagonal Gaussians per class by EM: the classifier without a tree (Figure 7 of BT*).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anystream/bayes_tree/margin.hpp"

namespace anystream::bayes_tree {

/// At most `components` Gaussians for every class that has rows. Variances stay above 1e-3 of those of all rows.
[[nodiscard]] std::vector<Component> fit_static_mixture(const LabelledRows& rows, std::size_t classes,
                                                        std::size_t components, int threads);

}  // namespace anystream::bayes_tree
