#include <nanobind/stl/tuple.h>

#include "anystream/drift/best_split.hpp"
#include "anystream/drift/gaussian_moments.hpp"
#include "anystream/drift/tree_leaves.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

namespace {

void require_moments(std::size_t features, std::size_t count, std::size_t observed, std::size_t mean,
                     std::size_t scatter) {
    require_equal("size of observed", observed, count * features);
    require_equal("size of mean", mean, count * features);
    require_equal("size of scatter", scatter, count * features);
}

}  // namespace

void bind_drift(nb::module_& m) {
    m.def(
        "learn_moments",
        [](Matrix<double> rows, Vector<std::int32_t> labels, OutVector<double> count, OutMatrix<double> observed,
           OutMatrix<double> mean, OutMatrix<double> scatter) {
            const auto features = rows.shape(1);
            require_equal("number of labels", labels.size(), rows.shape(0));
            require_moments(features, count.size(), observed.size(), mean.size(), scatter.size());
            require_classes(as_span(labels), count.size());
            const MomentsRef moments{features, as_span(count), as_span(observed), as_span(mean), as_span(scatter)};

            nb::gil_scoped_release unlocked;
            learn_moments(moments, as_span(rows), as_span(labels));
        },
        "rows"_a.noconvert(), "labels"_a.noconvert(), "count"_a.noconvert(), "observed"_a.noconvert(),
        "mean"_a.noconvert(), "scatter"_a.noconvert(),
        "Add records to the counts, means and scatters of their classes, in place.");
    m.def(
        "moments_proba",
        [](Matrix<double> rows, double smoothing, Vector<double> count, Matrix<double> observed, Matrix<double> mean,
           Matrix<double> scatter, OutMatrix<double> out) {
            const auto features = rows.shape(1);
            if (count.size() == 0) throw std::invalid_argument("the moments have no classes; let them learn first");
            require_moments(features, count.size(), observed.size(), mean.size(), scatter.size());
            require_equal("size of out", out.size(), rows.shape(0) * count.size());
            const MomentsView moments{count.size(),      features,      as_span(count),
                                      as_span(observed), as_span(mean), as_span(scatter)};

            nb::gil_scoped_release unlocked;
            moments_proba(moments, smoothing, as_span(rows), as_span(out));
        },
        "rows"_a.noconvert(), "smoothing"_a, "count"_a.noconvert(), "observed"_a.noconvert(), "mean"_a.noconvert(),
        "scatter"_a.noconvert(), "out"_a.noconvert(),
        "Probabilities of the classes for each row, by Gaussian naive Bayes.");
    m.def(
        "best_split",
        [](Matrix<double> rows, Vector<std::int32_t> labels, std::size_t min_records) {
            require_equal("number of labels", labels.size(), rows.shape(0));

            nb::gil_scoped_release unlocked;
            const SplitFound found = best_split(as_span(rows), rows.shape(1), as_span(labels), min_records);
            return std::tuple(found.gain, found.feature, found.threshold);
        },
        "rows"_a.noconvert(), "labels"_a.noconvert(), "min_records"_a,
        "The split of highest information gain: its gain, feature (-1 if there is none) and threshold.");
    m.def(
        "tree_leaves",
        [](Matrix<float> rows, Vector<std::int32_t> feature, Vector<double> threshold, Vector<std::int32_t> left,
           Vector<std::int32_t> right, Vector<std::uint8_t> missing_left, OutVector<std::int64_t> out) {
            const auto nodes = feature.size();
            if (nodes == 0) throw std::invalid_argument("the tree has no nodes");
            require_equal("size of threshold", threshold.size(), nodes);
            require_equal("size of left", left.size(), nodes);
            require_equal("size of right", right.size(), nodes);
            require_equal("size of missing_left", missing_left.size(), nodes);
            require_equal("size of out", out.size(), rows.shape(0));
            const TreeView tree{as_span(feature), as_span(threshold), as_span(left), as_span(right),
                                as_span(missing_left)};

            nb::gil_scoped_release unlocked;
            tree_leaves(tree, as_span(rows), rows.shape(1), as_span(out));
        },
        "rows"_a.noconvert(), "feature"_a.noconvert(), "threshold"_a.noconvert(), "left"_a.noconvert(),
        "right"_a.noconvert(), "missing_left"_a.noconvert(), "out"_a.noconvert(),
        "The number of the leaf that each row reaches.");
}

}  // namespace anystream::bindings
