#include "anystream/graph/graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "anystream/portable_math.hpp"

namespace anystream::graph {

void Graph::add(std::shared_ptr<const Part> part) {
    for (const std::int32_t k : part->components.k) widest = std::max(widest, static_cast<std::size_t>(k));
    widest = std::max(widest, static_cast<std::size_t>(min_k));
    parts.push_back(std::move(part));
    max_k = std::clamp<std::size_t>(widest, 1, std::max<std::size_t>(vertices(), 1));
}

std::size_t Graph::vertices() const noexcept {
    return parts.empty() ? 0 : parts.back()->first_vertex + parts.back()->cells.vertices();
}

const Part& Graph::part_of(std::size_t vertex) const noexcept {
    std::size_t p = parts.size() - 1;
    while (parts[p]->first_vertex > vertex) --p;
    return *parts[p];
}

std::size_t Graph::own_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const auto& part : parts) {
        const Components& c = part->components;
        bytes += part->cells.own_bytes() + c.of_vertex.capacity() * sizeof(std::int32_t) +
                 c.k.capacity() * sizeof(std::int32_t) + c.purity.capacity() * sizeof(double) +
                 c.label.capacity() * sizeof(std::int32_t);
    }
    return bytes +
           (scale.capacity() + moments.mean.capacity() + moments.variance.capacity() + moments.log_prior.capacity()) *
               sizeof(double);
}

void ClassScores::normalise() noexcept {
    double total = 0.0;
    for (const double score : scores_) total += score;
    for (double& score : scores_) score = total > 0.0 ? score / total : 1.0 / static_cast<double>(scores_.size());
}

void posterior(const Moments& moments, std::span<const double> x, std::span<double> out) noexcept {
    const std::size_t d = x.size();
    double peak = -std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < out.size(); ++c) {
        out[c] = moments.log_prior[c];
        if (!std::isfinite(out[c])) continue;
        double sum = 0.0;
        LogProduct variances;
        for (std::size_t j = 0; j < d; ++j) {
            const double difference = x[j] - moments.mean[c * d + j];
            if (std::isnan(difference)) continue;
            sum += difference * difference / moments.variance[c * d + j];
            variances.multiply(moments.variance[c * d + j]);
        }
        out[c] -= 0.5 * (sum + variances.log());
        peak = std::max(peak, out[c]);
    }
    double total = 0.0;
    for (double& score : out) total += score = portable_exp(score - peak);
    for (double& score : out) score /= total;
}

}  // namespace anystream::graph
