"""Compressed tables are read as they are; other kinds of file are refused."""

import gzip
import io
import lzma
import pickle
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from compressors import PACKERS, as_zip
from facts import refuses

from rosenblatt.errors import DataError
from rosenblatt.experiments import credit
from rosenblatt.read.data import memory_needed, read_batches, read_whole
from rosenblatt.read.source import LONGEST_LINE, UNPACKED, Layout, Source, format_of

TABLE = credit(n=40)


def csv_text(table=TABLE):
    text = io.BytesIO()
    pa.csv.write_csv(table, text)
    return text.getvalue()


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return Source.find(str(path))


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_table_is_read_whole_and_in_batches(tmp_path, suffix):
    source = put(tmp_path, f"credit.csv{suffix}", PACKERS[suffix](csv_text()))
    assert source.suffix == ".csv"
    assert read_whole(source).equals(read_whole(put(tmp_path, "credit.csv", csv_text())))
    assert sum(batch.num_rows for batch in read_batches(source)) == TABLE.num_rows
    assert source.count_lines() == TABLE.num_rows + 1


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_file_is_recognized_by_its_bytes_not_its_name(tmp_path, suffix):
    source = put(tmp_path, "credit", PACKERS[suffix](csv_text()))
    assert read_whole(source).num_rows == TABLE.num_rows


@pytest.mark.parametrize("suffix", PACKERS)
def test_blank_separated_text_and_parquet_are_decompressed_too(tmp_path, suffix):
    pack = PACKERS[suffix]
    blanks = b"".join(b"%d   %d  %d\n" % (i, i * i, i % 2) for i in range(9))
    name = {"name": "d.dat"} if suffix == ".zip" else {}
    assert read_whole(put(tmp_path, f"d.dat{suffix}", pack(blanks, **name))).num_columns == 3
    stored = io.BytesIO()
    pa.parquet.write_table(TABLE, stored)
    name = {"name": "d.parquet"} if suffix == ".zip" else {}
    source = put(tmp_path, f"d.parquet{suffix}", pack(stored.getvalue(), **name))
    assert read_whole(source).equals(TABLE)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_truncated_compressed_file_is_reported_as_damaged(tmp_path, suffix):
    rows = b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i * 7919 % 1009, i, i % 2) for i in range(9000))
    whole = PACKERS[suffix](rows)
    with refuses(DataError, "cut.csv"):
        read_whole(put(tmp_path, f"cut.csv{suffix}", whole[: len(whole) // 2]))


def test_a_zip_may_contain_a_folder_hidden_files_and_a_readme(tmp_path):
    beside = {"__MACOSX/._credit.csv": "x", "data/": "", ".DS_Store": "x", "README.txt": "hello"}
    source = put(tmp_path, "d.zip", as_zip(csv_text(), "data/credit.csv", **beside))
    assert source.member == "data/credit.csv"
    assert read_whole(source).num_rows == TABLE.num_rows


def test_a_zip_with_one_file_of_any_name_is_read(tmp_path):
    assert read_whole(put(tmp_path, "d.zip", as_zip(csv_text(), "credit.data"))).num_rows == 40


def test_several_tables_in_a_zip_are_named(tmp_path):
    with refuses(DataError, "d.zip", "a.csv", "b.csv"):
        put(tmp_path, "d.zip", as_zip("x,y\n", "b.csv", **{"a.csv": "x,y\n"}))
    with refuses(DataError, "e.zip"):
        put(tmp_path, "e.zip", b"PK\x05\x06" + bytes(18))


def test_a_zip_with_a_password_is_identified(tmp_path):
    packed = bytearray(as_zip(b"x,y\n1,0\n"))
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    with refuses(DataError, "d.zip", "password"):
        put(tmp_path, "d.zip", bytes(packed))


def test_memory_for_a_zip_is_read_from_it_and_for_others_estimated(tmp_path):
    text = csv_text()
    zipped, packed = (
        put(tmp_path, "d.zip", as_zip(text)),
        put(tmp_path, "d.xz", lzma.compress(text)),
    )
    assert memory_needed(zipped, Layout()) == 3 * len(text)
    assert memory_needed(packed, Layout()) == 3 * UNPACKED * len(lzma.compress(text))


def tar_of(content):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("d.csv")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


OFFICE = {"[Content_Types].xml": "<Types/>"}
FOREIGN = {
    "d.xlsx": as_zip("<x/>", "xl/workbook.xml", **OFFICE),
    "d.ods": as_zip("x", "content.xml", mimetype="application/vnd.oasis.opendocument.spreadsheet"),
    "d.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
    "d.png": b"\x89PNG\r\n\x1a\n" + bytes(99),
    "d.pkl": pickle.dumps({"x": [1, 2]}),
    "d.tar.gz": tar_of(b"x,y\n1,0\n"),
    "d.csv": b"GIF89a" + bytes(99),
    "zeros": bytes(LONGEST_LINE + 1),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_binary_files_of_other_kinds_are_refused_in_one_sentence(tmp_path, name):
    with pytest.raises(DataError) as caught:
        format_of(put(tmp_path, name, FOREIGN[name]))
    message = str(caught.value)
    assert name in message
    assert "\n" not in message
    assert message.endswith(".")


def test_the_json_reader_refuses_one_array(tmp_path):
    for text in (b'[\n  {"x": 1, "y": 0}\n]', b'[{"x": 1, "y": 0}]'):
        source = put(tmp_path, "d.json", text)
        assert format_of(source) == "JSON lines"
        with refuses(DataError, row=1):
            read_whole(source)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_text_in_an_encoding_with_null_bytes_is_read(tmp_path, encoding):
    source = put(tmp_path, "d.csv", "x,y\n1,0\n2,1\n".encode(encoding))
    layout = Layout(encoding=encoding if encoding == "utf-16-le" else None)
    assert read_whole(source, layout).to_pydict() == {"x": [1, 2], "y": [0, 1]}


def test_twice_compressed_files_are_refused_with_advice_to_decompress(tmp_path):
    with refuses(DataError, "gzip"):
        format_of(put(tmp_path, "d.csv.xz", lzma.compress(gzip.compress(b"x,y\n"))))


@pytest.mark.parametrize(
    "text", ["BMI,y\n22,no\n", "RDX,y\n1,2\n", "PK,BZh\n1,2\n", "BZh9,y\n1,2\n"]
)
def test_column_names_are_not_mistaken_for_images_or_archives(tmp_path, text):
    assert format_of(put(tmp_path, "d.csv", text.encode())) == "CSV"


def test_a_numpy_archive_with_one_array_is_read(tmp_path):
    np.savez_compressed(tmp_path / "d.npz", np.column_stack([np.arange(6.0), np.arange(6) % 2]))
    assert read_whole(Source.find(str(tmp_path / "d.npz"))).num_rows == 6
