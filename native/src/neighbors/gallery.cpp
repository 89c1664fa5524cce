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
constexpr std::size_t kNear = 8;  // exemplars around a new one that decide on its place
}

Gallery::Gallery(std::unique_ptr<Space> space, std::size_t classes, std::size_t capacity)
    : space_(std::move(space)),
      classes_(classes),
      capacity_(capacity),
      layout_(std::vector<std::int64_t>(5, 0)),
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
      centre_distance_(other.centre_distance_) {}

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
    layout_.own() = {static_cast<std::int64_t>(setup), 0, 0, next, 0};
    left_ = 0;
    list_.own().assign(1, 0);
    centre_distance_.own().clear();
    while (capacity_ > 0 && size() > capacity_) remove(find_oldest());
}

void Gallery::make_lists(int threads) {
    const std::size_t n = size();
    const auto balanced = static_cast<std::size_t>(std::round(2.0 * std::sqrt(static_cast<double>(n))));
    const std::size_t head = std::clamp(balanced, setup(), n);
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

void Gallery::append(Row row, std::int32_t label) {
    space_->append(row);
    label_.own().push_back(label);
    serial_.own().push_back(layout_.own()[3]++);
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

bool Gallery::in_setup(std::int32_t label) const noexcept {
    const auto first = label_.view().first(setup());
    return std::find(first.begin(), first.end(), label) != first.end();
}

bool Gallery::learns_in_place(const Records& records, std::span<const std::int32_t> labels) const {
    if (!space_->appends_in_place(records)) return false;
    if (!has_lists()) return true;
    const std::size_t few = 64 + size() / 8;
    const std::size_t leaving = capacity_ > 0 && present() + labels.size() > capacity_ ? labels.size() : 0;
    if (size() + labels.size() - listed() > few || left_ + leaving > few) return false;
    if (leaving > 1 || (leaving == 1 && find_oldest() < setup())) return false;
    return std::ranges::all_of(labels, [&](std::int32_t label) { return in_setup(label); });
}

void Gallery::reserve(const Records& records) {
    space_->reserve(records.size());
    reserve_doubling(label_.own(), size() + records.size());
    reserve_doubling(serial_.own(), size() + records.size());
    static_cast<void>(layout_.own());
    if (!scratch_.record) scratch_.record = space_->probe();
    if (!scratch_.neighbor) scratch_.neighbor = space_->probe();
    for (const auto* probe : {&scratch_.record, &scratch_.neighbor})
        if (records.size() > 0) (*probe)->open(*space_, records.row(0));  // all rows of vectors are equally long
    scratch_.near.reset(kNear);
    scratch_.best.reset(1);
}

void Gallery::insert(Row row, std::int32_t label) {
    const bool first_of_class = !in_setup(label);
    declare_classes(static_cast<std::size_t>(label) + 1);
    if (has_lists()) {
        insert_late(row, label, first_of_class);
        return;
    }
    const std::size_t level = first_of_class ? 0 : level_for(row, label);
    append(row, label);
    if (first_of_class) {
        lift(setup());
        ++layout_.own()[0];
    } else if (level_end(level) <= size()) {
        lift(level_end(level) - 1);
    }
    if (capacity_ > 0 && size() > capacity_) remove(find_oldest());
}

/// Appends an exemplar behind the lists and evicts the oldest. Each class needs one in front: if that one is evicted,
/// or a class is new, the lists are rebuilt.
void Gallery::insert_late(Row row, std::int32_t label, bool first_of_class) {
    append(row, label);
    bool renew = first_of_class;
    if (capacity_ > 0 && present() > capacity_) {
        const std::size_t leaving = find_oldest();
        layout_.own()[4] = serial_[leaving] + 1;
        ++left_;
        renew |= leaving < setup();
    }
    const std::size_t few = 64 + size() / 8;
    if (renew || size() - listed() > few || left_ > few) renew_lists();
}

/// Rebuilds the lists from the present exemplars. Prototypes stay; missing ones are taken from the late exemplars that
/// the prototypes misclassify, then from the other late ones, then from the lists.
void Gallery::renew_lists() {
    std::vector<std::int64_t> order, others, rest;
    for (std::size_t p = 0; p < size(); ++p) {
        if (serial_[p] < oldest()) continue;
        const auto at = static_cast<std::int64_t>(p);
        if (p >= head() && p < listed()) {
            rest.push_back(at);
        } else {
            (p < head() || useful(p) ? order : others).push_back(at);
        }
    }
    order.insert(order.end(), others.begin(), others.end());
    order.insert(order.end(), rest.begin(), rest.end());
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> serials;
    for (const std::int64_t p : order) {
        labels.push_back(label_[static_cast<std::size_t>(p)]);
        serials.push_back(serial_[static_cast<std::size_t>(p)]);
    }
    assign(space_->permuted(order), std::move(labels), std::move(serials), classes_);
    make_lists(1);
}

/// Whether the nearest prototype is of another class, but most of the three nearest exemplars are not.
bool Gallery::useful(std::size_t position) const {
    const auto probe = space_->probe();
    NearestSet best(1);
    const auto agrees = [&](const Neighbor& each) {
        return label_[static_cast<std::size_t>(each.position)] == label_[position];
    };
    probe->open(*space_, space_->row(position));
    probe->nearest(*space_, 0, head(), serials(), best, position);
    if (best.found().empty() || agrees(best.found()[0])) return false;
    best.reset(3, oldest());
    probe->nearest(*space_, 0, size(), serials(), best, position);
    return std::count_if(best.found().begin(), best.found().end(), agrees) >= 2;
}

/// The level whose first exemplars this one would help: it is not noise (most of its three nearest have its class), and
/// among it and its eight nearest it would correct at least two more labels than it would break. Else the last level.
std::size_t Gallery::level_for(Row row, std::int32_t label) {
    constexpr std::size_t kLevels = 7;  // up to 1024 exemplars: beyond, the order matters little
    std::size_t last = 0;
    while (level_end(last) < size()) ++last;
    if (last == 0) return 0;
    if (!scratch_.record) scratch_.record = space_->probe();
    if (!scratch_.neighbor) scratch_.neighbor = space_->probe();
    auto& [probe, other, near, best] = scratch_;
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

// -- files
// -----------------------------------------------------------------------------------------------------------------

NamedColumns Gallery::columns() {
    NamedColumns all{{"label", &label_},
                     {"serial", &serial_},
                     {"layout", &layout_},
                     {"list", &list_},
                     {"centre_distance", &centre_distance_}};
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
    require(layout_.size() == 5, "the layout has another length");
    for (std::size_t i = 0; i < 3; ++i) require(layout_[i] >= 0 && layout_[i] <= n, "the layout exceeds the exemplars");
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
    left_ = static_cast<std::size_t>(std::ranges::count_if(serial_.view(), [&](auto s) { return s < oldest(); }));
    require(lists || left_ == 0, "evicted exemplars are still present");
}

}  // namespace anystream::neighbors
