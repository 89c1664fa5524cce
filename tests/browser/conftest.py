"""A real Chromium, and the server of the demonstration in a process of its own."""

import os
import re
import shutil
import subprocess
import sys

import pytest

ADDRESS = re.compile(r"dashboard: (http://127\.0\.0\.1:\d+/)")


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright; make test-browser installs it")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs chromium; install it with the system's packages")
    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        found = playwright.chromium.launch(executable_path=program, args=options)
        yield found
        found.close()


@pytest.fixture(scope="session")
def address(browser):
    command = [sys.executable, "-c", "from anystream.cli import main; main()", "demo", "--serve", "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    try:
        for line in server.stderr:
            if match := ADDRESS.search(line):
                break
        else:
            pytest.fail("the server ended before it named its address")
        yield match[1]
    finally:
        server.terminate()
        server.stderr.close()
        assert server.wait(60) == 0


@pytest.fixture
def open_page(browser, address):
    """Return a function that opens the dashboard; no error and no request to elsewhere is allowed."""
    contexts, problems = [], []

    def note_request(request):
        if not request.url.startswith((address, "data:")):
            problems.append(f"request to {request.url}")

    def open_page(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", note_request)
        page.goto(address)
        page.wait_for_function("() => document.getElementById('status').dataset.state === 'live'")
        page.wait_for_function("() => document.getElementById('steps').textContent > '0'")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
