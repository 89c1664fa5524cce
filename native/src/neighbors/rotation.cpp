// A shift only turns the phases of a contour's Fourier coefficients, so by Parseval's theorem the distance of the
// amplitudes is below the distance at every shift: most exemplars are excluded by it in linear time. Of the others,
// every shift is abandoned as soon as it exceeds the best so far.
#include "anystream/neighbors/rotation.hpp"

#include <numbers>

#include "anystream/neighbors/pair_space.hpp"
#include "series.hpp"

namespace anystream::neighbors {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kCaution = 1.0 - 1e-9;  // excludes an effect of the bound's own rounding
constexpr std::size_t kAmplitudes = 32;  // the low frequencies hold most of a contour

class Rotation {
  public:
    static constexpr std::size_t kStride = 1;
    static constexpr bool kTriangle = true;  // shifts are isometries

    explicit Rotation(std::size_t width) : cosine_(width), sine_(width) {
        for (std::size_t i = 0; i < width; ++i) {
            const double angle = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(width);
            cosine_[i] = std::cos(angle);
            sine_[i] = std::sin(angle);
        }
    }
    [[nodiscard]] std::size_t traits(std::size_t width) const noexcept { return std::min(kAmplitudes, width / 2 + 1); }
    /// Amplitudes of the frequencies 0, 1, 2, ..., weighted such that their squares add up to at most ||row||^2.
    void trait(Row row, double* out) const noexcept {
        const std::size_t n = row.size();
        for (std::size_t f = 0; f < traits(n); ++f) {
            double real = 0.0, imaginary = 0.0;
            for (std::size_t i = 0, at = 0; i < n; ++i) {
                real += row[i] * cosine_[at];
                imaginary += row[i] * sine_[at];
                at = at + f < n ? at + f : at + f - n;
            }
            const bool twice = f != 0 && 2 * f != n;  // frequency n - f has the same amplitude
            out[f] = std::sqrt((real * real + imaginary * imaginary) * (twice ? 2.0 : 1.0) / static_cast<double>(n));
        }
    }
    [[nodiscard]] double distance(double power) const noexcept { return std::sqrt(power); }
    void require(Row row, std::size_t width) const { require_series(row, width); }

    class Prepared {
      public:
        void open(const Rotation& rotation, Row x) {
            x_ = x;
            amplitude_.resize(rotation.traits(x.size()));
            rotation.trait(x, amplitude_.data());
            twice_.resize(2 * x.size());
        }
        double power(const Rotation&, Row e, const double* amplitude, double bound) {
            double apart = 0.0;
            for (std::size_t f = 0; f < amplitude_.size(); ++f) {
                const double difference = amplitude_[f] - amplitude[f];
                apart += difference * difference;
            }
            if (apart * kCaution > bound) return kInfinity;
            const std::size_t n = x_.size();
            std::copy(e.begin(), e.end(), twice_.begin());
            std::copy(e.begin(), e.end(), twice_.begin() + static_cast<std::ptrdiff_t>(n));
            double best = bound, lowest = kInfinity;
            for (std::size_t s = 0; s < n; ++s) {
                const double found = shifted(twice_.data() + s, best);
                if (found < lowest) lowest = found;
                if (lowest < best) best = lowest;
            }
            return lowest;
        }

      private:
        [[nodiscard]] double shifted(const double* e, double bound) const noexcept {
            constexpr std::size_t kLook = 32;
            const std::size_t n = x_.size();
            double sum[4] = {};
            std::size_t i = 0;
            while (i + 4 <= n) {
                for (const std::size_t end = std::min(i + kLook, n / 4 * 4); i < end; i += 4)
                    for (std::size_t l = 0; l < 4; ++l) {
                        const double difference = x_[i + l] - e[i + l];
                        sum[l] += difference * difference;
                    }
                if ((sum[0] + sum[1]) + (sum[2] + sum[3]) > bound) return kInfinity;
            }
            for (std::size_t l = 0; i < n; ++i, ++l) {
                const double difference = x_[i] - e[i];
                sum[l] += difference * difference;
            }
            return (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }

        Row x_;
        std::vector<double> amplitude_, twice_;
    };

  private:
    std::vector<double> cosine_, sine_;
};

}  // namespace

std::unique_ptr<Space> make_rotation_space(std::size_t width) {
    return std::make_unique<PairSpace<Rotation>>(Rotation(width), width);
}

}  // namespace anystream::neighbors
