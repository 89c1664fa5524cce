// Random numbers that depend on a seed, a record and a sample number alone.
//
// Sample s of a record draws from a generator of its own, so that any prefix of the samples is the same whatever comes
// after it, a query resumes anywhere, and a record gets the same answer in any batch.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace anystream::subspace {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// A number for a record's content. All NaNs are equal, and so are the two zeros.
[[nodiscard]] inline std::uint64_t record_seed(std::uint64_t seed, const float* x, std::size_t dimensions) noexcept {
    std::uint64_t hash = mix(seed + kGolden);
    for (std::size_t j = 0; j < dimensions; ++j) {
        const float value = x[j] == x[j] ? x[j] + 0.0F : 0.0F;  // -0 + 0 is 0
        const std::uint64_t bits = x[j] == x[j] ? std::bit_cast<std::uint32_t>(value) : 0x1'0000'0000ULL;
        hash = (std::rotl(hash, 5) ^ bits) * 0xff51afd7ed558ccdULL;
    }
    return mix(hash);
}

/// SplitMix64.
class Generator {
  public:
    explicit Generator(std::uint64_t seed) noexcept : state_(seed) {}
    /// The generator of one sample of one record.
    Generator(std::uint64_t record_seed, std::uint64_t sample) noexcept : state_(mix(record_seed + sample * kGolden)) {}

    [[nodiscard]] std::uint64_t next() noexcept { return mix(state_ += kGolden); }
    /// Uniform in [0, 1).
    [[nodiscard]] double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

}  // namespace anystream::subspace
