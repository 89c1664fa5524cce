// One loop on several threads, with the same result on any number of them.
//
// Work is cut into chunks whose borders depend on the size alone, never on the number of threads; threads take the next
// chunk from a counter. A body that writes only what belongs to its chunk is therefore deterministic. The threads are
// started for one call: that costs some 15 microseconds each, a batch worth sharing takes milliseconds, and a process
// that forks (as multiprocessing does) finds nothing broken behind it. Nobody waits for a thread that has not started:
// where the other cores are busy with something else, that can take as long as the whole batch.
#pragma once

#include <cstddef>
#include <functional>

namespace anystream {

/// The number of threads that `requested` stands for: 0 is one per core, and never more than there are cores.
[[nodiscard]] int thread_count(int requested) noexcept;

/// Calls body(first, last) for every chunk of [0, size). The first exception stops the taking of further chunks, and
/// is rethrown here once nobody works on one.
void parallel_for(std::size_t size, std::size_t chunk, int threads,
                  const std::function<void(std::size_t first, std::size_t last)>& body);

}  // namespace anystream
