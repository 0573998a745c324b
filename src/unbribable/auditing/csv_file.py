"""Files of comma-separated values, as spreadsheets write them."""

import codecs
import csv
import io
from collections import Counter
from pathlib import Path

from unbribable.say.table import recoded


def read_csv(path: Path, notes: list[str]) -> tuple[list[str], list[list[str]], list[str]]:
    """Header, rows, and where each row stands: the line on which it ends.

    Cells are separated by commas, semicolons or tabs, whichever the header has most of. Notes are added
    about what had to be guessed.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no such file; the message names the line.
    """
    text = _decoded(path, notes)
    header = text.lstrip().split("\n", 1)[0]
    delimiter = max(",;\t", key=header.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows, labels = [], []
    try:
        for row in lines:
            if any(cell.strip() for cell in row):
                rows.append(row)
                labels.append(f"line {lines.line_num}")
    except csv.Error as error:
        raise ValueError(f"{path} must be a CSV file, got {error} in line {lines.line_num}") from None
    if not rows:
        raise ValueError(f"{path} must have a header and rows, got an empty file")
    names = [name.strip() for name in rows[0]]
    for name, n_times in Counter(names).items():
        if n_times > 1:
            raise ValueError(f"columns must have different names, got {name!r} twice in {path}")
    for row, label in zip(rows, labels, strict=True):
        if len(row) != len(names):
            raise ValueError(
                f"every row of {path} must have {len(names)} cells, like its header, got {len(row)} in "
                f"{label}; a text that holds {delimiter!r} must stand in quotation marks"
            )
    return names, rows[1:], labels[1:]


def _decoded(path: Path, notes: list[str]) -> str:
    raw = path.read_bytes()
    is_utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = raw.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = raw.decode("cp1252")
        except UnicodeDecodeError:
            text = "\0"
        else:
            notes.append(recoded(path.name))
    if "\0" in text:
        raise ValueError(
            f"{path} must be a text file, got bytes of another kind; export it as CSV UTF-8"
        )
    return text
