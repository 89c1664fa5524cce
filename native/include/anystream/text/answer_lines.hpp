// Answers as lines of text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anystream::text {

/// What stands around the values of a line: between[i] before value i, and the last one at the end.
struct LineFrame {
    std::vector<std::string> between;
    std::string yes, no;
};

/// Texts one after the other: text i ends before ends[i].
struct Texts {
    std::string_view all;
    std::span<const std::int64_t> ends;

    [[nodiscard]] std::string_view operator[](std::size_t i) const noexcept {
        const auto first = i == 0 ? 0 : static_cast<std::size_t>(ends[i - 1]);
        return all.substr(first, static_cast<std::size_t>(ends[i]) - first);
    }
};

/// Columns of answers. Keys are whole numbers, or texts if there are any.
struct AnswerColumns {
    std::span<const std::int64_t> keys;
    Texts key_texts;
    Texts labels;                           // of the classes
    std::span<const std::int64_t> classes;  // the class of each answer
    std::span<const double> confidence;     // shares, written with up to six decimals as Python writes them
    std::span<const std::int64_t> steps;
    std::span<const bool* const> flags;  // columns
};

/// One line per answer: key, label, confidence, steps and the flags.
std::string format_answers(const AnswerColumns& answers, const LineFrame& frame);

}  // namespace anystream::text
