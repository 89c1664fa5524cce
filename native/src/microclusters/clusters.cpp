#include "anystream/microclusters/clusters.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "anystream/growth.hpp"
#include "anystream/microclusters/kernels.hpp"
#include "anystream/portable_math.hpp"

namespace anystream::microclusters {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kRelevantPoints = 100.0;  // m: how recent a cluster is follows from its last m points
constexpr std::size_t kJoinedShare = 10;   // a tenth of the clusters is joined at once when all slots are in use
constexpr double kNothingLeft = 0.5;       // of a cluster, after subtraction

std::size_t padded(std::size_t size) noexcept {
    return (size + kLanes - 1) / kLanes * kLanes;
}

/// The quantile of the standard normal distribution, by an approximation of the inverse error function with an error
/// below 0.005.
double normal_quantile(double p) {
    const double x = 2.0 * p - 1.0;
    if (x <= 0.0) return 0.0;
    constexpr double a = 0.147;
    const double log_term = portable_log(1.0 - x * x);
    const double first = 2.0 / (std::numbers::pi * a) + log_term / 2.0;
    return std::numbers::sqrt2 * std::sqrt(std::sqrt(first * first - log_term / a) - first);
}

}  // namespace

Clusters::Clusters(Settings settings, std::size_t dimensions)
    : settings_(settings),
      dimensions_(dimensions),
      observed_(dimensions, 0.0),
      mean_(dimensions, 0.0),
      scatter_(dimensions, 0.0),
      shift_(dimensions, 0.0),
      scale_(dimensions, 1.0),
      row_(padded(dimensions), kNaN) {}

std::size_t Clusters::stride() const noexcept {
    return padded(dimensions_);
}

void Clusters::standardise(const double* x, float* out) const noexcept {
    for (std::size_t j = 0; j < dimensions_; ++j) out[j] = static_cast<float>((x[j] - shift_[j]) * scale_[j]);
    for (std::size_t j = dimensions_; j < stride(); ++j) out[j] = kNaN;
}

std::shared_ptr<const Horizon> Clusters::horizon() const {
    return horizon_.get([&] {
        for (const Snapshot& snapshot : snapshots_)
            if (snapshot.time == chosen_time_) return since(&snapshot);
        return since(nullptr);
    });
}

std::int64_t Clusters::horizon_points() const noexcept {
    return chosen_time_ < 0 ? seen_ : seen_ - chosen_time_;
}

void Clusters::declare_classes(std::size_t classes) {
    classes_ = std::max(classes_, classes);
    horizon_.clear();
}

// -- learning -------------------------------------------------------------------------------------------------------

namespace {

/// One point in `one_in`, spread evenly but not periodically: classes that arrive in a cycle could be missed.
bool is_held_back(std::int64_t time, std::int64_t one_in) noexcept {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
    const std::uint64_t lot = static_cast<std::uint64_t>(time) * kGolden >> 32;
    return lot % static_cast<std::uint64_t>(one_in) == 0;
}

}  // namespace

bool Clusters::learns_in_place(std::span<const double> values, std::span<const std::int32_t> labels,
                               std::size_t) const {
    const auto points = static_cast<std::int64_t>(labels.size());
    if (seen_ % settings_.choose_every + points >= settings_.choose_every) return false;
    if (seen_ % settings_.snapshot_every + points >= settings_.snapshot_every) return false;
    if (clusters_.size() + labels.size() <= settings_.clusters) return true;
    if (points > 1) return false;  // one of them may need a slot that must be freed
    const bool held_back = seen_ >= settings_.choose_every && is_held_back(seen_, settings_.hold_back);
    if (points == 0 || (held_back && due_ == 0)) return true;
    std::vector<float> row(stride());
    standardise(held_back ? held_value_.data() : values.data(), row.data());
    return absorbing(row.data(), held_back ? held_class_[0] : labels[0]) < clusters_.size();
}

void Clusters::reserve(std::span<const double>, std::span<const std::int32_t> labels, std::size_t) {
    const std::size_t points = labels.size();
    const std::size_t created = std::min(points, settings_.clusters - std::min(settings_.clusters, clusters_.size()));
    reserve_doubling(clusters_, clusters_.size() + created);
    for (auto* each : {&cluster_observed_, &cluster_mean_, &cluster_scatter_})
        reserve_doubling(*each, (clusters_.size() + created) * dimensions_);
    reserve_doubling(class_of_, clusters_.size() + created);
    reserve_doubling(centroid_, (clusters_.size() + created) * stride());
    reserve_doubling(held_value_, held_value_.size() + points * dimensions_);
    reserve_doubling(held_class_, held_class_.size() + points);
    work_on_choice(seen_ + static_cast<std::int64_t>(points));  // allocates, and changes nothing that can be observed
}

void Clusters::learn(std::span<const double> values, std::span<const std::int32_t> labels) {
    horizon_.clear();
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const double* x = values.data() + i * dimensions_;
        count_in(x);
        const bool settled = seen_ >= settings_.choose_every;  // before, every point is learned at once
        if (settled && is_held_back(seen_, settings_.hold_back)) {
            held_value_.insert(held_value_.end(), x, x + dimensions_);
            held_class_.push_back(labels[i]);
            if (due_ > 0) learn_oldest_held();
        } else {
            learn_one(x, labels[i], seen_);
        }
        ++seen_;
        if (2 * seen_ >= 3 * scaled_at_ && seen_ > scaled_at_) rescale();
        work_on_choice(seen_);
        end_choice_when_due();
        if (seen_ % settings_.choose_every == 0) begin_choice();
        if (seen_ % settings_.snapshot_every == 0) take_snapshot();
    }
}

void Clusters::count_in(const double* x) {
    for (std::size_t j = 0; j < dimensions_; ++j) {
        if (x[j] != x[j]) continue;
        observed_[j] += 1.0;
        const double difference = x[j] - mean_[j];
        mean_[j] += difference / observed_[j];
        scatter_[j] += difference * (x[j] - mean_[j]);
    }
}

/// Shift and scale are computed again whenever the points have grown by half.
void Clusters::rescale() {
    scaled_at_ = seen_;
    for (std::size_t j = 0; settings_.standardise && j < dimensions_; ++j) {
        const double variance = observed_[j] > 0.0 ? scatter_[j] / observed_[j] : 0.0;
        scale_[j] = variance > 0.0 ? 1.0 / std::sqrt(variance) : 1.0;
        shift_[j] = mean_[j];
    }
    for (std::size_t i = 0; i < clusters_.size(); ++i) place(i);
}

/// Writes the standardised centroid of cluster i.
void Clusters::place(std::size_t i) {
    float* out = centroid_.data() + i * stride();
    const double *observed = cluster_observed_.data() + i * dimensions_, *mean = cluster_mean_.data() + i * dimensions_;
    for (std::size_t j = 0; j < dimensions_; ++j)
        out[j] = observed[j] > 0.0 ? static_cast<float>((mean[j] - shift_[j]) * scale_[j]) : kNaN;
}

double Clusters::deviation(std::size_t i) const {
    const double* observed = cluster_observed_.data() + i * dimensions_;
    const double* scatter = cluster_scatter_.data() + i * dimensions_;
    double sum = 0.0;
    for (std::size_t j = 0; j < dimensions_; ++j)
        if (observed[j] > 0.0) sum += scatter[j] / observed[j] * scale_[j] * scale_[j];
    return std::sqrt(sum);
}

void Clusters::learn_one(const double* x, std::int32_t point_class, std::int64_t time) {
    standardise(x, row_.data());
    const std::size_t found = absorbing(row_.data(), point_class);
    distances_ += clusters_.size();
    if (found < clusters_.size()) {
        absorb(found, x, time);
    } else {
        create(x, point_class, time);
    }
}

std::size_t Clusters::absorbing(const float* row, std::int32_t point_class) const {
    const auto distance = kernels().squared_distance;
    const std::size_t none = clusters_.size();
    std::size_t nearest = none;
    float shortest = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < clusters_.size(); ++i) {
        if (class_of_[i] != point_class) continue;
        const float d = distance(row, centroid_.data() + i * stride(), stride());
        if (d < shortest) shortest = d, nearest = i;
    }
    if (nearest == none) return none;
    double reach = settings_.boundary * deviation(nearest);
    if (clusters_[nearest].count < 2.0) {  // a single point reaches as far as the next cluster of its class
        float next = std::numeric_limits<float>::infinity();
        for (std::size_t i = 0; i < clusters_.size(); ++i)
            if (i != nearest && class_of_[i] == point_class)
                next = std::min(
                    next, distance(centroid_.data() + nearest * stride(), centroid_.data() + i * stride(), stride()));
        reach = std::isinf(next) ? 0.0 : std::sqrt(static_cast<double>(next));
    }
    return static_cast<double>(shortest) <= reach * reach ? nearest : none;
}

void Clusters::absorb(std::size_t i, const double* x, std::int64_t time) {
    Cluster& cluster = clusters_[i];
    cluster.count += 1.0;
    const double t = static_cast<double>(time) - cluster.time_mean;
    cluster.time_mean += t / cluster.count;
    cluster.time_scatter += t * (static_cast<double>(time) - cluster.time_mean);
    double *observed = cluster_observed_.data() + i * dimensions_, *mean = cluster_mean_.data() + i * dimensions_;
    double* scatter = cluster_scatter_.data() + i * dimensions_;
    for (std::size_t j = 0; j < dimensions_; ++j) {
        if (x[j] != x[j]) continue;
        observed[j] += 1.0;
        const double difference = x[j] - mean[j];
        mean[j] += difference / observed[j];
        scatter[j] += difference * (x[j] - mean[j]);
    }
    place(i);
}

void Clusters::create(const double* x, std::int32_t point_class, std::int64_t time) {
    if (clusters_.size() >= settings_.clusters) free_cluster();
    clusters_.push_back({next_id_++, point_class, 1.0, static_cast<double>(time), 0.0});
    for (std::size_t j = 0; j < dimensions_; ++j) {
        cluster_observed_.push_back(x[j] == x[j] ? 1.0 : 0.0);
        cluster_mean_.push_back(x[j] == x[j] ? x[j] : 0.0);
        cluster_scatter_.push_back(0.0);
    }
    class_of_.push_back(point_class);
    centroid_.resize(clusters_.size() * stride(), kNaN);
    place(clusters_.size() - 1);
}

/// The arrival time of a cluster's last points: the paper's relevance stamp, times taken as normally distributed.
double Clusters::relevance(const Cluster& cluster) const {
    if (cluster.count < 2.0 * kRelevantPoints) return cluster.time_mean;
    const double spread = std::sqrt(cluster.time_scatter / cluster.count);
    return cluster.time_mean + normal_quantile(1.0 - kRelevantPoints / (2.0 * cluster.count)) * spread;
}

void Clusters::free_cluster() {
    std::vector<bool> leaves(clusters_.size(), false);
    bool any = false;
    for (std::size_t i = 0; i < clusters_.size(); ++i) {
        leaves[i] = relevance(clusters_[i]) < static_cast<double>(seen_ - settings_.stale_after);
        any = any || leaves[i];
    }
    if (any) {
        for (std::size_t i = 0; i < clusters_.size(); ++i)
            if (leaves[i]) departed_.emplace_back(clusters_[i].id, -1);
        remove(leaves);
        return;
    }
    join_closest(std::max<std::size_t>(1, settings_.clusters / kJoinedShare));
}

/// Joins up to `how_many` pairs, the closest first; no cluster takes part twice. If all classes differ, the cluster
/// that has been irrelevant for the longest time is removed instead.
void Clusters::join_closest(std::size_t how_many) {
    struct Pair {
        float distance;
        std::size_t a, b;
    };
    std::vector<Pair> pairs;  // each cluster and the closest of those of its class behind it
    std::vector<std::size_t> by_class(clusters_.size());
    std::iota(by_class.begin(), by_class.end(), std::size_t{0});
    std::ranges::stable_sort(by_class, {}, [&](std::size_t i) { return class_of_[i]; });
    std::vector<float> rows(centroid_.size());
    for (std::size_t p = 0; p < by_class.size(); ++p)
        std::copy_n(centroid_.data() + by_class[p] * stride(), stride(), rows.data() + p * stride());
    for (std::size_t p = 0, end = 0; p < by_class.size(); ++p) {
        const std::size_t a = by_class[p];
        while (end < by_class.size() && class_of_[by_class[end]] == class_of_[a]) ++end;
        const float *row = rows.data() + p * stride(), *behind = row + stride();
        const auto [b, d] = kernels().nearest(row, behind, end - p - 1, stride());
        if (b < end - p - 1) pairs.push_back({d, a, by_class[p + 1 + b]});
    }
    std::vector<bool> leaves(clusters_.size(), false), taken(clusters_.size(), false);
    if (pairs.empty()) {
        std::size_t oldest = 0;
        for (std::size_t i = 1; i < clusters_.size(); ++i)
            if (relevance(clusters_[i]) < relevance(clusters_[oldest])) oldest = i;
        leaves[oldest] = true;
        departed_.emplace_back(clusters_[oldest].id, -1);
    }
    std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::pair(pair.distance, pair.a); });
    std::size_t joined = 0;
    for (const auto& [d, a, b] : pairs) {
        if (taken[a] || taken[b]) continue;
        taken[a] = taken[b] = leaves[b] = true;
        join(a, b);
        if (++joined == how_many) break;
    }
    remove(leaves);
}

void Clusters::join(std::size_t into, std::size_t from) {
    Cluster& a = clusters_[into];
    const Cluster& b = clusters_[from];
    const double n = a.count + b.count, t = b.time_mean - a.time_mean;
    a.time_scatter += b.time_scatter + t * t * a.count * b.count / n;
    a.time_mean += t * b.count / n;
    a.count = n;
    for (std::size_t j = 0; j < dimensions_; ++j) {
        const std::size_t at = into * dimensions_ + j, other = from * dimensions_ + j;
        const double both = cluster_observed_[at] + cluster_observed_[other];
        if (both == 0.0) continue;
        const double difference = cluster_mean_[other] - cluster_mean_[at];
        cluster_scatter_[at] +=
            cluster_scatter_[other] + difference * difference * cluster_observed_[at] * cluster_observed_[other] / both;
        cluster_mean_[at] += difference * cluster_observed_[other] / both;
        cluster_observed_[at] = both;
    }
    departed_.emplace_back(b.id, a.id);
    place(into);
}

namespace {

/// Removes the rows of a table whose clusters leave.
template <typename Value>
void keep_rows(std::vector<Value>& table, std::size_t width, const std::vector<bool>& leaves) {
    auto kept = table.begin();
    for (std::size_t i = 0; i < leaves.size(); ++i)
        if (!leaves[i]) kept = std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(i * width), width, kept);
    table.erase(kept, table.end());
}

}  // namespace

void Clusters::remove(const std::vector<bool>& leaves) {
    keep_rows(clusters_, 1, leaves);
    keep_rows(class_of_, 1, leaves);
    keep_rows(centroid_, stride(), leaves);
    for (auto* each : {&cluster_observed_, &cluster_mean_, &cluster_scatter_}) keep_rows(*each, dimensions_, leaves);
}

// -- time -----------------------------------------------------------------------------------------------------------

void Clusters::take_snapshot() {
    settle_past();
    Snapshot snapshot{seen_, {}, {}};
    PastClusters past{{}, cluster_observed_, cluster_mean_};
    for (const Cluster& cluster : clusters_) {
        snapshot.id.push_back(cluster.id);
        past.count.push_back(cluster.count);
    }
    snapshot.clusters = std::make_shared<const PastClusters>(std::move(past));
    snapshots_.push_back(std::move(snapshot));
    thin_snapshots();
}

/// Of the snapshots whose number is divisible by 2^i but not by 2^(i + 1), the last `per_order` stay, and the one that
/// the horizon begins with; while a choice is in progress, all that it chooses from. Allocates nothing.
void Clusters::thin_snapshots() {
    std::array<std::size_t, 64> of_order{};
    for (std::size_t s = snapshots_.size(); s-- > 0;) {
        const std::int64_t time = snapshots_[s].time;
        const auto number = static_cast<std::uint64_t>(time / settings_.snapshot_every);
        const bool recent = of_order[static_cast<std::size_t>(std::countr_zero(number))]++ < settings_.per_order;
        if (!recent && time != chosen_time_ && time > choice_at_)
            snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(s));
    }
}

/// Updates the ids of past clusters to the clusters that they are part of now.
void Clusters::settle_past() {
    if (departed_.empty()) return;
    std::unordered_map<std::int64_t, std::int64_t> heir(departed_.begin(), departed_.end());
    for (Snapshot& snapshot : snapshots_) {
        for (std::int64_t& id : snapshot.id)
            for (auto found = heir.find(id); found != heir.end(); found = heir.find(id)) id = found->second;
    }
    departed_.clear();
}

/// Chooses by the model as it is now; the outcome counts `choose_within` points later.
void Clusters::begin_choice() {
    settle_past();
    auto then = std::make_shared<Clusters>(*this);
    then->horizon_.clear();
    choice_.emplace(std::move(then), due_);
    choice_at_ = seen_;
    due_ = held_class_.size();
    end_choice_when_due();
    while (settings_.choose_within == 0 && due_ > 0) learn_oldest_held();
}

/// Does the share of the work that is to be done when `seen` points have been seen.
void Clusters::work_on_choice(std::int64_t seen) {
    if (!choice_) return;
    const std::size_t work = choice_->work();
    const auto within = static_cast<std::size_t>(std::max<std::int64_t>(1, settings_.choose_within));
    const auto passed = std::min(within, static_cast<std::size_t>(seen - choice_at_));
    distances_ += choice_->advance(settings_.choose_within == 0 ? work : (work + within - 1) / within * passed);
}

void Clusters::end_choice_when_due() {
    if (choice_at_ < 0 || seen_ - choice_at_ < settings_.choose_within) return;
    chosen_time_ = outcome();
    choice_at_ = outcome_ = -1;
    choice_.reset();
    thin_snapshots();
}

std::int64_t Clusters::outcome() {
    if (!choice_) return outcome_;
    distances_ += choice_->advance(choice_->work());
    return choice_->best_time();
}

void Clusters::learn_oldest_held() {
    learn_one(held_value_.data(), held_class_.front(), seen_);
    held_value_.erase(held_value_.begin(), held_value_.begin() + static_cast<std::ptrdiff_t>(dimensions_));
    held_class_.erase(held_class_.begin());
    --due_;
}

Horizon Clusters::since(const Snapshot* snapshot) const {
    std::unordered_map<std::int64_t, std::size_t> place_of;
    std::vector<double> count(clusters_.size());
    std::vector<bool> reduced(clusters_.size());                        // by points before the snapshot
    std::vector<double> left(snapshot ? 2 * cluster_mean_.size() : 0);  // of reduced ones: observed, sums
    std::unordered_map<std::int64_t, std::int64_t> heir(departed_.begin(), departed_.end());
    for (std::size_t i = 0; i < clusters_.size(); ++i) {
        count[i] = clusters_[i].count;
        place_of.emplace(clusters_[i].id, i);
    }
    for (std::size_t p = 0; snapshot != nullptr && p < snapshot->size(); ++p) {
        std::int64_t id = snapshot->id[p];
        for (auto found = heir.find(id); found != heir.end(); found = heir.find(id)) id = found->second;
        const auto found = place_of.find(id);
        if (found == place_of.end()) continue;
        const std::size_t i = found->second;
        double *observed = left.data() + 2 * i * dimensions_, *sum = observed + dimensions_;
        for (std::size_t j = 0; !reduced[i] && j < dimensions_; ++j) {
            observed[j] = cluster_observed_[i * dimensions_ + j];
            sum[j] = observed[j] * cluster_mean_[i * dimensions_ + j];
        }
        reduced[i] = true;
        count[i] -= snapshot->clusters->count[p];
        const double* past_observed = snapshot->clusters->observed.data() + p * dimensions_;
        const double* past_mean = snapshot->clusters->mean.data() + p * dimensions_;
        for (std::size_t j = 0; j < dimensions_; ++j) {
            observed[j] -= past_observed[j];
            sum[j] -= past_observed[j] * past_mean[j];
        }
    }
    std::vector<std::size_t> order;
    Horizon horizon;
    horizon.share.assign(classes_, 0.0);
    double all = 0.0;
    for (std::size_t i = 0; i < clusters_.size(); ++i) {
        if (count[i] < kNothingLeft) continue;
        order.push_back(i);
        horizon.share[static_cast<std::size_t>(clusters_[i].point_class)] += count[i];
        all += count[i];
    }
    if (order.empty() && snapshot != nullptr) return since(nullptr);
    for (double& share : horizon.share) share = all > 0.0 ? share / all : 1.0 / static_cast<double>(classes_);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return count[a] > count[b]; });
    std::vector<bool> met(classes_, false);
    std::vector<std::size_t> first, others;
    for (const std::size_t i : order) {
        const auto c = static_cast<std::size_t>(clusters_[i].point_class);
        (met[c] ? others : first).push_back(i);
        met[c] = true;
    }
    order = std::move(first);
    order.insert(order.end(), others.begin(), others.end());
    horizon.stride = stride();
    horizon.centroid.assign(order.size() * stride(), kNaN);
    std::size_t known = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::size_t i = order[k];
        const double* rest = left.data() + 2 * i * dimensions_;
        for (std::size_t j = 0; j < dimensions_; ++j) {
            const double observed = reduced[i] ? rest[j] : cluster_observed_[i * dimensions_ + j];
            if (observed < kNothingLeft) continue;
            const double mean = reduced[i] ? rest[dimensions_ + j] / observed : cluster_mean_[i * dimensions_ + j];
            horizon.centroid[k * stride() + j] = static_cast<float>((mean - shift_[j]) * scale_[j]);
        }
        horizon.point_class.push_back(clusters_[i].point_class);
    }
    for (std::size_t c = 0; c < classes_; ++c)
        if (horizon.share[c] > 0.0 && all > 0.0) ++known, horizon.only_class = static_cast<std::int32_t>(c);
    if (known != 1) horizon.only_class = -1;
    return horizon;
}

}  // namespace anystream::microclusters
