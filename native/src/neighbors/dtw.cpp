#include "anystream/neighbors/dtw.hpp"

#include <deque>

#include "anystream/neighbors/pair_space.hpp"
#include "series.hpp"

namespace anystream::neighbors {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The largest (or smallest) of each window [i - band, i + band], in linear time.
template <typename Better>
void window_extremes(Row x, std::size_t band, std::vector<double>& out, Better better) {
    std::deque<std::size_t> promising;
    out.resize(x.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        for (; next < x.size() && next <= i + band; ++next) {
            while (!promising.empty() && !better(x[promising.back()], x[next])) promising.pop_back();
            promising.push_back(next);
        }
        while (promising.front() + band < i) promising.pop_front();
        out[i] = x[promising.front()];
    }
}

class Dtw {
  public:
    static constexpr std::size_t kStride = 1;
    static constexpr bool kTriangle = false;

    explicit Dtw(std::size_t band) : band_(band) {}
    [[nodiscard]] std::size_t traits(std::size_t) const noexcept { return 0; }
    void trait(Row, double*) const noexcept {}
    [[nodiscard]] double distance(double power) const noexcept { return std::sqrt(power); }
    void require(Row row, std::size_t width) const { require_series(row, width); }

    class Prepared {
      public:
        void open(const Dtw& dtw, Row x) {
            x_ = x;
            window_extremes(x, dtw.band_, upper_, std::greater<>());
            window_extremes(x, dtw.band_, lower_, std::less<>());
            rest_.resize(x.size() + 1);
        }

        /// LB_Keogh first: the distances of e from the envelope of x, summed from the end, are also lower bounds on the
        /// cost of the rest of a path, so that a comparison is abandoned as early as possible.
        double power(const Dtw& dtw, Row e, const double*, double bound) {
            const std::size_t n = x_.size();
            rest_[n] = 0.0;
            for (std::size_t j = n; j-- > 0;) {
                const double outside = e[j] > upper_[j] ? e[j] - upper_[j] : e[j] < lower_[j] ? lower_[j] - e[j] : 0.0;
                rest_[j] = rest_[j + 1] + outside * outside;
                if (rest_[j] * kCaution > bound) return kInfinity;
            }
            return warped(dtw.band_, e, bound);
        }

      private:
        static constexpr double kCaution = 1.0 - 1e-9;  // excludes an effect of the bound's own rounding

        double warped(std::size_t band, Row e, double bound) {
            const std::size_t n = x_.size();
            above_.assign(n + 2, kInfinity);  // above_[i + 1]: the best path to (i, j - 1)
            row_.assign(n + 2, kInfinity);
            above_[0] = 0.0;
            for (std::size_t j = 0; j < n; ++j) {
                const std::size_t begin = j > band ? j - band : 0, end = std::min(n, j + band + 1);
                double lowest = kInfinity;
                row_[begin] = kInfinity;
                for (std::size_t i = begin; i < end; ++i) {
                    const double difference = x_[i] - e[j];
                    const double before = std::min({above_[i], above_[i + 1], row_[i]});
                    row_[i + 1] = before + difference * difference;
                    lowest = std::min(lowest, row_[i + 1]);
                }
                row_[end + 1 < n + 2 ? end + 1 : n + 1] = kInfinity;
                if ((lowest + rest_[j + 1]) * kCaution > bound) return kInfinity;
                std::swap(above_, row_);
                if (j == 0) row_[0] = kInfinity;
            }
            return above_[n];
        }

        Row x_;
        std::vector<double> upper_, lower_, rest_, above_, row_;
    };

  private:
    std::size_t band_;
};

}  // namespace

std::unique_ptr<Space> make_dtw_space(std::size_t width, std::size_t band) {
    return std::make_unique<PairSpace<Dtw>>(Dtw(band), width);
}

}  // namespace anystream::neighbors
