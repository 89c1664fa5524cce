#include "anystream/microclusters/cluster_query.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "anystream/microclusters/kernels.hpp"

namespace anystream::microclusters {

namespace {

constexpr std::uint32_t kStateVersion = 1;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

void ClusterQuery::open(const Clusters& model, const QuerySettings&, std::span<const double> x) {
    horizon_ = model.horizon();
    steps_ = 0;
    x_.resize(model.stride());
    model.standardise(x.data(), x_.data());
    distance_.assign(model.classes(), kInfinity);
}

bool ClusterQuery::step(const Clusters&) {
    if (exhausted()) return false;
    const auto i = static_cast<std::size_t>(steps_++);
    float& nearest = distance_[static_cast<std::size_t>(horizon_->point_class[i])];
    nearest = std::min(nearest, kernels().squared_distance(x_.data(), horizon_->row(i), horizon_->stride));
    return true;
}

void ClusterQuery::posterior(const Clusters&, std::span<double> out) const {
    const float shortest = *std::min_element(distance_.begin(), distance_.end());
    if (steps_ == 0 || std::isinf(shortest)) {
        std::copy(horizon_->share.begin(), horizon_->share.end(), out.begin());
        return;
    }
    double all = 0.0;
    for (std::size_t c = 0; c < out.size(); ++c) {
        const double ratio = static_cast<double>(shortest) / static_cast<double>(distance_[c]);
        out[c] = distance_[c] == shortest ? 1.0 : std::min(ratio, 1.0 - 1e-9);
        all += out[c];
    }
    for (double& each : out) each /= all;
}

std::size_t ClusterQuery::label(const Clusters& model) const {
    std::vector<double> proba(distance_.size());
    posterior(model, proba);
    return static_cast<std::size_t>(std::max_element(proba.begin(), proba.end()) - proba.begin());
}

std::vector<std::byte> ClusterQuery::suspend() const {
    StateWriter out;
    out.value(kStateVersion);
    out.value(steps_);
    out.value(static_cast<std::uint64_t>(horizon_->size()));
    out.array(x_);
    out.array(distance_);
    return out.take();
}

void ClusterQuery::resume(const Clusters& model, std::span<const std::byte> state) {
    StateReader in(state);
    ClusterQuery next;
    in.require(in.value<std::uint32_t>() == kStateVersion, "it was written by another version");
    next.horizon_ = model.horizon();
    next.steps_ = in.value<std::int64_t>();
    in.require(in.value<std::uint64_t>() == next.horizon_->size(), "the number of clusters differs");
    in.array(next.x_, model.stride(), "the number of features differs");
    in.array(next.distance_, model.classes(), "the number of classes differs");
    in.end();
    in.require(next.steps_ >= 0 && static_cast<std::size_t>(next.steps_) <= next.horizon_->size(),
               "its steps are damaged");
    in.require_record(next.x_);
    for (const float distance : next.distance_) in.require(distance >= 0.0F, "its distances are damaged");
    *this = std::move(next);
}

}  // namespace anystream::microclusters
