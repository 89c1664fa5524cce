// The machine-dependent part of the Bayes tree: densities of a node's Gaussians, and powers of two.
//
// A node's entries are lanes. Its means lie dimension-major, so that one vector load brings one dimension of all
// siblings:  mean[j * lanes + l] is dimension j of entry l. Lanes are a multiple of 4 up to 4, of 8 above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

namespace anystream::bayes_tree {

/// A log2 density is log2_norm - kHalfLog2E * exponent, and finite for any distance of the query.
inline constexpr float kHalfLog2E = static_cast<float>(0.5 * std::numbers::log2e);
inline constexpr float kMinLog2 = -1e30F;

/// The entries of an inner node: each has deviations, a norm and a count of its own.
struct NodeLanes {
    const float* mean;
    const float* precision;  // 1 / sigma, laid out like the means
    const float* log2_norm;
    const float* log2_count;
    std::size_t lanes;
};

/// A node that a later step reads. It is fetched row by row, beside the rows of the node that is evaluated: fetched at
/// once, its lines fill the buffers of the cache, and the loads behind them wait. Nothing is read here.
struct NodeAhead {
    const float* at;
    std::size_t row;    // floats of a dimension
    const float* last;  // float of the node
};

/// Fetches a line that is in the cache, again and again.
[[nodiscard]] inline NodeAhead nothing_ahead(const float* x) noexcept {
    return {x, 0, x};
}

/// Moments of the records below a node: the box of their centres, their mean and the sum of squared deviations.
struct Cloud {
    const float *low, *high;
    const double *mean, *scatter;
    double share;  // 1 / number of records
};

/// Bounds on sum_j ((x[j] - z[j]) * precision[j])^2 over the records z of a cloud, its mean, and the same sum for the
/// distance of the box's farthest corner from the origin.
struct BoxExponents {
    double lowest, mean, highest, reach;
};

/// A first look at records (first_look.hpp).
struct LookLanes {
    const double *shift, *factor;              // (dimensions,)
    const float *square_mean, *weight, *bias;  // (dimensions,), (2 dimensions, lanes), (lanes,)
    std::size_t dimensions, lanes;             // lanes are a multiple of 8
};

/// Deviations from the mean count at most as this many standard deviations in a first look.
inline constexpr float kMaxDeviation = 4.0F;

/// Entries of a frontier side by side; a lane without one has the key kNoKey, value 0 and the log2 value kGone. In
/// three lines of the cache: no vector lies in two.
struct alignas(64) EntryGroup {
    static constexpr std::size_t kLanes = 8;
    static constexpr std::int64_t kNoKey = std::numeric_limits<std::int64_t>::min();
    static constexpr float kGone = -2e30F;  // below that of any density

    EntryGroup() noexcept {}  // its lanes are written right after

    std::int64_t key[kLanes];  // grows with the priority; among equal ones the lower node is first
    double value[kLanes];      // 2^(v - origin)
    float log2_value[kLanes];  // v
    std::int32_t node[kLanes];
};

/// Up to eight children of a node, as `fill_group` reads them: of all arrays eight lanes, of which `count` count.
struct ChildLanes {
    const float *log2_density, *log2_value;
    const float* child_bits;  // int32: >= 0 a node, < 0 a kernel
    std::size_t count;
    float origin;
    std::int32_t nodes;  // how many nodes there are
    bool by_density;     // keys begin with the density, or
    std::int32_t step;   // with this number and end with the density
};

/// The sum of the values 2^(log2_value - origin), and what is true of any of them.
struct LaneSum {
    static constexpr std::uint32_t kTooHigh = 1;  // more than kMaxAbove above the origin: the sum is not valid
    static constexpr std::uint32_t kOutside = 2;  // a child that is not among the nodes
    static constexpr std::uint32_t kKernel = 4;
    static constexpr std::uint32_t kEntry = 8;

    double sum;
    std::uint32_t flags;
};
/// Values may exceed the origin by this power of two before it is moved.
inline constexpr float kMaxAbove = 500.0F;

/// Factors that `panel_exponents`, and records that `look_scores`, reads at once: enough independent sums to hide the
/// latency of an addition.
inline constexpr std::size_t kTogether = 4;

/// Up to so many classes `highest_classes` chooses from.
inline constexpr std::size_t kFewClasses = 32;

struct Kernels {
    /// log2_density[l] = log2_norm[l] - kHalfLog2E * sum_j ((x[j] - mean[j, l]) * precision[j, l])^2, at least
    /// kMinLog2, and log2_value[l] = log2_density[l] + log2_count[l]. Of four lanes eight are written, as below.
    void (*own_densities)(const float* x, const NodeLanes& node, std::size_t dimensions, const NodeAhead& ahead,
                          float* log2_density, float* log2_value);
    /// The same log2 densities for kernels of one class, which share deviations and norm. Of four lanes eight are
    /// written: the other four have no meaning.
    void (*shared_densities)(const float* x, const float* mean, const float* precision, float log2_norm,
                             std::size_t dimensions, std::size_t lanes, float* out);
    /// out[l] = sum_j ((x[j] - mean[j, l]) * precision[j])^2: all entries are kernels of one class.
    void (*shared_exponents)(const float* x, const float* mean, const float* precision, std::size_t dimensions,
                             std::size_t lanes, float* out);
    /// out[j] = sum_l weight[l] * (x[j] - mean[j, l])^2, for learning; lanes are a multiple of 8.
    void (*weighted_squares)(const float* x, const float* mean, const float* weight, std::size_t dimensions,
                             std::size_t lanes, float* out);
    /// out[i] = 2^(log2_value[i] - origin), 0 where that is below 2^-999; the caller keeps it below 2^1000.
    void (*powers_of_two)(const float* log2_value, float origin, std::size_t count, double* out);
    /// The sum of the powers of two of `count` log2 values, eight at a time.
    LaneSum (*sum_powers)(const float* log2_value, float origin, std::size_t count);
    /// `shared_densities` of a leaf with `count` records, and the sum of their powers of two.
    LaneSum (*leaf_sum)(const float* x, const float* mean, const float* precision, float log2_norm,
                        std::size_t dimensions, std::size_t lanes, std::size_t count, float origin,
                        const NodeAhead& ahead, float* out);
    /// Writes the group of those children that are nodes, and returns the sum of all children.
    LaneSum (*fill_group)(const ChildLanes& children, EntryGroup& out);
    /// Removes the key of a lane (8: of none), and returns the lane of the highest key that is left; among equal ones
    /// that of the lowest node.
    std::size_t (*take_key)(EntryGroup& group, std::size_t lane);
    /// Writes the classes of the `count` highest keys, the highest first, among equal ones the lower class; returns how
    /// many there are above -inf. Behind the keys of at most kFewClasses classes -inf follows up to place kFewClasses.
    std::size_t (*highest_classes)(const double* key, std::size_t classes, std::size_t count, std::int32_t* out);
    /// |W z|^2 for the panels of covariance.hpp; z has 8 values per panel, zeros behind the last dimension.
    float (*panel_exponent)(const float* z, const float* values, const std::int32_t* first, std::size_t panels);
    /// The same, bit for bit, of kTogether factors whose panels all begin at column 0; the z of the next one begins 8
    /// values per panel later.
    void (*panel_exponents)(const float* z, const float* const* values, std::size_t panels, float* out);
    /// out[i] = sum_j x[j] * matrix[j * dimensions + i], added in the order of j.
    void (*linear_map)(const double* x, const double* matrix, std::size_t dimensions, double* out);
    /// out[r] = |W (x_r - mean)|^2 of eight rows at once, in double precision, for learning. x holds dimension j of row
    /// r at j * 8 + r; W is lower triangular: its row i holds the columns begin[i] .. i, and row and column i stand for
    /// dimension order[i]. `scratch` holds 8 values per dimension.
    void (*row_exponents)(const double* x, const double* mean, const std::int32_t* order, const double* factor,
                          const std::int32_t* begin, std::size_t dimensions, double* scratch, double* out);
    /// The 2 d terms of a record: z_j = (x_j - shift_j) * factor_j, clipped, then z_j^2 - square_mean_j; 0 and 0 where
    /// x_j is missing.
    void (*look_terms)(const double* x, const LookLanes& look, float* terms);
    /// out[k, l] = bias[l] + sum_j terms[k, j] * weight[j, l] for 1 or kTogether records k, added in the order of j.
    void (*look_scores)(const float* terms, std::size_t records, const LookLanes& look, float* out);
    BoxExponents (*box_exponents)(const double* x, const float* precision, const Cloud& cloud, std::size_t dimensions);
};

const Kernels& kernels_of_this_machine();

/// The table for this machine, chosen once.
inline const Kernels& kernels() {
    static const Kernels& table = kernels_of_this_machine();
    return table;
}

}  // namespace anystream::bayes_tree
