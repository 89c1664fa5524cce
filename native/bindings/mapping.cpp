#include "anystream/mapping_guard.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

void bind_mapping(nb::module_& m) {
    nb::class_<MappingGuard>(m, "MappingGuard",
                             "Replaces pages of a mapping that cannot be read, such as those of a truncated file, by "
                             "zeros, instead of ending the process.")
        .def(
            "__init__",
            [](MappingGuard* guard, Vector<std::uint8_t> mapping) {
                new (guard) MappingGuard(mapping.data(), mapping.size());
            },
            "mapping"_a.noconvert(), "Guard all bytes of a mapping, from its first page.")
        .def_prop_ro("lost", &MappingGuard::lost, "Whether a page was replaced.");
}

}  // namespace anystream::bindings
