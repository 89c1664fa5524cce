#include "anystream/text/line_bounds.hpp"

#include <algorithm>
#include <cstring>

namespace anystream::text {

std::optional<std::size_t> find_lines(std::span<const char> text, char line_end, std::span<std::int64_t> starts,
                                      std::span<std::int64_t> ends) noexcept {
    const char *begin = text.data(), *stop = begin + text.size(), *at = begin;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        if (at == stop) return std::nullopt;
        const auto* end = static_cast<const char*>(std::memchr(at, line_end, static_cast<std::size_t>(stop - at)));
        if (end == nullptr) return std::nullopt;
        longest = std::max(longest, static_cast<std::size_t>(end - at));
        starts[i] = at - begin;
        ends[i] = (end > at && end[-1] == '\r' ? end - 1 : end) - begin;
        at = end + 1;
    }
    return longest;
}

}  // namespace anystream::text
