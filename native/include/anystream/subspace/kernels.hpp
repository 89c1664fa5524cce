// The inner loops over bit sets and codes; one table per ISA level, all with the same results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anystream::subspace {

inline constexpr std::uint8_t kMissing = 255;   // the code of a missing value
inline constexpr std::size_t kCodeBlock = 64;   // rows of codes are padded with kMissing to a multiple of this
inline constexpr std::size_t kLimitBlock = 16;  // rows of limits to a multiple of this

/// A query's codes among those of points; rows are `size` long, a multiple of kCodeBlock.
struct CodesView {
    const std::uint8_t* query;
    const std::uint8_t* rows;
    const std::uint8_t* unrelated;  // the distance of different codes at a categorical position; 0 at a numeric one
    std::size_t size;
};

/// The lists of a level, as far as one word of each is concerned: that of the points in 64 consecutive places.
struct ListWords {
    std::uint64_t* bits;  // the word of list v at v * words
    std::size_t words;
    std::uint16_t* count;        // (lists,)
    std::uint16_t* class_count;  // (lists, class_stride)
    std::size_t class_stride;
    const std::uint32_t* first;  // (dimensions + 1,) the first list of each dimension, which has one per range
    std::size_t dimensions;
};

/// The places of a class among the points that are replaced in a word.
struct ClassPlaces {
    std::size_t slot;
    std::uint64_t before, after;  // bit sets
};

/// What the weights of a level's lists are computed from.
struct WeighedLists {
    const std::uint16_t* count;        // (lists,)
    const std::uint16_t* class_count;  // (lists, class_stride)
    std::size_t class_stride;          // a power of 2, at least 4
    const double* share;               // (class_stride, at least kSlotBlock) of the points, by slot; of an unused one 1
    const std::uint32_t* slots;        // in the order in which classes are added up
    std::size_t slot_number;
    double points;  // of the level
};

inline constexpr std::size_t kSlotBlock = 8;  // slots that are computed together, at most
inline constexpr std::size_t kRankBlock = 8;  // values that are compared together, at most

struct Kernels {
    /// out = a & b; the number of its bits.
    std::uint32_t (*intersect)(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* out, std::size_t words);
    /// The number of bits of a & b.
    std::uint32_t (*count_common)(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);
    std::uint32_t (*count)(const std::uint64_t* a, std::size_t words);
    /// Whether a has a bit that b lacks.
    bool (*exceeds)(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);
    /// The first `max_points` points of a bit set, from word `first` on and cyclically, and the distance of each from
    /// the query: the sum of the differences of the codes that both have. Returns their number.
    std::size_t (*distances)(const CodesView& codes, const std::uint64_t* points, std::size_t words, std::size_t first,
                             std::size_t max_points, std::uint32_t* place, std::uint32_t* distance);
    /// code[j] = number of limits below x[j], kMissing for NaN. limits is (rows, size); size a multiple of kLimitBlock.
    /// rows[b] of them count for block b of kLimitBlock columns: the others are +inf.
    void (*codes)(const float* x, const float* limits, const std::uint8_t* rows, std::size_t size, std::uint8_t* code);
    /// Brings one word of every list up to date with the codes of its places: rows of `stride`, `places` of them, at
    /// most 64. `classes` holds every class that has an entry in `before` or `after` of a replaced point.
    void (*renew_word)(const ListWords& lists, const std::uint8_t* rows, std::size_t places, std::size_t stride,
                       const ClassPlaces* classes, std::size_t class_number);
    /// The weight of each of these lists: KL(f | pi) * selectivity + 0.01 * selectivity + 1e-6, 0 for an empty list,
    /// with f_c = (q_c + pi_c) / (n_v + 1). `terms` is scratch memory as long as `share`.
    void (*weights)(const WeighedLists& level, const std::uint32_t* lists, std::size_t number, double* terms,
                    float* out);
    /// The number of values that are at most `at`. size is a multiple of kRankBlock.
    std::size_t (*rank)(const double* values, std::size_t size, double at);
    /// Bit j is set if byte j of kCodeBlock differs.
    std::uint64_t (*differing)(const std::uint8_t* a, const std::uint8_t* b);
    /// Whether a value is known and differs from the expected one. An expected NaN differs from every value, an
    /// expected -inf from none. size is a multiple of kLimitBlock.
    bool (*differs)(const float* x, const float* expected, std::size_t size);
    /// out[j] = x[j] as a float: beyond its range the largest one, and one zero only. NaN stays. False if one is
    /// infinite.
    bool (*floats)(const double* x, std::size_t size, float* out);
    /// The smallest and the largest value of each column of (rows, columns), those before included. NaN is left out.
    void (*extremes)(const float* values, std::size_t rows, std::size_t columns, float* lowest, float* highest);
    /// inner[j] != 0 if column j has a value strictly between its lowest and its highest one.
    void (*inner)(const float* values, std::size_t rows, std::size_t columns, const float* lowest, const float* highest,
                  std::int32_t* inner);
};

const Kernels& kernels();

}  // namespace anystream::subspace
