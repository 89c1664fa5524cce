#include "anystream/text/number_lines.hpp"

#include <limits>
#include <string_view>
#include <vector>

#include "anystream/text/decimal.hpp"
#include "anystream/text/kernels.hpp"
#include "anystream/text/plain_lines.hpp"
#include "anystream/text/utf8.hpp"

namespace anystream::text {

namespace {

constexpr std::size_t kMaxLine = 1 << 16;  // Python's parser has a limit for cells above this

[[nodiscard]] bool is_space(char c) noexcept {
    return c == ' ' || c == '\t';
}

/// Reads a cell that is a plain number or empty, perhaps with spaces around; false if it is something else.
[[nodiscard]] bool read_number(const char* at, const char* end, double& value) noexcept {
    while (at < end && is_space(*at)) ++at;
    if (at == end) {
        value = std::numeric_limits<double>::quiet_NaN();
        return true;
    }
    const bool negative = *at == '-';
    const char* first = at + (negative | (*at == '+'));
    const bool plain = first < end && (is_digit(*first) || (*first == '.' && first + 1 < end && is_digit(first[1])));
    if (!plain) return false;
    at = read_decimal(first, end, value);
    if (at == nullptr || !(value < kExactLimit)) return false;
    value = with_sign(value, negative);
    while (at < end && is_space(*at)) ++at;
    return at == end;
}

/// Whether a line has neither quotes nor carriage returns, and is well-formed text.
[[nodiscard]] bool is_plain(std::string_view line) noexcept {
    unsigned char special = 0, all = 0;  // bytes, so that the compiler looks at many at once
    for (const char c : line) {
        special |= static_cast<unsigned char>(c == '"') | static_cast<unsigned char>(c == '\r');
        all |= static_cast<unsigned char>(c);
    }
    return special == 0 && (all < 0x80 || is_utf8(line));
}

/// Columns beside each other that are numbers.
struct Run {
    std::size_t first, size;
};

[[nodiscard]] std::vector<Run> find_runs(std::span<const std::int32_t> places) {
    std::vector<Run> runs;
    for (const std::int32_t place : places) {
        const auto column = static_cast<std::size_t>(place);
        if (runs.empty() || runs.back().first + runs.back().size != column) runs.push_back({column, 0});
        ++runs.back().size;
    }
    return runs;
}

class Reader {
  public:
    Reader(const TextLines& lines, const LineLayout& layout)
        : text_(lines.text),
          layout_(layout),
          only_numbers_(layout.numbers.size() == layout.columns),
          runs_(find_runs(layout.numbers)),
          starts_(layout.columns + 1 + kSpareCells) {}

    /// Whether a line is plain; if so, its numbers are written.
    [[nodiscard]] bool read(const char* line, const char* end, double* numbers) {
        const auto length = static_cast<std::size_t>(end - line);
        if (length > kMaxLine || !(only_numbers_ || is_plain({line, length}))) return false;  // numbers are plain
        if (!kernels_.find_cells(line, end, text_.data() + text_.size(), layout_.delimiter, layout_.columns,
                                 starts_.data()))
            return false;
        for (const Run& run : runs_) {
            const std::uint32_t* const starts = starts_.data() + run.first;
            for (std::size_t i = 0; i < run.size; ++i) {
                i += kernels_.read_decimals(text_.data(), line, starts + i, run.size - i, numbers + i);
                if (i < run.size && !read_number(line + starts[i], line + starts[i + 1] - 1, numbers[i])) return false;
            }
            numbers += run.size;
        }
        return true;
    }
    /// Where a cell of the last line that was read begins and ends, counted from the start of the line.
    [[nodiscard]] std::int64_t start(std::int32_t cell) const { return starts_[static_cast<std::size_t>(cell)]; }
    [[nodiscard]] std::int64_t end(std::int32_t cell) const { return starts_[static_cast<std::size_t>(cell) + 1] - 1; }

  private:
    const Kernels& kernels_ = kernels();
    std::span<const char> text_;
    const LineLayout& layout_;
    bool only_numbers_;
    std::vector<Run> runs_;
    std::vector<std::uint32_t> starts_;
};

}  // namespace

std::size_t read_number_lines(const TextLines& lines, const LineLayout& layout, std::span<double> numbers,
                              std::span<std::int64_t> text_starts, std::span<std::int64_t> text_ends) {
    const char* const text = lines.text.data();
    const std::size_t n_numbers = layout.numbers.size(), n_texts = layout.texts.size();
    return first_not_plain(lines.starts.size(), [&](std::size_t first, std::size_t last, const auto& stopped) {
        Reader reader(lines, layout);
        std::size_t i = first;
        for (; i < last && !stopped(i); ++i) {
            if (!reader.read(text + lines.starts[i], text + lines.ends[i], numbers.data() + i * n_numbers)) break;
            for (std::size_t k = 0; k < n_texts; ++k) {
                text_starts[i * n_texts + k] = lines.starts[i] + reader.start(layout.texts[k]);
                text_ends[i * n_texts + k] = lines.starts[i] + reader.end(layout.texts[k]);
            }
        }
        return i;
    });
}

}  // namespace anystream::text
