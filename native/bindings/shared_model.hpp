// A model that many threads may read while one learns.
//
// A reader takes a share of the published model; a query keeps the share it was opened on. Learning publishes in one of
// two ways:
//
//   in place   a few records at a time, while no reader has a share, behind the lock that readers take for a moment.
//   All
//              memory that the batch can need is allocated before, so that nothing fails once the first record is in.
//              If a reader takes a share meanwhile, the rest of the batch goes on in a copy.
//   in a copy  beside the readers, without any lock they take; the copy replaces the model at the end. If anything
//              throws, or a signal such as Ctrl-C arrives, the copy is dropped and nothing has changed.
//
// Readers never wait for more than a few records. Learners wait for each other. A child of fork can classify and learn,
// whatever other threads of its parent were doing.
//
// Locks, in the order in which they are taken: writers_ (without the GIL), the GIL, guard_ (for a moment; who holds it
// takes nothing else).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "anystream/fork.hpp"
#include "bindings.hpp"
#include "signals.hpp"

namespace anystream::bindings {

/// What `SharedModel::learn` applies: the records of one call, in order.
///
/// size()                     the number of records
/// check(model)               throws if the model cannot learn them
/// check_records(first, last) throws if one of these records cannot be learned. Called for all records before the first
///                            is learned in place, and for a portion before it is learned in a copy. Optional.
/// apply(model, first, last)  learns records first to last - 1, and what comes with them, such as new classes; a batch
///                            in portions equals the whole batch
/// reserve(model)             allocates all that `apply` can need for the whole batch and changes nothing that can be
///                            observed; it may throw, and `apply` may not after it. Called before `apply`, in place
///                            and in a copy. Optional: a model without it also learns small batches in place, but an
///                            allocation that fails there leaves it undefined.
/// learns_in_place(model)     whether `reserve` suffices: false if learning these records contains long or rare work
///                            that allocates, which is done in a copy. Optional: true.
/// apply_in_copy(...)         the same in a copy alone: it may throw, and checks the records. Optional: check_records
///                            and `apply`.
/// kPortion                   records applied in place before readers get a turn: well below a millisecond. Optional.
template <typename Work, typename Model>
concept LearnableBatch = requires(const Work& work, Model& model, std::size_t i) {
    { work.size() } -> std::convertible_to<std::size_t>;
    work.check(std::as_const(model));
    work.apply(model, i, i);
};

/// Attributes of a Python object that change together with a model: they are set with the GIL held, right before the
/// change can be observed. So neither an exception nor an interrupt comes between the two.
class Announcement {
  public:
    Announcement() = default;
    /// Sets `attributes` in `owner`, the __dict__ of an object.
    Announcement(nb::dict owner, nb::dict attributes) : owner_(std::move(owner)), attributes_(std::move(attributes)) {}

    [[nodiscard]] bool empty() const { return !attributes_.is_valid() || nb::len(attributes_) == 0; }
    /// Keeps the values that it replaces, so that no destructor runs inside. May throw before it sets anything.
    void make() {
        replaced_ = nb::steal(PyDict_Copy(owner_.ptr()));
        if (!replaced_.is_valid() || PyDict_Update(owner_.ptr(), attributes_.ptr()) != 0) throw nb::python_error();
    }

  private:
    nb::object owner_, attributes_, replaced_;  // dicts, or nothing
};

template <typename Model>
class SharedModel {
  public:
    using Share = std::shared_ptr<Model>;

    explicit SharedModel(Model model) : model_(std::make_shared<Model>(std::move(model))) {}
    explicit SharedModel(Share model) : model_(std::move(model)) {}

    /// A share for a reader, which does not change. Call it with the GIL held.
    [[nodiscard]] Share share() const {
        const std::unique_lock held(guard_, std::try_to_lock);
        if (held.owns_lock()) return model_;
        const nb::gil_scoped_release unlocked;
        const std::lock_guard lock(guard_);
        return model_;
    }

    /// Learns a batch: all of it or, if this throws, nothing. Call it with the GIL held; the work runs without it.
    template <LearnableBatch<Model> Work>
    void learn(const Work& work, Announcement announcement = {}) {
        renew_after_fork();
        const bool announces = !announcement.empty();
        const nb::gil_scoped_release unlocked;
        const std::lock_guard writer(writers_);
        work.check(std::as_const(*model_));  // only writers replace or change it
        std::size_t done = 0;
        if (prefers_place(work, announces)) {
            check_records(work, 0, work.size());
            done = begin_in_place(work, announces ? &announcement : nullptr);
        }
        if (done == 0) return learn_in_copy(work, announces ? &announcement : nullptr);
        finish(work, done);
    }

    /// Changes a copy, which then replaces the model: all of the change or, if this throws, nothing. Call it with the
    /// GIL held; `change` runs without it.
    template <typename Change>
    void change(Change&& change) {
        renew_after_fork();
        const nb::gil_scoped_release unlocked;
        const std::lock_guard writer(writers_);
        auto draft = std::make_shared<Model>(std::as_const(*model_));
        change(*draft);
        publish(draft);
    }

  private:
    /// Copying a model of fewer bytes per new record than this costs little beside learning the records.
    static constexpr std::size_t kCheapBytes = 400;
    /// Batches up to this size are learned in place without looking at the size of the model.
    static constexpr std::size_t kSmallBatch = 64;
    /// Larger batches are learned in a copy: once begun in place a batch cannot be interrupted.
    static constexpr std::size_t kMaxInPlace = 16384;

    template <typename Work>
    static constexpr std::size_t portion_of() {
        if constexpr (requires { Work::kPortion; })
            return Work::kPortion;
        else
            return 4;
    }

    template <typename Work>
    static constexpr bool kAppliesInCopy =
        requires(const Work& work, Model& model, std::size_t i) { work.apply_in_copy(model, i, i); };

    template <typename Work>
    static constexpr bool kReserves = requires(const Work& work, Model& model) { work.reserve(model); };

    template <typename Work>
    static void reserve(const Work& work, Model& model) {
        if constexpr (kReserves<Work>) work.reserve(model);
    }

    template <typename Work>
    static void check_records(const Work& work, std::size_t first, std::size_t last) {
        if constexpr (requires { work.check_records(first, last); }) work.check_records(first, last);
    }

    template <typename Work>
    [[nodiscard]] bool prefers_place(const Work& work, bool announces) const {
        if (work.size() == 0 || work.size() > kMaxInPlace || (announces && !kReserves<Work>)) return false;
        if constexpr (requires { work.learns_in_place(std::as_const(*model_)); })
            if (!work.learns_in_place(std::as_const(*model_))) return false;
        return work.size() <= kSmallBatch || work.size() * kCheapBytes < model_->own_bytes();
    }

    /// Whether no reader has a share, so that the model may change; guard_ is held.
    [[nodiscard]] bool unshared() const {
        if (model_.use_count() != 1) return false;
        const Share probe = model_;  // counting up and down orders the reads of released shares before our writes
        return true;
    }

    /// Learns the first records in place; returns their number, 0 if a reader has a share.
    template <typename Work>
    std::size_t begin_in_place(const Work& work, Announcement* announcement) {
        const auto begin = [&]() -> std::size_t {
            const std::lock_guard lock(guard_);
            if (!unshared()) return 0;
            reserve(work, *model_);
            if (announcement != nullptr) announcement->make();
            const std::size_t first = std::min(portion_of<Work>(), work.size());
            work.apply(*model_, 0, first);
            return first;
        };
        if (announcement == nullptr) return begin();
        const nb::gil_scoped_acquire locked;
        return begin();
    }

    /// Learns the records from `done` on in place, or in a copy once a reader has a share.
    template <typename Work>
    void finish(const Work& work, std::size_t done) {
        while (done < work.size()) {
            guard_.give_way();
            {
                const std::lock_guard lock(guard_);
                if (unshared()) {
                    const std::size_t next = std::min(done + portion_of<Work>(), work.size());
                    work.apply(*model_, done, next);
                    done = next;
                    continue;
                }
            }
            if (finish_in_copy(work, done)) return;
        }
    }

    /// Learns the rest of a batch in a copy; false if memory for it is short at present, so that the caller tries
    /// again: in place once the readers have gone. Gives up after some seconds.
    template <typename Work>
    bool finish_in_copy(const Work& work, std::size_t done) {
        try {
            auto draft = std::make_shared<Model>(std::as_const(*model_));
            reserve(work, *draft);
            work.apply(*draft, done, work.size());
            publish(draft);
            return true;
        } catch (const std::bad_alloc&) {
            using namespace std::chrono_literals;
            if (++short_of_memory_ > 5000)
                throw std::runtime_error("memory ran out in the middle of a batch, while a query held the model; " +
                                         std::to_string(done) + " of " + std::to_string(work.size()) +
                                         " records were learned");
            std::this_thread::sleep_for(1ms);
            return false;
        }
    }

    template <typename Work>
    void learn_in_copy(const Work& work, Announcement* announcement) {
        auto draft = std::make_shared<Model>(std::as_const(*model_));
        reserve(work, *draft);
        SignalPoll signals;
        constexpr std::size_t portion = kAppliesInCopy<Work> ? 8192 : 64;  // records before signals are handled
        for (std::size_t first = 0; first < work.size() || first == 0; first += portion) {
            signals.poll();
            const std::size_t last = std::min(first + portion, work.size());
            if constexpr (kAppliesInCopy<Work>) {
                work.apply_in_copy(*draft, first, last);
            } else {
                check_records(work, first, last);
                work.apply(*draft, first, last);
            }
        }
        if (announcement == nullptr) return publish(draft);
        const nb::gil_scoped_acquire locked;
        announcement->make();
        publish(draft);
    }

    /// Replaces the model by `draft`, which becomes the replaced one.
    void publish(Share& draft) noexcept {
        const std::lock_guard lock(guard_);
        model_.swap(draft);
        short_of_memory_ = 0;
    }

    /// In a child of fork: forgets the learners of the parent.
    void renew_after_fork() const {
        if (generation_.load(std::memory_order_relaxed) == process_generation()) return;
        const std::lock_guard lock(guard_);
        if (generation_.load(std::memory_order_relaxed) == process_generation()) return;
        new (&writers_) std::mutex;
        generation_.store(process_generation(), std::memory_order_relaxed);
    }

    mutable BriefMutex guard_;    // over model_ and, while nobody has a share, over what it points to
    mutable std::mutex writers_;  // held by the one thread that learns
    mutable std::atomic<std::uint64_t> generation_{process_generation()};
    int short_of_memory_ = 0;  // times that a copy was tried in vain; behind writers_
    Share model_;
};

}  // namespace anystream::bindings
