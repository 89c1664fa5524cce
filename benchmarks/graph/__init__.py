"""Benchmarks of K-associated graphs: the figures of KAOGINC's paper, and the effect of each of our additions."""
