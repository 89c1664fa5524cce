"""Gaussian naive Bayes from the records themselves, without running sums."""

import numpy as np


def naive_bayes_proba(records, labels, n_classes, smoothing, queries):
    proba = np.zeros((len(queries), n_classes))
    for i, x in enumerate(queries):
        log_joint = np.full(n_classes, -np.inf)
        for c in range(n_classes):
            own = records[labels == c]
            if len(own) == 0:
                continue
            log_joint[c] = np.log(len(own) / len(records))
            for j, value in enumerate(x):
                observed = records[~np.isnan(records[:, j]), j]
                if np.isnan(value) or len(observed) == 0 or observed.var() == 0:
                    continue
                seen = own[~np.isnan(own[:, j]), j]
                mean = seen.mean() if len(seen) else observed.mean()
                scatter = ((seen - mean) ** 2).sum()
                variance = (scatter + smoothing * observed.var()) / (len(seen) + smoothing)
                log_joint[c] += -0.5 * np.log(2 * np.pi * variance) - (value - mean) ** 2 / (2 * variance)
        joint = np.exp(log_joint - log_joint.max())
        proba[i] = joint / joint.sum()
    return proba
