// Best first: the order that our measurements favour.
//
// s(p) and o(p) are the powers from training object p to the nearest chosen exemplar of its own class and of another;
// p is right if s(p) < o(p), and ratio(p) = s / (s + o) says how clearly.
//
//   1. One exemplar of each class, chosen together: each in turn is replaced by what leaves the least loss.
//   2. Up to kHead exemplars: of some candidates (objects that are wrong, and others) the one that lowers the loss
//   most;
//      the loss counts the wrong objects, and softly those near the border.
//   3. The others: again and again the object of highest ratio. It lies where the chosen ones say least.
//   4. What disagrees with most of its three nearest is suspected to be noise: it has no say and comes last, the least
//      harmful first.
//
// The objects lie sorted by class, so that "own class" is a range and the loops over objects have no branches.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "anystream/neighbors/orderings.hpp"
#include "anystream/parallel.hpp"

namespace anystream::neighbors {

namespace {

constexpr std::size_t kHead = 1000;
constexpr std::size_t kCandidates = 48;
constexpr std::size_t kSetupRounds = 2;
constexpr std::size_t kMostPairs = 4096;  // of exemplars that are compared pair by pair, this many judge
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kSoft = 0.3f;   // weight of what is near the border
constexpr float kNear = 0.35f;  // ratios above are near it

inline float loss(float own, float other) noexcept {
    const float whole = own + other;
    const float ratio = own < kInfinity ? (whole > 0.0f ? (other < kInfinity ? own / whole : 0.0f) : 0.5f) : 1.0f;
    const float soft = ratio > kNear ? ratio - kNear : 0.0f;
    return (ratio < 0.5f ? 0.0f : 1.0f) + kSoft * soft;
}

class Greedy {
  public:
    Greedy(const Space& space, std::span<const std::int32_t> labels, std::size_t classes, const OrderWork& work)
        : work_(work), classes_(classes), random_(work.seed) {
        noise_ = suspected_noise(space, labels, classes, work);
        sort_by_class(space, labels);
        const std::size_t n = sorted_->size();
        own_.assign(n, kInfinity);
        other_.assign(n, kInfinity);
        chosen_.assign(n, false);
        room_ = (n + kBlockLanes - 1) / kBlockLanes * kBlockLanes;
    }

    Order run() {
        choose_setup();
        choose_head();
        choose_rest();
        append_noise();
        Order order;
        for (const std::size_t p : picked_) order.push_back(original_[p]);
        return order;
    }

  private:
    using Powers = std::vector<float>;

    void sort_by_class(const Space& space, std::span<const std::int32_t> labels) {
        original_.resize(space.size());
        std::iota(original_.begin(), original_.end(), 0);
        const auto place = [&](std::int64_t i) { return std::pair(labels[static_cast<std::size_t>(i)], i); };
        std::sort(original_.begin(), original_.end(), [&](auto a, auto b) { return place(a) < place(b); });
        sorted_ = space.permuted(original_);
        begin_.assign(classes_ + 1, 0);
        std::vector<bool> noise(noise_.size());
        for (std::size_t p = 0; p < original_.size(); ++p) {
            const auto i = static_cast<std::size_t>(original_[p]);
            label_.push_back(static_cast<std::size_t>(labels[i]));
            ++begin_[label_.back() + 1];
            noise[p] = noise_[i];
        }
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        noise_ = std::move(noise);
        weight_.resize(noise_.size());
        for (std::size_t p = 0; p < noise_.size(); ++p) weight_[p] = noise_[p] ? 0.0f : 1.0f;
        if (std::all_of(noise_.begin(), noise_.end(), [](bool each) { return each; }))  // nothing else to go by
            weight_.assign(noise_.size(), 1.0f), noise_.assign(noise_.size(), false);
    }

    [[nodiscard]] Powers powers_of(std::size_t p, Probe& probe) const {
        Powers powers(room_);
        probe.open(*sorted_, sorted_->row(p));
        probe.rough_powers(*sorted_, powers);
        return powers;
    }

    /// How much the loss falls if an exemplar of class c with these powers is added.
    [[nodiscard]] double gain(const Powers& powers, std::size_t c) const noexcept {
        double total = 0.0;
        const auto part = [&](std::size_t first, std::size_t last, bool same) {
            float sum = 0.0f;
            for (std::size_t p = first; p < last; ++p) {
                const float own = same ? std::min(own_[p], powers[p]) : own_[p];
                const float other = same ? other_[p] : std::min(other_[p], powers[p]);
                sum += weight_[p] * (loss(own_[p], other_[p]) - loss(own, other));
            }
            total += static_cast<double>(sum);
        };
        part(0, begin_[c], false);
        part(begin_[c], begin_[c + 1], true);
        part(begin_[c + 1], own_.size(), false);
        return total;
    }

    void take(std::size_t p, const Powers& powers) {
        picked_.push_back(p);
        chosen_[p] = true;
        include(label_[p], powers);
        if (work_.done != nullptr) work_.done->fetch_add(1, std::memory_order_relaxed);
        if (work_.stop != nullptr && work_.stop->is_set()) throw std::runtime_error("the ordering was stopped");
    }

    void include(std::size_t c, const Powers& powers) noexcept {
        for (std::size_t p = 0; p < own_.size(); ++p) {
            float& nearest = p >= begin_[c] && p < begin_[c + 1] ? own_[p] : other_[p];
            nearest = std::min(nearest, powers[p]);
        }
    }

    /// The candidate whose addition lowers the loss most, and its powers; of equals the first.
    std::pair<std::size_t, Powers> best_of(const std::vector<std::size_t>& candidates, double& best_gain) const {
        std::vector<double> gains(candidates.size());
        std::vector<Powers> powers(candidates.size());
        parallel_for(candidates.size(), 4, work_.threads, [&](std::size_t first, std::size_t last) {
            const auto probe = sorted_->probe();
            for (std::size_t i = first; i < last; ++i) {
                powers[i] = powers_of(candidates[i], *probe);
                gains[i] = gain(powers[i], label_[candidates[i]]);
            }
        });
        const auto at = static_cast<std::size_t>(std::max_element(gains.begin(), gains.end()) - gains.begin());
        best_gain = gains[at];
        return {candidates[at], std::move(powers[at])};
    }

    [[nodiscard]] std::size_t draw(std::size_t size) { return static_cast<std::size_t>(random_() % size); }

    /// Candidates of class c: objects that are not noise, if there are any.
    [[nodiscard]] std::vector<std::size_t> some_of_class(std::size_t c) {
        std::vector<std::size_t> candidates;
        for (std::size_t tries = 0; tries < 4 * kCandidates && candidates.size() < kCandidates; ++tries) {
            const std::size_t p = begin_[c] + draw(begin_[c + 1] - begin_[c]);
            if (!noise_[p]) candidates.push_back(p);
        }
        if (candidates.empty()) candidates.push_back(begin_[c]);
        return candidates;
    }

    void choose_setup() {
        std::vector<std::pair<std::size_t, Powers>> first(classes_);
        for (std::size_t round = 0; round < kSetupRounds; ++round)
            for (std::size_t c = 0; c < classes_; ++c) {
                if (begin_[c] == begin_[c + 1]) continue;
                std::fill(own_.begin(), own_.end(), kInfinity);  // all but the exemplar of class c
                std::fill(other_.begin(), other_.end(), kInfinity);
                for (std::size_t b = 0; b < classes_; ++b)
                    if (b != c && !first[b].second.empty()) include(b, first[b].second);
                auto candidates = some_of_class(c);
                if (!first[c].second.empty()) candidates.push_back(first[c].first);
                double unused;
                first[c] = best_of(candidates, unused);
            }
        std::fill(own_.begin(), own_.end(), kInfinity);
        std::fill(other_.begin(), other_.end(), kInfinity);
        for (const auto& [p, powers] : first)
            if (!powers.empty()) take(p, powers);
    }

    void choose_head() {
        const std::size_t n = own_.size();
        for (std::size_t idle = 0; picked_.size() < std::min(kHead, n) && idle < 3;) {
            std::vector<std::size_t> wrong, candidates;
            for (std::size_t p = 0; p < n; ++p)
                if (!noise_[p] && !chosen_[p] && !(own_[p] < other_[p])) wrong.push_back(p);
            if (wrong.empty()) return;
            for (std::size_t i = 0; i < kCandidates; ++i) {
                const std::size_t p = i % 4 == 3 ? draw(n) : wrong[draw(wrong.size())];
                if (!noise_[p] && !chosen_[p]) candidates.push_back(p);
            }
            if (candidates.empty()) return;
            double best_gain = 0.0;
            const auto [p, powers] = best_of(candidates, best_gain);
            idle = best_gain > 0.0 ? 0 : idle + 1;
            if (best_gain > 0.0) take(p, powers);
        }
    }

    void choose_rest() {
        const auto probe = sorted_->probe();
        for (;;) {
            std::size_t worst = own_.size();
            float highest = -1.0f;
            for (std::size_t p = 0; p < own_.size(); ++p) {
                if (chosen_[p] || noise_[p]) continue;
                const float ratio = own_[p] > 0.0f ? own_[p] / (own_[p] + other_[p]) : 0.0f;
                if (ratio > highest) highest = ratio, worst = p;
            }
            if (worst == own_.size()) return;
            take(worst, powers_of(worst, *probe));
        }
    }

    void append_noise() {
        std::vector<std::size_t> noise;
        for (std::size_t p = 0; p < own_.size(); ++p)
            if (!chosen_[p]) noise.push_back(p);
        std::stable_sort(noise.begin(), noise.end(),
                         [&](std::size_t a, std::size_t b) { return own_[a] * other_[b] < own_[b] * other_[a]; });
        picked_.insert(picked_.end(), noise.begin(), noise.end());
    }

    const OrderWork& work_;
    std::size_t classes_;
    std::mt19937_64 random_;
    std::unique_ptr<Space> sorted_;       // by class
    std::vector<std::int64_t> original_;  // where each came from
    std::vector<std::size_t> label_, begin_;
    std::vector<bool> noise_, chosen_;
    std::vector<float> weight_, own_, other_;
    std::vector<std::size_t> picked_;
    std::size_t room_ = 0;
};

}  // namespace

Order greedy_order(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                   const OrderWork& work) {
    if (space.size() == 0) return {};
    return Greedy(space, labels, classes, work).run();
}

}  // namespace anystream::neighbors
