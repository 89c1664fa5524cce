"""``python -m anystream``: the same as the program ``anystream``."""

from anystream.cli import main

main()
