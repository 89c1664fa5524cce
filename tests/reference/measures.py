"""The measures and rank tests, written down as their definitions say, in plain loops."""

import math
from collections import Counter


def accuracy(truth, predicted):
    right = 0
    for t, p in zip(truth, predicted, strict=True):
        if t == p:
            right += 1
    return right / len(truth)


def windowed_accuracy(truth, predicted, window):
    return [
        accuracy(truth[max(0, end - window) : end], predicted[max(0, end - window) : end])
        for end in range(1, len(truth) + 1)
    ]


def beyond(reached, baseline):
    return math.nan if baseline == 1 else (reached - baseline) / (1 - baseline)


def kappa(truth, predicted):
    n = len(truth)
    true, said = Counter(truth), Counter(predicted)
    chance = sum(true[label] * said[label] for label in true)
    return beyond(accuracy(truth, predicted), 1 if chance == n * n else chance / n**2)


def kappa_m(truth, predicted):
    return beyond(accuracy(truth, predicted), max(Counter(truth).values()) / len(truth))


def kappa_t(truth, predicted):
    if len(truth) < 2:
        return math.nan
    repeats = sum(truth[i] == truth[i - 1] for i in range(1, len(truth)))
    return beyond(accuracy(truth[1:], predicted[1:]), repeats / (len(truth) - 1))


def recovery(errors, at, end, before, within):
    """(level, depth, time, recovered) by walking along the curve."""
    earlier = errors[max(0, at - before) : at]
    level = sum(earlier) / len(earlier)
    worst, time = level, 0
    for error in errors[at:end]:
        if error <= level + within:
            return level, worst - level, time, True
        worst = max(worst, error)
        time += 1
    return level, worst - level, time, False


def mean_ranks(errors):
    """Mean rank of each method; equal errors share the mean of their places."""
    totals = [0.0] * len(errors[0])
    for row in errors:
        for method, error in enumerate(row):
            smaller = sum(other < error for other in row)
            equal = sum(other == error for other in row)
            totals[method] += smaller + (equal + 1) / 2
    return [total / len(errors) for total in totals]
