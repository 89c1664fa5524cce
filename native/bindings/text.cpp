// Lines of text for Python: numbers of CSV, and answers.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "anystream/text/answer_lines.hpp"
#include "anystream/text/json_lines.hpp"
#include "anystream/text/number_lines.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

namespace {

std::span<const char> bytes_of(const nb::bytes& bytes) {
    return {static_cast<const char*>(bytes.data()), bytes.size()};
}

void require_lines(const text::TextLines& lines) {
    require_equal("number of line ends", lines.ends.size(), lines.starts.size());
    for (std::size_t i = 0; i < lines.starts.size(); ++i)
        if (lines.starts[i] < 0 || lines.starts[i] > lines.ends[i] ||
            lines.ends[i] > static_cast<std::int64_t>(lines.text.size()))
            throw std::invalid_argument("line " + std::to_string(i) + " is not within the text");
}

void require_places(std::span<const std::int32_t> places, std::size_t columns) {
    for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i] < 0 || static_cast<std::size_t>(places[i]) >= columns || (i > 0 && places[i] <= places[i - 1]))
            throw std::invalid_argument("places are not ascending numbers of columns");
}

void require_texts(const text::Texts& texts, std::size_t count) {
    require_equal("number of texts", texts.ends.size(), count);
    std::int64_t last = 0;
    for (const std::int64_t end : texts.ends) {
        if (end < last || end > static_cast<std::int64_t>(texts.all.size()))
            throw std::invalid_argument("a text is not within the bytes");
        last = end;
    }
}

text::Texts texts_of(const nb::bytes& all, const Vector<std::int64_t>& ends) {
    return {std::string_view(static_cast<const char*>(all.data()), all.size()), as_span(ends)};
}

}  // namespace

void bind_text(nb::module_& m) {
    m.def(
        "read_number_lines",
        [](const nb::bytes& content, Vector<std::int64_t> starts, Vector<std::int64_t> ends, char delimiter,
           std::size_t columns, Vector<std::int32_t> number_places, Vector<std::int32_t> text_places,
           OutMatrix<double> numbers, OutMatrix<std::int64_t> text_starts, OutMatrix<std::int64_t> text_ends) {
            const text::TextLines lines{bytes_of(content), as_span(starts), as_span(ends)};
            const text::LineLayout layout{delimiter, columns, as_span(number_places), as_span(text_places)};
            require_lines(lines);
            require_places(layout.numbers, columns);
            require_places(layout.texts, columns);
            const std::size_t n = lines.starts.size();
            require_equal("number of cells", numbers.size(), n * layout.numbers.size());
            require_equal("number of text starts", text_starts.size(), n * layout.texts.size());
            require_equal("number of text ends", text_ends.size(), n * layout.texts.size());
            const nb::gil_scoped_release unlocked;
            return text::read_number_lines(lines, layout, as_span(numbers), as_span(text_starts), as_span(text_ends));
        },
        "text"_a, "starts"_a.noconvert(), "ends"_a.noconvert(), "delimiter"_a, "columns"_a,
        "number_places"_a.noconvert(), "text_places"_a.noconvert(), "numbers"_a.noconvert(),
        "text_starts"_a.noconvert(), "text_ends"_a.noconvert(),
        "Read lines until one is not plain: right number of cells, no quotes, decimals below 2^53 or nothing. Return "
        "how "
        "many were.");
    m.def(
        "read_json_lines",
        [](const nb::bytes& content, Vector<std::int64_t> starts, Vector<std::int64_t> ends,
           std::vector<std::string> number_names, std::vector<std::string> text_names, std::size_t n_required,
           OutMatrix<double> numbers, OutMatrix<std::int64_t> text_starts, OutMatrix<std::int64_t> text_ends,
           OutMatrix<std::uint8_t> text_kinds) {
            const text::TextLines lines{bytes_of(content), as_span(starts), as_span(ends)};
            require_lines(lines);
            const std::size_t n = lines.starts.size();
            require_equal("number of numbers", numbers.size(), n * number_names.size());
            require_equal("number of text starts", text_starts.size(), n * text_names.size());
            require_equal("number of text ends", text_ends.size(), n * text_names.size());
            require_equal("number of text kinds", text_kinds.size(), n * text_names.size());
            std::vector<text::JsonMember> members;
            for (std::size_t i = 0; i < number_names.size(); ++i)
                members.push_back({number_names[i], static_cast<std::int32_t>(i), -1, i < n_required});
            for (std::size_t i = 0; i < text_names.size(); ++i) {
                const auto same = std::find_if(members.begin(), members.end(),
                                               [&](const auto& member) { return member.name == text_names[i]; });
                if (same == members.end())
                    members.push_back({text_names[i], -1, static_cast<std::int32_t>(i), false});
                else
                    same->text = static_cast<std::int32_t>(i);
            }
            std::vector<std::uint8_t> found(n * members.size());
            const text::JsonColumns out{number_names.size(),
                                        text_names.size(),
                                        as_span(numbers),
                                        as_span(text_starts),
                                        as_span(text_ends),
                                        as_span(text_kinds),
                                        found};
            std::size_t plain = 0;
            {
                const nb::gil_scoped_release unlocked;
                plain = text::read_json_lines(lines, members, out);
            }
            std::vector<std::string> names;
            for (std::size_t m = 0; m < members.size(); ++m)
                for (std::size_t i = 0; i < plain; ++i)
                    if (found[i * members.size() + m] != 0) {
                        names.push_back(members[m].name);
                        break;
                    }
            return nb::make_tuple(plain, names);
        },
        "text"_a, "starts"_a.noconvert(), "ends"_a.noconvert(), "number_names"_a, "text_names"_a, "n_required"_a,
        "numbers"_a.noconvert(), "text_starts"_a.noconvert(), "text_ends"_a.noconvert(), "text_kinds"_a.noconvert(),
        "Read lines until one is not plain: an object without nested values, escapes or equal names, with the first "
        "n_required numbers. Return how many were, and the names that were found.");
    m.def(
        "format_answers",
        [](Vector<std::int64_t> keys, const nb::bytes& key_texts, Vector<std::int64_t> key_ends,
           const nb::bytes& label_texts, Vector<std::int64_t> label_ends, Vector<std::int64_t> classes,
           Vector<double> confidence, Vector<std::int64_t> steps, std::vector<Vector<bool>> flags,
           std::vector<std::string> between, std::string yes, std::string no) {
            const std::size_t n = classes.size();
            std::vector<const bool*> columns;
            for (const auto& flag : flags) {
                require_equal("length of a flag", flag.size(), n);
                columns.push_back(flag.data());
            }
            const text::AnswerColumns answers{
                as_span(keys),    texts_of(key_texts, key_ends), texts_of(label_texts, label_ends),
                as_span(classes), as_span(confidence),           as_span(steps),
                columns};
            if (key_ends.size() > 0)
                require_texts(answers.key_texts, n);
            else
                require_equal("number of keys", keys.size(), n);
            require_texts(answers.labels, label_ends.size());
            require_equal("number of confidences", confidence.size(), n);
            require_equal("number of steps", steps.size(), n);
            require_equal("number of separators", between.size(), columns.size() + 5);
            for (const std::int64_t c : answers.classes)
                if (c < 0 || static_cast<std::size_t>(c) >= label_ends.size())
                    throw std::invalid_argument("class number " + std::to_string(c) + " has no text");
            for (const double share : answers.confidence)
                if (!(share >= 0.0 && share < 2.0)) throw std::invalid_argument("a confidence is not a share");
            std::string lines;
            {
                const nb::gil_scoped_release unlocked;
                lines = text::format_answers(answers, {std::move(between), std::move(yes), std::move(no)});
            }
            return nb::bytes(lines.data(), lines.size());
        },
        "keys"_a.noconvert(), "key_texts"_a, "key_ends"_a.noconvert(), "label_texts"_a, "label_ends"_a.noconvert(),
        "classes"_a.noconvert(), "confidence"_a.noconvert(), "steps"_a.noconvert(), "flags"_a, "between"_a, "yes"_a,
        "no"_a, "Return one line per answer: key, label, confidence, steps and flags, each after its separator.");
}

}  // namespace anystream::bindings
