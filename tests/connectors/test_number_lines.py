"""Reading numbers in lines of text, compared with Python's own parser, at every level of the instruction set."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream import _native

NUMBER = re.compile(r"[ \t]*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)?[ \t]*")


def read_lines(lines, delimiter, number_places, text_places, columns):
    """Return what native code reads: how many lines, their numbers and the texts of other cells."""
    text = "\n".join(lines).encode()
    lengths = np.array([len(line.encode()) for line in lines], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    numbers = np.full((len(lines), len(number_places)), -1.0)
    text_starts, text_ends = np.zeros((2, len(lines), len(text_places)), dtype=np.int64)
    places = [np.array(found, dtype=np.int32) for found in (number_places, text_places)]
    n = _native.read_number_lines(
        text, ends - lengths, ends, delimiter, columns, *places, numbers, text_starts, text_ends
    )
    bounds = zip(text_starts[:n].ravel().tolist(), text_ends[:n].ravel().tolist(), strict=True)
    return n, numbers[:n], [text[start:end].decode() for start, end in bounds]


def parse_lines(lines, delimiter, number_places, text_places, columns):
    """The same in Python, cell by cell."""
    numbers, texts = [], []
    for line in lines:
        cells = line.split(delimiter)
        if len(cells) != columns or not all(NUMBER.fullmatch(cells[place]) for place in number_places):
            break
        row = [float(cells[place].strip() or "nan") for place in number_places]
        if any(abs(value) >= 2**53 for value in row):
            break
        numbers.append(row)
        texts += [cells[place] for place in text_places]
    return len(numbers), np.array(numbers).reshape(len(numbers), len(number_places)), texts


DIGITS = st.text("0123456789", max_size=18)
CELLS = st.one_of(
    st.builds(lambda sign, whole, point, rest: sign + whole + point + rest, st.sampled_from(["", "-"]), DIGITS,
              st.sampled_from(["", "."]), DIGITS),
    st.sampled_from(["", "-", ".", "-.", "1.2.3", "1-2", "--1", "+5", " 7", "7 ", "1e5", "-1e-3", "e5", "x", "12x4567",
                     "\xb5", "99999999", "999999999999999", "9999999999999999", "-0", "0.", ".0", "9007199254740993"]),
)  # fmt: skip


@given(st.integers(1, 40), st.data())
def test_numbers_are_those_that_python_reads(columns, data):
    delimiter = data.draw(st.sampled_from([",", ";", "\t", "|", "."]))
    plain = st.decimals(-1000, 1000, places=4, allow_nan=False).map(str)
    cells = st.one_of(*[plain] * 9, CELLS).map(lambda cell: cell.replace(delimiter, ""))
    rows = data.draw(st.lists(st.lists(cells, min_size=columns, max_size=columns), max_size=4))
    lines = [delimiter.join(row) + data.draw(st.sampled_from(["", "", "", delimiter])) for row in rows]
    places = data.draw(st.permutations(range(columns)).map(lambda order: order[: data.draw(st.integers(0, columns))]))
    number_places = sorted(places)
    text_places = [place for place in range(columns) if place not in number_places]
    found = read_lines(lines, delimiter, number_places, text_places, columns)
    expected = parse_lines(lines, delimiter, number_places, text_places, columns)
    assert found[0] == expected[0]
    assert found[1].tobytes() == expected[1].tobytes() or np.array_equal(found[1], expected[1], equal_nan=True)
    assert found[2] == expected[2]


@given(st.lists(CELLS.filter(NUMBER.fullmatch), min_size=1, max_size=30))
def test_the_first_and_the_last_bytes_of_a_text_are_read_alike(cells):
    cells = [cell for cell in cells if cell.strip() and abs(float(cell)) < 2**53] or ["0"]
    n, numbers, _ = read_lines([",".join(cells)], ",", list(range(len(cells))), [], len(cells))
    assert n == 1
    assert numbers[0].tobytes() == np.array([float(cell) for cell in cells]).tobytes()  # also the sign of 0


SCRIPT = """
import numpy as np
from anystream import _native
random = np.random.default_rng(0)
def number():
    whole, rest = (
        "".join(map(str, random.integers(0, 10, random.integers(0, n)))) for n in random.integers(1, (9, 10))
    )
    return random.choice(["", "-"]) + (whole + random.choice(["", "."]) + rest or "5").replace("-.", "0.")
rows = [[cell if cell.strip("-.") else "0" for cell in (number() for _ in range(16))] for _ in range(3000)]
text = "\\n".join(map(",".join, rows)).encode()
ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == 10), len(text)).astype(np.int64)
starts, numbers = np.append(0, ends[:-1] + 1), np.empty((3000, 16))
places, none, empty = np.arange(16, dtype=np.int32), np.empty(0, np.int32), np.empty((3000, 0), np.int64)
n = _native.read_number_lines(text, starts, ends, ",", 16, places, none, numbers, empty, empty)
assert n == 3000, n
assert numbers.tobytes() == np.array([[float(cell) for cell in row] for row in rows]).tobytes()
print(_native.isa)
"""


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_every_level_reads_the_same_numbers(level):
    environment = os.environ | {"ANYSTREAM_ISA": level}
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    if "this machine offers at most" in run.stderr:
        pytest.skip(f"this machine lacks {level}")
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == level
