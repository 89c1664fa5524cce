"""What ``anystream classify`` reports about records, labels and models that are not as they should be."""

import json

import pytest

from cli.program import run_program

BROKEN = "id,size,colour,class\na,1,red,yes\nb,1\nc,wide,red,no\nd,1,green,no\ne,0,blue,no\n"


def test_bad_records_go_to_the_dead_letters_and_strict_stops_at_the_first(home):
    (home / "broken.csv").write_text(BROKEN)
    arguments = ("classify", "model.safetensors", "broken.csv", "--dead-letters", "dead.jsonl", "--unknown", "reject")
    done = run_program(*arguments, cwd=home)
    assert done.returncode == 0
    assert [json.loads(line)["key"] for line in done.stdout.splitlines()] == ["a", "e"]
    assert "3 bad records (in dead.jsonl)" in done.stderr
    assert [json.loads(line)["line"] for line in (home / "dead.jsonl").read_text().splitlines()] == [3, 4, 5]
    done = run_program(*arguments, "--strict", cwd=home)
    assert done.returncode == 2
    assert done.stderr.strip() == "anystream: line 3: the line has 2 fields, the header 4"


@pytest.fixture
def wide(home):
    lines = ["id,size,colour,class", "a,1,red,yes", *(f"b{i},wide,red,no" for i in range(5)), "c,0,blue,no"]
    (home / "wide.csv").write_text("\n".join(lines) + "\n")
    return home


WIDE = "column 'size' has 'wide', which is not a number"


def test_without_dead_letters_the_first_bad_records_are_printed(wide):
    done = run_program("classify", "model.safetensors", "wide.csv", cwd=wide)
    assert done.returncode == 0
    summary, *examples, hint = done.stderr.splitlines()
    assert "2 of 7 records answered" in summary
    assert "5 bad records (skipped)" in summary
    assert examples == [*(f"  line {n}: {WIDE}" for n in (3, 4, 5)), "  ..."]
    assert "--dead-letters" in hint
    assert "--strict" in hint


def test_the_json_summary_describes_the_first_bad_records(wide):
    done = run_program("classify", "model.safetensors", "wide.csv", "--json", cwd=wide)
    assert json.loads(done.stderr)["first_bad"] == [f"line {n}: {WIDE}" for n in (3, 4, 5)]


def test_quiet_still_reports_bad_records_that_are_stored_nowhere(wide):
    done = run_program("classify", "model.safetensors", "wide.csv", "-q", cwd=wide)
    assert done.stderr == f"anystream: 5 bad records, the first is line 3: {WIDE}\n"
    done = run_program("classify", "model.safetensors", "wide.csv", "-q", "--dead-letters", "dead.jsonl", cwd=wide)
    assert done.stderr == ""


@pytest.fixture
def labelled(home):
    """Three records; labels for the first, for a record that does not exist, and two that are malformed."""
    records = [{"id": i, "size": float(i), "colour": "red"} for i in range(3)]
    labels = ['{"id": 0, "class": "yes"}', '{"id": 9, "class": "no"}', '{"id": 1}', "yes"]
    (home / "records.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    (home / "labels.jsonl").write_text("\n".join(labels) + "\n")
    return home


LEARN = ("classify", "model.safetensors", "records.jsonl", "-o", "a.jsonl", "--learn", "--labels", "labels.jsonl")


def test_the_report_accounts_for_every_label(labelled):
    done = run_program(*LEARN, cwd=labelled)
    assert done.returncode == 0, done.stderr
    records, labels, *examples, hint = done.stderr.splitlines()
    assert "3 of 3 records answered" in records
    assert labels == (
        "labels: 2 received, 1 matched; 1 never matched a record; 2 records never matched a label; "
        "2 bad labels (skipped)"
    )
    assert sorted(examples) == [
        "  line 3: label source: the record has no label",
        "  line 4: label source: the line is not JSON",
    ]
    assert "--dead-letters" in hint


def test_the_json_summary_counts_labels(labelled):
    summary = json.loads(run_program(*LEARN, "--json", "--dead-letters", "dead.jsonl", cwd=labelled).stderr)
    assert {name: summary[name] for name in summary if "label" in name and "first" not in name} == {
        "labels_received": 2,
        "labels_matched": 1,
        "labels_evicted": 0,
        "labels_pending": 1,
        "labels_duplicated": 0,
        "labels_unread": False,
        "labels_rejected": 2,
        "unlabelled_evicted": 0,
        "unlabelled_pending": 2,
    }
    assert len((labelled / "dead.jsonl").read_text().splitlines()) == 2


def test_quiet_still_reports_bad_labels(labelled):
    done = run_program(*LEARN, "-q", cwd=labelled)
    assert done.stderr.startswith("anystream: 2 bad labels, the first is ")


def overwrite_array(path, name, byte):
    """Overwrite the bytes of one array in a model file; the header stays as it is."""
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    begin, end = json.loads(content[8:start])[name]["data_offsets"]
    content[start + begin : start + end] = bytes([byte]) * (end - begin)
    path.write_bytes(content)


@pytest.mark.parametrize("options", [(), ("--mmap",)])
def test_a_changed_bit_of_the_model_is_found_before_the_first_record(home, options):
    model = home / "model.safetensors"
    data = bytearray(model.read_bytes())
    data[len(data) // 2] ^= 1
    model.write_bytes(data)
    for command in ("classify", "evaluate"):
        done = run_program(command, "model.safetensors", "test.csv", *options, cwd=home)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("anystream: model.safetensors: array ")
        assert "differs from its checksum" in done.stderr


def test_a_damaged_model_ends_the_run_with_its_error(home):
    overwrite_array(home / "model.safetensors", "blob", 0x7F)  # the children of all nodes, found by a query
    done = run_program("classify", "model.safetensors", "test.csv", "--mmap", "--no-verify", cwd=home)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("anystream: ")
    assert "damaged" in done.stderr
    assert "bad record" not in done.stderr


def test_a_damaged_model_that_shall_learn_is_refused_before_the_first_record(home):
    overwrite_array(home / "model.safetensors", "blob", 0x7F)
    done = run_program("classify", "model.safetensors", "test.csv", "--learn", cwd=home)
    assert done.returncode == 2
    assert "array 'blob' differs from its checksum" in done.stderr


def test_labels_that_are_evicted_are_reported_and_bounds_are_checked(home):
    rows = range(3000)
    (home / "many.csv").write_text("id,size,colour\n" + "".join(f"m{row},{row % 7},red\n" for row in rows))
    (home / "late.csv").write_text("id,class\n" + "".join(f"m{row},yes\n" for row in reversed(rows)))
    command = ("classify", "model.safetensors", "many.csv", "-o", "answers.jsonl", "--learn", "--labels", "late.csv")
    done = run_program(*command, "--label-capacity", "100", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "evicted before their record came" in done.stderr
    assert "records evicted before their label came" in done.stderr
    assert "to evict fewer, raise --label-capacity" in done.stderr
    done = run_program(*command, "--label-capacity", "3000", "--json", cwd=home)
    assert json.loads(done.stderr)["learned"] == 3000
    for option in ("--label-capacity", "--learn-queue", "--max-classes", "--max-text", "--max-model-mb"):
        done = run_program(*command, option, "0", cwd=home)
        assert (done.returncode, done.stderr) == (2, f"anystream: {option} is 0; use 1 or more\n")
    done = run_program(*command, "--learn-overflow", "lose", cwd=home)
    assert (done.returncode, done.stderr) == (2, "anystream: --learn-overflow is 'lose'; use one of block, drop\n")


@pytest.mark.parametrize("command", ["classify", "evaluate"])
def test_mmap_says_once_that_a_kind_is_copied(home, command):
    run_program("fit", "train.csv", "--label", "class", "--ignore", "id", "--model", "locust", cwd=home)
    mapped = run_program(command, "model.safetensors", "test.csv", "--mmap", cwd=home)
    plain = run_program(command, "model.safetensors", "test.csv", cwd=home)
    assert mapped.returncode == 0
    assert mapped.stderr.count("models of kind 'locust' cannot be mapped, the arrays were read into memory") == 1
    assert "cannot be mapped" not in mapped.stdout + plain.stderr


def test_inspect_and_a_bayes_tree_say_nothing_about_mapping(home):
    done = run_program("classify", "model.safetensors", "test.csv", "--mmap", cwd=home)
    assert done.returncode == 0
    assert "mapped" not in done.stderr
    run_program("fit", "train.csv", "--label", "class", "--ignore", "id", "--model", "locust", cwd=home)
    assert "mapped" not in run_program("inspect", "model.safetensors", cwd=home).stderr
