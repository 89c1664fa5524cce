"""``anystream classify`` in forked processes: a start costs milliseconds, because everything is imported already.

The forks are made by a process of its own that has no threads. A fork of the tests' process would inherit locks that
threads of the clients of Kafka, MQTT and NATS hold at that moment, and never release in the child.
"""

import functools
import importlib
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).parents[1]


def fork(log, call, *arguments):
    """Return the process id of a process that runs ``call(*arguments)``, with its output appended to a file."""
    module = sys.modules["__main__"].__spec__.name if call.__module__ == "__main__" else call.__module__
    return _ask(_fork, str(log), module, call.__name__, arguments)


def start(arguments, log, environment=None):
    """Return the process id of ``anystream ARGUMENTS``."""
    return fork(log, _run_program, [str(argument) for argument in arguments], environment or {})


def finish(child, timeout_s=60.0):
    """Wait for a process and return its exit code; one that does not end is killed, and that is an error."""
    return finish_timed(child, timeout_s)[0]


def finish_timed(child, timeout_s=60.0):
    """Like `finish`; return the seconds of CPU that the process has used as well."""
    until = time.monotonic() + timeout_s
    while True:
        ended = _ask(_poll, child)
        if ended is not None:
            status, cpu_s = ended
            return os.waitstatus_to_exitcode(status), cpu_s
        if time.monotonic() > until:
            kill(child)
            raise AssertionError(f"the process {child} did not end within {timeout_s} s")
        time.sleep(0.02)


def kill(child):
    """End a process by SIGKILL; True if it was still running."""
    os.kill(child, signal.SIGKILL)  # an ended process keeps its id until it is waited for
    return os.WIFSIGNALED(_ask(_wait, child))


# -- the process that forks ------------------------------------------------------------------------------------------


@functools.cache
def _forker():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent)))}
    command = [sys.executable, "-c", "from brokers.program import _serve; _serve()"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _ask(call, *arguments):
    process = _forker()
    pickle.dump((call, arguments), process.stdin)
    process.stdin.flush()
    return pickle.load(process.stdout)


_children = set()


def _serve():
    import anystream.cli.classify_engine
    import anystream.cli.classify_report
    import anystream.cli.classify_run  # noqa: F401  imported once, before the forks
    from anystream.bayes_tree import BayesTreeClassifier  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests' process ends this one
    while True:
        try:
            call, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            break
        pickle.dump(call(*arguments), sys.stdout.buffer)
        sys.stdout.buffer.flush()
    for child in _children:
        os.kill(child, signal.SIGKILL)


def _fork(log, module, name, arguments):
    child = os.fork()
    if child:
        _children.add(child)
        return child
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with open(log, "ab", buffering=0) as file, open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
            try:
                getattr(importlib.import_module(module), name)(*arguments)
            except SystemExit as end:
                os._exit(end.code if isinstance(end.code, int) else 1)
            except BaseException:
                traceback.print_exc()
                os._exit(70)
            os._exit(0)
    finally:
        os._exit(71)


def _poll(child):
    done, status, used = os.wait4(child, os.WNOHANG)
    if not done:
        return None
    _children.discard(child)
    return status, used.ru_utime + used.ru_stime


def _wait(child):
    _children.discard(child)
    return os.waitpid(child, 0)[1]


def _run_program(arguments, environment):
    from anystream.cli import main

    os.environ.update(environment)
    sys.argv = ["anystream", *arguments]
    main()
