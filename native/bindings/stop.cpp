#include "anystream/stop.hpp"

#include "anystream/parallel.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

void bind_stop(nb::module_& m) {
    nb::class_<StopFlag>(m, "StopToken",
                         "A flag that ends work in progress: give it to a Budget, set it from any thread.")
        .def(nb::init<>())
        .def("set", &StopFlag::set, "End the work that looks at this token.")
        .def("clear", &StopFlag::clear, "Make the token usable again.")
        .def("is_set", &StopFlag::is_set, "Whether the token was set.");
    m.def("thread_count", &thread_count, "requested"_a = 0, "The number of threads that a request stands for.");
}

}  // namespace anystream::bindings
