// The exceptions of the native core. Wrong arguments are std::invalid_argument, which Python sees as ValueError.
#include "anystream/bayes_tree/construction.hpp"
#include "anystream/damaged_model.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

void bind_errors(nb::module_& m) {
    // Python code raises the same class for files that it cannot read.
    nb::exception<DamagedModel> damaged(m, "ModelFileError", PyExc_ValueError);
    damaged.attr("__doc__") = "A file is not a model that can be used; the message describes the fault and what to do.";
    nb::exception<bayes_tree::BuildStopped> stopped(m, "BuildStopped", PyExc_RuntimeError);
    stopped.attr("__doc__") = "Building was stopped by its StopToken.";
}

}  // namespace anystream::bindings
