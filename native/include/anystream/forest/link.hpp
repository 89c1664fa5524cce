// From the scores of an ensemble to probabilities, computed as its framework computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anystream::forest {

enum class LinkKind : std::uint8_t { mean, sigmoid, softmax, one_vs_all };

struct Link {
    LinkKind kind = LinkKind::mean;
    double scale = 1.0;              // factor of a score in a sigmoid
    bool label_from_scores = false;  // the label is that of the highest score, not of the highest probability
    bool zero_is_positive = false;   // a sigmoid's score of 0 means the second class
};

/// e^x, from additions, multiplications and divisions alone; infinity above 709.
[[nodiscard]] double exponential(double x) noexcept;

/// 1 / (1 + e^-z), each operation rounded to T.
template <typename T>
[[nodiscard]] T sigmoid(T z) noexcept;

/// Writes the probabilities of all classes, which sum to 1: those of one_vs_all are divided by their sum. The class
/// that the framework would name has the highest one, the first of equals: where the framework decides by scores, its
/// probability is raised to the next number if need be.
template <typename T>
void probabilities(const Link& link, std::span<const T> scores, std::span<double> out) noexcept;

}  // namespace anystream::forest
