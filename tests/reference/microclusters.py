"""Supervised micro-clusters in plain Python: raw points instead of moments wherever possible."""

import math
from statistics import NormalDist

import numpy as np


class Cluster:
    def __init__(self, number, label):
        self.number, self.label, self.points, self.times = number, label, [], []

    def add(self, x, t):
        self.points.append(x)
        self.times.append(t)

    @property
    def mean(self):
        with np.errstate(all="ignore"):
            return mean_of(self.points)

    def deviation(self, scale):
        points = np.array(self.points)
        with np.errstate(all="ignore"):
            variance = np.array([np.var(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in points.T])
        return math.sqrt((variance * scale**2).sum())

    def relevance(self):
        n = len(self.times)
        if n < 200:
            return float(np.mean(self.times))
        return float(np.mean(self.times) + NormalDist().inv_cdf(1 - 100 / (2 * n)) * np.std(self.times))


def mean_of(points):
    columns = np.array(points, dtype=float).T
    return np.array([c[~np.isnan(c)].mean() if (~np.isnan(c)).any() else np.nan for c in columns])


class MicroClusters:
    def __init__(
        self,
        d,
        clusters,
        boundary=2.0,
        stale_after=20_000,
        snapshot_every=1000,
        per_order=3,
        choose_every=2000,
        hold_back=16,
        choose_within=0,
    ):
        self.most, self.boundary, self.stale_after = clusters, boundary, stale_after
        self.snapshot_every, self.per_order, self.choose_every, self.hold_back = (
            snapshot_every,
            per_order,
            choose_every,
            hold_back,
        )
        self.choose_within, self.choice = choose_within, None  # (when it began, what it found)
        self.due = []  # points held back that a choice has used
        self.all, self.clusters, self.seen, self.next = [], [], 0, 0
        self.scale, self.scaled_at = np.ones(d), 0
        self.snapshots, self.held, self.chosen = {}, [], None

    def distance(self, a, b):
        difference = (a - b) * self.scale
        return math.sqrt(np.nansum(difference**2))

    def learn(self, x, label):
        self.all.append(x)
        lot = (self.seen * 0x9E3779B97F4A7C15 % 2**64) >> 32
        if self.seen >= self.choose_every and lot % self.hold_back == 0:
            self.held.append((x, label))
            if self.due:
                self.place(*self.due.pop(0), self.seen)
        else:
            self.place(x, label, self.seen)
        self.seen += 1
        if 2 * self.seen >= 3 * self.scaled_at and self.seen > self.scaled_at:
            self.rescale()
        self.use_choice()
        if self.seen % self.choose_every == 0:
            self.choose()
        if self.seen % self.snapshot_every == 0:
            self.snapshot()

    def rescale(self):
        self.scaled_at = self.seen
        for j, column in enumerate(np.array(self.all).T):
            known = column[~np.isnan(column)]
            variance = known.var() if len(known) else 0.0
            self.scale[j] = 1 / math.sqrt(variance) if variance > 0 else 1.0

    def place(self, x, label, t):
        own = [c for c in self.clusters if c.label == label]
        if own:
            nearest = min(own, key=lambda c: self.distance(x, c.mean))
            if len(nearest.points) > 1:
                reach = self.boundary * nearest.deviation(self.scale)
            else:
                reach = min((self.distance(nearest.mean, c.mean) for c in own if c is not nearest), default=0.0)
            if self.distance(x, nearest.mean) <= reach:
                nearest.add(x, t)
                return
        if len(self.clusters) >= self.most:
            self.make_room()
        cluster = Cluster(self.next, label)
        cluster.add(x, t)
        self.next += 1
        self.clusters.append(cluster)

    def make_room(self):
        stale = [c for c in self.clusters if c.relevance() < self.seen - self.stale_after]
        if stale:
            self.clusters = [c for c in self.clusters if c not in stale]
            return
        pairs = []
        for i, a in enumerate(self.clusters):
            rest = [b for b in self.clusters[i + 1 :] if b.label == a.label]
            if rest:
                b = min(rest, key=lambda other: self.distance(a.mean, other.mean))
                pairs.append((self.distance(a.mean, b.mean), a, b))
        if not pairs:
            self.clusters.remove(min(self.clusters, key=lambda c: c.relevance()))
            return
        taken, joined = set(), 0
        for _, a, b in sorted(pairs, key=lambda pair: pair[0]):
            if a.number in taken or b.number in taken:
                continue
            taken |= {a.number, b.number}
            a.points += b.points
            a.times += b.times
            self.clusters.remove(b)
            joined += 1
            if joined == max(1, self.most // 10):
                break

    def snapshot(self):
        """Store the points in clusters at this time; of each order the last few snapshots are kept."""
        self.snapshots[self.seen] = {id(x) for c in self.clusters for x in c.points}
        self.thin()

    def thin(self):
        orders = {}
        for t in sorted(self.snapshots, reverse=True):
            number, order = t // self.snapshot_every, 0
            while number % 2 == 0:
                number, order = number // 2, order + 1
            orders.setdefault(order, []).append(t)
        kept = {t for ts in orders.values() for t in ts[: self.per_order]} | {self.chosen}
        began = -1 if self.choice is None else self.choice[0]
        self.snapshots = {t: members for t, members in self.snapshots.items() if t in kept or t <= began}

    def horizon(self, since):
        """Return clusters of the points after a snapshot, or of all points if there are none."""
        past = self.snapshots[since] if since is not None else set()
        young = [(c.label, [x for x in c.points if id(x) not in past]) for c in self.clusters]
        young = [(label, points) for label, points in young if points]
        return young or self.horizon(None)

    def nearest(self, x, since):
        clusters = self.horizon(since)
        return min(clusters, key=lambda c: self.distance(x, mean_of(c[1])))[0]

    def choose(self):
        found, best = None, 0
        for since in [None, *sorted(self.snapshots)]:
            right = sum(self.nearest(x, since) == label for x, label in self.held)
            if right > best:
                found, best = since, right
        self.choice = (self.seen, found)
        self.due, self.held = self.due + self.held, []
        self.use_choice()
        while self.due and self.choose_within == 0:
            self.place(*self.due.pop(0), self.seen)

    def use_choice(self):
        if self.choice is not None and self.seen - self.choice[0] >= self.choose_within:
            self.chosen, self.choice = self.choice[1], None
            self.thin()

    def predict(self, x):
        return self.nearest(x, self.chosen)
