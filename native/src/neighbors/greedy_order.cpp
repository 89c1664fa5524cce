// Greedy order, best first: the most accurate one in our measurements.
//
// s(p) and o(p) are the powers from training record p to the nearest chosen exemplar of its own class and of another;
// ratio(p) = s / (s + o) measures how wrong p is. Its loss rises from 0 at a ratio of kRight to 1 at kWrong: counting
// errors alone ignores everything that lies far from the present border.
//
//   1. One exemplar of each class, chosen together: each in turn is replaced by the one of lowest loss.
//   2. Up to kHead exemplars: of some candidates, records that are wrong and others, the one that lowers the loss most,
//      until none does.
//   3. The others as SimpleRank has them.
//
// A record whose label differs from most of its three nearest is treated as noise: it does not count and is not a
// candidate. Of many records a sample is used, for counting and as candidates. The sample lies sorted by class, so that
// "own class" is a range and the loops over records have no branches.
#include <algorithm>
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
constexpr std::size_t kPatience = 8;        // draws of candidates in a row that find nothing
constexpr std::size_t kMaxVectors = 16384;  // of the sample
constexpr std::size_t kMaxOthers = 2048;    // of the sample, where a comparison is expensive: their powers are kept
constexpr float kRight = 0.45f, kWrong = 0.55f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline float loss(float own, float other) noexcept {
    const float whole = own + other;
    const float ratio = !(own < kInfinity) ? 1.0f : !(other < kInfinity) ? 0.0f : whole > 0.0f ? own / whole : 0.5f;
    return std::clamp((ratio - kRight) / (kWrong - kRight), 0.0f, 1.0f);
}

class Greedy {
  public:
    Greedy(const Space& space, std::span<const std::int32_t> labels, std::size_t classes, const OrderWork& work)
        : work_(work), classes_(classes), random_(work.seed), keeps_(space.stride() < kBlockLanes) {
        draw_sample(space, labels,
                    suspected_noise(space, labels, classes, {.threads = work.threads, .stop = work.stop}));
        own_.assign(sample_.size(), kInfinity);
        other_.assign(sample_.size(), kInfinity);
        loss_.resize(sample_.size());
        chosen_.assign(sample_.size(), false);
        kept_.resize(keeps_ ? sample_.size() : 0);
    }

    /// Positions of the chosen exemplars among all, in the order of choice.
    Order run() {
        choose_setup();
        choose_head();
        return order_;
    }

  private:
    using Powers = std::vector<float>;

    void draw_sample(const Space& space, std::span<const std::int32_t> labels, const std::vector<bool>& noise) {
        std::vector<std::int64_t> clean;
        for (std::size_t i = 0; i < labels.size(); ++i)
            if (!noise[i]) clean.push_back(static_cast<std::int64_t>(i));
        const std::size_t max_judges = keeps_ ? kMaxOthers : kMaxVectors;
        for (std::size_t i = 0; i < std::min(max_judges, clean.size()); ++i)  // the first ones of a shuffle
            std::swap(clean[i], clean[i + draw(clean.size() - i)]);
        clean.resize(std::min(max_judges, clean.size()));
        std::vector<bool> present(classes_, false);
        for (const std::int64_t i : clean) present[label_of(labels, i)] = true;
        for (std::size_t i = 0; i < labels.size(); ++i) {  // every class is in the sample
            const auto at = static_cast<std::int64_t>(i);
            if (!present[label_of(labels, at)]) clean.push_back(at);
            present[label_of(labels, at)] = true;
        }
        std::sort(clean.begin(), clean.end(), [&](auto a, auto b) {
            return std::pair(label_of(labels, a), a) < std::pair(label_of(labels, b), b);
        });
        sample_ = std::move(clean);
        sorted_ = space.permuted(sample_);
        begin_.assign(classes_ + 1, 0);
        for (const std::int64_t i : sample_) {
            label_.push_back(label_of(labels, i));
            ++begin_[label_.back() + 1];
        }
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        room_ = (sample_.size() + kBlockLanes - 1) / kBlockLanes * kBlockLanes;
    }

    static std::size_t label_of(std::span<const std::int32_t> labels, std::int64_t i) noexcept {
        return static_cast<std::size_t>(labels[static_cast<std::size_t>(i)]);
    }

    [[nodiscard]] std::size_t draw(std::size_t size) { return static_cast<std::size_t>(random_() % size); }

    Powers powers_of(std::size_t p, Probe& probe) {
        if (keeps_ && !kept_[p].empty()) return kept_[p];
        Powers powers(room_);
        probe.open(*sorted_, sorted_->row(p));
        if (keeps_) {  // each takes long: look between them
            for (std::size_t i = 0; i < sorted_->size(); ++i) {
                throw_if_stopped(work_);
                double power = 0.0;
                probe.powers(*sorted_, i, i + 1, {&power, 1});
                powers[i] = static_cast<float>(power);
            }
        } else {
            probe.rough_powers(*sorted_, powers);
        }
        if (keeps_) kept_[p] = powers;
        return powers;
    }

    /// How much the loss falls if an exemplar of class c with these powers is added.
    [[nodiscard]] double gain(const Powers& powers, std::size_t c) const noexcept {
        float sum = 0.0f;
        const auto others = [&](std::size_t first, std::size_t last) {
            for (std::size_t p = first; p < last; ++p) sum += loss_[p] - loss(own_[p], std::min(other_[p], powers[p]));
        };
        others(0, begin_[c]);
        others(begin_[c + 1], own_.size());
        for (std::size_t p = begin_[c]; p < begin_[c + 1]; ++p)
            sum += loss_[p] - loss(std::min(own_[p], powers[p]), other_[p]);
        return static_cast<double>(sum);
    }

    struct Choice {
        std::size_t place = 0;
        Powers powers;
        double gain = 0.0;
    };

    /// The candidate whose addition lowers the loss most; among equal ones the first.
    Choice best_of(std::vector<std::size_t> candidates) {
        std::sort(candidates.begin(), candidates.end());
        candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
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
        return {candidates[at], std::move(powers[at]), gains[at]};
    }

    void include(std::size_t c, const Powers& powers) noexcept {
        for (std::size_t p = 0; p < own_.size(); ++p) {
            float& nearest = p >= begin_[c] && p < begin_[c + 1] ? own_[p] : other_[p];
            nearest = std::min(nearest, powers[p]);
            loss_[p] = loss(own_[p], other_[p]);
        }
    }

    void take(const Choice& choice) {
        order_.push_back(sample_[choice.place]);
        chosen_[choice.place] = true;
        include(label_[choice.place], choice.powers);
        throw_if_stopped(work_);
    }

    void forget_nearest() noexcept {
        std::fill(own_.begin(), own_.end(), kInfinity);
        std::fill(other_.begin(), other_.end(), kInfinity);
        std::fill(loss_.begin(), loss_.end(), loss(kInfinity, kInfinity));
    }

    void choose_setup() {
        std::vector<Choice> first(classes_);
        for (std::size_t round = 0; round < kSetupRounds; ++round)
            for (std::size_t c = 0; c < classes_; ++c) {
                if (begin_[c] == begin_[c + 1]) continue;
                forget_nearest();
                for (std::size_t b = 0; b < classes_; ++b)
                    if (b != c && !first[b].powers.empty()) include(b, first[b].powers);
                std::vector<std::size_t> candidates;
                if (!first[c].powers.empty()) candidates.push_back(first[c].place);
                for (std::size_t i = 0; i < kCandidates; ++i)
                    candidates.push_back(begin_[c] + draw(begin_[c + 1] - begin_[c]));
                first[c] = best_of(std::move(candidates));
            }
        forget_nearest();
        for (const Choice& choice : first)
            if (!choice.powers.empty()) take(choice);
    }

    void choose_head() {
        const std::size_t n = own_.size();
        for (std::size_t idle = 0; order_.size() < std::min(kHead, n) && idle < kPatience; ++idle) {
            std::vector<std::size_t> wrong, candidates;
            for (std::size_t p = 0; p < n; ++p)
                if (!chosen_[p] && !(own_[p] < other_[p])) wrong.push_back(p);
            for (std::size_t i = 0; i < kCandidates; ++i) {
                const std::size_t p = i % 8 < 3 && !wrong.empty() ? wrong[draw(wrong.size())] : draw(n);
                if (!chosen_[p]) candidates.push_back(p);
            }
            if (candidates.empty()) continue;
            const Choice choice = best_of(std::move(candidates));
            if (!(choice.gain > 0.0)) continue;
            take(choice);
            idle = 0;
        }
    }

    const OrderWork& work_;
    std::size_t classes_;
    std::mt19937_64 random_;
    bool keeps_;                        // powers are kept because they are expensive
    std::vector<std::int64_t> sample_;  // positions among all, by class
    std::unique_ptr<Space> sorted_;
    std::vector<std::size_t> label_, begin_;
    std::size_t room_ = 0;
    std::vector<float> own_, other_, loss_;  // of each record of the sample
    std::vector<bool> chosen_;
    std::vector<Powers> kept_;
    Order order_;
};

}  // namespace

Order greedy_order(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                   const OrderWork& work) {
    if (space.size() == 0) return {};
    const Order rest = simple_rank(space, labels, classes, work);
    Order order = Greedy(space, labels, classes, work).run();
    std::vector<bool> taken(space.size(), false);
    for (const std::int64_t i : order) taken[static_cast<std::size_t>(i)] = true;
    for (const std::int64_t i : rest)
        if (!taken[static_cast<std::size_t>(i)]) order.push_back(i);
    return order;
}

}  // namespace anystream::neighbors
