// One record being classified by a graph: vertices are compared in the order of their cells, nearest cells first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/graph/graph.hpp"
#include "anystream/scan.hpp"
#include "anystream/stop.hpp"

namespace anystream::graph {

/// Queries of a graph have no settings.
struct QuerySettings {};

/// Reusable: `open` starts a new query in the memory of the last one. One thread at a time. Every call must pass the
/// graph that `open` was given.
class Query {
  public:
    using Model = Graph;
    using Settings = QuerySettings;
    static constexpr std::size_t kRecordsPerTask = 32;
    static constexpr std::int64_t kRoundSteps = kBlockLanes;

    /// Compares the record with the representatives of the cells: after this there is an answer.
    void open(const Graph& graph, const QuerySettings& settings, std::span<const double> x);
    /// Compares at most `steps` vertices, until `watch` (or nullptr) is due, which it polls once per cell. Returns how
    /// many.
    std::int64_t advance(const Graph& graph, std::int64_t steps, StopWatch* watch);

    [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
    /// The neighbourhood is the exact one: no further vertex can change the answer.
    [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }
    [[nodiscard]] bool certified() const noexcept { return exhausted_; }
    /// The record, unchanged.
    [[nodiscard]] std::span<const double> record() const noexcept { return record_; }

    /// Eq. 1-3 on the nearest vertices so far. Free slots are filled with vertices of the cells that have the
    /// nearest representatives.
    void posterior(const Graph& graph, std::span<double> out);
    [[nodiscard]] std::size_t label(const Graph& graph);
    /// The vertices that decide, nearest first; exact once exhausted.
    [[nodiscard]] std::span<const Neighbor> nearest() const noexcept { return best_.found(); }

  private:
    struct Waiting {
        double mean;   // squared distance of the representative: nearer ones come first
        double bound;  // no vertex of the cell is nearer than this
        std::uint32_t part, cell;

        [[nodiscard]] bool before(const Waiting& other) const noexcept {
            return std::tie(mean, part, cell) < std::tie(other.mean, other.part, other.cell);
        }
        /// std heaps put the greatest in front: the one that comes first counts as the greatest.
        [[nodiscard]] bool operator<(const Waiting& other) const noexcept { return other.before(*this); }
    };

    void next_cell(const Graph& graph);
    void compare(const Graph& graph, std::size_t vertices);
    void offer_representatives(const Graph& graph);

    std::vector<double> record_, scaled_, powers_, proba_;
    std::vector<Scan> scans_;           // one per part
    std::vector<Waiting> waiting_;      // a heap of the cells that are still to come
    std::vector<Waiting> standing_in_;  // the same, nearest representative first
    NearestSet best_;
    ClassScores score_;
    Waiting current_{};
    std::size_t at_ = 0, end_ = 0;  // what is left of the current cell
    std::int64_t steps_ = 0;
    bool exhausted_ = true;
};

}  // namespace anystream::graph
