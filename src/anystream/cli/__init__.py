"""Command line: ``anystream fit``, ``classify``, ``evaluate``, ``inspect``, ``simulate`` and ``demo``.

Each command has a file of its name, which `app` imports. To keep ``anystream --help`` quick, these files import NumPy,
scikit-learn, rich and what needs them inside functions.
"""

from anystream.cli.app import main

__all__ = ["main"]
