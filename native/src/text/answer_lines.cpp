#include "anystream/text/answer_lines.hpp"

#include <charconv>
#include <cmath>

namespace anystream::text {

namespace {

void append_whole(std::string& out, std::int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, end.ptr);
}

/// A share, rounded to six decimals, in the fewest digits: 0.25, 1.0, 5e-05.
void append_share(std::string& out, double share) {
    auto millionths = static_cast<std::int64_t>(std::nearbyint(share * 1e6));
    if (millionths > 0 && millionths < 100) {  // exponents begin below 0.0001
        const bool tens = millionths >= 10;
        append_whole(out, tens ? millionths / 10 : millionths);
        if (tens && millionths % 10 != 0) {
            out += '.';
            append_whole(out, millionths % 10);
        }
        out += tens ? "e-05" : "e-06";
        return;
    }
    append_whole(out, millionths / 1'000'000);
    out += '.';
    millionths %= 1'000'000;
    char digits[7] = "000000";
    for (int place = 5; place >= 0; --place, millionths /= 10) digits[place] = static_cast<char>('0' + millionths % 10);
    std::size_t length = 6;
    while (length > 1 && digits[length - 1] == '0') --length;
    out.append(digits, length);
}

}  // namespace

std::string format_answers(const AnswerColumns& answers, const LineFrame& frame) {
    const std::size_t n = answers.classes.size();
    const bool has_texts = !answers.key_texts.ends.empty();
    std::string out;
    out.reserve(n * 96);
    for (std::size_t i = 0; i < n; ++i) {
        out += frame.between[0];
        if (has_texts)
            out += answers.key_texts[i];
        else
            append_whole(out, answers.keys[i]);
        out += frame.between[1];
        out += answers.labels[static_cast<std::size_t>(answers.classes[i])];
        out += frame.between[2];
        append_share(out, answers.confidence[i]);
        out += frame.between[3];
        append_whole(out, answers.steps[i]);
        for (std::size_t f = 0; f < answers.flags.size(); ++f) {
            out += frame.between[4 + f];
            out += answers.flags[f][i] ? frame.yes : frame.no;
        }
        out += frame.between.back();
    }
    return out;
}

}  // namespace anystream::text
