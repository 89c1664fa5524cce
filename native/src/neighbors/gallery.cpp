#include "anystream/neighbors/gallery.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "anystream/damaged_model.hpp"
#include "anystream/growth.hpp"
#include "anystream/parallel.hpp"

namespace anystream::neighbors {

namespace {
constexpr std::size_t kNear = 8;    // exemplars around a new one that decide on its place
constexpr std::size_t kLayout = 9;  // numbers of the layout
constexpr std::int64_t kMaxSerial = std::int64_t{1} << 60;
constexpr std::size_t kGather = 1024;                     // positions in a portion of gathering
constexpr std::size_t kInPlace = 16;                      // exemplars in a batch with lists that are learned in place
constexpr std::size_t kFreeBytes = std::size_t{1} << 20;  // memory of old lists in a portion of freeing it
}  // namespace

Gallery::Gallery(std::unique_ptr<Space> space, std::size_t classes, std::size_t capacity)
    : space_(std::move(space)),
      classes_(classes),
      capacity_(capacity),
      layout_(std::vector<std::int64_t>(kLayout, 0)),
      list_(std::vector<std::int64_t>(1, 0)) {}

Gallery::Gallery(const Gallery& other)
    : space_(other.space_->clone()),
      classes_(other.classes_),
      capacity_(other.capacity_),
      label_(other.label_),
      serial_(other.serial_),
      left_(other.left_),
      layout_(other.layout_),
      list_(other.list_),
      centre_distance_(other.centre_distance_),
      useful_(other.useful_),
      fronts_(other.fronts_),
      renewal_order_(other.renewal_order_),
      renewal_(other.renewal_ ? std::make_unique<ListRenewal>(*other.renewal_) : nullptr) {}

void Gallery::assign(std::unique_ptr<Space> space, std::vector<std::int32_t> labels, std::vector<std::int64_t> serials,
                     std::size_t classes) {
    std::vector<std::int64_t> order, rest;
    std::vector<bool> seen(classes, false);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto c = static_cast<std::size_t>(labels[i]);
        (seen[c] ? rest : order).push_back(static_cast<std::int64_t>(i));
        seen[c] = true;
    }
    const std::size_t setup = order.size();
    order.insert(order.end(), rest.begin(), rest.end());
    const bool moved = !std::is_sorted(order.begin(), order.end());
    space_ = moved ? space->permuted(order) : std::move(space);
    auto& label = label_.own();
    auto& serial = serial_.own();
    label.clear();
    serial.clear();
    for (const std::int64_t i : order) {
        label.push_back(labels[static_cast<std::size_t>(i)]);
        serial.push_back(serials[static_cast<std::size_t>(i)]);
    }
    const std::int64_t next = serial.empty() ? 0 : *std::max_element(serial.begin(), serial.end()) + 1;
    classes_ = classes;
    layout_.own() = {static_cast<std::int64_t>(setup), 0, 0, next, 0, 0, 0, 0, 0};
    useful_.own().clear();
    fronts_.own().clear();
    cancel_renewal();
    left_ = 0;
    list_.own().assign(1, 0);
    centre_distance_.own().clear();
    while (capacity_ > 0 && size() > capacity_) remove(find_oldest());
}

void Gallery::make_lists(int threads) {
    const std::size_t n = size();
    const std::size_t head = balanced_head(n, setup());
    std::vector<std::size_t> centre(n);
    std::vector<double> away(n, 0.0);
    parallel_for(n - head, 64, threads, [&](std::size_t first, std::size_t last) {
        const auto probe = space_->probe();
        NearestSet best;
        for (std::size_t i = head + first; i < head + last; ++i) {
            probe->open(*space_, space_->row(i));
            best.reset(1);
            probe->nearest(*space_, 0, head, {}, best, kNothingSkipped);
            centre[i] = static_cast<std::size_t>(best.found()[0].position);
            away[i] = space_->distance(best.found()[0].power);
        }
    });
    std::vector<std::int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(head), order.end(), [&](std::int64_t a, std::int64_t b) {
        const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
        return std::tuple(centre[i], away[i], i) < std::tuple(centre[j], away[j], j);
    });
    space_ = space_->permuted(order);
    const std::vector<std::int32_t> labels(label_.view().begin(), label_.view().end());
    const std::vector<std::int64_t> serials(serial_.view().begin(), serial_.view().end());
    auto& list = list_.own();
    auto& distance = centre_distance_.own();
    list.assign(head + 1, 0);
    distance.clear();
    for (std::size_t p = 0; p < n; ++p) {
        const auto from = static_cast<std::size_t>(order[p]);
        label_.own()[p] = labels[from];
        serial_.own()[p] = serials[from];
        if (p < head) continue;
        ++list[centre[from] + 1];
        distance.push_back(away[from]);
    }
    list[0] = static_cast<std::int64_t>(head);
    for (std::size_t l = 0; l < head; ++l) list[l + 1] += list[l];
    layout_.own()[1] = static_cast<std::int64_t>(head);
    layout_.own()[2] = static_cast<std::int64_t>(n);
}

// -- learning one by one
// -------------------------------------------------------------------------------------------------

void Gallery::append(Row row, std::int32_t label, std::int64_t serial) {
    space_->append(row);
    label_.own().push_back(label);
    serial_.own().push_back(serial);
}

void Gallery::swap(std::size_t i, std::size_t j) {
    if (i == j) return;
    space_->swap(i, j);
    std::swap(label_.own()[i], label_.own()[j]);
    std::swap(serial_.own()[i], serial_.own()[j]);
}

/// Moves the last exemplar to `target`, and those at `target` and at the ends of the levels behind it one level on.
void Gallery::lift(std::size_t target) {
    const std::size_t last = size() - 1;
    std::size_t level = 0;
    for (; target < last; target = level_end(level) - 1) {
        swap(target, last);
        while (level_end(level) - 1 <= target) ++level;
    }
}

bool Gallery::has_front(std::int32_t label) const noexcept {
    const auto is_one = [&](std::size_t p) { return label_[p] == label && present_at(p); };
    for (std::size_t p = 0; p < setup(); ++p)
        if (is_one(p)) return true;
    return std::ranges::any_of(fronts(), [&](std::int64_t p) { return is_one(static_cast<std::size_t>(p)); });
}

std::size_t Gallery::compared_first() const {
    std::size_t count = 0;
    for (std::size_t p = 0; p < setup(); ++p) count += present_at(p);
    for (const std::int64_t p : fronts()) count += present_at(static_cast<std::size_t>(p));
    return count;
}

bool Gallery::learns_in_place(const Records& records, std::span<const std::int32_t> labels) const {
    if (!space_->appends_in_place(records)) return false;
    return !has_lists() || (labels.size() <= kInPlace && (!renewing() || renewal_));
}

void Gallery::reserve(const Records& records) {
    const std::size_t more = has_lists() ? 2 * records.size() : records.size();  // each may move another one
    space_->reserve(more);
    reserve_doubling(label_.own(), size() + more);
    reserve_doubling(serial_.own(), size() + more);
    static_cast<void>(layout_.own());
    if (!scratch_.record) scratch_.record = space_->probe();
    if (!scratch_.neighbor) scratch_.neighbor = space_->probe();
    for (const auto* probe : {&scratch_.record, &scratch_.neighbor})
        if (records.size() > 0) (*probe)->open(*space_, records.row(0));  // all rows of vectors are equally long
    scratch_.near.reset(kNear);
    scratch_.best.reset(3);
    if (!has_lists()) return;
    scratch_.row.reserve(space_->width());
    reserve_doubling(useful_.own(), size() - listed() + more);
    reserve_doubling(fronts_.own(), fronts_.size() + more);
    if (renewal_) renewal_->reserve(*space_, size() + more, setup() + fronts_.size() + more);
    const bool may_begin = renewing() ? !renewal_ || renewal_->nearly_done() || size() < 4096
                                      : std::max(size() - listed(), left_) + more > few();
    if (!may_begin) return;
    reserve_doubling(renewal_order_.own(), size() + more);
    if (!spare_) spare_ = new_renewal(more);
    spare_->reserve(*space_, size() + more + few(), setup() + fronts_.size() + more);
}

void Gallery::insert(Row row, std::int32_t label) {
    const bool first_of_class = !has_front(label);
    declare_classes(static_cast<std::size_t>(label) + 1);
    if (has_lists()) {
        insert_late(row, label, first_of_class);
        return;
    }
    const std::size_t level = first_of_class ? 0 : level_for(row, label);
    append(row, label, layout_.own()[3]++);
    if (first_of_class) {
        lift(setup());
        ++layout_.own()[0];
    } else if (level_end(level) <= size()) {
        lift(level_end(level) - 1);
    }
    if (capacity_ > 0 && size() > capacity_) remove(find_oldest());
}

/// Appends an exemplar behind the lists, evicts the oldest, and builds another portion of new lists.
void Gallery::insert_late(Row row, std::int32_t label, bool first_of_class) {
    useful_.own().push_back(!first_of_class && useful(row, label));
    append(row, label, layout_.own()[3]++);
    if (first_of_class) fronts_.own().push_back(static_cast<std::int64_t>(size() - 1));
    if (capacity_ > 0 && present() > capacity_) evict_oldest();
    advance_renewal();
}

/// Evicts the oldest exemplar, which keeps its position. If its class was compared first by it, another one takes over.
void Gallery::evict_oldest() {
    const std::size_t leaving = find_oldest();
    layout_.own()[4] = serial_[leaving] + 1;
    ++left_;
    if (has_front(label_[leaving])) return;
    for (std::size_t p = setup(); p < size(); ++p)
        if (label_[p] == label_[leaving] && present_at(p)) return make_front(p);
}

/// Moves an exemplar behind the others and compares it first from now on.
void Gallery::make_front(std::size_t position) {
    const Row row = space_->row(position);
    scratch_.row.assign(row.begin(), row.end());
    const std::int64_t serial = serial_[position];
    append(scratch_.row, label_[position], serial);
    useful_.own().push_back(0);
    fronts_.own().push_back(static_cast<std::int64_t>(size() - 1));
    serial_.own()[position] = -1;
    ++left_;
    if (renewal_) renewal_->forget(serial);
}

/// Whether the nearest prototype is of another class, but most of the three nearest exemplars are not.
bool Gallery::useful(Row row, std::int32_t label) {
    open_scratch();
    auto& best = scratch_.best;
    const auto agrees = [&](const Neighbor& each) { return label_[static_cast<std::size_t>(each.position)] == label; };
    scratch_.record->open(*space_, row);
    best.reset(1);
    scratch_.record->nearest(*space_, 0, head(), serials(), best, kNothingSkipped);
    if (best.found().empty() || agrees(best.found()[0])) return false;
    best.reset(3, oldest());
    scratch_.record->nearest(*space_, 0, size(), serials(), best, kNothingSkipped);
    return std::count_if(best.found().begin(), best.found().end(), agrees) >= 2;
}

void Gallery::open_scratch() {
    if (!scratch_.record) scratch_.record = space_->probe();
    if (!scratch_.neighbor) scratch_.neighbor = space_->probe();
}

void Gallery::add_features(std::size_t width) {
    space_->add_features(width);
    cancel_renewal();
}

// -- new lists
// -------------------------------------------------------------------------------------------------------------------

ListRenewal::Source Gallery::renewal_source() const {
    return {*space_, labels(), serials(), renewal_order_.view(), static_cast<std::size_t>(layout_[5])};
}

/// Memory for new lists of all exemplars and so many more.
std::unique_ptr<ListRenewal> Gallery::new_renewal(std::size_t more) const {
    auto renewal = std::make_unique<ListRenewal>(*space_);
    renewal->reserve(*space_, size() + more + few(), setup() + fronts_.size() + more);
    return renewal;
}

/// One portion with every exemplar that is learned; begins new lists if there are many late or evicted exemplars.
void Gallery::advance_renewal() {
    if (old_ && old_->free_portion(kFreeBytes)) old_.reset();
    if (!renewing()) {
        if (size() - listed() > few() || left_ > few()) begin_renewal();
        return;
    }
    if (!renewal_) resume_renewal();
    if (!gathered()) {
        gather();
        return;
    }
    ++layout_.own()[7];
    if (renewal_->advance(renewal_source())) adopt_renewal();
}

/// The exemplars that are compared first stay so, and prototypes stay prototypes; missing ones are taken from the late
/// exemplars that the prototypes misclassify, then from the other late ones, then from the lists.
void Gallery::begin_renewal() {
    auto& order = renewal_order_.own();
    const auto add = [&](std::size_t p) {
        if (present_at(p)) order.push_back(static_cast<std::int64_t>(p));
    };
    for (std::size_t p = 0; p < setup(); ++p) add(p);
    for (const std::int64_t p : fronts()) add(static_cast<std::size_t>(p));
    const std::size_t setup_next = order.size();
    for (std::size_t p = setup(); p < head(); ++p) add(p);
    for (const bool wanted : {true, false})
        for (std::size_t s = 0; s <= fronts_.size(); ++s)
            for (std::size_t p = segment_begin(s); p < segment_end(s); ++p)
                if ((useful_[p - listed()] != 0) == wanted) add(p);
    auto& layout = layout_.own();
    layout[5] = static_cast<std::int64_t>(size());
    layout[6] = static_cast<std::int64_t>(setup_next);
    layout[7] = 0;
    layout[8] = static_cast<std::int64_t>(head());
    renewal_ = spare_ ? std::move(spare_) : new_renewal(0);
    gather();
}

/// Adds the next exemplars of the lists to those that take part.
void Gallery::gather() {
    auto& order = renewal_order_.own();
    const auto first = static_cast<std::size_t>(layout_[8]), last = std::min(first + kGather, listed());
    for (std::size_t p = first; p < last; ++p)
        if (present_at(p)) order.push_back(static_cast<std::int64_t>(p));
    layout_.own()[8] = static_cast<std::int64_t>(last);
    if (gathered()) renewal_->begin(renewal_source(), static_cast<std::size_t>(layout_[6]));
}

/// Repeats the portions that were done before the model was stored.
void Gallery::resume_renewal() {
    renewal_ = new_renewal(0);
    if (!gathered()) return;
    const auto source = renewal_source();
    renewal_->begin(source, static_cast<std::size_t>(layout_[6]));
    for (std::int64_t i = 0; i < layout_[7]; ++i)
        if (renewal_->advance(source)) break;  // of a forged file only
}

/// Replaces the lists by the new ones; what was learned since they were begun is late.
void Gallery::adopt_renewal() {
    const auto begun = static_cast<std::size_t>(layout_[5]), n = renewal_order_.size();
    auto& useful = useful_.own();
    std::copy(useful.begin() + (begun - listed()), useful.end(), useful.begin());
    useful.resize(useful.size() - (begun - listed()));
    auto& fronts = fronts_.own();
    const auto since = std::lower_bound(fronts.begin(), fronts.end(), static_cast<std::int64_t>(begun));
    const auto kept = static_cast<std::size_t>(fronts.end() - since);
    for (std::size_t i = 0; i < kept; ++i) fronts[i] = since[i] + static_cast<std::int64_t>(n - begun);
    fronts.resize(kept);
    std::swap(space_, renewal_->space());
    std::swap(label_, renewal_->label());
    std::swap(serial_, renewal_->serial());
    std::swap(list_, renewal_->list());
    std::swap(centre_distance_, renewal_->centre_distance());
    auto& layout = layout_.own();
    layout[0] = layout[6];
    layout[1] = static_cast<std::int64_t>(renewal_->head());
    layout[2] = static_cast<std::int64_t>(n);
    left_ = static_cast<std::size_t>(std::ranges::count_if(serials(), [&](auto s) { return s < oldest(); }));
    old_ = std::move(renewal_);
    cancel_renewal();
}

void Gallery::cancel_renewal() {
    renewal_.reset();
    spare_.reset();
    renewal_order_.own().clear();
    auto& layout = layout_.own();
    layout[5] = layout[6] = layout[7] = layout[8] = 0;
}

/// The level whose first exemplars this one would help: it is not noise (most of its three nearest have its class), and
/// among it and its eight nearest it would correct at least two more labels than it would break. Else the last level.
std::size_t Gallery::level_for(Row row, std::int32_t label) {
    constexpr std::size_t kLevels = 7;  // up to 1024 exemplars: beyond, the order matters little
    std::size_t last = 0;
    while (level_end(last) < size()) ++last;
    if (last == 0) return 0;
    open_scratch();
    auto& [probe, other, near, best_of_level, row_copy] = scratch_;
    NearestSet& best = best_of_level;  // clang before 16 cannot capture a structured binding
    near.reset(kNear);
    probe->open(*space_, row);
    probe->nearest(*space_, 0, size(), serials(), near, kNothingSkipped);
    const auto found = near.found();
    std::size_t own = 0;
    for (std::size_t r = 0; r < std::min<std::size_t>(3, found.size()); ++r)
        own += label_[static_cast<std::size_t>(found[r].position)] == label;
    if (own < 2) return last;

    const std::size_t levels = std::min(last, kLevels);
    std::array<int, kLevels> gain{};
    const auto judge = [&](Probe& each, std::size_t position, double apart, std::int32_t of) {
        best.reset(1);
        for (std::size_t level = 0, begin = 0; level < levels; begin = level_end(level++)) {
            each.nearest(*space_, begin, level_end(level), serials(), best, position);
            if (!(apart < best.found()[0].power)) return;  // the new exemplar is not its nearest, here or further on
            const bool right = label_[static_cast<std::size_t>(best.found()[0].position)] == of;
            gain[level] += (label == of && !right) - (label != of && right);
        }
    };
    judge(*probe, kNothingSkipped, -1.0, label);
    for (const Neighbor& neighbor : found) {
        const auto position = static_cast<std::size_t>(neighbor.position);
        other->open(*space_, space_->row(position));
        judge(*other, position, neighbor.power, label_[position]);
    }
    for (std::size_t level = 0; level < levels; ++level)
        if (gain[level] >= 2) return level;
    return last;
}

/// The position of the oldest exemplar that is present.
std::size_t Gallery::find_oldest() const {
    const auto serial = serial_.view();
    const auto age = [&](std::int64_t s) { return s < oldest() ? std::numeric_limits<std::int64_t>::max() : s; };
    return static_cast<std::size_t>(std::ranges::min_element(serial, {}, age) - serial.begin());
}

/// Fills the gap with the first exemplar of the next level, that gap in turn, and the last one with the last exemplar.
void Gallery::remove(std::size_t position) {
    if (position < setup()) {  // another exemplar of the class moves to the front, if there is one
        const auto labels = label_.view();
        std::size_t heir = setup();
        while (heir < size() && labels[heir] != labels[position]) ++heir;
        if (heir == size()) {
            heir = setup() - 1;
            --layout_.own()[0];
        }
        swap(position, heir);
        position = heir;
    }
    for (std::size_t level = 0; level_end(level) < size(); ++level) {
        const std::size_t next = level_end(level);
        if (next <= position) continue;
        swap(position, next);
        position = next;
    }
    swap(position, size() - 1);
    space_->swap_remove(size() - 1);
    label_.own().pop_back();
    serial_.own().pop_back();
}

std::size_t Gallery::own_bytes() const {
    std::size_t bytes = column_bytes(*this);
    for (const auto* each : {&renewal_, &spare_, &old_})
        if (*each) bytes += (*each)->own_bytes();
    return bytes;
}

// -- files
// -----------------------------------------------------------------------------------------------------------------

NamedColumns Gallery::columns() {
    NamedColumns all{{"label", &label_},
                     {"serial", &serial_},
                     {"layout", &layout_},
                     {"list", &list_},
                     {"centre_distance", &centre_distance_},
                     {"useful", &useful_},
                     {"fronts", &fronts_},
                     {"renewal", &renewal_order_}};
    const NamedColumns more = space_->columns();
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

void Gallery::adopt_columns() {
    const auto require = [](bool holds, const char* fault) { require_intact(holds, "the exemplars", fault); };
    space_->adopt_columns();
    const auto n = static_cast<std::int64_t>(space_->size());
    require(static_cast<std::int64_t>(label_.size()) == n && static_cast<std::int64_t>(serial_.size()) == n,
            "labels or serials do not match the exemplars");
    require(layout_.size() == kLayout, "the layout has another length");
    for (std::size_t i = 0; i < 3; ++i) require(layout_[i] >= 0 && layout_[i] <= n, "the layout exceeds the exemplars");
    require(layout_[3] <= kMaxSerial && layout_[4] <= kMaxSerial &&
                std::ranges::all_of(serials(), [](std::int64_t s) { return s <= kMaxSerial; }),
            "a serial is larger than any stream is long");
    require(n == 0 || setup() > 0, "no exemplar is compared first");
    const bool lists = head() > 0;
    require(!lists || (setup() <= head() && head() <= listed()), "the layout is out of order");
    require(list_.size() == head() + 1 && centre_distance_.size() == listed() - head(),
            "the lists do not match the layout");
    require(!lists || (list_[0] == layout_[1] && list_[head()] == layout_[2]),
            "the lists do not cover their positions");
    for (std::size_t l = 0; l < head(); ++l) require(list_[l] <= list_[l + 1], "a list ends before it begins");
    for (std::size_t i = 0; i < label_.size(); ++i)
        require(label_[i] >= 0 && static_cast<std::size_t>(label_[i]) < classes_, "a label is not a class");
    require(useful_.size() == (lists ? size() - listed() : 0), "the marks do not match the exemplars behind the lists");
    require(lists || (fronts_.size() == 0 && renewal_order_.size() == 0), "there are fronts without lists");
    for (std::size_t i = 0; i < fronts_.size(); ++i)
        require(fronts_[i] >= (i == 0 ? layout_[2] : fronts_[i - 1] + 1) && fronts_[i] < n, "a front is out of place");
    const std::int64_t begun = layout_[5], taking_part = static_cast<std::int64_t>(renewal_order_.size());
    require(begun >= 0 && begun <= n && (taking_part == 0 || begun >= layout_[2]), "new lists exceed the exemplars");
    require(taking_part == 0 || (layout_[6] > 0 && layout_[6] <= taking_part && taking_part <= begun),
            "new lists are out of order");
    require(layout_[8] >= 0 && layout_[8] <= layout_[2] && (taking_part == 0 || layout_[8] >= layout_[1]),
            "new lists were gathered from other positions");
    require(layout_[7] >= 0 && layout_[7] <= n, "new lists have more portions than exemplars");
    for (const std::int64_t p : renewal_order_.view()) require(p >= 0 && p < begun, "new lists exceed the exemplars");
    left_ = static_cast<std::size_t>(std::ranges::count_if(serial_.view(), [&](auto s) { return s < oldest(); }));
    require(lists || left_ == 0, "evicted exemplars are still present");
}

}  // namespace anystream::neighbors
