// Margin maximisation (MM, Eq. 11-16) of one Gaussian mixture per class by the extended Baum-Welch algorithm.
//
// With p(l, x) = P(l) sum_e w_e g(x, mu_e, Sigma_e) the objective is the mean over the records of
//
//     F = log h(d(x)^lambda),   log d(x) = log p(l_x, x) - 1/kappa log sum_{l != l_x} p(l, x)^kappa   (Eq. 14-16).
//
// A record weighs in the gradient by omega(x) = dF/dlog d: its own class by +omega, a rival l by -omega r_l(x) with
// r_l(x) = p(l, x)^kappa / sum of all rivals, and within a class each component by its responsibility. With these
// signed weights c_e(x), Baum-Welch sums count C, offset M and scatter S of every component about its mean, and
//
//     mu' = mu + delta,   Sigma' = (S + D Sigma) / (C + D) - delta delta^T,   delta = M / (C + D)
//
// with D large enough for Sigma' to stay positive definite. A step that would lower F is repeated with a larger D, so F
// never falls.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "anystream/bayes_tree/covariance.hpp"

namespace anystream::bayes_tree {

struct MarginSettings {
    double kappa = 1.0;   // Eq. 15
    double lambda = 0.1;  // Eq. 14: the width of the window around the border in which records count
    int iterations = 30;
    bool weights = true;  // whether the weights w_e move too
    // Of the entries of a forest alone:
    double min_records = 10.0;  // entries of fewer do not move
    bool floor = true;          // whether variances stay as large as that of a kernel
    int threads = 1;
    std::function<void()> poll = [] {};  // called once per iteration; may throw
};

/// Labelled rows, borrowed.
struct LabelledRows {
    std::span<const double> values;       // (size, dimensions), all present
    std::span<const std::int32_t> label;  // (size,)
    std::span<const std::int32_t> own;  // (size,) the component that is the row's own kernel and is left out for it; or
                                        // empty, or -1: none
    std::size_t dimensions;

    [[nodiscard]] std::size_t size() const noexcept { return label.size(); }
    [[nodiscard]] const double* row(std::size_t i) const noexcept { return values.data() + i * dimensions; }
};

/// One Gaussian of a class. Its covariance is zero outside its blocks.
struct Component {
    std::int32_t point_class = 0;
    double weight = 1.0;     // w_e; they sum to 1 over a class
    double occupancy = 1.0;  // n_e: the records it stands for; a larger number damps its steps
    bool fixed = false;      // a kernel never moves
    Blocks blocks;
    std::vector<double> mean;        // (d,)
    std::vector<double> covariance;  // the blocks one after the other, each (s, s), in the order of `blocks`
    std::vector<double> floor;       // (d,) minimum variances, by dimension

    /// The covariance as a (d, d) matrix in the order of the dimensions, and back.
    [[nodiscard]] std::vector<double> dense() const;
    void set_dense(std::span<const double> matrix);
};

/// The sums of Baum-Welch for one component: signed weights c_e(x) times powers of z = x - mu.
struct MarginSums {
    double positive = 0.0, negative = 0.0;  // of c, by sign; C is their difference
    std::vector<double> offset;             // M = sum c z, in the order of the blocks
    std::vector<double> scatter;            // S = sum c z z^T, laid out as `covariance` (lower triangles)

    [[nodiscard]] double count() const noexcept { return positive - negative; }
};

/// The mixtures of all classes and the rows they are to separate.
class MarginProblem {
  public:
    MarginProblem(LabelledRows rows, std::vector<double> prior, MarginSettings settings);

    /// F for these components; keeps what `sums` needs.
    double objective(const std::vector<Component>& components);
    /// The sums at the components of the last call of `objective`.
    [[nodiscard]] std::vector<MarginSums> sums(const std::vector<Component>& components) const;
    /// Maximises F; returns its values from the start on, which never decrease.
    std::vector<double> maximise(std::vector<Component>& components);

  private:
    struct Evaluator;
    struct RowScratch;
    struct RowBlock;

    [[nodiscard]] std::size_t chunk() const noexcept;
    [[nodiscard]] std::size_t groups_of_chunk() const noexcept;
    [[nodiscard]] std::size_t group_of(std::size_t row) const noexcept;
    [[nodiscard]] const double* class_joints(std::size_t group) const noexcept;
    void join(const std::vector<Component>& components, std::span<const Evaluator> all, std::size_t first,
              std::size_t rows, RowScratch& scratch);
    void weigh(const std::vector<Component>& components, std::size_t first, RowBlock& block) const noexcept;
    void add(const Component& component, std::size_t e, std::size_t first, RowBlock& block,
             MarginSums& sums) const noexcept;

    LabelledRows rows_;
    std::vector<double> log_prior_;
    MarginSettings settings_;
    // Eight rows are a group, whose values lie side by side; the last group of a chunk may have fewer.
    std::vector<double> joint_;        // (groups, components, 8) log P(l) w_e g_e(x)
    std::vector<double> class_joint_;  // (groups, classes, 8); empty where every class is one component: the same then
    std::vector<double> influence_;    // (rows,) omega
    std::vector<double> rival_;        // (rows,) log sum over rivals of p^kappa
};

}  // namespace anystream::bayes_tree
