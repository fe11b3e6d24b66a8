"""Checkpoints that were changed, with the checksum that they then must have: written from the
description of the format (docs/model-directory.md), and with xxHash's own library.
"""

from __future__ import annotations

import ctypes
import json
import struct
from typing import Any

ZEROS = "0" * 32


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3(data: bytes) -> str:
    hasher = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    hasher.restype, hasher.argtypes = Hash128, [ctypes.c_char_p, ctypes.c_size_t]
    found = hasher(data, len(data))
    return f"{found.high:016x}{found.low:016x}"


def open_checkpoint(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Its header and its numbers."""
    (length,) = struct.unpack_from("<Q", data)
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def seal_checkpoint(header: dict[str, Any], numbers: bytes) -> bytes:
    metadata = {"xxh3": ZEROS, **header["__metadata__"]}
    metadata["xxh3"] = ZEROS
    text = json.dumps({**header, "__metadata__": metadata}).encode()
    text += b" " * (-(len(text) + 8) % 64)
    data = struct.pack("<Q", len(text)) + text + numbers
    return data.replace(ZEROS.encode(), xxh3(data).encode(), 1)
