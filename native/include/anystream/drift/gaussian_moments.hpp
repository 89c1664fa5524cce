// Gaussian naive Bayes from moments that are kept up to date record by record.
//
//   count     (classes,)           n_c        records of the class
//   observed  (classes, features)  n_cj       of them those whose value is not missing
//   mean      (classes, features)  m_cj       of the observed values
//   scatter   (classes, features)  S_cj       sum of their squared distances from the mean
//
// All arrays are row-major and borrowed from the caller. There is no locking: one thread learns at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anystream {

struct MomentsView {
    std::size_t classes;
    std::size_t features;
    std::span<const double> count;
    std::span<const double> observed;
    std::span<const double> mean;
    std::span<const double> scatter;
};

struct MomentsRef {
    std::size_t features;
    std::span<double> count;
    std::span<double> observed;
    std::span<double> mean;
    std::span<double> scatter;
};

/// Adds records to the moments of their classes, one after another (Welford). NaN stands for a missing value.
/// Every label must be below `count.size()`.
void learn_moments(const MomentsRef& moments, std::span<const double> rows,
                   std::span<const std::int32_t> labels) noexcept;

/// P(c | x) for each row, into `out` (rows, classes). The variance of a class is smoothed towards that of all records
/// as if `smoothing` records more had it: v_cj = (S_cj + smoothing V_j) / (n_cj + smoothing). Features that never
/// varied (V_j = 0) and missing values do not count. A class without records has probability 0; some class must have
/// one.
void moments_proba(const MomentsView& moments, double smoothing, std::span<const double> rows, std::span<double> out);

/// The first class of the highest probability for each row, into `out` (rows,).
void predict_moments(const MomentsView& moments, double smoothing, std::span<const double> rows,
                     std::span<std::int64_t> out);

}  // namespace anystream
