// A query of a Bayes forest as Python holds it.
#pragma once

#include <tuple>
#include <vector>

#include "anystream/bayes_tree/query.hpp"
#include "bound_query.hpp"

namespace anystream::bindings {

class ForestQuery : public BoundQuery<bayes_tree::Query> {
  public:
    using BoundQuery::BoundQuery;

    [[nodiscard]] nb::bytes state() {
        const Hold hold(guard_);
        query_.read_roots(*model_);
        return suspended();
    }
    /// Pairs (lower, upper), class by class.
    [[nodiscard]] auto proba_bounds() const {
        std::vector<double> out(2 * model_->classes());
        const Hold hold(guard_);
        query_.posterior_bounds(out);
        return to_numpy(std::move(out));
    }
    [[nodiscard]] std::vector<std::tuple<std::int32_t, std::int32_t, double>> frontier() {
        const Hold hold(guard_);
        query_.read_roots(*model_);
        std::vector<std::tuple<std::int32_t, std::int32_t, double>> rows;
        for (const auto& entry : query_.frontier()) rows.emplace_back(entry.point_class, entry.child, entry.log2_value);
        return rows;
    }
    [[nodiscard]] auto record() const {
        const Hold hold(guard_);
        return to_numpy(std::vector<double>(query_.record().begin(), query_.record().end()));
    }
};

}  // namespace anystream::bindings
