#include "anystream/subspace/level.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "anystream/growth.hpp"
#include "anystream/portable_math.hpp"

namespace anystream::subspace {

namespace {

constexpr std::int64_t kCutEvery = 4;      // times as many insertions as there are slots
constexpr std::int64_t kFewSurprises = 8;  // a new value is cut in when an eighth of the points is new

/// The classes of the points that are replaced in one word.
class WordClasses {
  public:
    [[nodiscard]] ClassPlaces& of(std::size_t slot) noexcept {
        std::size_t k = 0;
        while (k < size_ && classes_[k].slot != slot) ++k;
        if (k == size_) classes_[size_++] = {slot, 0, 0};
        return classes_[k];
    }
    [[nodiscard]] std::span<const ClassPlaces> all() const noexcept { return {classes_, size_}; }

  private:
    ClassPlaces classes_[128];  // each of 64 points has one before and one after
    std::size_t size_ = 0;
};

}  // namespace

Level::Level(const LevelShape& shape, std::size_t dimensions, std::size_t classes)
    : shape_(shape),
      dimensions_(dimensions),
      classes_(classes),
      constant_(dimensions, std::numeric_limits<float>::quiet_NaN()),
      expected_(round_up(dimensions, kLimitBlock), std::numeric_limits<float>::quiet_NaN()),
      ranges_(dimensions, shape.ranges, shape.categorical),
      lists_(shape.capacity, 0, true),
      slot_of_(classes, -1),
      new_code_(ranges_.code_stride(), kMissing) {
    lists_.lay_out(ranges_);
}

void Level::weigh(std::span<const std::uint32_t> lists, WeighingScratch& scratch, float* out) const {
    // KL(f | pi) with f_c = (q_c + pi_c) / (n_v + 1): the terms of absent classes add up to -ln(n_v + 1).
    const std::size_t stride = lists_.slots();
    scratch.share.assign(std::max(stride, kSlotBlock), 1.0);
    scratch.terms.resize(scratch.share.size());
    scratch.slots.clear();
    for (const std::int32_t c : present_) {
        scratch.share[slot(c)] = static_cast<double>(class_size_[slot(c)]) / static_cast<double>(size_);
        scratch.slots.push_back(static_cast<std::uint32_t>(slot(c)));
    }
    const WeighedLists level{lists_.counts(),           lists_.class_count(0), stride,
                             scratch.share.data(),      scratch.slots.data(),  scratch.slots.size(),
                             static_cast<double>(size_)};
    kernels().weights(level, lists.data(), lists.size(), scratch.terms.data(), out);
}

std::size_t Level::place_for(std::int32_t point_class, const StreamShares& shares) const noexcept {
    if (size_ < shape_.capacity) return size_;
    // Classes beyond their share come first, then those beyond their floor; of each kind the oldest point.
    constexpr std::uint64_t kBeyondShare = 0, kBeyondFloor = 1, kAny = 2;
    constexpr int kArrivalBits = 60;
    std::uint64_t lowest = ~std::uint64_t{0};
    std::int32_t place = -1;
    for (const std::int32_t other : present_) {
        const std::size_t size = class_size_[slot(other)];
        const std::int32_t oldest = oldest_[slot(other)];
        const std::size_t counted = size + (other == point_class);
        const bool exceeded = shares.exceeded(static_cast<std::size_t>(other), counted, shape_.capacity);
        const std::uint64_t kind = size <= shape_.floor ? kAny : exceeded ? kBeyondShare : kBeyondFloor;
        const std::uint64_t key =
            kind << kArrivalBits | static_cast<std::uint64_t>(arrival_[static_cast<std::size_t>(oldest)]);
        place = key < lowest ? oldest : place;  // without branches: they could not be predicted
        lowest = std::min(key, lowest);
    }
    return static_cast<std::size_t>(place);
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

void Level::insert(const float* x, std::int32_t point_class, std::int64_t arrival, const StreamShares& shares,
                   PendingPoints* pending) {
    const std::size_t place = place_for(point_class, shares), stride = ranges_.code_stride();
    if (pending != nullptr && !PendingPoints::can_hold(stride)) pending = nullptr;
    if (pending != nullptr && (pending->full(stride) || (place < size_ && pending->holds(arrival_[place]))))
        settle(*pending);
    lists_.weights.clear();
    const bool added = place == size_;
    if (added) {
        ++size_;
        values_.resize(size_ * dimensions_);
        codes_.resize(size_ * stride, kMissing);
        point_class_.push_back(point_class);
        arrival_.push_back(arrival);
        next_.push_back(-1);
    }
    std::uint8_t* const code = codes_.data() + place * stride;
    auto old_slot = PendingPoints::kNoSlot;
    if (!added) {
        const std::int32_t old_class = point_class_[place];
        old_slot = static_cast<std::int32_t>(slot(old_class));
        unlink_oldest(old_class);
        point_class_[place] = point_class;
        arrival_[place] = arrival;
    }
    if (pending != nullptr) {
        pending->add(place, arrival, old_slot, code, stride);
        ranges_.encode(x, code);
    } else {
        ranges_.encode(x, new_code_.data());
        if (added) {
            lists_.add(place, new_code_.data(), take_slot(point_class));
        } else {
            lists_.replace(place, code, static_cast<std::size_t>(old_slot), new_code_.data(), take_slot(point_class));
        }
        std::copy(new_code_.begin(), new_code_.end(), code);
    }
    std::copy_n(x, dimensions_, values_.begin() + static_cast<std::ptrdiff_t>(place * dimensions_));
    link_newest(place, point_class);
    if (!surprised_) surprised_ = kernels().differs(x, expected_.data(), expected_.size());
    ++since_cut_;
    if (!is_due()) return;
    cut_again();
    if (pending != nullptr) pending->clear();  // new lists have all points
}

void Level::follow(const Level& other, std::int64_t since) {
    const std::size_t stride = other.ranges_.code_stride();
    const bool same_ranges = cuts_ == other.cuts_;
    values_.resize(other.values_.size());
    if (same_ranges) {
        codes_.resize(other.codes_.size());
    } else {
        codes_ = other.codes_;
        ranges_ = other.ranges_;
    }
    for (std::size_t p = 0; p < other.size_; ++p) {
        if (other.arrival_[p] < since) continue;
        std::copy_n(other.values_.data() + p * dimensions_, dimensions_, values_.data() + p * dimensions_);
        if (same_ranges) std::copy_n(other.codes_.data() + p * stride, stride, codes_.data() + p * stride);
    }
    classes_ = other.classes_;
    size_ = other.size_;
    since_cut_ = other.since_cut_;
    size_at_cut_ = other.size_at_cut_;
    cuts_ = other.cuts_;
    surprised_ = other.surprised_;
    constant_ = other.constant_;
    expected_ = other.expected_;
    lists_ = other.lists_;
    point_class_ = other.point_class_;
    arrival_ = other.arrival_;
    slot_of_ = other.slot_of_;
    present_ = other.present_;
    free_ = other.free_;
    next_ = other.next_;
    oldest_ = other.oldest_;
    newest_ = other.newest_;
    class_size_ = other.class_size_;
}

void Level::settle(PendingPoints& pending) noexcept {
    constexpr int kFew = 8;  // points of a word that are cheaper one by one
    const std::size_t stride = ranges_.code_stride();
    pending.by_word([&](std::size_t word, std::uint64_t members) {
        if (std::popcount(members) >= kFew) return renew_word(word, members, pending);
        for (; members != 0; members &= members - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(members));
            const auto [place, old_slot] = pending.point(i);
            const std::uint8_t* const code = codes_.data() + place * stride;
            const std::size_t slot = this->slot(point_class_[place]);
            if (old_slot == PendingPoints::kNoSlot) {
                lists_.add(place, code, slot);
            } else {
                lists_.replace(place, pending.old_code(i, stride), static_cast<std::size_t>(old_slot), code, slot);
            }
        }
    });
    pending.clear();
}

void Level::renew_word(std::size_t word, std::uint64_t members, const PendingPoints& pending) noexcept {
    const std::size_t stride = ranges_.code_stride();
    WordClasses classes;
    for (; members != 0; members &= members - 1) {
        const auto [place, old_slot] = pending.point(static_cast<std::size_t>(std::countr_zero(members)));
        const std::uint64_t bit = std::uint64_t{1} << (place % 64);
        if (old_slot != PendingPoints::kNoSlot) classes.of(static_cast<std::size_t>(old_slot)).before |= bit;
        classes.of(slot(point_class_[place])).after |= bit;
    }
    lists_.renew(word, codes_.data() + word * 64 * stride, std::min<std::size_t>(64, size_ - word * 64), stride,
                 classes.all());
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
        for (std::size_t j = 0; j < dimensions_ && !surprised; ++j)
            surprised = expects(j) && values[row + j] == values[row + j] &&
                        values[row + j] != static_cast<double>(expected_[j]);
    return surprised;
}

bool Level::is_due() const noexcept {
    const auto size = static_cast<std::int64_t>(size_), capacity = static_cast<std::int64_t>(shape_.capacity);
    return size >= 2 * std::max<std::int64_t>(size_at_cut_, 1) || since_cut_ >= kCutEvery * capacity ||
           (surprised_ && since_cut_ * kFewSurprises >= size);
}

bool Level::expects(std::size_t j) const noexcept {
    return expected_[j] != -std::numeric_limits<float>::infinity();
}

void Level::expect_constants() noexcept {
    for (std::size_t j = 0; j < dimensions_; ++j)
        expected_[j] = ranges_.ranges(j) == 1 ? constant_[j] : -std::numeric_limits<float>::infinity();
}

void Level::cut_again() {
    Ranges ranges = ranges_;
    ranges.fit(values_);
    rebuild_lists(ranges, lists_.slots());
    ranges_ = std::move(ranges);  // from here on nothing can fail
    std::fill(constant_.begin(), constant_.end(), std::numeric_limits<float>::quiet_NaN());
    for (std::size_t j = 0; j < dimensions_; ++j)
        for (std::size_t p = 0; ranges_.ranges(j) == 1 && p < size_ && constant_[j] != constant_[j]; ++p)
            constant_[j] = values_[p * dimensions_ + j];
    expect_constants();
    surprised_ = false;
    since_cut_ = 0;
    ++cuts_;
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
    for (std::size_t first = 0; first < size_; first += 64) {
        const std::size_t places = std::min<std::size_t>(64, size_ - first);
        WordClasses classes;
        for (std::size_t p = first; p < first + places; ++p) {
            std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(p * dimensions_), dimensions_, row.begin());
            ranges.encode(row.data(), codes.data() + p * stride);
            classes.of(slot(point_class_[p])).after |= std::uint64_t{1} << (p % 64);
        }
        lists.renew(first / 64, codes.data() + first * stride, places, stride, classes.all());
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
    expected_.resize(round_up(dimensions, kLimitBlock), std::numeric_limits<float>::quiet_NaN());
    expect_constants();
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
    expect_constants();
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
           new_code_.capacity() + (constant_.capacity() + expected_.capacity()) * sizeof(float);
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
