#include "anystream/bayes_tree/first_look.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anystream::bayes_tree {

void FirstLook::scores(const double* records, std::size_t count, std::span<float> out) const {
    const std::size_t d = dimensions(), width = lanes();
    const LookLanes look{shift.data(), factor.data(), square_mean.data(), weight.data(), bias.data(), d, width};
    thread_local std::vector<float> terms;
    terms.resize(kTogether * 2 * d);
    std::size_t i = 0;
    for (; i + kTogether <= count; i += kTogether) {
        for (std::size_t k = 0; k < kTogether; ++k)
            kernels().look_terms(records + (i + k) * d, look, terms.data() + k * 2 * d);
        kernels().look_scores(terms.data(), kTogether, look, out.data() + i * width);
    }
    for (; i < count; ++i) {
        kernels().look_terms(records + i * d, look, terms.data());
        kernels().look_scores(terms.data(), 1, look, out.data() + i * width);
    }
}

std::size_t look_label(std::span<const float> score) noexcept {
    return static_cast<std::size_t>(std::max_element(score.begin(), score.end()) - score.begin());
}

void look_posterior(std::span<const float> score, double sharpness, double floor, std::span<double> out) {
    const std::size_t best = look_label(score), classes = score.size();
    const auto sharp = static_cast<float>(sharpness);
    thread_local std::vector<float> below;
    below.resize(classes);
    for (std::size_t c = 0; c < classes; ++c) below[c] = (score[c] - score[best]) * sharp;
    kernels().powers_of_two(below.data(), 0.0F, classes, out.data());
    double sum = 0.0;
    for (std::size_t c = 0; c < classes; ++c) sum += out[c];
    const double uniform = floor / static_cast<double>(classes), share = (1.0 - floor) / sum;
    for (std::size_t c = 0; c < classes; ++c) out[c] = out[c] * share + uniform;
    for (std::size_t c = 0; c < classes; ++c)  // rounding must not change the label
        if (c < best ? out[c] >= out[best] : out[c] > out[best])
            out[best] = std::nextafter(out[c], std::numeric_limits<double>::infinity());
}

}  // namespace anystream::bayes_tree
