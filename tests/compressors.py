"""Bytes in every compression format that can be read."""

import bz2
import gzip
import io
import lzma
import zipfile

import pyarrow as pa


def as_zip(content, name="credit.csv", **more):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, text in more.items():
            archive.writestr(other, text)
        archive.writestr(name, content)
    return packed.getvalue()


PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
    ".zip": as_zip,
}
