"""The first look in plain NumPy: one feature and one class at a time, in double precision."""

import numpy as np


def first_look_scores(look, records):
    """Return log2 of the joint densities up to a number per record, for a `FirstLook` of any class."""
    n, d, n_classes = len(records), len(look.shift), len(look.bias)
    scores = np.empty((n, n_classes))
    for i, record in enumerate(records):
        for c in range(n_classes):
            total = float(look.bias[c])
            for j in range(d):
                z = (record[j] - look.shift[j]) * look.factor[j]
                if np.isnan(z):
                    continue
                z = min(max(z, -4.0), 4.0)
                total += float(look.weight[j, c]) * z
                total += float(look.weight[d + j, c]) * (z * z - float(look.square_mean[j]))
            scores[i, c] = total
    return scores


def first_look_proba(scores, sharpness=1.0, floor=0.0):
    """Return the calibrated probabilities of scores."""
    powers = np.exp2(sharpness * (scores - scores.max(axis=1, keepdims=True)))
    return (1 - floor) * powers / powers.sum(axis=1, keepdims=True) + floor / scores.shape[1]


def first_look_discriminant(records, numbers, n_classes):
    """Return the probabilities of the training records by Fisher's discriminant over their terms, not calibrated."""
    n, d = records.shape
    terms = np.zeros((n, 2 * d))
    for j in range(d):
        column = records[:, j]
        known = np.flatnonzero(~np.isnan(column))
        z = np.clip((column[known] - column[known].mean()) / column[known].std(), -4.0, 4.0)
        terms[known, j] = z
        terms[known, d + j] = z**2 - (z**2).mean()
    means = [terms[numbers == c].mean(axis=0) for c in range(n_classes)]
    within = sum(np.outer(t - means[c], t - means[c]) for t, c in zip(terms, numbers, strict=True)) / n
    spread = np.diag(np.diag(within))
    share = max(1e-3, 0.3 * 2 * d / (0.3 * 2 * d + n))
    inverse = np.linalg.inv((1 - share) * within + share * spread + 1e-6 * np.diag(within).mean() * np.eye(2 * d))
    log_joint = np.array(
        [
            [np.log((numbers == c).mean()) - 0.5 * (t - means[c]) @ inverse @ (t - means[c]) for c in range(n_classes)]
            for t in terms
        ]
    )
    powers = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
