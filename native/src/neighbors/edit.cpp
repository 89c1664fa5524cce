// A column of the table of edit distances as two bit vectors (Myers 1999; Hyyro 2003): 64 rows per word and step.
#include "anystream/neighbors/edit.hpp"

#include <unordered_map>

#include "anystream/neighbors/pair_space.hpp"

namespace anystream::neighbors {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Edit {
  public:
    static constexpr std::size_t kStride = 4;
    static constexpr bool kTriangle = true;

    [[nodiscard]] std::size_t traits(std::size_t) const noexcept { return 0; }
    void trait(Row, double*) const noexcept {}
    [[nodiscard]] double distance(double power) const noexcept { return power; }
    void require(Row row, std::size_t) const {
        for (const double symbol : row)
            if (!std::isfinite(symbol)) throw std::invalid_argument("a text holds a symbol that is not a number");
    }

    class Prepared {
      public:
        void open(const Edit&, Row x) {
            length_ = x.size();
            words_ = (length_ + 63) / 64;
            places_.clear();
            std::fill(std::begin(small_), std::end(small_), std::int32_t{-1});
            masks_.assign(words_, 0);  // the first mask: a symbol that x lacks
            for (std::size_t i = 0; i < length_; ++i) {
                const std::size_t place = place_of(x[i], true);
                masks_[place * words_ + i / 64] |= std::uint64_t{1} << (i % 64);
            }
            plus_.resize(words_);
            minus_.resize(words_);
        }

        double power(const Edit&, Row e, const double*, double bound) {
            const auto longer = std::max(length_, e.size()), shorter = std::min(length_, e.size());
            if (static_cast<double>(longer - shorter) > bound) return kInfinity;
            if (length_ == 0) return static_cast<double>(e.size());
            std::fill(plus_.begin(), plus_.end(), ~std::uint64_t{0});
            std::fill(minus_.begin(), minus_.end(), std::uint64_t{0});
            auto score = static_cast<std::int64_t>(length_);
            for (std::size_t j = 0; j < e.size(); ++j) {
                score += column(masks_.data() + place_of(e[j], false) * words_);
                // each of the remaining symbols lowers the score by one at most
                const auto lower = score - static_cast<std::int64_t>(e.size() - j - 1);
                if (static_cast<double>(lower) > bound) return kInfinity;
            }
            return static_cast<double>(score);
        }

      private:
        static constexpr std::size_t kSmall = 256;

        std::size_t place_of(double symbol, bool add) {
            const bool small = symbol >= 0.0 && symbol < static_cast<double>(kSmall) && symbol == std::floor(symbol);
            std::int32_t* place = small ? &small_[static_cast<std::size_t>(symbol)] : nullptr;
            if (!small) {
                const auto found = places_.find(symbol);
                if (found != places_.end()) return static_cast<std::size_t>(found->second);
            } else if (*place >= 0) {
                return static_cast<std::size_t>(*place);
            }
            if (!add) return 0;
            const std::size_t next = masks_.size() / words_;
            masks_.resize(masks_.size() + words_, 0);
            if (small) {
                *place = static_cast<std::int32_t>(next);
            } else {
                places_.emplace(symbol, static_cast<std::int32_t>(next));
            }
            return next;
        }

        /// One symbol further; returns what it adds to the distance of the whole of x.
        int column(const std::uint64_t* mask) noexcept {
            const std::uint64_t last = std::uint64_t{1} << ((length_ - 1) % 64);
            std::uint64_t carry_plus = 1, carry_minus = 0;
            int change = 0;
            for (std::size_t w = 0; w < words_; ++w) {
                const std::uint64_t plus = plus_[w], minus = minus_[w];
                const std::uint64_t match = mask[w] | carry_minus;
                const std::uint64_t diagonal = ((((mask[w] | carry_minus) & plus) + plus) ^ plus) | match | minus;
                std::uint64_t right_plus = minus | ~(diagonal | plus);
                std::uint64_t right_minus = diagonal & plus;
                if (w + 1 == words_) change = (right_plus & last) != 0 ? 1 : (right_minus & last) != 0 ? -1 : 0;
                const std::uint64_t next_plus = right_plus >> 63, next_minus = right_minus >> 63;
                right_plus = right_plus << 1 | carry_plus;
                right_minus = right_minus << 1 | carry_minus;
                plus_[w] = right_minus | ~(diagonal | right_plus);
                minus_[w] = right_plus & diagonal;
                carry_plus = next_plus;
                carry_minus = next_minus;
            }
            return change;
        }

        std::size_t length_ = 0, words_ = 0;
        std::vector<std::uint64_t> masks_, plus_, minus_;
        std::int32_t small_[kSmall];
        std::unordered_map<double, std::int32_t> places_;
    };
};

}  // namespace

std::unique_ptr<Space> make_edit_space() {
    return std::make_unique<PairSpace<Edit>>(Edit(), 0);
}

}  // namespace anystream::neighbors
