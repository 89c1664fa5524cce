"""Bulk loading by mixture reduction: Goldberger's regroup and refit, and EM over virtual samples."""

import numpy as np

from reference.hilbert import cells, z_key
from reference.packing import means_of
from reference.tree_shape import build_bottom_up, moments


class NotConvergedError(Exception):
    """EM still moves after 500 iterations: components that merge do so ever more slowly."""


def expected_log_density(mean_f, variance_f, mean_g, variance_g):
    """Return the mean of log g over f; KL(f || g) is its negative, up to a constant of f."""
    return -0.5 * (np.log(variance_g) + ((mean_f - mean_g) ** 2 + variance_f) / variance_g).sum(axis=-1)


def first_mapping(level, fanout):
    """Map 0.75 M entries to each group, along the z-curve."""
    keys = [z_key(cell) for cell in cells(means_of(level))]
    mapping = np.empty(len(level), int)
    for rank, i in enumerate(sorted(range(len(level)), key=lambda i: (keys[i], i))):
        mapping[i] = rank // max(2, fanout * 3 // 4)
    return mapping


def goldberger(points, fanout, kernel_variance):
    """Regroup and refit while the distance d(f, g) falls."""

    def group(level):
        mapping = first_mapping(level, fanout)
        groups, distance = mapping.max() + 1, np.inf
        while True:
            fitted = {j: moments([level[i] for i in np.flatnonzero(mapping == j)]) for j in set(mapping)}
            density = np.full((len(level), groups), -np.inf)
            means, variances = means_of(level), np.array([variance for *_, variance in level])
            for j, (_, mean_g, variance_g) in fitted.items():
                density[:, j] = expected_log_density(means, variances, mean_g, variance_g)
            mapping = density.argmax(axis=1)
            now = -sum(entry[1] * density[i].max() for i, entry in enumerate(level))
            if not distance - now > 1e-9 * abs(distance) and np.isfinite(distance):
                return keep_fanout(level, mapping, fanout, lambda i, j, size, log_g: log_g)
            distance = now

    return build_bottom_up(points, fanout, group, kernel_variance)


def virtual_sampling(points, fanout, kernel_variance):
    """Group by EM, until no responsibility changes any more, in which entry i represents a block of R_i samples."""

    def group(level):
        mapping = first_mapping(level, fanout)
        means, variances = means_of(level), np.array([variance for *_, variance in level])
        r = np.array([weight for _, weight, _, _ in level])
        z = (mapping[:, None] == np.arange(mapping.max() + 1)).astype(float)
        for _ in range(500):
            joint = np.full(z.shape, -np.inf)
            for j in range(z.shape[1]):
                share = z[:, j] * r
                if z[:, j].sum() <= 1e-9:
                    continue
                mean = share @ means / share.sum()
                variance = share @ ((means - mean) ** 2 + variances) / share.sum()
                joint[:, j] = np.log(z[:, j].mean()) + r * expected_log_density(means, variances, mean, variance)
            peak = joint.max(axis=1, keepdims=True)
            total = peak + np.log(np.exp(joint - peak).sum(axis=1, keepdims=True))
            before, z = z, np.exp(joint - total)
            if np.abs(z - before).max() < 1e-9:
                break
        else:
            raise NotConvergedError

        def responsibility(i, j, size, log_g):
            return r[i] * log_g + np.log(size / len(level))

        return keep_fanout(level, joint.argmax(axis=1), fanout, responsibility)

    return build_bottom_up(points, fanout, group, kernel_variance)


def keep_fanout(level, mapping, fanout, closeness):
    """Split groups above the fanout, then move single entries to the closest group below it."""
    groups = [piece for j in sorted(set(mapping)) for piece in split(level, list(np.flatnonzero(mapping == j)), fanout)]
    for j, single in enumerate(groups):
        if len(single) != 1:
            continue
        _, _, mean, variance = level[single[0]]
        close = {}
        for k, g in enumerate(groups):
            if k != j and 0 < len(g) < fanout:
                _, mean_g, variance_g = moments([level[i] for i in g])
                log_g = expected_log_density(mean, variance, mean_g, variance_g)
                close[k] = closeness(single[0], k, len(g), log_g)
        if close:
            groups[max(close, key=close.__getitem__)].append(single[0])
            groups[j] = []
    return [g for g in groups if g]


def split(level, members, fanout):
    """Halve a group at its mean in the dimension of its highest variance until no part is above the fanout."""
    if len(members) <= fanout:
        return [members]
    _, mean, variance = moments([level[i] for i in members])
    means = means_of([level[i] for i in members])
    for a in (int(np.argmax(variance)), int(np.argmax(((means - mean) ** 2).sum(axis=0)))):
        low = means[:, a] <= mean[a]
        if 0 < low.sum() < len(low):
            break
    else:
        low = np.arange(len(members)) < len(members) // 2
    halves = [[m for m, is_low in zip(members, low, strict=True) if is_low == side] for side in (True, False)]
    return split(level, halves[0], fanout) + split(level, halves[1], fanout)
