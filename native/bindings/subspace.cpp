// LOCUST for Python: levels (the default) and blocks (as published).
#include <nanobind/stl/pair.h>

#include <tuple>

#include "anystream/subspace/block_query.hpp"
#include "anystream/subspace/kernels.hpp"
#include "anystream/subspace/level_query.hpp"
#include "anystream/subspace/levels.hpp"
#include "stream_model_making.hpp"

namespace anystream::bindings {

namespace {

using namespace anystream::subspace;
using LevelsHandle = SharedModel<Levels>;
using BlocksHandle = SharedModel<Blocks>;

LevelsSettings levels_settings(std::int64_t n_levels, std::int64_t level_size, std::int64_t stride,
                               std::int64_t n_ranges, std::int64_t support, double smoothing, double kernel,
                               double affinity, std::int64_t class_floor, std::int64_t label_delay,
                               std::int64_t max_bytes, std::uint64_t seed, std::vector<std::uint32_t> categorical) {
    LevelsSettings settings;
    settings.levels = checked_size("n_levels", n_levels, 1, kMaxLevels);
    settings.level_size = checked_size("level_size", level_size, 2, static_cast<std::int64_t>(kMaxPoints));
    settings.stride = checked_size("stride", stride, 2, 64);
    settings.ranges = checked_size("n_ranges", n_ranges, 2, static_cast<std::int64_t>(kMaxRanges));
    settings.support = checked_size("support", support, 1, static_cast<std::int64_t>(kMaxPoints));
    settings.smoothing = checked_number("smoothing", smoothing, 1e-6, 1e6);
    settings.kernel = checked_number("kernel", kernel, 0.0, 100.0);
    settings.affinity = checked_number("affinity", affinity, 0.0, 100.0);
    settings.class_floor = checked_size("class_floor", class_floor, 0, static_cast<std::int64_t>(kMaxPoints));
    settings.label_delay = checked_int("label_delay", label_delay, 0, kMaxCount);
    if (max_bytes >= 0) settings.max_bytes = static_cast<std::size_t>(max_bytes);
    settings.seed = seed;
    settings.categorical = std::move(categorical);
    return settings;
}

using LevelsArguments =
    std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, double, double, double,
               std::int64_t, std::int64_t, std::int64_t, std::uint64_t, std::vector<std::uint32_t>>;

/// The arguments of levels_settings for these settings, for pickles.
LevelsArguments levels_arguments(const LevelsSettings& s) {
    const auto number_of = [](std::size_t value) { return static_cast<std::int64_t>(value); };
    const bool bounded = s.max_bytes != std::numeric_limits<std::size_t>::max();
    return {number_of(s.levels),
            number_of(s.level_size),
            number_of(s.stride),
            number_of(s.ranges),
            number_of(s.support),
            s.smoothing,
            s.kernel,
            s.affinity,
            number_of(s.class_floor),
            s.label_delay,
            bounded ? number_of(s.max_bytes) : -1,
            s.seed,
            s.categorical};
}

// -- blocks ---------------------------------------------------------------------------------------------------------

BlocksSettings blocks_settings(std::int64_t block_size, std::int64_t n_ranges, double decay, std::int64_t max_blocks,
                               std::int64_t build_within, std::int64_t max_bytes, std::uint64_t seed,
                               std::vector<std::uint32_t> categorical) {
    BlocksSettings settings;
    settings.block_size = checked_size("block_size", block_size, 2, static_cast<std::int64_t>(kMaxPoints));
    settings.ranges = checked_size("n_ranges", n_ranges, 2, static_cast<std::int64_t>(kMaxRanges));
    settings.decay = checked_number("decay", decay, 0.0, 1000.0);
    settings.max_blocks = checked_size("max_blocks", max_blocks, 1, kMaxCount);
    settings.build_within = checked_size("build_within", build_within, 0, kMaxCount);
    if (max_bytes >= 0) settings.max_bytes = static_cast<std::size_t>(max_bytes);
    settings.seed = seed;
    settings.categorical = std::move(categorical);
    return settings;
}

using BlocksArguments = std::tuple<std::int64_t, std::int64_t, double, std::int64_t, std::int64_t, std::int64_t,
                                   std::uint64_t, std::vector<std::uint32_t>>;

BlocksArguments blocks_arguments(const BlocksSettings& s) {
    const auto number_of = [](std::size_t value) { return static_cast<std::int64_t>(value); };
    const bool bounded = s.max_bytes != std::numeric_limits<std::size_t>::max();
    return {number_of(s.block_size),
            number_of(s.ranges),
            s.decay,
            number_of(s.max_blocks),
            number_of(s.build_within),
            bounded ? number_of(s.max_bytes) : -1,
            s.seed,
            s.categorical};
}

BlockSampling block_sampling(double power, bool adaptive, double significance, std::int64_t min_points,
                             const std::string& dominant, const std::string& votes, const std::string& failed,
                             const std::string& empty, std::int64_t max_samples, double error) {
    return {checked_number("bias", power, 0.0, 100.0),
            adaptive,
            checked_number("significance", significance, 0.0, 1e6),
            checked_int("min_points", min_points, 0, kMaxCount),
            by_name<Dominant>(dominant, "dominant", {{"count", Dominant::count}, {"lift", Dominant::lift}}),
            by_name<Votes>(votes, "votes", {{"plain", Votes::plain}, {"gamma", Votes::gamma}}),
            by_name<Failed>(failed, "failed",
                            {{"fallback", Failed::fallback}, {"vote", Failed::vote}, {"silent", Failed::silent}}),
            by_name<Empty>(empty, "empty", {{"skip", Empty::skip}, {"end", Empty::end}}),
            checked_int("max_samples", max_samples, 1, kMaxCount),
            checked_number("error", error, 0.0, 0.999999)};
}

/// Throws unless categorical columns are in ascending order, below `dimensions`.
void require_categorical(const std::vector<std::uint32_t>& columns, std::size_t dimensions) {
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i] >= dimensions || (i > 0 && columns[i - 1] >= columns[i]))
            throw std::invalid_argument("categorical columns must ascend and be below " + std::to_string(dimensions));
}

template <typename Settings>
void check_settings(const Settings& settings, std::size_t dimensions) {
    require_categorical(settings.categorical, dimensions);
}

template <typename Model>
void bind_add_features(nb::class_<SharedModel<Model>>& bound) {
    bound.def(
        "add_features",
        [](SharedModel<Model>& h, std::size_t dimensions, std::vector<std::uint32_t> categorical) {
            require_categorical(categorical, dimensions);
            h.change([&](Model& model) { model.add_features(dimensions, std::move(categorical)); });
        },
        "dimensions"_a, "categorical"_a, "Add features that are missing in all points so far.");
}

void bind_levels(nb::module_& m) {
    nb::class_<LevelsSettings>(m, "LocustLevelsSettings", "How levels store points and vote.")
        .def(nb::new_(&levels_settings), "n_levels"_a, "level_size"_a, "stride"_a, "n_ranges"_a, "support"_a,
             "smoothing"_a, "kernel"_a, "affinity"_a, "class_floor"_a, "label_delay"_a, "max_bytes"_a, "seed"_a,
             "categorical"_a);
    bind_query<BoundQuery<LevelQuery>>(m, "LocustLevelsQuery");
    auto bound = bind_stream_model<LevelQuery>(m, "LocustLevels",
                                               "Levels of points. Many threads may classify while one learns.");
    bind_making(bound, &levels_settings, &levels_arguments, &check_settings<LevelsSettings>);
    bind_add_features(bound);
    bound
        .def_prop_ro(
            "level_weights",
            [](const LevelsHandle& h) {
                const auto model = h.share();
                std::vector<double> weights;
                for (std::size_t l = 0; l < model->size(); ++l) weights.push_back(model->weight(l));
                return weights;
            },
            "The trust in each level; the weights add up to 1.")
        .def_prop_ro(
            "level_sizes",
            [](const LevelsHandle& h) {
                const auto model = h.share();
                std::vector<std::size_t> sizes;
                for (std::size_t l = 0; l < model->size(); ++l) sizes.push_back(model->level(l).size());
                return sizes;
            },
            "The number of points of each level.");
}

void bind_blocks(nb::module_& m) {
    nb::class_<BlocksSettings>(m, "LocustBlocksSettings", "How blocks store points.")
        .def(nb::new_(&blocks_settings), "block_size"_a, "n_ranges"_a, "decay"_a, "max_blocks"_a, "build_within"_a,
             "max_bytes"_a, "seed"_a, "categorical"_a);
    nb::class_<BlockSampling>(m, "LocustBlockSampling",
                              "How samples are drawn and vote, and when a query is exhausted.")
        .def(nb::new_(&block_sampling), "power"_a, "adaptive"_a, "significance"_a, "min_points"_a, "dominant"_a,
             "votes"_a, "failed"_a, "empty"_a, "max_samples"_a, "error"_a);
    bind_query<BoundQuery<BlockQuery>>(m, "LocustBlocksQuery");
    auto bound = bind_stream_model<BlockQuery>(m, "LocustBlocks",
                                               "Blocks of points. Many threads may classify while one learns.");
    bind_making(bound, &blocks_settings, &blocks_arguments, &check_settings<BlocksSettings>);
    bind_add_features(bound);
    bound.def(
        "finish_building",
        [](BlocksHandle& h) {
            if (h.share()->is_building()) h.change([](Blocks& model) { model.finish_building(); });
        },
        "End the building of a block at once.");
    bound.def_prop_ro(
        "is_building", [](const BlocksHandle& h) { return h.share()->is_building(); },
        "Whether a block is being built.");
    bound.def_prop_ro(
        "block_sizes",
        [](const BlocksHandle& h) {
            const auto model = h.share();
            std::vector<std::size_t> sizes;
            for (std::size_t b = 0; b < model->size(); ++b) sizes.push_back(model->block(b).size());
            return sizes;
        },
        "The number of points of each block, the newest last.");
}

void bind_list_kernels(nb::module_& m) {
    m.def(
        "locust_renew_word",
        [](Matrix<std::uint8_t> rows, Vector<std::uint32_t> first, OutVector<std::uint64_t> bits,
           OutVector<std::uint16_t> count, OutMatrix<std::uint16_t> class_count, Vector<std::uint64_t> before,
           Vector<std::uint64_t> after) {
            if (first.size() == 0 || rows.shape(0) > 64 || rows.shape(1) % kCodeBlock != 0 ||
                rows.shape(1) < first.size() - 1)
                throw std::invalid_argument("rows must be at most 64, and a multiple of 64 wide");
            const std::size_t lists = first.data()[first.size() - 1];
            require_equal("length of bits", bits.size(), lists);
            require_equal("length of count", count.size(), lists);
            require_equal("rows of class_count", class_count.shape(0), lists);
            require_equal("length of before", before.size(), class_count.shape(1));
            require_equal("length of after", after.size(), class_count.shape(1));
            std::vector<ClassPlaces> classes;
            for (std::size_t slot = 0; slot < before.size(); ++slot)
                classes.push_back({slot, before.data()[slot], after.data()[slot]});
            const ListWords words{
                bits.data(), 1, count.data(), class_count.data(), class_count.shape(1), first.data(), first.size() - 1};
            kernels().renew_word(words, rows.data(), rows.shape(0), rows.shape(1), classes.data(), classes.size());
        },
        "rows"_a.noconvert(), "first"_a.noconvert(), "bits"_a.noconvert(), "count"_a.noconvert(),
        "class_count"_a.noconvert(), "before"_a.noconvert(), "after"_a.noconvert(),
        "Bring lists of at most 64 points up to date with their codes, for tests.");
    m.def(
        "locust_weights",
        [](Vector<std::uint16_t> count, Matrix<std::uint16_t> class_count, Vector<double> share,
           Vector<std::uint32_t> slots, double points, Vector<std::uint32_t> lists, OutVector<float> out) {
            const std::size_t stride = class_count.shape(1);
            if (stride < 4 || (stride & (stride - 1)) != 0)
                throw std::invalid_argument("the columns of class_count must be a power of 2, at least 4");
            require_equal("rows of class_count", class_count.shape(0), count.size());
            require_equal("length of share", share.size(), std::max(stride, kSlotBlock));
            require_equal("length of out", out.size(), lists.size());
            for (const std::uint32_t list : as_span(lists))
                if (list >= count.size()) throw std::invalid_argument("there are fewer lists");
            for (const std::uint32_t slot : as_span(slots))
                if (slot >= stride) throw std::invalid_argument("there are fewer slots");
            std::vector<double> terms(share.size());
            const WeighedLists level{count.data(), class_count.data(), stride, share.data(),
                                     slots.data(), slots.size(),       points};
            kernels().weights(level, lists.data(), lists.size(), terms.data(), out.data());
        },
        "count"_a.noconvert(), "class_count"_a.noconvert(), "share"_a.noconvert(), "slots"_a.noconvert(), "points"_a,
        "lists"_a.noconvert(), "out"_a.noconvert(), "The weights of lists in draws, for tests.");
    m.def(
        "locust_rank",
        [](Vector<double> values, double at) {
            if (values.size() % kRankBlock != 0)
                throw std::invalid_argument("the number of values is not a multiple of 8");
            return kernels().rank(values.data(), values.size(), at);
        },
        "values"_a.noconvert(), "at"_a, "The number of values that are at most `at`, for tests.");
    m.def(
        "locust_differs",
        [](Vector<float> x, Vector<float> expected) {
            require_equal("length of expected", expected.size(), x.size());
            if (x.size() % kLimitBlock != 0)
                throw std::invalid_argument("the number of values is not a multiple of 16");
            return kernels().differs(x.data(), expected.data(), x.size());
        },
        "x"_a.noconvert(), "expected"_a.noconvert(), "Whether a known value is not the expected one, for tests.");
    m.def(
        "locust_differing",
        [](Vector<std::uint8_t> a, Vector<std::uint8_t> b) {
            require_equal("length of a", a.size(), kCodeBlock);
            require_equal("length of b", b.size(), kCodeBlock);
            return kernels().differing(a.data(), b.data());
        },
        "a"_a.noconvert(), "b"_a.noconvert(), "A bit per byte, set where they differ; for tests.");
}

void bind_kernels(nb::module_& m) {
    m.def(
        "locust_distances",
        [](Vector<std::uint8_t> query, Matrix<std::uint8_t> rows, Vector<std::uint8_t> unrelated,
           Vector<std::uint64_t> points, std::size_t first_word, std::size_t max_points) {
            require_equal("columns of rows", rows.shape(1), query.size());
            require_equal("length of unrelated", unrelated.size(), query.size());
            if (query.size() % kCodeBlock != 0)
                throw std::invalid_argument("the number of codes is not a multiple of 64");
            if (first_word >= points.size() || points.size() * 64 > rows.shape(0))
                throw std::invalid_argument("points has more bits than there are rows, or fewer words than first_word");
            std::vector<std::uint32_t> distance(max_points), place(max_points);
            const std::size_t found =
                kernels().distances({query.data(), rows.data(), unrelated.data(), query.size()}, points.data(),
                                    points.size(), first_word, max_points, place.data(), distance.data());
            place.resize(found);
            distance.resize(found);
            return std::make_pair(to_numpy(std::move(place)), to_numpy(std::move(distance)));
        },
        "query"_a.noconvert(), "rows"_a.noconvert(), "unrelated"_a.noconvert(), "points"_a.noconvert(), "first_word"_a,
        "max_points"_a, "The points found from a word on, and how far their codes are from the query's. For tests.");
    m.def(
        "locust_intersect",
        [](Vector<std::uint64_t> a, Vector<std::uint64_t> b, OutVector<std::uint64_t> out) {
            require_equal("length of b", b.size(), a.size());
            require_equal("length of out", out.size(), a.size());
            const auto both = kernels().intersect(a.data(), b.data(), out.data(), a.size());
            return std::make_tuple(both, kernels().count_common(a.data(), b.data(), a.size()),
                                   kernels().count(a.data(), a.size()),
                                   kernels().exceeds(a.data(), b.data(), a.size()));
        },
        "a"_a.noconvert(), "b"_a.noconvert(), "out"_a.noconvert(),
        "out = a & b; its bits, the same without writing, the bits of a, whether a exceeds b. For tests.");
    m.def(
        "locust_ranges",
        [](Vector<float> column, std::size_t n_ranges, bool categorical) {
            Ranges ranges(1, n_ranges, categorical ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{});
            ranges.fit(as_span(column));
            std::vector<std::uint8_t> codes, code(ranges.code_stride(), kMissing);
            std::vector<float> row(ranges.float_stride());
            for (const float value : as_span(column)) {
                const double x = value;
                to_floats(&x, 1, row.data());
                ranges.encode(row.data(), code.data());
                codes.push_back(code[0]);
            }
            return std::make_pair(to_numpy(ranges.cuts(0)), to_numpy(std::move(codes)));
        },
        "column"_a.noconvert(), "n_ranges"_a, "categorical"_a, "The cuts of a column and its codes, for tests.");
    m.def(
        "locust_floats",
        [](Vector<double> x, OutVector<float> out) {
            require_equal("length of out", out.size(), x.size());
            return kernels().floats(x.data(), x.size(), out.data());
        },
        "x"_a.noconvert(), "out"_a.noconvert(),
        "Values in single precision; returns whether none is infinite. For tests.");
    m.def(
        "locust_codes",
        [](Vector<float> x, Matrix<float> limits, Vector<std::uint8_t> rows, OutVector<std::uint8_t> out) {
            require_equal("columns of limits", limits.shape(1), x.size());
            require_equal("length of rows", rows.size() * kLimitBlock, x.size());
            require_equal("length of out", out.size(), x.size());
            for (const std::uint8_t used : as_span(rows))
                if (used > limits.shape(0)) throw std::invalid_argument("rows has more than there are limits");
            kernels().codes(x.data(), limits.data(), rows.data(), x.size(), out.data());
        },
        "x"_a.noconvert(), "limits"_a.noconvert(), "rows"_a.noconvert(), "out"_a.noconvert(),
        "The number of limits below each value, for tests.");
    m.def(
        "locust_extremes",
        [](Matrix<float> values, OutVector<float> lowest, OutVector<float> highest, OutVector<std::int32_t> inner) {
            for (const std::size_t size : {lowest.size(), highest.size(), inner.size()})
                require_equal("length of an array", size, values.shape(1));
            kernels().extremes(values.data(), values.shape(0), values.shape(1), lowest.data(), highest.data());
            kernels().inner(values.data(), values.shape(0), values.shape(1), lowest.data(), highest.data(),
                            inner.data());
        },
        "values"_a.noconvert(), "lowest"_a.noconvert(), "highest"_a.noconvert(), "inner"_a.noconvert(),
        "Extremes of columns, and whether there are values between them; for tests.");
    bind_list_kernels(m);
}

}  // namespace

void bind_subspace(nb::module_& m) {
    nb::class_<SamplingSettings>(m, "LocustSamplingSettings", "When a query is exhausted.")
        .def(nb::new_([](std::int64_t max_samples, double error) {
                 return SamplingSettings{checked_int("max_samples", max_samples, 1, kMaxCount),
                                         checked_number("error", error, 0.0, 0.999999)};
             }),
             "max_samples"_a, "error"_a);
    bind_levels(m);
    bind_blocks(m);
    bind_kernels(m);
}

}  // namespace anystream::bindings
