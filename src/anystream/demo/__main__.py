"""``python -m anystream.demo``: the demonstration without the other commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from anystream.demo.run import PICTURE, run_demo


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration with the options of the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m anystream.demo",
        description="Watch a classifier answer every record of a stream by its deadline.",
    )
    parser.add_argument("--seconds", type=float, default=2.5, help="length of each run (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the split, the model and the arrivals")
    parser.add_argument("--no-plot", action="store_true", help=f"do not write {PICTURE}")
    options = parser.parse_args(argv)
    try:
        run_demo(seconds=options.seconds, seed=options.seed, plot=not options.no_plot)
    except ValueError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
