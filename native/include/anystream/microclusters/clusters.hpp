// Supervised micro-clusters of a stream, with snapshots of earlier times.
//
// A cluster holds the moments of its points and of their times: count, mean and scatter are equivalent to the paper's
// (n, CF1, CF2), without their cancellation, and can be added and subtracted like them. Snapshots of all clusters are
// kept in a pyramid: one is taken every `snapshot_every` points, those whose number is divisible by 2^i are of order i,
// and the last few of each order stay. A snapshot subtracted from the present leaves the clusters of the time since
// then: that is a horizon. The horizon is chosen by how well it classifies points that are held back for this; they are
// learned later, one whenever another is held back, so that no call learns more points than it is given.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "anystream/column.hpp"
#include "anystream/fork.hpp"
#include "anystream/microclusters/horizon_choice.hpp"

namespace anystream::microclusters {

struct Settings {
    std::size_t clusters = 1000;
    double boundary = 2.0;              // a cluster absorbs points within this many root mean squared deviations
    std::int64_t stale_after = 20'000;  // points; a cluster that is not relevant for this long is removed
    std::int64_t snapshot_every = 1000;
    std::size_t per_order = 3;          // snapshots of each order
    std::int64_t choose_every = 2000;   // points between two choices of the horizon
    std::int64_t choose_within = 1000;  // points over which the work of a choice is spread, at most choose_every
    std::int64_t hold_back = 16;        // one point in this many is used to choose the horizon before it is learned
    bool standardise = true;
};

/// A set of points; their moments are rows of the model's arrays.
struct Cluster {
    std::int64_t id = 0;
    std::int32_t point_class = 0;
    double count = 0.0;
    double time_mean = 0.0, time_scatter = 0.0;
};

/// The clusters of a snapshot.
struct PastClusters {
    std::vector<double> count;           // (clusters,)
    std::vector<double> observed, mean;  // (clusters, dimensions)
};

struct Snapshot {
    std::int64_t time;                             // points seen then
    std::vector<std::int64_t> id;                  // of the cluster that each is part of now, or -1
    std::shared_ptr<const PastClusters> clusters;  // shared with copies of the model: they never change

    [[nodiscard]] std::size_t size() const noexcept { return id.size(); }
};

/// The clusters of the chosen horizon in the order in which they are compared: the largest of each class, then the
/// others, larger ones first.
struct Horizon {
    std::size_t stride = 0;
    std::vector<float> centroid;            // (size, stride) standardised, padded with NaN
    std::vector<std::int32_t> point_class;  // (size,)
    std::vector<double> share;              // (classes,) of the points
    std::int32_t only_class = -1;

    [[nodiscard]] std::size_t size() const noexcept { return point_class.size(); }
    [[nodiscard]] const float* row(std::size_t i) const noexcept { return centroid.data() + i * stride; }
};

/// Computed on first use; a copy shares it. Threads that race compute the same.
class LazyHorizon {
  public:
    LazyHorizon() = default;
    LazyHorizon(const LazyHorizon& other) : made_(other.peek()) {}
    LazyHorizon& operator=(const LazyHorizon& other) {
        if (this != &other) made_ = other.peek();
        return *this;
    }
    void clear() { made_.reset(); }
    template <typename Make>
    [[nodiscard]] std::shared_ptr<const Horizon> get(Make&& make) const {
        if (auto made = peek()) return made;
        auto made = std::make_shared<const Horizon>(make());
        const std::lock_guard lock(guard_);
        if (!made_) made_ = std::move(made);
        return made_;
    }

  private:
    [[nodiscard]] std::shared_ptr<const Horizon> peek() const {
        const std::lock_guard lock(guard_);
        return made_;
    }
    mutable BriefMutex guard_;
    mutable std::shared_ptr<const Horizon> made_;
};

/// Const members may run on any number of threads; other members may not run concurrently with any.
class Clusters {
  public:
    Clusters(Settings settings, std::size_t dimensions);

    // -- what queries read -----------------------------------------------------------------------------------------
    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
    [[nodiscard]] std::shared_ptr<const Horizon> horizon() const;
    /// x as the centroids are: standardised, padded with NaN. `out` has the horizon's stride.
    void standardise(const double* x, float* out) const noexcept;
    [[nodiscard]] std::size_t stride() const noexcept;
    [[nodiscard]] const std::vector<Cluster>& clusters() const noexcept { return clusters_; }
    [[nodiscard]] std::int64_t seen() const noexcept { return seen_; }
    /// Points in the chosen horizon; all that were seen if it is the whole past.
    [[nodiscard]] std::int64_t horizon_points() const noexcept;
    /// The clusters since the snapshot, or of the whole past.
    [[nodiscard]] Horizon since(const Snapshot* snapshot) const;
    [[nodiscard]] const std::vector<Snapshot>& snapshots() const noexcept { return snapshots_; }
    [[nodiscard]] std::span<const double> held_values() const noexcept { return held_value_; }
    [[nodiscard]] std::span<const std::int32_t> held_classes() const noexcept { return held_class_; }
    /// Distances computed to learn, since the model was made, loaded or copied from another: how much work it was.
    [[nodiscard]] std::uint64_t distances() const noexcept { return distances_; }

    // -- learning --------------------------------------------------------------------------------------------------
    /// Whether learning these points needs no more than `reserve` allocates: no cluster is removed or joined, no
    /// snapshot taken and no horizon chosen.
    [[nodiscard]] bool learns_in_place(std::span<const double> values, std::span<const std::int32_t> labels,
                                       std::size_t classes) const;
    /// Allocates what learning the points can need; if this throws, nothing has changed that can be observed.
    void reserve(std::span<const double> values, std::span<const std::int32_t> labels, std::size_t classes);
    void learn(std::span<const double> values, std::span<const std::int32_t> labels);
    void declare_classes(std::size_t classes);
    void add_features(std::size_t dimensions);
    /// The clusters of all parts, by their age in their part; the closest of a class are joined until they fit. The
    /// pyramid starts empty.
    static Clusters merged(std::span<const Clusters* const> parts,
                           std::span<const std::vector<std::int32_t>> class_maps, std::size_t classes);

    // -- storage ---------------------------------------------------------------------------------------------------
    /// The model as arrays: what files and pickles hold.
    struct Arrays {
        Column<std::int64_t> cluster_id;     // (clusters,)
        Column<std::int32_t> cluster_class;  // (clusters,)
        Column<double> cluster_moments;      // (clusters, 3): count, mean and scatter of the times
        Column<double> cluster_observed, cluster_mean, cluster_scatter;  // (clusters, dimensions)
        Column<std::int64_t> snapshot;                                   // (snapshots, 2): time, clusters
        Column<std::int64_t> past_id;                                    // (past clusters,)
        Column<double> past_count;                                       // (past clusters,)
        Column<double> past_observed, past_mean;                         // (past clusters, dimensions)
        Column<double> held_value;                                       // (held back, dimensions)
        Column<std::int32_t> held_class;                                 // (held back,)
        Column<double> moments;  // (5, dimensions): observed, mean, scatter, shift, scale
        /// (7,): seen, next id, scaled at, time of the chosen snapshot or -1, time of the choice that is in progress or
        /// -1, its outcome, points held back that are due to be learned
        Column<std::int64_t> state;

        [[nodiscard]] NamedColumns columns() {
            return {{"cluster_id", &cluster_id},
                    {"cluster_class", &cluster_class},
                    {"cluster_moments", &cluster_moments},
                    {"cluster_observed", &cluster_observed},
                    {"cluster_mean", &cluster_mean},
                    {"cluster_scatter", &cluster_scatter},
                    {"snapshot", &snapshot},
                    {"past_id", &past_id},
                    {"past_count", &past_count},
                    {"past_observed", &past_observed},
                    {"past_mean", &past_mean},
                    {"held_value", &held_value},
                    {"held_class", &held_class},
                    {"moments", &moments},
                    {"state", &state}};
        }
    };
    [[nodiscard]] Arrays arrays() const;
    /// Throws DamagedModel if the arrays do not fit each other.
    static Clusters from_arrays(Settings settings, std::size_t dimensions, std::size_t classes, const Arrays& arrays);
    [[nodiscard]] std::size_t own_bytes() const noexcept;

  private:
    void learn_one(const double* x, std::int32_t point_class, std::int64_t time);
    /// The cluster that absorbs a point, or clusters_.size() if it becomes a cluster of its own.
    [[nodiscard]] std::size_t absorbing(const float* row, std::int32_t point_class) const;
    void count_in(const double* x);
    void rescale();
    void place(std::size_t i);
    void absorb(std::size_t i, const double* x, std::int64_t time);
    void create(const double* x, std::int32_t point_class, std::int64_t time);
    void free_cluster();
    void join_closest(std::size_t how_many);
    void join(std::size_t into, std::size_t from);
    void remove(const std::vector<bool>& leaves);
    /// The root mean squared deviation of the points of cluster i.
    [[nodiscard]] double deviation(std::size_t i) const;
    [[nodiscard]] double relevance(const Cluster& cluster) const;
    void take_snapshot();
    void thin_snapshots();
    void begin_choice();
    void work_on_choice(std::int64_t seen);
    void end_choice_when_due();
    [[nodiscard]] std::int64_t outcome();
    void learn_oldest_held();
    void settle_past();

    Settings settings_;
    std::size_t dimensions_;
    std::size_t classes_ = 0;
    std::int64_t seen_ = 0;
    std::int64_t next_id_ = 0;
    std::int64_t scaled_at_ = 0;     // points seen when the scale was last taken
    std::int64_t chosen_time_ = -1;  // the snapshot that the horizon begins with, or -1 for the whole past
    std::vector<Cluster> clusters_;
    /// (clusters, dimensions), of the points that are not missing there: their number, mean and squared deviations
    std::vector<double> cluster_observed_, cluster_mean_, cluster_scatter_;
    std::vector<std::int32_t> class_of_;                           // (clusters,) once more, close together
    std::vector<float> centroid_;                                  // (clusters, stride) standardised
    std::vector<std::pair<std::int64_t, std::int64_t>> departed_;  // (id, heir or -1) since the past was settled
    std::vector<Snapshot> snapshots_;                              // by time
    std::int64_t choice_at_ = -1;          // points seen when the choice in progress began, or -1
    std::int64_t outcome_ = -1;            // of the choice in progress, if choice_ is empty
    std::optional<HorizonChoice> choice_;  // in progress
    std::vector<double> held_value_;       // oldest first
    std::vector<std::int32_t> held_class_;
    std::size_t due_ = 0;          // of the points held back: a choice has used them, and they are to be learned
    std::uint64_t distances_ = 0;  // not stored
    std::vector<double> observed_, mean_, scatter_;  // (dimensions,) of all points
    std::vector<double> shift_, scale_;              // (dimensions,) of the standardised space, z = (x - shift) * scale
    LazyHorizon horizon_;
    std::vector<float> row_;  // scratch
};

}  // namespace anystream::microclusters
