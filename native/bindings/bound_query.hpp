// A query as Python holds it: one class template for every model. A model adds its own calls in a derived class.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/calibration.hpp"
#include "anystream/fork.hpp"
#include "anystream/state_bytes.hpp"
#include "bindings.hpp"
#include "signals.hpp"

namespace anystream::bindings {

/// The query of this thread whose memory the next query uses.
template <AnytimeQuery Query>
[[nodiscard]] Query& spare_query() {
    thread_local Query spare;
    return spare;
}

template <AnytimeQuery Query>
[[nodiscard]] std::vector<double> posterior_of(Query& query, const typename Query::Model& model,
                                               const Calibration* calibration = nullptr) {
    std::vector<double> out(model.classes());
    write_posterior(query, model, calibration, out);
    return out;
}

/// Takes `steps` (-1: all) on one record, in this thread's spare query, which it returns. The GIL is held, but for long
/// work.
template <AnytimeQuery Query, typename Record>
Query& classify_one(const typename Query::Model& model, const typename Query::Settings& settings, const Record& record,
                    std::int64_t steps) {
    constexpr std::int64_t kBrief = 64;  // steps
    Query& query = spare_query<Query>();
    query.open(model, settings, record);
    if (steps < 0) steps = Limits::kUnlimited;
    const std::int64_t taken = query.advance(model, kDivisible<Query> ? std::min(steps, kBrief) : steps, nullptr);
    if (kDivisible<Query> && taken == kBrief && taken < steps) {
        Query own(std::move(query));  // the spare one may be used by a signal handler
        const nb::gil_scoped_release unlocked;
        InterruptibleSteps().advance(own, model, steps - taken, nullptr);
        query = std::move(own);
    }
    return query;
}

/// A query can be resumed from bytes.
template <typename Query>
concept ResumableFromBytes =
    requires(Query query, const typename Query::Model& model, std::span<const std::byte> state) {
        { query.suspend() } -> std::same_as<std::vector<std::byte>>;
        query.resume(model, state);
    };

/// One classification in progress and the model it was opened on. Every call may run in any thread at any time: a lock
/// guards the query, and `refine` lets other calls in several times per millisecond. Up to kPortion steps are taken
/// without releasing the GIL: they take less time than other threads need to get it.
template <AnytimeQuery QueryType, std::int64_t kPortion = 64>
class BoundQuery {
  public:
    using Query = QueryType;
    using Model = typename Query::Model;
    using Share = std::shared_ptr<const Model>;

    /// `record` is what the query's `open` takes.
    template <typename Record>
    BoundQuery(Share model, const typename Query::Settings& settings, const Record& record)
        : BoundQuery(std::move(model)) {
        query_.open(*model_, settings, record);
    }
    BoundQuery(Share model, const nb::bytes& state)
        requires ResumableFromBytes<Query>
        : BoundQuery(std::move(model)) {
        query_.resume(*model_, {reinterpret_cast<const std::byte*>(state.data()), state.size()});
        require_probabilities();
    }
    BoundQuery(const BoundQuery&) = delete;
    BoundQuery& operator=(const BoundQuery&) = delete;
    ~BoundQuery() {
        constexpr std::int64_t kSmall = 4096;  // steps; the memory of longer queries is not worth keeping
        if (query_.steps() <= kSmall) spare_query<Query>() = std::move(query_);
    }

    std::int64_t refine(std::int64_t steps, std::int64_t nanoseconds, const StopFlag* stop) {
        const Limits limits = make_limits(steps, nanoseconds, stop);
        if (!limits.interruptible() && limits.steps <= kPortion) {
            const Hold hold(guard_);
            return query_.advance(*model_, limits.steps, nullptr);
        }
        const nb::gil_scoped_release unlocked;
        return refine_in_portions(limits);
    }
    [[nodiscard]] std::size_t label() {
        const Hold hold(guard_);
        return query_.label(*model_);
    }
    [[nodiscard]] auto proba(const Calibration* calibration) {
        const Hold hold(guard_);
        return to_numpy(posterior_of(query_, *model_, calibration));
    }
    [[nodiscard]] nb::bytes state()
        requires ResumableFromBytes<Query>
    {
        const Hold hold(guard_);
        return suspended();
    }
    [[nodiscard]] std::int64_t steps() const {
        const Hold hold(guard_);
        return query_.steps();
    }
    [[nodiscard]] bool exhausted() const {
        const Hold hold(guard_);
        return query_.exhausted();
    }
    [[nodiscard]] bool certified() const {
        const Hold hold(guard_);
        return query_.certified();
    }

  protected:
    /// Holds the lock of a query. Waits for it without the GIL, which it has before and after.
    class [[nodiscard]] Hold {
      public:
        explicit Hold(BriefMutex& guard) : lock_(guard, std::try_to_lock) {
            if (lock_.owns_lock()) return;
            const nb::gil_scoped_release unlocked;
            lock_.lock();
        }

      private:
        std::unique_lock<BriefMutex> lock_;
    };

    explicit BoundQuery(Share model) : model_(std::move(model)), query_(std::move(spare_query<Query>())) {}

    /// Throws if a state that was resumed does not lead to probabilities.
    void require_probabilities() {
        double total = 0.0;
        for (const double p : posterior_of(query_, *model_)) {
            StateReader::require(p >= 0.0, "its probabilities are damaged");
            total += p;
        }
        StateReader::require(std::abs(total - 1.0) < 1e-6, "its probabilities are damaged");
    }

    /// The state; the lock is held.
    [[nodiscard]] nb::bytes suspended() {
        const auto bytes = query_.suspend();
        return nb::bytes(bytes.data(), bytes.size());
    }

    mutable BriefMutex guard_;  // over query_
    Share model_;
    Query query_;

  private:
    std::int64_t refine_in_portions(const Limits& limits) {
        StopWatch watch(limits);
        SignalPoll signals;
        std::int64_t taken = 0, portion = kPortion;
        auto last = Clock::now();
        for (std::unique_lock lock(guard_);;) {
            const std::int64_t wanted = std::min(portion, limits.steps - taken);
            const std::int64_t now = query_.advance(*model_, wanted, limits.interruptible() ? &watch : nullptr);
            taken += now;
            if (now < wanted || taken == limits.steps) return taken;
            const auto took = Clock::now() - std::exchange(last, Clock::now());
            if (took < kShort) portion *= 2;
            if (took > kLong && portion > 1) portion /= 2;
            if (!guard_.wanted() && !signals.due(last)) continue;
            lock.unlock();
            signals.poll();
            guard_.give_way();
            lock.lock();
        }
    }

    static constexpr std::chrono::microseconds kShort{100}, kLong{400};  // of a portion, after which others get a turn
};

/// The calls that all queries have. `Bound` is a BoundQuery or derived from one.
template <typename Bound>
nb::class_<Bound> bind_query(nb::module_& m, const char* name) {
    auto bound =
        nb::class_<Bound>(m, name, "One classification in progress.")
            .def("refine", &Bound::refine, "steps"_a = -1, "nanoseconds"_a = -1, "stop"_a.none() = nb::none(),
                 "Take steps within the limits (-1: no limit); return their number.")
            .def("label", &Bound::label, "The number of the likeliest class.")
            .def("proba", &Bound::proba, "calibration"_a.none() = nb::none(), "The probabilities of the classes.")
            .def_prop_ro("steps", &Bound::steps, "Steps taken so far.")
            .def_prop_ro("exhausted", &Bound::exhausted, "Whether no step is left.")
            .def_prop_ro("certified", &Bound::certified, "Whether no further step can change the label.");
    if constexpr (ResumableFromBytes<typename Bound::Query>)
        bound.def("state", &Bound::state, "Everything needed to resume the query later, as bytes.");
    return bound;
}

/// The output arrays of `answer`, their shapes checked.
[[nodiscard]] inline AnswerRows checked_answers(std::size_t records, std::size_t classes,
                                                const OutMatrix<double>& proba, const OutVector<std::int64_t>& taken,
                                                const OutVector<std::uint8_t>& marks) {
    require_equal("rows of proba", proba.shape(0), records);
    require_equal("columns of proba", proba.shape(1), classes);
    require_equal("length of taken", taken.size(), records);
    require_equal("length of marks", marks.size(), records);
    return {as_span(proba), as_span(taken), as_span(marks)};
}

}  // namespace anystream::bindings
