"""Benchmarks on drifting streams: the competitors of KAOGINC, river's forests and our anytime classifiers."""
