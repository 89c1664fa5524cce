// One subspace sample in one level: which points agree with the query in the drawn dimensions, and how they vote.
#pragma once

#include <cstdint>
#include <vector>

#include "anystream/subspace/dimension_draw.hpp"
#include "anystream/subspace/level.hpp"

namespace anystream::subspace {

/// exp(-rate * distance), but never 0; from a table for common distances.
class Fading {
  public:
    explicit Fading(double rate);
    [[nodiscard]] double at(std::uint32_t distance) const {
        return distance < table_.size() ? table_[distance] : compute(distance);
    }
    [[nodiscard]] std::size_t own_bytes() const noexcept { return table_.capacity() * sizeof(double); }

  private:
    [[nodiscard]] double compute(std::uint32_t distance) const;

    double rate_;
    std::vector<double> table_;
};

/// How a sample ends and votes. Distances are in ranges, added up over the dimensions.
struct VoteRule {
    std::size_t support;  // m: a subspace of at most this many points is not narrowed further
    double smoothing;     // a: the weight of the level's class shares in a vote
    Fading kernel;        // the weight of a point, by how much further away than the nearest one it is
    Fading affinity;      // the weight of the sample, by the distance of its nearest point
    std::uint32_t apart;  // the distance of unrelated points
};

/// A query in a level: the range of each of its values; the lists of those that separate points, and their weights in
/// draws.
struct LevelView {
    bool open = false;
    std::vector<std::uint8_t> code;
    std::vector<std::uint32_t> lists;
    DimensionWeights weights;  // of the lists

    void look(const Level& level, const float* x);
    /// Allocates what looking at a level of this shape needs.
    void reserve(const Level& level);

  private:
    std::vector<std::uint32_t> unknown_;  // lists whose weights are to be computed
    std::vector<float> weight_;
    WeighingScratch scratch_;
};

/// vote_c = value[c] + prior * (share of c in the level). Only the classes in `touched` have a value.
struct Vote {
    std::vector<double> value;
    std::vector<std::int32_t> touched;
    double prior = 0.0;

    void clear(std::size_t classes);
    /// Allocates what votes of up to `points` points of `classes` classes need.
    void reserve(std::size_t classes, std::size_t points);
    void add(std::int32_t c, double amount) {
        if (value[static_cast<std::size_t>(c)] == 0.0) touched.push_back(c);
        value[static_cast<std::size_t>(c)] += amount;
    }
};

/// Scratch memory of one thread.
class LevelSampler {
  public:
    /// Draws dimensions by weight; U is the points that share the query's range in all of them. A dimension that would
    /// leave none is skipped. Ends when U is of one class or has at most `support` points, or no dimension is left.
    void sample(const Level& level, const LevelView& view, const VoteRule& rule, Generator& random, Vote& vote);

    /// Allocates what samples of a level of this shape need.
    void reserve(const Level& level);

  private:
    static constexpr std::size_t kMaxWeighed = 64;  // points of U whose votes are weighted one by one
    static constexpr std::size_t kMaxCompared = 8;  // points of a pure or larger U that are compared

    void vote_weighed(const Level& level, const LevelView& view, const VoteRule& rule, const std::uint64_t* points,
                      Vote& vote);
    void vote_counted(const Level& level, const LevelView& view, const VoteRule& rule, const std::uint64_t* points,
                      std::uint32_t size, std::int32_t pure_class, Generator& random, Vote& vote);

    DimensionDraw draw_;
    std::vector<std::uint64_t> narrowed_[2];
    std::uint32_t place_[kMaxWeighed];     // of points that are compared
    std::uint32_t distance_[kMaxWeighed];  // from the query
    double amount_[kMaxWeighed];           // of their votes
};

}  // namespace anystream::subspace
