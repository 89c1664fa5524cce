"""``anystream classify`` in forked processes: a start costs milliseconds, because everything is imported already."""

import os
import signal
import sys
import time
import traceback

import anystream.cli.classify_engine
import anystream.cli.classify_report
import anystream.cli.classify_run  # noqa: F401  imported once, in the parent
from anystream.bayes_tree import BayesTreeClassifier  # noqa: F401
from anystream.cli import main


def fork(call, log):
    """Return the process id of a child that runs `call`, with its output appended to a file."""
    child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with open(log, "ab", buffering=0) as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
            try:
                call()
            except SystemExit as end:
                os._exit(end.code if isinstance(end.code, int) else 1)
            except BaseException:
                traceback.print_exc()
                os._exit(70)
            os._exit(0)
    finally:
        os._exit(71)


def start(arguments, log):
    """Return the process id of ``anystream ARGUMENTS``."""

    def run():
        sys.argv = ["anystream", *map(str, arguments)]
        main()

    return fork(run, log)


def finish(child, timeout_s=60.0):
    """Wait for a child and return its exit code; a child that does not end is killed, and that is an error."""
    until = time.monotonic() + timeout_s
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"the process {child} did not end within {timeout_s} s")
        time.sleep(0.02)


def kill(child):
    """End a child by SIGKILL; True if it was still running."""
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
