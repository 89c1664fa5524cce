#include "anystream/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace anystream {

int thread_count(int requested) noexcept {
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return requested <= 0 ? cores : std::min(requested, cores);
}

void parallel_for(std::size_t size, std::size_t chunk, int threads,
                  const std::function<void(std::size_t, std::size_t)>& body) {
    if (size == 0) return;
    chunk = std::max<std::size_t>(1, chunk);
    const std::size_t chunks = (size + chunk - 1) / chunk;
    const auto workers = std::min<std::size_t>(static_cast<std::size_t>(thread_count(threads)), chunks);

    std::atomic<std::size_t> next{0};
    std::exception_ptr first_error;
    std::mutex error_guard;
    const auto work = [&]() noexcept {
        for (;;) {
            const std::size_t c = next.fetch_add(1, std::memory_order_relaxed);
            if (c >= chunks) return;
            try {
                body(c * chunk, std::min(size, (c + 1) * chunk));
            } catch (...) {
                next.store(chunks, std::memory_order_relaxed);
                const std::lock_guard lock(error_guard);
                if (!first_error) first_error = std::current_exception();
            }
        }
    };
    std::vector<std::jthread> others;
    try {
        others.reserve(workers - 1);
        for (std::size_t w = 1; w < workers; ++w) others.emplace_back(work);
    } catch (const std::system_error&) {
        // No further thread to be had: those that started, and this one, do the work.
    }
    work();
    others.clear();  // joins
    if (first_error) std::rethrow_exception(first_error);
}

}  // namespace anystream
