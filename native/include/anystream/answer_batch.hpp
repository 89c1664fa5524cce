// Many records at once, on all cores: the same for every model.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/borrowed.hpp"
#include "anystream/calibration.hpp"
#include "anystream/parallel.hpp"
#include "anystream/stop.hpp"

namespace anystream {

/// Row-major records to classify, borrowed.
struct RecordRows {
    std::span<const double> values;  // (size, dimensions)
    std::size_t dimensions;

    [[nodiscard]] std::size_t size() const noexcept { return dimensions == 0 ? 0 : values.size() / dimensions; }
    [[nodiscard]] std::span<const double> row(std::size_t i) const noexcept {
        return {values.data() + i * dimensions, dimensions};
    }
};

/// Records at the start of every call that get an answer of their own, even if the limits have ended before.
inline constexpr std::size_t kAlwaysReached = 8;

/// The arrays that receive the answers; one row per record. The caller sets all marks to 0: where one stays 0, the
/// limits ended the call before this record, and its other values are not written.
struct AnswerRows {
    static constexpr std::uint8_t kCertified = 1, kReached = 2, kConfident = 4;

    std::span<double> proba;        // (size, classes)
    std::span<std::int64_t> steps;  // (size,)
    std::span<std::uint8_t>
        marks;  // (size,) sums of kCertified, kReached, and kConfident: ended by a test of the model

    void set(std::size_t i, std::int64_t taken, bool certified, bool confident = false) const noexcept {
        steps[i] = taken;
        marks[i] = certified ? kReached | kCertified : confident ? kReached | kConfident : kReached;
    }
    [[nodiscard]] bool reached(std::size_t i) const noexcept { return marks[i] != 0; }
    [[nodiscard]] bool certified(std::size_t i) const noexcept { return (marks[i] & kCertified) != 0; }
};

/// Records that one model classifies with the same settings. Records has size() and row(i).
template <AnytimeQuery QueryType, typename Records = RecordRows>
struct Batch {
    using Query = QueryType;

    const typename Query::Model& model;
    const typename Query::Settings& settings;
    Records records;
    const Calibration* calibration = nullptr;

    [[nodiscard]] std::size_t size() const noexcept { return records.size(); }
    [[nodiscard]] std::size_t classes() const noexcept { return model.classes(); }
    void open(Query& query, std::size_t i) const { query.open(model, settings, records.row(i)); }
    /// Writes the present answer of record i.
    void write(Query& query, std::size_t i, const AnswerRows& out) const {
        write_posterior(query, model, calibration, out.proba.subspan(i * classes(), classes()));
        bool confident = false;
        if constexpr (requires { query.confident(); }) confident = query.confident();
        out.set(i, query.steps(), query.certified(), confident);
    }
};

/// Whether queries that were just opened can read the model together: advance_together(model, queries, steps, watch).
template <typename Query>
inline constexpr bool kTogether =
    requires(const typename Query::Model& model, std::span<Query> queries, std::int64_t steps, StopWatch* watch) {
        Query::advance_together(model, queries, steps, watch);
    };

inline constexpr std::int64_t kMaxKeptSteps = 4096;  // steps; the memory of longer queries is not worth keeping

/// Takes at most `steps` steps on each record.
template <typename Batch>
void answer_by_steps(const Batch& batch, std::int64_t steps, int threads, const AnswerRows& out) {
    using Query = typename Batch::Query;
    parallel_for(batch.size(), Query::kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
        thread_local Query spare;
        Borrowed borrowed(spare);
        Query& query = *borrowed;
        InterruptibleSteps steady;
        for (std::size_t i = first; i < last; ++i) {
            batch.open(query, i);
            steady.advance(query, batch.model, steps - query.steps(), nullptr);  // some open behind their first step
            batch.write(query, i, out);
        }
        if (query.steps() > kMaxKeptSteps) query = Query();
    });
}

/// Opens records first..last - 1 until the limits end, but all of the first `always` of the batch; returns how many.
template <typename Batch, typename Queries>
[[nodiscard]] std::size_t open_group(const Batch& batch, StopWatch& watch, std::size_t first, std::size_t last,
                                     Queries& group, std::size_t always = kAlwaysReached) {
    std::size_t opened = 0;
    for (std::size_t i = first; i < last && (i < always || !watch.due()); ++i) batch.open(group[opened++], i);
    return opened;
}

/// Answers records within a deadline or until a flag is set. Threads take groups of records; all records of a group
/// advance together, in rounds, during the group's share of the time left. A thread that starts late, because the cores
/// are busy, therefore costs all records alike and leaves none out.
template <typename Batch>
class GroupedAnswers {
  public:
    GroupedAnswers(const Batch& batch, const Limits& limits, int threads, const AnswerRows& out)
        : batch_(batch),
          limits_(limits),
          workers_(std::min(static_cast<std::size_t>(thread_count(threads)), std::max<std::size_t>(batch.size(), 1))),
          out_(out) {
        // groups of equal size: a small one at the end would have hardly any time of its own
        const std::size_t groups = std::max(2 * workers_, (batch.size() + kMaxGroup - 1) / kMaxGroup);
        group_ = std::max<std::size_t>((batch.size() + groups - 1) / groups, 1);
    }

    void run() {
        if (workers_ > 1 && batch_.size() <= kFew && answer_few()) return;
        parallel_for(workers_, 1, static_cast<int>(workers_), [&](std::size_t, std::size_t) { take_groups(); });
    }

  private:
    using Query = typename Batch::Query;

    static constexpr std::size_t kFew = 8;
    static constexpr std::size_t kTimed = 4;  // records that are written in a row to time it: the least counts
    static constexpr std::size_t kMaxGroup = 256;
    static constexpr std::chrono::microseconds kStart{60};  // what starting a thread costs
    static constexpr std::chrono::milliseconds kLong{2};    // a deadline with so much time left loses little by a trial

    /// Answers few records in this thread if that takes no longer than starting others; returns whether it did.
    bool answer_few() {
        const auto now = Clock::now();
        if (limits_.timed() && limits_.until - now < kLong) return false;
        Limits trial = limits_;
        trial.until = now + kStart;
        StopWatch watch(trial);
        InterruptibleSteps steady;
        std::vector<Query> group(batch_.size());
        if (open_group(batch_, watch, 0, batch_.size(), group, 0) < batch_.size()) return false;
        if constexpr (kTogether<Query>) {
            Query::advance_together(batch_.model, group, limits_.steps, &watch);
        } else {
            for (Query& query : group) steady.advance(query, batch_.model, limits_.steps, &watch);
        }
        if (watch.ended()) return false;
        for (std::size_t i = 0; i < group.size(); ++i) batch_.write(group[i], i, out_);
        return true;
    }

    /// Records that one thread answers together.
    struct Group {
        std::span<Query> queries;
        std::size_t first, size;               // its first record in the batch; records opened
        Clock::time_point until, share_until;  // the end of the call, and of the share of this group
        Clock::duration writing;               // what writing one answer takes
    };

    void take_groups() {
        active_.fetch_add(1, std::memory_order_relaxed);
        thread_local std::vector<Query> spare;
        Borrowed borrowed(spare);
        std::vector<Query>& queries = *borrowed;
        if (queries.size() < group_) queries.resize(group_);
        StopWatch end(limits_), share(limits_);
        InterruptibleSteps steady;
        for (std::size_t first; (first = next_.fetch_add(group_, std::memory_order_relaxed)) < batch_.size();) {
            const std::size_t last = std::min(batch_.size(), first + group_);
            Group group{queries, first, 0, limits_.until, limits_.until, Clock::duration::zero()};
            if (limits_.timed()) {
                group.share_until = end_of_share(last - first, batch_.size() - first);
                share.restart(group.share_until);
            }
            open_within(end, share, last, group);
            if constexpr (kTogether<Query>) {
                Query::advance_together(batch_.model, group.queries.first(group.size), limits_.steps, &share);
                check_interrupts();
            } else {
                refine_in_rounds(group, share, steady);
            }
            for (std::size_t i = 0; i < group.size; ++i) batch_.write(group.queries[i], first + i, out_);
            if (group.size < last - first) break;
        }
        for (Query& query : queries)
            if (query.steps() > kMaxKeptSteps) query = Query();
    }

    /// Opens records of a group, up to `last`, until the limits end, but all of the first kAlwaysReached. Each brings
    /// both ends forward by the time that writing its answer takes.
    void open_within(StopWatch& end, StopWatch& share, std::size_t last, Group& group) {
        const bool timed = limits_.timed() && last - group.first > kFew;
        if (limits_.timed()) end.restart(limits_.until);
        for (std::size_t i = group.first; i < last && (i < kAlwaysReached || !end.due()); ++i) {
            batch_.open(group.queries[group.size++], i);
            if (!timed || group.size < kTimed) continue;
            if (std::has_single_bit(group.size)) time_writing(group, 0);
            end.end_at(before_writing(group, group.until));
            share.end_at(before_writing(group, group.share_until));
        }
    }

    /// Takes steps on the records of a group in turns until its share of the time ends.
    void refine_in_rounds(Group& group, StopWatch& share, InterruptibleSteps& steady) {
        const bool timed = group.writing > Clock::duration::zero();
        bool going = true;
        for (std::size_t round = 1; going && !share.due(); ++round) {
            going = false;
            for (std::size_t i = 0; i < group.size && !share.due(); ++i) {
                Query& query = group.queries[i];
                const auto steps = std::min<std::int64_t>(Query::kRoundSteps, limits_.steps - query.steps());
                steady.advance(query, batch_.model, steps, &share);
                going |= !query.certified() && query.steps() < limits_.steps;
            }
            if (timed && going && std::has_single_bit(round)) {
                time_writing(group, round);
                share.end_at(before_writing(group, group.share_until));
            }
        }
    }

    /// Measures what writing one answer takes, on some records in a row. Once is not enough: it takes longer when the
    /// memory of a query was not used for a while, and behind some steps.
    void time_writing(Group& group, std::size_t record) {
        group.writing = Clock::duration::max();
        for (std::size_t k = 0; k < kTimed; ++k) {
            const std::size_t i = (record + k) % group.size;
            const auto before = Clock::now();
            batch_.write(group.queries[i], group.first + i, out_);
            group.writing = std::min(group.writing, Clock::now() - before);
        }
    }

    /// The instant before another at which the answers of a group have to be written.
    static Clock::time_point before_writing(const Group& group, Clock::time_point until) noexcept {
        return until - group.writing * static_cast<Clock::rep>(group.size);
    }

    /// When the share of `records` ends, of the `left` records that no thread has finished yet.
    [[nodiscard]] Clock::time_point end_of_share(std::size_t records, std::size_t left) const {
        const auto now = Clock::now();
        const double threads = static_cast<double>(active_.load(std::memory_order_relaxed));
        const double part = std::min(1.0, threads * static_cast<double>(records) / static_cast<double>(left));
        const auto time = std::max(Clock::duration::zero(), limits_.until - now);
        return now + std::chrono::duration_cast<Clock::duration>(time * part);
    }

    const Batch& batch_;
    const Limits& limits_;
    std::size_t workers_, group_;
    const AnswerRows& out_;
    std::atomic<std::size_t> next_{0}, active_{0};  // the next record; threads that have started
};

/// Answers the records within the limits. Steps are per record; a deadline and a flag bound the whole call.
template <typename Batch>
void answer_batch(const Batch& batch, const Limits& limits, int threads, const AnswerRows& out) {
    if (!limits.interruptible()) return answer_by_steps(batch, limits.steps, threads, out);
    GroupedAnswers<Batch>(batch, limits, threads, out).run();
}

/// Calls visit(query, record, stage) after each of `stages` steps (ascending) on each record.
template <typename Batch, typename Visit>
void visit_stages(const Batch& batch, std::span<const std::int64_t> stages, int threads, Visit&& visit) {
    using Query = typename Batch::Query;
    parallel_for(batch.size(), Query::kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        InterruptibleSteps steady;
        for (std::size_t i = first; i < last; ++i) {
            batch.open(query, i);
            for (std::size_t s = 0; s < stages.size(); ++s) {
                steady.advance(query, batch.model, stages[s] - query.steps(), nullptr);
                visit(query, i, s);
            }
        }
    });
}

/// The probabilities of every record after each of `stages` steps (ascending): out is (size, stages, classes).
template <typename Batch>
void answer_batch_in_stages(const Batch& batch, std::span<const std::int64_t> stages, int threads,
                            std::span<double> out) {
    const std::size_t classes = batch.classes();
    visit_stages(batch, stages, threads, [&](typename Batch::Query& query, std::size_t i, std::size_t s) {
        write_posterior(query, batch.model, batch.calibration, out.subspan((i * stages.size() + s) * classes, classes));
    });
}

/// The labels (class numbers) of every record after each of `stages` steps (ascending): out is (size, stages).
template <typename Batch>
void label_batch_in_stages(const Batch& batch, std::span<const std::int64_t> stages, int threads,
                           std::span<std::int32_t> out) {
    visit_stages(batch, stages, threads, [&](typename Batch::Query& query, std::size_t i, std::size_t s) {
        out[i * stages.size() + s] = static_cast<std::int32_t>(query.label(batch.model));
    });
}

}  // namespace anystream
