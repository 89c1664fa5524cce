// The covariances of a forest's upper entries, and the model of its roots that votes beside the trees: flat columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/bayes_tree/covariance.hpp"
#include "anystream/bayes_tree/unknown_directions.hpp"
#include "anystream/column.hpp"

namespace anystream::bayes_tree {

/// One row per entry that has a covariance; an entry is identified by the node it stands for.
struct CovarianceTable {
    Column<std::int32_t> of_node;  // (nodes,) the row of the entry that stands for the node; -1: it is diagonal
    Column<std::int64_t> count;    // (rows,) its records when it was measured, less 2 for each that left since
    Column<std::int32_t> order;    // (rows, d) the dimensions by blocks
    Column<std::int32_t> first;    // (rows, panels)
    Column<float> mean;            // (rows, d) in the order of the blocks, in z
    Column<float> log2_norm;       // (rows,)
    Column<float> values;          // (rows, row_values)

    // Rows that no node refers to. Not stored: the lowest is used first, so that a loaded table uses the same ones.
    std::vector<std::int32_t> free_rows;  // a heap
    bool free_rows_known = false;

    [[nodiscard]] std::size_t rows() const noexcept { return log2_norm.size(); }
    [[nodiscard]] bool empty() const noexcept { return rows() == 0; }
    void clear(std::size_t nodes);
    /// Gives the entry of a node this covariance, in its present row or in a new one of `row_values` values; none if it
    /// is not positive definite. If it throws, nothing has changed.
    void assign(std::size_t node, std::span<const double> covariance, const Blocks& blocks, const double* mean_in_z,
                std::int64_t records, std::size_t row_values);
    /// Takes the covariance of a node's entry away.
    void remove(std::size_t node) noexcept;
    void set_mean(std::size_t row, const double* mean_in_z, std::size_t dimensions);
    void append_row(std::size_t dimensions, std::size_t row_values);
    void find_free_rows();
    void add_free_row(std::int32_t row);
    [[nodiscard]] std::int32_t take_free_row() noexcept;
    /// out[i] = |W (x - mu)|^2 of each of these rows. `z` is scratch for kTogether rows: 8 values per panel each, zeros
    /// behind the last dimension.
    void exponents(std::span<const std::int32_t> some_rows, const float* x, std::size_t dimensions, float* z,
                   float* out) const noexcept;

    [[nodiscard]] NamedColumns columns() {
        return {{"node_covariance", &of_node}, {"covariance_count", &count}, {"covariance_order", &order},
                {"covariance_first", &first},  {"covariance_mean", &mean},   {"covariance_log2_norm", &log2_norm},
                {"covariance_values", &values}};
    }
    /// What is wrong with the arrays, or nullptr.
    [[nodiscard]] const char* flaw(std::size_t nodes, std::size_t dimensions, std::size_t row_values) const noexcept;

  private:
    /// x - mu of a row, in the order of its blocks.
    void deviations(std::size_t row, const float* x, std::size_t dimensions, float* z) const noexcept;
};

/// One Gaussian with full covariance per class, trained to separate the classes (MM); empty before it is trained. It
/// has a shift and a scale of its own, so that it outlives an assembly of the trees.
struct RootModel {
    Column<double> shift, scale;  // (d,)
    Column<float> mean;           // (classes, d)
    Column<float> values;         // (classes, panel values)
    Column<float> log2_norm;      // (classes,) with log2 of the prior; -inf: no records
    Column<std::int64_t> known;   // (1,) how many records the forest had learned

    [[nodiscard]] bool empty() const noexcept { return log2_norm.size() == 0; }
    [[nodiscard]] std::size_t classes() const noexcept { return log2_norm.size(); }
    /// out[c] = log2 P(c) p(x | c) up to a number that all classes share; what is missing is integrated out. False,
    /// with `out` undefined, if that would take too long.
    bool log2_joint(const TreeRecord& record, std::span<double> out) const;
    /// Memory that one record after the other uses.
    struct Scratch {
        std::vector<float> at, z, exponent;
        std::vector<std::int32_t> first;
    };
    /// The same of a record without missing values.
    void log2_joint_complete(const double* x, std::span<double> out, Scratch& scratch) const;

    [[nodiscard]] NamedColumns columns() {
        return {{"root_model_shift", &shift},   {"root_model_scale", &scale},         {"root_model_mean", &mean},
                {"root_model_values", &values}, {"root_model_log2_norm", &log2_norm}, {"root_model_known", &known}};
    }
    [[nodiscard]] const char* flaw(std::size_t classes, std::size_t dimensions) const noexcept;

  private:
    bool log2_marginal(const TreeRecord& record, std::span<double> out) const;
};

}  // namespace anystream::bayes_tree
