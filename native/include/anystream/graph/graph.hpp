// The graph that queries read: components, the cells of their vertices, the metric, and how a record is decided. It is
// immutable: learning makes another graph, which shares the parts that did not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "anystream/graph/cells.hpp"

namespace anystream::graph {

/// Components of one or more optimal graphs, and the component of each vertex.
struct Components {
    std::vector<std::int32_t> of_vertex;
    std::vector<std::int32_t> k;      // K_a
    std::vector<double> purity;       // Phi_a, above 0
    std::vector<std::int32_t> label;  // a class number
};

struct Part {
    std::size_t first_vertex;  // the number of its first vertex
    Components components;
    Cells cells;
};

/// One Gaussian with independent features per class; missing values are left out.
struct Moments {
    std::vector<double> mean, variance;  // (classes, dimensions)
    std::vector<double> log_prior;       // (classes,); -inf for a class without vertices

    [[nodiscard]] bool empty() const noexcept { return log_prior.empty(); }
};

struct Graph {
    std::vector<double> scale;  // (dimensions,): a feature times this is in the units of the metric
    std::size_t n_classes = 0;
    std::vector<std::shared_ptr<const Part>> parts;  // the vertices of each follow those of the part before
    std::int32_t min_k = 1;                          // K0: the neighbourhood of component a is max(K_a, K0)
    std::size_t widest = 1;                          // the largest neighbourhood, even if there are fewer vertices
    std::size_t max_k = 1;                           // how many nearest vertices decide
    Moments moments;                                 // if not empty, they decide instead of the components

    /// Adds a part and updates `widest` and `max_k`.
    void add(std::shared_ptr<const Part> part);
    [[nodiscard]] std::size_t dimensions() const noexcept { return scale.size(); }
    [[nodiscard]] std::size_t classes() const noexcept { return n_classes; }
    [[nodiscard]] std::size_t vertices() const noexcept;
    [[nodiscard]] const Part& part_of(std::size_t vertex) const noexcept;
    [[nodiscard]] std::size_t own_bytes() const noexcept;
};

/// The numerators of Eq. 1 by class (Eq. 3) of neighbours that are offered nearest first.
class ClassScores {
  public:
    void reset(std::span<double> scores) noexcept {
        scores_ = scores;
        for (double& score : scores_) score = 0.0;
        place_ = 0;
    }
    void offer(const Part& part, std::size_t vertex, std::int32_t min_k) noexcept {
        const Components& components = part.components;
        const auto a = static_cast<std::size_t>(components.of_vertex[vertex - part.first_vertex]);
        const std::int32_t k = components.k[a] > min_k ? components.k[a] : min_k;
        if (++place_ <= k)
            scores_[static_cast<std::size_t>(components.label[a])] += components.purity[a] / static_cast<double>(k);
    }
    [[nodiscard]] std::size_t offered() const noexcept { return static_cast<std::size_t>(place_); }
    /// Eq. 2: the scores sum to 1 afterwards.
    void normalise() noexcept;

  private:
    std::span<double> scores_;
    std::int32_t place_ = 0;
};

/// Probabilities of the classes by the moments.
void posterior(const Moments& moments, std::span<const double> x, std::span<double> out) noexcept;

}  // namespace anystream::graph
