#include "anystream/neighbors/matrix_space.hpp"

#include "anystream/neighbors/pair_space.hpp"

namespace anystream::neighbors {

namespace {

/// A row holds the number of the record.
class Lookup {
  public:
    static constexpr std::size_t kStride = 64;
    static constexpr bool kTriangle = false;

    Lookup(std::span<const double> distances, std::size_t size) : distances_(distances), size_(size) {}
    [[nodiscard]] std::size_t traits(std::size_t) const noexcept { return 0; }
    void trait(Row, double*) const noexcept {}
    [[nodiscard]] double distance(double power) const noexcept { return power; }
    void require(Row, std::size_t) const {}

    class Prepared {
      public:
        void open(const Lookup& lookup, Row x) {
            row_ = lookup.distances_.subspan(static_cast<std::size_t>(x[0]) * lookup.size_, lookup.size_);
        }
        double power(const Lookup&, Row e, const double*, double) const noexcept {
            return row_[static_cast<std::size_t>(e[0])];
        }

      private:
        std::span<const double> row_;
    };

  private:
    std::span<const double> distances_;
    std::size_t size_;
};

}  // namespace

std::unique_ptr<Space> make_matrix_space(std::span<const double> distances, std::size_t size) {
    auto space = std::make_unique<PairSpace<Lookup>>(Lookup(distances, size), 1);
    for (std::size_t i = 0; i < size; ++i) {
        const auto number = static_cast<double>(i);
        space->append({&number, 1});
    }
    return space;
}

}  // namespace anystream::neighbors
