// Exemplars under a distance that is computed pair by pair, each comparison abandoned early when it exceeds the bound.
//
//     values  [all rows back to back]      first, length  [exemplar]      traits  [exemplar][traits of the distance]
//
// Moving an exemplar moves its three numbers, never its values. Values of evicted exemplars are dropped when they are
// more than half.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "anystream/damaged_model.hpp"
#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// A Distance offers:
///   static constexpr std::size_t kStride, bool kTriangle, bool kTexts;
///   std::size_t traits(width): numbers kept of each exemplar; void trait(Row row, double* out) computes them;
///   class Prepared { void open(const Distance&, Row x);
///                    double power(const Distance&, Row row, const double* traits, double bound); }  above bound: any
///   double distance(double power); void require(Row row, std::size_t width).
template <typename Distance>
class PairSpace final : public Space {
  public:
    PairSpace(Distance distance, std::size_t width) : distance_(std::move(distance)), width_(width) {}

    [[nodiscard]] std::size_t size() const noexcept override { return first_.size(); }
    [[nodiscard]] std::size_t width() const noexcept override { return width_; }
    [[nodiscard]] Row row(std::size_t i) const noexcept override {
        return {values_.data() + first_[i], static_cast<std::size_t>(length_[i])};
    }
    [[nodiscard]] const double* traits(std::size_t i) const noexcept {
        return traits_.data() + i * distance_.traits(width_);
    }
    [[nodiscard]] const Distance& metric() const noexcept { return distance_; }
    [[nodiscard]] double distance(double power) const noexcept override { return distance_.distance(power); }
    [[nodiscard]] bool triangle(bool) const noexcept override { return Distance::kTriangle; }
    [[nodiscard]] std::size_t stride() const noexcept override { return Distance::kStride; }
    [[nodiscard]] std::unique_ptr<Probe> probe() const override { return std::make_unique<PairProbe>(); }

    void append(Row row) override {
        auto& values = values_.own();
        first_.own().push_back(static_cast<std::int64_t>(values.size()));
        length_.own().push_back(static_cast<std::int64_t>(row.size()));
        values.append(row.begin(), row.end());
        const std::size_t n = distance_.traits(width_);
        traits_.own().resize(traits_.size() + n);
        if (n > 0) distance_.trait(row, traits_.own().data() + traits_.size() - n);
    }
    void swap(std::size_t i, std::size_t j) override {
        if (i == j) return;
        std::swap(first_.own()[i], first_.own()[j]);
        std::swap(length_.own()[i], length_.own()[j]);
        const std::size_t n = distance_.traits(width_);
        double* const all = traits_.own().data();
        std::swap_ranges(all + i * n, all + (i + 1) * n, all + j * n);
    }
    void swap_remove(std::size_t i) override {
        swap(i, size() - 1);
        gone_ += static_cast<std::size_t>(length_.own().back());
        first_.own().pop_back();
        length_.own().pop_back();
        traits_.own().resize(traits_.size() - distance_.traits(width_));
        if (gone_ > 1024 && gone_ * 2 > values_.size()) drop_gone();
    }
    void add_features(std::size_t) override {
        throw std::invalid_argument("series and texts cannot grow new features; fit a new model");
    }
    [[nodiscard]] std::unique_ptr<Space> clone() const override { return std::make_unique<PairSpace>(*this); }
    [[nodiscard]] std::unique_ptr<Space> permuted(std::span<const std::int64_t> order) const override {
        auto other = std::make_unique<PairSpace>(distance_, width_);
        for (const std::int64_t i : order) other->append(row(static_cast<std::size_t>(i)));
        return other;
    }
    [[nodiscard]] NamedColumns columns() override {
        return {{"values", &values_}, {"first", &first_}, {"length", &length_}, {"traits", &traits_}};
    }
    void compact() override {
        if (gone_ > 0) drop_gone();
    }
    void adopt_columns() override {
        const auto require_that = [](bool holds, const char* fault) { require_intact(holds, "the exemplars", fault); };
        require_that(first_.size() == length_.size(), "positions and lengths differ in number");
        require_that(traits_.size() == first_.size() * distance_.traits(width_),
                     "the traits do not match the exemplars");
        const auto all = static_cast<std::int64_t>(values_.size());
        for (std::size_t i = 0; i < size(); ++i) {
            require_that(length_[i] >= 0 && first_[i] >= 0 && first_[i] <= all && length_[i] <= all - first_[i],
                         "a row lies outside the values");
            try {
                require(row(i));
            } catch (const std::invalid_argument& error) { throw DamagedModel(error.what()); }
        }
    }
    void require(Row row) const override { distance_.require(row, width_); }

  private:
    class PairProbe final : public Probe {
      public:
        void open(const Space& space, Row x) override {
            x_.assign(x.begin(), x.end());
            prepared_.open(of(space).metric(), x_);
        }
        void nearest(const Space& space, std::size_t first, std::size_t last, std::span<const std::int64_t> ids,
                     NearestSet& best, std::size_t skip) override {
            const PairSpace& exemplars = of(space);
            for (std::size_t i = first; i < last; ++i) {
                if (i == skip) continue;
                const double bound = best.bound();
                const double power = prepared_.power(exemplars.metric(), exemplars.row(i), exemplars.traits(i), bound);
                const auto at = static_cast<std::int64_t>(i);
                if (power <= bound) best.offer({power, ids.empty() ? at : ids[i], at});
            }
        }
        void powers(const Space& space, std::size_t first, std::size_t last, std::span<double> out) override {
            const PairSpace& exemplars = of(space);
            for (std::size_t i = first; i < last; ++i)
                out[i - first] = prepared_.power(exemplars.metric(), exemplars.row(i), exemplars.traits(i),
                                                 std::numeric_limits<double>::infinity());
        }

        void rough_powers(const Space& space, std::span<float> out) override {
            const PairSpace& exemplars = of(space);
            for (std::size_t i = 0; i < exemplars.size(); ++i)
                out[i] = static_cast<float>(prepared_.power(exemplars.metric(), exemplars.row(i), exemplars.traits(i),
                                                            std::numeric_limits<double>::infinity()));
        }

      private:
        static const PairSpace& of(const Space& space) { return static_cast<const PairSpace&>(space); }
        std::vector<double> x_;
        typename Distance::Prepared prepared_;
    };

    void drop_gone() {
        std::vector<double> values;
        auto& first = first_.own();
        for (std::size_t i = 0; i < size(); ++i) {
            const Row old = row(i);
            first[i] = static_cast<std::int64_t>(values.size());
            values.insert(values.end(), old.begin(), old.end());
        }
        values_.own() = values;
        gone_ = 0;
    }

    Distance distance_;
    std::size_t width_;
    std::size_t gone_ = 0;  // values of evicted exemplars
    Column<double> values_, traits_;
    Column<std::int64_t> first_, length_;
};

}  // namespace anystream::neighbors
