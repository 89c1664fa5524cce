// The interface that the queries of all models share: one record being classified, step by step.
//
// A query is opened on a model and is reusable: `open` starts another one in the memory of the last. Every call takes
// the model that the query was opened on. One thread at a time.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "anystream/parallel.hpp"
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

/// Whether taking steps in portions equals taking them at once. Not for a query whose `advance` looks at the whole
/// request, as one with `ask` does: it must then be short.
template <typename Query>
inline constexpr bool kDivisible = !requires(Query query, std::int64_t steps) { query.ask(steps); };

/// Advances queries in portions between which signals can end the work, however many steps one record may take.
class InterruptibleSteps {
  public:
    /// The same as query.advance(model, steps, watch), but for what check_interrupts throws.
    template <typename Query>
    std::int64_t advance(Query& query, const typename Query::Model& model, std::int64_t steps, StopWatch* watch) {
        std::int64_t taken = 0;
        while (taken < steps) {
            const std::int64_t wanted = kDivisible<Query> ? std::min(steps - taken, portion_ - since_check_) : steps;
            const std::int64_t now = query.advance(model, wanted, watch);
            taken += now;
            add(now);
            if (now < wanted) break;
        }
        return taken;
    }

    /// Counts steps that were taken elsewhere.
    void add(std::int64_t steps) {
        since_check_ += steps;
        if (since_check_ >= portion_) check();
    }

  private:
    void check() {
        const auto now = Clock::now();
        if (now - last_check_ < kShort) portion_ *= 2;
        if (now - last_check_ > kLong && portion_ > 1) portion_ /= 2;
        last_check_ = now;
        since_check_ = 0;
        check_interrupts();
    }

    static constexpr std::chrono::microseconds kShort{500}, kLong{4000};  // of a portion
    std::int64_t portion_ = 8, since_check_ = 0;                          // steps
    Clock::time_point last_check_ = Clock::now();
};

/// Takes steps until the limits end it; returns how many.
template <AnytimeQuery Query>
std::int64_t refine(Query& query, const typename Query::Model& model, const Limits& limits) {
    if (!limits.interruptible()) return query.advance(model, limits.steps, nullptr);
    StopWatch watch(limits);
    return query.advance(model, limits.steps, &watch);
}

}  // namespace anystream
