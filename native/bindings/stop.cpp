#include "anystream/stop.hpp"

#include "anystream/isa.hpp"
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
    nb::class_<Counter>(m, "Counter", "How far a piece of work has come.")
        .def(nb::init<>())
        .def(
            "add",
            [](Counter& counter, std::int64_t more) { counter.value.fetch_add(more, std::memory_order_relaxed); },
            "more"_a = 1, "Count on.")
        .def_prop_ro("value", [](const Counter& counter) { return counter.value.load(std::memory_order_relaxed); });
    m.attr("isa") = isa_name(isa_level());
    m.def("thread_count", &thread_count, "requested"_a = 0, "The number of threads that a request stands for.");
}

}  // namespace anystream::bindings
