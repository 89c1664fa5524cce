"""The driver counts every case, and reports those that fail, end their process or hang."""

import sys
from argparse import Namespace

import pytest

from attack import __main__ as driver
from attack.cases import Kind
from model_file.fuzz import MODELS


@pytest.fixture
def broken(monkeypatch):
    monkeypatch.setitem(driver.ATTACKS, "broken", Kind("nothing", max_case_s=3.0))
    return Namespace(seed=5, case=None, model=None, sanitized=None, fail_at=20)


def run(options):
    return driver.run_attack("broken", 60.0, options, lambda *_: None)


def test_cases_that_fail_crash_or_hang_are_failures_and_the_others_still_run(broken):
    result = run(broken)
    assert (result.cases, result.done) == (6, True)
    texts = dict(result.failures)
    assert sorted(texts) == [1, 2, 3, 4]
    assert texts[1] == "the guarantee is broken"
    assert "ValueError: an error that the library should not have raised" in texts[2]
    assert "ended the process with code -6" in texts[3]
    assert "hangs for more than 3 s" in texts[4]


def test_one_case_is_repeated_by_its_number(broken):
    broken.case = 1
    result = run(broken)
    assert (result.cases, result.failures) == (1, [(1, "the guarantee is broken")])


def test_one_model_is_used_by_the_cases_of_its_number(monkeypatch, broken):
    commands = []
    monkeypatch.setattr(driver.subprocess, "Popen", lambda command, **_: commands.append(command) or sys.exit())
    broken.model = 3
    with pytest.raises(SystemExit):
        run(broken)
    first, step = (int(part.partition("=")[2]) for part in commands[0][-2:])
    assert {(first + step * position) % len(MODELS) for position in range(5)} == {3}


def test_the_report_gives_the_command_that_repeats_a_failure(broken, capsys):
    broken.case = 1
    driver.report({"broken": run(broken)}, broken)
    assert "make attack ONLY=broken SEED=5 CASE=1" in capsys.readouterr().out


def test_the_order_of_cases_depends_on_the_seed_alone(broken):
    from attack.broken import Broken
    from attack.process import case_order

    orders = [case_order(Broken(None), "broken", seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(6))
