"""Margin maximisation (MM) in plain NumPy, after section 3.2 of BT* (Eq. 13-16) and extended Baum-Welch."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


@dataclass
class Mixtures:
    """Components of all classes: class, weight within it, mean and covariance (K, d, d); and the classes' priors."""

    label: np.ndarray
    w: np.ndarray
    mu: np.ndarray
    Sigma: np.ndarray
    prior: np.ndarray


def log_joints(X, m):
    """Return log P(l) w_e g_e(x) of every component, and log p(l, x) of every class."""
    parts = np.column_stack(
        [
            np.log(m.prior[m.label[e]] * m.w[e]) + multivariate_normal.logpdf(X, m.mu[e], m.Sigma[e]).reshape(len(X))
            for e in range(len(m.label))
        ]
    )
    joint = np.column_stack([logsumexp(parts[:, m.label == c], axis=1) for c in range(len(m.prior))])
    return parts, joint


def h(y):
    """Return h(y), Eq. 16."""
    return np.where(y <= 1, y + 0.5, np.where(y < 2, 2 - 0.5 * (y - 2) ** 2, 2.0))


def log_margin(joint, labels, kappa):
    """Return log d(x), Eq. 15."""
    rivals = joint.copy()
    rivals[np.arange(len(labels)), labels] = -np.inf
    return joint[np.arange(len(labels)), labels] - logsumexp(kappa * rivals, axis=1) / kappa


def objective(X, labels, m, kappa, lam):
    """Return 1/N log of Eq. 14."""
    u = lam * log_margin(log_joints(X, m)[1], labels, kappa)
    return np.log(h(np.exp(np.minimum(u, np.log(2))))).mean()


def sums(X, labels, m, kappa, lam):
    """Return C, M and S of every component, from which the gradient and the update are computed."""
    parts, joint = log_joints(X, m)
    u = lam * log_margin(joint, labels, kappa)
    y = np.exp(np.minimum(u, np.log(2)))
    slope = np.where(y <= 1, y / h(y), np.where(y < 2, y * (2 - y) / h(y), 0.0))
    omega = lam * slope
    rivals = kappa * joint
    rivals[np.arange(len(labels)), labels] = -np.inf
    weight = -omega[:, None] * np.exp(rivals - logsumexp(rivals, axis=1, keepdims=True))
    weight[np.arange(len(labels)), labels] = omega
    c = weight[:, m.label] * np.exp(parts - joint[:, m.label])
    Z = X[:, None, :] - m.mu
    return c.sum(axis=0), np.einsum("ne,nei->ei", c, Z), np.einsum("ne,nei,nej->eij", c, Z, Z)
