// The first look at records for Python.
#include "anystream/bayes_tree/first_look.hpp"

#include <algorithm>
#include <cmath>

#include "bindings.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::bayes_tree;

/// `weight` is (2 d, classes).
FirstLook make_first_look(Vector<double> shift, Vector<double> factor, Vector<float> square_mean, Matrix<float> weight,
                          Vector<float> bias, double sharpness, double floor) {
    const std::size_t d = shift.size(), classes = bias.size(), lanes = (classes + 7) / 8 * 8;
    if (d == 0 || classes == 0) throw std::invalid_argument("a first look has no features or no classes");
    require_equal("length of factor", factor.size(), d);
    require_equal("length of square_mean", square_mean.size(), d);
    require_equal("rows of weight", weight.shape(0), 2 * d);
    require_equal("columns of weight", weight.shape(1), classes);
    if (!(sharpness > 0.0) || !std::isfinite(sharpness) || !(floor >= 0.0 && floor <= 1.0))
        throw std::invalid_argument("the calibration of a first look has sharpness " + std::to_string(sharpness) +
                                    " and floor " + std::to_string(floor));
    FirstLook look;
    look.classes = classes;
    look.shift.assign(shift.data(), shift.data() + d);
    look.factor.assign(factor.data(), factor.data() + d);
    look.square_mean.assign(square_mean.data(), square_mean.data() + d);
    look.weight.resize(2 * d * lanes);
    for (std::size_t j = 0; j < 2 * d; ++j)
        std::copy_n(weight.data() + j * classes, classes, look.weight.data() + j * lanes);
    look.bias.resize(lanes);
    std::copy_n(bias.data(), classes, look.bias.data());
    look.sharpness = sharpness;
    look.floor = floor;
    return look;
}

void scores_of(const FirstLook& look, Matrix<double> records, OutMatrix<float> out) {
    require_features(look, records.shape(1));
    require_equal("rows of out", out.shape(0), records.shape(0));
    require_equal("columns of out", out.shape(1), look.classes);
    const std::size_t rows = records.shape(0);
    const double* const from = records.data();
    float* const to = out.data();
    const nb::gil_scoped_release unlocked;
    std::vector<float> scores(FirstLook::kBlock * look.lanes());
    for (std::size_t first = 0; first < rows; first += FirstLook::kBlock) {
        const std::size_t count = std::min(FirstLook::kBlock, rows - first);
        look.scores(from + first * look.dimensions(), count, scores);
        for (std::size_t i = 0; i < count; ++i)
            std::copy_n(scores.data() + i * look.lanes(), look.classes, to + (first + i) * look.classes);
    }
}

}  // namespace

void bind_bayes_first_look(nb::module_& m) {
    nb::class_<FirstLook>(m, "BayesFirstLook", "A linear discriminant over the features of a record and their squares.")
        .def(nb::new_(&make_first_look), "shift"_a.noconvert(), "factor"_a.noconvert(), "square_mean"_a.noconvert(),
             "weight"_a.noconvert(), "bias"_a.noconvert(), "sharpness"_a = 1.0, "floor"_a = 0.0)
        .def("scores", &scores_of, "records"_a.noconvert(), "out"_a.noconvert(),
             "log2 of the joint densities of records and classes, up to a number per record.");
}

}  // namespace anystream::bindings
