"""What a game leaves behind: plain arrays and JSON, readable without the library."""

import io
import json
import math
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbribable.files import written
from unbribable.model.checks import Floats

FORMAT = 2

OF_LIES = ("C", "C or 0", "that there are lies", "the number of lies", "nothing")
"""What a player may be told of the lies."""


MAX_BYTES = 2**30
"""A record that claims to be larger, packed or unpacked, is refused before it is loaded."""
_END = 22
"""Bytes with which an npz file ends; the 11th and 12th of them count its arrays."""


@dataclass(frozen=True, eq=False)
class Record:
    """A finished game, round by round, truth beside the lie.

    `columns` holds arrays of length T (one row per round; `maximisers`, where there are layers, is
    (T, n_layers)); `meta` plain JSON data about the whole game.

    Columns: index, x (T, d), f, noise, c, y_tilde, charge, instance (index into
    meta["instances"], -1 where nobody learned), mu, sigma, width, ucb, lower, upper (the interval of
    the instance that played, at the point when it was chosen), seconds.
    """

    columns: dict[str, np.ndarray]
    meta: dict[str, Any]

    @property
    def T(self) -> int:
        """Rounds played."""
        return len(self.columns["index"])

    @property
    def instant_regret(self) -> Floats:
        """f(x*) - f(x_t), (T,); 0 in the opening, which nobody chose."""
        regret = self.meta["f_max"] - self.columns["f"]
        regret[: self.meta.get("opening", 0)] = 0.0
        return np.asarray(regret)

    @property
    def cumulative_regret(self) -> Floats:
        """R_t = sum over the rounds so far of f(x*) - f(x_t) [BKS20, Eq. 3]."""
        return np.cumsum(self.instant_regret)

    @property
    def simple_regret(self) -> float:
        """f(x*) - f of the point recommended at the end."""
        return float(self.meta["f_max"] - self.meta["f_recommended"])

    @property
    def simple_regret_of_best_reading(self) -> float:
        """The same of the point with the largest reading, which is what one takes without a model."""
        return float(self.meta["f_max"] - self.columns["f"][np.argmax(self.columns["y_tilde"])])

    @property
    def spent(self) -> Floats:
        """Budget spent up to each round, (T,)."""
        return np.cumsum(self.columns["charge"])

    def save(self, path: str | Path) -> Path:
        """Write an npz file: every column an array, `meta` a JSON string. Atomic: all or nothing."""
        path = Path(path)
        meta = np.array(json.dumps(self.meta))
        with written(path) as file:
            np.savez_compressed(file, meta=meta, **self.columns)  # type: ignore[arg-type]
        return path

    @classmethod
    def load(cls, path: str | Path) -> "Record":
        """Read what `save` wrote.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is damaged or not a record; the message says what is wrong.
        """
        path = Path(path)
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe would wait, a device never end
            raise ValueError(f"a record must be a file, got {path}, which is not one")
        if found.st_size > MAX_BYTES:
            raise ValueError(f"a record must have at most {MAX_BYTES} bytes, got {found.st_size}")
        packed = path.read_bytes()
        try:
            arrays = _unpacked(packed)
            meta = _meta(str(arrays.pop("meta")))
            _check(arrays, meta)
        except Exception as error:  # any of a dozen kinds: the bytes may be anything
            words = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise ValueError(f"this file is not a record: {words}") from error
        return cls(arrays, dict(meta))


def _unpacked(packed: bytes) -> dict[str, np.ndarray]:
    """The arrays of an npz file, each read only if its size is what it says and within the limit."""
    if not zipfile.is_zipfile(io.BytesIO(packed)):
        raise ValueError("it must be an npz file, got something else, or one that is cut off")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        members = archive.infolist()
        # A damaged length in the directory may hide the entries behind it.
        listed = int.from_bytes(packed[-_END:][10:12], "little")
        if packed[-_END:][:4] != b"PK\5\6" or listed != len(members):
            raise ValueError(f"its directory must list {listed} arrays, got {len(members)}")
        size = sum(member.file_size for member in members)
        if size > MAX_BYTES:
            raise ValueError(f"a record must have at most {MAX_BYTES} bytes unpacked, got {size}")
        arrays = {}
        for member in members:
            # Others are unpacked without a limit, whatever the directory says.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{member.filename} must be deflated, got {member.compress_type}")
            with archive.open(member) as file:
                data = file.read(member.file_size + 1)  # to the end, where the checksum is compared
            arrays[member.filename.removesuffix(".npy")] = _array(member.filename, data)
    return arrays


def _array(name: str, data: bytes) -> np.ndarray:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in headers:
        raise ValueError(f"{name} must be of npy version 1 or 2, got {version}")
    shape, _, dtype = headers[version](file)
    claimed, there = math.prod(shape) * dtype.itemsize, len(data) - file.tell()
    if claimed != there and not dtype.hasobject:
        raise ValueError(f"{name} must have the bytes its header claims, {claimed}, got {there}")
    file.seek(0)
    array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _meta(text: str) -> Mapping[str, Any]:
    meta: Mapping[str, Any] = json.loads(text, parse_constant=_finite, parse_float=_finite)
    if meta.get("format") != FORMAT:
        found = meta.get("format")
        raise ValueError(f"a record must have format {FORMAT}, got {found!r}: sweep its run again")
    return meta


def _finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise ValueError(f"numbers of meta must be finite, got {word}")
    return value


def _check(columns: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """Refuse what no game leaves behind."""
    lengths = {name: column.shape[:1] for name, column in columns.items()}
    T = lengths.get("index", ())
    if T in ((), (0,)):
        raise ValueError("a record must have the column index, one row per round, got no rounds")
    for name, column in columns.items():
        if lengths[name] != T:
            raise ValueError(f"columns must have {T[0]} rows like index, got {name}{column.shape}")
        if column.dtype.kind not in "iuf":
            raise ValueError(f"columns must hold numbers, got {name} of dtype {column.dtype}")
        if not np.isfinite(column).all():
            raise ValueError(f"columns must be finite, got {name} with NaN or infinity")
    if "T" in meta and meta["T"] != T[0]:
        raise ValueError(f"a record must have T rows, T={meta['T']!r}, got {T[0]}")
