#include "anystream/bayes_tree/em_top_down.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "anystream/bayes_tree/diagonal_em.hpp"
#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {
namespace {

constexpr std::size_t kSharedSize = 1 << 15;    // a set this large is assigned by all threads, not by one
constexpr std::size_t kExactPairSize = 64;      // the farthest pair is searched among all pairs up to here
constexpr std::size_t kWorthThreads = 1 << 12;  // values in a level below which threads cost more than they save

/// The finaliser of splitmix64: a well mixed number from a counter.
std::uint64_t mix(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// A node being built: order[first .. first + size), and a seed that depends only on its path from the root.
struct Set {
    std::size_t first, size;
    std::uint64_t seed;
};

/// Scratch memory of one thread for splitting one set; reused.
struct Workbench {
    Workbench(std::size_t dimensions, std::size_t components)
        : rows(dimensions), em(dimensions, components), centre(dimensions) {}

    Rows rows;
    DiagonalEm em;
    std::vector<double> centre;
    std::vector<std::int32_t> cluster;  // of each record of the set
    std::vector<std::int32_t> sorted;
    std::vector<std::size_t> sizes;
};

class Builder {
  public:
    Builder(const Points& points, const BuildOptions& options)
        : points_(points), options_(options), order_(points.size()) {
        std::iota(order_.begin(), order_.end(), 0);
    }

    TreeShape build();

  private:
    void cut(const Set& set, Workbench& bench, int threads, std::vector<std::size_t>& sizes);
    std::size_t cut_by_em(const Set& set, Workbench& bench, int threads);
    std::size_t cut_by_farthest_pair(const Set& set, Workbench& bench);
    void cut_evenly(const Set& set, Workbench& bench);

    [[nodiscard]] const double* point(std::size_t position) const noexcept {
        return points_.row(static_cast<std::size_t>(order_[position]));
    }
    std::unique_ptr<Workbench> take_bench();
    void return_bench(std::unique_ptr<Workbench> bench);

    Points points_;
    const BuildOptions& options_;
    std::vector<std::int32_t> order_;  // the records; a set is a stretch of it, its records ascending
    std::mutex bench_guard_;
    std::vector<std::unique_ptr<Workbench>> idle_benches_;
};

std::unique_ptr<Workbench> Builder::take_bench() {
    const std::lock_guard lock(bench_guard_);
    if (idle_benches_.empty()) return std::make_unique<Workbench>(points_.dimensions, options_.fanout);
    auto bench = std::move(idle_benches_.back());
    idle_benches_.pop_back();
    return bench;
}

void Builder::return_bench(std::unique_ptr<Workbench> bench) {
    const std::lock_guard lock(bench_guard_);
    idle_benches_.push_back(std::move(bench));
}

// EM on the set, or on a sample of it with one record from each of sample_size equal stretches. Returns how many
// clusters have records.
std::size_t Builder::cut_by_em(const Set& set, Workbench& bench, int threads) {
    const std::size_t d = points_.dimensions;
    const bool sampled = set.size > options_.sample_size;
    const std::size_t seen = sampled ? options_.sample_size : set.size;
    bench.rows.resize(seen);
    bench.cluster.resize(set.size);
    std::fill(bench.centre.begin(), bench.centre.end(), 0.0);
    for (std::size_t i = 0; i < seen; ++i) {
        std::size_t position = set.first + i;
        if (sampled) {
            const std::size_t from = i * set.size / seen, to = (i + 1) * set.size / seen;
            position = set.first + from + static_cast<std::size_t>(mix(set.seed + i) % (to - from));
        }
        const double* const source = point(position);
        double* const target = bench.rows.row(i);
        for (std::size_t j = 0; j < d; ++j) target[j] = source[j], bench.centre[j] += source[j];
    }
    for (double& c : bench.centre) c /= static_cast<double>(seen);
    for (std::size_t i = 0; i < seen; ++i) {
        for (std::size_t j = 0; j < d; ++j) bench.rows.row(i)[j] -= bench.centre[j];
    }
    bench.em.fit(bench.rows, std::span(bench.cluster).first(seen), [&] { throw_if_stopped(options_); });
    if (sampled) {
        bench.em.move(bench.centre);
        parallel_for(set.size, 256, threads, [&](std::size_t first, std::size_t last) {
            throw_if_stopped(options_);
            std::vector<const double*> rows(last - first);
            for (std::size_t i = first; i < last; ++i) rows[i - first] = point(set.first + i);
            bench.em.best(rows, bench.cluster.data() + first);
        });
    }
    bench.sizes.assign(options_.fanout, 0);
    for (const auto c : bench.cluster) ++bench.sizes[static_cast<std::size_t>(c)];
    return static_cast<std::size_t>(
        std::count_if(bench.sizes.begin(), bench.sizes.end(), [](auto s) { return s > 0; }));
}

// Two clusters around the two records farthest apart (in large sets: the one farthest from the centre, and the one
// farthest from that). Returns 1 when all records are equal.
std::size_t Builder::cut_by_farthest_pair(const Set& set, Workbench& bench) {
    const std::size_t d = points_.dimensions;
    const auto distance = [&](const double* a, const double* b) {
        double sum = 0.0;
        for (std::size_t j = 0; j < d; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
        return sum;
    };
    const double *one = nullptr, *other = nullptr;
    double widest = 0.0;
    if (set.size <= kExactPairSize) {
        for (std::size_t i = 0; i < set.size; ++i) {
            for (std::size_t j = i + 1; j < set.size; ++j) {
                const double apart = distance(point(set.first + i), point(set.first + j));
                if (apart > widest) widest = apart, one = point(set.first + i), other = point(set.first + j);
            }
        }
    } else {
        const auto farthest_from = [&](const double* from) {
            const double* farthest = point(set.first);
            widest = 0.0;
            for (std::size_t i = 0; i < set.size; ++i) {
                const double apart = distance(from, point(set.first + i));
                if (apart > widest) widest = apart, farthest = point(set.first + i);
            }
            return farthest;
        };
        one = farthest_from(bench.centre.data());
        other = farthest_from(one);
    }
    if (!(widest > 0.0)) return 1;
    bench.sizes.assign(2, 0);
    for (std::size_t i = 0; i < set.size; ++i) {
        const double* const p = point(set.first + i);
        bench.cluster[i] = distance(p, other) < distance(p, one) ? 1 : 0;
        ++bench.sizes[static_cast<std::size_t>(bench.cluster[i])];
    }
    return 2;
}

void Builder::cut_evenly(const Set& set, Workbench& bench) {
    bench.sizes.assign(options_.fanout, 0);
    for (std::size_t i = 0; i < set.size; ++i) {
        const std::size_t part = i * options_.fanout / set.size;
        bench.cluster[i] = static_cast<std::int32_t>(part);
        ++bench.sizes[part];
    }
}

// Sorts the set's stretch of order_ by cluster, records ascending in each, and gives the clusters' sizes.
void Builder::cut(const Set& set, Workbench& bench, int threads, std::vector<std::size_t>& sizes) {
    throw_if_stopped(options_);
    if (cut_by_em(set, bench, threads) < 2 && cut_by_farthest_pair(set, bench) < 2) cut_evenly(set, bench);
    std::vector<std::size_t> next(bench.sizes.size());
    std::exclusive_scan(bench.sizes.begin(), bench.sizes.end(), next.begin(), std::size_t{0});
    bench.sorted.resize(set.size);
    for (std::size_t i = 0; i < set.size; ++i) {
        bench.sorted[next[static_cast<std::size_t>(bench.cluster[i])]++] = order_[set.first + i];
    }
    std::copy(bench.sorted.begin(), bench.sorted.end(), order_.begin() + static_cast<std::ptrdiff_t>(set.first));
    for (const auto size : bench.sizes) {
        if (size > 0) sizes.push_back(size);
    }
}

// Level by level: the sets of a level are cut in parallel, then numbered in order, which is breadth first.
TreeShape Builder::build() {
    TreeShape shape;
    if (points_.size() == 1) {
        report_placed(options_, 1);
        return shape;
    }
    const auto fanout = options_.fanout;
    std::vector<Set> level{{0, points_.size(), mix(options_.seed)}}, below;
    std::int32_t nodes = 1;
    while (!level.empty()) {
        std::vector<std::vector<std::size_t>> sizes(level.size());
        std::vector<std::size_t> small;
        std::size_t work = 0;
        for (std::size_t s = 0; s < level.size(); ++s) {
            if (level[s].size <= fanout) continue;
            if (level[s].size < kSharedSize) {
                small.push_back(s);
                work += level[s].size * points_.dimensions;
                continue;
            }
            auto bench = take_bench();
            cut(level[s], *bench, options_.threads, sizes[s]);
            return_bench(std::move(bench));
        }
        parallel_for(small.size(), 1, work < kWorthThreads ? 1 : options_.threads, [&](std::size_t s, std::size_t) {
            auto bench = take_bench();
            cut(level[small[s]], *bench, 1, sizes[small[s]]);
            return_bench(std::move(bench));
        });

        below.clear();
        std::size_t placed = 0;
        for (std::size_t s = 0; s < level.size(); ++s) {
            const Set& set = level[s];
            if (set.size <= fanout) sizes[s].assign(set.size, 1);
            std::size_t first = set.first;
            for (std::size_t c = 0; c < sizes[s].size(); ++c) {
                const std::size_t size = sizes[s][c];
                if (size == 1) {
                    shape.entry.push_back(~order_[first]);
                    ++placed;
                } else {
                    shape.entry.push_back(nodes++);
                    below.push_back({first, size, mix(set.seed ^ mix(c + 1))});
                }
                first += size;
            }
            shape.first_entry.push_back(static_cast<std::int32_t>(shape.entry.size()));
        }
        report_placed(options_, placed);
        level.swap(below);
    }
    return shape;
}

}  // namespace

TreeShape em_top_down(const Points& points, const BuildOptions& options) {
    require_buildable(points, options);
    return Builder(points, options).build();
}

}  // namespace anystream::bayes_tree
