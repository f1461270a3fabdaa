"""Files that hold no table a person can learn from as it is: what they are, and what to do."""

from __future__ import annotations

import re
import zipfile

AS_CSV = "save it as CSV and give that file"
SHEET = "; save the sheet that is meant as CSV and give that file"
PICTURE = "; give a table of numbers, one row a picture"
UNPACK = "; unpack it first"
R_DATA = "an R data file; write its table with write.csv and give that file"
MAGIC = {
    b"%PDF-": "a PDF document; copy its table into a CSV file and give that",
    b"\x89PNG\r\n": "a PNG picture" + PICTURE,
    b"\xff\xd8\xff": "a JPEG picture" + PICTURE,
    b"GIF8": "a GIF picture" + PICTURE,
    b"II*\x00": "a TIFF picture" + PICTURE,
    b"MM\x00*": "a TIFF picture" + PICTURE,
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel or Word file; " + AS_CSV,
    b"{\\rtf": "a rich text document; " + AS_CSV,
    b"SQLite format 3\x00": "an SQLite database; export the table that is meant as CSV",
    b"\x89HDF\r\n": "an HDF5 file; export the table that is meant as CSV or Parquet",
    b"MATLAB 5.0 MAT-file": "a MATLAB file; export the table that is meant as CSV",
    b"MATLAB 7": "a MATLAB file; export the table that is meant as CSV",
    b"$FL2": "an SPSS file; " + AS_CSV,
    b"<stata_dta>": "a Stata file; " + AS_CSV,
    b"RDX2\n": R_DATA,
    b"RDX3\n": R_DATA,
    b"7z\xbc\xaf\x27\x1c": "a 7z archive" + UNPACK,
    b"Rar!\x1a\x07": "a RAR archive" + UNPACK,
}
PATTERNS = {
    rb"\x80[\x02-\x05]": "a pickle, which runs whatever is in it and is not read; " + AS_CSV,
    rb"RIFF....WEBP": "a WebP picture" + PICTURE,
    rb"BM....\x00\x00\x00\x00": "a BMP picture" + PICTURE,
    rb".{257}ustar": "a tar archive" + UNPACK,
    rb"(?i)\s*<(!doctype html|html)\b": "a web page; save its table as CSV and give that file",
    rb"\s*<\?xml\b": "an XML document; " + AS_CSV,
    rb"\s*\[\s*\{": "one JSON array; write one object a line instead, as jq -c '.[]' does",
}
OFFICE = {
    "xl/": "an Excel workbook" + SHEET,
    "word/": "a Word document; " + AS_CSV,
    "ppt/": "a PowerPoint presentation; " + AS_CSV,
}
OPEN_DOCUMENT = {
    b"spreadsheet": "an OpenDocument spreadsheet" + SHEET,
    b"text": "an OpenDocument text; " + AS_CSV,
}


# In a pipe only the beginning of a zip file can be seen: the names of files, each before its bytes.
IN_A_PIPE = {
    **{
        rb"(?=PK\x03\x04).*?PK\x03\x04.{26}" + folder.encode(): kind
        for folder, kind in OFFICE.items()
    },
    **{
        rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\." + word: kind
        for word, kind in OPEN_DOCUMENT.items()
    },
}


def what_is(head: bytes) -> str | None:
    """What a file is that begins so, and what to do; None where it may be a table.

    Examples
    --------
    >>> what_is(b"%PDF-1.7")
    'a PDF document; copy its table into a CSV file and give that'
    >>> what_is(b"age,approved") is None
    True
    """
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    for pattern, kind in {**PATTERNS, **IN_A_PIPE}.items():
        if re.match(pattern, head, re.DOTALL):
            return kind
    return None


def office_document(archive: zipfile.ZipFile) -> str | None:
    """The kind of document that a zip file is, as office programs and others write them."""
    names = archive.namelist()
    if "[Content_Types].xml" in names:
        return next(
            (kind for folder, kind in OFFICE.items() if any(n.startswith(folder) for n in names)),
            "an office document; " + AS_CSV,
        )
    if names[:1] == ["mimetype"]:
        kind = archive.read("mimetype")[:100]
        return next((told for word, told in OPEN_DOCUMENT.items() if word in kind), None)
    return None
