"""LOCUST in plain Python: levels as in the default classifier, blocks as in the paper."""

import math
from itertools import permutations

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
MISSING = 255


# -- random numbers ----------------------------------------------------------------------------------------------------


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def record_seed(seed, x):
    h = mix((seed + GOLDEN) & MASK)
    for value in np.asarray(x, dtype=np.float32):
        bits = 1 << 32 if np.isnan(value) else int((value + np.float32(0)).view(np.uint32))
        h = ((((h << 5) | (h >> 59)) & MASK) ^ bits) * 0xFF51AFD7ED558CCD & MASK
    return mix(h)


class Generator:
    def __init__(self, seed, sample):
        self.state = mix((seed + sample * GOLDEN) & MASK)

    def next(self):
        self.state = (self.state + GOLDEN) & MASK
        return mix(self.state)

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53


# -- ranges ------------------------------------------------------------------------------------------------------------


def equi_depth_limits(values, n_ranges):
    """Add whole values to a range while that brings its size nearer to (points left) / (ranges left)."""
    distinct, counts = np.unique(values, return_counts=True)
    limits, left, ranges, i = [], int(counts.sum()), n_ranges, 0
    while i < len(distinct):
        target = left / ranges
        size, j = int(counts[i]), i + 1
        while j < len(distinct) and (ranges == 1 or abs(size + counts[j] - target) < abs(size - target)):
            size, j = size + int(counts[j]), j + 1
        if j < len(distinct):
            limits.append(distinct[j - 1])
        left, ranges, i = left - size, ranges - 1, j
    return limits


def most_frequent(values, max_values=253):
    distinct, counts = np.unique(values, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:max_values]
    return sorted(distinct[kept].tolist())


class Ranges:
    def __init__(self, columns, n_ranges, categorical=()):
        self.categorical = set(categorical)
        self.cuts = []
        for j, column in enumerate(columns.T):
            known = column[~np.isnan(column)]
            self.cuts.append(most_frequent(known) if j in self.categorical else equi_depth_limits(known, n_ranges))

    def n_ranges(self, j):
        return len(self.cuts[j]) + 1

    def code(self, x):
        codes = []
        for j, value in enumerate(x):
            if np.isnan(value):
                codes.append(MISSING)
            elif j in self.categorical:
                codes.append(self.cuts[j].index(value) if value in self.cuts[j] else len(self.cuts[j]))
            else:
                codes.append(sum(limit < value for limit in self.cuts[j]))
        return codes


# -- drawing dimensions ------------------------------------------------------------------------------------------------


def draw_dimensions(weights, random):
    """Draw dimensions by weight without replacement: draw again on repetition, while less than half is used up."""
    cumulative = np.cumsum(weights) if len(weights) else np.array([])
    total = cumulative[-1] if len(weights) else 0.0
    weight = np.diff(cumulative, prepend=0.0)
    drawable, used, drawn = {j for j in range(len(weights)) if weights[j] > 0}, 0.0, set()
    while drawn != drawable:
        j = None
        while used * 2 < total:
            j = int(np.searchsorted(cumulative, random.uniform() * total, side="right"))
            if j < len(weights) and j not in drawn:
                break
            j = None
        if j is None:
            rest = [k for k in sorted(drawable - drawn) if weight[k] > 0]
            at, so_far = random.uniform() * sum(weight[k] for k in rest), 0.0
            for k in rest:
                j = k
                so_far += weight[k]
                if so_far > at:
                    break
        drawn.add(j)
        used += weight[j]
        yield j


# -- levels ------------------------------------------------------------------------------------------------------------


class Level:
    def __init__(self, capacity, n_ranges, floor, categorical=()):
        self.capacity, self.n_ranges, self.floor = capacity, n_ranges, floor
        self.categorical = categorical
        self.x, self.y, self.arrival = [], [], []
        self.ranges, self.since_cut, self.size_at_cut = None, 0, 0
        self.constant, self.surprised = None, False

    def count(self, c):
        return self.y.count(c)

    def insert(self, x, c, arrival, shares):
        place = self.place_for(c, shares)
        if place == len(self.y):
            self.x.append(None), self.y.append(None), self.arrival.append(None)
        self.x[place], self.y[place], self.arrival[place] = np.asarray(x, dtype=np.float32), c, arrival
        if self.ranges is None:
            self.ranges = Ranges(np.zeros((0, len(x))), self.n_ranges)
            self.ranges.categorical = set(self.categorical)
            self.constant = np.full(len(x), np.nan)
        for j, value in enumerate(self.x[place]):
            self.surprised |= bool(self.ranges.n_ranges(j) == 1 and not np.isnan(value) and value != self.constant[j])
        self.since_cut += 1
        grown = len(self.y) >= 2 * max(self.size_at_cut, 1)
        if grown or self.since_cut >= 4 * self.capacity or (self.surprised and self.since_cut * 8 >= len(self.y)):
            self.cut_again()

    def cut_again(self):
        columns = np.array(self.x)
        self.ranges = Ranges(columns, self.n_ranges, self.categorical)
        for j, column in enumerate(columns.T):  # only those with one range are looked at
            known = column[~np.isnan(column)]
            self.constant[j] = known[0] if len(known) else np.nan
        self.since_cut, self.size_at_cut, self.surprised = 0, len(self.y), False

    def place_for(self, c, shares):
        """`shares`: shares of the stream by class; None in the first level, which has no quotas."""
        if len(self.y) < self.capacity:
            return len(self.y)
        oldest_first = sorted(range(len(self.y)), key=lambda p: self.arrival[p])
        free = [p for p in oldest_first if self.count(self.y[p]) > self.floor]
        beyond = [p for p in free if shares and self.count(self.y[p]) + (self.y[p] == c) > shares[self.y[p]]]
        return (beyond or free or oldest_first)[0]

    def unrelated(self):
        """Return the average number of ranges between unrelated values."""
        return max(1, math.floor((self.n_ranges - 1 / self.n_ranges) / 3 + 0.5))

    def distance(self, query, code):
        """Return the number of ranges between codes; for two categories the average of unrelated values."""
        apart = 0
        for j, (a, b) in enumerate(zip(query, code, strict=True)):
            if MISSING not in (a, b):
                apart += self.unrelated() * (a != b) if j in self.ranges.categorical else abs(a - b)
        return apart

    def weight(self, members, classes):
        n_v, n = len(members), len(self.y)
        if n_v == 0:
            return 0.0
        kl = 0.0
        for c in range(classes):
            pi = self.count(c) / n
            if pi > 0:
                f = (sum(self.y[p] == c for p in members) + pi) / (n_v + 1)
                kl += f * math.log(f / pi)
        s = 1 - n_v / n
        return float(np.float32(max(0.0, kl) * s + 0.01 * s + 1e-6))

    def sample(self, x, classes, random, support=24, smoothing=1.0, kernel=0.5, affinity=0.2):
        """Return the vote of one sample, as an array over the classes."""
        n, d = len(self.y), len(x)
        query, codes = self.ranges.code(x), [self.ranges.code(p) for p in self.x]
        prior = np.array([self.count(c) / n for c in range(classes)])
        lists = [
            {p for p in range(n) if codes[p][j] == query[j]}
            if query[j] != MISSING and self.ranges.n_ranges(j) > 1
            else set()
            for j in range(d)
        ]
        weights = [self.weight(members, classes) for members in lists]
        distance = [self.distance(query, code) for code in codes]
        inside, pure = None, False
        for j in draw_dimensions(weights, random):
            narrowed = lists[j] if inside is None else inside & lists[j]
            if not narrowed or narrowed == inside:
                continue
            inside = narrowed
            pure = len({self.y[p] for p in inside}) == 1
            if pure or len(inside) <= support:
                break
        if inside is None:
            return math.exp(-affinity * d * self.unrelated()) * prior
        counts = np.zeros(classes)
        if not pure and len(inside) <= 64:
            best = min(distance[p] for p in inside)
            for p in inside:
                counts[self.y[p]] += math.exp(-kernel * (distance[p] - best))
        else:
            words = (self.capacity + 63) // 64
            first = random.next() % words
            order = sorted(inside, key=lambda p: ((p // 64 - first) % words, p))
            best = min(distance[p] for p in order[:8])
            for p in inside:
                counts[self.y[p]] += 1
        return math.exp(-affinity * best) * (counts + smoothing * prior) / (counts.sum() + smoothing)


class Levels:
    """The default LOCUST. Parameters and constants as in the native code."""

    def __init__(
        self,
        d,
        classes,
        n_levels=4,
        level_size=1024,
        stride=4,
        n_ranges=8,
        floor=2,
        delay=0,
        seed=0,
        categorical=(),
        **vote,
    ):
        self.classes, self.stride, self.delay, self.seed, self.vote = classes, stride, delay, seed, vote
        self.level_size, self.class_seen = level_size, [0] * classes
        self.levels = [Level(level_size, n_ranges, floor, categorical) for _ in range(n_levels)]
        self.judged, self.regret, self.seen = self.levels, np.zeros(n_levels), 0

    def learn(self, x, c):
        if self.delay and self.seen % self.delay == 0:
            self.judged = [self.copy(level) for level in self.levels]
        lot = mix((self.seed + GOLDEN * (self.seen + 1)) & MASK)
        if lot < 2**57:
            self.judge(x, c)
        for k, level in enumerate(self.levels):
            if lot % self.stride**k == 0 or level.count(c) < level.floor:
                level.insert(x, c, self.seen, self.shares(k))
        self.seen += 1
        self.class_seen[c] += 1

    def shares(self, k):
        """Return the number of slots of a level for each class."""
        return [n * self.level_size / self.seen for n in self.class_seen] if k and self.seen else None

    @staticmethod
    def copy(level):
        twin = Level(level.capacity, level.n_ranges, level.floor, level.categorical)
        twin.x, twin.y, twin.arrival = list(level.x), list(level.y), list(level.arrival)
        twin.ranges, twin.since_cut, twin.size_at_cut = level.ranges, level.since_cut, level.size_at_cut
        twin.constant, twin.surprised = level.constant, level.surprised
        return twin

    def judge(self, x, c):
        worst = -math.log(0.05)
        loss = np.full(len(self.judged), worst)
        seed = record_seed(self.seed, x)
        for k, level in enumerate(self.judged):
            if not level.y:
                continue
            votes = sum(level.sample(x, self.classes, Generator(seed, s), **self.vote) for s in range(10))
            loss[k] = -math.log(max(votes[c] / votes.sum(), 0.05))
        disagreement = min(1.0, (loss.max() - loss.min()) / (0.5 * worst))
        self.regret = self.regret * 0.995**disagreement + loss

    def weights(self):
        asked = np.array([k == 0 or len(level.y) >= 32 for k, level in enumerate(self.levels)])
        w = np.where(asked, np.exp(-0.2 * (self.regret - self.regret[asked].min())), 0.0)
        w = 0.9 * w / w.sum() + 0.1 * asked / asked.sum()
        shares = np.sqrt(w)
        return w, shares / shares.sum()

    def proba(self, x, samples):
        weights, shares = self.weights()
        given, sums = np.zeros(len(weights)), np.zeros((len(weights), self.classes))
        seed = record_seed(self.seed, x)
        for s in range(samples):
            k = int(np.argmax(np.where(shares > 0, shares * (s + 1) - given, -np.inf)))
            sums[k] += self.levels[k].sample(x, self.classes, Generator(seed, s), **self.vote)
            given[k] += 1
        if samples == 0:
            means = np.array(
                [[level.count(c) / max(len(level.y), 1) for c in range(self.classes)] for level in self.levels]
            )
        else:
            means = sums / np.maximum(given, 1)[:, None]
        score = weights @ means
        return score / score.sum()


# -- blocks ------------------------------------------------------------------------------------------------------------


class Block:
    def __init__(self, X, y, classes, n_ranges=10, categorical=()):
        self.X, self.y = np.asarray(X, dtype=np.float32), np.asarray(y)
        self.classes = classes
        self.ranges = Ranges(self.X, n_ranges, categorical)
        self.codes = np.array([self.ranges.code(x) for x in self.X])
        self.prior = np.bincount(self.y, minlength=classes) / len(self.y)

    def lists(self, x):
        query = self.ranges.code(np.asarray(x, dtype=np.float32))
        return [
            set(np.flatnonzero(self.codes[:, j] == query[j]).tolist())
            if query[j] != MISSING and self.ranges.n_ranges(j) > 1
            else set()
            for j in range(len(query))
        ]

    def gini(self, members):
        """Eq. 3 and 4."""
        counts = np.bincount(self.y[list(members)], minlength=self.classes)
        present = self.prior > 0
        presence = counts[present] / self.prior[present]
        return float(np.float32((presence**2).sum() / presence.sum() ** 2))

    def dominant(self, members, rule="count"):
        """Return the dominant class and Eq. 6."""
        counts = np.bincount(self.y[list(members)], minlength=self.classes)
        strength = np.where(counts > 0, counts if rule == "count" else counts / np.maximum(self.prior, 1e-300), -1.0)
        # Ties go to the class that came first.
        c = min(np.flatnonzero(strength == strength.max()), key=lambda k: int(np.argmax(self.y == k)))
        f_d, f_g = counts[c] / len(members), self.prior[c]
        if f_g == 1:
            return int(c), 0.0
        return int(c), (f_d - f_g) / math.sqrt(f_g * (1 - f_g) / len(members))

    def walk(self, lists, order, t, n_thresh, rule="count"):
        """Return class, success and number of dimensions of a sample that draws dimensions in this order."""
        inside = set(range(len(self.y)))
        c, gamma = self.dominant(inside, rule)
        for used, j in enumerate(order):
            if gamma > t or len(inside) <= n_thresh:
                return c, gamma > t, used
            if inside & lists[j]:
                inside &= lists[j]
                c, gamma = self.dominant(inside, rule)
        return c, gamma > t, len(order)

    def exact_votes(self, x, power=1.0, t=3.0, n_thresh=5, rule="count"):
        """Return the probability that a sample ends with each (class, success), over all orders of the dimensions."""
        lists = self.lists(x)
        usable = [j for j in range(len(lists)) if lists[j]]
        weight = {j: self.gini(lists[j]) ** power for j in usable}
        votes = {}
        for order in permutations(usable):
            probability, rest = 1.0, sum(weight.values())
            for j in order:
                probability *= weight[j] / rest
                rest -= weight[j]
            c, success, _ = self.walk(lists, order, t, n_thresh, rule)
            votes[c, success] = votes.get((c, success), 0.0) + probability
        return votes

    def sample(self, x, random, power=1.0, t=3.0, n_thresh=5, rule="count", empty="skip"):
        """Return the class, gamma and success of a sample; the class is None if it ended without a point."""
        lists = self.lists(x)
        weights = [self.gini(members) ** power if members else 0.0 for members in lists]
        inside = set(range(len(self.y)))
        c, gamma = self.dominant(inside, rule)
        draws = draw_dimensions(weights, random)
        while not gamma > t and len(inside) > n_thresh:
            j = next(draws, None)
            if j is None:
                break
            if not inside & lists[j] and empty == "end":
                return None, 0.0, False
            if inside & lists[j]:
                inside &= lists[j]
                c, gamma = self.dominant(inside, rule)
        return c, gamma, gamma > t
