#include "anystream/neighbors/list_renewal.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <string_view>
#include <tuple>

#include "anystream/growth.hpp"

namespace anystream::neighbors {

namespace {

// Units of work: about one exemplar in a scan.
constexpr std::int64_t kCopyCost = 64, kOpenCost = 64, kMergeCost = 4;

}  // namespace

std::size_t balanced_head(std::size_t n, std::size_t setup) {
    return std::clamp(static_cast<std::size_t>(std::round(2.0 * std::sqrt(static_cast<double>(n)))), setup, n);
}

ListRenewal::ListRenewal(const Space& like) : next_(like.empty_copy()), probe_(like.probe()) {}

ListRenewal::ListRenewal(const ListRenewal& other)
    : next_(other.next_->clone()),
      probe_(other.next_->probe()),
      phase_(other.phase_),
      head_(other.head_),
      n_(other.n_),
      portion_(other.portion_),
      done_(other.done_),
      label_(other.label_),
      serial_(other.serial_),
      list_(other.list_),
      distance_(other.distance_),
      centre_(other.centre_),
      away_(other.away_),
      sorted_(other.sorted_),
      merged_(other.merged_),
      run_(other.run_),
      start_(other.start_),
      left_(other.left_),
      right_(other.right_) {}

void ListRenewal::reserve(const Space& space, std::size_t positions, std::size_t max_setup) {
    if (positions > next_->size()) next_->reserve(positions - next_->size());
    reserve_doubling(label_.own(), positions);
    reserve_doubling(serial_.own(), positions);
    reserve_doubling(distance_.own(), positions);
    reserve_doubling(list_.own(), std::max(balanced_head(positions, 0), max_setup) + 1);
    reserve_doubling(centre_, positions);
    reserve_doubling(away_, positions);
    reserve_doubling(sorted_, positions);
    reserve_doubling(merged_, positions);
    if (space.size() > 0) probe_->open(*next_, space.row(0));  // all rows of vectors are equally long
    best_.reset(1);
}

void ListRenewal::begin(const Source& source, std::size_t setup) {
    n_ = source.order.size();
    head_ = balanced_head(n_, setup);
    const std::size_t listed = n_ - head_;
    list_.own().assign(head_ + 1, 0);
    const auto passes = static_cast<std::int64_t>(std::bit_width(listed));
    const std::int64_t work =
        static_cast<std::int64_t>(n_) * kCopyCost +
        static_cast<std::int64_t>(listed) * (static_cast<std::int64_t>(head_) + kOpenCost + passes * kMergeCost);
    const auto calls = static_cast<std::int64_t>(24 + source.begun / 22);  // the rest of 32 + begun / 16: the late ones
    portion_ = work / calls + 1;
    enter(Phase::heads);
}

void ListRenewal::enter(Phase phase) {
    phase_ = phase;
    done_ = 0;
    if (phase == Phase::sort) {
        run_ = 1;
        start_ = left_ = 0;
        right_ = std::min<std::size_t>(1, sorted_.size());
    }
    if (phase == Phase::late) {
        auto& border = list_.own();
        border[0] = static_cast<std::int64_t>(head_);
        for (std::size_t l = 0; l < head_; ++l) border[l + 1] += border[l];
    }
}

bool ListRenewal::advance(const Source& source) {
    for (std::int64_t left = portion_; left > 0;) {
        switch (phase_) {
            case Phase::heads:
                if (done_ == head_) {
                    enter(Phase::assign);
                    break;
                }
                copy(source, static_cast<std::size_t>(source.order[done_++]));
                left -= kCopyCost;
                break;
            case Phase::assign:
                if (head_ + done_ == n_) {
                    enter(Phase::sort);
                    break;
                }
                assign(source, done_++);
                left -= static_cast<std::int64_t>(head_) + kOpenCost;
                break;
            case Phase::sort:
                if (!merge_one()) enter(Phase::lists);
                left -= kMergeCost;
                break;
            case Phase::lists: {
                if (done_ == sorted_.size()) {
                    enter(Phase::late);
                    break;
                }
                const auto i = static_cast<std::size_t>(sorted_[done_++]);
                copy(source, static_cast<std::size_t>(source.order[head_ + i]));
                distance_.own().push_back(away_[i]);
                ++list_.own()[static_cast<std::size_t>(centre_[i]) + 1];
                left -= kCopyCost;
                break;
            }
            case Phase::late:
                if (source.begun + done_ == source.space.size()) return true;
                copy(source, source.begun + done_++);
                left -= kCopyCost;
                break;
        }
    }
    return false;
}

void ListRenewal::copy(const Source& source, std::size_t position) {
    next_->append(source.space.row(position));
    label_.own().push_back(source.label[position]);
    serial_.own().push_back(source.serial[position]);
}

void ListRenewal::assign(const Source& source, std::size_t i) {
    probe_->open(*next_, source.space.row(static_cast<std::size_t>(source.order[head_ + i])));
    best_.reset(1);
    probe_->nearest(*next_, 0, head_, {}, best_, kNothingSkipped);
    const auto found = best_.found();  // empty if no distance is a number
    centre_.push_back(found.empty() ? 0 : static_cast<std::int32_t>(found[0].position));
    away_.push_back(found.empty() ? std::numeric_limits<double>::infinity() : next_->distance(found[0].power));
    sorted_.push_back(static_cast<std::int32_t>(i));
    merged_.push_back(0);
}

/// One step of a merge sort from the bottom up, which is stable; false when all is sorted.
bool ListRenewal::merge_one() {
    const std::size_t n = sorted_.size();
    if (run_ >= n) return false;
    const std::size_t middle = std::min(start_ + run_, n), end = std::min(start_ + 2 * run_, n);
    const auto key = [&](std::size_t at) {
        const auto i = static_cast<std::size_t>(sorted_[at]);
        return std::tuple(centre_[i], away_[i]);
    };
    const bool from_left = left_ < middle && (right_ >= end || !(key(right_) < key(left_)));
    const std::size_t to = left_ + right_ - middle;
    merged_[to] = sorted_[from_left ? left_ : right_];
    ++(from_left ? left_ : right_);
    if (to + 1 < end) return true;
    start_ = end;
    if (start_ == n) {
        sorted_.swap(merged_);
        start_ = 0;
        run_ *= 2;
    }
    left_ = start_;
    right_ = std::min(start_ + run_, n);
    return true;
}

void ListRenewal::forget(std::int64_t serial) {
    auto& all = serial_.own();
    if (const auto at = std::find(all.begin(), all.end(), serial); at != all.end()) *at = -1;
}

bool ListRenewal::free_portion(std::size_t bytes) noexcept {
    constexpr std::size_t kLargeBytes = std::size_t{1} << 18;  // such arrays have pages of their own
    std::size_t begin = 0;                                     // of an array among the bytes of all
    const auto visit = [&](const auto& array) {
        const std::size_t size = array.capacity() * sizeof(*array.data());
        if (size < kLargeBytes) return;
        const std::size_t from = std::max(freed_, begin) - begin;
        if (from < size && bytes > 0) {
            const std::size_t portion = std::min(bytes, size - from);
            madvise(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(array.data()) + from), portion,
                    MADV_DONTNEED);
            freed_ = begin + from + portion;
            bytes -= portion;
        }
        begin += size;
    };
    try {
        for (const NamedColumn& each : next_->columns())
            if (const std::string_view name = each.name; name == "rows" || name == "blocks")  // which are not borrowed
                std::visit([&](auto* column) { visit(column->own()); }, each.column);
        visit(label_.own());
        visit(serial_.own());
        visit(centre_);
        visit(away_);
        visit(sorted_);
        visit(merged_);
    } catch (const std::bad_alloc&) {
        return true;  // all of it is freed at once instead
    }
    return freed_ >= begin;
}

std::size_t ListRenewal::own_bytes() const {
    return column_bytes(*next_) + label_.own_bytes() + serial_.own_bytes() + list_.own_bytes() + distance_.own_bytes() +
           (centre_.capacity() + sorted_.capacity() + merged_.capacity()) * sizeof(std::int32_t) +
           away_.capacity() * sizeof(double);
}

}  // namespace anystream::neighbors
