// Positive numbers far outside the range of a double: fraction * 2^exponent.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace anystream {

/// Densities of a query against classes differ by factors such as 2^5000. The exponent is a whole number kept in a
/// double, so that adding and comparing need no logarithm and lose nothing.
struct Scaled {
    double fraction = 0.0;  // 0, or in [0.5, 1) once normal
    double exponent = 0.0;

    static Scaled of(double value, double exponent) noexcept {
        if (!(value > 0.0)) return {};
        int shift = 0;
        const double fraction = std::frexp(value, &shift);
        return {fraction, exponent + shift};
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

    /// 2^by * value for by <= 0.
    static double shifted(double value, double by) noexcept {
        return by < -1100.0 ? 0.0 : std::ldexp(value, static_cast<int>(by));
    }

    friend bool operator<(const Scaled& a, const Scaled& b) noexcept {
        if (a.fraction == 0.0 || b.fraction == 0.0) return a.fraction < b.fraction;
        return a.exponent != b.exponent ? a.exponent < b.exponent : a.fraction < b.fraction;
    }
};

/// A number that grows strictly with value * 2^exponent: the exponent plus the mantissa, a logarithm with corners.
inline double order_key(double value, double exponent) noexcept {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    constexpr double kUnit = 1.0 / 4503599627370496.0;  // 2^-52
    return exponent + static_cast<double>(bits) * kUnit;
}

}  // namespace anystream
