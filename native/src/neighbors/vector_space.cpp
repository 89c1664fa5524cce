#include "anystream/neighbors/vector_space.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace anystream::neighbors {

namespace {

class VectorSpace final : public Space {
  public:
    explicit VectorSpace(BlockStore store) : store_(std::move(store)) {}

    [[nodiscard]] const BlockStore& store() const noexcept { return store_; }
    [[nodiscard]] std::size_t size() const noexcept override { return store_.size(); }
    [[nodiscard]] std::size_t width() const noexcept override { return store_.dimensions(); }
    [[nodiscard]] Row row(std::size_t i) const noexcept override { return store_.row(i); }
    [[nodiscard]] double distance(double power) const noexcept override {
        return distance_of_power(store_.norm(), power);
    }
    [[nodiscard]] bool triangle(bool complete) const noexcept override { return complete && !store_.missing(); }
    [[nodiscard]] std::size_t stride() const noexcept override {
        return std::max<std::size_t>(1, 256 / store_.dimensions()) * kBlockLanes;
    }
    [[nodiscard]] std::unique_ptr<Probe> probe() const override;

    [[nodiscard]] bool appends_in_place(const Records& records) const noexcept override {
        return store_.appends_in_place(records.values);
    }
    void reserve(std::size_t records) override { store_.reserve(records); }
    void append(Row row) override { store_.append(row.data()); }
    void swap(std::size_t i, std::size_t j) override { store_.swap(i, j); }
    void swap_remove(std::size_t i) override { store_.swap_remove(i); }
    void add_features(std::size_t width) override {
        if (store_.norm() == Norm::mixed)
            throw std::invalid_argument("records with categories cannot grow new features; fit a new model");
        store_.add_features(width);
    }
    [[nodiscard]] std::unique_ptr<Space> clone() const override { return make_vector_space(store_); }
    [[nodiscard]] std::unique_ptr<Space> permuted(std::span<const std::int64_t> order) const override {
        return make_vector_space(store_.permuted(order));
    }
    [[nodiscard]] std::unique_ptr<Space> empty_copy() const override { return make_vector_space(store_.empty_copy()); }
    [[nodiscard]] NamedColumns columns() override { return store_.columns(); }
    void adopt_columns() override { store_.adopt_columns(); }
    void all_nearest(std::size_t k, std::span<const std::int64_t> ids, int threads, std::span<std::int64_t> position,
                     std::span<double> power, std::atomic<std::int64_t>* done, const StopFlag* stop) const override {
        anystream::all_nearest(store_, k, ids, threads, position, power, done, stop);
    }
    void require(Row row) const override {
        if (row.size() != width())
            throw std::invalid_argument("records have " + std::to_string(row.size()) + " features, fit saw " +
                                        std::to_string(width()) + "; pass the same columns");
        for (const double value : row)
            if (std::isinf(value))
                throw std::invalid_argument("a record holds an infinite value; use NaN for a missing one");
    }

  private:
    BlockStore store_;
};

class VectorProbe final : public Probe {
  public:
    void open(const Space& space, Row x) override { scan_.open(store(space), x.data()); }
    void nearest(const Space& space, std::size_t first, std::size_t last, std::span<const std::int64_t> ids,
                 NearestSet& best, std::size_t skip) override {
        scan_.nearest(store(space), first, last, ids, best, skip);
    }
    void powers(const Space& space, std::size_t first, std::size_t last, std::span<double> out) override {
        scan_.powers(store(space), first, last, out);
    }

    void rough_powers(const Space& space, std::span<float> out) override {
        scan_.rough_powers(store(space), out);
        if (!store(space).missing()) return;
        for (float& power : out)
            if (std::isnan(power)) power = std::numeric_limits<float>::infinity();
    }

  private:
    static const BlockStore& store(const Space& space) { return static_cast<const VectorSpace&>(space).store(); }
    Scan scan_;
};

std::unique_ptr<Probe> VectorSpace::probe() const {
    return std::make_unique<VectorProbe>();
}

}  // namespace

std::unique_ptr<Space> make_vector_space(BlockStore store) {
    return std::make_unique<VectorSpace>(std::move(store));
}

}  // namespace anystream::neighbors
