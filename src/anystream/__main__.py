"""``python -m anystream``."""

from anystream.cli import main

main()
