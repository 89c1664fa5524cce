// K-associated graphs for Python: the optimal graph of labelled points, and graphs to classify with.
//
// A graph to classify with is immutable, so any number of threads may use it, and a query keeps the one it was opened
// on.
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "anystream/graph/graph.hpp"
#include "anystream/graph/nearest_points.hpp"
#include "anystream/graph/optimal_graph.hpp"
#include "anystream/graph/query.hpp"
#include "bound_query.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::graph;
using SharedGraph = std::shared_ptr<const Graph>;

constexpr QuerySettings kSettings;

template <typename T>
std::vector<T> copied(Vector<T> array) {
    return {array.data(), array.data() + array.size()};
}

/// One part of a graph, built in steps. Every number is checked first, so that queries need no checks. A lock guards
/// it: every call may run in any thread.
class PartInProgress {
  public:
    PartInProgress(const Graph& graph, Matrix<double> points, Vector<std::int32_t> component, Vector<std::int32_t> k,
                   Vector<double> purity, Vector<std::int32_t> label)
        : first_vertex_(graph.vertices()),
          classes_(graph.classes()),
          components_(checked_components(graph, points, component, k, purity, label)),
          cells_(scaled(graph, as_span(points)), graph.dimensions(), classes_of(components_),
                 static_cast<std::int64_t>(first_vertex_)) {}

    /// Classes of the graph that it was begun for; no label is above.
    [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
    /// Takes one step. Returns false when none is left.
    bool advance() {
        const nb::gil_scoped_release unlocked;
        const std::lock_guard lock(guard_);
        return part_ == nullptr && cells_.advance();
    }
    /// The part; takes the steps that are left.
    [[nodiscard]] std::shared_ptr<const Part> finish() {
        const nb::gil_scoped_release unlocked;
        const std::lock_guard lock(guard_);
        if (part_ != nullptr) return part_;
        while (cells_.advance()) {}
        return part_ = std::make_shared<const Part>(Part{first_vertex_, std::move(components_), cells_.take()});
    }

  private:
    static Components checked_components(const Graph& graph, Matrix<double> points, Vector<std::int32_t> component,
                                         Vector<std::int32_t> k, Vector<double> purity, Vector<std::int32_t> label) {
        require_features(graph, points.shape(1));
        require_equal("length of component", component.size(), points.shape(0));
        require_equal("length of purity", purity.size(), k.size());
        require_equal("length of label", label.size(), k.size());
        for (const std::int32_t a : as_span(component))
            if (a < 0 || static_cast<std::size_t>(a) >= k.size())
                throw std::invalid_argument("component " + std::to_string(a) + " is not below " +
                                            std::to_string(k.size()));
        for (std::size_t a = 0; a < k.size(); ++a)
            if (k.data()[a] < 1 || !(purity.data()[a] > 0.0) || purity.data()[a] > 1.0 || label.data()[a] < 0 ||
                static_cast<std::size_t>(label.data()[a]) >= graph.classes())
                throw std::invalid_argument("component " + std::to_string(a) + " has no valid K, purity or label");
        require_finite_records(as_span(points));
        return {copied(component), copied(k), copied(purity), copied(label)};
    }
    static std::vector<double> scaled(const Graph& graph, std::span<const double> points) {
        std::vector<double> rows(points.begin(), points.end());
        const std::size_t d = graph.dimensions();
        for (std::size_t begin = 0; begin < rows.size(); begin += d)
            for (std::size_t j = 0; j < d; ++j) rows[begin + j] *= graph.scale[j];
        return rows;
    }
    static std::vector<std::int32_t> classes_of(const Components& components) {
        std::vector<std::int32_t> classes;
        classes.reserve(components.of_vertex.size());
        for (const std::int32_t a : components.of_vertex)
            classes.push_back(components.label[static_cast<std::size_t>(a)]);
        return classes;
    }

    std::mutex guard_;
    std::size_t first_vertex_, classes_;
    Components components_;
    CellsInProgress cells_;
    std::shared_ptr<const Part> part_;  // once it is finished
};

class GraphHandle {
  public:
    GraphHandle(Vector<double> scale, std::size_t classes, std::int32_t min_k) {
        if (scale.size() == 0) throw std::invalid_argument("a graph has no features; use 1 or more");
        if (classes == 0) throw std::invalid_argument("a graph has no classes; use 1 or more");
        if (min_k < 1) throw std::invalid_argument("min_k is " + std::to_string(min_k) + "; use 1 or more");
        for (const double s : as_span(scale))
            if (!(s > 0.0) || !std::isfinite(s)) throw std::invalid_argument("a scale is not a positive number");
        Graph graph;
        graph.scale = copied(scale);
        graph.n_classes = classes;
        graph.min_k = min_k;
        graph_ = std::make_shared<const Graph>(std::move(graph));
    }
    explicit GraphHandle(Graph graph) : graph_(std::make_shared<const Graph>(std::move(graph))) {}

    [[nodiscard]] std::unique_ptr<GraphHandle> with_part(std::int32_t min_k, Matrix<double> points,
                                                         Vector<std::int32_t> component, Vector<std::int32_t> k,
                                                         Vector<double> purity, Vector<std::int32_t> label) const {
        PartInProgress part(*graph_, points, component, k, purity, label);
        return with_built_part(min_k, part);
    }
    [[nodiscard]] std::unique_ptr<PartInProgress> begin_part(Matrix<double> points, Vector<std::int32_t> component,
                                                             Vector<std::int32_t> k, Vector<double> purity,
                                                             Vector<std::int32_t> label) const {
        return std::make_unique<PartInProgress>(*graph_, points, component, k, purity, label);
    }
    [[nodiscard]] std::unique_ptr<GraphHandle> with_built_part(std::int32_t min_k, PartInProgress& steps) const {
        if (min_k < 1) throw std::invalid_argument("min_k is " + std::to_string(min_k) + "; use 1 or more");
        Graph graph = *graph_;
        auto part = steps.finish();
        require_features(graph, part->cells.store().dimensions());
        if (steps.classes() > graph.classes()) throw std::invalid_argument("the part has more classes than the graph");
        require_equal("first vertex of the part", part->first_vertex, graph.vertices());
        graph.min_k = min_k;
        graph.add(std::move(part));
        return std::make_unique<GraphHandle>(std::move(graph));
    }
    /// The same graph for records of more classes.
    [[nodiscard]] std::unique_ptr<GraphHandle> with_classes(std::size_t classes) const {
        if (classes < graph_->classes() || !graph_->moments.empty())
            throw std::invalid_argument("a graph of " + std::to_string(graph_->classes()) + " classes cannot have " +
                                        std::to_string(classes) +
                                        "; use as many or more, before the moments are added");
        Graph graph = *graph_;
        graph.n_classes = classes;
        return std::make_unique<GraphHandle>(std::move(graph));
    }
    [[nodiscard]] std::unique_ptr<GraphHandle> with_moments(Matrix<double> mean, Matrix<double> variance,
                                                            Vector<double> log_prior) const {
        Graph graph = *graph_;
        require_equal("rows of mean", mean.shape(0), graph.classes());
        require_equal("columns of mean", mean.shape(1), graph.dimensions());
        require_equal("rows of variance", variance.shape(0), graph.classes());
        require_equal("columns of variance", variance.shape(1), graph.dimensions());
        require_equal("length of log_prior", log_prior.size(), graph.classes());
        for (const double v : as_span(variance))
            if (!(v >= std::numeric_limits<double>::min()) || !std::isfinite(v))
                throw std::invalid_argument("a variance is not a positive number");
        if (std::none_of(log_prior.data(), log_prior.data() + log_prior.size(),
                         [](double p) { return std::isfinite(p); }))
            throw std::invalid_argument("no class has a prior above 0");
        const auto means = as_span(mean), variances = as_span(variance);
        graph.moments = {{means.begin(), means.end()}, {variances.begin(), variances.end()}, copied(log_prior)};
        return std::make_unique<GraphHandle>(std::move(graph));
    }
    [[nodiscard]] const SharedGraph& graph() const noexcept { return graph_; }

  private:
    SharedGraph graph_;
};

class GraphQuery : public BoundQuery<Query, 1024> {  // vertices are compared in blocks: a step is short
  public:
    using BoundQuery::BoundQuery;

    [[nodiscard]] auto record() const {
        const Hold hold(guard_);
        return to_numpy(std::vector<double>(query_.record().begin(), query_.record().end()));
    }
    [[nodiscard]] auto nearest() const {
        std::vector<std::int64_t> vertices;
        const Hold hold(guard_);
        for (const Neighbor& neighbour : query_.nearest()) vertices.push_back(neighbour.id);
        return to_numpy(std::move(vertices));
    }
};

nb::tuple bound_optimal_graph(Matrix<double> points, Vector<std::int32_t> labels, std::size_t max_k, int threads,
                              Counter* done, const StopFlag* stop) {
    require_equal("length of labels", labels.size(), points.shape(0));
    require_finite_records(as_span(points));
    if (max_k < 1) throw std::invalid_argument("max_k is 0; use 1 or more");
    const auto rows = as_span(points);
    const auto classes_of = as_span(labels);
    OptimalGraph found;
    {
        const nb::gil_scoped_release unlocked;
        found = optimal_graph_of(rows, points.shape(1), classes_of, max_k, threads,
                                 done == nullptr ? nullptr : &done->value, stop);
    }
    if (stop != nullptr && stop->is_set()) throw std::runtime_error("building the graph was stopped");
    return nb::make_tuple(to_numpy(std::move(found.component)), to_numpy(std::move(found.k)),
                          to_numpy(std::move(found.edges)), to_numpy(std::move(found.vertices)));
}

void bind_learning(nb::module_& m) {
    m.def("optimal_graph", &bound_optimal_graph, "points"_a.noconvert(), "labels"_a.noconvert(), "max_k"_a,
          "threads"_a = 0, "done"_a.none() = nb::none(), "stop"_a.none() = nb::none(),
          "The K-associated optimal graph: component of each point; K, edges and vertices of each component.");
    nb::class_<Points>(m, "Points", "Points to search. Immutable: many threads may use it.")
        .def(
            "__init__",
            [](Points* self, Matrix<double> rows) {
                if (rows.shape(1) == 0) throw std::invalid_argument("the points have no features; use 1 or more");
                new (self) Points(as_span(rows), rows.shape(1));
            },
            "rows"_a.noconvert())
        .def(
            "find_nearest",
            [](const Points& points, Matrix<double> queries, std::size_t k, int threads, OutMatrix<std::int64_t> out) {
                require_equal("columns of queries", queries.shape(1), points.dimensions());
                require_equal("rows of out", out.shape(0), queries.shape(0));
                require_equal("columns of out", out.shape(1), k);
                if (k > points.size())
                    throw std::invalid_argument("k is " + std::to_string(k) + ", there are " +
                                                std::to_string(points.size()) + " points");
                const auto rows = as_span(queries);
                const auto positions = as_span(out);
                const nb::gil_scoped_release unlocked;
                points.find_nearest(rows, k, threads, positions);
            },
            "queries"_a.noconvert(), "k"_a, "threads"_a, "out"_a.noconvert(),
            "Write the positions of the k nearest points of every query, nearest first, the lower position first among "
            "equals.");
}

void bind_single_records(nb::class_<GraphHandle>& bound) {
    bound
        .def(
            "query",
            [](const GraphHandle& h, Vector<double> x) {
                return std::make_unique<GraphQuery>(h.graph(), kSettings, checked_record(*h.graph(), x));
            },
            "x"_a.noconvert(), "Open a query: the representatives of the cells are compared.")
        .def(
            "label_one",
            [](const GraphHandle& h, Vector<double> x, std::int64_t steps) {
                const Graph& graph = *h.graph();
                return classify_one<Query>(graph, kSettings, checked_record(graph, x), steps).label(graph);
            },
            "x"_a.noconvert(), "steps"_a, "The number of one record's likeliest class.")
        .def(
            "proba_one",
            [](const GraphHandle& h, Vector<double> x, std::int64_t steps, const Calibration* calibration) {
                const Graph& graph = *h.graph();
                Query& query = classify_one<Query>(graph, kSettings, checked_record(graph, x), steps);
                return posterior_of(query, graph, calibration);
            },
            "x"_a.noconvert(), "steps"_a, "calibration"_a.none() = nb::none(), "One record's probabilities.");
}

void bind_batches(nb::class_<GraphHandle>& bound) {
    bound
        .def(
            "answer",
            [](const GraphHandle& h, Matrix<double> records, std::int64_t steps, std::int64_t nanoseconds,
               const StopFlag* stop, int threads, OutMatrix<double> proba, OutVector<std::int64_t> taken,
               OutVector<std::uint8_t> marks, const Calibration* calibration) {
                const Limits limits = make_limits(steps, nanoseconds, stop);
                const SharedGraph graph = h.graph();
                const Batch<Query> batch{*graph, kSettings, checked_records(*graph, records), calibration};
                const AnswerRows out = checked_answers(batch.size(), batch.classes(), proba, taken, marks);
                const nb::gil_scoped_release unlocked;
                answer_batch(batch, limits, threads, out);
            },
            "records"_a.noconvert(), "steps"_a, "nanoseconds"_a, "stop"_a.none(), "threads"_a, "proba"_a.noconvert(),
            "taken"_a.noconvert(), "marks"_a.noconvert(), "calibration"_a.none() = nb::none(),
            "Classify every record within the limits.")
        .def(
            "answer_in_stages",
            [](const GraphHandle& h, Matrix<double> records, Vector<std::int64_t> stages, int threads,
               OutVector<double> out, const Calibration* calibration) {
                const SharedGraph graph = h.graph();
                const Batch<Query> batch{*graph, kSettings, checked_records(*graph, records), calibration};
                require_equal("length of out", out.size(), batch.size() * stages.size() * batch.classes());
                const nb::gil_scoped_release unlocked;
                answer_batch_in_stages(batch, as_span(stages), threads, as_span(out));
            },
            "records"_a.noconvert(), "stages"_a.noconvert(), "threads"_a, "out"_a.noconvert(),
            "calibration"_a.none() = nb::none(),
            "Probabilities after each of the ascending numbers of steps: (records, stages, classes).");
}

}  // namespace

void bind_graph(nb::module_& m) {
    bind_learning(m);
    bind_query<GraphQuery>(m, "GraphQuery")
        .def("record", &GraphQuery::record, "The record to classify.")
        .def("nearest", &GraphQuery::nearest, "The nearest vertices so far, nearest first.");
    nb::class_<PartInProgress>(m, "GraphPart", "Components to add to a graph, prepared in a few steps.")
        .def("advance", &PartInProgress::advance, "Take one step; return False, without one, if none is left.");
    auto bound =
        nb::class_<GraphHandle>(m, "AssociatedGraph", "Components to classify by. Immutable: many threads may use it.")
            .def(nb::init<Vector<double>, std::size_t, std::int32_t>(), "scale"_a.noconvert(), "classes"_a,
                 "min_k"_a = 1)
            .def("with_part", &GraphHandle::with_part, "min_k"_a, "points"_a.noconvert(), "component"_a.noconvert(),
                 "k"_a.noconvert(), "purity"_a.noconvert(), "label"_a.noconvert(),
                 "Another graph with further vertices, behind those that are here.")
            .def("begin_part", &GraphHandle::begin_part, "points"_a.noconvert(), "component"_a.noconvert(),
                 "k"_a.noconvert(), "purity"_a.noconvert(), "label"_a.noconvert(),
                 "Check further vertices and prepare to add them to this graph.")
            .def("with_built_part", &GraphHandle::with_built_part, "min_k"_a, "part"_a,
                 "Another graph with the vertices of a part that was begun here; take the steps that are left.")
            .def("with_classes", &GraphHandle::with_classes, "classes"_a, "Another graph that has more classes.")
            .def("with_moments", &GraphHandle::with_moments, "mean"_a.noconvert(), "variance"_a.noconvert(),
                 "log_prior"_a.noconvert(), "Another graph that is decided by one Gaussian per class.");
    bind_single_records(bound);
    bind_batches(bound);
    bound
        .def(
            "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); }, "memo"_a,
            "The graph itself, which is immutable.")
        .def_prop_ro("classes", [](const GraphHandle& h) { return h.graph()->classes(); })
        .def_prop_ro("vertices", [](const GraphHandle& h) { return h.graph()->vertices(); })
        .def_prop_ro("own_bytes", [](const GraphHandle& h) { return h.graph()->own_bytes(); });
}

}  // namespace anystream::bindings
