"""Every block of Python and of shell in README and docs runs as it is printed."""

import os
import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if "```" in page.read_text()]
SERVED = "http://127.0.0.1:8000"
"""Address of the server that a page shows; the tests have it on a free port."""


def find_blocks(page):
    """Return the language, the code and the first line of each block.

    Left out are blocks that the build of the site runs (``exec="on"``), and files that it includes (``--8<--``).
    """
    text = page.read_text()
    found = re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.S | re.M)
    return [
        (block[1], block[2], text[: block.start(2)].count("\n") + 1)
        for block in found
        if 'exec="on"' not in block[1] and not block[2].startswith("--8<--")
    ]


def environment():
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def run_shell(code, where):
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{where}: {done.stderr}"


@contextmanager
def serving(command, where):
    """Run a command that serves, on a free port, and yield its address; end it as Ctrl-C does."""
    free = command.replace("--port 8000", "--port 0")
    assert free != command, f"{where}: the page must name the port"
    with subprocess.Popen(
        ["bash", "-c", f"exec {free}"], env=environment(), stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            log = ""
            while (found := re.search(r"serving .* on (http://\S+)", log)) is None:
                line = server.stderr.readline()
                assert line, f"{where}: {log}"
                log += line
            yield found[1]
        finally:
            server.terminate()
            assert server.wait(30) == 0
            server.stderr.close()


def run_page(page, module):
    """Run the blocks of a page; what a shell block serves at its end serves until another one does."""
    address = SERVED
    with ExitStack() as servers:
        for language, code, line in find_blocks(page):
            where = f"{page.name}, line {line}"
            if language == "python":
                padded = "\n" * (line - 1) + code.replace(
                    SERVED, address
                )  # so that an error names the line of the page
                exec(compile(padded, str(page), "exec"), module.__dict__)
                continue
            assert language == "sh", f"{where}: a block must be python or sh"
            before, is_serving, command = code.rpartition("anystream serve ")
            run_shell(before if is_serving else code, where)
            if is_serving:
                servers.close()
                address = servers.enter_context(serving(is_serving + command.strip(), where))
                module.__dict__["address"] = address


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_one_after_another(page, monkeypatch, tmp_path, capsys):
    if "\nanystream serve" in page.read_text():
        pytest.importorskip("starlette")
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"page_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # classes of a page can be pickled
    run_page(page, module)
    if page.name == "server.md":
        answer, inferred, learned, matched = capsys.readouterr().out.splitlines()
        assert "'key': 'order 17', 'label': 'large'" in answer
        assert inferred.startswith("['large', 'small'] {'steps':")
        assert "'accepted': 2" in learned
        assert "'accepted': 1" in matched


def test_links_between_pages_lead_to_files():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text())
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
