// One loop on several threads, with the same result on any number of them.
//
// Work is cut into chunks whose borders depend on the size alone, never on the number of threads; threads take the next
// chunk from a counter. A body that writes only what belongs to its chunk is therefore deterministic.
//
// The threads wait between loops for the next one: starting a thread takes tens of microseconds and its memory is cold,
// and a batch with a short deadline is a loop every 200 microseconds. The caller does not wait for a thread that has
// not begun: where the other cores are busy, that can take as long as the whole batch. Before the process forks, as
// multiprocessing does, idle threads end; parent and child start new ones when they need them.
#pragma once

#include <cstddef>
#include <functional>

namespace anystream {

/// The number of threads to use for a request: 0 is one per core; never more than there are cores.
[[nodiscard]] int thread_count(int requested) noexcept;

/// Sets the function that handles signals, such as Ctrl-C, and throws if one is to end the work. It is called often,
/// and never by a helper of parallel_for. Call it once, when the library is loaded.
void set_signal_check(void (*check)()) noexcept;

/// Ends long work early: throws what the signal check throws or, in a helper of parallel_for, once another thread of
/// the loop has thrown. parallel_for calls it before every chunk; longer work between calls it every millisecond or so.
/// It reads the clock. A signal handler may use the library: what it could use as well, such as a thread_local, must
/// not be in use.
void check_interrupts();

/// Calls body(first, last) for every chunk of [0, size). After the first exception no further chunk is taken; it is
/// rethrown here once no thread works on a chunk.
void parallel_for(std::size_t size, std::size_t chunk, int threads,
                  const std::function<void(std::size_t first, std::size_t last)>& body);

/// Ends the threads that wait for a loop. For fork alone: no other thread may be about to take or give back one.
void end_idle_helpers() noexcept;

}  // namespace anystream
