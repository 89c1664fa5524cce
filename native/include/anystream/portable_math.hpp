// exp and log from additions and multiplications alone: the same bits on every machine, and inlined.
//
// The C library's versions differ in the last place between machines (some use fused operations), which is enough to
// send a record on a border to the other cluster. Relative errors stay below 1e-13.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace anystream {

/// e^x for x <= 0; 0 below -700.
[[nodiscard]] inline double portable_exp(double x) noexcept {
    if (!(x > -700.0)) return 0.0;
    constexpr double kShift = 0x1.8p52;  // adding it rounds to an integer, left in the low bits
    const double shifted = x * 0x1.71547652b82fep0 + kShift;
    const double n = shifted - kShift;
    const double r = (x - n * 0x1.62e42fefap-1) - n * 0x1.cf79abc9e3b3ap-40;  // x - n ln 2, |r| <= ln 2 / 2
    double p = 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const auto exponent = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kShift);
    return p * std::bit_cast<double>((exponent + 1023) << 52);
}

/// A product of positive numbers that neither overflows nor underflows, for sums of logarithms: one log per product.
class LogProduct {
  public:
    void multiply(double x) noexcept {
        const auto bits = std::bit_cast<std::uint64_t>(x);
        exponent_ += static_cast<std::int64_t>(bits >> 52) - 1023;
        mantissa_ *= std::bit_cast<double>((bits & kFraction) | kOne);  // in [1, 2)
        if (++factors_ == 1000) normalise();
    }

    /// The logarithm of the product.
    [[nodiscard]] double log() noexcept {
        normalise();
        double m = mantissa_;
        auto e = static_cast<double>(exponent_);
        if (m > 0x1.6a09e667f3bcdp0) m *= 0.5, e += 1.0;  // m in [1 / sqrt 2, sqrt 2]
        const double s = (m - 1.0) / (m + 1.0);           // log m = 2 artanh s
        const double z = s * s;
        double p = 1.0 / 17.0;
        p = p * z + 1.0 / 15.0;
        p = p * z + 1.0 / 13.0;
        p = p * z + 1.0 / 11.0;
        p = p * z + 1.0 / 9.0;
        p = p * z + 1.0 / 7.0;
        p = p * z + 1.0 / 5.0;
        p = p * z + 1.0 / 3.0;
        return e * 0x1.62e42fefa39efp-1 + 2.0 * s * (1.0 + z * p);
    }

  private:
    static constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
    static constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;

    void normalise() noexcept {
        const auto bits = std::bit_cast<std::uint64_t>(mantissa_);
        exponent_ += static_cast<std::int64_t>(bits >> 52) - 1023;
        mantissa_ = std::bit_cast<double>((bits & kFraction) | kOne);
        factors_ = 0;
    }

    double mantissa_ = 1.0;
    std::int64_t exponent_ = 0;
    int factors_ = 0;
};

/// log x for a positive, normal x; -inf for 0.
[[nodiscard]] inline double portable_log(double x) noexcept {
    if (!(x > 0.0)) return -std::numeric_limits<double>::infinity();
    LogProduct product;
    product.multiply(x);
    return product.log();
}

}  // namespace anystream
