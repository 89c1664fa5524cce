"""The command line: ``anystream fit``, ``classify``, ``evaluate``, ``inspect``, ``simulate`` and ``demo``."""

from anystream.cli.app import main

__all__ = ["main"]
