// Micro-clusters for Python.
#include <tuple>

#include "anystream/microclusters/cluster_query.hpp"
#include "anystream/microclusters/kernels.hpp"
#include "stream_model.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::microclusters;
using Handle = StreamHandle<Clusters>;
using Arguments =
    std::tuple<std::int64_t, double, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;

Settings cluster_settings(std::int64_t n_clusters, double boundary, std::int64_t stale_after,
                          std::int64_t snapshot_every, std::int64_t per_order, std::int64_t choose_every,
                          std::int64_t hold_back, bool standardise) {
    const auto require = [](bool holds, const char* name, auto value, const char* allowed) {
        if (!holds)
            throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + "; use " + allowed);
    };
    require(n_clusters >= 1 && n_clusters <= 1'000'000, "n_clusters", n_clusters, "1 to 1000000");
    require(boundary >= 0.0 && std::isfinite(boundary), "boundary", boundary, "a number from 0 on");
    require(stale_after >= 1, "stale_after", stale_after, "1 or more");
    require(snapshot_every >= 1, "snapshot_every", snapshot_every, "1 or more");
    require(per_order >= 1 && per_order <= 1000, "snapshots_per_order", per_order, "1 to 1000");
    require(choose_every >= 1, "choose_every", choose_every, "1 or more");
    require(hold_back >= 2, "hold_back", hold_back, "2 or more");
    return {static_cast<std::size_t>(n_clusters), boundary,     stale_after, snapshot_every,
            static_cast<std::size_t>(per_order),  choose_every, hold_back,   standardise};
}

Arguments arguments_of(const Settings& s) {
    return {static_cast<std::int64_t>(s.clusters),  s.boundary,     s.stale_after, s.snapshot_every,
            static_cast<std::int64_t>(s.per_order), s.choose_every, s.hold_back,   s.standardise};
}

nb::dict cluster_arrays(const Handle& handle) {
    auto arrays = handle.share()->arrays();
    nb::dict all;
    put_array(all, "cluster_id", std::move(arrays.cluster_id));
    put_array(all, "cluster_class", std::move(arrays.cluster_class));
    put_array(all, "cluster_moments", std::move(arrays.cluster_moments));
    put_array(all, "cluster_observed", std::move(arrays.cluster_observed));
    put_array(all, "cluster_mean", std::move(arrays.cluster_mean));
    put_array(all, "cluster_scatter", std::move(arrays.cluster_scatter));
    put_array(all, "snapshot", std::move(arrays.snapshot));
    put_array(all, "past_id", std::move(arrays.past_id));
    put_array(all, "past_count", std::move(arrays.past_count));
    put_array(all, "past_observed", std::move(arrays.past_observed));
    put_array(all, "past_mean", std::move(arrays.past_mean));
    put_array(all, "held_value", std::move(arrays.held_value));
    put_array(all, "held_class", std::move(arrays.held_class));
    put_array(all, "moments", std::move(arrays.moments));
    put_array(all, "state", std::move(arrays.state));
    return all;
}

Clusters clusters_from(const Settings& settings, std::size_t dimensions, std::size_t classes, nb::dict given) {
    Clusters::Arrays in;
    in.cluster_id = vector_from<std::int64_t>(given, "cluster_id");
    in.cluster_class = vector_from<std::int32_t>(given, "cluster_class");
    in.cluster_moments = vector_from<double>(given, "cluster_moments");
    in.cluster_observed = vector_from<double>(given, "cluster_observed");
    in.cluster_mean = vector_from<double>(given, "cluster_mean");
    in.cluster_scatter = vector_from<double>(given, "cluster_scatter");
    in.snapshot = vector_from<std::int64_t>(given, "snapshot");
    in.past_id = vector_from<std::int64_t>(given, "past_id");
    in.past_count = vector_from<double>(given, "past_count");
    in.past_observed = vector_from<double>(given, "past_observed");
    in.past_mean = vector_from<double>(given, "past_mean");
    in.held_value = vector_from<double>(given, "held_value");
    in.held_class = vector_from<std::int32_t>(given, "held_class");
    in.moments = vector_from<double>(given, "moments");
    in.state = vector_from<std::int64_t>(given, "state");
    const nb::gil_scoped_release unlocked;
    return Clusters::from_arrays(settings, dimensions, classes, in);
}

}  // namespace

void bind_microclusters(nb::module_& m) {
    nb::class_<Settings>(m, "MicroClusterSettings", "How micro-clusters grow, leave and are remembered.")
        .def(nb::new_(&cluster_settings), "n_clusters"_a, "boundary"_a, "stale_after"_a, "snapshot_every"_a,
             "snapshots_per_order"_a, "choose_every"_a, "hold_back"_a, "standardise"_a);
    nb::class_<QuerySettings>(m, "MicroClusterQuerySettings", "Queries on micro-clusters have no settings.")
        .def(nb::init<>());
    bind_stream_query<ClusterQuery>(m, "MicroClusterQuery");
    bind_stream_model<ClusterQuery>(m, "MicroClusters",
                                    "Supervised micro-clusters. Many threads may ask while one learns.")
        .def_static(
            "empty",
            [](const Settings& settings, std::size_t dimensions) {
                return std::make_unique<Handle>(Clusters(settings, dimensions));
            },
            "settings"_a, "dimensions"_a, "A model without points.")
        .def_static(
            "from_arrays",
            [](const Settings& settings, std::size_t dimensions, std::size_t classes, nb::dict given) {
                return std::make_unique<Handle>(clusters_from(settings, dimensions, classes, given));
            },
            "settings"_a, "dimensions"_a, "classes"_a, "arrays"_a, "A model from the arrays of another.")
        .def("arrays", &cluster_arrays, "Everything learned, as arrays by name.")
        .def("__getstate__",
             [](const Handle& h) {
                 const auto model = h.share();
                 return nb::make_tuple(1, arguments_of(model->settings()), model->dimensions(), model->classes(),
                                       cluster_arrays(h));
             })
        .def("__setstate__",
             [](Handle& h, nb::tuple state) {
                 if (state.size() != 5 || nb::cast<int>(state[0]) != 1)
                     throw std::invalid_argument("this pickle was written by another version of anystream");
                 const Settings settings = std::apply(cluster_settings, nb::cast<Arguments>(state[1]));
                 new (&h) Handle(clusters_from(settings, nb::cast<std::size_t>(state[2]),
                                               nb::cast<std::size_t>(state[3]), nb::cast<nb::dict>(state[4])));
             })
        .def_static(
            "merge",
            [](const std::vector<const Handle*>& parts, const std::vector<std::vector<std::int32_t>>& class_maps,
               std::size_t classes) {
                const auto shares = shares_to_merge<Clusters>(parts, class_maps, classes);
                const nb::gil_scoped_release unlocked;
                std::vector<const Clusters*> models;
                for (const auto& share : shares) models.push_back(share.get());
                return std::make_unique<Handle>(Clusters::merged(models, class_maps, classes));
            },
            "parts"_a, "class_maps"_a, "classes"_a, "One model of the clusters of all parts.")
        .def(
            "widen",
            [](Handle& h, std::size_t dimensions) { h.change([&](Clusters& model) { model.widen(dimensions); }); },
            "dimensions"_a, "Add dimensions that are missing in all points so far.")
        .def_prop_ro(
            "n_clusters", [](const Handle& h) { return h.share()->clusters().size(); }, "Clusters now.")
        .def_prop_ro(
            "horizon_points", [](const Handle& h) { return h.share()->horizon_points(); },
            "Points since the beginning of the chosen horizon.")
        .def_prop_ro("seen", [](const Handle& h) { return h.share()->seen(); }, "Points learned so far.");
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
