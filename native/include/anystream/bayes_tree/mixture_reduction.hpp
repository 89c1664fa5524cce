// Shared by Goldberger and virtual sampling: a fine mixture f (the level) is approximated by a coarser one, g, whose
// components are groups of f's; then groups are cut and merged until no group exceeds the fanout.
//
// Groups are numbered along the z-curve. Up to all_groups groups of the options an entry is compared with all of them;
// beyond that with the kNearBlocks blocks of eight groups on either side of its own block, else the time would grow
// with the square of the number of records.
#pragma once

#include <vector>

#include "anystream/bayes_tree/bottom_up.hpp"
#include "anystream/bayes_tree/gaussian_lanes.hpp"

namespace anystream::bayes_tree {

/// The Gaussians g_j of the groups, compared with the entries f_i of a level.
class GroupGaussians {
  public:
    static constexpr std::size_t kNearBlocks = 4;

    GroupGaussians(const Level& level, std::size_t groups, const BuildOptions& options)
        : level_(level), lanes_(level.dimensions, groups), all_(groups <= options.all_groups) {}

    /// Blocks [first, last) of eight groups.
    struct Blocks {
        std::size_t first, last;
        [[nodiscard]] std::size_t lanes() const noexcept { return (last - first) * GaussianLanes::kLanes; }
    };
    /// The blocks that an entry of this group is compared with.
    [[nodiscard]] Blocks near(std::size_t group) const noexcept;

    /// Expected log density of g_j over f_i for the lanes of the blocks, up to d/2 log 2 pi; -inf for empty groups.
    /// It falls with KL(f_i || g_j): the two differ by a constant of f_i and their sign.
    void compare(std::size_t entry, const Blocks& blocks, double* out) const noexcept;

    void set(std::size_t group, const Moments& moments) noexcept;
    void clear(std::size_t group) noexcept { lanes_.clear(group); }

    /// Every group's Gaussian from the entries mapped to it.
    void refit(std::span<const std::int32_t> group_of, std::size_t groups);

  private:
    const Level& level_;
    GaussianLanes lanes_;
    bool all_;
};

/// The first mapping: 0.75 M entries to each group, along the z-curve of their means.
[[nodiscard]] std::vector<std::int32_t> first_mapping(const Level& level, const BuildOptions& options);

/// How a lone entry chooses the group it joins, given its expected log density.
enum class Closeness {
    kDivergence,      // the smallest KL divergence
    kResponsibility,  // the highest z_ij of virtual sampling, with the group's share of the entries as its weight
};

/// Groups of at most fanout entries from any mapping to groups 0, 1, ...: groups that are too large are cut across the
/// dimension of their highest variance; a lone entry then joins the closest group that has a free slot, and stays alone
/// if there is none.
[[nodiscard]] Groups keep_fanout(const Level& level, std::span<const std::int32_t> group_of, Closeness closeness,
                                 const BuildOptions& options);

}  // namespace anystream::bayes_tree
