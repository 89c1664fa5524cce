#include "anystream/forest/batch.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "anystream/forest/query.hpp"
#include "anystream/parallel.hpp"

namespace anystream::forest {

namespace {

constexpr std::size_t kBlock = 1024;  // a tree is read from memory once for so many records
constexpr std::size_t kGroup = 64;
constexpr QuerySettings kNoSettings;

/// Reads all trees for the records first..last - 1: tree by tree, so that a tree stays in the cache for all of them.
template <typename T, typename X>
void read_block(const Forest& forest, const RecordRows& records, std::size_t first, std::size_t last,
                const AnswerRows& out) {
    const std::size_t size = last - first, stride = std::max<std::size_t>(records.dimensions, 1);
    const std::size_t outputs = forest.outputs(), classes = forest.classes();
    std::vector<X> x(size * stride);
    std::vector<double> encoded(stride);
    std::vector<T> sums(size * outputs);
    for (std::size_t i = 0; i < size; ++i) {
        forest.encode(records.row(first + i), encoded.data());
        if constexpr (std::is_same_v<X, float>)
            forest.small().encode(encoded, x.data() + i * stride);
        else
            std::copy(encoded.begin(), encoded.end(), x.begin() + static_cast<std::ptrdiff_t>(i * stride));
        forest.start(sums.data() + i * outputs);
        out.set(first + i, 0, true);
    }
    const bool missing = std::any_of(x.begin(), x.end(), [](X value) { return std::isnan(value); });
    std::int32_t nodes[kGroup];
    for (const std::int32_t root : forest.roots())
        for (std::size_t group = 0; group < size; group += kGroup) {
            const std::size_t count = std::min(kGroup, size - group);
            const X* rows = x.data() + group * stride;
            if constexpr (std::is_same_v<X, float>) {
                forest.small().find_leaves(&root, true, nodes, count, rows, stride, missing);
            } else {
                std::fill(nodes, nodes + count, root);
                forest.find_leaves(nodes, count, rows, stride, missing);
            }
            for (std::size_t i = 0; i < count; ++i) {
                forest.add(nodes[i], sums.data() + (group + i) * outputs);
                out.steps[first + group + i] += forest.depth(nodes[i]);
            }
        }
    for (std::size_t i = 0; i < size; ++i)
        forest.finish(sums.data() + i * outputs, out.proba.subspan((first + i) * classes, classes));
}

/// Few records: one after another, several trees at once.
void read_few(const Forest& forest, const RecordRows& records, const AnswerRows& out) {
    const Batch<Query> batch{forest, kNoSettings, records};
    Query query;
    for (std::size_t i = 0; i < records.size(); ++i) {
        batch.open(query, i);
        query.advance(forest, Limits::kUnlimited, nullptr);
        batch.write(query, i, out);
    }
}

}  // namespace

void read_all_trees(const Forest& forest, const RecordRows& records, int threads, const AnswerRows& out) {
    constexpr std::size_t kFew = 8;
    if (records.size() < kFew) return read_few(forest, records, out);
    parallel_for(records.size(), kBlock, threads, [&](std::size_t first, std::size_t last) {
        const auto read = [&]<typename T>(T) {
            if (!forest.small().empty())
                read_block<T, float>(forest, records, first, last, out);
            else
                read_block<T, double>(forest, records, first, last, out);
        };
        if (forest.single_sums())
            read(float{});
        else
            read(double{});
    });
}

void read_by_steps(const Forest& forest, const RecordRows& records, std::int64_t steps, int threads,
                   const AnswerRows& out) {
    // Records that read the same tree should be many; those that read trees of their own should stay in the cache.
    const std::size_t together = forest.expected().empty() ? 256 : 32;
    const Batch<Query> batch{forest, kNoSettings, records};
    parallel_for(records.size(), kBlock, threads, [&](std::size_t first, std::size_t last) {
        std::vector<Query> queries(std::min(together, last - first));
        for (std::size_t start = first; start < last; start += together) {
            const auto group = std::span(queries).first(std::min(together, last - start));
            for (std::size_t i = 0; i < group.size(); ++i) batch.open(group[i], start + i);
            Query::advance_together(forest, group, steps, nullptr);
            for (std::size_t i = 0; i < group.size(); ++i) batch.write(group[i], start + i, out);
        }
    });
}

void trace_leads(const Forest& forest, const RecordRows& records, int threads, std::span<double> lead,
                 std::span<std::int32_t> first_class) {
    const std::size_t numbers = forest.trees() + 1;
    parallel_for(records.size(), Query::kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            query.open(forest, {}, records.row(i));
            query.trace(forest, lead.subspan(i * numbers, numbers), first_class.subspan(i * numbers, numbers));
        }
    });
}

}  // namespace anystream::forest
