// Learned metrics for Python.
#include "anystream/bayes_tree/metric.hpp"

#include "anystream/bayes_tree/learned_metric.hpp"
#include "anystream/parallel.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::bayes_tree;

std::vector<double> copied(const Vector<double>& array) {
    return {array.data(), array.data() + array.size()};
}

Metric make_metric(Vector<double> shift, Vector<double> knots, Vector<double> levels, Vector<double> factor,
                   Vector<double> matrix) {
    const std::size_t d = shift.size();
    require_equal("length of levels", levels.size(), knots.size());
    if (d == 0 || knots.size() % d != 0)
        throw std::invalid_argument("the number of knots is not a multiple of the features");
    if (factor.size() != 0) require_equal("length of factor", factor.size(), d);
    if (matrix.size() != 0) require_equal("values of matrix", matrix.size(), d * d);
    return {copied(knots), copied(levels), copied(shift), copied(factor), copied(matrix)};
}

void apply(const Metric& metric, Matrix<double> records, int threads, OutMatrix<double> out) {
    constexpr std::size_t kChunk = 256;  // records that one thread takes at a time
    const std::size_t d = metric.dimensions(), rows = records.shape(0);
    require_features(metric, records.shape(1));
    require_equal("columns of out", out.shape(1), d);
    require_equal("rows of out", out.shape(0), rows);
    const double* const from = records.data();
    double* const to = out.data();
    const nb::gil_scoped_release unlocked;
    parallel_for(rows, kChunk, threads, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) metric.apply(from + i * d, to + i * d);
    });
}

}  // namespace

void bind_bayes_metric(nb::module_& m) {
    nb::class_<Metric>(m, "BayesMetric", "A map of records: each feature along its curve, shifted, then a linear map.")
        .def(nb::new_(&make_metric), "shift"_a.noconvert(), "knots"_a.noconvert(), "levels"_a.noconvert(),
             "factor"_a.noconvert(), "matrix"_a.noconvert())
        .def("apply", &apply, "records"_a.noconvert(), "threads"_a, "out"_a.noconvert(), "Records in its space.");
    m.def(
        "neighbour_gradient",
        [](Matrix<double> z, Vector<std::int32_t> labels, Vector<double> weight, int threads,
           OutVector<double> gradient) {
            require_equal("length of labels", labels.size(), z.shape(0));
            require_equal("length of weight", weight.size(), z.shape(1));
            require_equal("length of gradient", gradient.size(), z.shape(1));
            const nb::gil_scoped_release unlocked;
            return neighbour_gradient(as_span(z), as_span(labels), as_span(weight), threads, as_span(gradient));
        },
        "z"_a.noconvert(), "labels"_a.noconvert(), "weight"_a.noconvert(), "threads"_a, "gradient"_a.noconvert(),
        "Mean log share of the own class among the neighbours of each row under weighted distances; `gradient` "
        "receives\n"
        "its derivatives by the log weights.");
}

}  // namespace anystream::bindings
