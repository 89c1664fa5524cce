"""Command line: ``anystream fit``, ``classify``, ``evaluate``, ``serve``, ``simulate``, ``reproduce`` and more.

Each command has a file of its name, which `app` imports. To keep ``anystream --help`` quick, these files import NumPy,
scikit-learn, rich and what needs them inside functions.
"""

from typing import NoReturn

from anystream.cli import garbage_collection, interrupts

__all__ = ["main"]


def main() -> NoReturn:
    """Run the program and exit; Ctrl-C ends it from here on with exit code 130, while modules are imported as well."""
    interrupts.exit_at_once()
    garbage_collection.pause()
    from anystream.cli.app import main as run

    interrupts.raise_error()
    try:
        run()
    finally:
        garbage_collection.end()
