#include "anystream/bayes_tree/margin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/bayes_tree/learning_kernels.hpp"
#include "anystream/parallel.hpp"
#include "anystream/portable_math.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kFaintest = -1e6;  // a log margin: a row whose own class vanishes has no influence
constexpr double kTau = 0.05;       // share of its occupancy that holds a component in place
constexpr double kMinWeight = 1e-8;
constexpr double kNegligible = 1e-10;              // share of lambda below which a weight c is not worth adding
constexpr double kMinRise = 1e-5;                  // of F: three steps in a row below it end the work
constexpr int kMaxBackward = 20;                   // doublings of D before the work ends
constexpr std::size_t kWorthSharing = 10'000'000;  // products per evaluation; below, starting threads costs more
constexpr std::size_t kLanes = 8;                  // rows of a group
constexpr std::size_t kAtOnce = 8 * kLanes;        // rows whose weights are known before any of them is added
constexpr std::size_t kMaxChunks = 16;  // sums of chunks are added in order: the same bits on any number of threads

/// The smooth hinge h of Eq. 16 at y = e^u: its logarithm, and the derivative of that by u.
struct Hinge {
    double value, slope;
};

Hinge log_hinge(double u) noexcept {
    if (u >= std::numbers::ln2) return {std::numbers::ln2, 0.0};
    if (u <= 0.0) {
        const double y = portable_exp(u);
        return {portable_log(y + 0.5), y / (y + 0.5)};
    }
    const double y = 1.0 / portable_exp(-u);
    const double h = 2.0 - 0.5 * (y - 2.0) * (y - 2.0);
    return {portable_log(h), y * (2.0 - y) / h};
}

/// The logarithms of the sums of e^value over the components of each class, for every row of a group; kNone: none.
void sum_by_class(const std::vector<Component>& components, const double* values, std::vector<double>& peak,
                  std::span<double> out) noexcept {
    std::fill(peak.begin(), peak.end(), kNone);
    std::ranges::fill(out, 0.0);
    for (std::size_t r = 0; r < kLanes; ++r) {
        const auto place = [&](std::size_t e) {
            return static_cast<std::size_t>(components[e].point_class) * kLanes + r;
        };
        for (std::size_t e = 0; e < components.size(); ++e)
            peak[place(e)] = std::max(peak[place(e)], values[e * kLanes + r]);
        for (std::size_t e = 0; e < components.size(); ++e) {
            const double apart = values[e * kLanes + r] - peak[place(e)];
            if (apart > kInvisible) out[place(e)] += apart == 0.0 ? 1.0 : portable_exp(apart);
        }
    }
    for (std::size_t c = 0; c < out.size(); ++c)
        out[c] = peak[c] > kNone ? peak[c] + (out[c] == 1.0 ? 0.0 : portable_log(out[c])) : kNone;
}

/// Whether component c is the only one of class c, for every class.
bool is_one_each(const std::vector<Component>& components, std::size_t classes) noexcept {
    if (components.size() != classes) return false;
    for (std::size_t c = 0; c < classes; ++c)
        if (static_cast<std::size_t>(components[c].point_class) != c) return false;
    return true;
}

/// The smallest D that leaves every variance of the block positive: the larger root of
/// v D^2 + (Q + C v) D + (Q C - M^2) = 0, over its dimensions.
double min_damping(double count, double offset, double square, double variance) noexcept {
    const double root =
        std::sqrt((square - count * variance) * (square - count * variance) + 4.0 * variance * offset * offset);
    return (-(square + count * variance) + root) / (2.0 * variance);
}

/// (S + D Sigma) / (C + D) - delta delta^T for one block; only the lower triangle.
void updated_block(const double* covariance, const double* scatter, const double* offset, std::size_t s, double count,
                   double damping, double* out) noexcept {
    const double total = count + damping;
    for (std::size_t i = 0; i < s; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            out[i * s + j] = (scatter[i * s + j] + damping * covariance[i * s + j]) / total -
                             (offset[i] / total) * (offset[j] / total);
}

/// The smallest of the dampings tried for which all blocks stay positive definite.
double sound_damping(const Component& component, const MarginSums& sums) {
    double damping = std::max(0.0, -sums.count());
    std::size_t at = 0;
    bool single = true;
    for (std::size_t b = 0; b < component.blocks.count(); ++b) {
        const std::size_t s = component.blocks.size(b), place = component.blocks.begin(b);
        single &= s == 1;
        for (std::size_t i = 0; i < s; ++i)
            damping = std::max(damping, min_damping(sums.count(), sums.offset[place + i], sums.scatter[at + i * s + i],
                                                    component.covariance[at + i * s + i]));
        at += s * s;
    }
    if (single) return damping;
    damping = std::max(damping, 1e-9 * component.occupancy);
    std::vector<double> block;
    for (int attempt = 0; attempt < 200; ++attempt, damping *= 1.5) {
        bool sound = sums.count() + damping > 0.0;
        at = 0;
        for (std::size_t b = 0; sound && b < component.blocks.count(); ++b) {
            const std::size_t s = component.blocks.size(b);
            block.assign(s * s, 0.0);
            updated_block(component.covariance.data() + at, sums.scatter.data() + at,
                          sums.offset.data() + component.blocks.begin(b), s, sums.count(), damping, block.data());
            for (std::size_t i = 0; i < s; ++i) sound &= block[i * s + i] > 0.05 * component.covariance[at + i * s + i];
            sound = sound && cholesky(block.data(), s, s);
            at += s * s;
        }
        if (sound) break;
    }
    return damping;
}

/// One step of extended Baum-Welch for one component.
void step(Component& component, const MarginSums& sums, double lower, double eagerness) {
    const double damping =
        std::max(2.0 * lower, eagerness * std::max(sums.positive + sums.negative, kTau * component.occupancy)) + 1e-12;
    const double total = sums.count() + damping;
    std::size_t at = 0;
    std::vector<double> block;
    for (std::size_t b = 0; b < component.blocks.count(); ++b) {
        const std::size_t s = component.blocks.size(b), place = component.blocks.begin(b);
        block.assign(s * s, 0.0);
        updated_block(component.covariance.data() + at, sums.scatter.data() + at, sums.offset.data() + place, s,
                      sums.count(), damping, block.data());
        for (std::size_t i = 0; i < s; ++i) {
            const auto dimension = static_cast<std::size_t>(component.blocks.order[place + i]);
            component.mean[dimension] += sums.offset[place + i] / total;
            block[i * s + i] = std::max(block[i * s + i], component.floor[dimension]);
            for (std::size_t j = 0; j < i; ++j) block[j * s + i] = block[i * s + j];
        }
        std::copy(block.begin(), block.end(), component.covariance.begin() + static_cast<std::ptrdiff_t>(at));
        at += s * s;
    }
}

/// w'_e proportional to C_e + D w_e, with one D per class that keeps every weight positive; those of fixed components
/// stay.
void step_weights(std::vector<Component>& components, const std::vector<MarginSums>& sums, std::size_t classes,
                  double eagerness) {
    std::vector<double> damping(classes, 0.0), active(classes, 0.0), total(classes, 0.0), fixed(classes, 0.0);
    for (std::size_t e = 0; e < components.size(); ++e) {
        const auto c = static_cast<std::size_t>(components[e].point_class);
        if (components[e].fixed) {
            fixed[c] += components[e].weight;
            continue;
        }
        damping[c] = std::max(damping[c], sums[e].negative / components[e].weight);
        active[c] += std::max(sums[e].positive + sums[e].negative, kTau * components[e].occupancy);
    }
    for (std::size_t c = 0; c < classes; ++c) damping[c] = std::max(damping[c], eagerness * active[c]);
    for (std::size_t e = 0; e < components.size(); ++e) {
        const auto c = static_cast<std::size_t>(components[e].point_class);
        if (components[e].fixed || !(damping[c] > 0.0)) continue;
        components[e].weight = std::max(sums[e].count() / damping[c] + components[e].weight, kMinWeight);
        total[c] += components[e].weight;
    }
    for (Component& component : components) {
        const auto c = static_cast<std::size_t>(component.point_class);
        if (!component.fixed && total[c] > 0.0) component.weight *= (1.0 - fixed[c]) / total[c];
    }
}

}  // namespace

/// The factor of a component, and log of P(l) w_e (2 pi)^(-d/2) |W|.
struct MarginProblem::Evaluator {
    Evaluator(const Component& component, std::span<const double> log_prior)
        : factor(inverse_factor(component.dense(), component.blocks)),
          log_scale(factor.log2_norm * std::numbers::ln2 + portable_log(component.weight) +
                    log_prior[static_cast<std::size_t>(component.point_class)]) {}

    InverseFactor factor;
    double log_scale;
};

/// Memory for the joints of one group.
struct MarginProblem::RowScratch {
    RowScratch(std::size_t dimensions, std::size_t classes)
        : x(dimensions * kLanes), apart(dimensions * kLanes), peak(classes * kLanes), rivals(classes * kLanes) {}

    std::vector<double> x, apart, peak, rivals;
};

std::vector<double> Component::dense() const {
    const std::size_t d = mean.size();
    std::vector<double> matrix(d * d, 0.0);
    std::size_t at = 0;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
        const std::size_t s = blocks.size(b), place = blocks.begin(b);
        for (std::size_t i = 0; i < s; ++i)
            for (std::size_t j = 0; j < s; ++j)
                matrix[static_cast<std::size_t>(blocks.order[place + i]) * d +
                       static_cast<std::size_t>(blocks.order[place + j])] = covariance[at + i * s + j];
        at += s * s;
    }
    return matrix;
}

void Component::set_dense(std::span<const double> matrix) {
    const std::size_t d = mean.size();
    covariance.clear();
    for (std::size_t b = 0; b < blocks.count(); ++b) {
        const std::size_t s = blocks.size(b), place = blocks.begin(b);
        for (std::size_t i = 0; i < s; ++i)
            for (std::size_t j = 0; j < s; ++j)
                covariance.push_back(matrix[static_cast<std::size_t>(blocks.order[place + i]) * d +
                                            static_cast<std::size_t>(blocks.order[place + j])]);
    }
}

MarginProblem::MarginProblem(LabelledRows rows, std::vector<double> prior, MarginSettings settings)
    : rows_(rows), log_prior_(std::move(prior)), settings_(std::move(settings)) {
    for (double& value : log_prior_) value = portable_log(value);
    const std::size_t products = rows_.size() * log_prior_.size() * rows_.dimensions * rows_.dimensions;
    if (products < kWorthSharing) settings_.threads = 1;
}

std::size_t MarginProblem::chunk() const noexcept {
    return std::max<std::size_t>(64, (rows_.size() + kMaxChunks - 1) / kMaxChunks);
}

std::size_t MarginProblem::groups_of_chunk() const noexcept {
    return (chunk() + kLanes - 1) / kLanes;
}

/// The group of a row that is the first of one.
std::size_t MarginProblem::group_of(std::size_t row) const noexcept {
    return row / chunk() * groups_of_chunk() + row % chunk() / kLanes;
}

const double* MarginProblem::class_joints(std::size_t group) const noexcept {
    const std::size_t classes = log_prior_.size();
    return (class_joint_.empty() ? joint_ : class_joint_).data() + group * classes * kLanes;
}

/// Computes the joints of the group of row `first`.
void MarginProblem::join(const std::vector<Component>& components, std::span<const Evaluator> all, std::size_t first,
                         std::size_t rows, RowScratch& scratch) {
    const std::size_t d = rows_.dimensions, k = components.size(), classes = log_prior_.size();
    double* const joint = joint_.data() + group_of(first) * k * kLanes;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t j = 0; j < d; ++j) scratch.x[j * kLanes + r] = rows_.row(first + r)[j];
    for (std::size_t e = 0; e < k; ++e) {
        const InverseFactor& factor = all[e].factor;
        double* const out = joint + e * kLanes;
        if (components[e].blocks.count() == 1) {
            learning_kernels().log_joints(scratch.x.data(), components[e].mean.data(), factor.values.data(),
                                          all[e].log_scale, d, scratch.apart.data(), out);
            continue;
        }
        kernels().row_exponents(scratch.x.data(), components[e].mean.data(), components[e].blocks.order.data(),
                                factor.values.data(), factor.begin.data(), d, scratch.apart.data(), out);
        for (std::size_t r = 0; r < kLanes; ++r) out[r] = all[e].log_scale - 0.5 * out[r];
    }
    for (std::size_t r = 0; !rows_.own.empty() && r < rows; ++r)
        if (rows_.own[first + r] >= 0) joint[static_cast<std::size_t>(rows_.own[first + r]) * kLanes + r] = kNone;
    if (class_joint_.empty()) return;
    sum_by_class(components, joint, scratch.peak,
                 {class_joint_.data() + group_of(first) * classes * kLanes, classes * kLanes});
}

double MarginProblem::objective(const std::vector<Component>& components) {
    const std::size_t n = rows_.size(), d = rows_.dimensions, k = components.size(), classes = log_prior_.size();
    std::vector<Evaluator> all;
    for (const Component& component : components) {
        all.emplace_back(component, log_prior_);
        if (std::isnan(all.back().log_scale)) return kNone;
    }
    const std::size_t size = chunk(), groups = (n + size - 1) / size * groups_of_chunk();
    joint_.resize(groups * k * kLanes);
    class_joint_.resize(is_one_each(components, classes) ? 0 : groups * classes * kLanes);
    influence_.resize(n);
    rival_.resize(n);
    std::vector<double> value(n);
    parallel_for(n, size, settings_.threads, [&](std::size_t begin, std::size_t end) {
        RowScratch scratch(d, classes);
        double peak[kLanes], sum[kLanes], own[kLanes];
        for (std::size_t first = begin; first < end; first += kLanes) {
            const std::size_t rows = std::min(kLanes, end - first);
            join(components, all, first, rows, scratch);
            std::copy_n(class_joints(group_of(first)), classes * kLanes, scratch.rivals.data());
            for (std::size_t r = 0; r < rows; ++r) {
                double& joint = scratch.rivals[static_cast<std::size_t>(rows_.label[first + r]) * kLanes + r];
                own[r] = joint;
                joint = kNone;
            }
            learning_kernels().exponential_sums(scratch.rivals.data(), classes, settings_.kappa, peak, sum);
            for (std::size_t r = 0; r < rows; ++r) {
                const std::size_t i = first + r;
                rival_[i] = peak[r] == kNone ? kNone : settings_.kappa * peak[r] + portable_log(sum[r]);
                double log_margin = kFaintest;
                if (rival_[i] == kNone)
                    log_margin = -kFaintest;
                else if (own[r] > kNone)
                    log_margin = std::max(kFaintest, own[r] - rival_[i] / settings_.kappa);
                const Hinge hinge = log_hinge(settings_.lambda * log_margin);
                value[i] = hinge.value;
                influence_[i] = settings_.lambda * hinge.slope;
            }
        }
    });
    double sum = 0.0;
    for (const double each : value) sum += each;
    return sum / static_cast<double>(std::max<std::size_t>(n, 1));
}

/// The weights c of a few rows, and scratch memory for adding them.
struct MarginProblem::RowBlock {
    RowBlock(std::size_t dimensions, std::size_t classes, std::size_t components)
        : by_class(classes * kLanes),
          weight(components * kAtOnce),
          z(kAtOnce * dimensions),
          row_weight(kAtOnce),
          products(kAtOnce) {}

    std::size_t rows = 0;
    std::vector<double> by_class;  // (classes, kLanes)
    std::vector<double> weight;    // (components, kAtOnce); 0: too small to be added
    std::vector<double> z;         // of the rows that one component adds
    std::vector<double> row_weight, products;
};

/// The weights of the rows first, first + 1, ... for all components.
void MarginProblem::weigh(const std::vector<Component>& components, std::size_t first, RowBlock& block) const noexcept {
    const std::size_t k = components.size(), classes = log_prior_.size();
    const double negligible = kNegligible * settings_.lambda;
    const bool one_each = class_joint_.empty();  // what a class weighs is the weight of its component
    std::fill(block.weight.begin(), block.weight.end(), 0.0);
    for (std::size_t begin = 0; begin < block.rows; begin += kLanes) {
        const std::size_t rows = std::min(kLanes, block.rows - begin), group = group_of(first + begin);
        double omega[kLanes] = {}, rival[kLanes] = {};
        bool counts = false;
        for (std::size_t r = 0; r < rows; ++r) {
            omega[r] = influence_[first + begin + r];
            rival[r] = rival_[first + begin + r];
            counts |= omega[r] > 0.0;
        }
        if (!counts) continue;
        double* const by_class = one_each ? block.weight.data() + begin : block.by_class.data();
        const std::size_t stride = one_each ? kAtOnce : kLanes;
        const double* const class_joint = class_joints(group);
        learning_kernels().rival_weights(class_joint, classes, settings_.kappa, rival, omega, negligible, by_class,
                                         stride);
        for (std::size_t r = 0; r < rows; ++r)
            by_class[static_cast<std::size_t>(rows_.label[first + begin + r]) * stride + r] =
                omega[r] < negligible ? 0.0 : omega[r];
        if (one_each) continue;
        for (std::size_t e = 0; e < k; ++e) {
            const double* const joint = joint_.data() + (group * k + e) * kLanes;
            const std::size_t c = static_cast<std::size_t>(components[e].point_class) * kLanes;
            for (std::size_t r = 0; r < rows; ++r) {
                if (by_class[c + r] == 0.0 || joint[r] == kNone) continue;
                const double apart = joint[r] - class_joint[c + r];
                const double weight = by_class[c + r] * (apart == 0.0 ? 1.0 : portable_exp(apart));
                if (!(std::abs(weight) < negligible)) block.weight[e * kAtOnce + begin + r] = weight;
            }
        }
    }
}

/// Adds the rows first, first + 1, ... to the sums of component `e`.
void MarginProblem::add(const Component& component, std::size_t e, std::size_t first, RowBlock& block,
                        MarginSums& sums) const noexcept {
    const std::size_t d = rows_.dimensions;
    std::size_t added = 0;
    std::size_t row[kAtOnce];
    for (std::size_t r = 0; r < block.rows; ++r) {
        row[added] = r;
        block.row_weight[added] = block.weight[e * kAtOnce + r];
        added += block.row_weight[added] != 0.0 ? 1 : 0;  // no branch that a processor would have to guess
    }
    for (std::size_t a = 0; a < added; ++a)
        (block.row_weight[a] > 0.0 ? sums.positive : sums.negative) += std::abs(block.row_weight[a]);
    if (component.fixed) return;
    for (std::size_t a = 0; a < added; ++a) {
        const double* const x = rows_.row(first + row[a]);
        double* const z = block.z.data() + a * d;
        for (std::size_t j = 0; j < d; ++j) {
            const auto dimension = static_cast<std::size_t>(component.blocks.order[j]);
            z[j] = x[dimension] - component.mean[dimension];
        }
    }
    learning_kernels().add_offsets(block.z.data(), block.row_weight.data(), added, d, sums.offset.data());
    if (component.blocks.count() == 1) {
        learning_kernels().add_scatter(block.z.data(), block.row_weight.data(), added, d, block.products.data(),
                                       sums.scatter.data());
        return;
    }
    for (std::size_t r = 0; r < added; ++r) {
        const double* const z = block.z.data() + r * d;
        double* scatter = sums.scatter.data();
        for (std::size_t b = 0; b < component.blocks.count(); ++b) {
            const std::size_t s = component.blocks.size(b), place = component.blocks.begin(b);
            for (std::size_t i = 0; i < s; ++i, scatter += s) {
                const double weighted = block.row_weight[r] * z[place + i];
                for (std::size_t j = 0; j <= i; ++j) scatter[j] += weighted * z[place + j];
            }
        }
    }
}

std::vector<MarginSums> MarginProblem::sums(const std::vector<Component>& components) const {
    const std::size_t n = rows_.size(), d = rows_.dimensions, k = components.size(), classes = log_prior_.size();
    const std::size_t size = chunk(), chunks = (n + size - 1) / size;
    std::vector<MarginSums> empty(k);
    for (std::size_t e = 0; e < k; ++e) {
        empty[e].offset.assign(d, 0.0);
        empty[e].scatter.assign(components[e].covariance.size(), 0.0);
    }
    std::vector<std::vector<MarginSums>> part(chunks);
    parallel_for(n, size, settings_.threads, [&](std::size_t begin, std::size_t end) {
        auto& own_part = part[begin / size];
        own_part = empty;
        RowBlock block(d, classes, k);
        for (std::size_t first = begin; first < end; first += kAtOnce) {
            block.rows = std::min(kAtOnce, end - first);
            weigh(components, first, block);
            for (std::size_t e = 0; e < k; ++e) add(components[e], e, first, block, own_part[e]);
        }
    });
    for (const auto& chunk_sums : part) {
        for (std::size_t e = 0; e < chunk_sums.size(); ++e) {
            empty[e].positive += chunk_sums[e].positive;
            empty[e].negative += chunk_sums[e].negative;
            for (std::size_t j = 0; j < d; ++j) empty[e].offset[j] += chunk_sums[e].offset[j];
            for (std::size_t j = 0; j < empty[e].scatter.size(); ++j) empty[e].scatter[j] += chunk_sums[e].scatter[j];
        }
    }
    return empty;
}

std::vector<double> MarginProblem::maximise(std::vector<Component>& components) {
    for (Component& component : components) {  // the floor holds from the start, else the first step could lower F
        if (component.fixed) continue;
        std::size_t at = 0;
        for (std::size_t b = 0; b < component.blocks.count(); ++b) {
            const std::size_t s = component.blocks.size(b);
            for (std::size_t i = 0; i < s; ++i) {
                double& variance = component.covariance[at + i * s + i];
                variance = std::max(
                    variance,
                    component.floor[static_cast<std::size_t>(component.blocks.order[component.blocks.begin(b) + i])]);
            }
            at += s * s;
        }
    }
    std::vector<double> history{objective(components)};
    double eagerness = 1.0;
    int idle = 0;
    for (int iteration = 0; iteration < settings_.iterations && idle < 3; ++iteration) {
        settings_.poll();
        const auto statistics = sums(components);
        std::vector<double> damping(components.size());
        for (std::size_t e = 0; e < components.size(); ++e)
            if (!components[e].fixed) damping[e] = sound_damping(components[e], statistics[e]);
        bool risen = false;
        for (int attempt = 0; attempt < kMaxBackward && !risen; ++attempt) {
            auto next = components;
            for (std::size_t e = 0; e < next.size(); ++e)
                if (!next[e].fixed) step(next[e], statistics[e], damping[e], eagerness);
            if (settings_.weights) step_weights(next, statistics, log_prior_.size(), eagerness);
            const double value = objective(next);
            risen = value > history.back();
            if (risen) {
                idle = value - history.back() < kMinRise ? idle + 1 : 0;
                history.push_back(value);
                components = std::move(next);
                eagerness = std::max(eagerness / 1.5, 1e-3);
            } else {
                eagerness *= 2.0;
            }
        }
        if (!risen) break;
    }
    return history;
}

}  // namespace anystream::bayes_tree
