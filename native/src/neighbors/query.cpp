#include "anystream/neighbors/query.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace anystream::neighbors {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kCaution = 1e-10;  // relative rounding error of the triangle inequality
constexpr double kSame = 1e-9;      // relative difference of distances between machines

}  // namespace

void Query::open(const Gallery& gallery, const QuerySettings& settings, Row x) {
    const Space& space = gallery.space();
    if (!probe_ || *probed_ != typeid(space)) {
        probe_ = space.probe();
        probed_ = &typeid(space);
    }
    probe_->open(space, x);
    triangle_ = space.triangle(std::none_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }));
    best_.reset(settings.k, gallery.oldest());
    state_ = {};
    centre_.resize(gallery.head());
    compare(gallery, gallery.setup());
    compare_fronts(gallery);
    find_next(gallery);
}

void Query::compare_fronts(const Gallery& gallery) {
    for (const std::int64_t front : gallery.fronts()) {
        const auto p = static_cast<std::size_t>(front);
        double power = 0.0;
        probe_->powers(gallery.space(), p, p + 1, {&power, 1});
        if (p != left_out_) best_.offer({power, gallery.serials()[p], front});
    }
}

/// Compares positions up to `last`; returns how many.
std::size_t Query::compare(const Gallery& gallery, std::size_t last) {
    const Space& space = gallery.space();
    const auto first = static_cast<std::size_t>(state_.position);
    if (first < gallery.head()) {  // prototypes: all of their distances are needed later
        last = std::min(last, gallery.head());
        probe_->powers(space, first, last, std::span(centre_).subspan(first, last - first));
        for (std::size_t p = first; p < last; ++p) {
            if (p != left_out_) best_.offer({centre_[p], gallery.serials()[p], static_cast<std::int64_t>(p)});
            centre_[p] = space.distance(centre_[p]);
        }
    } else {
        probe_->nearest(space, first, last, gallery.serials(), best_, left_out_);
    }
    state_.position = static_cast<std::int64_t>(last);
    return last - first;
}

double Query::bound(const Gallery& gallery) const {
    return gallery.space().distance(best_.bound());
}

/// Sorts the lists by the distance of their centres, and computes the bounds from their radii.
void Query::order_lists(const Gallery& gallery) {
    const std::size_t n = gallery.head();
    lists_.resize(n);
    std::iota(lists_.begin(), lists_.end(), 0);
    std::sort(lists_.begin(), lists_.end(), [&](std::int32_t a, std::int32_t b) {
        const double first = centre_[static_cast<std::size_t>(a)], second = centre_[static_cast<std::size_t>(b)];
        return first < second || (first == second && a < b);
    });
    certain_.assign(n + 1, gallery.size() > gallery.listed() || !triangle_ ? -kInfinity : kInfinity);
    if (!triangle_ || gallery.size() > gallery.listed()) return;
    for (std::size_t i = n; i-- > 0;) {
        const auto l = static_cast<std::size_t>(lists_[i]);
        const std::size_t end = gallery.list_end(l);
        double lower = kInfinity;
        if (end > gallery.list_begin(l)) {
            const double radius = gallery.centre_distance(end - 1);
            lower = centre_[l] - radius - kCaution * (centre_[l] + radius);
        }
        certain_[i] = std::min(certain_[i + 1], lower);
    }
}

/// Moves to the next list that can hold a nearer exemplar: exemplar e of list c is at least |d(x, c) - d(e, c)| away.
/// False if there is none.
bool Query::enter_next_list(const Gallery& gallery) {
    const std::size_t n = gallery.head();
    while (static_cast<std::size_t>(state_.list) < n) {
        const auto l = static_cast<std::size_t>(lists_[static_cast<std::size_t>(state_.list++)]);
        std::size_t begin = gallery.list_begin(l), end = gallery.list_end(l);
        const double reach = bound(gallery);
        if (triangle_ && reach < kInfinity) {
            const double caution = kCaution * (centre_[l] + reach);
            const auto place = [&](double distance, bool behind) {  // the first at it, or the first behind it
                std::size_t low = begin, high = end;
                while (low < high) {
                    const std::size_t middle = (low + high) / 2;
                    const double there = gallery.centre_distance(middle);
                    if (there < distance || (behind && there == distance)) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                return low;
            };
            const std::size_t from = place(centre_[l] - reach - caution, false);
            end = place(centre_[l] + reach + caution, true);
            begin = std::min(from, end);
        }
        if (begin < end) {
            state_.position = static_cast<std::int64_t>(begin);
            state_.list_end = static_cast<std::int64_t>(end);
            return true;
        }
    }
    while (static_cast<std::size_t>(state_.list) <= n + gallery.fronts().size()) {  // those learned later
        const std::size_t segment = static_cast<std::size_t>(state_.list++) - n;
        state_.position = static_cast<std::int64_t>(gallery.segment_begin(segment));
        state_.list_end = static_cast<std::int64_t>(gallery.segment_end(segment));
        if (state_.position < state_.list_end) return true;
    }
    return false;
}

/// Sets whether anything is left that could change the label; with lists, moves on to it.
void Query::find_next(const Gallery& gallery) {
    const auto position = static_cast<std::size_t>(state_.position);
    if (gallery.has_lists() && position >= gallery.head()) {
        if (state_.list < 0) {
            order_lists(gallery);
            state_.list = 0;
            state_.list_end = state_.position = static_cast<std::int64_t>(gallery.head());
        }
        if (state_.position < state_.list_end) {
            exhausted_ = false;
        } else {
            const auto next = std::min(static_cast<std::size_t>(state_.list), gallery.head());
            const bool sure = static_cast<std::size_t>(state_.list) <= gallery.head() &&
                              best_.found().size() == best_.k() && certain_[next] > bound(gallery);
            exhausted_ = sure || !enter_next_list(gallery);
        }
        return;
    }
    exhausted_ = position >= gallery.size();
}

std::int64_t Query::advance(const Gallery& gallery, std::int64_t steps, StopWatch* watch) {
    const std::size_t stride = watch == nullptr ? gallery.size() : gallery.space().stride();
    std::int64_t taken = 0;
    while (taken < steps && !exhausted_ && (watch == nullptr || !watch->due())) {
        const auto first = static_cast<std::size_t>(state_.position);
        std::size_t last = gallery.size();
        if (gallery.has_lists()) last = state_.list < 0 ? gallery.head() : static_cast<std::size_t>(state_.list_end);
        last = std::min(last, first + stride);
        const auto allowed = static_cast<std::uint64_t>(steps - taken);
        if (last - first > allowed) last = first + static_cast<std::size_t>(allowed);
        taken += static_cast<std::int64_t>(compare(gallery, last));
        find_next(gallery);
    }
    state_.steps += taken;
    return taken;
}

void Query::posterior(const Gallery& gallery, std::span<double> out) const {
    std::fill(out.begin(), out.end(), 0.0);
    const auto found = best_.found();
    if (found.empty()) {  // there is no exemplar
        std::fill(out.begin(), out.end(), 1.0 / static_cast<double>(out.size()));
        return;
    }
    std::vector<std::size_t> votes(out.size(), 0);
    for (const Neighbor& each : found)
        ++votes[static_cast<std::size_t>(gallery.label(static_cast<std::size_t>(each.position)))];
    for (std::size_t c = 0; c < out.size(); ++c)
        out[c] = static_cast<double>(votes[c]) / static_cast<double>(found.size());
}

std::size_t Query::label(const Gallery& gallery) const {
    const auto found = best_.found();
    if (found.empty()) return 0;
    if (found.size() == 1) return static_cast<std::size_t>(gallery.label(static_cast<std::size_t>(found[0].position)));
    std::vector<double> share(gallery.classes());
    posterior(gallery, share);
    return static_cast<std::size_t>(std::max_element(share.begin(), share.end()) - share.begin());
}

QueryState Query::suspend(const Gallery& gallery) const {
    QueryState state = state_;
    for (const Neighbor& each : best_.found())
        state.nearest.push_back({each.position, gallery.space().distance(each.power)});
    return state;
}

void Query::resume(const Gallery& gallery, const QuerySettings& settings, Row x, const QueryState& state) {
    const auto require = [](bool holds) {
        if (!holds)
            throw std::invalid_argument(
                "not the state of a query of this model; resume it with the model it was suspended on");
    };
    const auto n = static_cast<std::int64_t>(gallery.size()), head = static_cast<std::int64_t>(gallery.head());
    const auto setup = static_cast<std::int64_t>(gallery.setup());
    require(state.position >= setup && state.position <= n);
    require(state.steps >= 0 && state.steps <= n - setup);
    require(state.list_end >= 0 && state.list_end <= n);
    const auto segments = static_cast<std::int64_t>(gallery.fronts().size()) + 1;
    require(gallery.has_lists() ? state.list >= -1 && state.list <= head + segments : state.list == -1);
    require(state.list >= 0 ? state.position >= head && state.position <= state.list_end
                            : !gallery.has_lists() || state.position < head);
    require(state.nearest.size() <= settings.k && (gallery.present() == 0 || !state.nearest.empty()));
    open(gallery, settings, x);
    if (gallery.has_lists()) {  // the prototypes' distances again: they are no part of the state
        const bool done = state.list >= 0;
        compare(gallery, done ? gallery.head() : static_cast<std::size_t>(state.position));
        if (done) order_lists(gallery);
        require(state.steps <= max_steps(gallery, state));
        if (done && state.position < state.list_end) require(within_list(gallery, state));
    }
    best_.reset(settings.k, gallery.oldest());
    std::vector<std::int64_t> positions;
    for (const Near& each : state.nearest) {  // each distance again: to the last bit, and a check of the state
        require(each.position >= 0 && each.position < (gallery.has_lists() ? n : state.position));
        positions.push_back(each.position);
        const auto at = static_cast<std::size_t>(each.position);
        require(gallery.serials()[at] >= gallery.oldest());
        double power = 0.0;
        probe_->powers(gallery.space(), at, at + 1, {&power, 1});
        const double distance = gallery.space().distance(power);
        require(distance == each.distance || std::abs(distance - each.distance) <= kSame * distance);
        best_.offer({power, gallery.serials()[at], each.position});
    }
    std::sort(positions.begin(), positions.end());
    require(std::adjacent_find(positions.begin(), positions.end()) == positions.end());
    state_ = state;
    state_.nearest.clear();
    if (gallery.has_lists() && state.list >= 0) {
        exhausted_ = state.position >= state.list_end;
        return;
    }
    find_next(gallery);
}

/// How many exemplars a state with lists can have compared: every one up to its position, in the order of visits.
std::int64_t Query::max_steps(const Gallery& gallery, const QueryState& state) const {
    const std::size_t head = gallery.head(), all = gallery.size() - gallery.setup();
    if (state.list < 0) return state.position - static_cast<std::int64_t>(gallery.setup());
    if (state.position >= state.list_end && state.list > 0) return static_cast<std::int64_t>(all);
    const auto visited = std::min(static_cast<std::size_t>(state.list), head);
    std::size_t steps = head - gallery.setup();
    for (std::size_t i = 0; i < visited; ++i) {
        const auto l = static_cast<std::size_t>(lists_[i]);
        steps += gallery.list_end(l) - gallery.list_begin(l);
    }
    for (std::size_t s = 0; head + s < static_cast<std::size_t>(state.list); ++s)
        steps += gallery.segment_end(s) - gallery.segment_begin(s);
    return static_cast<std::int64_t>(std::min(steps, all)) - (state.list_end - state.position);
}

/// Whether a state with exemplars left to compare is in the list that it names.
bool Query::within_list(const Gallery& gallery, const QueryState& state) const {
    const auto position = static_cast<std::size_t>(state.position), end = static_cast<std::size_t>(state.list_end);
    if (state.list == 0) return false;
    if (static_cast<std::size_t>(state.list) > gallery.head()) {
        const std::size_t segment = static_cast<std::size_t>(state.list) - gallery.head() - 1;
        return position >= gallery.segment_begin(segment) && end == gallery.segment_end(segment);
    }
    const auto l = static_cast<std::size_t>(lists_[static_cast<std::size_t>(state.list) - 1]);
    return position >= gallery.list_begin(l) && end <= gallery.list_end(l);
}

}  // namespace anystream::neighbors
