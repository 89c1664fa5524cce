import numpy as np
import pytest

from anystream.connectors.schema import Column, Schema, SchemaError
from connectors.answered_records import answered_records

pa = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402  after the check that pyarrow is installed
import pyarrow.parquet  # noqa: E402  after the check that pyarrow is installed

from anystream.connectors.arrow import ArrowSource, ParquetSink, read_arrow_columns  # noqa: E402  needs pyarrow

SCHEMA = Schema((Column("x"), Column("c", ("u", "v"))), label="y", label_type="int", unknown="reject")


@pytest.fixture(params=["t.parquet", "t.arrow"])
def path(request, tmp_path):
    table = pa.table({"x": [1.0, None, 3.0], "c": ["u", "v", "w"], "y": [0, 1, 0]})
    if request.param == "t.parquet":
        pyarrow.parquet.write_table(table, tmp_path / request.param)
    else:
        pyarrow.feather.write_feather(table, tmp_path / request.param, compression="uncompressed")
    return tmp_path / request.param


def test_parquet_and_arrow_are_read_and_read_again(path):
    source = ArrowSource(path, SCHEMA)
    records, rejected = source.poll(10)
    np.testing.assert_array_equal(records.features, [[1, 1, 0], [np.nan, 0, 1]])
    assert records.label.tolist() == [0, 1]
    assert [found.offset for found in rejected] == [2]
    assert "category" in rejected[0].reason
    assert "'c': 'w'" in rejected[0].record
    assert source.done
    source.seek(1)
    assert source.poll(1).records.offset.tolist() == [1]


def test_the_columns_of_a_whole_file_are_read(path):
    assert read_arrow_columns(path)["y"] == [0, 1, 0]
    assert read_arrow_columns(path, max_records=2)["y"] == [0, 1]


def test_a_file_of_another_format_or_without_a_column_is_refused(path):
    with pytest.raises(SchemaError, match="there is no column 'z'"):
        ArrowSource(path, Schema((Column("z"),)))
    path.write_bytes(b"x,c,y\n1,u,0\n")
    with pytest.raises(SchemaError, match=r"this is not an? (Parquet|Arrow) file"):
        ArrowSource(path, SCHEMA)


def test_parquet_tells_which_records_were_reached(tmp_path):
    sink = ParquetSink(tmp_path / "out.parquet")
    sink.write(answered_records([1, 2]))
    sink.write(answered_records([3, 4])._replace(reached=np.array([True, False])))
    sink.close()
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").column("reached").to_pylist() == [
        True,
        True,
        True,
        False,
    ]


def test_parquet_is_written_but_cannot_be_part_of_a_checkpoint(tmp_path):
    sink = ParquetSink(tmp_path / "out.parquet")
    sink.write(answered_records([1, 2]))
    for use in (lambda: sink.mark(complete=False), lambda: sink.rewind({})):
        with pytest.raises(ValueError, match="write JSON lines or CSV"):
            use()
    sink.close()
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").column("key").to_pylist() == [1, 2]


def test_another_file_is_not_continued(path):
    source = ArrowSource(path, SCHEMA)
    source.poll(1)
    fingerprint = source.fingerprint()
    ArrowSource(path, SCHEMA).seek(1, fingerprint)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1  # within the two ends that are compared
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not the file that the run has read"):
        source.seek(1, fingerprint)
