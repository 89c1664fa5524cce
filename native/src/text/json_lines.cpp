#include "anystream/text/json_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "anystream/text/decimal.hpp"
#include "anystream/text/plain_lines.hpp"
#include "anystream/text/utf8.hpp"

namespace anystream::text {

namespace {

constexpr std::size_t kMaxWhole = 18;  // digits of a whole number that surely fits 64 bits

[[nodiscard]] const char* skip_space(const char* at, const char* end) noexcept {
    while (at < end && (*at == ' ' || *at == '\t')) ++at;
    return at;
}

/// Where a string ends whose opening quote is before `at`: its closing quote, or nullptr if it is not plain.
[[nodiscard]] const char* find_quote(const char* at, const char* end) noexcept {
    for (; at < end; ++at) {
        const auto c = static_cast<unsigned char>(*at);
        if (c == '"') return at;
        if (c == '\\' || c < 0x20) return nullptr;
    }
    return nullptr;
}

[[nodiscard]] const char* skip_digits(const char* at, const char* end) noexcept {
    while (at < end && is_digit(*at)) ++at;
    return at;
}

/// Where a JSON number ends; nullptr if there is none. `whole`: it has neither a fraction nor an exponent.
[[nodiscard]] const char* find_number_end(const char* at, const char* end, bool& whole) noexcept {
    if (at < end && *at == '-') ++at;
    if (at == end || !is_digit(*at)) return nullptr;
    const char* first = at;
    at = skip_digits(at, end);
    if (*first == '0' && at - first > 1) return nullptr;
    whole = true;
    if (at < end && *at == '.') {
        whole = false;
        first = ++at;
        at = skip_digits(at, end);
        if (at == first) return nullptr;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        whole = false;
        ++at;
        if (at < end && (*at == '+' || *at == '-')) ++at;
        first = at;
        at = skip_digits(at, end);
        if (at == first) return nullptr;
    }
    return at;
}

[[nodiscard]] bool starts_with(const char* at, const char* end, std::string_view word) noexcept {
    return std::string_view(at, static_cast<std::size_t>(end - at)).substr(0, word.size()) == word;
}

/// A value without nesting and its kind.
struct Value {
    enum class Kind { number, string, null, flag } kind;
    const char *first, *last;  // of a string: without its quotes
    const char* end;           // behind the value; nullptr if it is not plain
    bool whole;
};

[[nodiscard]] Value read_number(const char* at, const char* end) noexcept {
    bool whole = false;
    const char* stop = find_number_end(at, end, whole);
    return {Value::Kind::number, at, stop, stop, whole};
}

[[nodiscard]] Value read_value(const char* at, const char* end) noexcept {
    if (at == end) return {Value::Kind::null, at, at, nullptr, false};
    if (is_digit(*at) || *at == '-') return read_number(at, end);
    if (*at == '"') {
        const char* quote = find_quote(at + 1, end);
        return {Value::Kind::string, at + 1, quote, quote == nullptr ? nullptr : quote + 1, false};
    }
    for (const auto& [word, kind] : {std::pair{std::string_view("null"), Value::Kind::null},
                                     {std::string_view("true"), Value::Kind::flag},
                                     {std::string_view("false"), Value::Kind::flag}})
        if (*at == word[0]) {
            const char* stop = starts_with(at, end, word) ? at + word.size() : nullptr;
            return {kind, at, stop, stop, false};
        }
    return {Value::Kind::number, at, at, nullptr, false};
}

class Reader {
  public:
    Reader(const TextLines& lines, std::span<const JsonMember> members, const JsonColumns& out)
        : text_(lines.text.data()), members_(members), out_(out), seen_(members.size()) {}

    [[nodiscard]] bool read(std::size_t line, const char* at, const char* end) {
        if (!is_utf8({at, static_cast<std::size_t>(end - at)})) return false;
        std::fill(seen_.begin(), seen_.end(), std::uint8_t{0});
        line_ = line;
        std::fill_n(out_.number.data() + line * out_.numbers, out_.numbers, std::numeric_limits<double>::quiet_NaN());
        std::fill_n(out_.text_kind.data() + line * out_.texts, out_.texts, static_cast<std::uint8_t>(TextKind::none));
        if (!read_object(at, end) || !has_required()) return false;
        std::copy(seen_.begin(), seen_.end(), out_.found.data() + line * seen_.size());
        return true;
    }

  private:
    [[nodiscard]] bool read_object(const char* at, const char* end) {
        at = skip_space(at, end);
        if (at == end || *at != '{') return false;
        for (std::size_t place = 0;; ++place) {
            at = skip_space(at + 1, end);
            if (at == end || *at != '"') return false;  // also of an object without members
            const char* name = at + 1;
            const bool as_before = place < names_.size() && is_name(name, end, names_[place]);
            const char* quote = as_before ? name + names_[place].size() : find_quote(name, end);
            if (quote == nullptr) return false;
            const std::int32_t member =
                as_before ? member_[place] : find_member(place, {name, static_cast<std::size_t>(quote - name)});
            at = skip_space(quote + 1, end);
            if (at == end || *at != ':') return false;
            at = skip_space(at + 1, end);
            const Value value = read_value(at, end);
            if (value.end == nullptr || (member >= 0 && !take(static_cast<std::size_t>(member), value))) return false;
            at = skip_space(value.end, end);
            if (at == end) return false;
            if (*at == '}') return skip_space(at + 1, end) == end;
            if (*at != ',') return false;
        }
    }

    /// Whether this name and its closing quote come next. Lines usually have the same names at the same places.
    [[nodiscard]] static bool is_name(const char* at, const char* end, std::string_view name) noexcept {
        return static_cast<std::size_t>(end - at) > name.size() && starts_with(at, end, name) && at[name.size()] == '"';
    }

    /// The wanted member of a name, kNotWanted if there is none; it is noted for the next line.
    [[nodiscard]] std::int32_t find_member(std::size_t place, std::string_view name) {
        const auto found = std::find_if(members_.begin(), members_.end(),
                                        [&](const JsonMember& member) { return member.name == name; });
        const auto member = found == members_.end() ? kNotWanted : static_cast<std::int32_t>(found - members_.begin());
        if (place >= names_.size()) {
            names_.resize(place + 1);
            member_.resize(place + 1);
        }
        names_[place] = name;
        member_[place] = member;
        return member;
    }

    [[nodiscard]] bool take(std::size_t m, const Value& value) {
        const JsonMember& member = members_[m];
        if (seen_[m]++ != 0 || value.kind == Value::Kind::flag) return false;
        if (member.number >= 0) {
            double& number = out_.number[line_ * out_.numbers + static_cast<std::size_t>(member.number)];
            if (value.kind == Value::Kind::string) return false;
            if (value.kind == Value::Kind::number &&
                (read_decimal(value.first, value.end, number) != value.end || !(std::abs(number) < kExactLimit)))
                return false;
        }
        if (member.text >= 0 && value.kind != Value::Kind::null) {
            const bool number = value.kind == Value::Kind::number;
            if (number && (!value.whole || value.last - value.first > static_cast<std::ptrdiff_t>(kMaxWhole)))
                return false;
            const std::size_t at = line_ * out_.texts + static_cast<std::size_t>(member.text);
            out_.text_start[at] = value.first - text_;
            out_.text_end[at] = value.last - text_;
            out_.text_kind[at] = static_cast<std::uint8_t>(number ? TextKind::whole : TextKind::string);
        }
        return true;
    }

    [[nodiscard]] bool has_required() const {
        for (std::size_t m = 0; m < members_.size(); ++m)
            if (members_[m].required && seen_[m] == 0) return false;
        return true;
    }

    static constexpr std::int32_t kNotWanted = -1;

    const char* text_;
    std::span<const JsonMember> members_;
    const JsonColumns& out_;
    std::size_t line_ = 0;
    std::vector<std::uint8_t> seen_;
    std::vector<std::string_view> names_;  // of the last line, by place
    std::vector<std::int32_t> member_;
};

}  // namespace

std::size_t read_json_lines(const TextLines& lines, std::span<const JsonMember> members, const JsonColumns& out) {
    const char* text = lines.text.data();
    return first_not_plain(lines.starts.size(), [&](std::size_t first, std::size_t last, const auto& stopped) {
        Reader reader(lines, members, out);
        std::size_t i = first;
        while (i < last && !stopped(i) && reader.read(i, text + lines.starts[i], text + lines.ends[i])) ++i;
        return i;
    });
}

}  // namespace anystream::text
