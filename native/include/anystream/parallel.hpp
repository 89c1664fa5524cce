// One loop on several threads, with the same result on any number of them.
//
// Work is cut into chunks whose borders depend on the size alone, never on the number of threads; threads take the next
// chunk from a counter. A body that writes only what belongs to its chunk is therefore deterministic. The threads are
// started for one call: that costs about 15 microseconds each, a batch worth sharing takes milliseconds, and a process
// that forks (as multiprocessing does) inherits no broken thread pool. The caller does not wait for a thread that has
// not started: where the other cores are busy, starting can take as long as the whole batch.
#pragma once

#include <cstddef>
#include <functional>

namespace anystream {

/// The number of threads to use for a request: 0 is one per core; never more than there are cores.
[[nodiscard]] int thread_count(int requested) noexcept;

/// Sets a function that the caller of parallel_for calls between its chunks, such as one that handles signals. What it
/// throws ends the loop. Call it once, when the library is loaded.
void set_check_between_chunks(void (*check)()) noexcept;

/// Calls body(first, last) for every chunk of [0, size). After the first exception no further chunk is taken; it is
/// rethrown here once no thread works on a chunk.
void parallel_for(std::size_t size, std::size_t chunk, int threads,
                  const std::function<void(std::size_t first, std::size_t last)>& body);

}  // namespace anystream
