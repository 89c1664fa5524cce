// Covariances and margin maximisation for Python: the pieces that work without a forest.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "anystream/bayes_tree/covariance_table.hpp"
#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/bayes_tree/margin.hpp"
#include "anystream/bayes_tree/static_mixture.hpp"
#include "anystream/parallel.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

namespace {

using namespace bayes_tree;

void require_margin(double kappa, double lambda, int iterations) {
    if (!(kappa >= 1.0) || !std::isfinite(kappa))
        throw std::invalid_argument("kappa is " + std::to_string(kappa) + "; use 1 or more");
    if (!(lambda > 0.0) || !std::isfinite(lambda))
        throw std::invalid_argument("lambda is " + std::to_string(lambda) + "; use a positive number");
    if (iterations < 0) throw std::invalid_argument("iterations is negative; use 0 or more");
}

LabelledRows labelled(const Matrix<double>& points, const Vector<std::int32_t>& labels, std::size_t classes) {
    require_equal("length of labels", labels.size(), points.shape(0));
    for (const std::int32_t c : as_span(labels))
        if (c < 0 || static_cast<std::size_t>(c) >= classes)
            throw std::invalid_argument("class number " + std::to_string(c) + " is not below " +
                                        std::to_string(classes));
    return {as_span(points), as_span(labels), {}, points.shape(1)};
}

/// Components from arrays: `covariance` holds (components, d) variances or (components, d, d) matrices.
std::vector<Component> components_from(const Vector<std::int32_t>& component_class, const Vector<double>& weight,
                                       const Matrix<double>& mean, std::span<const double> covariance,
                                       std::span<const double> floor, std::span<const double> occupancy,
                                       std::size_t classes) {
    const std::size_t k = component_class.size(), d = mean.shape(1);
    require_equal("length of weight", weight.size(), k);
    require_equal("rows of mean", mean.shape(0), k);
    require_equal("length of occupancy", occupancy.size(), k);
    require_equal("length of floor", floor.size(), d);
    const bool full = covariance.size() == k * d * d && d > 1;
    require_equal("values of covariance", covariance.size(), full ? k * d * d : k * d);
    std::vector<Component> all(k);
    for (std::size_t e = 0; e < k; ++e) {
        Component& component = all[e];
        component.point_class = component_class(e);
        if (component.point_class < 0 || static_cast<std::size_t>(component.point_class) >= classes)
            throw std::invalid_argument("a component is of class " + std::to_string(component.point_class));
        component.weight = weight(e);
        component.occupancy = occupancy[e];
        component.mean.assign(mean.data() + e * d, mean.data() + (e + 1) * d);
        component.floor.assign(floor.begin(), floor.end());
        component.blocks = full ? Blocks::whole(d) : Blocks::single(d);
        if (full)
            component.set_dense(covariance.subspan(e * d * d, d * d));
        else
            component.covariance.assign(covariance.begin() + static_cast<std::ptrdiff_t>(e * d),
                                        covariance.begin() + static_cast<std::ptrdiff_t>((e + 1) * d));
    }
    return all;
}

using Array = nb::ndarray<double, nb::numpy, nb::ndim<1>, nb::c_contig>;

/// (class, weight, mean, covariance) of all components, flat.
auto to_arrays(const std::vector<Component>& components) {
    std::vector<std::int32_t> point_class;
    std::vector<double> weight, mean, covariance, occupancy;
    for (const Component& component : components) {
        point_class.push_back(component.point_class);
        weight.push_back(component.weight);
        occupancy.push_back(component.occupancy);
        mean.insert(mean.end(), component.mean.begin(), component.mean.end());
        const bool diagonal = component.blocks.count() == component.mean.size();
        const auto dense = diagonal ? component.covariance : component.dense();
        covariance.insert(covariance.end(), dense.begin(), dense.end());
    }
    return nb::make_tuple(to_numpy(std::move(point_class)), to_numpy(std::move(weight)), to_numpy(std::move(mean)),
                          to_numpy(std::move(covariance)), to_numpy(std::move(occupancy)));
}

}  // namespace

void bind_bayes_margin(nb::module_& m) {
    m.def(
        "search_blocks",
        [](Matrix<double> covariance, std::size_t max_block) {
            require_equal("columns of covariance", covariance.shape(1), covariance.shape(0));
            const Blocks blocks = search_blocks(as_span(covariance), covariance.shape(0), max_block);
            return std::pair(blocks.order, blocks.first);
        },
        "covariance"_a.noconvert(), "max_block"_a,
        "Blocks of dimensions by hill climbing on the likelihood: (order, first); block b is "
        "order[first[b]:first[b + 1]].");
    m.def(
        "block_log2_density",
        [](Matrix<float> points, Vector<double> mean, Matrix<double> covariance, std::size_t max_block,
           std::size_t together, OutVector<float> out) {
            const std::size_t d = mean.size();
            if (together < 1 || together > bayes_tree::kTogether)
                throw std::invalid_argument("together must be 1 to 4");
            require_equal("columns of points", points.shape(1), d);
            require_equal("rows of covariance", covariance.shape(0), d);
            require_equal("columns of covariance", covariance.shape(1), d);
            require_equal("length of out", out.size(), points.shape(0));
            CovarianceTable table;
            const Blocks blocks = search_blocks(as_span(covariance), d, max_block);
            table.clear(1);
            table.assign(0, as_span(covariance), blocks, mean.data(), 1,
                         covariance_values(d, std::clamp<std::size_t>(max_block, 1, d)));
            if (table.empty()) throw std::invalid_argument("the covariance is not positive definite");
            std::vector<float> z(bayes_tree::kTogether * panels_of(d) * kPanelRows, 0.0F);
            const std::int32_t rows[bayes_tree::kTogether] = {};
            float exponent[bayes_tree::kTogether];
            for (std::size_t i = 0; i < out.size(); ++i) {
                table.exponents({rows, together}, points.data() + i * d, d, z.data(), exponent);
                out(i) = table.log2_norm[0] - 0.72134752F * exponent[together - 1];
            }
        },
        "points"_a.noconvert(), "mean"_a.noconvert(), "covariance"_a.noconvert(), "max_block"_a, "together"_a,
        "out"_a.noconvert(), "log2 densities as queries compute them, for so many entries at once; for tests.");
    m.def(
        "static_mixture",
        [](Matrix<double> points, Vector<std::int32_t> labels, std::size_t classes, std::size_t components,
           int threads) {
            const LabelledRows rows = labelled(points, labels, classes);
            std::vector<Component> all;
            {
                const nb::gil_scoped_release unlocked;
                all = fit_static_mixture(rows, classes, components, thread_count(threads));
            }
            return to_arrays(all);
        },
        "points"_a.noconvert(), "labels"_a.noconvert(), "classes"_a, "components"_a, "threads"_a = 0,
        "A mixture of diagonal Gaussians per class by EM: (class, weight, mean, variance, occupancy), flat.");
    m.def(
        "maximise_margin",
        [](Matrix<double> points, Vector<std::int32_t> labels, Vector<double> prior,
           Vector<std::int32_t> component_class, Vector<double> weight, Matrix<double> mean, Vector<double> covariance,
           Vector<double> occupancy, Vector<double> floor, double kappa, double lambda, int iterations, bool weights,
           int threads) {
            require_margin(kappa, lambda, iterations);
            const LabelledRows rows = labelled(points, labels, prior.size());
            require_equal("columns of mean", mean.shape(1), points.shape(1));
            auto components = components_from(component_class, weight, mean, as_span(covariance), as_span(floor),
                                              as_span(occupancy), prior.size());
            std::vector<double> history;
            {
                const nb::gil_scoped_release unlocked;
                MarginSettings settings;
                settings.kappa = kappa;
                settings.lambda = lambda;
                settings.iterations = iterations;
                settings.weights = weights;
                settings.threads = thread_count(threads);
                MarginProblem problem(rows, {prior.data(), prior.data() + prior.size()}, settings);
                history = problem.maximise(components);
            }
            return nb::make_tuple(to_arrays(components), history);
        },
        "points"_a.noconvert(), "labels"_a.noconvert(), "prior"_a.noconvert(), "component_class"_a.noconvert(),
        "weight"_a.noconvert(), "mean"_a.noconvert(), "covariance"_a.noconvert(), "occupancy"_a.noconvert(),
        "floor"_a.noconvert(), "kappa"_a, "lambda_"_a, "iterations"_a, "weights"_a, "threads"_a = 0,
        "Margin maximisation by extended Baum-Welch: ((class, weight, mean, covariance, occupancy), objectives).");
    m.def(
        "margin_sums",
        [](Matrix<double> points, Vector<std::int32_t> labels, Vector<double> prior,
           Vector<std::int32_t> component_class, Vector<double> weight, Matrix<double> mean, Vector<double> covariance,
           double kappa, double lambda) {
            require_margin(kappa, lambda, 0);
            const LabelledRows rows = labelled(points, labels, prior.size());
            const std::vector<double> ones(component_class.size(), 1.0), zeros(mean.shape(1), 0.0);
            const auto components =
                components_from(component_class, weight, mean, as_span(covariance), zeros, ones, prior.size());
            MarginSettings settings;
            settings.kappa = kappa;
            settings.lambda = lambda;
            MarginProblem problem(rows, {prior.data(), prior.data() + prior.size()}, settings);
            const double objective = problem.objective(components);
            std::vector<double> count, offset, scatter;
            for (const MarginSums& sums : problem.sums(components)) {
                count.push_back(sums.count());
                offset.insert(offset.end(), sums.offset.begin(), sums.offset.end());
                scatter.insert(scatter.end(), sums.scatter.begin(), sums.scatter.end());
            }
            return nb::make_tuple(objective, to_numpy(std::move(count)), to_numpy(std::move(offset)),
                                  to_numpy(std::move(scatter)));
        },
        "points"_a.noconvert(), "labels"_a.noconvert(), "prior"_a.noconvert(), "component_class"_a.noconvert(),
        "weight"_a.noconvert(), "mean"_a.noconvert(), "covariance"_a.noconvert(), "kappa"_a, "lambda_"_a,
        "The objective F and the sums C, M and S (lower triangles) that its gradient is made of, for tests.");
}

}  // namespace anystream::bindings
