"""KAOGINC in plain NumPy, one step after another: the defaults and the algorithm of the paper."""

from __future__ import annotations

import numpy as np

from reference.kaog import build_optimal_graph, class_scores, find_nearest, find_neighbours


class PlainKAOGINC:
    """The principal graph as a list of dicts, one per component: points, k, purity, label, batch, transferred, used."""

    def __init__(
        self,
        k_floors,
        metric,
        moments,
        isolated,
        on_change,
        missed_changes,
        pruning,
        tau,
        n_classes,
        max_vertices=3000,
        tau_counts="learned",
    ):
        self.metric, self.moments, self.isolated, self.on_change = metric, moments, isolated, on_change
        self.missed_changes, self.pruning, self.tau = missed_changes, pruning, tau
        self.n_classes, self.max_vertices, self.tau_counts = n_classes, max_vertices, tau_counts
        self.n_classified = 0
        metrics = (False, True) if metric == "weighted" else (False,)
        self.views = [(c, w) for w in metrics for c in k_floors] + ["moments"] * moments
        self.view_errors = np.zeros(len(self.views))
        self.graph, self.recent_errors, self.n_batches, self.n_records = [], [], 0, 0
        self.count = self.total = self.squares = self.relief = 0.0
        self.transferred, self.older = [0.0, 0.0], [0.0, 0.0]

    # -- metric ------------------------------------------------------------------------------------------------------

    def scale(self, weighted):
        if self.metric == "plain":
            return 1.0
        mean = self.total / self.count
        scale = 1.0 / np.sqrt(self.squares / self.count - mean**2)
        if weighted and self.relief.max() > 0:
            scale = scale * np.maximum(self.relief / self.relief.max(), 1e-3)
        return scale

    def learn_metric(self, X, y):
        if self.n_batches == 0:
            self.origin = X.mean(axis=0)
        values = X - self.origin
        self.count = 0.97 * self.count + len(X)
        self.total = 0.97 * self.total + values.sum(axis=0)
        self.squares = 0.97 * self.squares + (values**2).sum(axis=0)
        if self.metric != "weighted":
            return
        Z, weight, used = X * self.scale(False), 0.0, 0
        for i, others in enumerate(find_neighbours(Z, len(Z))):
            hits, misses = others[y[others] == y[i]][:5], others[y[others] != y[i]][:5]
            if len(hits) and len(misses):
                weight = weight + np.abs(Z[i] - Z[misses]).mean(axis=0) - np.abs(Z[i] - Z[hits]).mean(axis=0)
                used += 1
        self.relief = 0.97 * self.relief + weight / max(used, 1)

    # -- graph -------------------------------------------------------------------------------------------------------

    def best_graph_view(self):
        graph_views = len(self.views) - self.moments
        return self.views[int(self.view_errors[:graph_views].argmin())]

    def build_batch_graph(self, X, y):
        Z = X * self.scale(self.best_graph_view()[1])
        found = build_optimal_graph(find_neighbours(Z, 20), y)
        graph = []
        for a, k in enumerate(found.k):
            points = X[found.component == a]
            smooth = (found.edges[a] + 1) / (len(points) * k + 2)
            graph.append(
                {
                    "points": points,
                    "k": k,
                    "purity": smooth if self.isolated == "keep" or len(points) == 1 else found.purity[a],
                    "label": y[found.component == a][0],
                    "batch": self.n_batches,
                    "transferred": False,
                    "used": self.n_counted(),
                }
            )
        if self.isolated == "keep":
            return graph
        connected = {c["label"] for c in graph if len(c["points"]) > 1}
        return [c for c in graph if len(c["points"]) > 1 or c["label"] not in connected]

    def components_by_distance(self, graph, X, weighted):
        """Return for each record the components of all vertices, nearest first."""
        # Vertices are in order of arrival, so ties go to the earlier record.
        points = np.concatenate([c["points"] for c in graph])
        owner = np.repeat(np.arange(len(graph)), [len(c["points"]) for c in graph])
        scale = self.scale(weighted)
        return owner[find_nearest(X * scale, points * scale, len(points))]

    def predict_by_graph(self, graph, X, view):
        floor, weighted = view
        n = sum(len(c["points"]) for c in graph)
        k = [max(c["k"], 1, round(floor * n**0.5)) for c in graph]
        purity, label = [c["purity"] for c in graph], [c["label"] for c in graph]
        rows = self.components_by_distance(graph, X, weighted)
        return np.array([class_scores(r, k, purity, label, self.n_classes).argmax() for r in rows])

    def predict_by_moments(self, X):
        points = np.concatenate([c["points"] for c in self.graph])
        y = np.concatenate([np.full(len(c["points"]), c["label"]) for c in self.graph])
        scores = np.full((len(X), self.n_classes), -np.inf)
        for c in np.unique(y):
            own = points[y == c]
            variance = (len(own) * own.var(axis=0) + 0.5 * points.var(axis=0)) / (len(own) + 0.5)
            terms = np.log(variance) + (X - own.mean(axis=0)) ** 2 / variance
            scores[:, c] = np.log(len(own) / len(points)) - 0.5 * terms.sum(axis=1)
        return scores.argmax(axis=1)

    def predict(self, X, view=None):
        view = self.views[int(self.view_errors.argmin())] if view is None else view
        return self.predict_by_moments(X) if view == "moments" else self.predict_by_graph(self.graph, X, view)

    def count_contacts(self, X, y, min_k):
        rows = self.components_by_distance(self.graph, X, self.best_graph_view()[1])
        contacts = np.zeros((len(self.graph), self.n_classes))
        for row, label in zip(rows, y, strict=True):
            for place, a in enumerate(row, start=1):
                contacts[a, label] += place <= max(self.graph[a]["k"], min_k)
        return contacts

    def mostly_wrong(self, X, y, min_k):
        contacts = self.count_contacts(X, y, min_k)
        right = np.array([contacts[a, c["label"]] for a, c in enumerate(self.graph)])
        return contacts.sum(axis=1) - right > right

    # -- learning ----------------------------------------------------------------------------------------------------

    def learn(self, X, y):
        if self.graph:
            self.revise(X, y)
        self.learn_metric(X, y)
        self.graph = self.graph + self.build_batch_graph(X, y)
        while sum(len(c["points"]) for c in self.graph) > self.max_vertices:
            self.graph = self.graph[1:]
        self.n_batches, self.n_records = self.n_batches + 1, self.n_records + len(X)

    def revise(self, X, y):
        errors = np.array([(self.predict(X, view) != y).mean() for view in self.views])
        error = errors[int(self.view_errors.argmin())]
        self.view_errors = 0.9 * self.view_errors + errors
        if self.tau is not None and self.tau_counts == "learned":
            self.forget_unused(X)
        if self.on_change == "relabel" and len(self.recent_errors) >= 3:
            usual = np.mean(self.recent_errors)
            if error > usual + 3 * max((usual * (1 - usual) / len(X)) ** 0.5, 0.02) and self.relabel(X, y):
                self.recent_errors, self.transferred, self.older = [], [0.0, 0.0], [0.0, 0.0]
                return
        self.recent_errors = [*self.recent_errors, error][-20:]
        while self.pruning and self.graph:
            wrong = self.mostly_wrong(X, y, 1)
            self.graph = [c for c, drop in zip(self.graph, wrong, strict=True) if not drop]
            if not wrong.any() or self.pruning == "once":
                break
        transferred = [c["transferred"] for c in self.graph]
        if any(transferred) and not all(transferred):
            self.check_transferred(X, y)
        elif self.missed_changes:
            self.check_older(X, y)

    def n_counted(self):
        return self.n_records if self.tau_counts == "learned" else self.n_classified

    def note_classified(self, X):
        """Algorithm 1 of the paper, lines 9 to 13: t_a is the number of classifications since the last that used a."""
        self.forget_unused(X)
        self.n_classified += len(X)

    def forget_unused(self, X):
        rows = self.components_by_distance(self.graph, X, False)
        for i, row in enumerate(rows):
            for place, a in enumerate(row, start=1):
                if place <= self.graph[a]["k"]:
                    self.graph[a]["used"] = self.n_counted() + 1 + i
        self.graph = [c for c in self.graph if self.n_counted() + len(X) - c["used"] <= self.tau]

    def transfer(self, X, y):
        contacts = self.count_contacts(X, y, 3)
        by_class = np.full((self.n_classes, self.n_classes), 0.5)
        for a, c in enumerate(self.graph):
            by_class[c["label"]] += contacts[a]
        by_class /= by_class.sum(axis=1, keepdims=True)
        graph = []
        for a, c in enumerate(self.graph):
            evidence = 2 * by_class[c["label"]] + contacts[a]
            if evidence.max() >= 0.7 * evidence.sum():
                graph.append(c | {"label": evidence.argmax(), "transferred": True})
        return graph

    def relabel(self, X, y):
        view, alone, together, unchanged = self.best_graph_view(), [], [], []
        even, odd = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
        for a, b in ((even, odd), (odd, even)):
            new = self.build_batch_graph(X[a], y[a])
            alone += list(self.predict_by_graph(new, X[b], view) == y[b])
            together += list(self.predict_by_graph(self.transfer(X[a], y[a]) + new, X[b], view) == y[b])
            unchanged += list(self.predict_by_graph(self.graph + new, X[b], view) == y[b])
        best = alone if sum(together) < sum(alone) else together
        differ = sum(p != q for p, q in zip(best, unchanged, strict=True))
        if differ and sum(unchanged) - sum(best) > 2 * differ**0.5:
            return False
        self.graph = [] if best is alone else self.transfer(X, y)
        return True

    def update_balance(self, old, X, y, recent, decay):
        view = self.best_graph_view()
        whole = self.predict_by_graph(self.graph, X, view) == y
        part = self.predict_by_graph(recent, X, view) == y
        return [
            decay * old[0] + (part & ~whole).sum() - (whole & ~part).sum(),
            decay * old[1] + (whole != part).sum(),
        ]

    def check_transferred(self, X, y):
        recent = [c for c in self.graph if not c["transferred"]]
        self.transferred = self.update_balance(self.transferred, X, y, recent, 1.0)
        if self.transferred[1] > 0 and self.transferred[0] > self.transferred[1] ** 0.5:
            self.graph, self.transferred = recent, [0.0, 0.0]
            return
        wrong = self.mostly_wrong(X, y, 3)
        self.graph = [c for c, drop in zip(self.graph, wrong, strict=True) if not (c["transferred"] and drop)]

    def check_older(self, X, y):
        recent = [c for c in self.graph if c["batch"] >= self.n_batches - 5]
        if not recent or len(recent) == len(self.graph):
            return
        self.older = self.update_balance(self.older, X, y, recent, 0.8)
        if self.older[1] > 0 and self.older[0] > 2 * self.older[1] ** 0.5:
            self.graph, self.older = recent, [0.0, 0.0]
