#include "anystream/fork.hpp"
#include "anystream/parallel.hpp"
#include "bindings.hpp"
#include "signals.hpp"

namespace nb = nanobind;

NB_MODULE(_native, m) {
    m.doc() = "The native core of anystream.";
    nb::set_leak_warnings(false);  // a model that is still referenced at exit is not a leak
    anystream::watch_forks();
    anystream::set_signal_check(&anystream::bindings::check_signals);
    anystream::bindings::bind_errors(m);
    anystream::bindings::bind_stop(m);
    anystream::bindings::bind_mapping(m);
    anystream::bindings::bind_calibration(m);
    anystream::bindings::bind_bayes_first_look(m);
    anystream::bindings::bind_bayes_metric(m);
    anystream::bindings::bind_bayes_query(m);
    anystream::bindings::bind_bayes_forest(m);
    anystream::bindings::bind_bayes_kernels(m);
    anystream::bindings::bind_tree_shape(m);
    anystream::bindings::bind_subspace(m);
    anystream::bindings::bind_microclusters(m);
    anystream::bindings::bind_bayes_margin(m);
    anystream::bindings::bind_scan(m);
    anystream::bindings::bind_neighbors(m);
    anystream::bindings::bind_graph(m);
    anystream::bindings::bind_drift(m);
    anystream::bindings::bind_forest(m);
    anystream::bindings::bind_text(m);
}
