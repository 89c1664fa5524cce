// Many records at a budget in steps: the answers of queries, quicker, because several records read one tree.
#pragma once

#include "anystream/answer_batch.hpp"
#include "anystream/forest/forest.hpp"

namespace anystream::forest {

/// Reads every tree to its leaf for every record; the same bits as from queries.
void read_all_trees(const Forest& forest, const RecordRows& records, int threads, const AnswerRows& out);

/// Takes at most `steps` steps on each record, which do not suffice for all trees; the same bits as from queries.
void read_by_steps(const Forest& forest, const RecordRows& records, std::int64_t steps, int threads,
                   const AnswerRows& out);

/// The lead of the first class in the running sums and its number, after every number of trees (trees + 1) of every
/// record; see Query::trace.
void trace_leads(const Forest& forest, const RecordRows& records, int threads, std::span<double> lead,
                 std::span<std::int32_t> first);

}  // namespace anystream::forest
