// A sequential test whether enough samples were taken; it may be evaluated after every sample.
//
// For each class a the wealth of a gambler who bets that a's mean vote is above every other's: it is multiplied by
// 1 + lambda * x, where x in [-1, 1] is a's vote minus the largest other vote, weighted by the trust in the memory that
// the sample came from. If a is not the winner of infinitely many samples, the expected wealth never rises above
// exp(lambda * drift), where `drift` bounds how far the numbers of samples per memory differ from the proportions of
// their trust. By Ville's inequality the wealth ever reaches classes / error * exp(lambda * drift) with
// probability at most error / classes: whichever class is announced, it is the wrong one with probability at most
// `error`, however often it is evaluated. The gambler spreads the stake over several lambdas.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "anystream/portable_math.hpp"

namespace anystream::subspace {

class SequentialTest {
  public:
    void begin(std::size_t classes) {
        wealth_.assign(classes * kBets.size(), 1.0);
        votes_.assign(classes, 0.0);
    }

    /// The votes of the next sample, one per class, to be filled before `update`.
    [[nodiscard]] std::vector<double>& votes() noexcept { return votes_; }

    /// `scale` in [0, 1] weights the sample.
    void update(double scale) {
        double first = 0.0, second = 0.0;
        for (const double vote : votes_) {
            if (vote > first) {
                second = first;
                first = vote;
            } else if (vote > second) {
                second = vote;
            }
        }
        for (std::size_t a = 0; a < votes_.size(); ++a) {
            const double x = scale * (votes_[a] == first ? first - second : votes_[a] - first);
            for (std::size_t b = 0; b < kBets.size(); ++b) wealth_[a * kBets.size() + b] *= 1.0 + kBets[b] * x;
        }
    }

    /// Whether class a may be announced as the winner.
    [[nodiscard]] bool decided(std::size_t a, double error, double drift) const {
        double mean = 0.0;
        for (std::size_t b = 0; b < kBets.size(); ++b)
            mean += wealth_[a * kBets.size() + b] * portable_exp(-kBets[b] * drift);
        mean /= static_cast<double>(kBets.size());
        return mean * error >= static_cast<double>(votes_.size());
    }

    [[nodiscard]] std::vector<double>& wealth() noexcept { return wealth_; }
    [[nodiscard]] const std::vector<double>& wealth() const noexcept { return wealth_; }

  private:
    static constexpr std::array kBets{0.25, 0.5, 0.75, 0.95};

    std::vector<double> wealth_;  // (classes, bets)
    std::vector<double> votes_;
};

}  // namespace anystream::subspace
