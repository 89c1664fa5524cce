// From records and shapes to the arrays that queries read.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "anystream/bayes_tree/forest.hpp"

namespace anystream::bayes_tree {

namespace {

/// log2 of a product of positive numbers, by their exponents: one logarithm for all of them.
class Log2Product {
  public:
    void multiply(double factor) noexcept {
        int shift = 0;
        fraction_ = std::frexp(fraction_ * factor, &shift);
        exponent_ += shift;
    }
    [[nodiscard]] double value() const noexcept { return std::log2(fraction_) + static_cast<double>(exponent_); }

  private:
    double fraction_ = 1.0;
    std::int64_t exponent_ = 0;
};

/// log2 of (2 pi)^(-d/2).
double log2_unit(std::size_t dimensions) noexcept {
    return -0.5 * static_cast<double>(dimensions) * std::log2(2.0 * std::numbers::pi);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void write_bits(float* at, std::int32_t child) noexcept {
    std::memcpy(at, &child, sizeof child);
}

}  // namespace

Forest::Forest(ForestSettings settings, std::size_t dimensions)
    : settings_(settings),
      dimensions_(dimensions),
      shift_(std::vector<double>(dimensions, 0.0)),
      scale_(std::vector<double>(dimensions, 1.0)),
      observed_(std::vector<double>(dimensions, 0.0)),
      mean_(std::vector<double>(dimensions, 0.0)),
      scatter_(std::vector<double>(dimensions, 0.0)),
      low_(std::vector<double>(dimensions, kInfinity)),
      high_(std::vector<double>(dimensions, -kInfinity)),
      spread_(std::vector<double>(dimensions, 1.0)),
      assembled_at_(std::vector<std::int64_t>(1, 0)),
      learned_(std::vector<std::int64_t>(2, 0)),
      refreshed_(std::vector<std::int64_t>(2, 0)),
      free_runs_(std::vector<std::int64_t>(kRunSizes, -1)) {
    measure_kernels();
}

bool Forest::standardise(const double* x, float* z) const noexcept {
    const double* shift = shift_.data();
    const double* scale = scale_.data();
    bool missing = false;
    for (std::size_t j = 0; j < dimensions_; ++j) {
        missing |= std::isnan(x[j]);
        z[j] = static_cast<float>(std::clamp((x[j] - shift[j]) / scale[j], -kMaxZ, kMaxZ));
    }
    return missing;
}

bool Forest::complete(std::int32_t record) const noexcept {
    const double* x = points_.data() + static_cast<std::size_t>(record) * dimensions_;
    bool missing = false;  // no early exit: the compiler compares several values at once
    for (std::size_t j = 0; j < dimensions_; ++j) missing |= std::isnan(x[j]);
    return !missing;
}

void Forest::record_in_z(std::int32_t record, std::span<double> z, std::span<double> unknown) const noexcept {
    const auto i = static_cast<std::size_t>(record);
    const double* x = points_.data() + i * dimensions_;
    const std::size_t moments = static_cast<std::size_t>(point_class_[i]) * dimensions_;
    if (complete(record)) {
        const double *const shift = shift_.data(), *const scale = scale_.data();
        std::fill_n(unknown.begin(), dimensions_, 0.0);
        for (std::size_t j = 0; j < dimensions_; ++j) z[j] = std::clamp((x[j] - shift[j]) / scale[j], -kMaxZ, kMaxZ);
        return;
    }
    for (std::size_t j = 0; j < dimensions_; ++j) {
        const double scale = scale_[j];
        double value = x[j];
        unknown[j] = 0.0;
        if (std::isnan(value)) {
            const double observed = class_observed_[moments + j];
            value = observed > 0.0 ? class_mean_[moments + j] : mean_[j];
            // A feature never observed in the class may have any value of the data.
            unknown[j] = observed > 0.0 ? class_scatter_[moments + j] / observed / (scale * scale) : spread_[j];
        }
        z[j] = std::clamp((value - shift_[j]) / scale, -kMaxZ, kMaxZ);
    }
}

void Forest::measure() {
    links_.known = raw_boxes_.known = false;
    measure_classes();
    measure_scale();
    measure_kernels();
    learned_.own()[1] = learned();
    second_.known = false;
}

/// Counts, means, scatters and ranges of the values that are present, by class and of all.
void Forest::measure_classes() {
    const std::size_t d = dimensions_, n = records(), m = classes();
    const auto points = points_.view();
    auto& count = class_count_.own();
    auto& observed = class_observed_.own();
    auto& mean = class_mean_.own();
    auto& scatter = class_scatter_.own();
    std::fill(count.begin(), count.end(), 0);
    observed.assign(m * d, 0.0);
    mean.assign(m * d, 0.0);
    scatter.assign(m * d, 0.0);
    low_.own().assign(d, kInfinity);
    high_.own().assign(d, -kInfinity);
    class_low_.own().assign(range_rows() * d, kInfinity);
    class_high_.own().assign(range_rows() * d, -kInfinity);
    for (std::size_t i = 0; i < n; ++i) {
        const auto c = static_cast<std::size_t>(point_class_[i]);
        ++count[c];
        widen_ranges(points.data() + i * d, c);
        for (std::size_t j = 0; j < d; ++j) {
            const double value = points[i * d + j];
            if (std::isnan(value)) continue;
            observed[c * d + j] += 1.0;
            mean[c * d + j] += value;
        }
    }
    for (std::size_t k = 0; k < m * d; ++k)
        if (observed[k] > 0.0) mean[k] /= observed[k];
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t row = static_cast<std::size_t>(point_class_[i]) * d;
        for (std::size_t j = 0; j < d; ++j) {
            const double value = points[i * d + j];
            if (!std::isnan(value)) scatter[row + j] += (value - mean[row + j]) * (value - mean[row + j]);
        }
    }
}

void Forest::widen(const double* x, double* low, double* high) const noexcept {
    for (std::size_t j = 0; j < dimensions_; ++j) {
        if (std::isnan(x[j])) continue;
        low[j] = std::min(low[j], x[j]);
        high[j] = std::max(high[j], x[j]);
    }
}

void Forest::widen_ranges(const double* x, std::size_t point_class) {
    const std::size_t row = point_class * dimensions_;
    widen(x, low_.own().data(), high_.own().data());
    if (range_rows() > 0) widen(x, class_low_.own().data() + row, class_high_.own().data() + row);
}

/// The moments of all data from those of the classes, and the shift and the scale that standardise them.
void Forest::measure_scale() {
    const std::size_t d = dimensions_, m = classes();
    auto& shift = shift_.own();
    auto& scale = scale_.own();
    observed_.own().assign(d, 0.0);
    mean_.own().assign(d, 0.0);
    scatter_.own().assign(d, 0.0);
    spread_.own().assign(d, 1.0);
    for (std::size_t j = 0; j < d; ++j) {
        double seen = 0.0, sum = 0.0, spread = 0.0;
        for (std::size_t c = 0; c < m; ++c) {
            seen += class_observed_[c * d + j];
            sum += class_observed_[c * d + j] * class_mean_[c * d + j];
        }
        shift[j] = seen > 0.0 ? sum / seen : 0.0;
        for (std::size_t c = 0; c < m; ++c) {
            const double apart = class_mean_[c * d + j] - shift[j];
            spread += class_scatter_[c * d + j] + class_observed_[c * d + j] * apart * apart;
        }
        // A constant dimension carries no information: a unit scale lets it cancel between the classes.
        scale[j] = seen > 0.0 && varies(j) ? std::sqrt(spread / seen) : 1.0;
        if (!(scale[j] > 0.0)) scale[j] = 1.0;
        observed_.own()[j] = seen;
        mean_.own()[j] = shift[j];
        scatter_.own()[j] = spread;
    }
    if (!settings_.common_scale) return;
    double sum = 0.0, varying = 0.0;  // the mean variance of the dimensions that vary becomes 1
    for (std::size_t j = 0; j < d; ++j) {
        if (!varies(j)) continue;
        sum += scale[j] * scale[j];
        varying += 1.0;
    }
    std::fill(scale.begin(), scale.end(), varying > 0.0 ? std::sqrt(sum / varying) : 1.0);
}

/// The variances that the data have in z now.
void Forest::measure_spread() {
    double* const spread = spread_.own().data();
    double sum = 0.0, varying = 0.0;
    for (std::size_t j = 0; j < dimensions_; ++j) {
        spread[j] = varies(j) ? scatter_[j] / observed_[j] / (scale_[j] * scale_[j]) : 1.0;
        if (!(spread[j] > 0.0)) spread[j] = 1.0;
        if (!varies(j)) continue;
        sum += spread[j];
        varying += 1.0;
    }
    if (settings_.common_scale && varying > 0.0) std::fill_n(spread, dimensions_, sum / varying);
}

void Forest::measure_kernels() {
    kernel_precision_.own().assign(kernel_rows() * dimensions_, 1.0F);
    kernel_log2_norm_.own().assign(kernel_rows(), 0.0F);
    for (std::size_t row = 0; row < kernel_rows(); ++row) measure_kernel(row);
}

/// The range of a class in z. That of a tree follows the records that leave a window at once.
double Forest::class_range(std::size_t c, std::size_t j) const noexcept {
    if (links_.known) {
        if (class_root_[c] < 0) return 0.0;
        const float* const box = node_box(static_cast<std::size_t>(class_root_[c]));
        if (!std::isnan(box[0])) return static_cast<double>(box[dimensions_ + j]) - static_cast<double>(box[j]);
    }
    const std::size_t k = c * dimensions_ + j;
    return class_high_[k] >= class_low_[k] ? (class_high_[k] - class_low_[k]) / scale_[j] : 0.0;
}

double Forest::mean_class_size() const noexcept {
    std::size_t known = 0;
    for (std::size_t c = 0; c < classes(); ++c) known += class_count_[c] > 0 ? 1 : 0;
    return known == 0 ? 1.0 : static_cast<double>(records()) / static_cast<double>(known);
}

void Forest::measure_kernel(std::size_t row) {
    const std::size_t d = dimensions_;
    float* const precision = kernel_precision_.own().data() + row * d;
    // A single record has no range and no deviation: until a second one comes, the class has those of all data, and the
    // average size of a class.
    const bool lone = !shares_kernel() && class_count_[row] < 2;
    const double size = shares_kernel() ? 1.0 : lone ? mean_class_size() : static_cast<double>(class_count_[row]);
    const auto dimensions = static_cast<double>(d);
    const double haerdle = std::pow(4.0 / ((dimensions + 2.0) * size), 1.0 / (dimensions + 4.0));
    Log2Product product;
    for (std::size_t j = 0; j < d; ++j) {
        const std::size_t k = row * d + j;
        double variance = settings_.alpha * spread_[j];   // Eq. 19: alpha times the variance of all data
        if (settings_.bandwidth == Bandwidth::langley) {  // Eq. 18
            const double range = lone ? (varies(j) ? (high_[j] - low_[j]) / scale_[j] : 0.0) : class_range(row, j);
            variance = range * range / size;
        } else if (settings_.bandwidth == Bandwidth::haerdle) {  // Eq. 17
            const double observed = lone ? observed_[j] : class_observed_[k];
            const double spread = observed > 0.0 ? (lone ? scatter_[j] : class_scatter_[k]) / observed : 0.0;
            variance = haerdle * haerdle * spread / (scale_[j] * scale_[j]);
        }
        precision[j] = static_cast<float>(1.0 / std::sqrt(std::max(variance, kVarianceFloor * spread_[j])));
        product.multiply(precision[j]);
    }
    kernel_log2_norm_.own()[row] = static_cast<float>(log2_unit(d) + product.value());
}

NodeHead Forest::form(std::span<const std::int32_t> children) const noexcept {
    const bool leaf = std::all_of(children.begin(), children.end(),
                                  [&](std::int32_t child) { return child < 0 && complete(~child); });
    const std::size_t entries = children.size();
    return {0, entries <= 4 ? 4 : (entries + 7) / 8 * 8, entries, leaf};
}

void Forest::summarise(std::size_t node, std::span<const std::int32_t> children) {
    const std::size_t d = dimensions_;
    double* mean = node_mean_.own().data() + node * d;
    double* scatter = node_scatter_.own().data() + node * d;
    std::fill_n(mean, d, 0.0);
    std::fill_n(scatter, d, 0.0);
    std::int64_t total = 0;
    const std::span<double> z = scratch_.z, unknown = scratch_.unknown;
    float* box = node_box_.own().data() + node * 2 * d;
    std::fill_n(box, d, std::numeric_limits<float>::infinity());
    std::fill_n(box + d, d, -std::numeric_limits<float>::infinity());
    for (const std::int32_t child : children) {
        std::int64_t count = 1;
        if (child >= 0) {
            const auto below = static_cast<std::size_t>(child);
            count = node_count_[below];
            std::copy_n(node_mean_.data() + below * d, d, z.data());
            std::copy_n(node_scatter_.data() + below * d, d, unknown.data());
            widen_box(node, node_box(below), node_box(below) + d);
        } else {
            record_in_z(~child, z, unknown);
            widen_box(node, ~child, z);
        }
        total += count;
        const double share = static_cast<double>(count) / static_cast<double>(total);
        for (std::size_t j = 0; j < d; ++j) {
            const double apart = z[j] - mean[j];
            mean[j] += apart * share;
            scatter[j] += unknown[j] + apart * (z[j] - mean[j]) * static_cast<double>(count);
        }
    }
    node_count_.own()[node] = total;
}

void Forest::widen_box(std::size_t node, const float* low, const float* high) {
    float* box = node_box_.own().data() + node * 2 * dimensions_;
    if (std::isnan(low[0])) std::fill_n(box, 2 * dimensions_, std::numeric_limits<float>::quiet_NaN());
    if (std::isnan(box[0])) return;
    for (std::size_t j = 0; j < dimensions_; ++j) {
        box[j] = std::min(box[j], low[j]);
        box[dimensions_ + j] = std::max(box[dimensions_ + j], high[j]);
    }
}

void Forest::widen_box(std::size_t node, std::int32_t record, std::span<const double> z) {
    const std::span<float> centre = scratch_.box;  // rounded as in the kernels
    std::copy(z.begin(), z.end(), centre.begin());
    if (!complete(record)) centre[0] = std::numeric_limits<float>::quiet_NaN();
    widen_box(node, centre.data(), centre.data());
}

void Forest::write_lane(const NodeHead& head, float* at, std::size_t lane, std::int32_t child,
                        std::size_t point_class) {
    if (trained(child) && restore_trained(head, at, lane, child)) return;
    const std::size_t d = dimensions_, lanes = head.lanes();
    const float* kernel = kernel_precision(point_class);
    const std::span<double> record = scratch_.lane;
    const double* mean = record.data();
    const double* spread = record.data() + d;  // of a record: the variance of missing values; of a node: its scatter
    double count = 1.0;
    if (child < 0) {
        record_in_z(~child, {record.data(), d}, {record.data() + d, d});
    } else {
        const auto below = static_cast<std::size_t>(child);
        mean = node_mean_.data() + below * d;
        spread = node_scatter_.data() + below * d;
        count = static_cast<double>(node_count_[below]);
        if (const std::int32_t row = covariance_.of_node[below]; row >= 0)
            covariance_.set_mean(static_cast<std::size_t>(row), mean, d);
    }
    for (std::size_t j = 0; j < d; ++j) at[j * lanes + lane] = static_cast<float>(mean[j]);
    if (head.leaf()) {
        write_bits(at + d * lanes + lane, child);
        return;
    }
    float* precision = at + d * lanes;
    float* log2_norm = at + 2 * d * lanes;
    Log2Product product;
    for (std::size_t j = 0; j < d; ++j) {
        const double kernel_variance = 1.0 / (static_cast<double>(kernel[j]) * kernel[j]);
        double variance = spread[j] / count;  // Eq. 5
        if (child < 0)
            variance += kernel_variance;
        else
            variance = std::max(variance, settings_.inner_variance == InnerVariance::max ? kernel_variance
                                                                                         : kVarianceFloor * spread_[j]);
        const auto value = static_cast<float>(1.0 / std::sqrt(variance));
        precision[j * lanes + lane] = value;
        product.multiply(value);
    }
    log2_norm[lane] = static_cast<float>(log2_unit(d) + product.value());
    log2_norm[lanes + lane] = static_cast<float>(std::log2(count));
    write_bits(log2_norm + 2 * lanes + lane, child);
}

void Forest::write_node(std::size_t node, std::span<const std::int32_t> children) {
    const NodeHead head(head_[node]);
    float* at = blob_.own().data() + head.offset();
    std::fill_n(at, head.floats(dimensions_), 0.0F);
    for (std::size_t lane = 0; lane < head.lanes(); ++lane)
        write_bits(at + head.floats(dimensions_) - head.lanes() + lane, kNothing);
    for (std::size_t lane = 0; lane < children.size(); ++lane)
        write_lane(head, at, lane, children[lane], static_cast<std::size_t>(node_class_[node]));
    follow(node, children);
    head_.own()[node] = head.marked(has_covariances(children)).packed();
}

void Forest::write_root(std::size_t point_class) {
    const NodeHead head = root_head(point_class / kRootBlock);
    const std::size_t lane = point_class % kRootBlock;
    float* const at = root_blob_.own().data() + head.offset();
    const std::int32_t root = class_root_[point_class];
    if (root == kNothing)
        write_bits(at + head.floats(dimensions_) - head.lanes() + lane, kNothing);
    else if (!trained(root))
        write_lane(head, at, lane, root, point_class);
}

void Forest::assemble(const std::vector<TreeShape>& shapes) {
    const std::size_t d = dimensions_;
    size_scratch();
    std::vector<std::size_t> first_node(shapes.size() + 1, 0);
    for (std::size_t c = 0; c < shapes.size(); ++c) first_node[c + 1] = first_node[c] + shapes[c].nodes();
    const std::size_t nodes = first_node.back();
    links_.known = raw_boxes_.known = false;

    // Entries number the nodes of their own tree; shift them to the numbers in the forest.
    const auto children_of = [&](std::size_t c, std::size_t i) {
        const auto entries = shapes[c].entries_of(i);
        std::vector<std::int32_t> children(entries.begin(), entries.end());
        for (auto& child : children)
            if (child >= 0) child += static_cast<std::int32_t>(first_node[c]);
        return children;
    };

    auto& head = head_.own();
    auto& node_class = node_class_.own();
    head.assign(nodes, 0);
    node_class.assign(nodes, 0);
    node_count_.own().assign(nodes, 0);
    node_mean_.own().assign(nodes * d, 0.0);
    node_scatter_.own().assign(nodes * d, 0.0);
    node_box_.own().assign(nodes * 2 * d, 0.0F);
    covariance_.clear(nodes);
    std::size_t floats = 0;
    for (std::size_t c = 0; c < shapes.size(); ++c) {
        for (std::size_t i = 0; i < shapes[c].nodes(); ++i) {
            const NodeHead shape = form(children_of(c, i));
            head[first_node[c] + i] = NodeHead(floats, shape.lanes(), shape.entries(), shape.leaf()).packed();
            node_class[first_node[c] + i] = static_cast<std::int32_t>(c);
            floats += shape.floats(d);
        }
    }
    blob_.own().assign(floats, 0.0F);
    for (std::size_t c = 0; c < shapes.size(); ++c)  // children come after their parents: summarise backwards
        for (std::size_t i = shapes[c].nodes(); i-- > 0;) summarise(first_node[c] + i, children_of(c, i));
    for (std::size_t c = 0; c < shapes.size(); ++c)
        for (std::size_t i = 0; i < shapes[c].nodes(); ++i) write_node(first_node[c] + i, children_of(c, i));

    auto& root = class_root_.own();
    root.assign(classes(), kNothing);
    for (std::size_t c = 0; c < shapes.size(); ++c)
        if (shapes[c].nodes() > 0) root[c] = static_cast<std::int32_t>(first_node[c]);
    for (std::size_t i = records(); i-- > 0;) {  // a class of one record has no node: its kernel is the root
        const auto c = static_cast<std::size_t>(point_class_[i]);
        if (class_count_[c] == 1) root[c] = ~static_cast<std::int32_t>(i);
    }
    root_blob_.own().assign(root_floats(), 0.0F);
    for (std::size_t c = 0; c < classes(); ++c) write_root(c);
    assembled_at_.own()[0] = learned();
    refreshed_.own().assign(2, 0);
    free_runs_.own().assign(kRunSizes, -1);
    scratch_.trained.clear();
    height_ = measured_height();
    measure_covariances();
}

}  // namespace anystream::bayes_tree
