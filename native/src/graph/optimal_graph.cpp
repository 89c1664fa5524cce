#include "anystream/graph/optimal_graph.hpp"

#include <algorithm>
#include <numeric>

#include "anystream/parallel.hpp"
#include "anystream/scan.hpp"

namespace anystream::graph {

namespace {

constexpr std::size_t kUsualK = 6;  // where classes mix, K ends at 2 to 4

/// Sets of vertices that grow together; a set is named by its first vertex.
class MergedSets {
  public:
    explicit MergedSets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }

    std::int32_t find(std::int32_t v) noexcept {
        while (at(v) != v) v = at(v) = at(at(v));
        return v;
    }
    void merge(std::int32_t a, std::int32_t b) noexcept {
        a = find(a);
        b = find(b);
        at(std::max(a, b)) = std::min(a, b);
    }

  private:
    std::int32_t& at(std::int32_t v) noexcept { return parent_[static_cast<std::size_t>(v)]; }
    std::vector<std::int32_t> parent_;
};

/// A component at the time it entered the optimal graph.
struct Kept {
    std::int32_t root = 0;
    std::int32_t k = 1;
    std::int64_t edges = 0;
    std::int64_t vertices = 1;

    /// Whether this one's purity is at least the other's; exact, as the counts are.
    [[nodiscard]] bool as_pure_as(const Kept& other) const noexcept {
        return edges * other.vertices * other.k >= other.edges * vertices * k;
    }
};

}  // namespace

OptimalGraph optimal_graph(std::span<const std::int64_t> neighbours, std::size_t max_k,
                           std::span<const std::int32_t> labels) {
    const std::size_t n = labels.size();
    MergedSets sets(n);
    std::vector<std::int32_t> root(n), out_degree(n, 0);
    std::vector<Kept> kept(n), grown(n), purest(n);  // by vertex; by root; by root
    for (std::size_t v = 0; v < n; ++v) kept[v].root = static_cast<std::int32_t>(v);

    OptimalGraph graph;
    std::int64_t all_edges = 0;
    for (std::size_t k = 1; k <= max_k; ++k) {
        check_interrupts();
        const std::int64_t edges_before = all_edges;
        for (std::size_t v = 0; v < n; ++v) {
            const auto other = static_cast<std::size_t>(neighbours[v * max_k + k - 1]);
            if (labels[v] != labels[other]) continue;
            ++out_degree[v];
            ++all_edges;
            sets.merge(static_cast<std::int32_t>(v), static_cast<std::int32_t>(other));
        }
        for (std::size_t v = 0; v < n; ++v) {
            root[v] = sets.find(static_cast<std::int32_t>(v));
            const auto r = static_cast<std::size_t>(root[v]);  // r <= v: the entry of a root is set up first
            if (r == v) {
                grown[r] = {root[v], static_cast<std::int32_t>(k), 0, 0};
                purest[r] = kept[v];
            }
            grown[r].edges += out_degree[v];
            ++grown[r].vertices;
            if (kept[v].as_pure_as(purest[r])) purest[r] = kept[v];
        }
        for (std::size_t v = 0; v < n; ++v) {
            const auto r = static_cast<std::size_t>(root[v]);
            if (grown[r].as_pure_as(purest[r])) kept[v] = grown[r];
        }
        const auto now = static_cast<std::int64_t>(k);
        if (k > 1 && now * (all_edges - edges_before) < all_edges) {  // D(K) - D(K-1) < D(K) / K
            graph.complete = true;
            break;
        }
    }

    graph.component.resize(n);
    std::vector<std::int32_t> number(n, -1);
    for (std::size_t v = 0; v < n; ++v) {
        const auto r = static_cast<std::size_t>(kept[v].root);  // the component's first vertex, so r <= v
        if (r == v) {
            number[r] = static_cast<std::int32_t>(graph.k.size());
            graph.k.push_back(kept[v].k);
            graph.edges.push_back(kept[v].edges);
            graph.vertices.push_back(kept[v].vertices);
        }
        graph.component[v] = number[r];
    }
    return graph;
}

OptimalGraph optimal_graph_of(std::span<const double> points, std::size_t dimensions,
                              std::span<const std::int32_t> labels, std::size_t max_k, int threads,
                              std::atomic<std::int64_t>* done, const StopFlag* stop) {
    const std::size_t n = labels.size();
    max_k = std::min(max_k, n == 0 ? 0 : n - 1);
    if (max_k == 0) return optimal_graph({}, 0, labels);
    BlockStore store(dimensions);
    store.assign(points);
    std::vector<std::int64_t> neighbours;
    std::vector<double> powers;
    for (std::size_t k = std::min(kUsualK, max_k);; k = max_k, done = nullptr) {
        neighbours.resize(n * k);
        powers.resize(n * k);
        all_nearest(store, k, {}, threads, neighbours, powers, done, stop);
        if (stop != nullptr && stop->is_set()) return {};
        OptimalGraph graph = optimal_graph(neighbours, k, labels);
        if (graph.complete || k == max_k) return graph;
    }
}

}  // namespace anystream::graph
