#include "anystream/forest/link.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "anystream/portable_math.hpp"

namespace anystream::forest {

namespace {

/// e^x for x <= 0, down to the smallest numbers.
double shrinking(double x) noexcept {
    if (x > -700.0) return portable_exp(x);
    const double root = portable_exp(x * 0.5);  // 0 below -1400, where e^x is 0, too
    return root * root;
}

/// Raises the probability of `label` above all others that keep it from being the first of the highest.
void name_label(std::size_t label, std::span<double> out) noexcept {
    const auto first = static_cast<std::size_t>(std::max_element(out.begin(), out.end()) - out.begin());
    if (first != label) out[label] = std::nextafter(out[first], std::numeric_limits<double>::infinity());
}

}  // namespace

double exponential(double x) noexcept {
    return x <= 0.0 ? shrinking(x) : 1.0 / shrinking(-x);
}

template <typename T>
T sigmoid(T z) noexcept {
    return T{1} / (T{1} + static_cast<T>(exponential(-static_cast<double>(z))));
}

template <typename T>
void probabilities(const Link& link, std::span<const T> scores, std::span<double> out) noexcept {
    const std::size_t outputs = scores.size();
    const T scale = static_cast<T>(link.scale);
    switch (link.kind) {
        case LinkKind::mean:  // the sum of the shares and the weight of the trees are rounded apart
            for (std::size_t j = 0; j < outputs; ++j) out[j] = std::min(static_cast<double>(scores[j]), 1.0);
            break;
        case LinkKind::sigmoid: {
            const auto positive = static_cast<double>(sigmoid<T>(scale * scores[0]));
            out[0] = 1.0 - positive;
            out[1] = positive;
            if (link.label_from_scores)
                name_label(scores[0] > T{0} || (link.zero_is_positive && scores[0] == T{0}) ? 1 : 0, out);
            return;
        }
        case LinkKind::softmax: {
            const T highest = *std::max_element(scores.begin(), scores.end());
            double sum = 0.0;
            for (std::size_t j = 0; j < outputs; ++j) {
                const T share = static_cast<T>(exponential(static_cast<double>(scores[j] - highest)));
                out[j] = static_cast<double>(share);
                sum += out[j];
            }
            const T total = static_cast<T>(sum);
            for (std::size_t j = 0; j < outputs; ++j) out[j] = static_cast<double>(static_cast<T>(out[j]) / total);
            break;
        }
        case LinkKind::one_vs_all: {
            double sum = 0.0;
            for (std::size_t j = 0; j < outputs; ++j)
                sum += out[j] = static_cast<double>(sigmoid<T>(scale * scores[j]));
            for (double& each : out) each = sum > 0.0 ? each / sum : 1.0 / static_cast<double>(outputs);
            break;
        }
    }
    if (link.label_from_scores)
        name_label(static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()), out);
}

template float sigmoid<float>(float) noexcept;
template double sigmoid<double>(double) noexcept;
template void probabilities<float>(const Link&, std::span<const float>, std::span<double>) noexcept;
template void probabilities<double>(const Link&, std::span<const double>, std::span<double>) noexcept;

}  // namespace anystream::forest
