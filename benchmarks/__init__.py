"""Figures: speed against peers and papers. Each module prints one table; ``python -m benchmarks`` prints the short ones."""
