#include "anystream/scan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "anystream/damaged_model.hpp"
#include "anystream/growth.hpp"
#include "anystream/parallel.hpp"
#include "isa/scan_kernels.hpp"

namespace anystream {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kEmptyLane = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kEmptyPair = 0x7f807f80;
constexpr double kUnit = 0x1p-24;      // half the distance from 1 to the next float
constexpr double kMaxScaled = 0x1p40;  // larger scaled values require another origin and scale
constexpr std::size_t kGroup = 64;     // queries that share the blocks in the cache
constexpr std::size_t kTileBytes = 1 << 17;

// The effect of rounding on a distance. Let N be the norm, x and e the exact vectors in scaled units, e' what the block
// holds of e. Turning x to float32 and subtracting puts dimension j off by at most 2 kUnit (|x_j| + |e'_j|) + |e_j -
// e'_j|, so the distance by at most 2 kUnit N(x), which is the slack of the query, and 2 kUnit N(e') + N(e - e'), that
// of the block; summing d terms adds a factor.
double slack_of_norm(double norm, std::size_t dimensions) noexcept {
    return 2.1 * kUnit * norm + static_cast<double>(dimensions) * 0x1p-60;  // the last: squares that underflow
}

double rounding_factor(std::size_t dimensions) noexcept {
    return 1.0 + 1.05 * static_cast<double>(dimensions + 16) * kUnit;
}

/// The norm over the dimensions that are present.
template <typename Value>
double norm_of(Norm norm, std::size_t categorical, std::size_t dimensions, Value&& at) noexcept {
    double sum = 0.0;
    for (std::size_t j = norm == Norm::mixed ? categorical : 0; j < dimensions; ++j) {
        const double value = at(j);
        if (std::isnan(value)) continue;
        if (norm == Norm::euclidean) {
            sum += value * value;
        } else if (norm == Norm::chebyshev) {
            sum = std::max(sum, std::abs(value));
        } else {
            sum += std::abs(value);
        }
    }
    return norm == Norm::euclidean ? std::sqrt(sum) : sum;
}

/// The bfloat16 nearest to a value, in the lower half.
std::uint32_t half_of(double value) noexcept {
    if (std::isnan(value)) return 0x7fc0;
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// The same for a category: equal categories stay equal, and none becomes infinite.
std::uint32_t half_of_category(double value) noexcept {
    return half_of(std::isnan(value) ? value : std::clamp(value, -0x1p126, 0x1p126));
}

float whole_of(std::uint32_t half) noexcept {
    return std::bit_cast<float>(half << 16);
}

bool any_missing(std::span<const double> values) noexcept {
    return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

template <Norm kNorm>
double term(double x, double e, [[maybe_unused]] bool categorical) noexcept {
    const double difference = x - e;
    if constexpr (kNorm == Norm::euclidean) return difference * difference;
    if constexpr (kNorm == Norm::mixed) {
        if (categorical) return difference != 0.0 ? 1.0 : 0.0;
    }
    return std::abs(difference);
}

template <Norm kNorm>
double joined(double a, double b) noexcept {
    return kNorm == Norm::chebyshev ? std::max(a, b) : a + b;
}

/// Four sums, which the compiler turns into lanes; their order never changes.
template <Norm kNorm>
double plain_power(const double* x, const double* e, std::size_t d, std::size_t categorical, double bound) noexcept {
    constexpr std::size_t kLook = 32;
    double sum[4] = {};
    std::size_t j = 0;
    while (j + 4 <= d) {
        for (const std::size_t end = std::min(j + kLook, d / 4 * 4); j < end; j += 4)
            for (std::size_t s = 0; s < 4; ++s)
                sum[s] = joined<kNorm>(sum[s], term<kNorm>(x[j + s], e[j + s], j + s < categorical));
        if (joined<kNorm>(joined<kNorm>(sum[0], sum[1]), joined<kNorm>(sum[2], sum[3])) > bound) return kInfinity;
    }
    for (std::size_t s = 0; j < d; ++j, ++s) sum[s] = joined<kNorm>(sum[s], term<kNorm>(x[j], e[j], j < categorical));
    return joined<kNorm>(joined<kNorm>(sum[0], sum[1]), joined<kNorm>(sum[2], sum[3]));
}

template <Norm kNorm>
double power_of_present(const double* x, const double* e, std::size_t d, std::size_t categorical) noexcept {
    double sum = 0.0;
    std::size_t present = 0;
    for (std::size_t j = 0; j < d; ++j) {
        if (std::isnan(x[j]) || std::isnan(e[j])) continue;
        sum = joined<kNorm>(sum, term<kNorm>(x[j], e[j], j < categorical));
        ++present;
    }
    if (present == 0) return kInfinity;
    return kNorm == Norm::chebyshev ? sum : sum * (static_cast<double>(d) / static_cast<double>(present));
}

/// The norm over the dimensions that are present, of values that come one after another.
template <Norm kNorm>
class LaneNorm {
  public:
    void add(double value) noexcept {
        const double size = std::isnan(value) ? 0.0 : kNorm == Norm::euclidean ? value * value : std::abs(value);
        sum_ = kNorm == Norm::chebyshev ? std::max(sum_, size) : sum_ + size;
    }
    [[nodiscard]] double value() const noexcept { return kNorm == Norm::euclidean ? std::sqrt(sum_) : sum_; }

  private:
    double sum_ = 0.0;
};

/// Calls body with the norm as a constant.
template <typename Body>
auto with_norm(Norm norm, Body&& body) {
    switch (norm) {
        case Norm::manhattan:
            return body.template operator()<Norm::manhattan>();
        case Norm::chebyshev:
            return body.template operator()<Norm::chebyshev>();
        case Norm::mixed:
            return body.template operator()<Norm::mixed>();
        default:
            return body.template operator()<Norm::euclidean>();
    }
}

double plain(const BlockStore& store, const double* x, const double* e, bool missing, double bound) noexcept {
    return with_norm(store.norm(), [&]<Norm kNorm>() {
        return missing ? power_of_present<kNorm>(x, e, store.dimensions(), store.categorical())
                       : plain_power<kNorm>(x, e, store.dimensions(), store.categorical(), bound);
    });
}

/// Whether the frame of the first rows should be chosen again. One of many rows stays: writing all rows takes long.
bool outgrown(std::size_t framed_size, std::size_t size) noexcept {
    constexpr std::size_t kEnough = 4096;
    return framed_size < kEnough && size >= 2 * framed_size;
}

}  // namespace

double distance_of_power(Norm norm, double power) noexcept {
    return norm == Norm::euclidean ? std::sqrt(power) : power;
}

// -- the store
// ---------------------------------------------------------------------------------------------------------

BlockStore::BlockStore(std::size_t dimensions, Norm norm, std::size_t categorical)
    : dimensions_(dimensions),
      norm_(norm),
      categorical_(categorical),
      origin_(std::vector<double>(dimensions, 0.0)),
      scale_(std::vector<double>{1.0}),
      missing_(std::vector<std::uint8_t>{0}) {}

double BlockStore::power(std::size_t i, const double* x, double bound) const noexcept {
    return plain(*this, x, row(i).data(), missing() || any_missing({x, dimensions_}), bound);
}

/// Origin and scale such that the values are small: the nearer to 0, the finer the blocks are. Categories stay as they
/// are, and with them the scale of a mixed store.
void BlockStore::choose_frame() {
    framed_size_ = size_;
    if (size_ == 0) return;
    sums_.assign(2 * dimensions_, 0.0);
    const std::span sum(sums_.data(), dimensions_), present(sums_.data() + dimensions_, dimensions_);
    for (std::size_t i = 0; i < size_; ++i) {
        const double* const values = row(i).data();
        for (std::size_t j = categorical_; j < dimensions_; ++j) {  // without branches: dimension by dimension in lanes
            sum[j] += std::isnan(values[j]) ? 0.0 : values[j];
            present[j] += std::isnan(values[j]) ? 0.0 : 1.0;
        }
    }
    for (std::size_t j = 0; j < dimensions_; ++j) sum[j] = present[j] > 0.0 ? sum[j] / present[j] : 0.0;
    origin_.own().assign(sum.begin(), sum.end());
    if (norm_ == Norm::mixed) return;
    const std::span farthest = present;
    std::fill(farthest.begin(), farthest.end(), 0.0);
    for (std::size_t i = 0; i < size_; ++i) {
        const double* const values = row(i).data();
        for (std::size_t j = 0; j < dimensions_; ++j) {
            const double distance = std::abs(values[j] - sum[j]);
            farthest[j] = distance > farthest[j] ? distance : farthest[j];  // a missing value is not farther
        }
    }
    const double largest = *std::max_element(farthest.begin(), farthest.end());
    int exponent = 0;
    if (largest > 0.0) std::frexp(largest, &exponent);
    scale_.own()[0] = std::ldexp(1.0, std::clamp(1 - exponent, -1000, 1000));
}

void BlockStore::resize_blocks() {
    const std::size_t blocks = (size_ + kBlockLanes - 1) / kBlockLanes;
    blocks_.own().resize(blocks * pairs() * kBlockLanes, kEmptyPair);
    slack_.own().resize(blocks, 0.0f);
}

void BlockStore::write_lane(std::size_t i) {
    std::uint32_t* const to = lane(i);
    const double* const values = row(i).data();
    const double* const origin = origin_.data();
    const double scale = scale_[0];
    std::uint32_t lower = 0;
    const auto write = [&](std::size_t j, std::uint32_t half) {
        to[j / 2 * kBlockLanes] = j % 2 == 0 ? lower = half : lower | half << 16;
    };
    for (std::size_t j = 0; j < categorical_; ++j) write(j, half_of_category(values[j]));
    const double slack = with_norm(norm_, [&]<Norm kNorm>() {
        LaneNorm<kNorm> norm, off;  // of what the lane holds, and of what it is off by
        for (std::size_t j = categorical_; j < dimensions_; ++j) {
            const double exact = (values[j] - origin[j]) * scale;
            const std::uint32_t half = half_of(exact);
            write(j, half);
            const double held = static_cast<double>(whole_of(half));
            norm.add(held);
            off.add(exact - held);
        }
        return (slack_of_norm(norm.value(), dimensions_) + off.value()) * rounding_factor(dimensions_);
    });
    float& widest = slack_.own()[i / kBlockLanes];
    widest = std::max(widest, std::nextafter(static_cast<float>(slack), kEmptyLane));
    if (any_missing({values, dimensions_})) missing_.own()[0] = 1;
}

void BlockStore::write_all() {
    slack_.own().clear();
    blocks_.own().clear();
    missing_.own()[0] = 0;
    resize_blocks();
    for (std::size_t i = 0; i < size_; ++i) write_lane(i);
}

void BlockStore::assign(std::span<const double> rows) {
    rows_.own().assign(rows.begin(), rows.end());
    size_ = dimensions_ == 0 ? 0 : rows.size() / dimensions_;
    choose_frame();
    write_all();
}

bool BlockStore::outside_frame(const double* row) const noexcept {
    bool outside = false;
    for (std::size_t j = 0; j < dimensions_; ++j) outside |= std::abs(row[j] - origin_[j]) * scale_[0] > kMaxScaled;
    return outside && norm_ != Norm::mixed;
}

bool BlockStore::appends_in_place(std::span<const double> rows) const noexcept {
    if (outgrown(framed_size_, size_ + rows.size() / dimensions_)) return false;
    for (std::size_t at = 0; at < rows.size(); at += dimensions_)
        if (outside_frame(rows.data() + at)) return false;
    return true;
}

void BlockStore::reserve(std::size_t rows) {
    const std::size_t blocks = (size_ + rows + kBlockLanes - 1) / kBlockLanes;
    reserve_doubling(rows_.own(), (size_ + rows) * dimensions_);
    reserve_doubling(blocks_.own(), blocks * pairs() * kBlockLanes);
    reserve_doubling(slack_.own(), blocks);
    static_cast<void>(missing_.own());
    static_cast<void>(origin_.own());
    static_cast<void>(scale_.own());
    sums_.reserve(2 * dimensions_);
}

void BlockStore::append(const double* row) {
    auto& rows = rows_.own();
    rows.append(row, row + dimensions_);
    ++size_;
    if (outgrown(framed_size_, size_) || outside_frame(row)) {
        choose_frame();
        write_all();
        return;
    }
    resize_blocks();
    write_lane(size_ - 1);
}

void BlockStore::swap(std::size_t i, std::size_t j) {
    if (i == j) return;
    double* const rows = rows_.own().data();
    std::swap_ranges(rows + i * dimensions_, rows + (i + 1) * dimensions_, rows + j * dimensions_);
    write_lane(i);
    write_lane(j);
}

void BlockStore::swap_remove(std::size_t i) {
    const std::size_t last = size_ - 1;
    auto& rows = rows_.own();
    if (i != last) {
        std::copy_n(rows.data() + last * dimensions_, dimensions_, rows.data() + i * dimensions_);
        write_lane(i);
    }
    rows.resize(last * dimensions_);
    for (std::size_t p = 0; p < pairs(); ++p) lane(last)[p * kBlockLanes] = kEmptyPair;
    size_ = last;
    resize_blocks();
}

BlockStore BlockStore::permuted(std::span<const std::int64_t> order) const {
    std::vector<double> rows;
    rows.reserve(order.size() * dimensions_);
    for (const std::int64_t i : order) {
        const auto values = row(static_cast<std::size_t>(i));
        rows.insert(rows.end(), values.begin(), values.end());
    }
    BlockStore other(dimensions_, norm_, categorical_);
    other.assign(rows);
    return other;
}

BlockStore BlockStore::empty_copy() const {
    BlockStore other(dimensions_, norm_, categorical_);
    other.origin_ = origin_;
    other.scale_ = scale_;
    other.framed_size_ = std::max(framed_size_, size_);
    return other;
}

void BlockStore::add_features(std::size_t dimensions) {
    std::vector<double> rows(size_ * dimensions, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < size_; ++i) std::copy_n(row(i).data(), dimensions_, rows.data() + i * dimensions);
    BlockStore other(dimensions, norm_, categorical_);
    other.assign(rows);
    *this = std::move(other);
}

void BlockStore::adopt_columns() {
    const auto require = [](bool holds, const char* fault) { require_intact(holds, "the vectors", fault); };
    require(dimensions_ > 0 && rows_.size() % dimensions_ == 0,
            "the number of values is not a multiple of the dimensions");
    size_ = framed_size_ = rows_.size() / dimensions_;
    const std::size_t blocks = (size_ + kBlockLanes - 1) / kBlockLanes;
    require(blocks_.size() == blocks * pairs() * kBlockLanes, "the blocks do not match the rows");
    require(slack_.size() == blocks, "the slack does not match the blocks");
    require(origin_.size() == dimensions_, "the origin does not match the dimensions");
    require(scale_.size() == 1 && missing_.size() == 1, "scale or missing is not one value");
}

// -- a query
// -----------------------------------------------------------------------------------------------------------

void Scan::open(const BlockStore& store, const double* x) {
    const std::size_t d = store.dimensions();
    x_.assign(x, x + d);
    narrow_.resize(d);
    for (std::size_t j = 0; j < d; ++j)
        narrow_[j] =
            j < store.categorical() ? whole_of(half_of_category(x[j])) : static_cast<float>(store.scaled(x[j], j));
    missing_ = store.missing() || any_missing(x_);
    slack_ = slack_of_norm(
        norm_of(store.norm(), store.categorical(), d, [&](std::size_t j) { return static_cast<double>(narrow_[j]); }),
        d);
}

/// The distance in scaled units up to which a lane must be compared, without the block's own slack. Where values are
/// missing the kernel takes a share of the bound, 1 / dimensions at least: the slack must survive that.
float Scan::narrow_bound(const BlockStore& store, double power) const noexcept {
    if (power == kInfinity) return kEmptyLane;
    const double slack = missing_ ? slack_ * static_cast<double>(store.dimensions()) : slack_;
    const double distance = distance_of_power(store.norm(), power) * store.scale_[0];
    return static_cast<float>((distance + slack) * rounding_factor(store.dimensions()));
}

void Scan::nearest(const BlockStore& store, std::size_t first, std::size_t last, std::span<const std::int64_t> ids,
                   NearestSet& best, std::size_t skip) const {
    if (first >= last) return;
    const auto norm = static_cast<std::size_t>(store.norm());
    const auto next = missing_ ? scan_kernels().next_masked[norm] : scan_kernels().next[norm];
    const ScanBlocks blocks{store.blocks_.data(), store.slack_.data(), store.dimensions(), store.categorical()};
    const std::size_t end = (last + kBlockLanes - 1) / kBlockLanes;
    float bound = narrow_bound(store, best.bound());
    for (std::size_t b = first / kBlockLanes; b < end; ++b) {
        unsigned lanes = 0;
        b = next(blocks, narrow_.data(), b, end, bound, &lanes);
        if (b == end) return;
        for (; lanes != 0; lanes &= lanes - 1) {
            const std::size_t i = b * kBlockLanes + static_cast<std::size_t>(std::countr_zero(lanes));
            if (i < first || i >= last || i == skip) continue;
            const double power = plain(store, x_.data(), store.row(i).data(), missing_, best.bound());
            best.offer({power, ids.empty() ? static_cast<std::int64_t>(i) : ids[i], static_cast<std::int64_t>(i)});
        }
        bound = narrow_bound(store, best.bound());
    }
}

void Scan::powers(const BlockStore& store, std::size_t first, std::size_t last, std::span<double> out) const {
    for (std::size_t i = first; i < last; ++i)
        out[i - first] = plain(store, x_.data(), store.row(i).data(), missing_, kInfinity);
}

void Scan::rough_powers(const BlockStore& store, std::span<float> out) const {
    const auto norm = static_cast<std::size_t>(store.norm());
    const ScanBlocks blocks{store.blocks_.data(), store.slack_.data(), store.dimensions(), store.categorical()};
    (missing_ ? scan_kernels().powers_masked : scan_kernels().powers)[norm](blocks, narrow_.data(), 0,
                                                                            store.slack_.size(), out.data());
}

// -- all with all
// ------------------------------------------------------------------------------------------------------

namespace {

void write_found(const NearestSet& best, std::size_t i, std::span<std::int64_t> position, std::span<double> power) {
    const std::size_t k = best.k();
    const auto found = best.found();
    for (std::size_t r = 0; r < k; ++r) {
        position[i * k + r] = r < found.size() ? found[r].position : -1;
        power[i * k + r] = r < found.size() ? found[r].power : kInfinity;
    }
}

}  // namespace

void all_nearest(const BlockStore& store, std::size_t k, std::span<const std::int64_t> ids, int threads,
                 std::span<std::int64_t> out_position, std::span<double> out_power, std::atomic<std::int64_t>* done,
                 const StopFlag* stop) {
    const std::size_t n = store.size(), d = store.dimensions();
    const std::size_t n_blocks = (n + kBlockLanes - 1) / kBlockLanes;
    const std::size_t tile =
        std::max<std::size_t>(1, kTileBytes / (sizeof(std::uint32_t) * kBlockLanes * store.pairs()));
    const ScanBlocks blocks{store.blocks_.data(), store.slack_.data(), d, store.categorical()};
    const auto next = scan_kernels().next_of_four[static_cast<std::size_t>(store.norm())];

    const auto one_by_one = [&](std::size_t first, std::size_t last) {
        Scan scan;
        NearestSet best;
        for (std::size_t i = first; i < last; ++i) {
            scan.open(store, store.row(i).data());
            best.reset(k);
            scan.nearest(store, 0, n, ids, best, i);
            write_found(best, i, out_position, out_power);
        }
    };
    const auto in_tiles = [&](std::size_t first, std::size_t last) {
        const std::size_t size = last - first;
        std::vector<Scan> scans(size);
        std::vector<NearestSet> best(size, NearestSet(k));
        std::vector<float> bounds(kGroup, kEmptyLane);
        for (std::size_t q = 0; q < size; ++q) scans[q].open(store, store.row(first + q).data());
        for (std::size_t begin = 0; begin < n_blocks; begin += tile) {
            const std::size_t end = std::min(n_blocks, begin + tile);
            for (std::size_t four = 0; four < size; four += 4) {
                const float* x[4];
                for (std::size_t q = 0; q < 4; ++q) x[q] = scans[std::min(four + q, size - 1)].narrow_.data();
                for (std::size_t b = begin; b < end; ++b) {
                    unsigned lanes[4];
                    b = next(blocks, x, b, end, bounds.data() + four, lanes);
                    if (b == end) break;
                    for (std::size_t q = four; q < std::min(four + 4, size); ++q) {
                        for (unsigned left = lanes[q - four]; left != 0; left &= left - 1) {
                            const std::size_t i = b * kBlockLanes + static_cast<std::size_t>(std::countr_zero(left));
                            if (i >= n || i == first + q) continue;
                            const double power =
                                plain(store, scans[q].x_.data(), store.row(i).data(), false, best[q].bound());
                            const auto at = static_cast<std::int64_t>(i);
                            best[q].offer({power, ids.empty() ? at : ids[i], at});
                        }
                        bounds[q] = scans[q].narrow_bound(store, best[q].bound());
                    }
                }
            }
        }
        for (std::size_t q = 0; q < size; ++q) write_found(best[q], first + q, out_position, out_power);
    };
    parallel_for(n, kGroup, threads, [&](std::size_t first, std::size_t last) {
        if (stop != nullptr && stop->is_set()) return;
        if (store.missing()) {
            one_by_one(first, last);
        } else {
            in_tiles(first, last);
        }
        if (done != nullptr) done->fetch_add(static_cast<std::int64_t>(last - first), std::memory_order_relaxed);
    });
}

}  // namespace anystream
