// The native core without Python, for other machines and compilers: results are checked against plain loops, and a
// fingerprint of their bits is printed, which is the same on every machine. `make check-aarch64` compares two.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "anystream/drift/gaussian_moments.hpp"
#include "anystream/portable_math.hpp"
#include "anystream/scan.hpp"

namespace {

std::uint64_t fingerprint = 1469598103934665603ULL;  // FNV-1a over the bits of all results

void note(double value) {
    fingerprint = (fingerprint ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211ULL;
}

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::exit(1);
}

/// Numbers in [-1, 1), the same on every machine.
class Numbers {
  public:
    double next() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<double>(static_cast<std::int64_t>(state_) >> 11) * 0x1p-52;
    }

  private:
    std::uint64_t state_ = 42;
};

void check_scan(std::size_t dimensions, anystream::Norm norm) {
    constexpr std::size_t kVectors = 333;
    Numbers numbers;
    std::vector<double> rows(kVectors * dimensions), query(dimensions);
    for (double& value : rows) value = numbers.next();
    anystream::BlockStore store(dimensions, norm);
    store.assign(rows);
    for (int repeat = 0; repeat < 20; ++repeat) {
        for (double& value : query) value = numbers.next();
        anystream::Scan scan;
        scan.open(store, query.data());
        anystream::NearestSet best(5);
        scan.nearest(store, 0, kVectors, {}, best);
        std::vector<anystream::Neighbor> plain(kVectors);
        for (std::size_t i = 0; i < kVectors; ++i) {
            plain[i].power = store.power(i, query.data());
            plain[i].id = static_cast<std::int64_t>(i);
        }
        std::sort(plain.begin(), plain.end());
        require(best.found().size() == 5, "five neighbours are found");
        for (std::size_t i = 0; i < 5; ++i) {
            require(best.found()[i].id == plain[i].id, "a scan finds the nearest vectors in their order");
            note(best.found()[i].power);
        }
    }
}

void check_moments() {
    constexpr std::size_t kClasses = 3, kFeatures = 7, kRecords = 200;
    Numbers numbers;
    std::vector<double> count(kClasses), observed(kClasses * kFeatures), mean(observed), scatter(observed);
    std::vector<double> rows(kRecords * kFeatures), proba(kRecords * kClasses);
    std::vector<std::int32_t> labels(kRecords);
    for (std::size_t i = 0; i < kRecords; ++i) {
        labels[i] = static_cast<std::int32_t>(i % kClasses);
        for (std::size_t j = 0; j < kFeatures; ++j)
            rows[i * kFeatures + j] = numbers.next() + 2.0 * static_cast<double>(i % kClasses);
    }
    anystream::learn_moments({kFeatures, count, observed, mean, scatter}, rows, labels);
    anystream::moments_proba({kClasses, kFeatures, count, observed, mean, scatter}, 0.5, rows, proba);
    for (std::size_t i = 0; i < kRecords; ++i) {
        const double* of = proba.data() + i * kClasses;
        require(std::max_element(of, of + kClasses) - of == labels[i], "classes far apart are told apart");
    }
    for (const double value : mean) note(value);
    for (const double value : scatter) note(value);
}

}  // namespace

int main() {
    for (double x = 0.0; x > -700.0; x -= 0.37) {
        const double value = anystream::portable_exp(x);
        require(std::abs(value - std::exp(x)) <= 1e-12 * std::exp(x), "portable_exp is within 1e-12 of exp");
        note(value);
    }
    for (const std::size_t dimensions : {std::size_t{2}, std::size_t{16}, std::size_t{54}})
        for (const anystream::Norm norm :
             {anystream::Norm::euclidean, anystream::Norm::manhattan, anystream::Norm::chebyshev})
            check_scan(dimensions, norm);
    check_moments();
    std::printf("%016llx\n", static_cast<unsigned long long>(fingerprint));
}
