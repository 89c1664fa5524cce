"""Process of one attack: ``python -m attack.process NAME``, started by the driver, which reads its lines.

A line of JSON tells that a case begins, that it failed, or that the process ends.
"""

import argparse
import hashlib
import importlib
import json
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from attack.cases import Attack, Failure


def dice_of(name: str, seed: int, case: int) -> random.Random:
    """Return the random numbers of a case."""
    return random.Random(hashlib.sha256(f"{name} {seed} {case}".encode()).digest())


def case_order(attack: Attack, name: str, seed: int) -> list[int] | None:
    """Return the order of the cases, drawn at random so that a short run sees all kinds; None for endless ones."""
    if attack.n_cases is None:
        return None
    order = list(range(attack.n_cases))
    dice_of(name, seed, -1).shuffle(order)
    return order


def main() -> None:
    """Run cases until the time is over; print a line of JSON for each that begins, and for each failure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--skip", type=int, default=0, help="number of cases that ran before")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--first", type=int, default=0, help="of endless cases, begin with this one")
    parser.add_argument("--step", type=int, default=1, help="of endless cases, run one of so many")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds

    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the library prints goes elsewhere
    module = importlib.import_module(f"attack.{options.name}")
    with tempfile.TemporaryDirectory(prefix="anystream-attack-") as folder:
        attack: Attack = module.make(Path(folder))
        order = case_order(attack, options.name, options.seed)
        position = options.skip
        while position == options.skip or time.monotonic() < end:  # one case at least
            if options.case is not None:
                case = options.case
            elif order is None:
                case = options.first + options.step * position
            elif position < len(order):
                case = order[position]
            else:
                break
            print(json.dumps({"case": case, "of": attack.n_cases}), file=lines)
            failure = run_case(attack, case, dice_of(options.name, options.seed, case))
            if failure is not None:
                print(json.dumps({"case": case, "failure": failure}), file=lines)
            position += 1
            if options.case is not None:
                break
    print(json.dumps({"done": order is not None and position >= len(order)}), file=lines)


def run_case(attack: Attack, case: int, dice: random.Random) -> str | None:
    """Run one case and return what failed, if anything did."""
    try:
        attack.run(case, dice)
    except Failure as failure:
        return str(failure)
    except Exception:  # every other error is an error that the library should not have raised
        return traceback.format_exc(limit=-4)
    return None


if __name__ == "__main__":
    main()
