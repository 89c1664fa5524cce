#include "anystream/stop.hpp"

#include "anystream/isa.hpp"
#include "anystream/parallel.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

void bind_stop(nb::module_& m) {
    nb::class_<StopFlag>(m, "StopToken",
                         "A flag that stops work in progress: pass it to a Budget, set it from any thread.")
        .def(nb::init<>())
        .def("set", &StopFlag::set, "Stop the work that polls this token.")
        .def("clear", &StopFlag::clear, "Reset the token, so that it can be used again.")
        .def("is_set", &StopFlag::is_set, "Whether the token was set.");
    nb::class_<Counter>(m, "Counter", "The progress of some work.")
        .def(nb::init<>())
        .def(
            "add",
            [](Counter& counter, std::int64_t more) { counter.value.fetch_add(more, std::memory_order_relaxed); },
            "more"_a = 1, "Add to the count.")
        .def_prop_ro("value", [](const Counter& counter) { return counter.value.load(std::memory_order_relaxed); });
    m.attr("isa") = isa_name(isa_level());
    m.def("thread_count", &thread_count, "requested"_a = 0,
          "The number of threads to use for a request; 0 is one per core.");
}

}  // namespace anystream::bindings
