// Micro-clusters for Python.
#include <tuple>

#include "anystream/microclusters/cluster_query.hpp"
#include "anystream/microclusters/kernels.hpp"
#include "stream_model_making.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::microclusters;
using Handle = SharedModel<Clusters>;
using Arguments = std::tuple<std::int64_t, double, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                             std::int64_t, bool>;

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

Settings cluster_settings(std::int64_t n_clusters, double boundary, std::int64_t stale_after,
                          std::int64_t snapshot_every, std::int64_t per_order, std::int64_t choose_every,
                          std::int64_t choose_within, std::int64_t hold_back, bool standardise) {
    return {checked_size("n_clusters", n_clusters, 1, 1'000'000),
            checked_number("boundary", boundary, 0.0, 1e9),
            checked_int("stale_after", stale_after, 1, kForever),
            checked_int("snapshot_every", snapshot_every, 1, kForever),
            checked_size("snapshots_per_order", per_order, 1, 1000),
            checked_int("choose_every", choose_every, 1, kForever),
            checked_int("choose_within", choose_within, 0, choose_every),
            checked_int("hold_back", hold_back, 2, kForever),
            standardise};
}

Arguments arguments_of(const Settings& s) {
    return {static_cast<std::int64_t>(s.clusters),
            s.boundary,
            s.stale_after,
            s.snapshot_every,
            static_cast<std::int64_t>(s.per_order),
            s.choose_every,
            s.choose_within,
            s.hold_back,
            s.standardise};
}

}  // namespace

void bind_microclusters(nb::module_& m) {
    nb::class_<Settings>(m, "MicroClusterSettings", "How micro-clusters grow, are removed and are stored in snapshots.")
        .def(nb::new_(&cluster_settings), "n_clusters"_a, "boundary"_a, "stale_after"_a, "snapshot_every"_a,
             "snapshots_per_order"_a, "choose_every"_a, "choose_within"_a, "hold_back"_a, "standardise"_a);
    nb::class_<QuerySettings>(m, "MicroClusterQuerySettings", "Queries on micro-clusters have no settings.")
        .def(nb::init<>());
    bind_query<BoundQuery<ClusterQuery>>(m, "MicroClusterQuery");
    auto bound = bind_stream_model<ClusterQuery>(
        m, "MicroClusters", "Supervised micro-clusters. Many threads may classify while one learns.");
    bind_making(bound, &cluster_settings, &arguments_of, +[](const Settings&, std::size_t) {});
    bound
        .def(
            "add_features",
            [](Handle& h, std::size_t dimensions) {
                h.change([&](Clusters& model) { model.add_features(dimensions); });
            },
            "dimensions"_a, "Add features that are missing in all points so far.")
        .def_prop_ro(
            "n_clusters", [](const Handle& h) { return h.share()->clusters().size(); }, "Clusters now.")
        .def_prop_ro(
            "horizon_points", [](const Handle& h) { return h.share()->horizon_points(); },
            "Points since the beginning of the chosen horizon.")
        .def_prop_ro(
            "distances", [](const Handle& h) { return h.share()->distances(); },
            "Distances computed to learn, since the model was made or loaded: a measure of the work.");
    m.def(
        "microcluster_distance",
        [](Vector<float> x, Vector<float> centroid) {
            require_equal("length of centroid", centroid.size(), x.size());
            if (x.size() % kLanes != 0) throw std::invalid_argument("rows come in blocks of 16");
            return kernels().squared_distance(x.data(), centroid.data(), x.size());
        },
        "x"_a.noconvert(), "centroid"_a.noconvert(), "The squared distance where both are numbers, for tests.");
}

}  // namespace anystream::bindings
