// Clusters as arrays and back, with further dimensions, and joined with those of other models.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "anystream/damaged_model.hpp"
#include "anystream/microclusters/clusters.hpp"

namespace anystream::microclusters {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kMaxCount = std::int64_t{1} << 60;  // of points: sums of a few of them do not overflow

void append(Column<double>& to, const std::vector<double>& from) {
    to.own().append(from.begin(), from.end());
}

bool all_finite(const Column<double>& values) {
    return std::ranges::all_of(values.view(), [](double v) { return std::isfinite(v); });
}

bool none_negative(const Column<double>& values) {
    return std::ranges::all_of(values.view(), [](double v) { return v >= 0.0; });
}

/// A table of `n` rows with further columns, which are 0.
std::vector<double> widened(const std::vector<double>& table, std::size_t n, std::size_t width) {
    std::vector<double> out(n * width, 0.0);
    const std::size_t before = n == 0 ? 0 : table.size() / n;
    for (std::size_t i = 0; i < n; ++i) std::copy_n(table.data() + i * before, before, out.data() + i * width);
    return out;
}

std::vector<double> rows(const Column<double>& from, std::size_t first, std::size_t end, std::size_t width) {
    return {from.data() + first * width, from.data() + end * width};
}

}  // namespace

void Clusters::add_features(std::size_t dimensions) {
    outcome_ = outcome();  // with the features of the time when the choice began
    choice_.reset();
    for (auto* each : {&cluster_observed_, &cluster_mean_, &cluster_scatter_})
        *each = widened(*each, clusters_.size(), dimensions);
    for (Snapshot& snapshot : snapshots_) {
        const PastClusters& past = *snapshot.clusters;
        snapshot.clusters = std::make_shared<const PastClusters>(
            PastClusters{past.count, widened(past.observed, snapshot.size(), dimensions),
                         widened(past.mean, snapshot.size(), dimensions)});
    }
    std::vector<double> held(held_class_.size() * dimensions, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < held_class_.size(); ++i)
        std::copy_n(held_value_.begin() + static_cast<std::ptrdiff_t>(i * dimensions_), dimensions_,
                    held.begin() + static_cast<std::ptrdiff_t>(i * dimensions));
    held_value_ = std::move(held);
    for (auto* each : {&observed_, &mean_, &scatter_, &shift_}) each->resize(dimensions, 0.0);
    scale_.resize(dimensions, 1.0);
    dimensions_ = dimensions;
    row_.assign(stride(), kNaN);
    centroid_.assign(clusters_.size() * stride(), kNaN);
    for (std::size_t i = 0; i < clusters_.size(); ++i) place(i);
    horizon_.clear();
}

Clusters Clusters::merged(std::span<const Clusters* const> parts, std::span<const std::vector<std::int32_t>> class_maps,
                          std::size_t classes) {
    Clusters whole(parts[0]->settings_, parts[0]->dimensions_);
    whole.declare_classes(classes);
    for (const Clusters* part : parts) whole.seen_ += part->seen_;
    whole.scaled_at_ = whole.seen_;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const Clusters& part = *parts[p];
        for (std::size_t j = 0; j < whole.dimensions_; ++j) {
            const double both = whole.observed_[j] + part.observed_[j];
            if (both == 0.0) continue;
            const double difference = part.mean_[j] - whole.mean_[j];
            whole.scatter_[j] +=
                part.scatter_[j] + difference * difference * whole.observed_[j] * part.observed_[j] / both;
            whole.mean_[j] += difference * part.observed_[j] / both;
            whole.observed_[j] = both;
        }
        for (const auto& [all, some] : {std::pair(&whole.cluster_observed_, &part.cluster_observed_),
                                        std::pair(&whole.cluster_mean_, &part.cluster_mean_),
                                        std::pair(&whole.cluster_scatter_, &part.cluster_scatter_)})
            all->insert(all->end(), some->begin(), some->end());
        for (Cluster cluster : part.clusters_) {
            cluster.id = whole.next_id_++;
            cluster.point_class = class_maps[p][static_cast<std::size_t>(cluster.point_class)];
            cluster.time_mean += static_cast<double>(whole.seen_ - part.seen_);  // as old as it is in its part
            whole.class_of_.push_back(cluster.point_class);
            whole.clusters_.push_back(cluster);
        }
    }
    whole.centroid_.assign(whole.clusters_.size() * whole.stride(), kNaN);
    whole.rescale();
    while (whole.clusters_.size() > whole.settings_.clusters)
        whole.join_closest(whole.clusters_.size() - whole.settings_.clusters);
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const Clusters& part = *parts[p];
        for (std::size_t i = 0; i < part.held_class_.size(); ++i)
            whole.learn_one(part.held_value_.data() + i * whole.dimensions_,
                            class_maps[p][static_cast<std::size_t>(part.held_class_[i])], whole.seen_);
    }
    whole.departed_.clear();
    return whole;
}

Clusters::Arrays Clusters::arrays() const {
    Clusters settled = *this;
    settled.settle_past();
    Arrays out;
    for (const Cluster& cluster : settled.clusters_) {
        out.cluster_id.own().push_back(cluster.id);
        out.cluster_class.own().push_back(cluster.point_class);
        append(out.cluster_moments, {cluster.count, cluster.time_mean, cluster.time_scatter});
    }
    append(out.cluster_observed, cluster_observed_);
    append(out.cluster_mean, cluster_mean_);
    append(out.cluster_scatter, cluster_scatter_);
    for (const Snapshot& snapshot : settled.snapshots_) {
        out.snapshot.own().push_back(snapshot.time);
        out.snapshot.own().push_back(static_cast<std::int64_t>(snapshot.size()));
        out.past_id.own().append(snapshot.id.begin(), snapshot.id.end());
        append(out.past_count, snapshot.clusters->count);
        append(out.past_observed, snapshot.clusters->observed);
        append(out.past_mean, snapshot.clusters->mean);
    }
    out.held_value.own() = held_value_;
    out.held_class.own() = held_class_;
    for (const auto* each : {&observed_, &mean_, &scatter_, &shift_, &scale_}) append(out.moments, *each);
    out.state.own() = {
        seen_, next_id_, scaled_at_, chosen_time_, choice_at_, settled.outcome(), static_cast<std::int64_t>(due_)};
    return out;
}

Clusters Clusters::from_arrays(Settings settings, std::size_t dimensions, std::size_t classes, const Arrays& in) {
    const auto require = [](bool holds, const char* fault) { require_intact(holds, "the clusters", fault); };
    const auto known = [&](std::int32_t c) { return c >= 0 && static_cast<std::size_t>(c) < classes; };
    const std::size_t d = dimensions, n = in.cluster_id.size(), past = in.past_id.size();
    require(in.cluster_class.size() == n && in.cluster_moments.size() == 3 * n,
            "ids, classes and moments differ in number");
    require(
        in.cluster_observed.size() == n * d && in.cluster_mean.size() == n * d && in.cluster_scatter.size() == n * d,
        "their moments have other dimensions");
    require(in.past_count.size() == past && in.past_observed.size() == past * d && in.past_mean.size() == past * d,
            "clusters of snapshots have other dimensions");
    require(in.held_value.size() == in.held_class.size() * d, "points held back and their classes differ in number");
    require(in.moments.size() == 5 * d && in.state.size() == 7, "the moments of all points are missing");
    require(n <= settings.clusters, "there are more than the settings allow");
    require(std::ranges::all_of(in.cluster_class.view(), known), "a cluster has no valid class");
    require(std::ranges::all_of(in.held_class.view(), known), "a point held back has no class");
    for (const auto* each : {&in.cluster_moments, &in.cluster_observed, &in.cluster_mean, &in.cluster_scatter,
                             &in.past_count, &in.past_observed, &in.past_mean, &in.moments})
        require(all_finite(*each), "a moment is not finite");
    for (const auto* each : {&in.cluster_observed, &in.cluster_scatter, &in.past_count, &in.past_observed})
        require(none_negative(*each), "a moment is negative");
    require(std::ranges::none_of(in.held_value.view(), [](double v) { return std::isinf(v); }), "a value is infinite");
    for (std::size_t i = 0; i < 7; ++i) require(in.state[i] >= (i >= 3 && i <= 5 ? -1 : 0), "a counter is negative");
    require(std::ranges::max(in.state.view()) <= kMaxCount, "a counter is larger than any stream is long");
    require(in.state[4] < 0 || (in.state[4] <= in.state[0] && in.state[0] - in.state[4] < settings.choose_within),
            "the choice in progress has no valid time");
    require(static_cast<std::size_t>(in.state[6]) <= in.held_class.size(), "points that are due are missing");
    Clusters model(settings, dimensions);
    model.classes_ = classes;
    for (std::size_t i = 0; i < n; ++i) {
        require(in.cluster_moments[3 * i] >= 1.0 && in.cluster_moments[3 * i + 2] >= 0.0, "a cluster is empty");
        require(in.cluster_id[i] >= 0 && in.cluster_id[i] < in.state[1], "a cluster has no valid id");
        model.class_of_.push_back(in.cluster_class[i]);
        model.clusters_.push_back({in.cluster_id[i], in.cluster_class[i], in.cluster_moments[3 * i],
                                   in.cluster_moments[3 * i + 1], in.cluster_moments[3 * i + 2]});
    }
    model.cluster_observed_ = in.cluster_observed.copy();
    model.cluster_mean_ = in.cluster_mean.copy();
    model.cluster_scatter_ = in.cluster_scatter.copy();
    std::size_t at = 0;
    std::int64_t before = 0;
    for (std::size_t s = 0; 2 * s + 1 < in.snapshot.size(); ++s) {
        const std::int64_t time = in.snapshot[2 * s], size = in.snapshot[2 * s + 1];
        require(time > before && time <= in.state[0] && time % settings.snapshot_every == 0,
                "the times of the snapshots do not rise");
        require(size >= 0 && at + static_cast<std::size_t>(size) <= past, "clusters of a snapshot are missing");
        before = time;
        Snapshot snapshot{time, {}, {}};
        const auto end = at + static_cast<std::size_t>(size);
        snapshot.id.assign(in.past_id.data() + at, in.past_id.data() + end);
        snapshot.clusters = std::make_shared<const PastClusters>(PastClusters{
            rows(in.past_count, at, end, 1), rows(in.past_observed, at, end, d), rows(in.past_mean, at, end, d)});
        at = end;
        model.snapshots_.push_back(std::move(snapshot));
    }
    require(at == past && in.snapshot.size() == 2 * model.snapshots_.size(), "there are clusters of no snapshot");
    model.held_value_ = in.held_value.copy();
    model.held_class_ = in.held_class.copy();
    model.observed_ = rows(in.moments, 0, 1, d);
    model.mean_ = rows(in.moments, 1, 2, d);
    model.scatter_ = rows(in.moments, 2, 3, d);
    model.shift_ = rows(in.moments, 3, 4, d);
    model.scale_ = rows(in.moments, 4, 5, d);
    model.seen_ = in.state[0];
    model.next_id_ = in.state[1];
    model.scaled_at_ = in.state[2];
    model.chosen_time_ = in.state[3];
    model.choice_at_ = in.state[4];
    model.outcome_ = in.state[5];
    model.due_ = static_cast<std::size_t>(in.state[6]);
    model.centroid_.assign(n * model.stride(), kNaN);
    for (std::size_t i = 0; i < n; ++i) model.place(i);
    return model;
}

std::size_t Clusters::own_bytes() const noexcept {
    const std::size_t d = dimensions_ * sizeof(double);
    std::size_t bytes = sizeof(Clusters) + clusters_.size() * (sizeof(Cluster) + 3 * d) +
                        centroid_.capacity() * sizeof(float) + held_value_.capacity() * sizeof(double) + 5 * d;
    for (const Snapshot& snapshot : snapshots_)
        bytes += snapshot.size() * (sizeof(std::int64_t) + sizeof(double) + 2 * d);
    return choice_ ? bytes + choice_->own_bytes() : bytes;
}

}  // namespace anystream::microclusters
