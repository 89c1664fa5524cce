// One record compared with the exemplars in their order: the nearest so far, and the position reached.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <typeinfo>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/neighbors/gallery.hpp"
#include "anystream/stop.hpp"

namespace anystream::neighbors {

/// One of the nearest so far: its position and its distance.
struct Near {
    std::int64_t position = 0;
    double distance = 0.0;
};

/// The state to resume a query, beside the record. Without lists, nearest and position are enough.
struct QueryState {
    std::vector<Near> nearest;
    std::int64_t position = 0;  // the next exemplar to compare
    std::int64_t steps = 0;     // without lists: position - setup
    std::int64_t list = -1;  // lists, then segments behind them, visited or skipped so far; -1 before the head is done
    std::int64_t list_end = 0;  // the end of the relevant part of the present list
};

struct QuerySettings {
    std::size_t k = 1;  // how many of the nearest vote
};

/// Reusable: `open` starts another query in the memory of the last one. One thread at a time.
class Query {
  public:
    using Model = Gallery;
    using Settings = QuerySettings;
    static constexpr std::size_t kRecordsPerTask = 16;
    static constexpr std::int64_t kRoundSteps = 16;

    /// Compares the first exemplar of each class: after this there is an answer.
    void open(const Gallery& gallery, const QuerySettings& settings, Row x);
    /// Compares at most `steps` further exemplars, until `watch` (or nullptr) is due or none can change the label.
    /// Returns how many.
    std::int64_t advance(const Gallery& gallery, std::int64_t steps, StopWatch* watch);

    [[nodiscard]] std::int64_t steps() const noexcept { return state_.steps; }
    /// No further exemplar can change the label.
    [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }
    [[nodiscard]] bool certified() const noexcept { return exhausted_; }
    /// Shares of the votes; they sum to 1.
    void posterior(const Gallery& gallery, std::span<double> out) const;
    [[nodiscard]] std::size_t label(const Gallery& gallery) const;
    [[nodiscard]] std::span<const Neighbor> nearest() const noexcept { return best_.found(); }

    [[nodiscard]] QueryState suspend(const Gallery& gallery) const;
    /// Throws std::invalid_argument if the state is not one of a query of this gallery.
    void resume(const Gallery& gallery, const QuerySettings& settings, Row x, const QueryState& state);

    /// Leaves one exemplar out, as if it had not been learned; to judge the order on its own training data. Call it
    /// before `open`.
    void leave_out(std::size_t position) noexcept { left_out_ = position; }

  private:
    std::size_t compare(const Gallery& gallery, std::size_t last);
    void compare_fronts(const Gallery& gallery);
    void order_lists(const Gallery& gallery);
    bool enter_next_list(const Gallery& gallery);
    void find_next(const Gallery& gallery);
    [[nodiscard]] double bound(const Gallery& gallery) const;
    [[nodiscard]] std::int64_t max_steps(const Gallery& gallery, const QueryState& state) const;
    [[nodiscard]] bool within_list(const Gallery& gallery, const QueryState& state) const;

    std::unique_ptr<Probe> probe_;
    const std::type_info* probed_ = nullptr;  // the kind of space that the probe fits
    NearestSet best_;
    QueryState state_;
    bool exhausted_ = false;
    bool triangle_ = false;
    std::size_t left_out_ = kNothingSkipped;
    std::vector<double> centre_;       // distance of each prototype
    std::vector<double> certain_;      // certain_[i]: no exemplar of the lists from the i-th on can be nearer
    std::vector<std::int32_t> lists_;  // in the order of visits
};

}  // namespace anystream::neighbors
