// Bayes forests for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "anystream/bayes_tree/answer.hpp"
#include "anystream/bayes_tree/construction.hpp"
#include "anystream/bayes_tree/first_look.hpp"
#include "anystream/bayes_tree/forest.hpp"
#include "anystream/bayes_tree/metric.hpp"
#include "anystream/parallel.hpp"
#include "arrays.hpp"
#include "bayes_query.hpp"
#include "shared_model.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::bayes_tree;
using SharedForest = std::shared_ptr<Forest>;

ForestSettings forest_settings(std::int32_t fanout, const std::string& bandwidth, double alpha,
                               const std::string& inner_variance, std::int32_t covariance_block,
                               std::int32_t covariance_levels, bool common_scale, std::int64_t window,
                               const std::string& insertion, const std::vector<double>& class_weights,
                               double covariance_shrinkage, double covariance_min_records) {
    for (const double given : {covariance_shrinkage, covariance_min_records})
        if (!(given >= 0.0) || !std::isfinite(given))
            throw std::invalid_argument("an option of covariances is " + std::to_string(given) + "; use 0 or more");
    if (window < 0) throw std::invalid_argument("window is " + std::to_string(window) + "; use 0 or more");
    if (covariance_block < 0)
        throw std::invalid_argument("covariance_block is " + std::to_string(covariance_block) + "; use 0 or more");
    if (covariance_levels < 0)
        throw std::invalid_argument("covariance_levels is " + std::to_string(covariance_levels) + "; use 0 or more");
    if (fanout < 3 || fanout > kMaxFanout)
        throw std::invalid_argument("fanout is " + std::to_string(fanout) + "; use 3 to " + std::to_string(kMaxFanout));
    if (!(alpha > 0.0) || !std::isfinite(alpha))
        throw std::invalid_argument("alpha is " + std::to_string(alpha) + "; use a positive number");
    std::vector<double> log2_class_weight;
    for (const double weight : class_weights) {
        if (!(weight > 0.0) || !std::isfinite(weight))
            throw std::invalid_argument("a class weight is " + std::to_string(weight) + "; use numbers above 0");
        log2_class_weight.push_back(std::log2(weight));
    }
    return {fanout,
            by_name<Bandwidth>(
                bandwidth, "bandwidth",
                {{"langley", Bandwidth::langley}, {"haerdle", Bandwidth::haerdle}, {"factor", Bandwidth::factor}}),
            alpha,
            by_name<InnerVariance>(inner_variance, "inner_variance",
                                   {{"plain", InnerVariance::plain}, {"max", InnerVariance::max}}),
            covariance_block,
            covariance_levels,
            common_scale,
            window,
            by_name<Insertion>(insertion, "insertion",
                               {{"nearest_mean", Insertion::nearest_mean}, {"guttman", Insertion::guttman}}),
            std::move(log2_class_weight),
            covariance_shrinkage,
            covariance_min_records};
}

void require_window(const ForestSettings& settings, std::size_t records) {
    if (settings.window > 0 && records > static_cast<std::size_t>(settings.window))
        throw std::invalid_argument("there are " + std::to_string(records) + " records, more than the window of " +
                                    std::to_string(settings.window) + "; pass the newest ones");
}

/// A forest whose arrays are checked before it first learns, unless they were checked before.
class ForestHandle : public SharedModel<Forest> {
  public:
    ForestHandle(SharedForest forest, bool trusted) : SharedModel(std::move(forest)), trusted_(trusted) {}

    template <typename Change>
    void change(Change&& change) {
        SharedModel::change([&](Forest& forest) {
            require_trust(forest);
            change(forest);
        });
    }
    /// Call it from `SharedModel::change` or `check` only: there is one learner at a time.
    void require_trust(const Forest& forest) {
        if (!trusted_) forest.check();
        trusted_ = true;
    }

  private:
    bool trusted_;
};

/// Records of one call of `insert`.
struct ForestInsertion {
    ForestHandle& handle;
    std::span<const double> points;
    std::span<const std::int32_t> labels;
    std::size_t dimensions, classes;

    [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
    void check(const Forest& forest) const {
        handle.require_trust(forest);
        require_features(forest, dimensions);
        require_classes(labels, std::max(classes, forest.classes()));
    }
    /// Reserving for the worst case of many records takes more memory than a copy.
    [[nodiscard]] bool learns_in_place(const Forest& forest) const {
        return size() == 1 || forest.reserve_bytes(size(), classes) < forest.own_bytes() / 4;
    }
    void reserve(Forest& forest) const {
        if (learns_in_place(forest)) forest.reserve(size(), classes);  // in a copy, each record reserves its own
    }
    void apply(Forest& forest, std::size_t first, std::size_t last) const {
        if (classes > forest.classes()) forest.declare_classes(classes);
        for (std::size_t i = first; i < last; ++i) forest.insert(points.data() + i * dimensions, labels[i]);
    }
};

// -- learning -------------------------------------------------------------------------------------------------------

std::unique_ptr<ForestHandle> build(const ForestSettings& settings, Matrix<double> points,
                                    Vector<std::int32_t> classes_of, std::size_t classes,
                                    const std::string& construction, int threads, std::uint64_t seed, Counter* placed,
                                    const StopFlag* stop, std::optional<std::size_t> sample,
                                    std::optional<std::size_t> window, double tolerance) {
    if (sample && *sample < 2) throw std::invalid_argument("sample is below 2; use 2 or more, or None");
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
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
    require_window(settings, classes_of.size());
    auto forest = std::make_shared<Forest>(settings, points.shape(1));
    const auto values = as_span(points);
    const auto labels = as_span(classes_of);
    {
        const nb::gil_scoped_release unlocked;
        forest->build(values, labels, classes,
                      {method, threads, seed, stop, placed == nullptr ? nullptr : &placed->value, sample.value_or(all),
                       window.value_or(all), tolerance});
    }
    return std::make_unique<ForestHandle>(std::move(forest), true);
}

void insert(ForestHandle& handle, Matrix<double> points, Vector<std::int32_t> classes_of, std::size_t classes,
            nb::dict owner, nb::dict attributes) {
    require_equal("length of point_class", classes_of.size(), points.shape(0));
    const ForestInsertion records{handle, as_span(points), as_span(classes_of), points.shape(1), classes};
    handle.learn(records, Announcement(owner, attributes));
}

/// `done` counts iterations as they start.
MarginSettings margin_settings(double kappa, double lambda, int iterations, int threads, const StopFlag* stop,
                               Counter* done) {
    if (!(kappa >= 1.0) || !std::isfinite(kappa))
        throw std::invalid_argument("kappa is " + std::to_string(kappa) + "; use 1 or more");
    if (!(lambda > 0.0) || !std::isfinite(lambda))
        throw std::invalid_argument("lambda is " + std::to_string(lambda) + "; use a positive number");
    MarginSettings settings;
    settings.kappa = kappa;
    settings.lambda = lambda;
    settings.iterations = iterations;
    settings.threads = thread_count(threads);
    settings.poll = [stop, done] {
        if (stop != nullptr && stop->is_set()) throw BuildStopped();
        if (done != nullptr) done->value.fetch_add(1, std::memory_order_relaxed);
    };
    return settings;
}

std::vector<std::vector<double>> maximise_margin(ForestHandle& handle, std::size_t levels, double kappa, double lambda,
                                                 int iterations, bool weights, double min_records, bool floor,
                                                 int threads, const StopFlag* stop, Counter* done) {
    MarginSettings settings = margin_settings(kappa, lambda, iterations, threads, stop, done);
    settings.weights = weights;
    settings.min_records = min_records;
    settings.floor = floor;
    std::vector<std::vector<double>> histories;
    handle.change([&](Forest& forest) { histories = forest.maximise_margin(levels, settings); });
    return histories;
}

std::vector<double> train_root_model(ForestHandle& handle, double kappa, double lambda, std::size_t max_records,
                                     int iterations, std::uint64_t seed, int threads, const StopFlag* stop,
                                     Counter* done) {
    const MarginSettings settings = margin_settings(kappa, lambda, iterations, threads, stop, done);
    std::vector<double> history;
    handle.change([&](Forest& forest) { history = forest.train_root_model(settings, max_records, seed); });
    return history;
}

std::unique_ptr<ForestHandle> merge(const std::vector<const ForestHandle*>& parts,
                                    const std::vector<std::vector<std::int32_t>>& class_maps, std::size_t classes) {
    if (parts.empty()) throw std::invalid_argument("the list of models to merge is empty");
    require_equal("number of class maps", class_maps.size(), parts.size());
    std::vector<SharedForest> shares;
    for (const ForestHandle* part : parts) shares.push_back(part->share());
    const nb::gil_scoped_release unlocked;
    std::vector<const Forest*> forests;
    std::size_t records = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        forests.push_back(shares[p].get());
        forests[p]->check();
        require_features(*forests[0], forests[p]->dimensions());
        require_equal("length of a class map", class_maps[p].size(), forests[p]->classes());
        require_classes(class_maps[p], classes);
        records += forests[p]->records();
    }
    require_window(forests[0]->settings(), records);
    auto whole = std::make_shared<Forest>(Forest::merged(forests, class_maps, classes));
    return std::make_unique<ForestHandle>(std::move(whole), true);
}

std::unique_ptr<ForestHandle> with_settings(const ForestHandle& handle, const ForestSettings& settings) {
    const SharedForest forest = handle.share();
    const ForestSettings& own = forest->settings();
    if (settings.fanout != own.fanout || settings.common_scale != own.common_scale || settings.window != own.window ||
        settings.insertion != own.insertion)
        throw std::invalid_argument("fanout, common_scale, window or insertion differs; build a new forest");
    const nb::gil_scoped_release unlocked;
    forest->check();
    return std::make_unique<ForestHandle>(std::make_shared<Forest>(forest->with_settings(settings)), true);
}

// -- storage --------------------------------------------------------------------------------------------------------

nb::dict arrays(const ForestHandle& handle) {
    return arrays_of<Forest>(handle.share());
}

SharedForest adopt(const ForestSettings& settings, std::size_t dimensions, const nb::dict& given, bool whole) {
    auto forest = std::make_shared<Forest>(settings, dimensions);
    adopt_arrays(*forest, given);
    const nb::gil_scoped_release unlocked;  // a large forest takes long; ends before `forest` does
    forest->check_sizes();
    forest->check_heads();
    if (whole) forest->check();
    return forest;
}

std::unique_ptr<ForestHandle> from_arrays(const ForestSettings& settings, std::size_t dimensions, nb::dict given,
                                          bool whole) {
    return std::make_unique<ForestHandle>(adopt(settings, dimensions, given, whole), whole);
}

nb::tuple state_of(const ForestHandle& handle) {
    const SharedForest forest = handle.share();
    const ForestSettings& s = forest->settings();
    return nb::make_tuple(6, s.fanout, static_cast<int>(s.bandwidth), s.alpha, static_cast<int>(s.inner_variance),
                          s.covariance_block, s.covariance_levels, s.common_scale, s.window,
                          static_cast<int>(s.insertion), s.log2_class_weight, s.covariance_shrinkage,
                          s.covariance_min_records, forest->dimensions(), arrays(handle));
}

void set_state(ForestHandle& handle, nb::tuple state) {
    if (state.size() != 15 || nb::cast<int>(state[0]) != 6)
        throw std::invalid_argument("this pickle of a forest was written by another version of anystream");
    const ForestSettings settings{nb::cast<std::int32_t>(state[1]),
                                  static_cast<Bandwidth>(nb::cast<int>(state[2])),
                                  nb::cast<double>(state[3]),
                                  static_cast<InnerVariance>(nb::cast<int>(state[4])),
                                  nb::cast<std::int32_t>(state[5]),
                                  nb::cast<std::int32_t>(state[6]),
                                  nb::cast<bool>(state[7]),
                                  nb::cast<std::int64_t>(state[8]),
                                  static_cast<Insertion>(nb::cast<int>(state[9])),
                                  nb::cast<std::vector<double>>(state[10]),
                                  nb::cast<double>(state[11]),
                                  nb::cast<double>(state[12])};
    new (&handle)
        ForestHandle(adopt(settings, nb::cast<std::size_t>(state[13]), nb::cast<nb::dict>(state[14]), true), true);
}

// -- inspection -----------------------------------------------------------------------------------------------------

nb::dict entries(const ForestHandle& handle) {
    TreeEntries found;
    {
        const SharedForest forest = handle.share();
        const nb::gil_scoped_release unlocked;
        found = forest->entries();
    }
    nb::dict all;
    all["first"] = to_numpy(std::move(found.first));
    all["node"] = to_numpy(std::move(found.node));
    all["child"] = to_numpy(std::move(found.child));
    all["offset"] = to_numpy(std::move(found.offset));
    return all;
}

/// Means and precisions of the entries of a node, each (entries, d), flat.
auto node_gaussians(const ForestHandle& handle, std::size_t node) {
    const SharedForest forest = handle.share();
    if (node >= forest->nodes())
        throw nb::index_error(("node " + std::to_string(node) + " of " + std::to_string(forest->nodes())).c_str());
    if (forest->node_class(node) >= forest->classes())
        throw DamagedModel("node " + std::to_string(node) + " has a class that does not exist");
    const NodeView view = forest->node(node);
    const float* kernel = forest->kernel_precision(forest->node_class(node));
    std::vector<float> mean, precision;
    for (std::size_t lane = 0; lane < view.entries; ++lane) {
        for (std::size_t j = 0; j < forest->dimensions(); ++j) {
            mean.push_back(view.mean[j * view.lanes + lane]);
            precision.push_back(view.precision == nullptr ? kernel[j] : view.precision[j * view.lanes + lane]);
        }
    }
    return nb::make_tuple(to_numpy(std::move(mean)), to_numpy(std::move(precision)));
}

// -- classifying ----------------------------------------------------------------------------------------------------

void require_metric(const Forest& forest, const Metric* metric) {
    if (metric != nullptr) require_equal("features of the metric", metric->dimensions(), forest.dimensions());
}

/// A raw record in the space of the trees; valid until the thread's next one.
TreeRecord mapped_record(const Forest& forest, const Metric* metric, const FirstLook* look, const Vector<double>& x) {
    require_metric(forest, metric);
    const auto raw = checked_record(forest, x);
    TreeRecord record = in_tree_space(metric, raw);
    record.look = look;
    record.raw = raw;
    return record;
}

ForestBatch batch_of(const Forest& forest, const QuerySettings& settings, const Matrix<double>& records,
                     const Metric* metric, const Calibration* calibration = nullptr, const FirstLook* look = nullptr) {
    require_metric(forest, metric);
    return {forest, settings, {checked_records(forest, records), metric, look}, calibration};
}

void bind_building(nb::class_<ForestHandle>& bound) {
    bound
        .def_static("build", &build, "settings"_a, "points"_a.noconvert(), "point_class"_a.noconvert(), "classes"_a,
                    "construction"_a = "em_top_down", "threads"_a = 0, "seed"_a = 0, "placed"_a.none() = nb::none(),
                    "stop"_a.none() = nb::none(), "sample"_a.none() = 2000, "window"_a.none() = 512,
                    "tolerance"_a = 1e-2,
                    "Build the trees of all records at once. em_top_down alone reads `sample`, goldberger and\n"
                    "virtual_sampling alone `window`, the latter alone `tolerance`.")
        .def_static(
            "empty",
            [](const ForestSettings& settings, std::size_t dimensions) {
                return std::make_unique<ForestHandle>(std::make_shared<Forest>(settings, dimensions), true);
            },
            "settings"_a, "dimensions"_a, "A forest without records.")
        .def("with_settings", &with_settings, "settings"_a,
             "The same trees of the same records with Gaussians by other settings, without a root model. Fanout, "
             "window,\n"
             "insertion and scale have to be the same.")
        .def_static("merge", &merge, "parts"_a, "class_maps"_a, "classes"_a, "One forest of the records of all parts.")
        .def("insert", &insert, "points"_a.noconvert(), "point_class"_a.noconvert(), "classes"_a,
             "owner"_a = nb::dict(), "attributes"_a = nb::dict(),
             "Add records one by one, all or none. There are `classes` classes from then on; `attributes` are set in "
             "`owner`, the __dict__ of the classifier, together with the change.")
        .def(
            "add_features",
            [](ForestHandle& h, std::size_t dimensions) {
                h.change([&](Forest& forest) { forest.add_features(dimensions); });
            },
            "dimensions"_a, "Add features that are missing in all records so far.")
        .def("maximise_margin", &maximise_margin, "levels"_a, "kappa"_a, "lambda_"_a, "iterations"_a = 30,
             "weights"_a = false, "min_records"_a = 10.0, "floor"_a = true, "threads"_a = 0,
             "stop"_a.none() = nb::none(), "done"_a.none() = nb::none(),
             "Margin maximisation of the upper levels, one after the other; the objectives of each from its start on. "
             "`done` counts iterations as they start.")
        .def("train_root_model", &train_root_model, "kappa"_a, "lambda_"_a, "max_records"_a, "iterations"_a = 30,
             "seed"_a = 0, "threads"_a = 0, "stop"_a.none() = nb::none(), "done"_a.none() = nb::none(),
             "Train the model of the roots that votes beside the trees; its objectives from the start on. `done` "
             "counts iterations as they start.")
        .def_prop_ro(
            "has_root_model", [](const ForestHandle& h) { return !h.share()->root_model().empty(); },
            "Whether the model of the roots was trained on the present classes and features.");
}

void bind_storage(nb::class_<ForestHandle>& bound) {
    bound
        .def_static("from_arrays", &from_arrays, "settings"_a, "dimensions"_a, "arrays"_a, "whole"_a,
                    "A forest over borrowed arrays. With `whole` every index is checked now, else when it is used.")
        .def("arrays", &arrays, "Every array of the forest, by name, read-only.")
        .def("__getstate__", &state_of)
        .def("__setstate__", &set_state)
        .def(
            "snapshot", [](const ForestHandle& h) { return std::make_unique<ForestHandle>(h.share(), false); },
            "A handle on the present forest, which later learning does not change.")
        .def(
            "entries", &entries,
            "The entries of all nodes, node by node, as arrays by name: `first` (nodes + 1), `node`, `child` (>= 0: a\n"
            "node, else ~record) and `offset`, the index of the child in the array `blob`.")
        .def("node_gaussians", &node_gaussians, "node"_a,
             "Means and precisions (1 / sigma) of a node's entries, standardised, each (entries, dimensions), flat.")
        .def_prop_ro("dimensions", [](const ForestHandle& h) { return h.share()->dimensions(); })
        .def_prop_ro("classes", [](const ForestHandle& h) { return h.share()->classes(); })
        .def_prop_ro("records", [](const ForestHandle& h) { return h.share()->records(); })
        .def_prop_ro("nodes", [](const ForestHandle& h) { return h.share()->nodes(); })
        .def_prop_ro(
            "own_bytes", [](const ForestHandle& h) { return h.share()->own_bytes(); },
            "Bytes of memory held; bytes of a mapped file are not counted.");
}

void bind_single_records(nb::class_<ForestHandle>& bound) {
    bound
        .def(
            "query",
            [](const ForestHandle& h, const QuerySettings& settings, Vector<double> x, const Metric* metric,
               const FirstLook* look) {
                const SharedForest forest = h.share();
                return std::make_unique<ForestQuery>(forest, settings, mapped_record(*forest, metric, look, x));
            },
            "settings"_a, "x"_a.noconvert(), "metric"_a.none() = nb::none(), "look"_a.none() = nb::none(),
            "Open a query on a record.")
        .def(
            "resume",
            [](const ForestHandle& h, nb::bytes state) { return std::make_unique<ForestQuery>(h.share(), state); },
            "state"_a, "Resume a suspended query.")
        .def(
            "label_one",
            [](const ForestHandle& h, const QuerySettings& settings, Vector<double> x, std::int64_t steps,
               const Metric* metric, const FirstLook* look) {
                const SharedForest forest = h.share();
                require_metric(*forest, metric);
                if (steps <= 0)
                    if (const auto label = label_at_once(*forest, settings, metric, look, checked_record(*forest, x)))
                        return *label;
                const TreeRecord record = mapped_record(*forest, metric, look, x);
                return classify_one<Query>(*forest, settings, record, steps).label(*forest);
            },
            "settings"_a, "x"_a.noconvert(), "steps"_a, "metric"_a.none() = nb::none(), "look"_a.none() = nb::none(),
            "The number of one record's likeliest class.")
        .def(
            "proba_one",
            [](const ForestHandle& h, const QuerySettings& settings, Vector<double> x, std::int64_t steps,
               const Metric* metric, const Calibration* calibration, const FirstLook* look) {
                const SharedForest forest = h.share();
                Query& query = classify_one<Query>(*forest, settings, mapped_record(*forest, metric, look, x), steps);
                return posterior_of(query, *forest, calibration);
            },
            "settings"_a, "x"_a.noconvert(), "steps"_a, "metric"_a.none() = nb::none(),
            "calibration"_a.none() = nb::none(), "look"_a.none() = nb::none(), "One record's probabilities.");
}

void bind_batches(nb::class_<ForestHandle>& bound) {
    bound
        .def(
            "answer",
            [](const ForestHandle& h, const QuerySettings& settings, Matrix<double> records, std::int64_t steps,
               std::int64_t nanoseconds, const StopFlag* stop, int threads, OutMatrix<double> proba,
               OutVector<std::int64_t> taken, OutVector<std::uint8_t> marks, const Metric* metric,
               const Calibration* calibration, const FirstLook* look) {
                const Limits limits = make_limits(steps, nanoseconds, stop);
                const SharedForest forest = h.share();
                const ForestBatch batch = batch_of(*forest, settings, records, metric, calibration, look);
                const AnswerRows out = checked_answers(batch.size(), batch.classes(), proba, taken, marks);
                const nb::gil_scoped_release unlocked;
                answer(batch, limits, threads, out);
            },
            "settings"_a, "records"_a.noconvert(), "steps"_a, "nanoseconds"_a, "stop"_a.none(), "threads"_a,
            "proba"_a.noconvert(), "taken"_a.noconvert(), "marks"_a.noconvert(), "metric"_a.none() = nb::none(),
            "calibration"_a.none() = nb::none(), "look"_a.none() = nb::none(),
            "Classify every record within the limits.")
        .def(
            "answer_in_stages",
            [](const ForestHandle& h, const QuerySettings& settings, Matrix<double> records,
               Vector<std::int64_t> stages, int threads, OutVector<double> out, const Metric* metric,
               const Calibration* calibration, const FirstLook* look) {
                const SharedForest forest = h.share();
                const ForestBatch batch = batch_of(*forest, settings, records, metric, calibration, look);
                require_equal("length of out", out.size(), batch.size() * stages.size() * batch.classes());
                const nb::gil_scoped_release unlocked;
                answer_batch_in_stages(batch, as_span(stages), threads, as_span(out));
            },
            "settings"_a, "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "metric"_a.none() = nb::none(), "calibration"_a.none() = nb::none(), "look"_a.none() = nb::none(),
            "Probabilities after each of the ascending numbers of steps: (records, stages, classes).")
        .def(
            "log2_scores_in_stages",
            [](const ForestHandle& h, const QuerySettings& settings, Matrix<double> records,
               Vector<std::int64_t> stages, int threads, OutVector<double> scores, OutMatrix<double> votes,
               OutMatrix<std::uint8_t> exhausted, const Metric* metric) {
                const SharedForest forest = h.share();
                const ForestBatch batch = batch_of(*forest, settings, records, metric);
                require_equal("length of scores", scores.size(), batch.size() * stages.size() * batch.classes());
                require_equal("rows of votes", votes.shape(0), batch.size());
                require_equal("columns of votes", votes.shape(1), batch.classes());
                require_equal("rows of exhausted", exhausted.shape(0), batch.size());
                require_equal("columns of exhausted", exhausted.shape(1), stages.size());
                const nb::gil_scoped_release unlocked;
                log2_scores_in_stages(batch, as_span(stages), threads,
                                      {as_span(scores), as_span(votes), as_span(exhausted)});
            },
            "settings"_a, "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "scores"_a.noconvert(),
            "votes"_a.noconvert(), "exhausted"_a.noconvert(), "metric"_a.none() = nb::none(),
            "log2 of the scores of the trees alone after each of the ascending numbers of steps, (records, stages,\n"
            "classes); the votes of the root model, 0 if it has none; and whether no step is left, (records, stages).")
        .def(
            "label_in_stages",
            [](const ForestHandle& h, const QuerySettings& settings, Matrix<double> records,
               Vector<std::int64_t> stages, int threads, OutMatrix<std::int32_t> out, const Metric* metric) {
                const SharedForest forest = h.share();
                const ForestBatch batch = batch_of(*forest, settings, records, metric);
                require_equal("rows of out", out.shape(0), batch.size());
                require_equal("columns of out", out.shape(1), stages.size());
                const nb::gil_scoped_release unlocked;
                label_batch_in_stages(batch, as_span(stages), threads, as_span(out));
            },
            "settings"_a, "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "metric"_a.none() = nb::none(),
            "Class numbers after each of the ascending numbers of steps: (records, stages).");
}

}  // namespace

void bind_bayes_forest(nb::module_& m) {
    nb::class_<ForestSettings>(m, "BayesForestSettings", "How a forest turns records into Gaussians.")
        .def(nb::new_(&forest_settings), "fanout"_a, "bandwidth"_a, "alpha"_a, "inner_variance"_a,
             "covariance_block"_a = 1, "covariance_levels"_a = 2, "common_scale"_a = false, "window"_a = 0,
             "insertion"_a = "nearest_mean", "class_weights"_a = std::vector<double>(), "covariance_shrinkage"_a = 1.0,
             "covariance_min_records"_a = 2.0);
    auto bound =
        nb::class_<ForestHandle>(m, "BayesForest",
                                 "One Bayes tree per class. Many threads may classify while one learns.\n\n"
                                 "All calls that classify take raw records, and the metric that the records\n"
                                 "which the trees were built from had been mapped with, if there is one. With a\n"
                                 "first look, its answer comes before the first step.");
    bind_building(bound);
    bind_storage(bound);
    bind_single_records(bound);
    bind_batches(bound);
}

}  // namespace anystream::bindings
