// What the bindings of stream models share: the calls that learn and answer.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "anystream/stream_batch.hpp"
#include "shared_model.hpp"

namespace anystream::bindings {

/// One classification in progress, as Python holds it.
template <typename Query>
class StreamQuery {
  public:
    using Model = typename Query::Model;
    using Shared = std::shared_ptr<Model>;

    StreamQuery(Shared model, const typename Query::Settings& settings, Vector<double> x) : model_(std::move(model)) {
        require_features(*model_, x.size());
        require_finite_records(as_span(x));
        query_.open(*model_, settings, x.data());
    }
    StreamQuery(Shared model, nb::bytes state) : model_(std::move(model)) {
        query_.resume(*model_, {reinterpret_cast<const std::byte*>(state.data()), state.size()});
    }
    std::int64_t refine(std::int64_t steps, std::int64_t nanoseconds, const StopFlag* stop) {
        const Limits limits = make_limits(steps, nanoseconds, stop);
        if (!limits.interruptible() && steps >= 0 && steps <= 64) return anystream::refine(query_, *model_, limits);
        const nb::gil_scoped_release unlocked;
        return anystream::refine(query_, *model_, limits);
    }
    [[nodiscard]] auto proba() const {
        std::vector<double> out(model_->classes());
        query_.posterior(out);
        return to_numpy(std::move(out));
    }
    [[nodiscard]] nb::bytes state() const {
        const auto bytes = query_.suspend();
        return nb::bytes(bytes.data(), bytes.size());
    }
    [[nodiscard]] const Query& query() const noexcept { return query_; }

  private:
    Shared model_;
    Query query_;
};

/// One record without the ceremony of a batch: the workspace belongs to the thread.
template <typename Query, typename Result>
Result answer_one(const SharedModel<typename Query::Model>& handle, const typename Query::Settings& settings,
                  Vector<double> x, std::int64_t steps, Result (*result)(const Query&, std::size_t classes)) {
    thread_local Query query;
    const auto model = handle.share();
    require_features(*model, x.size());
    require_finite_records(as_span(x));
    query.open(*model, settings, x.data());
    refine(query, *model, {.steps = steps < 0 ? Limits::kUnlimited : steps});
    return result(query, model->classes());
}

template <typename Query>
void bind_stream_query(nb::module_& m, const char* name) {
    using Bound = StreamQuery<Query>;
    nb::class_<Bound>(m, name, "One classification in progress.")
        .def("refine", &Bound::refine, "steps"_a = -1, "nanoseconds"_a = -1, "stop"_a.none() = nb::none(),
             "Take steps within the limits (-1: none); return their number.")
        .def(
            "label", [](const Bound& q) { return q.query().label(); }, "The number of the likeliest class.")
        .def("proba", &Bound::proba, "The probabilities of the classes.")
        .def("state", &Bound::state, "Everything that is needed to go on later, as bytes.")
        .def_prop_ro(
            "steps", [](const Bound& q) { return q.query().steps(); }, "Steps so far.")
        .def_prop_ro(
            "exhausted", [](const Bound& q) { return q.query().finished(); },
            "Nothing is left to do: no further step can change the label.");
}

/// The calls of a handle that learn and answer; how it is made and stored is the room's own.
template <typename Query>
auto bind_stream_model(nb::module_& m, const char* name, const char* doc) {
    using Model = typename Query::Model;
    using Settings = typename Query::Settings;
    using Handle = SharedModel<Model>;
    auto bound = nb::class_<Handle>(m, name, doc);
    bound
        .def(
            "learn",
            [](Handle& h, Matrix<double> points, Vector<std::int32_t> labels) {
                require_equal("length of labels", labels.size(), points.shape(0));
                require_finite_records(as_span(points));
                const auto values = as_span(points);
                const auto classes = as_span(labels);
                const std::size_t d = points.shape(1);
                h.change([&](Model& model) {
                    require_features(model, d);
                    require_classes(classes, model.classes());
                    model.learn(values, classes);
                });
            },
            "points"_a.noconvert(), "labels"_a.noconvert(), "Learn points one after another.")
        .def(
            "declare_classes",
            [](Handle& h, std::size_t classes) { h.change([&](Model& model) { model.declare_classes(classes); }); },
            "classes"_a, "Make room for classes that have no point yet.")
        .def(
            "snapshot", [](const Handle& h) { return std::make_unique<Handle>(h.share()); },
            "The model as it is now; what was learned is shared until one of the two learns on.")
        .def(
            "query",
            [](const Handle& h, const Settings& settings, Vector<double> x) {
                return std::make_unique<StreamQuery<Query>>(h.share(), settings, x);
            },
            "settings"_a, "x"_a.noconvert(), "Open a query.")
        .def(
            "resume",
            [](const Handle& h, nb::bytes state) { return std::make_unique<StreamQuery<Query>>(h.share(), state); },
            "state"_a, "Go on with a query that was suspended.")
        .def(
            "label_one",
            [](const Handle& h, const Settings& settings, Vector<double> x, std::int64_t steps) {
                return answer_one<Query, std::size_t>(h, settings, x, steps,
                                                      [](const Query& q, std::size_t) { return q.label(); });
            },
            "settings"_a, "x"_a.noconvert(), "steps"_a, "The number of one record's likeliest class.")
        .def(
            "proba_one",
            [](const Handle& h, const Settings& settings, Vector<double> x, std::int64_t steps) {
                return answer_one<Query, std::vector<double>>(h, settings, x, steps,
                                                              [](const Query& q, std::size_t classes) {
                                                                  std::vector<double> out(classes);
                                                                  q.posterior(out);
                                                                  return out;
                                                              });
            },
            "settings"_a, "x"_a.noconvert(), "steps"_a, "One record's probabilities.")
        .def(
            "answer",
            [](const Handle& h, const Settings& settings, Matrix<double> records, std::int64_t steps,
               std::int64_t nanoseconds, const StopFlag* stop, int threads, OutMatrix<double> proba,
               OutVector<std::int64_t> taken, OutVector<std::uint8_t> certified) {
                const auto model = h.share();
                require_features(*model, records.shape(1));
                require_equal("rows of proba", proba.shape(0), records.shape(0));
                require_equal("columns of proba", proba.shape(1), model->classes());
                require_equal("length of steps", taken.size(), records.shape(0));
                require_equal("length of certified", certified.size(), records.shape(0));
                require_finite_records(as_span(records));
                const Limits limits = make_limits(steps, nanoseconds, stop);
                const nb::gil_scoped_release unlocked;
                answer_batch(StreamBatch<Query>{*model, settings, {as_span(records), model->dimensions()}}, limits,
                             threads, {as_span(proba), as_span(taken), as_span(certified)});
            },
            "settings"_a, "records"_a.noconvert(), "steps"_a, "nanoseconds"_a, "stop"_a.none(), "threads"_a,
            "proba"_a.noconvert(), "taken"_a.noconvert(), "certified"_a.noconvert(),
            "Answer every record within the limits.")
        .def(
            "answer_in_stages",
            [](const Handle& h, const Settings& settings, Matrix<double> records, Vector<std::int64_t> stages,
               int threads, OutVector<double> out) {
                const auto model = h.share();
                require_features(*model, records.shape(1));
                require_equal("length of out", out.size(), records.shape(0) * stages.size() * model->classes());
                require_finite_records(as_span(records));
                const nb::gil_scoped_release unlocked;
                answer_batch_in_stages(StreamBatch<Query>{*model, settings, {as_span(records), model->dimensions()}},
                                       as_span(stages), threads, as_span(out));
            },
            "settings"_a, "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "Probabilities after each of the ascending numbers of steps: (records, stages, classes).")
        .def_prop_ro("dimensions", [](const Handle& h) { return h.share()->dimensions(); })
        .def_prop_ro("classes", [](const Handle& h) { return h.share()->classes(); })
        .def_prop_ro("own_bytes", [](const Handle& h) { return h.share()->own_bytes(); }, "Bytes of memory held.");
    return bound;
}

}  // namespace anystream::bindings
