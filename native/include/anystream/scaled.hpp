// Positive numbers far outside the range of a double: fraction * 2^exponent.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace anystream {

/// Densities of a query against classes differ by factors such as 2^5000. The exponent is a whole number kept in a
/// double, so that adding and comparing need no logarithm and are exact.
struct Scaled {
    double fraction = 0.0;  // 0, or in [0.5, 1) once normal
    double exponent = 0.0;

    static constexpr double kMinNormal = 0x1p-1022;  // smaller values count as 0

    static Scaled of(double value, double exponent) noexcept {
        if (!(value >= kMinNormal)) return {};
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        const double shift = static_cast<double>(bits >> 52) - 1022.0;
        bits = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1022} << 52);
        Scaled result{0.0, exponent + shift};
        std::memcpy(&result.fraction, &bits, sizeof bits);
        return result;
    }

    void add(const Scaled& other) noexcept {
        if (other.fraction == 0.0) return;
        if (fraction == 0.0) {
            *this = other;
            return;
        }
        const double apart = other.exponent - exponent;
        if (apart > 0.0)
            *this = of(other.fraction + shifted(fraction, -apart), other.exponent);
        else
            *this = of(fraction + shifted(other.fraction, apart), exponent);
    }

    /// 2^by * value for a whole number by <= 0; 0 where 2^by is not a normal number.
    static double shifted(double value, double by) noexcept {
        if (by < -1022.0) return 0.0;
        const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(by) + 1023) << 52;
        double power;
        std::memcpy(&power, &bits, sizeof power);
        return value * power;
    }

    friend bool operator<(const Scaled& a, const Scaled& b) noexcept {
        if (a.fraction == 0.0 || b.fraction == 0.0) return a.fraction < b.fraction;
        return a.exponent != b.exponent ? a.exponent < b.exponent : a.fraction < b.fraction;
    }
};

/// A number that never falls as value * 2^exponent grows: the exponent plus the mantissa, a logarithm with corners.
inline double order_key(double value, double exponent) noexcept {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    constexpr double kUnit = 1.0 / 4503599627370496.0;  // 2^-52
    return exponent + static_cast<double>(bits) * kUnit;
}

}  // namespace anystream
