// One Bayes tree per class: the Gaussians that queries read, and the statistics that learning updates.
//
// Records are stored unchanged (points). Everything else lies in the standardised space z = (x - shift) / scale of the
// last assembly, in which every dimension had unit variance over all classes. Records learned later leave this frame as
// it is: `spread` is the variance that a dimension has in it now, and kernels and distances are relative to that.
//
//   hot, read by queries: node i is a run of floats in the blob, its place and form packed in head[i]
//
//       inner node                              leaf: all entries are kernels of complete records
//         mean        [d][lanes]                  mean   [d][lanes]      (precision and norm: the class's kernel)
//         precision   [d][lanes]  1 / sigma       child     [lanes]
//         log2_norm      [lanes]
//         log2_count     [lanes]  log2 n_e      lanes: entries rounded up to 4 or a multiple of 8
//         child          [lanes]                child (int32): >= 0 a node, < 0 the record ~child
//
//   cold, read and written by learning and read by certificates: count[i], mean[i, d], scatter[i, d] (the sum of
//   squared deviations) and box[i, 2, d] of the records below node i. The first three are equivalent to the papers' n,
//   LS and SS, without their cancellation.
//
// Entries of the upper levels may have covariances: `covariance_table.hpp`. A node with such entries is marked in its
// head, so that all other nodes cost no more.
//
// The root table, the root node of the papers, holds one lane per class, in blocks of 64 classes. Each block has the
// form of an inner node, the last one with as many lanes as it needs: a new class changes no other block.
//
// A forest with a window holds its last `window` records: record s of all that it learned lies at s % window, and takes
// the place of the record that leaves (removal.cpp).
//
// Concurrency: const members may run on any number of threads. Members that change the forest may not run
// concurrently with any; the owner copies a forest that others still read before it changes it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "anystream/bayes_tree/covariance_table.hpp"
#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/bayes_tree/margin.hpp"
#include "anystream/bayes_tree/rtree.hpp"
#include "anystream/bayes_tree/tree_shape.hpp"
#include "anystream/column.hpp"
#include "anystream/stop.hpp"

namespace anystream::bayes_tree {

enum class Bandwidth : std::int32_t { langley, haerdle, factor };
/// How the tree of a class is built from all its records at once; nearest_mean inserts them one by one.
enum class Construction : std::int32_t {
    em_top_down,
    hilbert,
    z_curve,
    str,
    goldberger,
    virtual_sampling,
    guttman,
    nearest_mean
};
/// How one record is added to a tree: next to the nearest mean, or as into an R-tree.
enum class Insertion : std::int32_t { nearest_mean, guttman };
enum class InnerVariance : std::int32_t { plain, max };

/// How a forest turns records into Gaussians. Fixed for its life.
struct ForestSettings {
    std::int32_t fanout = 7;                  // M: maximum number of entries per node
    Bandwidth bandwidth = Bandwidth::factor;  // Eq. 17-19
    double alpha = 0.05;                      // of Eq. 19
    InnerVariance inner_variance = InnerVariance::max;
    std::int32_t covariance_block = 1;   // s: maximum size of a block; 0 is all dimensions, 1 the diagonal
    std::int32_t covariance_levels = 2;  // m: how many upper levels of entries have covariances
    bool common_scale = false;           // z divides all dimensions by one number: their ratios are a metric
    std::int64_t window = 0;             // maximum number of records, the oldest leave; 0: any number
    Insertion insertion = Insertion::nearest_mean;
    std::vector<double> log2_class_weight = {};  // factors of the classes' priors; of later classes 1
    double covariance_shrinkage = 1.0;           // 0: covariances as measured, but for what makes them invertible
    double covariance_min_records = 2.0;         // per dimension of a block: entries of fewer have no covariance
};

inline constexpr std::int32_t kMaxFanout = 64;
/// Classes per block of the root table.
inline constexpr std::size_t kRootBlock = 64;
/// Standardised values are clamped to this: its square still fits a float.
inline constexpr double kMaxZ = 1e15;
/// Sizes of runs in the blob: 4, 8, 16, ... 64 lanes, of leaves and of inner nodes.
inline constexpr std::size_t kRunSizes = 2 * (1 + kMaxFanout / 8);
/// Variances below this share of the variance of all data are raised to it.
inline constexpr double kVarianceFloor = 1e-6;
/// The child of an unused lane, and the root of a class without records.
inline constexpr std::int32_t kNothing = std::numeric_limits<std::int32_t>::min();

/// Position and layout of a node, or of a block of the root table, in its blob, in eight bytes; at most 255 entries.
class NodeHead {
  public:
    NodeHead() = default;
    explicit NodeHead(std::uint64_t packed) noexcept : packed_(packed) {}
    NodeHead(std::size_t offset, std::size_t lanes, std::size_t entries, bool leaf) noexcept
        : packed_(offset / 4 | lanes / 4 << 40 | entries << 48 | std::uint64_t{leaf} << 56) {}

    [[nodiscard]] std::size_t offset() const noexcept { return (packed_ & ((std::uint64_t{1} << 40) - 1)) * 4; }
    [[nodiscard]] std::size_t lanes() const noexcept { return (packed_ >> 40 & 0xff) * 4; }
    [[nodiscard]] std::size_t entries() const noexcept { return packed_ >> 48 & 0xff; }
    [[nodiscard]] bool leaf() const noexcept { return (packed_ >> 56 & 1) != 0; }
    /// Whether entries of the node have covariances.
    [[nodiscard]] bool covariant() const noexcept { return (packed_ >> 57 & 1) != 0; }
    [[nodiscard]] NodeHead marked(bool covariant) const noexcept {
        return NodeHead(packed_ | std::uint64_t{covariant} << 57);
    }
    /// Whether the entry that stands for the node was moved by margin maximisation, and no record has passed it since.
    [[nodiscard]] bool trained() const noexcept { return (packed_ >> 58 & 1) != 0; }
    [[nodiscard]] NodeHead trained_as(bool trained) const noexcept {
        constexpr std::uint64_t bit = std::uint64_t{1} << 58;
        return NodeHead(trained ? packed_ | bit : packed_ & ~bit);
    }
    [[nodiscard]] std::uint64_t packed() const noexcept { return packed_; }
    /// The number of floats of the node.
    [[nodiscard]] std::size_t floats(std::size_t dimensions) const noexcept {
        return lanes() * (parts() * (dimensions + 2) - 1);
    }
    /// Numbers of a lane in a dimension: the mean, and in an inner node the precision.
    [[nodiscard]] std::size_t parts() const noexcept { return 2 - (packed_ >> 56 & 1); }

  private:
    std::uint64_t packed_ = 0;
};

/// A node as queries read it.
struct NodeView {
    const float* mean;
    const float* precision;   // nullptr for a leaf: kernel_precision(class)
    const float* log2_norm;   // nullptr for a leaf: kernel_log2_norm(class)
    const float* log2_count;  // nullptr for a leaf: every entry is one record
    const float* child_bits;
    std::size_t lanes;
    std::size_t entries;
    bool covariant;

    [[nodiscard]] std::int32_t child(std::size_t lane) const noexcept {
        std::int32_t child;
        std::memcpy(&child, child_bits + lane, sizeof child);
        return child;
    }
};

/// The entries of all nodes of a forest, node by node.
struct TreeEntries {
    std::vector<std::int64_t> first;   // (nodes + 1,) the entries of node i are first[i] .. first[i + 1] - 1
    std::vector<std::int32_t> node;    // (entries,) the node that holds the entry
    std::vector<std::int32_t> child;   // (entries,) >= 0 a node, < 0 the record ~child
    std::vector<std::int64_t> offset;  // (entries,) the index of the child in the array `blob`
};

class Forest {
  public:
    Forest(ForestSettings settings, std::size_t dimensions);

    // -- what queries read ---------------------------------------------------------------------------------------
    [[nodiscard]] const ForestSettings& settings() const noexcept { return settings_; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::size_t classes() const noexcept { return class_count_.size(); }
    [[nodiscard]] std::size_t records() const noexcept { return point_class_.size(); }
    /// The number of records learned so far, those that have left included.
    [[nodiscard]] std::int64_t learned() const noexcept { return learned_[0]; }
    [[nodiscard]] std::size_t nodes() const noexcept { return head_.size(); }
    [[nodiscard]] std::int64_t class_count(std::size_t c) const noexcept { return class_count_[c]; }
    /// The logarithm of what the prior of a class is multiplied by.
    [[nodiscard]] double log2_class_weight(std::size_t c) const noexcept {
        return c < settings_.log2_class_weight.size() ? settings_.log2_class_weight[c] : 0.0;
    }
    [[nodiscard]] bool weighs_classes() const noexcept { return !settings_.log2_class_weight.empty(); }

    /// The node below the root entry of a class, ~record if that is a kernel, or kNothing.
    [[nodiscard]] std::int32_t class_root(std::size_t c) const noexcept { return class_root_[c]; }
    [[nodiscard]] std::size_t root_blocks() const noexcept { return (classes() + kRootBlock - 1) / kRootBlock; }
    /// The root entries of the classes block * kRootBlock and following.
    [[nodiscard]] NodeView roots(std::size_t block) const noexcept {
        const NodeHead head = root_head(block).marked(!covariance_.empty());
        return view(head, root_blob_.data() + head.offset());
    }
    [[nodiscard]] NodeView node(std::size_t i) const noexcept {
        const NodeHead head(head_[i]);
        return view(head, blob_.data() + head.offset());
    }
    [[nodiscard]] const float* kernel_precision(std::size_t c) const noexcept {
        return kernel_precision_.data() + kernel_row(c) * dimensions_;
    }
    [[nodiscard]] float kernel_log2_norm(std::size_t c) const noexcept { return kernel_log2_norm_[kernel_row(c)]; }
    /// Fetches what `ahead` reads.
    void prefetch_head(std::size_t node) const noexcept { __builtin_prefetch(head_.data() + node); }
    /// A node to be fetched. Without a branch on its form, which nobody could predict.
    [[nodiscard]] NodeAhead ahead(std::size_t node) const noexcept {
        const NodeHead head(head_[node]);
        const float* const at = blob_.data() + head.offset();
        return {at, head.lanes() * head.parts(), at + head.floats(dimensions_) - 1};
    }

    [[nodiscard]] std::size_t node_class(std::size_t i) const noexcept {
        return static_cast<std::size_t>(node_class_[i]);
    }
    // Moments of the records below a node, for bounds on its density.
    [[nodiscard]] std::int64_t node_count(std::size_t i) const noexcept { return node_count_[i]; }
    [[nodiscard]] const double* node_mean(std::size_t i) const noexcept { return node_mean_.data() + i * dimensions_; }
    [[nodiscard]] const double* node_scatter(std::size_t i) const noexcept {
        return node_scatter_.data() + i * dimensions_;
    }
    [[nodiscard]] const float* node_box(std::size_t i) const noexcept { return node_box_.data() + i * 2 * dimensions_; }

    [[nodiscard]] const CovarianceTable& covariances() const noexcept { return covariance_; }
    [[nodiscard]] const RootModel& root_model() const noexcept { return root_model_; }

    /// Whether no value of a record is missing.
    [[nodiscard]] bool complete(std::int32_t record) const noexcept;
    /// Whether records were learned since the last assembly: kernels in inner nodes may be written with another width.
    [[nodiscard]] bool grown() const noexcept { return learned() != assembled_at_[0]; }
    /// Whether the kernels of all classes have the same width.
    [[nodiscard]] bool shares_kernel() const noexcept { return settings_.bandwidth == Bandwidth::factor; }
    /// (d,) what z divides by.
    [[nodiscard]] const double* scale() const noexcept { return scale_.data(); }
    /// x in the standardised space; true if any dimension is missing (NaN stays NaN).
    bool standardise(const double* x, float* z) const noexcept;

    // -- learning ------------------------------------------------------------------------------------------------
    struct Building {
        Construction construction = Construction::em_top_down;
        int threads = 1;
        std::uint64_t seed = 0;
        const StopFlag* stop = nullptr;
        std::atomic<std::int64_t>* placed = nullptr;  // counts the records in their final place
        // As in BuildOptions:
        std::size_t sample_size = 2000, all_groups = 512;
        double tolerance = 1e-2;
    };

    /// Replaces everything by the trees of these records.
    void build(std::span<const double> points, std::span<const std::int32_t> point_class, std::size_t classes,
               const Building& how);
    /// The same trees of the same records with Gaussians by other settings, without a root model: what `build` returns
    /// where the construction does not depend on what differs. Fanout, window and scale have to be the same.
    [[nodiscard]] Forest with_settings(const ForestSettings& settings) const;
    /// Allocates what inserting `records` more records of classes below `class_total` can need, and changes nothing
    /// that can be observed. After it, these insertions and the declaration of these classes cannot fail.
    void reserve(std::size_t records, std::size_t class_total);
    /// Bytes that `reserve` would have to allocate at most.
    [[nodiscard]] std::size_t reserve_bytes(std::size_t records, std::size_t class_total) const noexcept;
    /// Adds one record by the insertion of the settings; if the window is full, the oldest record leaves. A class not
    /// seen before is created. If it throws, nothing has changed.
    void insert(const double* x, std::int32_t point_class);
    /// Adds classes that have no record yet. If it throws, nothing has changed.
    void declare_classes(std::size_t class_total);
    /// Adds dimensions, missing in all records so far.
    void add_features(std::size_t dimensions);
    /// One forest of the records of all parts; class c of part p is class class_maps[p][c] of the whole. The trees of a
    /// class hang side by side, so the exhausted density is that of a forest built from all records at once. There may
    /// not be more records than the window holds.
    static Forest merged(std::span<const Forest* const> parts, std::span<const std::vector<std::int32_t>> class_maps,
                         std::size_t classes);

    /// Margin maximisation of the upper `levels` of entries, one level after the other, from the moments of their
    /// records; returns the objective of each level from its start on. Its changes last until learning changes the
    /// entry or assembles the forest again.
    std::vector<std::vector<double>> maximise_margin(std::size_t levels, const MarginSettings& how);
    /// Trains the model of the roots on at most `max_records` records without missing values, drawn by `seed`; returns
    /// its objective. It is dropped when a new class or feature appears.
    std::vector<double> train_root_model(const MarginSettings& how, std::size_t max_records, std::uint64_t seed);

    // -- storage -------------------------------------------------------------------------------------------------
    /// Every array of the forest, by name.
    [[nodiscard]] NamedColumns columns();
    /// Throws DamagedModel unless every array has the size that matches the others.
    void check_sizes() const;
    /// Throws DamagedModel unless every node lies inside the blob and every root is a node or a record. Reads
    /// eight bytes per node. After it, queries are safe: they check every child before they follow it.
    void check_heads() const;
    /// Throws DamagedModel unless the nodes form one tree per class that holds each of its records once. Reads
    /// everything; learning needs it.
    void check() const;
    [[nodiscard]] std::size_t own_bytes() const;
    /// The entries of all nodes, node by node.
    [[nodiscard]] TreeEntries entries() const;
    /// The present tree of every class; records are numbered by their position in `points`.
    [[nodiscard]] std::vector<TreeShape> shapes() const;

  private:
    [[nodiscard]] static std::size_t root_lanes(std::size_t classes) noexcept { return (classes + 7) / 8 * 8; }
    [[nodiscard]] std::size_t root_floats() const noexcept { return root_lanes(classes()) * (2 * dimensions_ + 3); }
    [[nodiscard]] NodeHead root_head(std::size_t block) const noexcept {
        const std::size_t first = block * kRootBlock, entries = std::min(kRootBlock, classes() - first);
        return {first * (2 * dimensions_ + 3), root_lanes(entries), entries, false};
    }
    [[nodiscard]] NodeView view(NodeHead head, const float* at) const noexcept {
        const std::size_t block = dimensions_ * head.lanes();
        if (head.leaf()) return {at, nullptr, nullptr, nullptr, at + block, head.lanes(), head.entries(), false};
        const float* norm = at + 2 * block;
        return {at,
                at + block,
                norm,
                norm + head.lanes(),
                norm + 2 * head.lanes(),
                head.lanes(),
                head.entries(),
                head.covariant()};
    }

    void check_window() const;
    void check_boxes() const;
    void check_free_runs() const;

    /// All classes share one kernel if its width depends on all data alone.
    [[nodiscard]] std::size_t kernel_row(std::size_t c) const noexcept { return shares_kernel() ? 0 : c; }
    [[nodiscard]] std::size_t kernel_rows() const noexcept { return shares_kernel() ? 1 : classes(); }
    [[nodiscard]] std::size_t range_rows() const noexcept {
        return settings_.bandwidth == Bandwidth::langley ? classes() : 0;
    }

    // assembly.cpp: from records and shapes to arrays
    /// Computes scale and bandwidths from the records.
    void measure();
    void measure_classes();
    void measure_scale();
    void measure_kernels();
    [[nodiscard]] TreeShape construct(std::span<const std::int32_t> members, std::size_t point_class,
                                      const Building& how) const;
    void insert_all();
    [[nodiscard]] double class_range(std::size_t point_class, std::size_t j) const noexcept;
    /// Records per class that has any.
    [[nodiscard]] double mean_class_size() const noexcept;
    void measure_kernel(std::size_t row);
    void measure_spread();
    void widen(const double* x, double* low, double* high) const noexcept;
    void widen_ranges(const double* x, std::size_t point_class);
    [[nodiscard]] bool varies(std::size_t j) const noexcept { return low_[j] < high_[j]; }
    void assemble(const std::vector<TreeShape>& shapes);
    /// A record in z; a missing value becomes the class's mean, and its variance (else 0) goes to `unknown`.
    void record_in_z(std::int32_t record, std::span<double> z, std::span<double> unknown) const noexcept;
    [[nodiscard]] NodeHead form(std::span<const std::int32_t> children) const noexcept;
    void summarise(std::size_t node, std::span<const std::int32_t> children);
    void widen_box(std::size_t node, const float* low, const float* high);
    void widen_box(std::size_t node, std::int32_t record, std::span<const double> z);
    void write_node(std::size_t node, std::span<const std::int32_t> children);
    void write_lane(const NodeHead& head, float* at, std::size_t lane, std::int32_t child, std::size_t point_class);
    void write_root(std::size_t point_class);

    // forest_covariance.cpp: covariances of the upper entries
    [[nodiscard]] std::size_t block_limit() const noexcept;
    [[nodiscard]] std::int64_t min_records() const noexcept;
    void measure_covariances();
    void measure_below(std::size_t node, std::size_t depth, std::span<const double> origin, CrossProducts* above);
    void gather(std::int32_t entry, std::span<const double> origin, CrossProducts& into,
                std::size_t max_records = std::numeric_limits<std::size_t>::max()) const;
    void set_covariance(std::size_t node, const CrossProducts& products);
    void renew_covariance(std::size_t node) noexcept;
    [[nodiscard]] std::vector<double> inner_variances(std::size_t node) const;
    [[nodiscard]] bool has_covariances(std::span<const std::int32_t> children) const noexcept;

    // forest_margin.cpp: margin maximisation
    struct Place;
    [[nodiscard]] bool trained(std::int32_t entry) const noexcept {
        return entry >= 0 && NodeHead(head_[static_cast<std::size_t>(entry)]).trained();
    }
    void mark_trained(std::size_t node, bool trained) noexcept;
    /// Keeps the trained entries of a node for `write_lane`, until those of another are kept; does not allocate.
    void save_trained(std::size_t node) noexcept;
    [[nodiscard]] bool restore_trained(const NodeHead& head, float* at, std::size_t lane, std::int32_t child) noexcept;
    void forget_trained();
    [[nodiscard]] Component component_at(const Place& place, const MarginSettings& how) const;
    void write_component(const Place& place, const Component& component, bool weighted);

    /// The entries of a node, and one more that makes it too large.
    class Children {
      public:
        void push_back(std::int32_t child) noexcept { child_[size_++] = child; }
        [[nodiscard]] std::size_t size() const noexcept { return size_; }
        [[nodiscard]] std::int32_t operator[](std::size_t i) const noexcept { return child_[i]; }
        [[nodiscard]] const std::int32_t* begin() const noexcept { return child_.data(); }
        [[nodiscard]] const std::int32_t* end() const noexcept { return child_.data() + size_; }

      private:
        std::array<std::int32_t, kMaxFanout + 1> child_;
        std::size_t size_ = 0;
    };
    [[nodiscard]] Children children(std::size_t node) const noexcept;

    // insertion.cpp: adding one record. Nothing below allocates, except what says that it may be postponed.
    [[nodiscard]] bool full() const noexcept {
        return settings_.window > 0 && records() == static_cast<std::size_t>(settings_.window);
    }
    void store_record(std::size_t record, const double* x, std::size_t point_class);
    void insert_into_tree(std::int32_t record);
    [[nodiscard]] std::int32_t nearest_child(std::size_t node, std::int32_t record);
    [[nodiscard]] std::int32_t least_enlarged_child(std::size_t node, std::int32_t record);
    /// Adds an entry; returns the new node if the node had to be split, or kNothing.
    std::int32_t add_entry(std::size_t node, std::int32_t child);
    void rewrite_entry(std::size_t node, std::int32_t child);
    std::int32_t new_node(std::size_t point_class, std::span<const std::int32_t> children);
    void place(std::size_t node, std::span<const std::int32_t> children);
    /// The form of the nodes whose runs have this size, and the size of the runs of a form.
    [[nodiscard]] static NodeHead run_form(std::size_t size) noexcept {
        return {0, size / 2 == 0 ? 4 : size / 2 * 8, 0, size % 2 == 1};
    }
    [[nodiscard]] static std::size_t run_size(const NodeHead& form) noexcept {
        return form.lanes() / 8 * 2 + (form.leaf() ? 1 : 0);
    }
    [[nodiscard]] std::size_t take_run(const NodeHead& form);
    void release_run(const NodeHead& run);
    [[nodiscard]] std::pair<Children, Children> split(std::span<const std::int32_t> children);
    [[nodiscard]] std::pair<Children, Children> split_quadratically(std::span<const std::int32_t> children);
    /// Keeps what lies outside the columns up to date after the entries of a node were written.
    void follow(std::size_t node, std::span<const std::int32_t> children) noexcept;
    /// All nodes, each after the one above it.
    [[nodiscard]] std::vector<std::int32_t> nodes_from_above() const;

    // rtree_insertion.cpp: boxes in raw units, in which the R-tree's insertion compares volumes. Nothing below
    // allocates, except `prepare_boxes`.
    void prepare_boxes(std::size_t node_total);
    void fit_box(std::size_t node, std::span<const std::int32_t> children) noexcept;
    void measure_units(std::size_t point_class, std::int32_t record) noexcept;
    [[nodiscard]] std::span<const Box> boxes_in_units(std::span<const std::int32_t> entries);
    void refresh_some();
    void widen_root_block(std::size_t before);
    [[nodiscard]] bool outgrown() const noexcept;
    void renew_frame() noexcept;
    [[nodiscard]] std::size_t max_new_nodes(std::size_t records) const noexcept;
    [[nodiscard]] std::size_t max_run_floats() const noexcept;
    [[nodiscard]] std::size_t measured_height() const;

    // removal.cpp: records that leave the window, and moments that follow them. Nothing below allocates, except
    // `prepare_removals`.
    /// Makes links_ and second_ complete, with the capacity for `node_total` nodes and `class_total` classes.
    void prepare_removals(std::size_t node_total, std::size_t class_total);
    void find_links();
    void link(std::size_t node, std::span<const std::int32_t> children) noexcept;
    void remove_from_tree(std::int32_t record);
    void free_node(std::size_t node);
    void subtract_record(std::size_t record);
    void clear_moments();
    void size_moments();
    void measure_next();
    void visit_records() noexcept;
    void visit_record(std::int64_t number) noexcept;
    /// The record, in the order of learning, that is visited next.
    [[nodiscard]] std::int64_t next_visit() const noexcept;

    ForestSettings settings_;
    std::size_t dimensions_;

    Column<double> points_;                                  // (records, d), raw units, NaN where missing
    Column<std::int32_t> point_class_;                       // (records,)
    Column<double> shift_, scale_;                           // (d,) of the last assembly
    Column<double> observed_, mean_, scatter_, low_, high_;  // (d,) of all values present, raw units; low > high: none
    Column<double> spread_;                                  // (d,) their variance in z; 1 for a constant dimension

    Column<std::int64_t> class_count_;                            // (classes,)
    Column<double> class_observed_, class_mean_, class_scatter_;  // (classes, d), raw units, of the values present
    Column<double> class_low_, class_high_;  // (classes, d), raw units, low > high: no value; only for langley
    Column<std::int32_t> class_root_;        // (classes,) node, ~record or kNothing
    Column<float> kernel_precision_, kernel_log2_norm_;  // (kernel_rows, d), (kernel_rows,)
    Column<float> root_blob_;

    Column<float> blob_;
    Column<std::uint64_t> head_;               // (nodes,)
    Column<std::int32_t> node_class_;          // (nodes,)
    Column<std::int64_t> node_count_;          // (nodes,)
    Column<double> node_mean_, node_scatter_;  // (nodes, d), in z
    Column<float> node_box_;             // (nodes, 2, d) in z: smallest and largest centre; NaN: incomplete records
    Column<std::int64_t> assembled_at_;  // (1,) learned() at the last assembly
    Column<std::int64_t> learned_;       // (2,) learned(), and its value when the second measurement began
    Column<std::int64_t> refreshed_;     // (2,) the node that is written again next, and the record whose root is
    Column<std::int64_t> free_runs_;     // (kRunSizes,) offset of the first free run of each size, or -1; its first
                                         // eight bytes are the offset of the next
    CovarianceTable covariance_;
    RootModel root_model_;

    // Not stored: what insertion needs beside the columns.
    struct Scratch {
        std::vector<double> z, unknown;      // (d,) a record
        std::vector<double> lane;            // (2 d)
        std::vector<double> centre;          // (kMaxFanout + 1, d)
        std::vector<float> at, weight, box;  // (d,)
        std::vector<std::int32_t> path;
        std::vector<std::int32_t> trained;  // entries that were moved by margin maximisation, and
        std::vector<float> trained_lanes;   // (entries, 2 d + 3) what their lanes held
        std::vector<double> low, extent;    // (d,) of the record's class and the record: the units of volumes
        std::vector<double> corners;        // (kMaxFanout + 2, {low, high}, d) boxes in these units
        std::vector<Box> boxes;
        std::size_t varying = 0;  // dimensions of these boxes
        QuadraticSplit split;
        bool measured = false;  // whether this insertion has measured a covariance
    };
    void size_scratch();
    Scratch scratch_;
    // Not stored, and only with a window: where an entry lies.
    struct Links {
        std::vector<std::int32_t> parent;   // (nodes,) the node above; undefined for a root
        std::vector<std::int32_t> height;   // (nodes,) nodes on the longest way down
        std::vector<std::int32_t> node_of;  // (records,) the node above; undefined for a root
        bool known = false;
    };
    Links links_;
    // Not stored, and only with the R-tree's insertion: the values below every node.
    struct RawBoxes {
        GrowingArray<double> corners;  // (nodes, {low, high}, d), raw units; low > high: all values are missing
        bool known = false;
    };
    RawBoxes raw_boxes_;
    // Not stored, and only with a window: the moments that are measured again, see `measure_next`.
    struct Moments {
        std::vector<double> observed, mean, scatter, low, high;  // (d,)
        std::vector<double> class_observed, class_mean, class_scatter, class_low, class_high;
        bool known = false;
    };
    Moments second_;
    std::size_t height_ = 0;  // maximum number of nodes on a way down; 0: not measured yet
    /// What `reserve` has left to give; a copy has no spare memory.
    struct Reserved {
        std::size_t records = 0;  // insertions
        std::size_t classes = 0;  // in all
        bool owned = false;       // whether no column is borrowed

        Reserved() = default;
        Reserved(const Reserved&) noexcept {}
        Reserved(Reserved&&) noexcept = default;
        Reserved& operator=(const Reserved&) noexcept { return *this = Reserved(); }
        Reserved& operator=(Reserved&&) noexcept = default;
    };
    Reserved reserved_;
};

}  // namespace anystream::bayes_tree
