#include "anystream/bayes_tree/answer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <vector>

#include "anystream/borrowed.hpp"
#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::size_t kGroup = 32;         // records that are refined in rounds together: their frontiers fit a cache
constexpr std::size_t kQuickClasses = 64;  // up to so many a record is opened in a few microseconds
constexpr std::int64_t kMaxKept = 4096;    // steps: the memory of longer queries is not worth keeping
constexpr std::size_t kMaxGroupClasses = 2048;  // with more classes the frontiers of one record fill it

[[nodiscard]] bool is_complete(std::span<const double> record) noexcept {
    return std::none_of(record.begin(), record.end(), [](double value) { return std::isnan(value); });
}

/// Answers one record before its first step.
void answer_by_query(const ForestBatch& batch, std::size_t i, const AnswerRows& out) {
    Query query;
    batch.open(query, i);
    batch.write(query, i, out);
}

/// Queries that take turns.
class Turns {
  public:
    static constexpr std::size_t kQueries = 4;

    /// Advances queries to `goal` steps each, kQueries of them in turns: while one computes, the next nodes of the
    /// others come from memory. Each fetches that of the one before it.
    void advance(std::span<Query> queries, const Forest& forest, std::int64_t goal, StopWatch* watch) {
        for (std::size_t first = 0; first < queries.size(); first += kQueries)
            advance_few(queries.subspan(first, std::min(kQueries, queries.size() - first)), forest, goal, watch);
    }

  private:
    void advance_few(std::span<Query> queries, const Forest& forest, std::int64_t goal, StopWatch* watch) {
        NodeAhead ahead{};
        for (std::int64_t taken = 1; taken > 0;) {
            taken = 0;
            for (Query& query : queries) {
                if (query.steps() >= goal || (watch != nullptr && watch->due()) || !query.step(forest, ahead)) continue;
                ahead = query.steps() < goal ? query.look_ahead(forest) : NodeAhead{};
                ++taken;
            }
            steady_.add(taken);
        }
    }

    InterruptibleSteps steady_;
};

/// Takes at most `steps` steps on each record.
void answer_in_turns(const ForestBatch& batch, std::int64_t steps, int threads, const AnswerRows& out) {
    parallel_for(batch.size(), Query::kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
        thread_local std::vector<Query> spare;
        Borrowed borrowed(spare);
        std::vector<Query>& queries = *borrowed;
        queries.resize(Turns::kQueries);
        Turns turns;
        for (std::size_t begin = first; begin < last; begin += Turns::kQueries) {
            const std::size_t size = std::min(Turns::kQueries, last - begin);
            for (std::size_t i = 0; i < size; ++i) batch.open(queries[i], begin + i);
            turns.advance({queries.data(), size}, batch.model, steps, nullptr);
            for (std::size_t i = 0; i < size; ++i) batch.write(queries[i], begin + i, out);
        }
        for (Query& query : queries)
            if (query.steps() > kMaxKept) query = Query();
    });
}

/// Answers at most kGroup records within the limits, all of them open at once: they advance together, in rounds.
void answer_group(const ForestBatch& batch, const Limits& limits, std::size_t first, std::size_t last,
                  const AnswerRows& out) {
    thread_local std::vector<Query> spare;
    Borrowed borrowed(spare);
    std::vector<Query>& group = *borrowed;
    if (group.size() < kGroup) group.resize(kGroup);
    StopWatch watch(limits);
    Turns turns;
    // If another thread starts too late, this one begins with its records after the deadline: they are few and quick.
    // With a first look they have answers already.
    const std::size_t always = batch.records.look != nullptr      ? 0
                               : batch.classes() <= kQuickClasses ? batch.size()
                                                                  : kAlwaysReached;
    const std::size_t size = open_group(batch, watch, first, last, group, always);
    // Later rounds are longer, a quarter of what was done: fewer changes from record to record, and still even.
    std::int64_t goal = 0;
    for (bool going = true; going && goal < limits.steps && !watch.due();) {
        goal = std::min(limits.steps, goal + std::max(Query::kRoundSteps, goal / 4));
        turns.advance({group.data(), size}, batch.model, goal, &watch);
        going = std::any_of(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(size),
                            [](const Query& query) { return !query.certified(); });
    }
    for (std::size_t i = 0; i < size; ++i)
        if (group[i].steps() > 0 || !out.reached(first + i)) batch.write(group[i], first + i, out);
}

/// The answers of the first look to all records, or until the limits end, but to the first kAlwaysReached in any case.
/// A record of which nothing is known is left to a query.
void look_first(const ForestBatch& batch, const Limits& limits, int threads, const AnswerRows& out) {
    constexpr std::size_t kTask = 16 * FirstLook::kBlock;
    const FirstLook& look = *batch.records.look;
    const std::size_t classes = batch.classes(), d = look.dimensions(), lanes = look.lanes();
    const double sharpness = batch.calibration == nullptr ? 1.0 : look.sharpness;
    const double floor = batch.calibration == nullptr ? 0.0 : look.floor;
    std::atomic<bool> stopped{false};
    parallel_for(batch.size(), kTask, threads, [&](std::size_t first, std::size_t last) {
        if (stopped.load(std::memory_order_relaxed) && first >= kAlwaysReached) return;
        thread_local std::vector<float> scores;
        scores.resize(FirstLook::kBlock * lanes);
        StopWatch watch(limits);
        for (std::size_t begin = first; begin < last; begin += FirstLook::kBlock) {
            std::size_t end = std::min(last, begin + FirstLook::kBlock);
            if (limits.interruptible() && watch.due()) {
                stopped.store(true, std::memory_order_relaxed);
                if (begin >= kAlwaysReached) return;
                end = std::min(end, kAlwaysReached);
            }
            const double* const rows = batch.records.raw.row(begin).data();
            look.scores(rows, end - begin, scores);
            for (std::size_t i = begin; i < end; ++i) {
                const double* const row = rows + (i - begin) * d;
                if (std::all_of(row, row + d, [](double value) { return std::isnan(value); })) {
                    answer_by_query(batch, i, out);
                    continue;
                }
                look_posterior({scores.data() + (i - begin) * lanes, classes}, sharpness, floor,
                               out.proba.subspan(i * classes, classes));
                out.set(i, 0, false);
            }
        }
    });
}

/// The root model's probabilities of one record after another.
class RootAnswers {
  public:
    RootAnswers(const Forest& forest, const Metric* metric) : root_model_(forest.root_model()), metric_(metric) {
        thread_local Memory spare;
        memory_ = &spare;
        memory_->votes.resize(forest.classes());
        memory_->mapped.resize(forest.dimensions());
    }

    /// False, with `proba` undefined, if the record is not complete.
    [[nodiscard]] bool write(std::span<const double> record, std::span<double> proba) {
        if (!is_complete(record)) return false;
        if (metric_ != nullptr) {
            metric_->apply(record.data(), memory_->mapped.data(), memory_->centred);
            record = memory_->mapped;
            if (!is_complete(record)) return false;  // huge values may have no difference
        }
        root_model_.log2_joint_complete(record.data(), memory_->votes, memory_->scratch);
        Query::root_posterior(memory_->votes, proba);
        return true;
    }

  private:
    struct Memory {
        RootModel::Scratch scratch;
        std::vector<double> votes, mapped, centred;
    };

    const RootModel& root_model_;
    const Metric* metric_;
    Memory* memory_;  // of this thread
};

/// The answers before the first step to all records, or until the limits end, but to the first kAlwaysReached in any
/// case: those that queries would begin with, where these are the root model's, without opening any. An incomplete
/// record is left to a query.
void answer_by_root_model(const ForestBatch& batch, const Limits& limits, int threads, const AnswerRows& out) {
    constexpr std::size_t kTask = 256;
    const bool calibrated = batch.calibration != nullptr && !batch.calibration->steps.empty();
    const auto point = calibrated ? batch.calibration->at(0) : Calibration::Point{};
    const std::size_t classes = batch.classes();
    std::atomic<bool> stopped{false};
    parallel_for(batch.size(), kTask, threads, [&](std::size_t first, std::size_t last) {
        RootAnswers answers(batch.model, batch.records.metric);
        StopWatch watch(limits);
        for (std::size_t i = first; i < last; ++i) {
            if (i >= kAlwaysReached && (stopped.load(std::memory_order_relaxed) || watch.due())) {
                stopped.store(true, std::memory_order_relaxed);
                return;
            }
            const auto proba = out.proba.subspan(i * classes, classes);
            if (!answers.write(batch.records.raw.row(i), proba)) {
                answer_by_query(batch, i, out);
                continue;
            }
            if (calibrated) Calibration::apply(proba, point);
            out.set(i, 0, false);
        }
    });
}

/// Answers many records within the limits, in passes. Each pass is deeper than the last and starts every record from
/// scratch: opening a record again costs a few steps, keeping thousands of frontiers costs the cache. The first pass is
/// shallow, so that every record has an answer. The depth of the next one follows from the time left and from what a
/// step has cost so far: on a machine that is suddenly busy all answers become coarser and none is left out.
class Passes {
  public:
    Passes(const ForestBatch& batch, const Limits& limits, int threads, const AnswerRows& out)
        : batch_(batch),
          limits_(limits),
          threads_(std::min(thread_count(threads), static_cast<int>((batch.size() + kChunk - 1) / kChunk))),
          out_(out) {}

    void run() {
        if (pass(Query::kRoundSteps, true)) return;
        if (!limits_.timed()) {  // only a flag can end this, at an unknown time
            for (std::int64_t goal = 4 * Query::kRoundSteps; !pass(goal, false);) goal *= 4;
            return;
        }
        const std::int64_t least = least_steps_.load(std::memory_order_relaxed);
        if (affordable(batch_.size()) >= least + std::max(Query::kRoundSteps, least / 4))
            pass(Limits::kUnlimited, false);
    }

  private:
    static constexpr std::size_t kChunk = Query::kRecordsPerTask;
    static constexpr std::int64_t kOpening = 4;          // opening a query costs about as much as this many steps
    static constexpr std::int64_t kWorthTwoPasses = 24;  // from this many steps on, a first pass costs little

    /// Steps that each of `waiting` records can have, by the time left and the cost of a step so far.
    [[nodiscard]] std::int64_t affordable(std::size_t waiting) const {
        const std::int64_t steps = steps_.load(std::memory_order_relaxed);
        if (!limits_.timed() || waiting == 0) return Limits::kUnlimited;
        if (steps == 0) return Query::kRoundSteps;
        const double cost =
            static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / static_cast<double>(steps);
        const std::chrono::duration<double, std::nano> left = limits_.until - Clock::now();
        const double share = left.count() * threads_ / static_cast<double>(waiting);
        return static_cast<std::int64_t>(std::clamp(share / cost - kOpening, 0.0, 1e15));
    }

    /// The depth of the first pass: all the affordable steps if they are few, else an eighth of them.
    [[nodiscard]] static std::int64_t first_depth(std::int64_t affordable) noexcept {
        return affordable <= kWorthTwoPasses ? affordable : std::max(Query::kRoundSteps, affordable / 8);
    }

    /// Every record to `goal` steps, or as deep as the time left allows. True if all are finished or the
    /// limits ended the pass: then no thread takes a further chunk.
    bool pass(std::int64_t goal, bool first) {
        std::atomic<std::size_t> next{0};
        std::atomic<bool> finished{true}, stopped{false};
        least_steps_.store(Limits::kUnlimited, std::memory_order_relaxed);
        parallel_for(static_cast<std::size_t>(threads_), 1, threads_, [&](std::size_t, std::size_t) {
            thread_local std::vector<Query> spare;
            Borrowed borrowed(spare);
            (*borrowed).resize(Turns::kQueries);
            StopWatch watch(limits_);
            while (!stopped.load(std::memory_order_relaxed)) {
                const std::size_t begin = next.fetch_add(kChunk, std::memory_order_relaxed);
                if (begin >= batch_.size()) return;
                std::int64_t depth = goal;
                if (limits_.timed()) {
                    depth = affordable(batch_.size() - begin);
                    if (first) depth = first_depth(depth);
                }
                depth = std::min(depth, limits_.steps);
                const std::size_t end = std::min(batch_.size(), begin + kChunk);
                if (!pass_chunk(*borrowed, watch, begin, end, depth, first))
                    finished.store(false, std::memory_order_relaxed);
                if (watch.due()) stopped.store(true, std::memory_order_relaxed);
            }
        });
        return finished.load(std::memory_order_relaxed) || stopped.load(std::memory_order_relaxed);
    }

    /// Records begin..end - 1 to `depth` steps, or until the limits end. True if all are finished.
    bool pass_chunk(std::span<Query> queries, StopWatch& watch, std::size_t begin, std::size_t end, std::int64_t depth,
                    bool first) {
        Turns turns;
        const auto started = Clock::now();
        std::int64_t steps = 0;
        std::size_t opened[Turns::kQueries], size = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const bool ended = watch.due();
            const bool open = batch_.records.look != nullptr || !first
                                  ? !ended && !out_.certified(i) && (first || out_.steps[i] < depth)
                                  : !ended || i < kAlwaysReached;
            if (open) {
                batch_.open(queries[size], i);
                opened[size++] = i;
            }
            if (size < Turns::kQueries && i + 1 < end) continue;
            turns.advance(queries.first(size), batch_.model, depth, &watch);
            for (std::size_t k = 0; k < size; ++k) {
                steps += queries[k].tree_steps() + kOpening;
                if (first || queries[k].steps() > out_.steps[opened[k]]) batch_.write(queries[k], opened[k], out_);
            }
            size = 0;
        }
        std::int64_t least = Limits::kUnlimited;
        bool finished = true;
        for (std::size_t i = begin; i < end; ++i) {
            finished &= out_.reached(i) && (out_.certified(i) || out_.steps[i] >= limits_.steps);
            least = std::min(least, out_.steps[i]);
        }
        steps_.fetch_add(steps, std::memory_order_relaxed);
        nanoseconds_.fetch_add((Clock::now() - started).count(), std::memory_order_relaxed);
        for (std::int64_t seen = least_steps_.load(std::memory_order_relaxed); least < seen;)
            if (least_steps_.compare_exchange_weak(seen, least, std::memory_order_relaxed)) break;
        return finished;
    }

    const ForestBatch& batch_;
    const Limits& limits_;
    int threads_;
    const AnswerRows& out_;
    std::atomic<std::int64_t> steps_{0}, nanoseconds_{0};        // of all passes so far
    std::atomic<std::int64_t> least_steps_{Limits::kUnlimited};  // of a record in the last pass
};

}  // namespace

TreeRecord in_tree_space(const Metric* metric, std::span<const double> record) {
    if (metric == nullptr) return record;
    thread_local std::vector<double> mapped, directions;
    thread_local std::vector<std::int32_t> missing;
    const std::size_t d = record.size();
    mapped.resize(d);
    metric->apply(record.data(), mapped.data());
    if (metric->matrix.empty()) return std::span<const double>(mapped);
    missing.clear();
    directions.clear();
    for (std::size_t j = 0; j < d; ++j) {
        if (!std::isnan(record[j])) continue;
        missing.push_back(static_cast<std::int32_t>(j));
        const double* const row = metric->matrix.data() + j * d;
        directions.insert(directions.end(), row, row + d);
    }
    return {mapped, directions, missing};
}

std::optional<std::size_t> label_at_once(const Forest& forest, const QuerySettings& settings, const Metric* metric,
                                         const FirstLook* look, std::span<const double> record) {
    if (Query::looks_first(forest, look)) {
        if (!is_complete(record)) return std::nullopt;
        thread_local std::vector<float> scores;
        scores.resize(look->lanes());
        look->scores(record.data(), 1, scores);
        return look_label(std::span(scores).first(forest.classes()));
    }
    if (!Query::root_model_answers(forest, settings)) return std::nullopt;
    thread_local std::vector<double> proba;
    proba.resize(forest.classes());
    if (!RootAnswers(forest, metric).write(record, proba)) return std::nullopt;
    return static_cast<std::size_t>(std::max_element(proba.begin(), proba.end()) - proba.begin());
}

void log2_scores_in_stages(const ForestBatch& batch, std::span<const std::int64_t> stages, int threads,
                           const ScoreRows& out) {
    const std::size_t classes = batch.classes();
    visit_stages(batch, stages, threads, [&](Query& query, std::size_t i, std::size_t s) {
        query.log2_scores(batch.model, out.scores.subspan((i * stages.size() + s) * classes, classes),
                          out.votes.subspan(i * classes, classes));
        out.exhausted[i * stages.size() + s] = query.exhausted();
    });
}

void answer(const ForestBatch& given, const Limits& limits, int threads, const AnswerRows& out) {
    ForestBatch batch = given;
    if (!Query::looks_first(batch.model, batch.records.look)) batch.records.look = nullptr;
    if (batch.records.look != nullptr) {
        if (limits.interruptible() || limits.steps == 0) look_first(batch, limits, threads, out);
        if (limits.steps == 0) return;
        batch.records.past_look = true;
    }
    const std::size_t half = (batch.size() + 1) / 2;
    const bool many =
        half > kGroup || batch.classes() > kMaxGroupClasses || (thread_count(threads) < 2 && batch.size() > kGroup);
    if (limits.steps == 0 && batch.records.look == nullptr && (many || !limits.interruptible()) &&
        Query::root_model_answers(batch.model, batch.settings))
        return answer_by_root_model(batch, limits, threads, out);
    if (!limits.interruptible()) return answer_in_turns(batch, limits.steps, threads, out);
    if (many) return Passes(batch, limits, threads, out).run();
    const std::size_t group = thread_count(threads) < 2 ? kGroup : half;
    parallel_for(batch.size(), group, threads,
                 [&](std::size_t first, std::size_t last) { answer_group(batch, limits, first, last, out); });
}

}  // namespace anystream::bayes_tree
