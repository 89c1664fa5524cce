#include "anystream/drift/grow_splits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "anystream/portable_math.hpp"

namespace anystream {

namespace {

/// Bits that rise with the value; both zeros have the same. NaN may not occur.
std::uint64_t key_of(double value) noexcept {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

struct Entry {
    std::uint32_t key;  // when sorting: the upper half of the value's bits; then the rank of the value
    std::uint32_t row;
};

/// Sorts by the upper halves in passes over digits; those in which all agree are left out.
template <std::size_t kBits>
void sort_by_digits(std::vector<Entry>& entries, std::vector<Entry>& scratch) {
    constexpr std::size_t kPasses = (32 + kBits - 1) / kBits, kBuckets = std::size_t{1} << kBits;
    const auto digit = [](const Entry& entry, std::size_t pass) {
        return entry.key >> (pass * kBits) & (kBuckets - 1);
    };
    scratch.resize(entries.size());
    std::array<std::array<std::uint32_t, kBuckets>, kPasses> first{};
    for (const Entry& entry : entries)
        for (std::size_t pass = 0; pass < kPasses; ++pass) ++first[pass][digit(entry, pass)];
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
        auto& place = first[pass];
        if (place[digit(entries[0], pass)] == entries.size()) continue;
        std::uint32_t sum = 0;
        for (std::uint32_t& bucket : place) sum += std::exchange(bucket, sum);
        for (const Entry& entry : entries) scratch[place[digit(entry, pass)]++] = entry;
        std::swap(entries, scratch);
    }
}

double middle(double low, double high) noexcept {
    const double between = low + (high - low) / 2.0;
    return between < high ? between : low;
}

/// A value that is not negative, to the nearest whole number, halves up.
std::int64_t round_positive(double value) noexcept {
    const auto whole = static_cast<std::int64_t>(value);
    return whole + (value - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

/// Sums of n log n as whole numbers of 1 / unit, so that their order does not matter; the unit depends on the records
/// of a node.
class LogTable {
  public:
    explicit LogTable(std::size_t records)
        : n_log_n_(records + 1, 0.0), scaled_(records + 1, 0), growth_(records + 1, 0) {
        for (std::size_t k = 2; k <= records; ++k)
            n_log_n_[k] = static_cast<double>(k) * portable_log(static_cast<double>(k));
    }

    /// Prepares for a node of n >= 2 records.
    void scale(std::size_t n) {
        unit_ = std::ldexp(1.0, 60 - std::bit_width(static_cast<std::uint64_t>(n_log_n_[n])));
        for (std::size_t k = 2; k <= n; ++k) scaled_[k] = round_positive(n_log_n_[k] * unit_);
        for (std::size_t k = 0; k < n; ++k) growth_[k] = scaled_[k + 1] - scaled_[k];
    }

    [[nodiscard]] std::int64_t at(std::size_t k) const noexcept { return scaled_[k]; }
    [[nodiscard]] std::int64_t growth(std::size_t k) const noexcept { return growth_[k]; }  // at(k + 1) - at(k)
    [[nodiscard]] double unit() const noexcept { return unit_; }

  private:
    std::vector<double> n_log_n_;
    std::vector<std::int64_t> scaled_, growth_;
    double unit_ = 1.0;
};

struct SplitFound {
    std::int64_t gain = std::numeric_limits<std::int64_t>::min();  // in units of the table
    std::size_t n_left = std::numeric_limits<std::size_t>::max();
    std::size_t feature = 0;
    std::uint32_t low = 0, high = 0;  // rows of the values beside the threshold

    [[nodiscard]] bool exists() const noexcept { return gain != std::numeric_limits<std::int64_t>::min(); }
};

/// A node that is still to be split: its records in each of the sorted columns.
struct Pending {
    std::size_t node;
    std::vector<std::pair<std::size_t, std::size_t>> part;  // (features,)
};

/// Records sorted by each feature once; the parts of a node stay sorted when it is split.
class Grower {
  public:
    Grower(std::span<const double> rows, std::size_t features, std::span<const std::int32_t> labels,
           const GrowRules& rules)
        : rows_(rows),
          features_(features),
          rules_(rules),
          n_(labels.size()),
          table_(n_),
          slot_(n_),
          goes_left_(n_),
          columns_(features),
          sides_(n_ + 1) {
        std::vector<std::int32_t> present(labels.begin(), labels.end());
        std::ranges::sort(present);
        present.erase(std::unique(present.begin(), present.end()), present.end());
        for (std::size_t i = 0; i < n_; ++i)
            slot_[i] = static_cast<std::uint32_t>(std::ranges::lower_bound(present, labels[i]) - present.begin());
        whole_.resize(present.size());
        left_.resize(present.size());
        for (std::size_t i = 0; i < n_; ++i) tree_.order.push_back(static_cast<std::int64_t>(i));
    }

    SplitTree grow() {
        add_node(0, n_);
        std::vector<Pending> pending;
        if (is_mixed(0)) {
            pending.push_back({0, {}});
            for (std::size_t feature = 0; feature < features_; ++feature) {
                sort_column(feature);
                pending.back().part.emplace_back(0, columns_[feature].size());
            }
        }
        while (!pending.empty()) {
            const Pending now = std::move(pending.back());
            pending.pop_back();
            const SplitFound found = search(now);
            if (!found.exists() || !pays(now.node, found)) continue;
            split(now, found, pending);
        }
        return std::move(tree_);
    }

  private:
    double value(std::size_t row, std::size_t feature) const noexcept { return rows_[row * features_ + feature]; }

    std::size_t begin(std::size_t node) const noexcept { return static_cast<std::size_t>(tree_.begin[node]); }
    std::size_t end(std::size_t node) const noexcept { return static_cast<std::size_t>(tree_.end[node]); }

    std::size_t add_node(std::size_t begin, std::size_t end) {
        tree_.feature.push_back(-1);
        tree_.threshold.push_back(0.0);
        tree_.gain.push_back(0.0);
        tree_.left.push_back(-1);
        tree_.right.push_back(-1);
        tree_.begin.push_back(static_cast<std::int64_t>(begin));
        tree_.end.push_back(static_cast<std::int64_t>(end));
        return tree_.feature.size() - 1;
    }

    /// Whether a node may be split; counts its classes.
    bool is_mixed(std::size_t node) {
        const std::size_t n = end(node) - begin(node);
        if (n < rules_.min_records || n < 2 * rules_.min_side || n < 2) return false;
        count_classes(node);
        return std::ranges::max(whole_) < n;
    }

    void count_classes(std::size_t node) {
        std::ranges::fill(whole_, 0);
        for (std::size_t i = begin(node); i < end(node); ++i) ++whole_[slot_[static_cast<std::size_t>(tree_.order[i])]];
    }

    /// Values that are missing are left out.
    void sort_column(std::size_t feature) {
        constexpr std::size_t kShort = 48, kMany = 1500;
        auto& column = columns_[feature];
        column.reserve(n_);
        for (std::size_t i = 0; i < n_; ++i)
            if (const double x = value(i, feature); x == x)
                column.push_back({static_cast<std::uint32_t>(key_of(x) >> 32), static_cast<std::uint32_t>(i)});
        if (column.empty()) return;
        if (column.size() < kShort)
            std::ranges::sort(column, {}, &Entry::key);
        else if (column.size() < kMany)
            sort_by_digits<8>(column, scratch_);
        else
            sort_by_digits<11>(column, scratch_);
        const auto full = [&](const Entry& entry) { return key_of(value(entry.row, feature)); };
        for (auto first = column.begin(); first != column.end();) {  // equal upper halves: by all bits
            auto last = first + 1;
            while (last != column.end() && last->key == first->key) ++last;
            if (last - first > 1) std::ranges::sort(first, last, {}, full);
            first = last;
        }
        std::uint64_t before = full(column[0]);
        std::uint32_t rank = 0;
        for (Entry& entry : column) {
            const std::uint64_t key = full(entry);
            rank += key != before ? 1 : 0;
            before = key;
            entry.key = rank;
        }
    }

    SplitFound search(const Pending& now) {
        const std::size_t n = end(now.node) - begin(now.node);
        count_classes(now.node);
        table_.scale(n);
        for (std::size_t cut = 1; cut < n; ++cut) sides_[cut] = table_.at(cut) + table_.at(n - cut);
        of_whole_ = 0;
        for (const std::size_t count : whole_) of_whole_ += table_.at(count);
        SplitFound found;
        for (std::size_t feature = 0; feature < features_; ++feature) search_column(now, feature, n, found);
        return found;
    }

    void search_column(const Pending& now, std::size_t feature, std::size_t n, SplitFound& found) {
        const auto [first, last] = now.part[feature];
        const std::span<const Entry> entries = std::span(columns_[feature]).subspan(first, last - first);
        if (entries.size() < 2) return;
        std::ranges::fill(left_, 0);
        const std::int64_t base = table_.at(n) - of_whole_;
        const std::size_t max_cut = std::min(entries.size() - 1, n - rules_.min_side);
        std::int64_t of_classes = of_whole_;  // the sum of n log n over the classes on the left and on the right
        for (std::size_t cut = 1; cut <= max_cut; ++cut) {
            const std::uint32_t c = slot_[entries[cut - 1].row];
            const std::size_t before = left_[c]++;
            of_classes += table_.growth(before) - table_.growth(whole_[c] - before - 1);
            if (entries[cut].key == entries[cut - 1].key || cut < rules_.min_side) continue;
            const std::int64_t gain = base + of_classes - sides_[cut];
            if (gain < found.gain || (gain == found.gain && cut >= found.n_left)) continue;
            found = {gain, cut, feature, entries[cut - 1].row, entries[cut].row};
        }
    }

    bool pays(std::size_t node, const SplitFound& found) const {
        const double n = static_cast<double>(end(node) - begin(node));
        const double cost = std::log(static_cast<double>(rules_.n_features) * (n - 1.0)) + rules_.min_gain;
        return static_cast<double>(found.gain) / table_.unit() > cost;
    }

    void split(const Pending& now, const SplitFound& found, std::vector<Pending>& pending) {
        const std::size_t node = now.node, first = begin(node), last = end(node);
        const double threshold = middle(value(found.low, found.feature), value(found.high, found.feature));
        tree_.feature[node] = static_cast<std::int64_t>(found.feature);
        tree_.threshold[node] = threshold;
        tree_.gain[node] = static_cast<double>(found.gain) / table_.unit();
        for (std::size_t i = first; i < last; ++i) {
            const auto row = static_cast<std::size_t>(tree_.order[i]);
            goes_left_[row] = value(row, found.feature) <= threshold ? 1 : 0;
        }
        const auto below = [&](std::int64_t row) { return goes_left_[static_cast<std::size_t>(row)] != 0; };
        const auto from = tree_.order.begin() + static_cast<std::ptrdiff_t>(first);
        const auto to = tree_.order.begin() + static_cast<std::ptrdiff_t>(last);
        const auto middle_at = first + static_cast<std::size_t>(std::stable_partition(from, to, below) - from);
        const std::size_t left = add_node(first, middle_at), right = add_node(middle_at, last);
        tree_.left[node] = static_cast<std::int64_t>(left);
        tree_.right[node] = static_cast<std::int64_t>(right);
        const bool grows_left = is_mixed(left), grows_right = is_mixed(right);
        if (!grows_left && !grows_right) return;
        Pending of_left{left, {}}, of_right{right, {}};
        for (std::size_t feature = 0; feature < features_; ++feature) {
            const auto [begin, end] = now.part[feature];
            const std::size_t bound = partition(columns_[feature], begin, end);
            of_left.part.emplace_back(begin, bound);
            of_right.part.emplace_back(bound, end);
        }
        if (grows_right) pending.push_back(std::move(of_right));
        if (grows_left) pending.push_back(std::move(of_left));
    }

    /// Moves the entries that go left before the others, both in their order; returns where the others begin.
    std::size_t partition(std::vector<Entry>& column, std::size_t begin, std::size_t end) {
        if (scratch_.size() < end - begin) scratch_.resize(end - begin);
        std::size_t to = begin, n_right = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const Entry entry = column[i];
            const std::size_t left = goes_left_[entry.row];
            column[to] = entry;
            scratch_[n_right] = entry;
            to += left;
            n_right += 1 - left;
        }
        std::copy_n(scratch_.begin(), n_right, column.begin() + static_cast<std::ptrdiff_t>(to));
        return to;
    }

    std::span<const double> rows_;
    std::size_t features_;
    GrowRules rules_;
    std::size_t n_;
    LogTable table_;
    std::vector<std::uint32_t> slot_;          // (rows,) class, counted from 0
    std::vector<std::uint8_t> goes_left_;      // (rows,)
    std::vector<std::vector<Entry>> columns_;  // (features,)
    std::vector<std::int64_t> sides_;          // (records of a node,) n log n of both sides of a cut
    std::vector<std::size_t> whole_, left_;    // (classes,)
    std::int64_t of_whole_ = 0;
    std::vector<Entry> scratch_;
    SplitTree tree_;
};

}  // namespace

SplitTree grow_splits(std::span<const double> rows, std::size_t features, std::span<const std::int32_t> labels,
                      const GrowRules& rules) {
    return Grower(rows, features, labels, rules).grow();
}

}  // namespace anystream
