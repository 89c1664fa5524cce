// Calibrations for Python.
#include "anystream/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "bindings.hpp"

namespace anystream::bindings {

namespace {

Calibration make_calibration(Vector<std::int64_t> steps, Vector<double> log_sharpness, Vector<double> floor) {
    require_equal("length of log_sharpness", log_sharpness.size(), steps.size());
    require_equal("length of floor", floor.size(), steps.size());
    const auto numbers = as_span(steps);
    const auto is_number = [](double value) { return std::isfinite(value) && std::abs(value) <= 20.0; };
    const auto is_share = [](double value) { return value >= 0.0 && value <= 1.0; };
    const auto rates = as_span(log_sharpness), shares = as_span(floor);
    if (numbers.empty() || std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) != numbers.end())
        throw std::invalid_argument("the steps of a calibration do not ascend; use ascending numbers");
    if (!std::all_of(rates.begin(), rates.end(), is_number) || !std::all_of(shares.begin(), shares.end(), is_share))
        throw std::invalid_argument("a calibration has a logarithm beyond 20 or a share outside 0 to 1");
    return {{numbers.begin(), numbers.end()}, {rates.begin(), rates.end()}, {shares.begin(), shares.end()}};
}

}  // namespace

void bind_calibration(nb::module_& m) {
    nb::class_<Calibration>(m, "Calibration", "Sharpness and floor of probabilities by the number of steps taken.")
        .def(nb::new_(&make_calibration), "steps"_a.noconvert(), "log_sharpness"_a.noconvert(), "floor"_a.noconvert())
        .def(
            "apply",
            [](const Calibration& calibration, OutMatrix<double> proba, Vector<std::int64_t> taken) {
                require_equal("length of taken", taken.size(), proba.shape(0));
                const auto rows = as_span(proba);
                const auto steps = as_span(taken);
                const std::size_t classes = proba.shape(1);
                const nb::gil_scoped_release unlocked;
                for (std::size_t i = 0; i < steps.size(); ++i)
                    calibration.apply(rows.subspan(i * classes, classes), steps[i]);
            },
            "proba"_a.noconvert(), "taken"_a.noconvert(), "Calibrate the probabilities of records, in place.");
}

}  // namespace anystream::bindings
