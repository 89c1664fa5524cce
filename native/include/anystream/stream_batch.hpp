// How queries of stream models take their steps, alone and in batches.
//
// Such a query offers open(model, settings, x), step(model) (false when nothing is left), steps(), finished(),
// posterior(out) and label(); `open` reuses the memory of the query before it.
#pragma once

#include "anystream/answer_batch.hpp"

namespace anystream {

/// At most `steps` further, until the watch, if there is one, is due. Returns the number of steps taken.
template <typename Query>
std::int64_t advance(Query& query, const typename Query::Model& model, std::int64_t steps, StopWatch* watch) {
    std::int64_t taken = 0;
    while (taken < steps && (watch == nullptr || !watch->due()) && query.step(model)) ++taken;
    return taken;
}

/// Steps until the limits end it. Returns the number of steps taken.
template <typename Query>
std::int64_t refine(Query& query, const typename Query::Model& model, const Limits& limits) {
    if (!limits.interruptible()) return advance(query, model, limits.steps, nullptr);
    StopWatch watch(limits);
    return advance(query, model, limits.steps, &watch);
}

/// Records asked of a stream model.
template <typename QueryOf>
struct StreamBatch {
    using Query = QueryOf;
    static constexpr std::size_t kChunk = 64;
    static constexpr std::int64_t kRoundSteps = 4;

    const typename Query::Model& model;
    const typename Query::Settings& settings;
    RecordRows records;

    [[nodiscard]] std::size_t size() const noexcept { return records.size(); }
    [[nodiscard]] std::size_t classes() const noexcept { return model.classes(); }
    void open(Query& query, std::size_t i) const { query.open(model, settings, records.row(i)); }
    void advance(Query& query, std::int64_t steps, StopWatch* watch) const {
        anystream::advance(query, model, steps, watch);
    }
    [[nodiscard]] bool finished(const Query& query) const noexcept { return query.finished(); }
    void posterior(const Query& query, std::span<double> out) const { query.posterior(out); }
};

}  // namespace anystream
