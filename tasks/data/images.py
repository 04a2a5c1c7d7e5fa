"""Decoding images that may be damaged.

A PNG file has a checksum for each of its parts.  Pillow does not compare those of the pixels, so it is done here: every
flipped bit is found.  A JPEG file has none, and one with other pixels may decode.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Collection

from PIL import Image

from minisets.files import DamagedFile

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def decode_image(content: bytes, kind: str, sides: tuple[int, int], modes: Collection[str]) -> Image.Image:
    """A PNG or JPEG image whose sides are within a range; DamagedFile if it is anything else."""
    if kind == "PNG":
        _check_png(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's of odd metadata, and of sizes that are refused below
        try:
            image = Image.open(io.BytesIO(content), formats=[kind])  # reads only the header
        except Exception:  # Pillow raises many kinds of errors for bad files, some of which quote addresses in memory
            raise DamagedFile(f"it is not a {kind} image, or its header is damaged") from None
        (least, most), (w, h) = sides, image.size
        if min(w, h) < least or max(w, h) > most or image.mode not in modes:
            wanted = f"{least} × {least}" if least == most else f"sides of {least} to {most:,}"
            raise DamagedFile(
                f"it has {w} × {h} pixels of mode {image.mode}; expected {wanted} of mode {' or '.join(modes)}"
            )
        try:
            image.load()
        except Exception:
            raise DamagedFile(f"its {kind} data is damaged or cut off") from None
    return image


def _check_png(content: bytes) -> None:
    """Compare all checksums.  After a signature there are chunks: a length, four letters, the content, and its CRC."""
    if content[:8] != _SIGNATURE:
        raise DamagedFile("it is not a PNG image")
    start, kind = 8, b""
    while kind != b"IEND":
        if len(content) < start + 12:
            raise DamagedFile("it is cut off")
        length, kind = struct.unpack_from(">I4s", content, start)
        end = start + 12 + length
        if zlib.crc32(content[start + 4 : end - 4]) != int.from_bytes(content[end - 4 : end], "big"):
            raise DamagedFile("a checksum in it does not match")
        start = end
    if start != len(content):
        raise DamagedFile("it does not end where its last part does")
