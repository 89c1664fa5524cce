// Queries of Bayes forests for Python.
#include "bayes_query.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace anystream::bindings {

namespace {

using namespace anystream::bayes_tree;

QuerySettings query_settings(const std::string& descent, const std::string& decision, std::int32_t refined_classes,
                             double root_weight, bool certify, const std::vector<double>& hand_over) {
    HandOver shares = kEvenHandOver;
    if (!hand_over.empty()) {
        require_equal("length of hand_over", hand_over.size(), kHandOverStages);
        for (const double share : hand_over)
            if (!(share >= 0.0 && share <= 1.0))
                throw std::invalid_argument("hand_over has " + std::to_string(share) + "; use shares from 0 to 1");
        std::copy(hand_over.begin(), hand_over.end(), shares.begin());
    }
    if (!(root_weight >= 0.0) || !std::isfinite(root_weight))
        throw std::invalid_argument("root_weight is " + std::to_string(root_weight) + "; use 0 or more");
    if (refined_classes < kPrintedK)
        throw std::invalid_argument("refined_classes is " + std::to_string(refined_classes) + "; use 1 or more");
    return {by_name<Descent>(descent, "descent",
                             {{"global_best", Descent::global_best},
                              {"breadth_first", Descent::breadth_first},
                              {"depth_first", Descent::depth_first}}),
            by_name<Decision>(
                decision, "decision",
                {{"mixture", Decision::mixture}, {"ensemble", Decision::ensemble}, {"nearest", Decision::nearest}}),
            refined_classes,
            root_weight,
            shares,
            certify};
}

}  // namespace

void bind_bayes_query(nb::module_& m) {
    nb::class_<QuerySettings>(m, "BayesQuerySettings", "How queries descend and decide.")
        .def(nb::new_(&query_settings), "descent"_a, "decision"_a, "refined_classes"_a, "root_weight"_a = 0.0,
             "certify"_a = false, "hand_over"_a = std::vector<double>());
    bind_query<ForestQuery>(m, "BayesQuery")
        .def("record", &ForestQuery::record, "The record, mapped and standardised.")
        .def("frontier", &ForestQuery::frontier, "Rows (class, node or -1 for a kernel, log2 of n_e g_e).")
        .def("proba_bounds", &ForestQuery::proba_bounds,
             "Lower and upper bounds of the probabilities after all steps, class by class.");
}

}  // namespace anystream::bindings
