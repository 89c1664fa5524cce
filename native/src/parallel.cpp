#include "anystream/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "anystream/fork.hpp"

namespace anystream {

namespace {

void (*signal_check)() = [] {};

/// Ends a helper whose loop has an error.
struct LoopEnded {};

/// The state that the threads of one loop share; it outlives the work of all of them.
struct Loop {
    Loop(std::size_t size, std::size_t chunk, std::size_t chunks,
         const std::function<void(std::size_t, std::size_t)>& body)
        : size(size), chunk(chunk), chunks(chunks), body(body) {}

    std::size_t size, chunk, chunks;
    const std::function<void(std::size_t, std::size_t)>& body;
    std::atomic<std::size_t> next{0};
    std::mutex error_guard;
    std::exception_ptr first_error;
    std::atomic<bool> failed{false};  // there is a first error

    void work() noexcept {
        for (;;) {
            const std::size_t c = next.fetch_add(1);
            if (c >= chunks) return;
            try {
                check_interrupts();
                body(c * chunk, std::min(size, (c + 1) * chunk));
            } catch (...) {
                next.store(chunks);
                const std::lock_guard lock(error_guard);
                if (!first_error) first_error = std::current_exception();
                failed.store(true);
            }
        }
    }

    static thread_local const Loop* helped;  // the loop that this thread, a helper, works on
};

thread_local const Loop* Loop::helped = nullptr;

/// Blocks all signals in this thread but those that an instruction raises, such as an access to a mapped file that was
/// cut. A thread that is started meanwhile blocks them, too.
class BlockedSignals {
  public:
    BlockedSignals() noexcept {
        sigset_t all;
        sigfillset(&all);
        for (const int raised : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, raised);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

/// A thread that helps with one loop after another. One caller at a time has it: posts a loop and takes it back.
class Helper {
  public:
    /// Throws std::system_error if no thread can be started.
    Helper() {
        const BlockedSignals blocked;  // they are for the threads of the program
        thread_ = std::thread([this] { run(); });
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;
    ~Helper() {
        state_.store(kEnding);
        state_.notify_one();
        thread_.join();
    }

    void post(Loop& loop) noexcept {
        loop_ = &loop;
        state_.store(kPosted);
        state_.notify_one();
    }
    /// Returns when this thread does not use the loop any more: at once if it has not begun with it.
    void take_back() noexcept {
        int state = kPosted;
        if (state_.compare_exchange_strong(state, kIdle)) return;
        for (; state == kWorking; state = state_.load()) state_.wait(state);
    }

    std::unique_ptr<Helper> next;  // in a list

  private:
    enum State : int { kIdle, kPosted, kWorking, kEnding };

    void run() noexcept {
        for (int state = state_.load(); state != kEnding; state = state_.load()) {
            if (state == kIdle) {
                state_.wait(state);
            } else if (state_.compare_exchange_strong(state, kWorking)) {
                Loop::helped = loop_;
                loop_->work();
                Loop::helped = nullptr;
                state_.store(kIdle);
                state_.notify_one();
            }
        }
    }

    std::atomic<int> state_{kIdle};
    Loop* loop_ = nullptr;  // valid while posted or working
    std::thread thread_;
};

/// The helpers that no caller has. There are as many as callers have needed at once.
class Pool {
  public:
    /// Returns a list of at most `count` helpers; fewer if no further thread can be started.
    [[nodiscard]] std::unique_ptr<Helper> take(std::size_t count) {
        std::unique_ptr<Helper> taken;
        {
            const std::lock_guard lock(guard_);
            for (; count > 0 && idle_; --count) move_first(idle_, taken);
        }
        try {
            for (; count > 0; --count) {
                auto started = std::make_unique<Helper>();
                started->next = std::move(taken);
                taken = std::move(started);
            }
        } catch (const std::system_error&) {
            // Those that there are, and the caller, do the work.
        }
        return taken;
    }
    void give_back(std::unique_ptr<Helper> list) {
        const std::lock_guard lock(guard_);
        while (list) move_first(list, idle_);
    }
    /// Ends the idle threads. No other thread is in a call of the pool.
    void end_idle() noexcept {
        while (idle_) idle_ = std::move(idle_->next);
    }

  private:
    static void move_first(std::unique_ptr<Helper>& from, std::unique_ptr<Helper>& to) noexcept {
        auto first = std::move(from);
        from = std::move(first->next);
        first->next = std::move(to);
        to = std::move(first);
    }

    BriefMutex guard_;
    std::unique_ptr<Helper> idle_;
};

/// Never destroyed: threads may still run while the process ends.
union Threads {
    Threads() : pool() {}
    ~Threads() {}
    Pool pool;
};
Threads threads_of_process;

}  // namespace

int thread_count(int requested) noexcept {
    static const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return requested <= 0 ? cores : std::min(requested, cores);
}

void set_signal_check(void (*check)()) noexcept {
    signal_check = check;
}

void check_interrupts() {
    if (Loop::helped == nullptr) return signal_check();
    if (Loop::helped->failed.load(std::memory_order_relaxed)) throw LoopEnded{};
}

void parallel_for(std::size_t size, std::size_t chunk, int threads,
                  const std::function<void(std::size_t, std::size_t)>& body) {
    if (size == 0) return;
    chunk = std::max<std::size_t>(1, chunk);
    const std::size_t chunks = (size + chunk - 1) / chunk;
    const auto workers = std::min<std::size_t>(static_cast<std::size_t>(thread_count(threads)), chunks);
    if (workers == 1) {
        for (std::size_t first = 0; first < size; first += chunk) {
            check_interrupts();
            body(first, std::min(size, first + chunk));
        }
        return;
    }
    Loop loop(size, chunk, chunks, body);
    auto helpers = threads_of_process.pool.take(workers - 1);
    for (Helper* helper = helpers.get(); helper != nullptr; helper = helper->next.get()) helper->post(loop);
    loop.work();
    for (Helper* helper = helpers.get(); helper != nullptr; helper = helper->next.get()) helper->take_back();
    threads_of_process.pool.give_back(std::move(helpers));
    if (loop.first_error) std::rethrow_exception(loop.first_error);
}

void end_idle_helpers() noexcept {
    threads_of_process.pool.end_idle();
}

}  // namespace anystream
