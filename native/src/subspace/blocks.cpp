#include "anystream/subspace/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "anystream/damaged_model.hpp"
#include "anystream/growth.hpp"
#include "anystream/subspace/cut_arrays.hpp"
#include "anystream/subspace/random.hpp"

namespace anystream::subspace {

namespace {

constexpr std::size_t kTakesPartAt = 16;  // a block is used from block_size / kTakesPartAt points on

/// A building ends before the next block takes part.
std::size_t max_steps(std::size_t points) noexcept {
    return std::max<std::size_t>(1, points / kTakesPartAt);
}

void reserve_up_to(auto& values, std::size_t size, std::size_t max) {
    if (values.capacity() < size) values.reserve(std::min(max, std::max(size, 2 * values.capacity())));
}

}  // namespace

Blocks::Blocks(BlocksSettings settings, std::size_t dimensions)
    : settings_(std::move(settings)), dimensions_(dimensions) {
    static_cast<void>(blocks_that_fit(dimensions, 0));  // throws if not even one does
}

std::size_t Blocks::blocks_that_fit(std::size_t dimensions, std::size_t classes) const {
    const std::size_t each =
        Block::max_bytes(settings_.block_size, dimensions, classes, settings_.ranges, settings_.categorical.size());
    const std::size_t open =
        settings_.block_size * (dimensions * sizeof(float) + sizeof(std::int32_t)) + classes * sizeof(std::int64_t);
    std::size_t beside = 0;  // a block that is being built, while the next one is filled
    if (steps_for(settings_.block_size) > 1)
        beside = each + open / (kTakesPartAt / 2) +
                 BlockBuilding::max_scratch_bytes(settings_.block_size, dimensions, classes, settings_.ranges,
                                                  settings_.categorical.size());
    if (settings_.max_bytes < open + beside + each)
        throw std::invalid_argument("max_bytes is " + std::to_string(settings_.max_bytes) + ", but one block of " +
                                    std::to_string(settings_.block_size) + " points of " + std::to_string(dimensions) +
                                    " features and " + std::to_string(classes) + " classes takes up to " +
                                    std::to_string(open + beside + each) +
                                    " bytes; allow more, or use a smaller block_size");
    return std::min(settings_.max_blocks, (settings_.max_bytes - open - beside) / each);
}

bool Blocks::learns_in_place(std::span<const double>, std::span<const std::int32_t> labels,
                             std::size_t) const noexcept {
    const std::size_t open = open_class_.size() == settings_.block_size ? 0 : open_class_.size();
    const std::size_t size = open + labels.size();
    const bool alone = blocks_.size() == (open_in_use_ ? 1U : 0U);
    const bool large_enough = alone || size * kTakesPartAt >= settings_.block_size;
    const std::int64_t built = open == 0 ? 0 : built_;
    if (building_ && building_->allocates(labels.size())) return false;
    return size < settings_.block_size && !(large_enough && static_cast<std::int64_t>(size) >= 2 * built);
}

void Blocks::reserve(std::span<const double>, std::span<const std::int32_t> labels, std::size_t classes) {
    static_cast<void>(blocks_that_fit(dimensions_, std::max(classes, classes_)));
    row_.resize(round_up(dimensions_, kLimitBlock));
    const std::size_t points = std::min(settings_.block_size, open_class_.size() + labels.size());
    reserve_up_to(open_value_, points * dimensions_, settings_.block_size * dimensions_);
    reserve_up_to(open_class_, points, settings_.block_size);
    if (building_) building_->reserve();
    reserve_doubling(first_seen_, classes);
}

void Blocks::learn(std::span<const double> values, std::span<const std::int32_t> labels) {
    row_.resize(round_up(dimensions_, kLimitBlock));
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (open_class_.size() == settings_.block_size) {
            open_value_.clear();
            open_class_.clear();
            open_in_use_ = false;
            built_ = 0;
        }
        to_floats(values.data() + i * dimensions_, dimensions_, row_.data());
        open_value_.insert(open_value_.end(), row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(dimensions_));
        open_class_.push_back(labels[i]);
        std::int64_t& first = first_seen_[static_cast<std::size_t>(labels[i])];
        first = std::min(first, seen_++);
        if (building_) step_building();
        const std::size_t size = open_class_.size();
        const bool alone = blocks_.size() == (open_in_use_ ? 1U : 0U);
        const bool large_enough = alone || size * kTakesPartAt >= settings_.block_size;
        const bool doubled = static_cast<std::int64_t>(size) >= 2 * built_;
        if (size == settings_.block_size || (large_enough && doubled)) start_building();
    }
    find_only_class();
}

std::size_t Blocks::steps_for(std::size_t points) const noexcept {
    return std::max<std::size_t>(1, std::min(settings_.build_within, max_steps(points)));
}

BlockPoints Blocks::points_to_build() const noexcept {
    if (full_ != nullptr) return {full_->value, full_->point_class};
    return {open_value_, open_class_};
}

/// Starts to build the open block with all its points, in place of a building of fewer of them.
void Blocks::start_building() {
    if (full_ != nullptr) finish_building();
    const std::size_t size = open_class_.size();
    const bool full = size == settings_.block_size;
    const std::size_t steps = full && !open_in_use_ ? 1 : steps_for(size);
    building_.reset();
    built_ = static_cast<std::int64_t>(size);
    if (steps > 1 && full) {  // the next block starts now; of this one an earlier building is in use
        full_ = std::make_shared<const Points>(std::move(open_value_), std::move(open_class_));
        open_value_ = {};
        open_class_ = {};
        open_in_use_ = false;
        built_ = 0;
    }
    restart_building(size, steps, 1);
    if (building_->done()) finish_building();
}

void Blocks::restart_building(std::size_t points, std::size_t steps, std::size_t taken) {
    const auto [values, point_class] = points_to_build();
    const BlockPoints built{values.first(points * dimensions_), point_class.first(points)};
    building_.emplace(built, dimensions_, settings_.ranges, settings_.categorical, steps);
    for (std::size_t s = 0; s < taken; ++s) building_->step(built);
}

void Blocks::step_building() {
    building_->step(points_to_build());
    if (building_->done()) finish_building();
}

void Blocks::finish_building() {
    if (!building_) return;
    while (!building_->done()) building_->step(points_to_build());
    publish(building_->take());
    building_.reset();
    full_.reset();
    find_only_class();
}

/// Uses a block that was built. The first building of a block may evict older blocks.
void Blocks::publish(std::shared_ptr<const Block> block) {
    if (full_ != nullptr || open_in_use_) {
        blocks_.back() = std::move(block);
        return;
    }
    ++begun_;
    drop_old_blocks();
    blocks_.push_back(std::move(block));
    open_in_use_ = true;
    const std::size_t max_blocks = blocks_that_fit(dimensions_, classes_);
    if (blocks_.size() > max_blocks)
        blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(blocks_.size() - max_blocks));
}

void Blocks::drop_old_blocks() {
    Generator random(settings_.seed ^ 0x5bd1e9955bd1e995ULL, static_cast<std::uint64_t>(begun_));
    const double stays = std::exp2(-settings_.decay);
    std::erase_if(blocks_, [&](const auto&) { return random.uniform() >= stays; });
}

void Blocks::find_only_class() {
    only_class_ = -1;
    for (const auto& block : blocks_) {
        const auto present = block->present();
        if (present.size() > 1 || (only_class_ >= 0 && only_class_ != present[0])) {
            only_class_ = -1;
            return;
        }
        only_class_ = present[0];
    }
}

void Blocks::declare_classes(std::size_t classes) {
    if (classes <= classes_) return;
    static_cast<void>(blocks_that_fit(dimensions_, classes));
    first_seen_.resize(classes, kNever);
    classes_ = classes;
}

void Blocks::add_features(std::size_t dimensions, std::vector<std::uint32_t> categorical) {
    Blocks wider = *this;
    wider.dimensions_ = dimensions;
    wider.settings_.categorical = std::move(categorical);
    static_cast<void>(wider.blocks_that_fit(dimensions, classes_));
    for (auto& block : wider.blocks_)
        block = std::make_shared<const Block>(
            block->with_features(dimensions, wider.settings_.ranges, wider.settings_.categorical));
    wider.open_value_.assign(open_class_.size() * dimensions, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t p = 0; p < open_class_.size(); ++p)
        std::copy_n(open_value_.begin() + static_cast<std::ptrdiff_t>(p * dimensions_), dimensions_,
                    wider.open_value_.begin() + static_cast<std::ptrdiff_t>(p * dimensions));
    if (full_ != nullptr) {
        Points full{std::vector<float>(full_->point_class.size() * dimensions, std::numeric_limits<float>::quiet_NaN()),
                    full_->point_class};
        for (std::size_t p = 0; p < full.point_class.size(); ++p)
            std::copy_n(full_->value.begin() + static_cast<std::ptrdiff_t>(p * dimensions_), dimensions_,
                        full.value.begin() + static_cast<std::ptrdiff_t>(p * dimensions));
        wider.full_ = std::make_shared<const Points>(std::move(full));
    }
    if (building_) wider.restart_building(building_->size(), building_->steps(), building_->taken());
    *this = std::move(wider);
}

Blocks Blocks::merged(std::span<const Blocks* const> parts, std::span<const std::vector<std::int32_t>> class_maps,
                      std::size_t classes) {
    Blocks whole(parts[0]->settings_, parts[0]->dimensions_);
    whole.declare_classes(classes);
    std::vector<Points> by_age;
    const std::size_t d = whole.dimensions_;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const Blocks& part = *parts[p];
        whole.seen_ += part.seen_;
        whole.begun_ = std::max(whole.begun_, part.begun_);
        for (std::size_t c = 0; c < part.classes_; ++c) {
            std::int64_t& first = whole.first_seen_[static_cast<std::size_t>(class_maps[p][c])];
            first = std::min(first, part.first_seen_[c]);
        }
        if (by_age.size() < part.size()) by_age.resize(part.size());
        for (std::size_t age = 0; age < part.size(); ++age) {
            const bool open = age == 0 && part.open_in_use_;
            const Block& block = part.block(part.size() - 1 - age);
            const bool full = age == 0 && part.full_ != nullptr;  // known more exactly than the block remembers
            const auto values = open ? part.open_value_ : full ? part.full_->value : block.remembered_values();
            const auto labels = open ? part.open_class_ : full ? part.full_->point_class : block.point_classes();
            by_age[age].value.insert(by_age[age].value.end(), values.begin(), values.end());
            for (const std::int32_t c : labels)
                by_age[age].point_class.push_back(class_maps[p][static_cast<std::size_t>(c)]);
        }
    }
    for (std::size_t age = std::min(by_age.size(), whole.blocks_that_fit(d, classes)); age-- > 0;) {
        Points& points = by_age[age];
        const std::size_t size = points.point_class.size(), kept = std::min(size, whole.settings_.block_size);
        for (std::size_t i = 0; i < kept; ++i) {  // every (size / kept)-th
            const std::size_t from = i * size / kept;
            points.point_class[i] = points.point_class[from];
            std::copy_n(points.value.begin() + static_cast<std::ptrdiff_t>(from * d), d,
                        points.value.begin() + static_cast<std::ptrdiff_t>(i * d));
        }
        points.point_class.resize(kept);
        points.value.resize(kept * d);
        const BlockPoints built{points.value, points.point_class};
        BlockBuilding building(built, d, whole.settings_.ranges, whole.settings_.categorical, 1);
        building.step(built);
        whole.blocks_.push_back(building.take());
    }
    whole.find_only_class();
    return whole;
}

Blocks::Arrays Blocks::arrays() const {
    Arrays out;
    const auto append = [](auto& to, const auto& from) { to.own().append(from.begin(), from.end()); };
    for (const auto& block : blocks_) {
        append(out.code, block->codes());
        append(out.point_class, block->point_classes());
        append(out.middle, block->middles());
        out.block_size.own().push_back(static_cast<std::int64_t>(block->size()));
        append_cuts(block->ranges(), out.cut.own(), out.cut_end.own());
    }
    out.open_value.own() = open_value_;
    out.open_class.own() = open_class_;
    out.first_seen.own() = first_seen_;
    if (full_ != nullptr) {
        out.full_value.own() = full_->value;
        out.full_class.own() = full_->point_class;
    }
    out.state.own() = {seen_, begun_, built_, open_in_use_ ? 1 : 0,
                       building_ ? static_cast<std::int64_t>(building_->steps()) : 0};
    return out;
}

namespace {

/// Throws unless a building in these arrays has started and has not ended: one step was taken with each record since.
void require_building(const Blocks::Arrays& in, std::size_t block_size) {
    const auto require = [](bool holds, const char* fault) { require_intact(holds, "the blocks", fault); };
    const bool full = in.full_class.size() > 0;
    const std::int64_t steps = in.state[4];
    if (steps == 0) return require(!full, "a full block is not being built");
    const auto open = static_cast<std::int64_t>(in.open_class.size());
    const std::int64_t points = full ? static_cast<std::int64_t>(block_size) : in.state[2];
    require(!full || (in.full_class.size() == block_size && in.block_size.size() > 0 && in.state[3] == 0 &&
                      in.state[2] == 0),
            "the full block has another size, or was never in use");
    require(points > 0 && steps > 1 &&
                steps <= static_cast<std::int64_t>(max_steps(static_cast<std::size_t>(points))) &&
                (full || open < static_cast<std::int64_t>(block_size)) && open - (full ? 0 : points) + 1 < steps,
            "the building has ended");
}

}  // namespace

Blocks Blocks::from_arrays(BlocksSettings settings, std::size_t dimensions, std::size_t classes, const Arrays& in) {
    const auto require = [](bool holds, const char* fault) { require_intact(holds, "the blocks", fault); };
    Blocks model(std::move(settings), dimensions);
    model.declare_classes(classes);
    const auto known = [&](std::int32_t c) { return c >= 0 && static_cast<std::size_t>(c) < classes; };
    require(in.code.size() == in.point_class.size() * dimensions, "points and classes differ in number");
    require(in.open_value.size() == in.open_class.size() * dimensions, "open points and classes differ in number");
    require(in.open_class.size() <= model.settings_.block_size, "the open block is too large");
    require(std::ranges::all_of(in.point_class.view(), known), "a point has no valid class");
    require(std::ranges::all_of(in.open_class.view(), known), "a point of the open block has no valid class");
    require(std::ranges::none_of(in.middle.view(), [](float v) { return std::isinf(v); }), "a middle is infinite");
    require(std::ranges::none_of(in.open_value.view(), [](float v) { return std::isinf(v); }), "a value is infinite");
    require(in.state.size() == 5 && in.state[0] >= 0 && in.state[0] <= kMaxSeen && in.state[1] >= 0 &&
                in.state[1] <= kMaxSeen && in.state[2] >= 0 &&
                in.state[2] <= static_cast<std::int64_t>(in.open_class.size()) && in.state[3] >= 0 &&
                in.state[3] <= (in.block_size.size() == 0 ? 0 : 1),
            "the counters contradict each other");
    require(std::ranges::all_of(in.full_class.view(), known), "a point of the full block has no valid class");
    require(std::ranges::none_of(in.full_value.view(), [](float v) { return std::isinf(v); }), "a value is infinite");
    require(in.full_value.size() == in.full_class.size() * dimensions, "full points and classes differ in number");
    require_building(in, model.settings_.block_size);
    require(in.first_seen.size() == classes, "not every class has a time of its first point");
    std::size_t point = 0, middle = 0;
    CutReader cuts(in.cut.view(), in.cut_end.view());
    for (std::size_t b = 0; b < in.block_size.size(); ++b) {
        require(in.block_size[b] > 0 && in.block_size[b] <= static_cast<std::int64_t>(model.settings_.block_size) &&
                    point + static_cast<std::size_t>(in.block_size[b]) <= in.point_class.size(),
                "a block has more points than there are");
        const auto size = static_cast<std::size_t>(in.block_size[b]);
        Ranges ranges = cuts.next(dimensions, model.settings_.ranges, model.settings_.categorical);
        std::size_t all_ranges = 0;
        for (std::size_t j = 0; j < dimensions; ++j) all_ranges += ranges.ranges(j);
        require(middle + all_ranges <= in.middle.size(), "not every range has a middle");
        const float* const from = in.middle.data() + middle;
        std::vector<float> middles(from, from + all_ranges);
        middle += all_ranges;
        const std::span<const std::uint8_t> codes(in.code.data() + point * dimensions, size * dimensions);
        for (std::size_t i = 0; i < codes.size(); ++i)
            require(codes[i] == kMissing || codes[i] < ranges.ranges(i % dimensions), "a point lies in no range");
        model.blocks_.push_back(std::make_shared<const Block>(std::move(ranges), std::move(middles), codes,
                                                              std::span(in.point_class.data() + point, size)));
        point += size;
    }
    require(point == in.point_class.size() && middle == in.middle.size(),
            "there are more points or middles than the blocks have");
    cuts.end();
    model.open_value_ = in.open_value.copy();
    model.open_class_ = in.open_class.copy();
    model.first_seen_ = in.first_seen.copy();
    model.seen_ = in.state[0];
    model.begun_ = in.state[1];
    model.built_ = in.state[2];
    model.open_in_use_ = in.state[3] != 0;
    model.find_only_class();
    if (in.state[4] > 0) {
        const bool full = in.full_class.size() > 0;
        if (full) model.full_ = std::make_shared<const Points>(in.full_value.copy(), in.full_class.copy());
        const std::size_t size = full ? in.full_class.size() : static_cast<std::size_t>(model.built_);
        const std::size_t taken = model.open_class_.size() - (full ? 0 : size) + 1;
        model.restart_building(size, static_cast<std::size_t>(in.state[4]), taken);
    }
    return model;
}

std::size_t Blocks::own_bytes() const noexcept {
    std::size_t bytes = sizeof(Blocks) + first_seen_.capacity() * sizeof(std::int64_t) +
                        open_value_.capacity() * sizeof(float) + open_class_.capacity() * sizeof(std::int32_t);
    for (const auto& block : blocks_) bytes += sizeof(Block) + block->own_bytes();
    if (building_) bytes += building_->own_bytes();
    if (full_ != nullptr)
        bytes += full_->value.capacity() * sizeof(float) + full_->point_class.capacity() * sizeof(std::int32_t);
    return bytes;
}

}  // namespace anystream::subspace
