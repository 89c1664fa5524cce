import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.connectors.csv_file import CsvSource, read_csv_columns
from anystream.connectors.schema import Column, Schema, SchemaError
from connectors.table_sources import SCHEMA, drain, poll_all
from cpu_growth import cpu_growth


def csv_source(folder, text, schema=SCHEMA, **options):
    path = folder / "stream.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CsvSource(path, schema, **options)


def test_csv_cells_become_features_and_labels(tmp_path):
    records, rejected = drain(csv_source(tmp_path, "id;x;colour;y;more\na;1.5;red;1;?\nb;;blue;0;?\nc;3;?;;?\n"))
    assert rejected == []
    assert [key for key, _, _ in records] == ["a", "b", "c"]
    np.testing.assert_array_equal([x for _, x, _ in records], [[1.5, 0, 1], [np.nan, 1, 0], [3, np.nan, np.nan]])
    assert [label for _, _, label in records] == [1, 0, None]


def test_malformed_csv_records_are_rejected_with_line_and_reason_and_the_stream_continues(tmp_path):
    text = (
        b"id,x,colour,y\n"
        b"a,1,red,1\n"
        b"b,1,red\n"  # a field is missing
        b"c,one,red,1\n"
        b"d,1,green,1\n"
        b"e,1,red,yes\n"
        b"f,inf,red,1\n"
        b"\xff\xfe,1,red,1\n"
        b"\n" + b"g," + b"9" * 3000 + b",red,1\n"
        b'h,1,"re\n'  # a quote that is never closed
        b"i,2,blue,0"
    )
    records, rejected = drain(csv_source(tmp_path, text, max_line_bytes=1000))
    assert [key for key, _, _ in records] == ["a", "i"]
    assert {found.line: found.reason.split(";")[0] for found in rejected} == {
        3: "the line has 3 fields, the header 4",
        4: "column 'x' has 'one', which is not a number",
        5: "column 'colour' has 'green', a category that is not in the training data",
        6: "the label is 'yes', those of the model are of type int",
        7: "column 'x' has 'inf', which is not finite",
        8: "the line is not UTF-8",
        10: "the line is longer than 1000 bytes",
        11: "a quote is not closed",
    }
    assert next(found.record for found in rejected if found.line == 4) == "c,one,red,1"


def test_quoted_csv_cells_may_hold_any_character(tmp_path):
    source = csv_source(tmp_path, 'id,x,colour,y\n"a,\n""b""",1,red,1\nc,2,"blue",0\n')
    records, rejected = drain(source, max_records=1)
    assert rejected == []
    assert [key for key, _, _ in records] == ['a,\n"b"', "c"]


@given(st.integers(1, 40), st.integers(1, 7), st.data())
def test_a_file_can_be_read_again_from_any_record(tmp_path_factory, n, max_records, data):
    text = "id,x,colour,y\n" + "".join(f"{i},{i},{'rb'[i % 2] + ('ed' if i % 2 == 0 else 'lue')},1\n" for i in range(n))
    source = csv_source(tmp_path_factory.mktemp("csv"), text)
    offsets = []
    while not source.done:
        records, _ = source.poll(max_records)
        offsets.extend(zip(records.offset.tolist(), records.key.tolist(), strict=True))
        if records.offset.size:
            assert source.offset > records.offset[-1]
    place = data.draw(st.integers(0, n - 1))
    source.seek(offsets[place][0])
    assert source.offset == offsets[place][0]
    again, _ = drain(source, max_records)
    assert [key for key, _, _ in again] == [key for _, key in offsets[place:]]


def test_a_header_that_lacks_a_column_is_refused_at_once(tmp_path):
    with pytest.raises(
        SchemaError, match="there is no column 'colour', which the model was fitted on; the table has id, x"
    ):
        csv_source(tmp_path, "id,x\n1,2\n")
    with pytest.raises(SchemaError, match="has 'x' twice"):
        csv_source(tmp_path, "id,x,x,colour\n")


def test_an_empty_file_has_no_records(tmp_path):
    source = csv_source(tmp_path, "")
    assert source.done
    assert len(source.poll(10).records) == 0


def test_a_header_of_many_names_is_checked_in_linear_time(tmp_path):
    def check(n):
        names = [f"c{i}" for i in range(n)]
        wide = Schema(tuple(Column(name) for name in names))
        with pytest.raises(SchemaError, match=f"has 'c{n - 1}' twice"):
            csv_source(tmp_path, ",".join([*names, names[-1]]), wide)
        with pytest.raises(SchemaError, match=f"no column 'c{n - 1}', which the model was fitted on") as missing:
            csv_source(tmp_path, ",".join(names[:-1]), wide)
        assert len(str(missing.value)) < 1000

    assert cpu_growth(check, 4_000, 40_000) < 40  # about 10; 100 if every name were compared with every other


def test_a_file_with_a_header_alone_is_done_and_has_no_records(tmp_path):
    source = csv_source(tmp_path, "id,x,colour,y\n")
    assert source.done
    assert drain(source) == ([], [])


def test_a_training_table_with_a_short_record_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(SchemaError, match="line 3: the line has 1 fields, the header 2"):
        read_csv_columns(path)


PLAIN = {
    "numbers": Schema((Column("a"), Column("b")), label="y", time="t", label_type="int"),
    "texts": Schema((Column("a"), Column("b")), label="y", key="id", label_type="text"),
    "a feature as key": Schema((Column("a"), Column("b")), key="b"),
}
ODD_CELLS = [
    "",
    "?",
    "nan",
    "inf",
    "x",
    "1_0",
    '"6"',
    "0x1",
    "9007199254740993",
    "-",
    "1e",
    "1e400",
    "1 2",
    " ",
    "\u0661",
]
CELLS = st.one_of(
    st.sampled_from(["1", "2.5", "-3e2", " 4 ", "+7", ".5", "5.", "-0", "1E-3", "\t8", "1e-400"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-10, 10, places=4, allow_nan=False).map(str),
    st.sampled_from(ODD_CELLS),
)
TEXTS = st.sampled_from(["0", "a\rb", "1", "", "1.5", "1.0", "9007199254740993", "\u00e9", " b ", "b"])
ENDINGS = st.sampled_from(["7\n", "7\n", "7\n", "7\r\n", "\n", "7,8\n", "7\n\n"])


@pytest.mark.parametrize("schema", PLAIN.values(), ids=PLAIN)
@given(
    st.lists(st.tuples(TEXTS, CELLS, CELLS, TEXTS, CELLS, ENDINGS), max_size=12),
    st.integers(1, 5),
    st.sampled_from(",;"),
)
def test_plain_numbers_are_parsed_the_same_in_native_code_as_cell_by_cell(
    tmp_path_factory, schema, rows, max_records, delimiter
):
    path = tmp_path_factory.mktemp("csv") / "stream.csv"
    lines = ["id,a,b,y,t,more\n", *(",".join(row) for row in rows)]
    path.write_text("".join(lines).replace(",", delimiter), newline="")
    quick, slow = CsvSource(path, schema), CsvSource(path, schema)
    assert quick._may_be_plain
    slow._may_be_plain = False
    found, expected = poll_all(quick, max_records), poll_all(slow, max_records)
    for name in ("features", "arrival", "key", "label", "line", "offset"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(expected[0], name))
    assert found[1] == expected[1]


@given(st.lists(st.binary(max_size=6), max_size=5))
def test_bytes_that_are_not_text_are_rejected_by_native_code_as_cell_by_cell(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("csv") / "stream.csv"
    path.write_bytes(b"a,more\n" + b"".join(b"1," + cell + b"\n" for cell in cells))
    quick, slow = (CsvSource(path, Schema((Column("a"),))) for _ in range(2))
    slow._may_be_plain = False
    found, expected = poll_all(quick, 3), poll_all(slow, 3)
    np.testing.assert_array_equal(found[0].line, expected[0].line)
    assert found[1] == expected[1]


def test_one_odd_line_among_plain_ones_is_parsed_alone(tmp_path):
    rows = [f"{i},{i / 7!r}" for i in range(3000)]
    rows[1500] = '"1500",x'
    source = csv_source(tmp_path, "\n".join(["a,b", *rows]), Schema((Column("a"), Column("b"))))
    calls = []
    by_cell = source._parse
    source._parse = lambda lines: calls.append(len(lines)) or by_cell(lines)
    records, rejected = poll_all(source, 10_000)
    assert [found.line for found in rejected] == [1502]
    assert records.features[:, 0].tolist() == [i for i in range(3000) if i != 1500]
    assert sum(calls) == 64


def test_features_have_the_order_of_the_model_whatever_that_of_the_table(tmp_path):
    schema = Schema((Column("a"), Column("b"), Column("c")), time="t")
    records, rejected = csv_source(tmp_path, "c,t,a,more,b\n3,9,1,x,2\n6,9,4,x,\n", schema).poll(10)
    assert not rejected
    np.testing.assert_array_equal(records.features, [[1, 2, 3], [4, np.nan, 6]])
    assert records.arrival.tolist() == [9, 9]


@given(st.lists(st.from_regex(r"-?[0-9]{1,17}(\.[0-9]{0,17})?", fullmatch=True), min_size=1))
def test_decimals_of_any_length_are_the_doubles_of_python(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("csv") / "stream.csv"
    path.write_text("a\n" + "\n".join(cells))
    records, _ = poll_all(CsvSource(path, Schema((Column("a"),))), 100)
    assert records.features[:, 0].tobytes() == np.array([float(cell) for cell in cells]).tobytes()
