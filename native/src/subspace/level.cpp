#include "anystream/subspace/level.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "anystream/portable_math.hpp"

namespace anystream::subspace {

namespace {

constexpr std::int64_t kCutEvery = 4;      // times as many insertions as there are slots
constexpr std::int64_t kFewSurprises = 8;  // a new value is cut in when an eighth of the points is new

}  // namespace

Level::Level(const LevelShape& shape, std::size_t dimensions, std::size_t classes)
    : shape_(shape),
      dimensions_(dimensions),
      classes_(classes),
      ranges_(dimensions, shape.ranges, shape.categorical),
      lists_(shape.capacity, classes),
      oldest_(classes, -1),
      newest_(classes, -1),
      class_size_(classes, 0),
      new_code_(ranges_.code_stride(), kMissing) {
    constant_.assign(dimensions, std::numeric_limits<float>::quiet_NaN());
    note_single();
    lists_.lay_out(ranges_, classes);
}

double Level::weight(std::size_t list) const {
    // KL(f | pi) with f_c = (q_c + pi_c) / (n_v + 1): the terms of absent classes add up to -ln(n_v + 1).
    const double n_v = lists_.count(list), n = static_cast<double>(size_);
    if (n_v == 0.0) return 0.0;
    const std::uint16_t* q = lists_.class_count(list);
    double divergence = 0.0;
    for (std::size_t c = 0; c < classes_; ++c) {
        if (q[c] == 0) continue;
        const double pi = static_cast<double>(class_size_[c]) / n;
        divergence += (q[c] + pi) / (n_v + 1.0) * portable_log(q[c] / pi + 1.0);
    }
    divergence -= portable_log(n_v + 1.0);
    const double selectivity = 1.0 - n_v / n;
    return std::max(0.0, divergence) * selectivity + 0.01 * selectivity + 1e-6;
}

std::size_t Level::place_for(std::size_t c, const StreamShares& shares) const noexcept {
    if (size_ < shape_.capacity) return size_;
    std::int32_t beyond_share = -1, beyond_floor = -1, any = -1;  // the oldest point of such classes
    const auto note = [&](std::int32_t& oldest, std::int32_t place) {
        const auto arrival = [&](std::int32_t at) { return arrival_[static_cast<std::size_t>(at)]; };
        if (oldest < 0 || arrival(place) < arrival(oldest)) oldest = place;
    };
    for (std::size_t other = 0; other < classes_; ++other) {
        if (oldest_[other] < 0) continue;
        const std::size_t size = class_size_[other];
        if (size <= shape_.floor) {
            note(any, oldest_[other]);
        } else if (shares.exceeded(other, size + (other == c), shape_.capacity)) {
            note(beyond_share, oldest_[other]);
        } else {
            note(beyond_floor, oldest_[other]);
        }
    }
    return static_cast<std::size_t>(beyond_share >= 0 ? beyond_share : beyond_floor >= 0 ? beyond_floor : any);
}

void Level::unlink_oldest(std::size_t c) noexcept {
    const auto place = static_cast<std::size_t>(oldest_[c]);
    oldest_[c] = next_[place];
    if (oldest_[c] < 0) newest_[c] = -1;
    --class_size_[c];
}

void Level::link_newest(std::size_t place, std::size_t c) noexcept {
    const auto number = static_cast<std::int32_t>(place);
    next_[place] = -1;
    if (newest_[c] >= 0) next_[static_cast<std::size_t>(newest_[c])] = number;
    newest_[c] = number;
    if (oldest_[c] < 0) oldest_[c] = number;
    ++class_size_[c];
}

void Level::insert(const float* x, std::int32_t point_class, std::int64_t arrival, const StreamShares& shares) {
    const auto c = static_cast<std::size_t>(point_class);
    const std::size_t place = place_for(c, shares), stride = ranges_.code_stride();
    lists_.weights.clear();
    ranges_.encode(x, new_code_.data());
    if (place == size_) {
        ++size_;
        if (size_ * stride > codes_.capacity()) {  // doubling, but never more than a full level needs
            const std::size_t capacity = std::min(shape_.capacity, std::bit_ceil(size_));
            values_.reserve(capacity * dimensions_);
            codes_.reserve(capacity * stride);
        }
        values_.resize(size_ * dimensions_);
        codes_.resize(size_ * stride);
        point_class_.push_back(point_class);
        arrival_.push_back(arrival);
        next_.push_back(-1);
        lists_.add(place, new_code_.data(), point_class);
    } else {
        const std::int32_t old_class = point_class_[place];
        unlink_oldest(static_cast<std::size_t>(old_class));
        lists_.replace(place, codes_.data() + place * stride, old_class, new_code_.data(), point_class);
        point_class_[place] = point_class;
        arrival_[place] = arrival;
    }
    std::copy(new_code_.begin(), new_code_.end(), codes_.begin() + static_cast<std::ptrdiff_t>(place * stride));
    std::copy_n(x, dimensions_, values_.begin() + static_cast<std::ptrdiff_t>(place * dimensions_));
    link_newest(place, c);
    for (const std::uint32_t j : single_) surprised_ = surprised_ || (x[j] == x[j] && x[j] != constant_[j]);
    ++since_cut_;
    if (is_due()) cut_again();
}

bool Level::is_due() const noexcept {
    const auto size = static_cast<std::int64_t>(size_), capacity = static_cast<std::int64_t>(shape_.capacity);
    return size >= 2 * std::max<std::int64_t>(size_at_cut_, 1) || since_cut_ >= kCutEvery * capacity ||
           (surprised_ && since_cut_ * kFewSurprises >= size);
}

/// Which dimensions have one range.
void Level::note_single() {
    single_.clear();
    for (std::size_t j = 0; j < dimensions_; ++j)
        if (ranges_.ranges(j) == 1) single_.push_back(static_cast<std::uint32_t>(j));
}

void Level::cut_again() {
    ranges_.fit(values_);
    note_single();
    std::fill(constant_.begin(), constant_.end(), std::numeric_limits<float>::quiet_NaN());
    for (const std::uint32_t j : single_)
        for (std::size_t p = 0; p < size_ && constant_[j] != constant_[j]; ++p)
            constant_[j] = values_[p * dimensions_ + j];
    surprised_ = false;
    since_cut_ = 0;
    size_at_cut_ = static_cast<std::int64_t>(size_);
    rebuild_lists();
}

void Level::rebuild_lists() {
    const std::size_t stride = ranges_.code_stride();
    codes_.assign(size_ * stride, kMissing);
    std::vector<float> row(ranges_.float_stride(), std::numeric_limits<float>::quiet_NaN());
    lists_.lay_out(ranges_, classes_);
    for (std::size_t p = 0; p < size_; ++p) {
        std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(p * dimensions_), dimensions_, row.begin());
        ranges_.encode(row.data(), codes_.data() + p * stride);
        lists_.add(p, codes_.data() + p * stride, point_class_[p]);
    }
}

void Level::declare_classes(std::size_t classes) {
    if (classes <= classes_) return;
    classes_ = classes;
    oldest_.resize(classes, -1);
    newest_.resize(classes, -1);
    class_size_.resize(classes, 0);
    if (!lists_.has_room_for(classes)) rebuild_lists();
}

void Level::add_features(std::size_t dimensions, std::vector<std::uint32_t> categorical) {
    shape_.categorical = std::move(categorical);
    Ranges wider(dimensions, shape_.ranges, shape_.categorical);
    for (std::size_t j = 0; j < dimensions_; ++j) wider.set(j, ranges_.cuts(j));
    std::vector<float> values(size_ * dimensions, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t p = 0; p < size_; ++p)
        std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(p * dimensions_), dimensions_,
                    values.begin() + static_cast<std::ptrdiff_t>(p * dimensions));
    values_ = std::move(values);
    dimensions_ = dimensions;
    ranges_ = std::move(wider);
    constant_.resize(dimensions, std::numeric_limits<float>::quiet_NaN());
    note_single();
    new_code_.assign(ranges_.code_stride(), kMissing);
    rebuild_lists();
}

void Level::restore(const Memory& memory, Ranges ranges) {
    size_ = memory.point_class.size();
    values_.assign(memory.values.begin(), memory.values.end());
    point_class_.assign(memory.point_class.begin(), memory.point_class.end());
    arrival_.assign(memory.arrival.begin(), memory.arrival.end());
    constant_.assign(memory.constants.begin(), memory.constants.end());
    ranges_ = std::move(ranges);
    since_cut_ = memory.since_cut;
    size_at_cut_ = memory.size_at_cut;
    surprised_ = memory.surprised;
    note_single();
    next_.assign(size_, -1);
    std::fill(oldest_.begin(), oldest_.end(), -1);
    std::fill(newest_.begin(), newest_.end(), -1);
    std::fill(class_size_.begin(), class_size_.end(), 0U);
    std::vector<std::size_t> order(size_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return arrival_[a] < arrival_[b]; });
    for (const std::size_t place : order) link_newest(place, static_cast<std::size_t>(point_class_[place]));
    rebuild_lists();
}

std::size_t Level::own_bytes() const noexcept {
    return ranges_.own_bytes() + lists_.own_bytes() + values_.capacity() * sizeof(float) + codes_.capacity() +
           point_class_.capacity() * sizeof(std::int32_t) + arrival_.capacity() * sizeof(std::int64_t) +
           next_.capacity() * sizeof(std::int32_t) + class_size_.capacity() * 3 * sizeof(std::int32_t) +
           new_code_.capacity() + (constant_.capacity() + single_.capacity()) * sizeof(float);
}

std::size_t Level::max_bytes(const LevelShape& shape, std::size_t dimensions, std::size_t classes) {
    const std::size_t words = (shape.capacity + 63) / 64;
    const std::size_t stride = std::bit_ceil(std::max<std::size_t>(classes, 4));
    const std::size_t numeric = dimensions - shape.categorical.size();
    const std::size_t lists = numeric * shape.ranges + shape.categorical.size() * kMaxRanges;
    const std::size_t per_list = words * 8 + (1 + stride) * 2 + 4;
    const std::size_t per_point = dimensions * 4 + round_up(dimensions, kCodeBlock) + 16;
    return lists * per_list + stride * words * 8 + shape.capacity * per_point +
           shape.ranges * round_up(dimensions, kLimitBlock) * 4 + dimensions * 18 + stride * 12;
}

}  // namespace anystream::subspace
