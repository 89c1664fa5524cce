#include "anystream/bayes_tree/answer.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::size_t kChunk = 32;       // records that one thread takes at a time
constexpr std::size_t kGroup = 32;       // records that are refined in rounds together: their frontiers fit a cache
constexpr std::int64_t kRoundSteps = 8;  // steps that each of them takes in the first rounds

void write(const Query& query, std::size_t i, std::size_t classes, const Answers& out) {
    query.posterior(out.proba.subspan(i * classes, classes));
    out.steps[i] = query.steps();
    out.certified[i] = query.certified();
}

/// A few records within the limits, all in hand at once: refined in rounds, so that they advance together.
void answer_in_rounds(const Forest& forest, const QuerySettings& settings, const Records& records, const Limits& limits,
                      std::size_t first, std::size_t last, const Answers& out) {
    thread_local std::vector<Query> group(kGroup);
    StopWatch watch(limits);
    const std::size_t size = last - first;
    for (std::size_t i = 0; i < size; ++i) group[i].open(forest, settings, records.row(first + i));
    // Later rounds are longer, a quarter of what was done: fewer changes from record to record, and still even.
    std::int64_t goal = 0;
    for (bool going = true; going && goal < limits.steps && !watch.due();) {
        goal = std::min(limits.steps, goal + std::max(kRoundSteps, goal / 4));
        going = false;
        for (std::size_t i = 0; i < size; ++i) {
            while (group[i].steps() < goal && !watch.due() && group[i].step(forest)) {}
            going |= !group[i].certified();
        }
    }
    for (std::size_t i = 0; i < size; ++i) write(group[i], first + i, forest.classes(), out);
}

/// Many records within the limits. They are answered in passes, each deeper than the last and from the beginning: to
/// begin a record anew costs a few steps, to keep thousands of frontiers at hand costs a cache. A first, shallow pass
/// insures everybody; how deep the next one goes follows from the time left and from what steps have cost so far, so a
/// machine that is suddenly busy makes all answers coarser and leaves none behind.
class Passes {
  public:
    Passes(const Forest& forest, const QuerySettings& settings, const Records& records, const Limits& limits,
           int threads, const Answers& out)
        : forest_(forest),
          settings_(settings),
          records_(records),
          limits_(limits),
          threads_(std::min(thread_count(threads), static_cast<int>((records.size() + kChunk - 1) / kChunk))),
          out_(out) {}

    void run() {
        if (pass(kRoundSteps, true)) return;
        if (!limits_.timed()) {  // only a flag can end this: nobody knows when
            for (std::int64_t goal = 4 * kRoundSteps; !pass(goal, false);) goal *= 4;
            return;
        }
        const std::int64_t reached = *std::min_element(out_.steps.begin(), out_.steps.end());
        if (affordable(records_.size()) >= reached + std::max(kRoundSteps, reached / 4))
            pass(Limits::kUnlimited, false);
    }

  private:
    static constexpr std::int64_t kOpening = 4;          // opening a query costs about as much as this many steps
    static constexpr std::int64_t kWorthTwoPasses = 24;  // steps from which on an insurance does not cost too much

    /// Steps that each of `waiting` records can have, by the time left and the cost of a step so far.
    [[nodiscard]] std::int64_t affordable(std::size_t waiting) const {
        const std::int64_t steps = steps_.load(std::memory_order_relaxed);
        if (!limits_.timed() || waiting == 0) return Limits::kUnlimited;
        if (steps == 0) return kRoundSteps;
        const double cost =
            static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / static_cast<double>(steps);
        const std::chrono::duration<double, std::nano> left = limits_.until - Clock::now();
        const double share = left.count() * threads_ / static_cast<double>(waiting);
        return static_cast<std::int64_t>(std::clamp(share / cost - kOpening, 0.0, 1e15));
    }

    /// How deep the first pass goes: all the way if the time is short, else an eighth of it, for everybody's insurance.
    [[nodiscard]] static std::int64_t insured(std::int64_t affordable) noexcept {
        return affordable <= kWorthTwoPasses ? affordable : std::max(kRoundSteps, affordable / 8);
    }

    /// Every record to `goal` steps, or as deep as the time left allows. True if all are finished, or must end.
    bool pass(std::int64_t goal, bool first) {
        std::atomic<std::size_t> waiting{records_.size()};
        std::atomic<bool> finished{true}, stopped{false};
        parallel_for(records_.size(), kChunk, threads_, [&](std::size_t begin, std::size_t end) {
            thread_local Query query;
            StopWatch watch(limits_);
            const auto started = Clock::now();
            std::int64_t depth = goal;
            if (limits_.timed()) {
                depth = affordable(waiting.fetch_sub(end - begin, std::memory_order_relaxed));
                if (first) depth = insured(depth);
            }
            depth = std::min(depth, limits_.steps);
            std::int64_t steps = 0;
            for (std::size_t i = begin; i < end; ++i) {
                if (!first && (out_.certified[i] != 0 || out_.steps[i] >= depth || watch.due())) continue;
                query.open(forest_, settings_, records_.row(i));
                while (query.steps() < depth && !watch.due() && query.step(forest_)) {}
                steps += query.steps() + kOpening;
                if (first || query.steps() > out_.steps[i]) write(query, i, forest_.classes(), out_);
            }
            for (std::size_t i = begin; i < end; ++i)
                if (out_.certified[i] == 0 && out_.steps[i] < limits_.steps)
                    finished.store(false, std::memory_order_relaxed);
            if (watch.due()) stopped.store(true, std::memory_order_relaxed);
            steps_.fetch_add(steps, std::memory_order_relaxed);
            nanoseconds_.fetch_add((Clock::now() - started).count(), std::memory_order_relaxed);
        });
        return finished.load(std::memory_order_relaxed) || stopped.load(std::memory_order_relaxed);
    }

    const Forest& forest_;
    const QuerySettings& settings_;
    const Records& records_;
    const Limits& limits_;
    int threads_;
    const Answers& out_;
    std::atomic<std::int64_t> steps_{0}, nanoseconds_{0};
};

/// Calls visit(query, record, stage) after each stage of each record.
template <typename Visit>
void in_stages(const Forest& forest, const QuerySettings& settings, const Records& records,
               std::span<const std::int64_t> stages, int threads, Visit visit) {
    parallel_for(records.size(), kChunk, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            query.open(forest, settings, records.row(i));
            for (std::size_t s = 0; s < stages.size(); ++s) {
                query.refine(forest, {.steps = stages[s] - query.steps()});
                visit(query, i, s);
            }
        }
    });
}

}  // namespace

void answer(const Forest& forest, const QuerySettings& settings, const Records& records, const Limits& limits,
            int threads, const Answers& out) {
    if (!limits.interruptible()) {
        parallel_for(records.size(), kChunk, threads, [&](std::size_t first, std::size_t last) {
            Query query;
            for (std::size_t i = first; i < last; ++i) {
                query.open(forest, settings, records.row(i));
                query.refine(forest, limits);
                write(query, i, forest.classes(), out);
            }
        });
        return;
    }
    const std::size_t half = (records.size() + 1) / 2;
    if (half > kGroup || (thread_count(threads) < 2 && records.size() > kGroup))
        return Passes(forest, settings, records, limits, threads, out).run();
    const std::size_t group = thread_count(threads) < 2 ? kGroup : half;
    parallel_for(records.size(), group, threads, [&](std::size_t first, std::size_t last) {
        answer_in_rounds(forest, settings, records, limits, first, last, out);
    });
}

void answer_in_stages(const Forest& forest, const QuerySettings& settings, const Records& records,
                      std::span<const std::int64_t> stages, int threads, std::span<double> out) {
    const std::size_t classes = forest.classes();
    in_stages(forest, settings, records, stages, threads, [&](const Query& query, std::size_t i, std::size_t s) {
        query.posterior(out.subspan((i * stages.size() + s) * classes, classes));
    });
}

void label_in_stages(const Forest& forest, const QuerySettings& settings, const Records& records,
                     std::span<const std::int64_t> stages, int threads, std::span<std::int32_t> out) {
    in_stages(forest, settings, records, stages, threads, [&](const Query& query, std::size_t i, std::size_t s) {
        out[i * stages.size() + s] = static_cast<std::int32_t>(query.label());
    });
}

}  // namespace anystream::bayes_tree
