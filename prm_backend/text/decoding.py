"""A file's bytes as text, in chunks: unzipped, decoded, its lines ended by a newline alone. Knows nothing of rows."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

_CHUNK = 1 << 16
_FOREIGN = (
    (b"\x1f\x8b", "gzipped: its name must end in .gz"),
    (b"PK\x03\x04", "a zip file or a spreadsheet: save it as CSV, or unpack it"),
    (b"PAR1", "Parquet: convert it to .jsonl"),
    (codecs.BOM_UTF32_LE, "UTF-32: save it as UTF-8"),
    (codecs.BOM_UTF32_BE, "UTF-32: save it as UTF-8"),
)


class Text:
    """A file's text in chunks. One that is damaged or too long ends early, and `fault` then says why."""

    def __init__(self, file: BinaryIO, *, is_gzip: bool, most_bytes: int) -> None:
        self._file: Any = gzip.GzipFile(fileobj=file, mode="rb") if is_gzip else file
        self._most = most_bytes
        self.fault = ""

    def __iter__(self) -> Iterator[str]:
        decoder = None
        for chunk in self._chunks():
            if decoder is None:
                if said := next((what for start, what in _FOREIGN if chunk.startswith(start)), ""):
                    self.fault = f"it is {said}"
                    return
                encoding = _encoding(chunk)
                # Bytes that are not UTF-8 become lone surrogates, for which their row is refused.
                errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
                # A spreadsheet on a Mac may end lines in CR alone.
                decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(errors), True)
            yield decoder.decode(chunk)
        if decoder is not None:
            yield decoder.decode(b"", final=True)

    def _chunks(self) -> Iterator[bytes]:
        read = 0
        # What was unpacked before the damage is given out, not lost with it.
        read_some = self._file.read1 if isinstance(self._file, gzip.GzipFile) else self._file.read
        try:
            while chunk := read_some(_CHUNK):
                read += len(chunk)
                if read > self._most:
                    self.fault = f"the file holds more than {self._most} bytes; what comes after was not read"
                    return
                yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.fault = f"the gzip data is damaged ({error}); what comes after was not read"


def _encoding(start: bytes) -> str:
    """UTF-16 by its BOM or by the zero byte beside the first (ASCII) character, else UTF-8."""
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    if start[0:1] != b"\0" and start[1:2] == b"\0":
        return "utf-16-le"
    return "utf-16-be" if start[0:1] == b"\0" and start[1:2] != b"\0" else "utf-8-sig"
