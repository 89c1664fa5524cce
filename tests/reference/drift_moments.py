"""Gaussian naive Bayes from the records themselves: no running sums."""

import numpy as np


def naive_bayes_proba(rows, labels, n_classes, smoothing, queries):
    out = np.zeros((len(queries), n_classes))
    for i, x in enumerate(queries):
        log_joint = np.full(n_classes, -np.inf)
        for c in range(n_classes):
            own = rows[labels == c]
            if len(own) == 0:
                continue
            log_joint[c] = np.log(len(own) / len(rows))
            for j, value in enumerate(x):
                everyone = rows[~np.isnan(rows[:, j]), j]
                if np.isnan(value) or len(everyone) == 0 or everyone.var() == 0:
                    continue
                seen = own[~np.isnan(own[:, j]), j]
                mean = seen.mean() if len(seen) else everyone.mean()
                scatter = ((seen - mean) ** 2).sum()
                variance = (scatter + smoothing * everyone.var()) / (len(seen) + smoothing)
                log_joint[c] += -0.5 * np.log(2 * np.pi * variance) - (value - mean) ** 2 / (2 * variance)
        joint = np.exp(log_joint - log_joint.max())
        out[i] = joint / joint.sum()
    return out
