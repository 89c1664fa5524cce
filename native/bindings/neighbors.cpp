// Anytime nearest neighbours for Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <numeric>

#include "anystream/neighbors/gallery.hpp"
#include "anystream/neighbors/leave_one_out.hpp"
#include "anystream/neighbors/matrix_space.hpp"
#include "anystream/neighbors/orderings.hpp"
#include "anystream/neighbors/query.hpp"
#include "arrays.hpp"
#include "bound_query.hpp"
#include "shared_model.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::neighbors;
using SharedGallery = std::shared_ptr<Gallery>;

Metric metric_of(const std::string& name, std::size_t width, std::size_t categorical, std::size_t band) {
    if (name != "edit" && width == 0) throw std::invalid_argument("records have no features; use at least one");
    if (categorical > width) throw std::invalid_argument("there are more categorical columns than columns");
    return {name, width, categorical, band};
}

Records records_of(Vector<double> values, Vector<std::int64_t> first) {
    const auto borders = as_span(first);
    if (borders.empty() || borders.front() != 0 || static_cast<std::size_t>(borders.back()) != values.size())
        throw std::invalid_argument("the borders of the records do not match their values");
    for (std::size_t i = 1; i < borders.size(); ++i)
        if (borders[i] < borders[i - 1]) throw std::invalid_argument("the borders of the records do not ascend");
    return {as_span(values), borders};
}

void require_records(const Space& space, const Records& records) {
    for (std::size_t i = 0; i < records.size(); ++i) space.require(records.row(i));
}

std::unique_ptr<Space> fill(const Metric& metric, const Records& records) {
    auto space = make_space(metric);
    require_records(*space, records);
    for (std::size_t i = 0; i < records.size(); ++i) space->append(records.row(i));
    return space;
}

Order order_by_name(const std::string& name, const Space& space, std::span<const std::int32_t> labels,
                    std::size_t classes, const OrderWork& work) {
    if (name == "simple_rank") return simple_rank(space, labels, classes, work);
    if (name == "greedy") return greedy_order(space, labels, classes, work);
    if (name == "drop1") return drop_order(space, labels, classes, 1, work);
    if (name == "drop2") return drop_order(space, labels, classes, 2, work);
    if (name == "drop3") return drop_order(space, labels, classes, 3, work);
    throw std::invalid_argument("ordering is '" + name + "'; use simple_rank, greedy, drop1, drop2 or drop3");
}

/// A query with its record and k, which are not part of the native state.
class GalleryQuery : public BoundQuery<Query> {
  public:
    GalleryQuery(SharedGallery gallery, Vector<double> x, std::size_t k)
        : BoundQuery(std::move(gallery)), x_(x.data(), x.data() + x.size()), k_(k) {
        model_->space().require(x_);
        const nb::gil_scoped_release unlocked;  // some distances take long
        query_.open(*model_, {k_}, x_);
    }
    GalleryQuery(SharedGallery gallery, Vector<double> x, std::size_t k, nb::tuple state)
        : BoundQuery(std::move(gallery)), x_(x.data(), x.data() + x.size()), k_(k) {
        model_->space().require(x_);
        query_.resume(*model_, {k_}, x_, state_of(state));
    }

    /// The nearest exemplar so far, its distance and the position, if one votes and there are no lists; else the
    /// nearest with their distances, the position, and with lists: steps, lists visited, and the end of the last one.
    [[nodiscard]] nb::tuple state() const {
        const QueryState now = suspend();
        if (plain()) {
            const Near best = now.nearest.empty() ? Near{-1, 0.0} : now.nearest.front();
            return nb::make_tuple(best.position, best.distance, now.position);
        }
        nb::list nearest;
        for (const Near& each : now.nearest) nearest.append(nb::make_tuple(each.position, each.distance));
        if (!model_->has_lists()) return nb::make_tuple(nb::tuple(nearest), now.position);
        return nb::make_tuple(nb::tuple(nearest), now.position, now.steps, now.list, now.list_end);
    }
    /// Serials and distances of the nearest so far.
    [[nodiscard]] std::vector<std::pair<std::int64_t, double>> nearest() const {
        std::vector<std::pair<std::int64_t, double>> rows;
        const Hold hold(guard_);
        for (const Neighbor& each : query_.nearest()) rows.emplace_back(each.id, model_->space().distance(each.power));
        return rows;
    }

  private:
    [[nodiscard]] QueryState suspend() const {
        const Hold hold(guard_);
        return query_.suspend(*model_);
    }
    [[nodiscard]] bool plain() const noexcept { return k_ == 1 && !model_->has_lists(); }

    [[nodiscard]] QueryState state_of(const nb::tuple& given) const {
        QueryState state;
        try {
            if (given.size() != (plain() ? 3 : model_->has_lists() ? 5 : 2)) throw nb::cast_error();
            if (plain()) {
                const Near best{nb::cast<std::int64_t>(given[0]), nb::cast<double>(given[1])};
                if (best.position >= 0) state.nearest.push_back(best);
            } else {
                for (const auto& [position, distance] :
                     nb::cast<std::vector<std::pair<std::int64_t, double>>>(given[0]))
                    state.nearest.push_back({position, distance});
            }
            state.position = nb::cast<std::int64_t>(given[plain() ? 2 : 1]);
            if (state.position < 0) throw nb::cast_error();
            state.steps = state.position - static_cast<std::int64_t>(model_->setup());
            if (model_->has_lists()) {
                state.steps = nb::cast<std::int64_t>(given[2]);
                state.list = nb::cast<std::int64_t>(given[3]);
                state.list_end = nb::cast<std::int64_t>(given[4]);
            }
        } catch (const nb::cast_error&) {
            throw std::invalid_argument(
                "not the state of a query of this model; resume it with the model it was suspended on");
        }
        return state;
    }

    std::vector<double> x_;
    std::size_t k_;
};

class GalleryHandle : public SharedModel<Gallery> {
  public:
    GalleryHandle(SharedGallery gallery, Metric metric) : SharedModel(std::move(gallery)), metric_(std::move(metric)) {}

    [[nodiscard]] const Metric& metric() const noexcept { return metric_; }
    void add_features(std::size_t width) {
        change([&](Gallery& gallery) { gallery.add_features(width); });
        metric_.width = width;
    }

  private:
    Metric metric_;
};

std::unique_ptr<GalleryHandle> build(const Metric& metric, Vector<double> values, Vector<std::int64_t> first,
                                     Vector<std::int32_t> labels, Vector<std::int64_t> order,
                                     Vector<std::int64_t> serials, std::size_t classes, std::size_t capacity,
                                     bool lists, int threads) {
    const Records records = records_of(values, first);
    require_equal("number of labels", labels.size(), records.size());
    require_equal("number of serials", serials.size(), records.size());
    require_classes(as_span(labels), classes);
    const auto places = as_span(order);
    for (const std::int64_t i : places)
        if (i < 0 || static_cast<std::size_t>(i) >= records.size())
            throw std::invalid_argument("the order contains the index of a record that does not exist");
    const nb::gil_scoped_release unlocked;
    const auto all = fill(metric, records);
    std::vector<std::int32_t> ordered_labels;
    std::vector<std::int64_t> ordered_serials;
    for (const std::int64_t i : places) {
        ordered_labels.push_back(labels.data()[i]);
        ordered_serials.push_back(serials.data()[i]);
    }
    auto gallery = std::make_shared<Gallery>(make_space(metric), classes, capacity);
    gallery->assign(all->permuted(places), std::move(ordered_labels), std::move(ordered_serials), classes);
    if (lists) gallery->make_lists(threads);
    return std::make_unique<GalleryHandle>(std::move(gallery), metric);
}

nb::ndarray<std::int64_t, nb::numpy, nb::ndim<1>, nb::c_contig> order(const std::string& name, const Metric& metric,
                                                                      Vector<double> values, Vector<std::int64_t> first,
                                                                      Vector<std::int32_t> labels, std::size_t classes,
                                                                      int threads, std::uint64_t seed, Counter* done,
                                                                      const StopFlag* stop, Counter* compared) {
    const Records records = records_of(values, first);
    require_equal("number of labels", labels.size(), records.size());
    require_classes(as_span(labels), classes);
    Order found;
    {
        const nb::gil_scoped_release unlocked;
        const auto space = fill(metric, records);
        found = order_by_name(name, *space, as_span(labels), classes,
                              {threads, seed, done == nullptr ? nullptr : &done->value, stop,
                               compared == nullptr ? nullptr : &compared->value});
    }
    return to_numpy(std::move(found));
}

nb::ndarray<std::int64_t, nb::numpy, nb::ndim<1>, nb::c_contig> order_of_distances(
    const std::string& name, Matrix<double> distances, Vector<std::int32_t> labels, std::size_t classes, int threads,
    std::uint64_t seed, Counter* done, const StopFlag* stop) {
    require_equal("rows of distances", distances.shape(0), labels.size());
    require_equal("columns of distances", distances.shape(1), labels.size());
    require_classes(as_span(labels), classes);
    Order found;
    {
        const nb::gil_scoped_release unlocked;
        const auto space = make_matrix_space(as_span(distances), labels.size());
        found = order_by_name(name, *space, as_span(labels), classes,
                              {threads, seed, done == nullptr ? nullptr : &done->value, stop});
    }
    return to_numpy(std::move(found));
}

/// Records of one call of `insert`.
struct GalleryInsertion {
    Records records;
    std::span<const std::int32_t> labels;
    std::size_t classes;

    [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
    void check(const Gallery& gallery) const {
        require_records(gallery.space(), records);
        require_classes(labels, std::max(classes, gallery.classes()));
    }
    [[nodiscard]] bool learns_in_place(const Gallery& gallery) const {
        return gallery.learns_in_place(records, labels);
    }
    void reserve(Gallery& gallery) const { gallery.reserve(records); }
    void apply(Gallery& gallery, std::size_t first, std::size_t last) const {
        if (classes > gallery.classes()) gallery.declare_classes(classes);
        for (std::size_t i = first; i < last; ++i) gallery.insert(records.row(i), labels[i]);
    }
};

void insert(GalleryHandle& handle, Vector<double> values, Vector<std::int64_t> first, Vector<std::int32_t> labels,
            std::size_t classes, nb::dict owner, nb::dict attributes) {
    const Records records = records_of(values, first);
    require_equal("number of labels", labels.size(), records.size());
    handle.learn(GalleryInsertion{records, as_span(labels), classes}, Announcement(owner, attributes));
}

nb::dict arrays(const GalleryHandle& handle) {
    const auto gallery = std::make_shared<Gallery>(*handle.share());
    gallery->compact();
    return arrays_of<Gallery>(gallery);
}

SharedGallery adopt(const Metric& metric, std::size_t classes, std::size_t capacity, const nb::dict& given) {
    auto gallery = std::make_shared<Gallery>(make_space(metric), classes, capacity);
    adopt_arrays(*gallery, given);
    gallery->adopt_columns();
    return gallery;
}

nb::tuple state_of(const GalleryHandle& handle) {
    const SharedGallery gallery = handle.share();
    const Metric& metric = handle.metric();
    return nb::make_tuple(2, metric.name, metric.width, metric.categorical, metric.band, gallery->classes(),
                          gallery->capacity(), arrays(handle));
}

void set_state(GalleryHandle& handle, nb::tuple state) {
    if (state.size() != 8 || nb::cast<int>(state[0]) != 2)
        throw std::invalid_argument("this pickle was written by another version of anystream");
    const Metric metric{nb::cast<std::string>(state[1]), nb::cast<std::size_t>(state[2]),
                        nb::cast<std::size_t>(state[3]), nb::cast<std::size_t>(state[4])};
    new (&handle) GalleryHandle(
        adopt(metric, nb::cast<std::size_t>(state[5]), nb::cast<std::size_t>(state[6]), nb::cast<nb::dict>(state[7])),
        metric);
}

Row checked_row(const Gallery& gallery, const Vector<double>& x) {
    gallery.space().require(as_span(x));
    return as_span(x);
}

Records checked_records(const Gallery& gallery, const Vector<double>& values, const Vector<std::int64_t>& first) {
    const Records records = records_of(values, first);
    require_records(gallery.space(), records);
    return records;
}

void bind_orders(nb::module_& m) {
    m.def("neighbors_order", &order, "name"_a, "metric"_a, "values"_a.noconvert(), "first"_a.noconvert(),
          "labels"_a.noconvert(), "classes"_a, "threads"_a = 0, "seed"_a = 0, "done"_a.none() = nb::none(),
          "stop"_a.none() = nb::none(), "compared"_a.none() = nb::none(),
          "The order in which exemplars are compared, as indices. `compared` counts the pairs that SimpleRank and\n"
          "DROP compare after the first lists of neighbours were made.");
    m.def("neighbors_order_of_distances", &order_of_distances, "name"_a, "distances"_a.noconvert(),
          "labels"_a.noconvert(), "classes"_a, "threads"_a = 0, "seed"_a = 0, "done"_a.none() = nb::none(),
          "stop"_a.none() = nb::none(), "The order of exemplars whose distances are known.");
}

void bind_learning(nb::class_<GalleryHandle>& bound) {
    bound
        .def_static("build", &build, "metric"_a, "values"_a.noconvert(), "first"_a.noconvert(), "labels"_a.noconvert(),
                    "order"_a.noconvert(), "serials"_a.noconvert(), "classes"_a, "capacity"_a, "lists"_a, "threads"_a,
                    "The records named by `order`, in that order; with `lists` the first ones become centres of lists.")
        .def("insert", &insert, "values"_a.noconvert(), "first"_a.noconvert(), "labels"_a.noconvert(), "classes"_a,
             "owner"_a = nb::dict(), "attributes"_a = nb::dict(),
             "Learn records one by one, all or none: each is placed in the order. There are `classes` classes from "
             "then on; `attributes` are set in `owner`, the __dict__ of the classifier, together with the change.")
        .def("add_features", &GalleryHandle::add_features, "width"_a,
             "Add features that are missing in all exemplars so far.");
}

void bind_storage(nb::class_<GalleryHandle>& bound) {
    bound
        .def_static(
            "from_arrays",
            [](const Metric& metric, std::size_t classes, std::size_t capacity, nb::dict given) {
                return std::make_unique<GalleryHandle>(adopt(metric, classes, capacity, given), metric);
            },
            "metric"_a, "classes"_a, "capacity"_a, "arrays"_a, "A gallery over borrowed arrays, checked.")
        .def("arrays", &arrays, "Every array, by name, read-only.")
        .def("__getstate__", &state_of)
        .def("__setstate__", &set_state)
        .def(
            "snapshot", [](const GalleryHandle& h) { return std::make_unique<GalleryHandle>(h.share(), h.metric()); },
            "A handle on the present exemplars, which later learning does not change; both share them until one of\n"
            "them learns.")
        .def(
            "labels",
            [](const GalleryHandle& h) {
                const SharedGallery gallery = h.share();
                const auto labels = gallery->labels();
                return to_numpy(std::vector<std::int32_t>(labels.begin(), labels.end()));
            },
            "Class numbers by position.")
        .def_prop_ro("width", [](const GalleryHandle& h) { return h.share()->space().width(); })
        .def_prop_ro("classes", [](const GalleryHandle& h) { return h.share()->classes(); })
        .def_prop_ro("capacity", [](const GalleryHandle& h) { return h.share()->capacity(); })
        .def_prop_ro("setup", [](const GalleryHandle& h) { return h.share()->compared_first(); })
        .def("__len__", [](const GalleryHandle& h) { return h.share()->present(); })
        .def_prop_ro(
            "positions", [](const GalleryHandle& h) { return h.share()->size(); },
            "Exemplars, including evicted ones that still have a position in a list.")
        .def_prop_ro(
            "oldest", [](const GalleryHandle& h) { return h.share()->oldest(); },
            "The serial before which all exemplars were evicted.")
        .def_prop_ro(
            "own_bytes", [](const GalleryHandle& h) { return h.share()->own_bytes(); },
            "Bytes of memory held; bytes of a mapped file are not counted.");
}

void bind_single_records(nb::class_<GalleryHandle>& bound) {
    bound
        .def(
            "query",
            [](const GalleryHandle& h, Vector<double> x, std::size_t k) {
                return std::make_unique<GalleryQuery>(h.share(), x, k);
            },
            "x"_a.noconvert(), "k"_a, "Open a query: the first exemplar of each class is compared.")
        .def(
            "resume",
            [](const GalleryHandle& h, Vector<double> x, std::size_t k, nb::tuple state) {
                return std::make_unique<GalleryQuery>(h.share(), x, k, state);
            },
            "x"_a.noconvert(), "k"_a, "state"_a, "Resume a suspended query.")
        .def(
            "label_one",
            [](const GalleryHandle& h, Vector<double> x, std::size_t k, std::int64_t steps) {
                const SharedGallery gallery = h.share();
                return classify_one<Query>(*gallery, {k}, checked_row(*gallery, x), steps).label(*gallery);
            },
            "x"_a.noconvert(), "k"_a, "steps"_a, "The number of one record's likeliest class.")
        .def(
            "proba_one",
            [](const GalleryHandle& h, Vector<double> x, std::size_t k, std::int64_t steps,
               const Calibration* calibration) {
                const SharedGallery gallery = h.share();
                Query& query = classify_one<Query>(*gallery, {k}, checked_row(*gallery, x), steps);
                return posterior_of(query, *gallery, calibration);
            },
            "x"_a.noconvert(), "k"_a, "steps"_a, "calibration"_a.none() = nb::none(),
            "One record's shares of the votes.");
}

void bind_batches(nb::class_<GalleryHandle>& bound) {
    using GalleryBatch = Batch<Query, Records>;
    bound
        .def(
            "answer",
            [](const GalleryHandle& h, Vector<double> values, Vector<std::int64_t> first, std::size_t k,
               std::int64_t steps, std::int64_t nanoseconds, const StopFlag* stop, int threads, OutMatrix<double> proba,
               OutVector<std::int64_t> taken, OutVector<std::uint8_t> marks, const Calibration* calibration) {
                const Limits limits = make_limits(steps, nanoseconds, stop);
                const SharedGallery gallery = h.share();
                const QuerySettings settings{k};
                const GalleryBatch batch{*gallery, settings, checked_records(*gallery, values, first), calibration};
                const AnswerRows out = checked_answers(batch.size(), batch.classes(), proba, taken, marks);
                const nb::gil_scoped_release unlocked;
                answer_batch(batch, limits, threads, out);
            },
            "values"_a.noconvert(), "first"_a.noconvert(), "k"_a, "steps"_a, "nanoseconds"_a, "stop"_a.none(),
            "threads"_a, "proba"_a.noconvert(), "taken"_a.noconvert(), "marks"_a.noconvert(),
            "calibration"_a.none() = nb::none(), "Classify every record within the limits.")
        .def(
            "answer_in_stages",
            [](const GalleryHandle& h, Vector<double> values, Vector<std::int64_t> first, std::size_t k,
               Vector<std::int64_t> stages, int threads, OutVector<double> out, const Calibration* calibration) {
                const SharedGallery gallery = h.share();
                const QuerySettings settings{k};
                const GalleryBatch batch{*gallery, settings, checked_records(*gallery, values, first), calibration};
                require_equal("length of out", out.size(), batch.size() * stages.size() * batch.classes());
                const nb::gil_scoped_release unlocked;
                answer_batch_in_stages(batch, as_span(stages), threads, as_span(out));
            },
            "values"_a.noconvert(), "first"_a.noconvert(), "k"_a, "stages"_a.noconvert(), "threads"_a,
            "out"_a.noconvert(), "calibration"_a.none() = nb::none(),
            "Probabilities after each of the ascending numbers of steps: (records, stages, classes).")
        .def(
            "leave_one_out",
            [](const GalleryHandle& h, std::size_t k, Vector<std::int64_t> stages, int threads,
               OutMatrix<std::int32_t> out) {
                const SharedGallery gallery = h.share();
                require_equal("rows of out", out.shape(0), gallery->size());
                require_equal("columns of out", out.shape(1), stages.size());
                const nb::gil_scoped_release unlocked;
                leave_one_out(*gallery, {k}, as_span(stages), threads, as_span(out));
            },
            "k"_a, "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "Labels of the exemplars themselves, by position, each left out of its own query.");
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    nb::class_<Metric>(m, "NeighborsMetric", "A distance by name, and its parameters.")
        .def(nb::new_(&metric_of), "name"_a, "width"_a, "categorical"_a = 0, "band"_a = 0)
        .def_ro("width", &Metric::width);
    bind_orders(m);
    bind_query<GalleryQuery>(m, "NeighborsQuery")
        .def("state", &GalleryQuery::state,
             "The nearest, its distance and the position; more with lists or where several vote.")
        .def("nearest", &GalleryQuery::nearest, "Serials and distances of the nearest so far.");
    auto bound = nb::class_<GalleryHandle>(
        m, "NeighborsGallery", "Exemplars in the order of visits. Many threads may classify while one learns.");
    bind_learning(bound);
    bind_storage(bound);
    bind_single_records(bound);
    bind_batches(bound);
}

}  // namespace anystream::bindings
