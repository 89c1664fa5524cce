// The Bayes forest for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "anystream/bayes_tree/answer.hpp"
#include "anystream/bayes_tree/construction.hpp"
#include "anystream/bayes_tree/forest.hpp"
#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/bayes_tree/metric.hpp"
#include "anystream/bayes_tree/query.hpp"
#include "anystream/parallel.hpp"
#include "bindings.hpp"
#include "shared_model.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::bayes_tree;
using SharedForest = std::shared_ptr<Forest>;

ForestSettings forest_settings(std::int32_t fanout, const std::string& bandwidth, double alpha,
                               const std::string& inner_variance, std::int32_t covariance_block,
                               std::int32_t covariance_levels, bool common_scale) {
    if (covariance_block < 0)
        throw std::invalid_argument("covariance_block is " + std::to_string(covariance_block) + "; use 0 or more");
    if (covariance_levels < 0)
        throw std::invalid_argument("covariance_levels is " + std::to_string(covariance_levels) + "; use 0 or more");
    if (fanout < 3 || fanout > kMostFanout)
        throw std::invalid_argument("fanout is " + std::to_string(fanout) + "; use 3 to " +
                                    std::to_string(kMostFanout));
    if (!(alpha > 0.0) || !std::isfinite(alpha))
        throw std::invalid_argument("alpha is " + std::to_string(alpha) + "; use a positive number");
    return {fanout,
            by_name<Bandwidth>(
                bandwidth, "bandwidth",
                {{"langley", Bandwidth::langley}, {"haerdle", Bandwidth::haerdle}, {"factor", Bandwidth::factor}}),
            alpha,
            by_name<InnerVariance>(inner_variance, "inner_variance",
                                   {{"plain", InnerVariance::plain}, {"max", InnerVariance::max}}),
            covariance_block,
            covariance_levels,
            common_scale};
}

QuerySettings query_settings(const std::string& descent, const std::string& decision, std::int32_t refined_classes,
                             double root_weight, bool certify) {
    if (!(root_weight >= 0.0) || !std::isfinite(root_weight))
        throw std::invalid_argument("root_weight is " + std::to_string(root_weight) + "; use 0 or more");
    if (refined_classes < kPublishedK)
        throw std::invalid_argument("refined_classes is " + std::to_string(refined_classes) + "; use 1 or more");
    return {by_name<Descent>(descent, "descent",
                             {{"global_best", Descent::global_best},
                              {"breadth_first", Descent::breadth_first},
                              {"depth_first", Descent::depth_first}}),
            by_name<Decision>(
                decision, "decision",
                {{"mixture", Decision::mixture}, {"ensemble", Decision::ensemble}, {"nearest", Decision::nearest}}),
            refined_classes, root_weight, certify};
}

/// A record that may be asked about, in the space of the trees; valid until the thread's next one.
const double* in_tree_space(const Forest& forest, const Metric* metric, const Vector<double>& x) {
    require_features(forest, x.size());
    require_finite_records(as_span(x));
    if (metric == nullptr) return x.data();
    require_equal("features of the metric", metric->dimensions(), forest.dimensions());
    thread_local std::vector<double> mapped;
    mapped.resize(x.size());
    metric->apply(x.data(), mapped.data());
    return mapped.data();
}

/// Queries live as long as Python holds them; the memory of the last one to go serves the next.
Query& spare_query() {
    thread_local Query spare;
    return spare;
}

class ForestQuery {
  public:
    ForestQuery(SharedForest forest, const QuerySettings& settings, const Metric* metric, const Vector<double>& x)
        : forest_(std::move(forest)), query_(std::move(spare_query())) {
        query_.open(*forest_, settings, in_tree_space(*forest_, metric, x));
    }
    ForestQuery(SharedForest forest, nb::bytes state) : forest_(std::move(forest)) {
        query_.resume(*forest_, {reinterpret_cast<const std::byte*>(state.data()), state.size()});
    }

    ForestQuery(const ForestQuery&) = delete;
    ForestQuery& operator=(const ForestQuery&) = delete;
    ~ForestQuery() {
        constexpr std::int64_t kSmall = 4096;  // steps; the frontiers of longer queries are not worth keeping
        if (query_.steps() <= kSmall) spare_query() = std::move(query_);
    }

    std::int64_t refine(std::int64_t steps, std::int64_t nanoseconds, const StopFlag* stop) {
        const Limits limits = make_limits(steps, nanoseconds, stop);
        if (!limits.interruptible() && steps >= 0 && steps <= 64) return query_.refine(*forest_, limits);
        const nb::gil_scoped_release unlocked;
        return query_.refine(*forest_, limits);
    }
    [[nodiscard]] auto proba() const {
        std::vector<double> out(forest_->classes());
        query_.posterior(out);
        return to_numpy(std::move(out));
    }
    [[nodiscard]] auto proba_bounds() const {
        std::vector<double> out(2 * forest_->classes());
        query_.posterior_bounds(out);
        return to_numpy(std::move(out));
    }
    [[nodiscard]] nb::bytes state() {
        query_.read_roots(*forest_);
        const auto bytes = query_.suspend();
        return nb::bytes(bytes.data(), bytes.size());
    }
    [[nodiscard]] std::vector<std::tuple<std::int32_t, std::int32_t, double>> frontier() {
        query_.read_roots(*forest_);
        std::vector<std::tuple<std::int32_t, std::int32_t, double>> rows;
        for (const auto& entry : query_.frontier()) rows.emplace_back(entry.point_class, entry.child, entry.log2_value);
        return rows;
    }
    [[nodiscard]] auto record() const {
        return to_numpy(std::vector<double>(query_.record().begin(), query_.record().end()));
    }
    [[nodiscard]] const Query& query() const noexcept { return query_; }

  private:
    SharedForest forest_;
    Query query_;
};

/// A forest whose arrays are checked before it first learns, if nobody has checked them yet.
class ForestHandle : public SharedModel<Forest> {
  public:
    ForestHandle(SharedForest forest, bool trusted) : SharedModel(std::move(forest)), trusted_(trusted) {}

    template <typename Change>
    void change(Change&& change) {
        SharedModel::change([&](Forest& forest) {
            if (!trusted_) forest.check();
            trusted_ = true;
            change(forest);
        });
    }

  private:
    bool trusted_;  // behind the mutex
};

std::unique_ptr<ForestHandle> build(const ForestSettings& settings, Matrix<double> points,
                                    Vector<std::int32_t> classes_of, std::size_t classes,
                                    const std::string& construction, int threads, std::uint64_t seed, Counter* placed,
                                    const StopFlag* stop) {
    const auto method = by_name<Construction>(construction, "construction",
                                              {{"em_top_down", Construction::em_top_down},
                                               {"hilbert", Construction::hilbert},
                                               {"z_curve", Construction::z_curve},
                                               {"str", Construction::str},
                                               {"goldberger", Construction::goldberger},
                                               {"virtual_sampling", Construction::virtual_sampling},
                                               {"guttman", Construction::guttman},
                                               {"nearest_mean", Construction::nearest_mean}});
    require_equal("length of point_class", classes_of.size(), points.shape(0));
    require_classes(as_span(classes_of), classes);
    auto forest = std::make_shared<Forest>(settings, points.shape(1));
    const auto values = as_span(points);
    const auto labels = as_span(classes_of);
    {
        const nb::gil_scoped_release unlocked;
        forest->build(values, labels, classes,
                      {method, threads, seed, stop, placed == nullptr ? nullptr : &placed->value});
    }
    return std::make_unique<ForestHandle>(std::move(forest), true);
}

void insert(ForestHandle& handle, Matrix<double> points, Vector<std::int32_t> classes_of) {
    require_equal("length of point_class", classes_of.size(), points.shape(0));
    const auto values = as_span(points);
    const auto labels = as_span(classes_of);
    for (const std::int32_t c : labels)
        if (c < 0) throw std::invalid_argument("class number " + std::to_string(c) + " is negative");
    const std::size_t d = points.shape(1);
    handle.change([&](Forest& forest) {
        require_features(forest, d);
        for (std::size_t i = 0; i < labels.size(); ++i) forest.insert(values.data() + i * d, labels[i]);
    });
}

MarginSettings margin_settings(double kappa, double lambda, int iterations, int threads, const StopFlag* stop) {
    if (!(kappa >= 1.0) || !std::isfinite(kappa))
        throw std::invalid_argument("kappa is " + std::to_string(kappa) + "; use 1 or more");
    if (!(lambda > 0.0) || !std::isfinite(lambda))
        throw std::invalid_argument("lambda is " + std::to_string(lambda) + "; use a positive number");
    MarginSettings settings;
    settings.kappa = kappa;
    settings.lambda = lambda;
    settings.iterations = iterations;
    settings.threads = thread_count(threads);
    settings.poll = [stop] {
        if (stop != nullptr && stop->is_set()) throw BuildStopped();
    };
    return settings;
}

std::vector<std::vector<double>> maximise_margin(ForestHandle& handle, std::size_t levels, double kappa, double lambda,
                                                 int iterations, int threads, const StopFlag* stop) {
    const MarginSettings settings = margin_settings(kappa, lambda, iterations, threads, stop);
    std::vector<std::vector<double>> histories;
    handle.change([&](Forest& forest) { histories = forest.maximise_margin(levels, settings); });
    return histories;
}

std::vector<double> train_root_model(ForestHandle& handle, double kappa, double lambda, std::size_t most_objects,
                                     int iterations, std::uint64_t seed, int threads, const StopFlag* stop) {
    const MarginSettings settings = margin_settings(kappa, lambda, iterations, threads, stop);
    std::vector<double> history;
    handle.change([&](Forest& forest) { history = forest.train_root_model(settings, most_objects, seed); });
    return history;
}

/// Every array by name. The nodes lie in the order in which queries descend if `ordered`, else as they are.
nb::dict arrays(const ForestHandle& handle, bool ordered) {
    nb::dict all;
    SharedForest forest = handle.share();
    if (ordered) {
        const nb::gil_scoped_release unlocked;
        forest = std::make_shared<Forest>(forest->breadth_first());
    }
    auto* shared = new SharedForest(std::move(forest));
    const nb::capsule owner(shared, [](void* p) noexcept { delete static_cast<SharedForest*>(p); });
    Forest::each_column(static_cast<const Forest&>(**shared), [&](const char* name, const auto& column) {
        using T = std::remove_cvref_t<decltype(column[0])>;
        all[name] =
            nb::cast(nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig>(column.data(), {column.size()}, owner));
    });
    return all;
}

SharedForest adopt(const ForestSettings& settings, std::size_t dimensions, nb::dict given, bool whole) {
    auto forest = std::make_shared<Forest>(settings, dimensions);
    Forest::each_column(*forest, [&](const char* name, auto& column) {
        using T = std::remove_cvref_t<decltype(column[0])>;
        if (!given.contains(name)) throw DamagedForest(std::string("the array '") + name + "' is missing");
        const auto array = nb::cast<Vector<T>>(given[name], false);
        column = lent_column<T>(array, given[name]);
    });
    forest->check_sizes();
    forest->check_heads();
    if (whole) forest->check();
    return forest;
}

std::unique_ptr<ForestHandle> from_arrays(const ForestSettings& settings, std::size_t dimensions, nb::dict given,
                                          bool whole) {
    return std::make_unique<ForestHandle>(adopt(settings, dimensions, given, whole), whole);
}

std::unique_ptr<ForestHandle> merge(const std::vector<const ForestHandle*>& parts,
                                    const std::vector<std::vector<std::int32_t>>& class_maps, std::size_t classes) {
    if (parts.empty()) throw std::invalid_argument("there is no model to merge");
    require_equal("number of class maps", class_maps.size(), parts.size());
    std::vector<SharedForest> shares;
    for (const ForestHandle* part : parts) shares.push_back(part->share());
    const nb::gil_scoped_release unlocked;
    std::vector<const Forest*> forests;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        forests.push_back(shares[p].get());
        forests[p]->check();
        require_features(*forests[0], forests[p]->dimensions());
        require_equal("length of a class map", class_maps[p].size(), forests[p]->classes());
        require_classes(class_maps[p], classes);
    }
    auto whole = std::make_shared<Forest>(Forest::merged(forests, class_maps, classes));
    return std::make_unique<ForestHandle>(std::move(whole), true);
}

/// One record without the ceremony of a batch: the workspace belongs to the thread.
template <typename Result>
Result one(const ForestHandle& handle, const QuerySettings& settings, const Vector<double>& x, std::int64_t steps,
           const Metric* metric, Result (*result)(const Query&, std::size_t classes)) {
    Query& query = spare_query();
    const SharedForest forest = handle.share();
    query.open(*forest, settings, in_tree_space(*forest, metric, x));
    query.refine(*forest, {.steps = steps < 0 ? Limits::kUnlimited : steps});
    return result(query, forest->classes());
}

void bind_query(nb::module_& m) {
    nb::class_<QuerySettings>(m, "BayesQuerySettings", "How queries descend and decide.")
        .def(nb::new_(&query_settings), "descent"_a, "decision"_a, "refined_classes"_a, "root_weight"_a = 0.0,
             "certify"_a = false);
    nb::class_<ForestQuery>(m, "BayesQuery", "One classification in progress.")
        .def("refine", &ForestQuery::refine, "steps"_a = -1, "nanoseconds"_a = -1, "stop"_a.none() = nb::none(),
             "Refine within the limits (-1: none); return the steps taken.")
        .def(
            "label", [](const ForestQuery& q) { return q.query().label(); }, "The number of the likeliest class.")
        .def("proba", &ForestQuery::proba, "The probabilities of the classes.")
        .def("state", &ForestQuery::state, "Everything that is needed to go on later, as bytes.")
        .def("record", &ForestQuery::record, "The record, standardised.")
        .def("frontier", &ForestQuery::frontier, "Rows (class, node or -1 for a kernel, log2 of n_e g_e).")
        .def_prop_ro(
            "steps", [](const ForestQuery& q) { return q.query().steps(); }, "Refinements so far.")
        .def_prop_ro(
            "certified", [](const ForestQuery& q) { return q.query().certified(); }, "No step could change the label.")
        .def("proba_bounds", &ForestQuery::proba_bounds, "Rows (least, most) of the exhausted probabilities.")
        .def_prop_ro(
            "exhausted", [](const ForestQuery& q) { return q.query().exhausted(); }, "Nothing is left to refine.");
}

}  // namespace

void bind_bayes_tree(nb::module_& m) {
    // The class that Python code raises for bad files too: what a lazily read file turns out to hold is no other case.
    nb::exception<DamagedForest> damaged(m, "ModelFileError", PyExc_ValueError);
    damaged.attr("__doc__") = "A file is not a model that can be used; the message says what is wrong and what to do.";
    nb::class_<ForestSettings>(m, "BayesForestSettings", "How a forest turns objects into Gaussians.")
        .def(nb::new_(&forest_settings), "fanout"_a, "bandwidth"_a, "alpha"_a, "inner_variance"_a,
             "covariance_block"_a = 1, "covariance_levels"_a = 2, "common_scale"_a = false);
    bind_query(m);
    nb::class_<ForestHandle>(m, "BayesForest", "One Bayes tree per class. Many threads may ask while one learns.")
        .def_static("build", &build, "settings"_a, "points"_a.noconvert(), "point_class"_a.noconvert(), "classes"_a,
                    "construction"_a = "em_top_down", "threads"_a = 0, "seed"_a = 0, "placed"_a.none() = nb::none(),
                    "stop"_a.none() = nb::none(), "Build the trees of all objects at once.")
        .def_static(
            "empty",
            [](const ForestSettings& settings, std::size_t dimensions) {
                return std::make_unique<ForestHandle>(std::make_shared<Forest>(settings, dimensions), true);
            },
            "settings"_a, "dimensions"_a, "A forest without objects.")
        .def_static("from_arrays", &from_arrays, "settings"_a, "dimensions"_a, "arrays"_a, "whole"_a,
                    "A forest over borrowed arrays. With `whole` every index is checked now, else when it is used.")
        .def("__getstate__",
             [](const ForestHandle& h) {
                 const SharedForest forest = h.share();
                 const ForestSettings& s = forest->settings();
                 return nb::make_tuple(2, s.fanout, static_cast<int>(s.bandwidth), s.alpha,
                                       static_cast<int>(s.inner_variance), s.covariance_block, s.covariance_levels,
                                       s.common_scale, forest->dimensions(), arrays(h, false));
             })
        .def("__setstate__",
             [](ForestHandle& h, nb::tuple state) {
                 if (state.size() != 10 || nb::cast<int>(state[0]) != 2)
                     throw std::invalid_argument("this pickle of a forest was written by another version of anystream");
                 const ForestSettings settings{
                     nb::cast<std::int32_t>(state[1]), static_cast<Bandwidth>(nb::cast<int>(state[2])),
                     nb::cast<double>(state[3]),       static_cast<InnerVariance>(nb::cast<int>(state[4])),
                     nb::cast<std::int32_t>(state[5]), nb::cast<std::int32_t>(state[6]),
                     nb::cast<bool>(state[7])};
                 new (&h) ForestHandle(
                     adopt(settings, nb::cast<std::size_t>(state[8]), nb::cast<nb::dict>(state[9]), true), true);
             })
        .def_static("merge", &merge, "parts"_a, "class_maps"_a, "classes"_a, "One forest of the objects of all parts.")
        .def(
            "snapshot", [](const ForestHandle& h) { return std::make_unique<ForestHandle>(h.share(), false); },
            "A handle on the model as it is now; later learning does not reach it.")
        .def("insert", &insert, "points"_a.noconvert(), "point_class"_a.noconvert(), "Add objects one by one.")
        .def(
            "declare_classes",
            [](ForestHandle& h, std::size_t classes) {
                h.change([&](Forest& forest) { forest.declare_classes(classes); });
            },
            "classes"_a, "Make room for classes that have no object yet.")
        .def(
            "widen",
            [](ForestHandle& h, std::size_t dimensions) {
                h.change([&](Forest& forest) { forest.widen(dimensions); });
            },
            "dimensions"_a, "Add dimensions that are missing in all objects so far.")
        .def("maximise_margin", &maximise_margin, "levels"_a, "kappa"_a, "lambda_"_a, "iterations"_a = 30,
             "threads"_a = 0, "stop"_a.none() = nb::none(),
             "Margin maximisation of the upper levels, one after the other; the objectives of each from its start on.")
        .def("train_root_model", &train_root_model, "kappa"_a, "lambda_"_a, "most_objects"_a, "iterations"_a = 30,
             "seed"_a = 0, "threads"_a = 0, "stop"_a.none() = nb::none(),
             "Train the model of the roots that votes beside the trees; its objectives from the start on.")
        .def_prop_ro(
            "has_root_model", [](const ForestHandle& h) { return !h.share()->root_model().empty(); },
            "Whether the model of the roots was trained and knows all classes and features.")
        .def("arrays", &arrays, "ordered"_a = false,
             "Every array of the forest, by name, read-only; `ordered` lays the nodes out as queries descend.")
        .def(
            "query",
            [](const ForestHandle& h, const QuerySettings& settings, Vector<double> x, const Metric* metric) {
                return std::make_unique<ForestQuery>(h.share(), settings, metric, x);
            },
            "settings"_a, "x"_a.noconvert(), "metric"_a.none() = nb::none(), "Open a query, which then has an answer.")
        .def(
            "resume",
            [](const ForestHandle& h, nb::bytes state) { return std::make_unique<ForestQuery>(h.share(), state); },
            "state"_a, "Go on with a query that was suspended.")
        .def(
            "label_one",
            [](const ForestHandle& h, const QuerySettings& settings, Vector<double> x, std::int64_t steps,
               const Metric* metric) {
                return one<std::size_t>(h, settings, x, steps, metric,
                                        [](const Query& q, std::size_t) { return q.label(); });
            },
            "settings"_a, "x"_a.noconvert(), "steps"_a, "metric"_a.none() = nb::none(),
            "The number of one record's likeliest class.")
        .def(
            "proba_one",
            [](const ForestHandle& h, const QuerySettings& settings, Vector<double> x, std::int64_t steps,
               const Metric* metric) {
                return one<std::vector<double>>(h, settings, x, steps, metric, [](const Query& q, std::size_t classes) {
                    std::vector<double> out(classes);
                    q.posterior(out);
                    return out;
                });
            },
            "settings"_a, "x"_a.noconvert(), "steps"_a, "metric"_a.none() = nb::none(), "One record's probabilities.")
        .def(
            "answer",
            [](const ForestHandle& h, const QuerySettings& settings, Matrix<double> records, std::int64_t steps,
               std::int64_t nanoseconds, const StopFlag* stop, int threads, OutMatrix<double> proba,
               OutVector<std::int64_t> taken, OutVector<std::uint8_t> certified) {
                const SharedForest forest = h.share();
                require_features(*forest, records.shape(1));
                require_equal("rows of proba", proba.shape(0), records.shape(0));
                require_equal("columns of proba", proba.shape(1), forest->classes());
                require_equal("length of steps", taken.size(), records.shape(0));
                require_equal("length of certified", certified.size(), records.shape(0));
                require_finite_records(as_span(records));
                const Limits limits = make_limits(steps, nanoseconds, stop);
                const nb::gil_scoped_release unlocked;
                answer(*forest, settings, {as_span(records), forest->dimensions()}, limits, threads,
                       {as_span(proba), as_span(taken), as_span(certified)});
            },
            "settings"_a, "records"_a.noconvert(), "steps"_a, "nanoseconds"_a, "stop"_a.none(), "threads"_a,
            "proba"_a.noconvert(), "taken"_a.noconvert(), "certified"_a.noconvert(),
            "Answer every record within the limits.")
        .def(
            "answer_in_stages",
            [](const ForestHandle& h, const QuerySettings& settings, Matrix<double> records,
               Vector<std::int64_t> stages, int threads, OutVector<double> out) {
                const SharedForest forest = h.share();
                require_features(*forest, records.shape(1));
                require_equal("length of out", out.size(), records.shape(0) * stages.size() * forest->classes());
                require_finite_records(as_span(records));
                const nb::gil_scoped_release unlocked;
                answer_in_stages(*forest, settings, {as_span(records), forest->dimensions()}, as_span(stages), threads,
                                 as_span(out));
            },
            "settings"_a, "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "Probabilities after each of the ascending numbers of steps: (records, stages, classes).")
        .def(
            "label_in_stages",
            [](const ForestHandle& h, const QuerySettings& settings, Matrix<double> records,
               Vector<std::int64_t> stages, int threads, OutMatrix<std::int32_t> out) {
                const SharedForest forest = h.share();
                require_features(*forest, records.shape(1));
                require_equal("rows of out", out.shape(0), records.shape(0));
                require_equal("columns of out", out.shape(1), stages.size());
                require_finite_records(as_span(records));
                const nb::gil_scoped_release unlocked;
                label_in_stages(*forest, settings, {as_span(records), forest->dimensions()}, as_span(stages), threads,
                                as_span(out));
            },
            "settings"_a, "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "Class numbers after each of the ascending numbers of steps: (records, stages).")
        .def_prop_ro("dimensions", [](const ForestHandle& h) { return h.share()->dimensions(); })
        .def_prop_ro("classes", [](const ForestHandle& h) { return h.share()->classes(); })
        .def_prop_ro("objects", [](const ForestHandle& h) { return h.share()->objects(); })
        .def_prop_ro("nodes", [](const ForestHandle& h) { return h.share()->nodes(); })
        .def_prop_ro(
            "own_bytes", [](const ForestHandle& h) { return h.share()->own_bytes(); },
            "Bytes of memory held; what a mapped file lends is not counted.");

    m.def(
        "bayes_densities",
        [](Vector<float> x, Vector<float> mean, Vector<float> precision, Vector<float> log2_norm,
           Vector<float> log2_count, OutVector<float> log2_density, OutVector<float> log2_value) {
            const std::size_t lanes = log2_density.size();
            require_equal("length of mean", mean.size(), x.size() * lanes);
            require_equal("length of log2_value", log2_value.size(), lanes);
            if (lanes != 4 && lanes % 8 != 0) throw std::invalid_argument("lanes must be 4 or a multiple of 8");
            if (log2_norm.size() == 1) {
                require_equal("length of precision", precision.size(), x.size());
                kernels().shared_densities(x.data(), mean.data(), precision.data(), log2_norm.data()[0], x.size(),
                                           lanes, log2_density.data());
                return;
            }
            require_equal("length of precision", precision.size(), mean.size());
            require_equal("length of log2_norm", log2_norm.size(), lanes);
            require_equal("length of log2_count", log2_count.size(), lanes);
            kernels().own_densities(x.data(),
                                    {mean.data(), precision.data(), log2_norm.data(), log2_count.data(), lanes},
                                    x.size(), log2_density.data(), log2_value.data());
        },
        "x"_a.noconvert(), "mean"_a.noconvert(), "precision"_a.noconvert(), "log2_norm"_a.noconvert(),
        "log2_count"_a.noconvert(), "log2_density"_a.noconvert(), "log2_value"_a.noconvert(),
        "The log2 densities of a node's entries, or with a single norm of a class's kernels; for tests.");
    m.def(
        "bayes_box_exponents",
        [](Vector<double> x, Vector<float> precision, Vector<float> low, Vector<float> high, Vector<double> mean,
           Vector<double> scatter, double share) {
            for (const std::size_t size : {precision.size(), low.size(), high.size(), mean.size(), scatter.size()})
                require_equal("length of an array", size, x.size());
            const BoxExponents u = kernels().box_exponents(
                x.data(), precision.data(), {low.data(), high.data(), mean.data(), scatter.data(), share}, x.size());
            return std::tuple(u.least, u.mean, u.most, u.reach);
        },
        "x"_a.noconvert(), "precision"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "mean"_a.noconvert(),
        "scatter"_a.noconvert(), "share"_a, "Bounds on the exponents of a cloud of objects; for tests.");
    m.def(
        "powers_of_two",
        [](Vector<float> log2_value, float origin, OutVector<double> out) {
            require_equal("length of out", out.size(), log2_value.size());
            kernels().powers_of_two(log2_value.data(), origin, out.size(), out.data());
        },
        "log2_value"_a.noconvert(), "origin"_a, "out"_a.noconvert(), "2^(log2_value - origin), for tests.");
}

}  // namespace anystream::bindings
