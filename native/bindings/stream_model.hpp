// Shared by the bindings of stream models: the calls that learn and classify.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "anystream/parallel.hpp"
#include "bound_query.hpp"
#include "shared_model.hpp"

namespace anystream::bindings {

/// Whether a model learns on several threads, with the same result.
template <typename Model>
inline constexpr bool kLearnsOnThreads =
    requires(Model& model, std::span<const double> points, std::span<const std::int32_t> labels) {
        model.learn(points, labels, 2);
    };

/// Points of one call of `learn`. A model with `reserve(points, labels, classes)` learns small batches in place, if
/// `learns_in_place` with the same arguments allows it.
template <typename Model>
struct StreamBatch {
    std::span<const double> points;
    std::span<const std::int32_t> labels;
    std::size_t dimensions, classes;
    int threads = 1;

    [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
    void check(const Model& model) const {
        require_features(model, dimensions);
        require_classes(labels, std::max(classes, model.classes()));
    }
    void check_records(std::size_t first, std::size_t last) const {
        require_finite_records(points.subspan(first * dimensions, (last - first) * dimensions));
    }
    void reserve(Model& model) const
        requires requires { model.reserve(points, labels, classes); }
    {
        model.reserve(points, labels, classes);
    }
    [[nodiscard]] bool learns_in_place(const Model& model) const
        requires requires { model.learns_in_place(points, labels, classes); }
    {
        return model.learns_in_place(points, labels, classes);
    }
    void apply(Model& model, std::size_t first, std::size_t last) const { learn(model, first, last); }
    /// Checks records while it learns them, which reads memory once.
    void apply_in_copy(Model& model, std::size_t first, std::size_t last) const
        requires kLearnsOnThreads<Model>
    {
        constexpr std::size_t kFew = 256;  // records that are not worth waking a thread
        if (!learn(model, first, last, last - first < kFew ? 1 : threads)) throw_infinite_record();
    }

  private:
    auto learn(Model& model, std::size_t first, std::size_t last, auto... n_threads) const {
        if (classes > model.classes()) model.declare_classes(classes);
        return model.learn(points.subspan(first * dimensions, (last - first) * dimensions),
                           labels.subspan(first, last - first), n_threads...);
    }
};

template <typename Model>
void bind_learn(nb::class_<SharedModel<Model>>& bound) {
    using Handle = SharedModel<Model>;
    const auto learn = [](Handle& h, const Matrix<double>& points, const Vector<std::int32_t>& labels,
                          std::size_t classes, nb::dict owner, nb::dict attributes, int threads) {
        require_equal("length of labels", labels.size(), points.shape(0));
        const StreamBatch<Model> batch{as_span(points), as_span(labels), points.shape(1), classes, threads};
        h.learn(batch, Announcement(owner, attributes));
    };
    constexpr const char* kDoc =
        "Learn points one after another, all or none. There are `classes` classes from then on; `attributes` are "
        "set in `owner`, the __dict__ of the classifier, together with the change.";
    if constexpr (kLearnsOnThreads<Model>) {
        bound.def(
            "learn",
            [learn](Handle& h, Matrix<double> points, Vector<std::int32_t> labels, std::size_t classes, nb::dict owner,
                    nb::dict attributes,
                    int threads) { learn(h, points, labels, classes, owner, attributes, thread_count(threads)); },
            "points"_a.noconvert(), "labels"_a.noconvert(), "classes"_a, "owner"_a = nb::dict(),
            "attributes"_a = nb::dict(), "threads"_a = 1, kDoc);
    } else {
        bound.def(
            "learn",
            [learn](Handle& h, Matrix<double> points, Vector<std::int32_t> labels, std::size_t classes, nb::dict owner,
                    nb::dict attributes) { learn(h, points, labels, classes, owner, attributes, 1); },
            "points"_a.noconvert(), "labels"_a.noconvert(), "classes"_a, "owner"_a = nb::dict(),
            "attributes"_a = nb::dict(), kDoc);
    }
}

/// The calls of a handle that learn and classify; `stream_model_making.hpp` has those that make and store it.
template <typename Query>
auto bind_stream_model(nb::module_& m, const char* name, const char* doc) {
    using Model = typename Query::Model;
    using Settings = typename Query::Settings;
    using Handle = SharedModel<Model>;
    auto bound = nb::class_<Handle>(m, name, doc);
    bind_learn(bound);
    bound
        .def(
            "snapshot", [](const Handle& h) { return std::make_unique<Handle>(h.share()); },
            "A handle on the present model, which later learning does not change; both share it until one of them "
            "learns.")
        .def(
            "query",
            [](const Handle& h, const Settings& settings, Vector<double> x) {
                const auto model = h.share();
                return std::make_unique<BoundQuery<Query>>(model, settings, checked_record(*model, x));
            },
            "settings"_a, "x"_a.noconvert(), "Open a query.")
        .def(
            "resume",
            [](const Handle& h, nb::bytes state) { return std::make_unique<BoundQuery<Query>>(h.share(), state); },
            "state"_a, "Resume a suspended query.")
        .def(
            "label_one",
            [](const Handle& h, const Settings& settings, Vector<double> x, std::int64_t steps) {
                const auto model = h.share();
                return classify_one<Query>(*model, settings, checked_record(*model, x), steps).label(*model);
            },
            "settings"_a, "x"_a.noconvert(), "steps"_a, "The number of one record's likeliest class.")
        .def(
            "proba_one",
            [](const Handle& h, const Settings& settings, Vector<double> x, std::int64_t steps,
               const Calibration* calibration) {
                const auto model = h.share();
                Query& query = classify_one<Query>(*model, settings, checked_record(*model, x), steps);
                return posterior_of(query, *model, calibration);
            },
            "settings"_a, "x"_a.noconvert(), "steps"_a, "calibration"_a.none() = nb::none(),
            "One record's probabilities.")
        .def(
            "answer",
            [](const Handle& h, const Settings& settings, Matrix<double> records, std::int64_t steps,
               std::int64_t nanoseconds, const StopFlag* stop, int threads, OutMatrix<double> proba,
               OutVector<std::int64_t> taken, OutVector<std::uint8_t> marks, const Calibration* calibration) {
                const Limits limits = make_limits(steps, nanoseconds, stop);
                const auto model = h.share();
                const Batch<Query> batch{*model, settings, checked_records(*model, records), calibration};
                const AnswerRows out = checked_answers(batch.size(), batch.classes(), proba, taken, marks);
                const nb::gil_scoped_release unlocked;
                answer_batch(batch, limits, threads, out);
            },
            "settings"_a, "records"_a.noconvert(), "steps"_a, "nanoseconds"_a, "stop"_a.none(), "threads"_a,
            "proba"_a.noconvert(), "taken"_a.noconvert(), "marks"_a.noconvert(), "calibration"_a.none() = nb::none(),
            "Classify every record within the limits.")
        .def(
            "answer_in_stages",
            [](const Handle& h, const Settings& settings, Matrix<double> records, Vector<std::int64_t> stages,
               int threads, OutVector<double> out, const Calibration* calibration) {
                const auto model = h.share();
                const Batch<Query> batch{*model, settings, checked_records(*model, records), calibration};
                require_equal("length of out", out.size(), batch.size() * stages.size() * batch.classes());
                const nb::gil_scoped_release unlocked;
                answer_batch_in_stages(batch, as_span(stages), threads, as_span(out));
            },
            "settings"_a, "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "calibration"_a.none() = nb::none(),
            "Probabilities after each of the ascending numbers of steps: (records, stages, classes).")
        .def_prop_ro("dimensions", [](const Handle& h) { return h.share()->dimensions(); })
        .def_prop_ro("classes", [](const Handle& h) { return h.share()->classes(); })
        .def_prop_ro("own_bytes", [](const Handle& h) { return h.share()->own_bytes(); }, "Bytes of memory held.");
    return bound;
}

}  // namespace anystream::bindings
