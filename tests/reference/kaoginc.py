"""KAOGINC in plain NumPy, one thing after another: the defaults and the letter of the paper."""

from __future__ import annotations

import numpy as np

from tests.reference import kaog


class PlainKAOGINC:
    """The principal graph as a list of components, each with its points, K, purity, label, birth and origin."""

    def __init__(
        self, floors, metric, moments, isolated, on_change, missed, pruning, tau, n_classes, max_vertices=3000
    ):
        self.__dict__.update(locals())
        metrics = (False, True) if metric == "weighted" else (False,)
        self.views = [(c, w) for w in metrics for c in floors] + ["moments"] * moments
        self.view_errors = np.zeros(len(self.views))
        self.graph, self.recent, self.batches, self.records = [], [], 0, 0
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
        if self.batches == 0:
            self.origin = X.mean(axis=0)
        values = X - self.origin
        self.count = 0.97 * self.count + len(X)
        self.total = 0.97 * self.total + values.sum(axis=0)
        self.squares = 0.97 * self.squares + (values**2).sum(axis=0)
        if self.metric != "weighted":
            return
        Z, weight, used = X * self.scale(False), 0.0, 0
        order = kaog.nearest(Z, Z, len(Z), among_themselves=True)
        for i, others in enumerate(order):
            hits, misses = others[y[others] == y[i]][:5], others[y[others] != y[i]][:5]
            if len(hits) and len(misses):
                weight = weight + np.abs(Z[i] - Z[misses]).mean(axis=0) - np.abs(Z[i] - Z[hits]).mean(axis=0)
                used += 1
        self.relief = 0.97 * self.relief + weight / max(used, 1)

    # -- graph -------------------------------------------------------------------------------------------------------

    def best_graph_view(self):
        graph_views = len(self.views) - self.moments
        return self.views[int(self.view_errors[:graph_views].argmin())]

    def batch_graph(self, X, y):
        Z = X * self.scale(self.best_graph_view()[1])
        found = kaog.optimal_graph(kaog.nearest(Z, Z, 20, among_themselves=True), y)
        graph = []
        for a, k in enumerate(found.k):
            points = X[found.component == a]
            smooth = (found.edges[a] + 1) / (len(points) * k + 2)
            purity = smooth if self.isolated == "keep" or len(points) == 1 else found.purity[a]
            label = y[found.component == a][0]
            graph.append(
                {"points": points, "k": k, "purity": purity, "label": label, "born": self.batches, "old": False}
                | {"used": self.records}
            )
        if self.isolated == "keep":
            return graph
        connected = {c["label"] for c in graph if len(c["points"]) > 1}
        return [c for c in graph if len(c["points"]) > 1 or c["label"] not in connected]

    def neighbours(self, graph, X, weighted):
        """For each record the components of all vertices, nearest first."""
        # vertices in the order in which their records came, so that ties go to the earlier one
        points = np.concatenate([c["points"] for c in graph])
        owner = np.repeat(np.arange(len(graph)), [len(c["points"]) for c in graph])
        scale = self.scale(weighted)
        return owner[kaog.nearest(X * scale, points * scale, len(points))]

    def graph_labels(self, graph, X, view):
        floor, weighted = view
        n = sum(len(c["points"]) for c in graph)
        k = [max(c["k"], 1, round(floor * n**0.5)) for c in graph]
        purity, label = [c["purity"] for c in graph], [c["label"] for c in graph]
        rows = self.neighbours(graph, X, weighted)
        return np.array([kaog.class_scores(r, k, purity, label, self.n_classes).argmax() for r in rows])

    def moment_labels(self, X):
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
        return self.moment_labels(X) if view == "moments" else self.graph_labels(self.graph, X, view)

    def meetings(self, X, y, least_k):
        rows = self.neighbours(self.graph, X, self.best_graph_view()[1])
        met = np.zeros((len(self.graph), self.n_classes))
        for row, label in zip(rows, y, strict=True):
            for place, a in enumerate(row, start=1):
                met[a, label] += place <= max(self.graph[a]["k"], least_k)
        return met

    def erring(self, X, y, least_k):
        met = self.meetings(X, y, least_k)
        right = np.array([met[a, c["label"]] for a, c in enumerate(self.graph)])
        return met.sum(axis=1) - right > right

    # -- learning ----------------------------------------------------------------------------------------------------

    def learn(self, X, y):
        if self.graph:
            self.judge(X, y)
        self.learn_metric(X, y)
        self.graph = self.graph + self.batch_graph(X, y)
        while sum(len(c["points"]) for c in self.graph) > self.max_vertices:
            self.graph = self.graph[1:]
        self.batches, self.records = self.batches + 1, self.records + len(X)

    def judge(self, X, y):
        errors = np.array([(self.predict(X, view) != y).mean() for view in self.views])
        error = errors[int(self.view_errors.argmin())]
        self.view_errors = 0.9 * self.view_errors + errors
        if self.tau is not None:
            self.forget(X)
        if self.on_change == "relabel" and len(self.recent) >= 3:
            usual = np.mean(self.recent)
            if error > usual + 3 * max((usual * (1 - usual) / len(X)) ** 0.5, 0.02):
                self.relabel(X, y)
                self.recent, self.transferred, self.older = [], [0.0, 0.0], [0.0, 0.0]
                return
        self.recent = [*self.recent, error][-20:]
        while self.pruning and self.graph:
            bad = self.erring(X, y, 1)
            self.graph = [c for c, leaves in zip(self.graph, bad, strict=True) if not leaves]
            if not bad.any() or self.pruning == "once":
                break
        old = [c["old"] for c in self.graph]
        if any(old) and not all(old):
            self.watch(X, y)
        elif self.missed:
            self.look_for_missed_changes(X, y)

    def forget(self, X):
        rows = self.neighbours(self.graph, X, False)
        for i, row in enumerate(rows):
            for place, a in enumerate(row, start=1):
                if place <= self.graph[a]["k"]:
                    self.graph[a]["used"] = self.records + 1 + i
        self.graph = [c for c in self.graph if self.records + len(X) - c["used"] <= self.tau]

    def relabelled(self, X, y):
        met = self.meetings(X, y, 3)
        by_class = np.full((self.n_classes, self.n_classes), 0.5)
        for a, c in enumerate(self.graph):
            by_class[c["label"]] += met[a]
        by_class /= by_class.sum(axis=1, keepdims=True)
        graph = []
        for a, c in enumerate(self.graph):
            evidence = 2 * by_class[c["label"]] + met[a]
            if evidence.max() >= 0.7 * evidence.sum():
                graph.append(c | {"label": evidence.argmax(), "old": True})
        return graph

    def relabel(self, X, y):
        view, alone, together = self.best_graph_view(), 0, 0
        even, odd = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
        for a, b in ((even, odd), (odd, even)):
            fresh = self.batch_graph(X[a], y[a])
            alone += (self.graph_labels(fresh, X[b], view) == y[b]).sum()
            together += (self.graph_labels(self.relabelled(X[a], y[a]) + fresh, X[b], view) == y[b]).sum()
        self.graph = [] if together < alone else self.relabelled(X, y)

    def balance(self, old, X, y, young, decay):
        view = self.best_graph_view()
        whole = self.graph_labels(self.graph, X, view) == y
        part = self.graph_labels(young, X, view) == y
        return [
            decay * old[0] + (part & ~whole).sum() - (whole & ~part).sum(),
            decay * old[1] + (whole != part).sum(),
        ]

    def watch(self, X, y):
        young = [c for c in self.graph if not c["old"]]
        self.transferred = self.balance(self.transferred, X, y, young, 1.0)
        if self.transferred[1] > 0 and self.transferred[0] > self.transferred[1] ** 0.5:
            self.graph, self.transferred = young, [0.0, 0.0]
            return
        bad = self.erring(X, y, 3)
        self.graph = [c for c, leaves in zip(self.graph, bad, strict=True) if not (c["old"] and leaves)]

    def look_for_missed_changes(self, X, y):
        young = [c for c in self.graph if c["born"] >= self.batches - 5]
        if not young or len(young) == len(self.graph):
            return
        self.older = self.balance(self.older, X, y, young, 0.8)
        if self.older[1] > 0 and self.older[0] > 2 * self.older[1] ** 0.5:
            self.graph, self.older = young, [0.0, 0.0]
