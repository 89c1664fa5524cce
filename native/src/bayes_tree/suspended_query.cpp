// A query in progress as bytes, and back.
#include "anystream/bayes_tree/query.hpp"
#include "anystream/state_bytes.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::uint32_t kVersion = 3;

}  // namespace

std::vector<std::byte> Query::suspend() const {
    StateWriter out;
    out.value(kVersion);
    out.value(settings_.descent);
    out.value(settings_.decision);
    out.value(settings_.refined_classes);
    out.value(settings_.root_weight);
    out.value(static_cast<std::uint8_t>(settings_.certify));
    out.array(vote_);
    out.value(static_cast<std::uint64_t>(classes_));
    out.value(steps_);
    out.value(static_cast<std::uint64_t>(open_classes_));
    out.array(x_);
    out.array(turns_);
    for (std::size_t c = 0; c < classes_; ++c) {
        const ClassState& state = state_[c];
        out.array(state.entries);
        out.array(state.kernel_log2);
        out.array(state.kernel_value);
        out.value(state.sum);
        out.value(state.peak);
        out.value(state.origin);
        out.value(state.history);
        out.value(state.since);
    }
    if (settings_.certify) out.array(certificate_.sums());
    return out.take();
}

void Query::resume(const Forest& forest, std::span<const std::byte> bytes) {
    StateReader in(bytes);
    StateReader::require(in.value<std::uint32_t>() == kVersion, "it was written by another version");
    Query next;
    next.settings_.descent = in.choice(Descent::depth_first);
    next.settings_.decision = in.choice(Decision::nearest);
    next.settings_.refined_classes = in.value<std::int32_t>();
    next.settings_.root_weight = in.value<double>();
    next.settings_.certify = in.flag();
    in.array(next.vote_);
    next.classes_ = in.value<std::uint64_t>();
    StateReader::require(next.classes_ == forest.classes(), "the number of classes differs");
    StateReader::require(next.settings_.refined_classes >= kPublishedK, "its settings are damaged");
    StateReader::require(next.vote_.empty() || next.vote_.size() == next.classes_, "its votes are damaged");
    next.steps_ = in.value<std::int64_t>();
    StateReader::require(next.steps_ >= 0 && static_cast<std::uint64_t>(next.steps_) <= forest.nodes(),
                         "its steps are damaged");
    StateReader::require(next.settings_.root_weight >= 0.0 && std::isfinite(next.settings_.root_weight),
                         "its settings are damaged");
    next.open_classes_ = in.value<std::uint64_t>();
    in.array(next.x_);
    StateReader::require(next.x_.size() == forest.dimensions(), "the number of features differs");
    StateReader::require_record(next.x_);
    for (const float value : next.x_) next.missing_ |= value != value;
    in.array(next.turns_);
    next.state_.resize(next.classes_);
    std::size_t refinable = 0;
    for (ClassState& state : next.state_) {
        in.array(state.entries);
        in.array(state.kernel_log2);
        in.array(state.kernel_value);
        StateReader::require(state.kernel_log2.size() == state.kernel_value.size(), "its kernels are damaged");
        state.sum = in.value<double>();
        state.peak = in.value<double>();
        state.origin = in.value<double>();
        state.history = in.value<Scaled>();
        state.since = in.value<std::int64_t>();
        StateReader::require(state.since >= 0 && state.since <= next.steps_, "its steps are damaged");
        refinable += !state.entries.empty();
        for (const Entry& entry : state.entries)
            StateReader::require(entry.node >= 0 && static_cast<std::size_t>(entry.node) < forest.nodes(),
                                 "it refers to nodes that the model does not have");
    }
    std::vector<Certificate::Sums> sums;
    if (next.settings_.certify) in.array(sums);
    in.end();
    StateReader::require(sums.size() == (next.settings_.certify ? next.classes_ : 0), "its bounds are damaged");
    StateReader::require(next.open_classes_ == refinable || next.open_classes_ == 0, "its frontiers are damaged");
    for (const std::int32_t c : next.turns_)
        StateReader::require(c >= 0 && static_cast<std::size_t>(c) < next.classes_, "its turns are damaged");
    next.key_.resize(next.classes_);
    if (next.settings_.certify) {
        next.open_certificate(forest);
        next.certificate_.set_sums(std::move(sums));
        next.decided_ = !next.exhausted() && next.certificate_.decided();
    }
    for (std::size_t c = 0; c < next.classes_; ++c) next.order(c);
    next.roots_read_ = true;
    next.reserve_lanes(forest);
    *this = std::move(next);
}

}  // namespace anystream::bayes_tree
