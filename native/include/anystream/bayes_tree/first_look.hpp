// The first look at a record: a linear discriminant over its features and their squares, for an answer that costs a
// fraction of a microsecond. It reads raw records, before any metric.
//
// With z_j = (x_j - shift_j) * factor_j, clipped to +-kMaxDeviation, the score of a class is
//
//     bias_c + sum_j weight[j, c] z_j + sum_j weight[d + j, c] (z_j^2 - square_mean_j),
//
// the log2 of a joint density up to a number that all classes share. A missing value counts as the mean: both of its
// terms are 0.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "anystream/bayes_tree/kernels.hpp"

namespace anystream::bayes_tree {

struct FirstLook {
    std::size_t classes = 0;
    std::vector<double> shift, factor;  // (d,)
    std::vector<float> square_mean;     // (d,)
    std::vector<float> weight;          // (2 d, lanes), zeros behind the last class
    std::vector<float> bias;            // (lanes,)
    double sharpness = 1.0;             // of calibrated probabilities: scores are multiplied by it
    double floor = 0.0;                 // of calibrated probabilities: the share of the uniform distribution

    static constexpr std::size_t kBlock = 64;  // records that `scores` reads at once

    [[nodiscard]] std::size_t dimensions() const noexcept { return shift.size(); }
    [[nodiscard]] std::size_t lanes() const noexcept { return bias.size(); }
    /// Scores of `count` records, one after the other, `lanes` of each. The same for a record whatever the others are.
    void scores(const double* records, std::size_t count, std::span<float> out) const;
};

/// What a first look has found about one record.
struct LookScores {
    std::vector<float> score;  // (classes,)
    double sharpness = 1.0, floor = 0.0;
};

/// Probabilities of the scores of one record: 2^(sharpness * score) / sum, mixed with the uniform distribution by
/// `floor`. The first class of the highest score has the highest probability.
void look_posterior(std::span<const float> score, double sharpness, double floor, std::span<double> out);

/// The first class of the highest score.
[[nodiscard]] std::size_t look_label(std::span<const float> score) noexcept;

}  // namespace anystream::bayes_tree
