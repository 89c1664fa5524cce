#include "anystream/subspace/level.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "anystream/growth.hpp"
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
      constant_(dimensions, std::numeric_limits<float>::quiet_NaN()),
      ranges_(dimensions, shape.ranges, shape.categorical),
      lists_(shape.capacity, 0, true),
      slot_of_(classes, -1),
      new_code_(ranges_.code_stride(), kMissing) {
    single_ = single_ranges(ranges_);
    lists_.lay_out(ranges_);
}

double Level::weight(std::size_t list) const {
    // KL(f | pi) with f_c = (q_c + pi_c) / (n_v + 1): the terms of absent classes add up to -ln(n_v + 1).
    const double n_v = lists_.count(list), n = static_cast<double>(size_);
    if (n_v == 0.0) return 0.0;
    const std::uint16_t* of_slot = lists_.class_count(list);
    double divergence = 0.0;
    for (const std::int32_t c : present_) {
        const std::uint16_t q = of_slot[slot(c)];
        if (q == 0) continue;
        const double pi = static_cast<double>(class_size_[slot(c)]) / n;
        divergence += (q + pi) / (n_v + 1.0) * portable_log(q / pi + 1.0);
    }
    divergence -= portable_log(n_v + 1.0);
    const double selectivity = 1.0 - n_v / n;
    return std::max(0.0, divergence) * selectivity + 0.01 * selectivity + 1e-6;
}

std::size_t Level::place_for(std::int32_t point_class, const StreamShares& shares) const noexcept {
    if (size_ < shape_.capacity) return size_;
    std::int32_t beyond_share = -1, beyond_floor = -1, any = -1;  // the oldest point of such classes
    const auto note = [&](std::int32_t& oldest, std::int32_t place) {
        const auto arrival = [&](std::int32_t at) { return arrival_[static_cast<std::size_t>(at)]; };
        if (oldest < 0 || arrival(place) < arrival(oldest)) oldest = place;
    };
    for (const std::int32_t other : present_) {
        const std::size_t size = class_size_[slot(other)];
        const std::int32_t oldest = oldest_[slot(other)];
        if (size <= shape_.floor) {
            note(any, oldest);
        } else if (shares.exceeded(static_cast<std::size_t>(other), size + (other == point_class), shape_.capacity)) {
            note(beyond_share, oldest);
        } else {
            note(beyond_floor, oldest);
        }
    }
    return static_cast<std::size_t>(beyond_share >= 0 ? beyond_share : beyond_floor >= 0 ? beyond_floor : any);
}

/// The slot of a class, which gets one if it has none.
std::size_t Level::take_slot(std::int32_t c) {
    std::int32_t& slot = slot_of_[static_cast<std::size_t>(c)];
    if (slot >= 0) return static_cast<std::size_t>(slot);
    if (free_.empty()) {
        slot = static_cast<std::int32_t>(oldest_.size());
        oldest_.push_back(-1);
        newest_.push_back(-1);
        class_size_.push_back(0);
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    present_.insert(std::lower_bound(present_.begin(), present_.end(), c), c);
    return static_cast<std::size_t>(slot);
}

void Level::unlink_oldest(std::int32_t c) {
    const std::size_t slot = this->slot(c);
    const auto place = static_cast<std::size_t>(oldest_[slot]);
    oldest_[slot] = next_[place];
    if (--class_size_[slot] > 0) return;
    newest_[slot] = -1;
    slot_of_[static_cast<std::size_t>(c)] = -1;
    present_.erase(std::lower_bound(present_.begin(), present_.end(), c));
    free_.push_back(static_cast<std::int32_t>(slot));
}

void Level::link_newest(std::size_t place, std::int32_t c) {
    const auto number = static_cast<std::int32_t>(place);
    const std::size_t slot = take_slot(c);
    next_[place] = -1;
    if (newest_[slot] >= 0) next_[static_cast<std::size_t>(newest_[slot])] = number;
    newest_[slot] = number;
    if (oldest_[slot] < 0) oldest_[slot] = number;
    ++class_size_[slot];
}

void Level::reserve(std::size_t points, std::size_t point_classes, std::size_t classes) {
    const std::size_t max = shape_.capacity;
    const auto grow = [&](auto& values, std::size_t n, std::size_t each) {  // doubling, up to a full level
        if (values.capacity() < n * each) values.reserve(std::min(max, std::bit_ceil(n)) * each);
    };
    const std::size_t size = std::min(max, size_ + points);
    grow(values_, size, dimensions_);
    grow(codes_, size, ranges_.code_stride());
    grow(point_class_, size, 1);
    grow(arrival_, size, 1);
    grow(next_, size, 1);
    reserve_doubling(slot_of_, classes);
    const std::size_t slots = std::min({max, classes, present_.size() + point_classes});
    for (auto* each : {&present_, &free_, &oldest_, &newest_}) grow(*each, slots, 1);
    grow(class_size_, slots, 1);
    if (slots > lists_.slots()) rebuild_lists(ranges_, slots);
}

void Level::insert(const float* x, std::int32_t point_class, std::int64_t arrival, const StreamShares& shares) {
    const std::size_t place = place_for(point_class, shares), stride = ranges_.code_stride();
    lists_.weights.clear();
    ranges_.encode(x, new_code_.data());
    if (place == size_) {
        ++size_;
        values_.resize(size_ * dimensions_);
        codes_.resize(size_ * stride);
        point_class_.push_back(point_class);
        arrival_.push_back(arrival);
        next_.push_back(-1);
        lists_.add(place, new_code_.data(), take_slot(point_class));
    } else {
        const std::int32_t old_class = point_class_[place];
        const std::size_t old_slot = slot(old_class);
        unlink_oldest(old_class);
        lists_.replace(place, codes_.data() + place * stride, old_slot, new_code_.data(), take_slot(point_class));
        point_class_[place] = point_class;
        arrival_[place] = arrival;
    }
    std::copy(new_code_.begin(), new_code_.end(), codes_.begin() + static_cast<std::ptrdiff_t>(place * stride));
    std::copy_n(x, dimensions_, values_.begin() + static_cast<std::ptrdiff_t>(place * dimensions_));
    link_newest(place, point_class);
    for (const std::uint32_t j : single_) surprised_ = surprised_ || (x[j] == x[j] && x[j] != constant_[j]);
    ++since_cut_;
    if (is_due()) cut_again();
}

bool Level::may_cut(std::span<const double> values, std::size_t count) const noexcept {
    if (count == 0) return false;
    const auto size = static_cast<std::int64_t>(std::min(size_ + count, shape_.capacity));
    const std::int64_t since_cut = since_cut_ + static_cast<std::int64_t>(count);
    if (size >= 2 * std::max<std::int64_t>(size_at_cut_, 1)) return true;
    if (since_cut >= kCutEvery * static_cast<std::int64_t>(shape_.capacity)) return true;
    if (since_cut * kFewSurprises < static_cast<std::int64_t>(size_)) return false;
    bool surprised = surprised_;
    for (std::size_t row = 0; row < values.size(); row += dimensions_)
        for (const std::uint32_t j : single_)
            surprised = surprised ||
                        (values[row + j] == values[row + j] && values[row + j] != static_cast<double>(constant_[j]));
    return surprised;
}

bool Level::is_due() const noexcept {
    const auto size = static_cast<std::int64_t>(size_), capacity = static_cast<std::int64_t>(shape_.capacity);
    return size >= 2 * std::max<std::int64_t>(size_at_cut_, 1) || since_cut_ >= kCutEvery * capacity ||
           (surprised_ && since_cut_ * kFewSurprises >= size);
}

/// The dimensions that have one range.
std::vector<std::uint32_t> Level::single_ranges(const Ranges& ranges) const {
    std::vector<std::uint32_t> single;
    for (std::size_t j = 0; j < ranges.dimensions(); ++j)
        if (ranges.ranges(j) == 1) single.push_back(static_cast<std::uint32_t>(j));
    return single;
}

void Level::cut_again() {
    Ranges ranges = ranges_;
    ranges.fit(values_);
    std::vector<std::uint32_t> single = single_ranges(ranges);
    rebuild_lists(ranges, lists_.slots());
    ranges_ = std::move(ranges);  // from here on nothing can fail
    single_ = std::move(single);
    std::fill(constant_.begin(), constant_.end(), std::numeric_limits<float>::quiet_NaN());
    for (const std::uint32_t j : single_)
        for (std::size_t p = 0; p < size_ && constant_[j] != constant_[j]; ++p)
            constant_[j] = values_[p * dimensions_ + j];
    surprised_ = false;
    since_cut_ = 0;
    size_at_cut_ = static_cast<std::int64_t>(size_);
}

/// New lists and codes in `ranges`, for `slots` classes. If memory is missing, nothing has changed.
void Level::rebuild_lists(const Ranges& ranges, std::size_t slots) {
    const std::size_t stride = ranges.code_stride();
    std::vector<std::uint8_t> codes;
    codes.reserve(std::max(codes_.capacity(), size_ * stride));
    codes.resize(size_ * stride, kMissing);
    std::vector<float> row(ranges.float_stride(), std::numeric_limits<float>::quiet_NaN());
    Lists lists(shape_.capacity, slots, true);
    lists.lay_out(ranges);
    for (std::size_t p = 0; p < size_; ++p) {
        std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(p * dimensions_), dimensions_, row.begin());
        ranges.encode(row.data(), codes.data() + p * stride);
        lists.add(p, codes.data() + p * stride, slot(point_class_[p]));
    }
    codes_ = std::move(codes);
    lists_ = std::move(lists);
}

void Level::declare_classes(std::size_t classes) {
    if (classes <= classes_) return;
    slot_of_.resize(classes, -1);
    classes_ = classes;
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
    single_ = single_ranges(ranges_);
    new_code_.assign(ranges_.code_stride(), kMissing);
    rebuild_lists(ranges_, lists_.slots());
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
    single_ = single_ranges(ranges_);
    next_.assign(size_, -1);
    std::vector<std::size_t> order(size_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return arrival_[a] < arrival_[b]; });
    for (const std::size_t place : order) link_newest(place, point_class_[place]);
    rebuild_lists(ranges_, present_.size());
}

std::size_t Level::own_bytes() const noexcept {
    return ranges_.own_bytes() + lists_.own_bytes() + values_.capacity() * sizeof(float) + codes_.capacity() +
           point_class_.capacity() * sizeof(std::int32_t) + arrival_.capacity() * sizeof(std::int64_t) +
           next_.capacity() * sizeof(std::int32_t) + slot_of_.capacity() * sizeof(std::int32_t) +
           (class_size_.capacity() * 3 + present_.capacity() + free_.capacity()) * sizeof(std::int32_t) +
           new_code_.capacity() + (constant_.capacity() + single_.capacity()) * sizeof(float);
}

std::size_t Level::max_bytes(const LevelShape& shape, std::size_t dimensions, std::size_t classes) {
    const std::size_t words = (shape.capacity + 63) / 64;
    const std::size_t stride = std::bit_ceil(std::max<std::size_t>(std::min(classes, shape.capacity), 4));
    const std::size_t numeric = dimensions - shape.categorical.size();
    const std::size_t lists = numeric * shape.ranges + shape.categorical.size() * kMaxRanges;
    const std::size_t per_list = words * 8 + (1 + stride) * 2 + 4;
    const std::size_t per_point = dimensions * 4 + round_up(dimensions, kCodeBlock) + 16;
    return lists * per_list + stride * words * 8 + shape.capacity * per_point +
           shape.ranges * round_up(dimensions, kLimitBlock) * 4 + dimensions * 24 + stride * 20 + classes * 4;
}

}  // namespace anystream::subspace
