// The interface that the queries of all models share: one record being classified, step by step.
//
// A query is opened on a model and is reusable: `open` starts another one in the memory of the last. Every call takes
// the model that the query was opened on. One thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "anystream/stop.hpp"

namespace anystream {

/// Model                         has classes()
/// Settings                      how a query classifies
/// kRecordsPerTask               records that a thread takes at a time from a batch
/// kRoundSteps                   steps per record in one round of a batch that has a deadline
/// open(model, settings, x)      starts with a record; after this there is an answer
/// advance(model, steps, watch)  takes at most `steps` further steps, fewer once `watch` (or nullptr) is due; returns
///                               how many
/// posterior(model, out)         the present probabilities of the classes
/// label(model)                  the number of the likeliest class
/// steps()                       steps taken so far
/// exhausted()                   no step is left
/// certified()                   no further step can change the label
template <typename Query>
concept AnytimeQuery = requires(Query query, const Query& same, const typename Query::Model& model,
                                const typename Query::Settings& settings, std::span<const double> x, std::int64_t steps,
                                StopWatch* watch, std::span<double> out) {
    { Query::kRecordsPerTask } -> std::convertible_to<std::size_t>;
    { Query::kRoundSteps } -> std::convertible_to<std::int64_t>;
    { model.classes() } -> std::same_as<std::size_t>;
    query.open(model, settings, x);
    { query.advance(model, steps, watch) } -> std::same_as<std::int64_t>;
    query.posterior(model, out);
    { query.label(model) } -> std::same_as<std::size_t>;
    { same.steps() } -> std::same_as<std::int64_t>;
    { same.exhausted() } -> std::same_as<bool>;
    { same.certified() } -> std::same_as<bool>;
};

/// `advance` for a query with `bool step(model)`, which returns false when nothing is left to do.
template <typename Query>
std::int64_t advance_stepwise(Query& query, const typename Query::Model& model, std::int64_t steps, StopWatch* watch) {
    std::int64_t taken = 0;
    while (taken < steps && (watch == nullptr || !watch->due()) && query.step(model)) ++taken;
    return taken;
}

/// Takes steps until the limits end it; returns how many.
template <AnytimeQuery Query>
std::int64_t refine(Query& query, const typename Query::Model& model, const Limits& limits) {
    if (!limits.interruptible()) return query.advance(model, limits.steps, nullptr);
    StopWatch watch(limits);
    return query.advance(model, limits.steps, &watch);
}

}  // namespace anystream
