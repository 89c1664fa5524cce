"""K-associated graphs: the figures of KAOGINC's paper, and each of our additions switched off in turn."""
