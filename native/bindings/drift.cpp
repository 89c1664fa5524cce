#include <nanobind/stl/tuple.h>

#include "anystream/drift/gaussian_moments.hpp"
#include "anystream/drift/grow_splits.hpp"
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

template <typename T>
using Cube = nb::ndarray<T, nb::numpy, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// Moments of several experts: arrays of (experts, classes) and (experts, classes, features).
struct ExpertSizes {
    std::size_t classes, features;

    template <typename T>
    [[nodiscard]] std::span<T> counts(std::span<T> of_all, std::size_t expert) const {
        return of_all.subspan(expert * classes, classes);
    }
    template <typename T>
    [[nodiscard]] std::span<T> table(std::span<T> of_all, std::size_t expert) const {
        return of_all.subspan(expert * classes * features, classes * features);
    }
};

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
        "learn_moments_of_all",
        [](Matrix<double> rows, Vector<std::int32_t> labels, OutMatrix<double> count, Cube<double> observed,
           Cube<double> mean, Cube<double> scatter) {
            const ExpertSizes sizes{count.shape(1), rows.shape(1)};
            require_equal("number of labels", labels.size(), rows.shape(0));
            require_moments(sizes.features, count.size(), observed.size(), mean.size(), scatter.size());
            require_classes(as_span(labels), sizes.classes);

            nb::gil_scoped_release unlocked;
            for (std::size_t expert = 0; expert < count.shape(0); ++expert)
                learn_moments(
                    {sizes.features, sizes.counts(as_span(count), expert), sizes.table(as_span(observed), expert),
                     sizes.table(as_span(mean), expert), sizes.table(as_span(scatter), expert)},
                    as_span(rows), as_span(labels));
        },
        "rows"_a.noconvert(), "labels"_a.noconvert(), "count"_a.noconvert(), "observed"_a.noconvert(),
        "mean"_a.noconvert(), "scatter"_a.noconvert(), "Add records to the moments of every expert, in place.");
    m.def(
        "predict_moments_of_all",
        [](Matrix<double> rows, Vector<double> smoothing, Matrix<double> count, Cube<const double> observed,
           Cube<const double> mean, Cube<const double> scatter, OutMatrix<std::int64_t> out) {
            const ExpertSizes sizes{count.shape(1), rows.shape(1)};
            if (sizes.classes == 0) throw std::invalid_argument("the moments have no classes; let them learn first");
            require_equal("size of smoothing", smoothing.size(), count.shape(0));
            require_moments(sizes.features, count.size(), observed.size(), mean.size(), scatter.size());
            require_equal("size of out", out.size(), count.shape(0) * rows.shape(0));

            nb::gil_scoped_release unlocked;
            for (std::size_t expert = 0; expert < count.shape(0); ++expert)
                predict_moments({sizes.classes, sizes.features, sizes.counts(as_span(count), expert),
                                 sizes.table(as_span(observed), expert), sizes.table(as_span(mean), expert),
                                 sizes.table(as_span(scatter), expert)},
                                smoothing.data()[expert], as_span(rows),
                                as_span(out).subspan(expert * rows.shape(0), rows.shape(0)));
        },
        "rows"_a.noconvert(), "smoothing"_a.noconvert(), "count"_a.noconvert(), "observed"_a.noconvert(),
        "mean"_a.noconvert(), "scatter"_a.noconvert(), "out"_a.noconvert(),
        "The most probable class of each row for every expert, by Gaussian naive Bayes.");
    m.def(
        "grow_splits",
        [](Matrix<double> rows, Vector<std::int32_t> labels, std::size_t min_side, std::size_t min_records,
           std::size_t n_features, double min_gain) {
            require_equal("number of labels", labels.size(), rows.shape(0));
            if (labels.size() >= std::size_t{1} << 32) throw std::invalid_argument("there are too many records");
            SplitTree tree;
            {
                nb::gil_scoped_release unlocked;
                tree = grow_splits(as_span(rows), rows.shape(1), as_span(labels),
                                   {min_side, min_records, n_features, min_gain});
            }
            return std::tuple(to_numpy(std::move(tree.feature)), to_numpy(std::move(tree.threshold)),
                              to_numpy(std::move(tree.gain)), to_numpy(std::move(tree.left)),
                              to_numpy(std::move(tree.right)), to_numpy(std::move(tree.begin)),
                              to_numpy(std::move(tree.end)), to_numpy(std::move(tree.order)));
        },
        "rows"_a.noconvert(), "labels"_a.noconvert(), "min_side"_a, "min_records"_a, "n_features"_a, "min_gain"_a,
        "A tree of splits that pay: feature (-1 for a leaf), threshold, gain, left, right, begin and end of each "
        "node's "
        "records in the last array, which is the order of the rows.");
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
