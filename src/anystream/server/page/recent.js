// Figures of the last seconds from counts since the start: differences between two snapshots.

const RATE_S = 1, WAIT_S = 2, SHARE_S = 10;

/** Snapshots of one model over the last seconds. */
export class Recent {
  constructor() { this.snapshots = []; } // [[time, snapshot], ...]

  push(time, snapshot) {
    if (time < this.snapshots.at(-1)?.[0]) this.snapshots = []; // the server was started again
    this.snapshots.push([time, snapshot]);
    while (this.snapshots.length > 2 && this.snapshots[1][0] <= time - SHARE_S) this.snapshots.shift();
  }

  /** Return the figures of now; NaN where nothing happened. */
  figures() {
    const [time, now] = this.snapshots.at(-1);
    const during = (seconds) => {
      const [from, before] = this.snapshots.findLast((found) => found[0] <= time - seconds) ?? this.snapshots[0];
      const of = (name) => now.counts[name] - before.counts[name];
      return { of, before, seconds: Math.max(time - from, 1e-9), share: (part, whole) => of(part) / of(whole) };
    };
    const second = during(RATE_S), waits = during(WAIT_S), shares = during(SHARE_S);
    const waited = (share) => 1e3 * quantile(now.histograms.waited_s, waits.before.histograms.waited_s, share);
    const moved = this.snapshots.length > 1;
    return {
      arrivals_per_s: moved ? second.of("records") / second.seconds : NaN,
      answers_per_s: moved ? second.of("answers") / second.seconds : NaN,
      steps_per_answer: second.share("steps", "answers"),
      certified_share: waits.share("certified", "answers"),
      confident_share: waits.share("confident", "answers"),
      on_time_share: shares.share("on_time", "answers"),
      accuracy: shares.share("right", "judged"),
      wait_p50_ms: waited(0.5),
      wait_p99_ms: waited(0.99),
      queue_length: now.present.queue_length,
      answered: now.counts.answers,
      late: now.counts.late,
      learned: now.counts.acknowledged - now.counts.unlearned,
      refused: Object.values(now.refused).reduce((sum, n) => sum + n, 0),
    };
  }
}

/** Quantile of the values that two histograms differ by; within a bucket, values lie evenly. */
function quantile(now, before, share) {
  const counts = now.counts.map((n, i) => n - before.counts[i]), total = counts.reduce((sum, n) => sum + n, 0);
  let rest = share * total;
  for (const [i, count] of counts.entries()) {
    if (count >= rest && count > 0) {
      const low = i ? now.bounds[i - 1] : 0, high = now.bounds[i] ?? low;
      return low + ((high - low) * rest) / count;
    }
    rest -= count;
  }
  return NaN;
}
