"""A poisoned record goes to the dead letters, with its line and the reason; the run goes on, and so does a restart."""

import json

import numpy as np
import pytest

from cli.program import run_program

NESTED = "[" * 900 + "]" * 900
LONG = "x" * 200_000
N_GOOD = 60

# Members of a JSON line, and whether the record is bad for a model whose labels are integers and for one with texts.
POISONED_JSON = {
    "key nested 900 deep": (f'"id": {NESTED}, "size": 1, "class": "1"', True, True),
    "key is a list": ('"id": [1, 2], "size": 1, "class": "1"', True, True),
    "key is an object": ('"id": {"a": 1}, "size": 1, "class": "1"', True, True),
    "key is NaN": ('"id": NaN, "size": 1, "class": "1"', True, True),
    "key is 1e400": ('"id": 1e400, "size": 1, "class": "1"', True, True),
    "key is -Infinity": ('"id": -Infinity, "size": 1, "class": "1"', True, True),
    "key has a lone surrogate": ('"id": "a\\ud800", "size": 1, "class": "1"', True, True),
    "key of 200 kB": (f'"id": "{LONG}", "size": 1, "class": "1"', True, True),
    "key of 5000 digits": (f'"id": {"9" * 5000}, "size": 1, "class": "1"', True, True),
    "key is true": ('"id": true, "size": 1, "class": "1"', False, False),
    "key is null": ('"id": null, "size": 1, "class": "1"', False, False),
    "key is 2**70": ('"id": 1180591620717411303424, "size": 1, "class": "1"', False, False),
    "key is 0.5": ('"id": 0.5, "size": 1, "class": "1"', False, False),
    "label nested 900 deep": (f'"id": 1, "size": 1, "class": {NESTED}', True, True),
    "label is a list": ('"id": 1, "size": 1, "class": ["1"]', True, True),
    "label is 0.5": ('"id": 1, "size": 1, "class": 0.5', True, False),
    "label is 1e400": ('"id": 1, "size": 1, "class": 1e400', True, False),
    "label is Infinity": ('"id": 1, "size": 1, "class": Infinity', True, False),
    "label is NaN": ('"id": 1, "size": 1, "class": NaN', False, False),
    "label is null": ('"id": 1, "size": 1, "class": null', False, False),
    "label is 2**63": ('"id": 1, "size": 1, "class": 9223372036854775808', True, False),
    "label is -2**63 - 1": ('"id": 1, "size": 1, "class": -9223372036854775809', True, False),
    "label of 4000 digits": (f'"id": 1, "size": 1, "class": {"9" * 4000}', True, True),
    "label is true": ('"id": 1, "size": 1, "class": true', False, False),
    "label has a lone surrogate": ('"id": 1, "size": 1, "class": "\\udc80"', True, True),
    "label of 200 kB": (f'"id": 1, "size": 1, "class": "{LONG}"', True, True),
    "feature nested 900 deep": (f'"id": 1, "size": {NESTED}, "class": "1"', True, True),
    "feature is an object": ('"id": 1, "size": {}, "class": "1"', True, True),
    "feature is 1e400": ('"id": 1, "size": 1e400, "class": "1"', True, True),
    "feature has a lone surrogate": ('"id": 1, "size": "\\ud800", "class": "1"', True, True),
    "category nested 900 deep": (f'"id": 1, "colour": {NESTED}, "class": "1"', True, True),
    "unknown member nested 900 deep": (f'"id": 1, "size": 1, "class": "1", "other": {NESTED}', False, False),
    "nested 100000 deep": (f'"id": {"[" * 100_000}', True, True),
    "torn": ('"id": 1, "size": ', True, True),
}
# The same for the cells of a CSV line: id, size, colour, class.
POISONED_CSV = {
    "a field of 200 kB": (f"{LONG},1,red,1", True, True),
    "a label of 200 kB": (f"a,1,red,{LONG}", True, True),
    "a label of 2 kB": (f"a,1,red,{'y' * 2000}", True, True),
    "a key of 2 kB": (f"{'y' * 2000},1,red,1", True, True),
    "a lone carriage return": ("a,1\r,red,1", True, True),
    "a carriage return in the label": ("a,1,red,1\r2", True, True),
    "a quoted carriage return in the key": ('"a\rb",1,red,1', False, False),
    "an open quote": ('"a,1,red,1', True, True),
    "quotes in the middle": ('a"b"c,1,red,1', False, False),
    "a zero byte in the key": ("a\0b,1,red,1", False, False),
    "too many fields": ("a,1,red,1,2", True, True),
    "label 0.5": ("a,1,red,0.5", True, False),
    "label inf": ("a,1,red,inf", True, False),
    "label nan": ("a,1,red,nan", False, False),
    "label 2**63": ("a,1,red,9223372036854775808", True, False),
    "label of 5000 digits": (f"a,1,red,{'9' * 5000}", True, True),
    "feature 1e400": ("a,1e400,red,1", True, True),
    "feature is text": ("a,large,red,1", True, True),
}
HUGE_FEATURE = {"jsonl": '{"id": "huge", "size": 1e200, "class": "1"}', "csv": "huge,1e200,red,1"}


def good_cells(row):
    label = row % 2
    return f"g{row}", f"{3 * label + row / 100}", "red" if label else "blue", str(label)


def write_stream(path, *, integers, learn):
    """Write good records with a poisoned one after each; return the line numbers that must be dead letters."""
    kind = path.suffix[1:]
    poisoned = list((POISONED_JSON if kind == "jsonl" else POISONED_CSV).values())
    bad, lines = set(), ["id,size,colour,class"] if kind == "csv" else []
    for row in range(max(N_GOOD, len(poisoned) + 1)):
        cells = good_cells(row)
        if kind == "csv":
            lines.append(",".join(cells))
        else:
            key, size, colour, label = cells
            lines.append(json.dumps({"id": key, "size": float(size), "colour": colour, "class": label}))
        if row < len(poisoned):
            text, bad_for_integers, bad_for_texts = poisoned[row]
            lines.append(text if kind == "csv" else f"{{{text}}}")
            if bad_for_integers if integers else bad_for_texts:
                bad.add(len(lines))
    lines.append(HUGE_FEATURE[kind])
    if learn:
        bad.add(len(lines))
    path.write_bytes("\n".join(lines).encode() + b"\n")
    return bad, len(lines) - (kind == "csv")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a model whose labels are integers, and one whose labels are texts."""
    folder = tmp_path_factory.mktemp("models")
    rows = [",".join(good_cells(row)) for row in range(100)]
    (folder / "integers.csv").write_text("\n".join(["id,size,colour,class", *rows]) + "\n")
    texts = [row[:-1] + ("no", "yes")[int(row[-1])] for row in rows]
    (folder / "texts.csv").write_text("\n".join(["id,size,colour,class", *texts]) + "\n")
    for name in ("integers", "texts"):
        arguments = ("fit", f"{name}.csv", "--label", "class", "--key", "id", "-o", f"{name}.safetensors")
        done = run_program(*arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def read_strict_json(path):
    """Parse JSON lines; NaN and infinity are no JSON."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("labels", ["integers", "texts"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("learn", [False, True], ids=["frozen", "learn"])
def test_every_poisoned_record_is_a_dead_letter_and_the_run_goes_on(models, tmp_path, labels, kind, learn):
    bad, n_lines = write_stream(tmp_path / f"stream.{kind}", integers=labels == "integers", learn=learn)
    command = (
        *("classify", str(models / f"{labels}.safetensors"), f"stream.{kind}", "-o", "answers.jsonl"),
        *("--dead-letters", "dead.jsonl", "--json", "--checkpoint", "checkpoint", "--checkpoint-every", "20 records"),
        *(("--learn",) if learn else ()),
    )
    done = run_program(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stderr)
    dead = read_strict_json(tmp_path / "dead.jsonl")
    assert {found["line"] for found in dead} == bad
    assert all(found["reason"] for found in dead)
    assert summary["dead_letters"] == len(bad) == len(dead)
    assert summary["answered"] == n_lines - len(bad) == len(read_strict_json(tmp_path / "answers.jsonl"))
    if learn:
        assert summary["learned"] > N_GOOD
        assert "learning_rejected" not in summary

    again = run_program(*command, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stderr)["answered"] == summary["answered"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("labels", ["integers", "texts"])
def test_every_poisoned_label_record_is_a_dead_letter_and_the_run_goes_on(models, tmp_path, labels, kind):
    bad, _ = write_stream(tmp_path / f"labels.{kind}", integers=labels == "integers", learn=False)
    with open(tmp_path / "stream.csv", "w") as stream:
        stream.write("id,size,colour\n")
        stream.writelines(",".join(good_cells(row)[:3]) + "\n" for row in range(N_GOOD))
    command = (
        *("classify", str(models / f"{labels}.safetensors"), "stream.csv", "-o", "answers.jsonl", "--learn"),
        *("--labels", f"labels.{kind}", "--dead-letters", "dead.jsonl", "--json"),
    )
    done = run_program(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stderr)
    lines = {found["line"] for found in read_strict_json(tmp_path / "dead.jsonl")}
    # features do not matter here, but a missing key or label does
    poisoned = list((POISONED_JSON if kind == "jsonl" else POISONED_CSV).items())
    first = 3 if kind == "csv" else 2
    for number, (name, _) in enumerate(poisoned):
        line = first + 2 * number
        if "feature" in name or "category" in name:
            continue
        no_pair = "NaN" in name or "nan" in name or "null" in name
        assert (line in lines) == (line in bad or no_pair), name
    assert (summary["answered"], summary["dead_letters"], summary["labels_matched"]) == (N_GOOD, 0, N_GOOD)
    assert summary["learned"] == N_GOOD


@pytest.mark.parametrize("learn", [False, True], ids=["frozen", "learn"])
def test_poisoned_columns_of_arrow_are_dead_letters(models, tmp_path, learn):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather

    keys = [["a"], ["b", "c"], None, ["d"]]
    sizes = [1.0, np.inf, np.nan, 1e200]
    table = pa.table({"id": keys, "size": sizes, "colour": ["red"] * 4, "class": ["1"] * 4})
    feather.write_feather(table, str(tmp_path / "lists.feather"), compression="uncompressed")
    labels = pa.table(
        {"id": [0.5, np.nan, np.inf, 3.0], "size": [1.0] * 4, "colour": ["red"] * 4, "class": [1.0, 1.0, 1.0, 0.5]}
    )
    feather.write_feather(labels, str(tmp_path / "floats.feather"), compression="uncompressed")
    for name, answered in (("lists", 1), ("floats", 1)):
        command = ("classify", str(models / "integers.safetensors"), f"{name}.feather", "-o", f"{name}.jsonl", "--json")
        dead = f"{name}_dead.jsonl"
        done = run_program(*command, "--dead-letters", dead, *(["--learn"] if learn else []), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stderr)["answered"] == answered
        assert len(read_strict_json(tmp_path / dead)) == 4 - answered
        assert len(read_strict_json(tmp_path / f"{name}.jsonl")) == answered


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_keys_of_every_type_are_written_in_every_format(models, tmp_path, suffix):
    keys = ["1", '"text"', "0.5", "true", "null", "1180591620717411303424", '"a,b\\r\\n\\"c"', '"\\u00e9"']
    (tmp_path / "stream.jsonl").write_text("".join(f'{{"id": {key}, "size": 1}}\n' for key in keys))
    command = ("classify", str(models / "texts.safetensors"), "stream.jsonl", "-o", f"answers.{suffix}", "--json")
    done = run_program(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr)["answered"] == len(keys)


def test_a_key_that_a_parquet_file_cannot_hold_is_a_dead_letter(tmp_path, models):
    pytest.importorskip("pyarrow")
    lines = [f'{{"id": {row}, "size": 1}}\n' for row in range(20_000)]
    lines[15_000] = '{"id": "text", "size": 1}\n'
    (tmp_path / "stream.jsonl").write_text("".join(lines))
    command = ("classify", str(models / "texts.safetensors"), "stream.jsonl", "-o", "answers.parquet", "--json")
    done = run_program(*command, "--budget", "0", "--dead-letters", "dead.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr)["answered"] == 19_999
    (dead,) = read_strict_json(tmp_path / "dead.jsonl")
    assert (dead["line"], dead["key"]) == (15_001, "text")
    assert "keys of type int64 cannot hold it" in dead["reason"]
