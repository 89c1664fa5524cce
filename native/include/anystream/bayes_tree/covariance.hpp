// Covariances with a block structure (BN, Eq. 8-10): which dimensions form a block, and Gaussians that use them.
//
// A Gaussian is evaluated with the inverse W of the Cholesky factor of its covariance: the exponent is |W (x - mu)|^2.
// The rows of W, in the order of the blocks, are cut into panels of eight; a row needs the columns from the beginning
// of its block up to its own:
//
//     dimensions in the order of the blocks    panel p: rows 8 p .. 8 p + 7
//                                              first[p]: where the block of row 8 p begins
//         W = | # . . . |                      values: [column first[p] .. 8 p + 7][8 rows],
//             | # # . . |                              0 above the diagonal, between blocks and beyond the last row
//             | . . # . |
//             | . . # # |
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace anystream::bayes_tree {

/// The dimensions in blocks: order[first[b] .. first[b + 1]) is block b.
struct Blocks {
    std::vector<std::int32_t> order, first;

    [[nodiscard]] std::size_t count() const noexcept { return first.size() - 1; }
    [[nodiscard]] std::size_t begin(std::size_t b) const noexcept { return static_cast<std::size_t>(first[b]); }
    [[nodiscard]] std::size_t size(std::size_t b) const noexcept { return begin(b + 1) - begin(b); }

    /// Every dimension a block of its own: the diagonal.
    static Blocks single(std::size_t dimensions);
    /// All dimensions in one block: the full covariance.
    static Blocks whole(std::size_t dimensions);
};

inline constexpr std::size_t kPanelRows = 8;

[[nodiscard]] inline std::size_t panels_of(std::size_t dimensions) noexcept {
    return (dimensions + kPanelRows - 1) / kPanelRows;
}

/// How many values the panels with these first columns take.
[[nodiscard]] std::size_t panel_values(std::span<const std::int32_t> first) noexcept;

/// The most values that panels with blocks of at most `max_block` dimensions take.
[[nodiscard]] std::size_t covariance_values(std::size_t dimensions, std::size_t max_block) noexcept;

/// Blocks of at most `max_block` dimensions by hill climbing on the likelihood: as long as it rises, the two blocks are
/// joined that raise it most (ties: the smaller block numbers, a block's number being its smallest dimension).
/// `covariance`, (d, d), is positive definite.
[[nodiscard]] Blocks search_blocks(std::span<const double> covariance, std::size_t dimensions, std::size_t max_block);

/// Makes a covariance safe: covariances are shrunk by max(1e-3, a / (a + records)), a = strength * d, and the diagonal
/// becomes `variance`, which is at least as large. The result is positive definite even if dimensions depend on each
/// other.
void shrink(std::span<double> covariance, std::span<const double> variance, double records, double strength = 1.0);

/// W of the blocks of `covariance`, (d, d) in the order of the dimensions: row i holds the columns from the beginning
/// of its block up to i.
struct InverseFactor {
    std::vector<std::int32_t> begin;  // (d,)
    std::vector<double> values;
    double log2_norm;  // log2 of (2 pi)^(-d/2) |W|; NaN: the covariance is not positive definite
};
[[nodiscard]] InverseFactor inverse_factor(std::span<const double> covariance, const Blocks& blocks);

/// Appends the panels of W.
void append_panels(const InverseFactor& factor, std::vector<std::int32_t>& first, std::vector<float>& values);

/// The lower Cholesky factor of a (size, size) matrix with rows `stride` apart, in place; false if it is not positive
/// definite.
bool cholesky(double* matrix, std::size_t size, std::size_t stride) noexcept;

/// Adds the deviations of rows from an origin: count, sums and cross products (the lower triangle), which are additive.
class CrossProducts {
  public:
    explicit CrossProducts(std::size_t dimensions) : sum_(dimensions, 0.0), product_(dimensions * dimensions, 0.0) {}

    void add(const double* deviation) noexcept;
    void add(const CrossProducts& other) noexcept;
    [[nodiscard]] double count() const noexcept { return count_; }
    /// The covariance (d, d) of everything added, both triangles.
    [[nodiscard]] std::vector<double> covariance() const;

  private:
    double count_ = 0.0;
    std::vector<double> sum_, product_;
};

}  // namespace anystream::bayes_tree
