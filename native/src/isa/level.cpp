#include <cstdlib>
#include <stdexcept>
#include <string>

#include "anystream/isa.hpp"

namespace anystream {

namespace {

IsaLevel best_level() {
#if defined(ANYSTREAM_X86_LEVELS)
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt")))
        return IsaLevel::baseline;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    return wide ? IsaLevel::avx512 : IsaLevel::avx2;
#else
    return IsaLevel::baseline;
#endif
}

IsaLevel choose_level() {
    const IsaLevel best = best_level();
    const char* forced = std::getenv("ANYSTREAM_ISA");
    if (forced == nullptr || *forced == '\0') return best;
    for (const auto level : {IsaLevel::baseline, IsaLevel::avx2, IsaLevel::avx512}) {
        if (std::string(forced) != isa_name(level)) continue;
        if (level <= best) return level;
        throw std::runtime_error("ANYSTREAM_ISA=" + std::string(forced) + ", but this machine offers at most " +
                                 isa_name(best) + "; unset it or name a lower level");
    }
    throw std::runtime_error("ANYSTREAM_ISA=" + std::string(forced) + " is not a level; use baseline, avx2 or avx512");
}

}  // namespace

IsaLevel isa_level() {
    static const IsaLevel level = choose_level();
    return level;
}

const char* isa_name(IsaLevel level) noexcept {
    switch (level) {
        case IsaLevel::avx512:
            return "avx512";
        case IsaLevel::avx2:
            return "avx2";
        default:
            return "baseline";
    }
}

}  // namespace anystream
