#include "anystream/graph/query.hpp"

#include <algorithm>
#include <cmath>

namespace anystream::graph {

namespace {

constexpr double kCaution = 1e-9;  // far more than the rounding error of a bound

}  // namespace

void Query::open(const Graph& graph, const QuerySettings&, std::span<const double> x) {
    const std::size_t d = graph.dimensions();
    record_.assign(x.begin(), x.end());
    steps_ = 0;
    at_ = end_ = 0;
    best_.reset(graph.max_k);
    waiting_.clear();
    exhausted_ = !graph.moments.empty();
    if (exhausted_) return;

    scaled_.resize(d);
    std::size_t present = 0;
    for (std::size_t j = 0; j < d; ++j) {
        scaled_[j] = x[j] * graph.scale[j];
        present += !std::isnan(x[j]);
    }
    // distances over the present features are weighted up, and so is the radius
    const double weight = std::sqrt(static_cast<double>(d) / static_cast<double>(std::max<std::size_t>(present, 1)));
    if (scans_.size() < graph.parts.size()) scans_.resize(graph.parts.size());
    for (std::size_t p = 0; p < graph.parts.size(); ++p) {
        const Cells& cells = graph.parts[p]->cells;
        powers_.resize(cells.size());
        scans_[p].open(cells.means(), scaled_.data());
        scans_[p].powers(cells.means(), 0, cells.size(), powers_);
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const double distance = std::sqrt(powers_[c]);
            const double radius = cells.radius(c) * weight;
            const double bound = distance * (1.0 - kCaution) - radius * (1.0 + kCaution);
            waiting_.push_back(
                {powers_[c], bound > 0.0 ? bound : 0.0, static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(c)});
        }
        scans_[p].open(cells.store(), scaled_.data());
    }
    std::make_heap(waiting_.begin(), waiting_.end());
    next_cell(graph);
}

void Query::next_cell(const Graph& graph) {
    const auto out_of_reach = [&](const Waiting& cell) { return cell.bound * cell.bound > best_.bound(); };
    if (!waiting_.empty() && out_of_reach(waiting_.front())) {  // others may be out of reach, too
        std::erase_if(waiting_, out_of_reach);
        std::make_heap(waiting_.begin(), waiting_.end());
    }
    if (waiting_.empty()) {
        exhausted_ = true;
        return;
    }
    std::pop_heap(waiting_.begin(), waiting_.end());
    current_ = waiting_.back();
    waiting_.pop_back();
    at_ = graph.parts[current_.part]->cells.first(current_.cell);
    end_ = graph.parts[current_.part]->cells.last(current_.cell);
}

void Query::compare(const Graph& graph, std::size_t vertices) {
    const Cells& cells = graph.parts[current_.part]->cells;
    scans_[current_.part].nearest(cells.store(), at_, at_ + vertices, cells.vertex(), best_);
    at_ += vertices;
    steps_ += static_cast<std::int64_t>(vertices);
    if (at_ == end_) next_cell(graph);
}

std::int64_t Query::advance(const Graph& graph, std::int64_t steps, StopWatch* watch) {
    const std::int64_t before = steps_;
    while (!exhausted_ && steps_ - before < steps && (watch == nullptr || !watch->due())) {
        const auto allowed = static_cast<std::uint64_t>(steps - (steps_ - before));
        compare(graph, static_cast<std::size_t>(std::min<std::uint64_t>(allowed, end_ - at_)));
    }
    return steps_ - before;
}

void Query::offer_representatives(const Graph& graph) {
    standing_in_ = waiting_;
    if (at_ < end_) standing_in_.push_back(current_);
    // no cell is empty, so this many are enough
    const auto enough = static_cast<std::ptrdiff_t>(std::min(standing_in_.size(), graph.max_k - score_.offered()));
    std::partial_sort(standing_in_.begin(), standing_in_.begin() + enough, standing_in_.end(),
                      [](const Waiting& a, const Waiting& b) { return a.before(b); });
    standing_in_.resize(static_cast<std::size_t>(enough));
    for (const Waiting& cell : standing_in_) {
        const Part& part = *graph.parts[cell.part];
        const bool begun = at_ < end_ && cell.part == current_.part && cell.cell == current_.cell;
        for (std::size_t i = begun ? at_ : part.cells.first(cell.cell); i < part.cells.last(cell.cell); ++i) {
            if (score_.offered() == graph.max_k) return;
            score_.offer(part, static_cast<std::size_t>(part.cells.vertex()[i]), graph.min_k);
        }
    }
}

void Query::posterior(const Graph& graph, std::span<double> out) {
    if (!graph.moments.empty()) return graph::posterior(graph.moments, record_, out);
    score_.reset(out);
    for (const Neighbor& neighbour : best_.found()) {
        const auto vertex = static_cast<std::size_t>(neighbour.id);
        score_.offer(graph.part_of(vertex), vertex, graph.min_k);
    }
    if (!exhausted_ && score_.offered() < graph.max_k) offer_representatives(graph);
    score_.normalise();
}

std::size_t Query::label(const Graph& graph) {
    proba_.resize(graph.classes());
    posterior(graph, proba_);
    return static_cast<std::size_t>(std::max_element(proba_.begin(), proba_.end()) - proba_.begin());
}

}  // namespace anystream::graph
