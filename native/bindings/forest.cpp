// Ensembles of decision trees for Python. A forest is immutable, so any number of threads may use it, and a query keeps
// the one it was opened on.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "anystream/damaged_model.hpp"
#include "anystream/forest/batch.hpp"
#include "anystream/forest/forest.hpp"
#include "anystream/forest/query.hpp"
#include "bound_query.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::forest;
using SharedForest = std::shared_ptr<const Forest>;

constexpr QuerySettings kSettings, kSharedOrder{.shared_order = true};
constexpr std::size_t kShared = 16;  // records that read a tree together

template <typename T>
[[nodiscard]] std::span<const T> array_of(const nb::dict& arrays, const char* name) {
    Vector<T> array;
    if (!arrays.contains(name) || !nb::try_cast<Vector<T>>(arrays[name], array, false))
        throw DamagedModel(std::string("the array '") + name + "' is missing or of another type");
    return as_span(array);
}

[[nodiscard]] EnsembleView view_of(const nb::dict& arrays) {
    EnsembleView view;
    view.first_node = array_of<std::int64_t>(arrays, "first_node");
    view.feature = array_of<std::int32_t>(arrays, "feature");
    view.threshold = array_of<double>(arrays, "threshold");
    view.left = array_of<std::int32_t>(arrays, "left");
    view.missing_left = array_of<std::uint8_t>(arrays, "missing_left");
    view.zero_missing = array_of<std::uint8_t>(arrays, "zero_missing");
    view.category_set = array_of<std::int32_t>(arrays, "category_set");
    view.first_word = array_of<std::int64_t>(arrays, "first_word");
    view.category_words = array_of<std::uint32_t>(arrays, "category_words");
    view.value = array_of<double>(arrays, "value");
    view.output = array_of<std::int32_t>(arrays, "output");
    view.base = array_of<double>(arrays, "base");
    view.coded_feature = array_of<std::int64_t>(arrays, "coded_feature");
    view.first_code = array_of<std::int64_t>(arrays, "first_code");
    view.code_value = array_of<double>(arrays, "code_value");
    view.code = array_of<std::int64_t>(arrays, "code");
    view.width = view.feature.empty() ? 0 : view.value.size() / view.feature.size();
    return view;
}

class DecisionForestHandle {
  public:
    DecisionForestHandle(const nb::dict& arrays, Vector<std::int32_t> order, Vector<double> expected,
                         Vector<double> stop_margin, std::size_t features, std::size_t classes, const std::string& link,
                         double scale, bool label_from_scores, bool zero_is_positive, double divisor,
                         double min_category, bool single_records, bool single_sums, bool accepts_missing) {
        EnsembleView view = view_of(arrays);
        view.features = features;
        view.classes = classes;
        view.link = {by_name<LinkKind>(link, "link",
                                       {{"mean", LinkKind::mean},
                                        {"sigmoid", LinkKind::sigmoid},
                                        {"softmax", LinkKind::softmax},
                                        {"one_vs_all", LinkKind::one_vs_all}}),
                     scale, label_from_scores, zero_is_positive};
        view.divisor = divisor;
        view.min_category = min_category;
        view.single_records = single_records;
        view.single_sums = single_sums;
        view.accepts_missing = accepts_missing;
        const ReadingView reading{as_span(order), as_span(expected), as_span(stop_margin)};
        const nb::gil_scoped_release unlocked;
        forest_ = std::make_shared<const Forest>(view, reading);
    }
    [[nodiscard]] const SharedForest& forest() const noexcept { return forest_; }

  private:
    SharedForest forest_;
};

void require_present(const Forest& forest, std::span<const double> values) {
    if (!forest.accepts_missing() &&
        std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
        throw std::invalid_argument("a record has a missing value, which this model does not accept; fill it first");
}

[[nodiscard]] std::span<const double> forest_record(const Forest& forest, const Vector<double>& x) {
    const auto record = checked_record(forest, x);
    require_present(forest, record);
    return record;
}

[[nodiscard]] RecordRows forest_records(const Forest& forest, const Matrix<double>& records) {
    const RecordRows rows = checked_records(forest, records);
    require_present(forest, rows.values);
    return rows;
}

class DecisionForestQuery : public BoundQuery<Query, 1024> {  // a step takes nanoseconds
  public:
    using BoundQuery::BoundQuery;

    std::int64_t refine(std::int64_t steps, std::int64_t nanoseconds, const StopFlag* stop) {
        if (nanoseconds < 0 && stop == nullptr) {
            const Hold hold(guard_);
            query_.ask(steps < 0 ? Limits::kUnlimited : steps);
            steps = query_.open_steps();
            if (query_.asked_all(*model_)) return query_.advance(*model_, Limits::kUnlimited, nullptr);
        }
        return BoundQuery::refine(steps, nanoseconds, stop);
    }
    [[nodiscard]] bool confident() const {
        const Hold hold(guard_);
        return query_.confident();
    }
};

void bind_single_records(nb::class_<DecisionForestHandle>& bound) {
    bound
        .def(
            "query",
            [](const DecisionForestHandle& h, Vector<double> x) {
                return std::make_unique<DecisionForestQuery>(h.forest(), kSettings, forest_record(*h.forest(), x));
            },
            "x"_a.noconvert(), "Open a query: every tree is at its root.")
        .def(
            "resume",
            [](const DecisionForestHandle& h, const nb::bytes& state) {
                return std::make_unique<DecisionForestQuery>(h.forest(), state);
            },
            "state"_a, "Continue a query from its state.")
        .def(
            "label_one",
            [](const DecisionForestHandle& h, Vector<double> x, std::int64_t steps) {
                const Forest& forest = *h.forest();
                return classify_one<Query>(forest, kSettings, forest_record(forest, x), steps).label(forest);
            },
            "x"_a.noconvert(), "steps"_a, "The number of one record's likeliest class.")
        .def(
            "proba_one",
            [](const DecisionForestHandle& h, Vector<double> x, std::int64_t steps) {
                const Forest& forest = *h.forest();
                return posterior_of(classify_one<Query>(forest, kSettings, forest_record(forest, x), steps), forest);
            },
            "x"_a.noconvert(), "steps"_a, "One record's probabilities.")
        .def(
            "fill_proba",
            [](const DecisionForestHandle& h, Vector<double> x, std::int64_t steps, OutMatrix<double> proba) {
                const Forest& forest = *h.forest();
                require_equal("rows of proba", proba.shape(0), 1);
                require_equal("columns of proba", proba.shape(1), forest.classes());
                classify_one<Query>(forest, kSettings, forest_record(forest, x), steps)
                    .posterior(forest, as_span(proba));
            },
            "x"_a.noconvert(), "steps"_a, "proba"_a.noconvert(), "Write one record's probabilities into one row.");
}

void bind_batches(nb::class_<DecisionForestHandle>& bound) {
    bound
        .def(
            "answer",
            [](const DecisionForestHandle& h, Matrix<double> records, std::int64_t steps, std::int64_t nanoseconds,
               const StopFlag* stop, int threads, OutMatrix<double> proba, OutVector<std::int64_t> taken,
               OutVector<std::uint8_t> marks) {
                const Limits limits = make_limits(steps, nanoseconds, stop);
                const SharedForest forest = h.forest();
                const Batch<Query> batch{*forest, kSettings, forest_records(*forest, records)};
                const AnswerRows out = checked_answers(batch.size(), batch.classes(), proba, taken, marks);
                const nb::gil_scoped_release unlocked;
                if (!limits.interruptible() && forest->suffices(limits.steps))
                    read_all_trees(*forest, batch.records, threads, out);
                else if (!limits.interruptible())
                    read_by_steps(*forest, batch.records, limits.steps, threads, out);
                else if (forest->suffices(limits.steps) && batch.size() >= kShared)
                    answer_batch(Batch<Query>{*forest, kSharedOrder, batch.records}, limits, threads, out);
                else
                    answer_batch(batch, limits, threads, out);
            },
            "records"_a.noconvert(), "steps"_a, "nanoseconds"_a, "stop"_a.none(), "threads"_a, "proba"_a.noconvert(),
            "taken"_a.noconvert(), "marks"_a.noconvert(), "Classify every record within the limits.")
        .def(
            "trace_leads",
            [](const DecisionForestHandle& h, Matrix<double> records, int threads, OutMatrix<double> lead,
               OutMatrix<std::int32_t> first) {
                const SharedForest forest = h.forest();
                const RecordRows rows = forest_records(*forest, records);
                if (!forest->reads_whole_trees())
                    throw std::invalid_argument("the order does not read whole trees; use one that does");
                require_equal("rows of lead", lead.shape(0), rows.size());
                require_equal("columns of lead", lead.shape(1), forest->trees() + 1);
                require_equal("rows of first", first.shape(0), rows.size());
                require_equal("columns of first", first.shape(1), forest->trees() + 1);
                const nb::gil_scoped_release unlocked;
                trace_leads(*forest, rows, threads, as_span(lead), as_span(first));
            },
            "records"_a.noconvert(), "threads"_a, "lead"_a.noconvert(), "first"_a.noconvert(),
            "The lead of the first class and its number after every number of trees.")
        .def(
            "answer_in_stages",
            [](const DecisionForestHandle& h, Matrix<double> records, Vector<std::int64_t> stages, int threads,
               OutVector<double> out) {
                const SharedForest forest = h.forest();
                const Batch<Query> batch{*forest, kSettings, forest_records(*forest, records)};
                require_equal("length of out", out.size(), batch.size() * stages.size() * batch.classes());
                const nb::gil_scoped_release unlocked;
                answer_batch_in_stages(batch, as_span(stages), threads, as_span(out));
            },
            "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "Probabilities after each of the ascending numbers of steps: (records, stages, classes).");
}

}  // namespace

void bind_forest(nb::module_& m) {
    bind_query<DecisionForestQuery>(m, "DecisionForestQuery")
        .def_prop_ro("confident", &DecisionForestQuery::confident, "Whether the lead of a class ended the work.");
    auto bound =
        nb::class_<DecisionForestHandle>(m, "DecisionForest",
                                         "An ensemble of trees. Immutable: many threads may use it.")
            .def(nb::init<const nb::dict&, Vector<std::int32_t>, Vector<double>, Vector<double>, std::size_t,
                          std::size_t, const std::string&, double, bool, bool, double, double, bool, bool, bool>(),
                 "arrays"_a, "order"_a.noconvert(), "expected"_a.noconvert(), "stop_margin"_a.noconvert(),
                 nb::kw_only(), "features"_a, "classes"_a, "link"_a, "scale"_a, "label_from_scores"_a,
                 "zero_is_positive"_a, "divisor"_a, "min_category"_a, "single_records"_a, "single_sums"_a,
                 "accepts_missing"_a);
    bind_single_records(bound);
    bind_batches(bound);
    bound
        .def(
            "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); }, "memo"_a,
            "The forest itself, which is immutable.")
        .def_prop_ro("classes", [](const DecisionForestHandle& h) { return h.forest()->classes(); })
        .def_prop_ro("max_steps", [](const DecisionForestHandle& h) { return h.forest()->max_steps(); })
        .def_prop_ro("own_bytes", [](const DecisionForestHandle& h) { return h.forest()->own_bytes(); });
}

}  // namespace anystream::bindings
