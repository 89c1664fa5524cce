#include "anystream/neighbors/answer.hpp"

#include "anystream/parallel.hpp"

namespace anystream::neighbors {

namespace {

constexpr std::size_t kRecordsAtOnce = 16;

struct GalleryBatch {
    using Query = neighbors::Query;
    static constexpr std::size_t kChunk = kRecordsAtOnce;
    static constexpr std::int64_t kRoundSteps = 16;

    const Gallery& gallery;
    const Records& records;
    std::size_t k;

    [[nodiscard]] std::size_t size() const noexcept { return records.size(); }
    [[nodiscard]] std::size_t classes() const noexcept { return gallery.classes(); }
    void open(Query& query, std::size_t i) const { query.open(gallery, records.row(i), k); }
    void advance(Query& query, std::int64_t steps, StopWatch* watch) const { query.advance(gallery, steps, watch); }
    [[nodiscard]] bool finished(const Query& query) const noexcept { return query.exhausted(); }
    void posterior(const Query& query, std::span<double> out) const { query.posterior(gallery, out); }
};

}  // namespace

void answer(const Gallery& gallery, const Records& records, std::size_t k, const Limits& limits, int threads,
            const AnswerRows& out) {
    answer_batch(GalleryBatch{gallery, records, k}, limits, threads, out);
}

void answer_in_stages(const Gallery& gallery, const Records& records, std::size_t k,
                      std::span<const std::int64_t> stages, int threads, std::span<double> out) {
    answer_batch_in_stages(GalleryBatch{gallery, records, k}, stages, threads, out);
}

void leave_one_out(const Gallery& gallery, std::size_t k, std::span<const std::int64_t> stages, int threads,
                   std::span<std::int32_t> out) {
    parallel_for(gallery.size(), kRecordsAtOnce, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            query.leave_out(i);
            query.open(gallery, gallery.space().row(i), k);
            for (std::size_t s = 0; s < stages.size(); ++s) {
                query.refine(gallery, {.steps = stages[s] - query.steps()});
                out[i * stages.size() + s] = static_cast<std::int32_t>(query.label(gallery));
            }
        }
    });
}

}  // namespace anystream::neighbors
