// Calibrated probabilities: p^b / sum p^b, mixed with the uniform distribution, where b and the share of the mixture
// depend on the number of steps taken. The order of the classes stays, and so does the label.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace anystream {

/// Tables over ascending numbers of steps; linear in between, constant outside.
struct Calibration {
    std::vector<std::int64_t> steps;
    std::vector<double> log_sharpness;  // log b
    std::vector<double> floor;          // share of the uniform distribution

    /// What the tables say after a number of steps.
    struct Point {
        double sharpness, floor;
    };
    /// The tables must not be empty.
    [[nodiscard]] Point at(std::int64_t taken) const noexcept;
    /// Calibrates the probabilities of one record.
    static void apply(std::span<double> proba, const Point& point) noexcept;
    /// The same after `taken` steps; without tables the probabilities stay.
    void apply(std::span<double> proba, std::int64_t taken) const noexcept {
        if (!steps.empty()) apply(proba, at(taken));
    }
};

/// The probabilities of a query, calibrated unless there is no calibration or nothing is known about the record. An
/// answer of a first look has a calibration of its own, and the table counts the steps after it.
template <typename Query>
void write_posterior(Query& query, const typename Query::Model& model, const Calibration* calibration,
                     std::span<double> out) {
    if constexpr (requires { query.calibrated_look(out); }) {
        if (query.looking() && calibration != nullptr) return query.calibrated_look(out);
    }
    query.posterior(model, out);
    if (calibration == nullptr) return;
    if constexpr (requires { query.nothing_known(); }) {
        if (query.nothing_known()) return;
    }
    if constexpr (requires { query.tree_steps(); }) {
        calibration->apply(out, query.tree_steps());
    } else {
        calibration->apply(out, query.steps());
    }
}

}  // namespace anystream
