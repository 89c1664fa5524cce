#include "anystream/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace anystream {

namespace {

void (*signal_check)() = [] {};

/// Ends a helper whose loop has an error.
struct LoopEnded {};

/// The state that the threads of one loop share. A thread may start after the loop has ended: it finds no chunk left
/// and touches nothing but this, which it keeps alive.
struct Loop {
    Loop(std::size_t size, std::size_t chunk, std::size_t chunks,
         const std::function<void(std::size_t, std::size_t)>* body)
        : size(size), chunk(chunk), chunks(chunks), body(body) {}

    std::size_t size, chunk, chunks;
    const std::function<void(std::size_t, std::size_t)>* body;  // valid while any thread has a chunk
    std::atomic<std::size_t> next{0};
    std::atomic<int> busy{0};  // helpers that may have a chunk
    std::mutex error_guard;
    std::exception_ptr first_error;
    std::atomic<bool> failed{false};  // there is a first error

    void work() noexcept {
        for (;;) {
            const std::size_t c = next.fetch_add(1);
            if (c >= chunks) return;
            try {
                check_interrupts();
                (*body)(c* chunk, std::min(size, (c + 1) * chunk));
            } catch (...) {
                next.store(chunks);
                const std::lock_guard lock(error_guard);
                if (!first_error) first_error = std::current_exception();
                failed.store(true);
            }
        }
    }

    void help() noexcept {
        helped = this;
        busy.fetch_add(1);  // before the first chunk is taken: a thread that sees the last chunk taken sees this, too
        work();
        if (busy.fetch_sub(1) == 1) busy.notify_one();
    }

    void wait_for_helpers() noexcept {
        for (int still = busy.load(); still != 0; still = busy.load()) busy.wait(still);
    }

    static thread_local const Loop* helped;  // the loop that this thread was started for
};

thread_local const Loop* Loop::helped = nullptr;

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
    const auto loop = std::make_shared<Loop>(size, chunk, chunks, &body);
    try {
        for (std::size_t w = 1; w < workers; ++w) std::thread([loop] { loop->help(); }).detach();
    } catch (const std::system_error&) {
        // No further thread can be started: those that were, and this one, do the work.
    }
    loop->work();
    loop->wait_for_helpers();
    if (loop->first_error) std::rethrow_exception(loop->first_error);
}

}  // namespace anystream
