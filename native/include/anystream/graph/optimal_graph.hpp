// The K-associated optimal graph of labelled vertices, from the lists of their nearest neighbours.
//
// The K-associated graph has an edge from every vertex to those of its K nearest that share its label. Raising K by one
// only adds edges, so its components only grow together: a forest of merged sets serves all K. The purity of a
// component is Phi = D / (2 K) with D the mean of in- and out-degree; every edge inside counts once in each, so Phi is
// edges / (vertices K). The optimal graph keeps a component until one that contains it has at least its purity.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/stop.hpp"

namespace anystream::graph {

/// Components are numbered in the order of their first vertices.
struct OptimalGraph {
    std::vector<std::int32_t> component;  // of each vertex
    std::vector<std::int32_t> k;          // K_a, of each component
    std::vector<std::int64_t> edges;      // inside each component
    std::vector<std::int64_t> vertices;   // of each component
    bool complete = false;                // K stopped by the rule: longer lists would change nothing

    [[nodiscard]] double purity(std::size_t a) const noexcept {
        return static_cast<double>(edges[a]) / (static_cast<double>(vertices[a]) * static_cast<double>(k[a]));
    }
};

/// `neighbours` is (vertices, max_k), nearest first. K rises from 1 until D(K) - D(K-1) < D(K) / K, or to `max_k`.
[[nodiscard]] OptimalGraph optimal_graph(std::span<const std::int64_t> neighbours, std::size_t max_k,
                                         std::span<const std::int32_t> labels);

/// The same from row-major points: neighbours are searched once for a small K, and once more if that was not enough.
/// `done` counts the points of the first search; empty if `stop` is set.
[[nodiscard]] OptimalGraph optimal_graph_of(std::span<const double> points, std::size_t dimensions,
                                            std::span<const std::int32_t> labels, std::size_t max_k, int threads,
                                            std::atomic<std::int64_t>* done, const StopFlag* stop);

}  // namespace anystream::graph
