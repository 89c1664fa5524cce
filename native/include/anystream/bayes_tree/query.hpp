// One query in progress: a frontier per class, refined step by step, with an answer at any time.
//
// A frontier is the set of entries that represents a class at present (F_l(t), Eq. 6). Log densities are base 2. With
// v_e = log2(n_e g(x, mu_e, sigma_e)) a class's share of the joint density is proportional to sum_e 2^v_e: the priors
// and the weights n_e / n_l cancel. The sum is kept as a double relative to 2^origin, so that neither adding an entry
// nor comparing classes needs a logarithm.
//
// The root model, if the forest has one, has a vote of its own. Before the first step it alone gives the answer; in the
// end the answer is proportional to the decision's score times the root model's posterior to the power of root_weight.
// In between the exponents change from the one to the other by the shares of `hand_over`: a score of few entries counts
// less.
//
// With a first look (first_look.hpp) the answer before the first step is that of the look. The first step replaces it
// by the answer that a query without a look begins with; `tree_steps` counts the refinements after it.
//
// A query for a certificate refines where its bounds are open (certificate.hpp) and ends when they decide the label of
// the mixture of all kernels. From then on that label is its answer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/bayes_tree/certificate.hpp"
#include "anystream/bayes_tree/first_look.hpp"
#include "anystream/bayes_tree/forest.hpp"
#include "anystream/bayes_tree/frontier.hpp"
#include "anystream/bayes_tree/unknown_directions.hpp"
#include "anystream/scaled.hpp"
#include "anystream/stop.hpp"

namespace anystream::bayes_tree {

enum class Descent : std::int32_t { global_best, breadth_first, depth_first };
enum class Decision : std::int32_t { mixture, ensemble, nearest };

inline constexpr std::int32_t kAutomaticK = 0;  // max(4, floor(log2 L)): with two, the true class is refined too rarely
inline constexpr std::int32_t kPublishedK = -1;  // max(2, floor(log2 L))
inline constexpr std::int32_t kPrintedK = -2;    // min(2, floor(log2 L)), at least 1

/// Steps at which the share of the trees is given: 1, 2, 4, ... 128.
inline constexpr std::size_t kHandOverStages = 8;
using HandOver = std::array<double, kHandOverStages>;
/// The trees take over evenly in eight steps.
inline constexpr HandOver kEvenHandOver{0.125, 0.25, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0};

struct QuerySettings {
    Descent descent = Descent::global_best;
    Decision decision = Decision::ensemble;
    std::int32_t refined_classes = kAutomaticK;  // k of qbk
    double root_weight = 0.0;                    // beta: the power of the root model's posterior in the vote
    HandOver hand_over = kEvenHandOver;          // shares of the trees, from 0 before the first step
    bool certify = false;                        // refine for a certificate; descent and refined_classes are not read
};

/// Reusable: `open` starts a new query in the memory of the last one. One thread at a time.
class Query {
  public:
    using Model = Forest;
    using Settings = QuerySettings;
    static constexpr std::size_t kRecordsPerTask = 32;
    static constexpr std::int64_t kRoundSteps = 8;

    /// Whether a first look serves the queries of a forest: it has all of its classes, and these have records.
    [[nodiscard]] static bool looks_first(const Forest& forest, const FirstLook* look) noexcept;

    /// Whether the answers before the first step are those of the root model alone, whatever the record, if it is
    /// complete: `root_posterior` of its votes.
    [[nodiscard]] static bool root_model_answers(const Forest& forest, const QuerySettings& settings) noexcept;
    /// The probabilities that are proportional to 2^vote; 0 for a class without records.
    static void root_posterior(std::span<const double> votes, std::span<double> out) noexcept;

    /// After this there is an answer: that of the first look, else the root model's, or that of the root entries if
    /// there is none; the priors if nothing of the record is known.
    void open(const Forest& forest, const QuerySettings& settings, const TreeRecord& record);

    /// Evaluates the root entries unless that is done. The first step does it; `frontier` and `suspend` need it.
    void read_roots(const Forest& forest);

    /// One refinement: the entry of highest priority, of the class whose turn it is, is replaced by its children. False
    /// if there is nothing left to refine, or the label is certified. Meanwhile `ahead` is fetched, if there is one,
    /// else the node of the next turn.
    bool step(const Forest& forest, const NodeAhead& ahead = {});
    /// The node of the next step, to be fetched by the step of another query; none if that is not known.
    [[nodiscard]] NodeAhead look_ahead(const Forest& forest);

    std::int64_t advance(const Forest& forest, std::int64_t steps, StopWatch* watch) {
        return advance_stepwise(*this, forest, steps, watch);
    }

    [[nodiscard]] std::int64_t steps() const noexcept { return steps_ + (look_state_ == Look::past); }
    /// Steps that refined a tree.
    [[nodiscard]] std::int64_t tree_steps() const noexcept { return steps_; }
    /// Whether the answer is that of the first look.
    [[nodiscard]] bool looking() const noexcept { return look_state_ == Look::present; }
    /// No step is left.
    [[nodiscard]] bool exhausted() const noexcept { return !looking() && open_classes_ == 0; }
    /// No step could change the label.
    [[nodiscard]] bool certified() const noexcept { return !looking() && (decided_ || open_classes_ == 0); }
    /// Bounds on the probabilities of the classes once every entry is refined: (classes, 2), 0 and 1 unless the query
    /// is for a certificate.
    void posterior_bounds(std::span<double> out) const;
    /// The decision's probabilities; they sum to 1.
    void posterior(const Forest& forest, std::span<double> out) const;
    /// The calibrated probabilities of the first look, which the answer is now.
    void calibrated_look(std::span<double> out) const {
        look_posterior(look_.score, look_.sharpness, look_.floor, out);
    }
    [[nodiscard]] std::size_t label(const Forest& forest) const;

    /// The log2 scores of the trees alone (-1e30: no record), and the votes of the root model (0: it has none).
    void log2_scores(const Forest& forest, std::span<double> scores, std::span<double> votes);
    /// Whether all values of the record are missing: then the answer is the priors.
    [[nodiscard]] bool nothing_known() const noexcept;

    /// The record in the standardised space.
    [[nodiscard]] std::span<const float> record() const noexcept { return x_; }
    /// One entry of a frontier, for inspection.
    struct FrontierEntry {
        std::int32_t point_class;
        std::int32_t child;  // the node it can be refined to, or -1 for a kernel
        float log2_value;    // v_e
    };
    [[nodiscard]] std::vector<FrontierEntry> frontier() const;

    /// The state for `resume`, which continues bit for bit; the forest is not part of it.
    [[nodiscard]] std::vector<std::byte> suspend() const;
    /// Throws std::invalid_argument if the state is not one of a query of this forest.
    void resume(const Forest& forest, std::span<const std::byte> state);

  private:
    enum class Look : std::uint8_t { none, present, past };  // of the first look: the answer now, or one step before

    struct ClassState {
        Frontier frontier;               // what can be refined
        std::vector<float> kernel_log2;  // v of the kernels
        double sum = 0.0;                // of all values
        double peak = 0.0;  // the largest sum since they were last added up: its rounding error is relative to it
        double origin = 0.0;
        Scaled history;          // Eq. 20: sums of the frontiers before `since`, times how long each one stood,
        double recent = 0.0;     // and of those with the present origin, relative to it
        std::int64_t since = 0;  // the step at which the present frontier began
    };

    void reserve_lanes(const Forest& forest);
    /// Evaluates the entries of a node or of a block of roots; the results of its lanes begin at `first`.
    void evaluate(const Forest& forest, const NodeView& node, std::size_t point_class, std::size_t first);
    [[nodiscard]] float kernel_peak(const Forest& forest, std::size_t point_class) const noexcept;
    void evaluate_kernels(const Forest& forest, const NodeView& node, std::size_t point_class, std::size_t first);
    void evaluate_covariances(const Forest& forest, const NodeView& node, std::size_t first);
    void evaluate_partly(const Forest& forest, const NodeView& node, std::size_t point_class, std::size_t first);
    void evaluate_projected(const Forest& forest, const NodeView& node, std::size_t point_class, std::size_t first);
    void project(const Forest& forest, const TreeRecord& record);
    /// The variances of a class's kernel along the rows of the projection.
    void project_kernel(const Forest& forest, std::size_t point_class, std::span<double> variance) const noexcept;
    /// Adds up to eight children of an inner node, whose results begin at lane `first`; `child_bits` has eight lanes.
    /// False if their values are too high for the origin: the class's sum is not valid any more.
    [[nodiscard]] bool add_children(const Forest& forest, std::size_t point_class, const float* child_bits,
                                    std::size_t count, std::size_t first);
    /// Adds all children of an inner node; returns the same.
    [[nodiscard]] bool add_inner(const Forest& forest, std::size_t point_class, const NodeView& node);
    /// Evaluates and adds the kernels of a leaf; returns the same.
    [[nodiscard]] bool add_leaf(const Forest& forest, std::size_t point_class, const NodeView& node);
    void rebase(ClassState& state);
    void order(std::size_t point_class);
    /// No class is chosen, and none has anything to refine.
    void begin_turns();
    void choose_classes();
    std::size_t choose_among_many(std::size_t count);
    [[nodiscard]] NodeAhead next_turn(const Forest& forest) const noexcept;
    [[nodiscard]] std::size_t next_class();
    void replace(const Forest& forest, std::size_t point_class, const Frontier::Entry& refined);
    void look_first(const TreeRecord& record);
    void require_look() const;
    void evaluate_root_model(const Forest& forest, const TreeRecord& record);
    /// The share of the trees in the decision.
    [[nodiscard]] double tree_share() const noexcept;
    void open_certificate(const Forest& forest);
    void refine_bounds(const Forest& forest, std::size_t point_class, std::int32_t refined, const NodeView& node);
    void add_up_bounds(const Forest& forest, std::size_t point_class);
    /// The class to be refined next for a certificate.
    [[nodiscard]] std::size_t widest_class() const;
    [[nodiscard]] Scaled score(std::size_t point_class) const;
    void require_projection() const;
    void require_votes(const Forest& forest) const;
    void require_sums(const ClassState& state, const std::vector<Frontier::Entry>& entries) const;
    void require_frontiers(const Forest& forest) const;

    static constexpr double kCancelled = 1e-7;  // a sum that fell below this share of its peak is summed again

    QuerySettings settings_;
    std::size_t classes_ = 0;
    std::int64_t steps_ = 0;
    std::size_t open_classes_ = 0;  // classes with something left to refine
    bool roots_read_ = false;
    bool missing_ = false;            // values of x_ are NaN
    bool decided_ = false;            // the certificate decides the label
    std::vector<float> x_;            // standardised
    std::vector<double> projection_;  // (known, d) the complement of unknown directions; empty: x_ is known, except NaN
    std::vector<ClassState> state_;   // at least `classes_` long; the rest is spare memory
    std::vector<double> key_;  // per class: grows with its joint density; -inf with nothing left to refine, and behind
                               // the last class up to kFewClasses
    std::vector<std::int32_t>
        candidates_;                   // of many: all classes, those of the last round first, once they were chosen
    std::size_t per_round_ = 0;        // k of qbk
    std::vector<std::int32_t> turns_;  // classes still to be refined before the classes are ordered again, last first
    NodeAhead ahead_{};                // fetched beside the node that is evaluated

    // results of `evaluate` for the lanes of a node
    std::vector<float> log2_density_, log2_value_;
    std::vector<float> deviation_;     // scratch: of x from a mean, by panels
    Certificate certificate_;          // open if settings_.certify
    std::vector<std::int32_t> nodes_;  // scratch: of a frontier
    Look look_state_ = Look::none;
    LookScores look_;           // if the answer is that of the first look
    std::vector<double> vote_;  // (classes,) log2 of the root model's joint densities; empty: it has no vote
};

}  // namespace anystream::bayes_tree
