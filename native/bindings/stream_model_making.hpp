// Making the handle of a stream model: from parameters, from arrays, from other models.
#pragma once

#include <sstream>
#include <tuple>

#include "arrays.hpp"
#include "stream_model.hpp"

namespace anystream::bindings {

/// The models of `parts`, checked to have the same features and one class map each.
template <typename Model>
std::vector<std::shared_ptr<Model>> shares_to_merge(const std::vector<const SharedModel<Model>*>& parts,
                                                    const std::vector<std::vector<std::int32_t>>& class_maps,
                                                    std::size_t classes) {
    if (parts.empty()) throw std::invalid_argument("the list of models to merge is empty");
    require_equal("number of class maps", class_maps.size(), parts.size());
    std::vector<std::shared_ptr<Model>> shares;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        shares.push_back(parts[p]->share());
        require_features(*shares[0], shares[p]->dimensions());
        require_equal("length of a class map", class_maps[p].size(), shares[p]->classes());
        require_classes(class_maps[p], classes);
    }
    return shares;
}

/// Everything learned, as arrays by name.
template <typename Model>
nb::dict arrays_of_model(const SharedModel<Model>& handle) {
    return arrays_of(std::make_shared<const typename Model::Arrays>(handle.share()->arrays()));
}

/// How a handle is made, stored and merged. `make_settings` takes the tuple that `arguments_of` gives; `check` throws
/// if settings do not match the dimensions.
template <typename Model, typename Settings, typename... Arguments>
void bind_making(nb::class_<SharedModel<Model>>& bound, Settings (*make_settings)(Arguments...),
                 std::tuple<std::decay_t<Arguments>...> (*arguments_of)(const Settings&),
                 void (*check)(const Settings&, std::size_t)) {
    using Handle = SharedModel<Model>;
    const auto from = [check](const Settings& how, std::size_t dimensions, std::size_t classes, nb::dict given) {
        check(how, dimensions);
        typename Model::Arrays arrays;
        adopt_arrays(arrays, given);
        const nb::gil_scoped_release unlocked;
        return Model::from_arrays(how, dimensions, classes, arrays);
    };
    bound
        .def_static(
            "empty",
            [check](const Settings& how, std::size_t dimensions) {
                check(how, dimensions);
                return std::make_unique<Handle>(Model(how, dimensions));
            },
            "settings"_a, "dimensions"_a, "A model without points.")
        .def_static(
            "from_arrays",
            [from](const Settings& how, std::size_t dimensions, std::size_t classes, nb::dict given) {
                return std::make_unique<Handle>(from(how, dimensions, classes, given));
            },
            "settings"_a, "dimensions"_a, "classes"_a, "arrays"_a, "A model from the arrays of another.")
        .def("arrays", &arrays_of_model<Model>, "Everything learned, as arrays by name.")
        .def("__getstate__",
             [arguments_of](const Handle& h) {
                 const auto model = h.share();
                 return nb::make_tuple(1, arguments_of(model->settings()), model->dimensions(), model->classes(),
                                       arrays_of_model(h));
             })
        .def("__setstate__",
             [from, make_settings](Handle& h, nb::tuple state) {
                 if (state.size() != 5 || nb::cast<int>(state[0]) != 1)
                     throw std::invalid_argument("this pickle was written by another version of anystream");
                 const auto arguments = nb::cast<std::tuple<std::decay_t<Arguments>...>>(state[1]);
                 new (&h) Handle(from(std::apply(make_settings, arguments), nb::cast<std::size_t>(state[2]),
                                      nb::cast<std::size_t>(state[3]), nb::cast<nb::dict>(state[4])));
             })
        .def_static(
            "merge",
            [](const std::vector<const Handle*>& parts, const std::vector<std::vector<std::int32_t>>& class_maps,
               std::size_t classes) {
                const auto shares = shares_to_merge<Model>(parts, class_maps, classes);
                const nb::gil_scoped_release unlocked;
                std::vector<const Model*> models;
                for (const auto& share : shares) models.push_back(share.get());
                return std::make_unique<Handle>(Model::merged(models, class_maps, classes));
            },
            "parts"_a, "class_maps"_a, "classes"_a, "One model of all parts.")
        .def_prop_ro("seen", [](const Handle& h) { return h.share()->seen(); }, "Points learned so far.");
}

// -- parameters -----------------------------------------------------------------------------------------------------

/// An integer within limits.
inline std::int64_t checked_int(const char* name, std::int64_t value, std::int64_t min, std::int64_t max) {
    if (value < min || value > max)
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + "; use " +
                                    std::to_string(min) + " to " + std::to_string(max));
    return value;
}

inline std::size_t checked_size(const char* name, std::int64_t value, std::int64_t min, std::int64_t max) {
    return static_cast<std::size_t>(checked_int(name, value, min, max));
}

/// A number within limits.
inline double checked_number(const char* name, double value, double min, double max) {
    if (!(value >= min && value <= max)) {
        std::ostringstream text;
        text << name << " is " << value << "; use " << min << " to " << max;
        throw std::invalid_argument(text.str());
    }
    return value;
}

inline constexpr std::int64_t kMaxCount = 1'000'000'000;

}  // namespace anystream::bindings
