"""Model files as an enemy, or a bad disk, would write them."""

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np

__all__ = [
    "array_with_header",
    "counting_objects",
    "members_of",
    "node",
    "random_damage",
    "sparse_with_header",
    "write_members",
]


def members_of(path: Path) -> dict[str, bytes]:
    """Return the members of an archive by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path: Path, members: dict, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write an archive; a member may be a schema, as a dict."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            text = json.dumps(content) if isinstance(content, dict) else content
            archive.writestr(name, text)
    return path


def array_with_header(shape: tuple, dtype: str = "<f8", data: bytes = bytes(8)) -> bytes:
    """Return an array's file whose header says `shape`, whatever its data are."""
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def sparse_with_header(shape: tuple) -> bytes:
    """Return a sparse matrix's file whose data have a header that says `shape`."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", array_with_header(shape))
    return content.getvalue()


def node(loader: str, kind: str, **parts) -> dict:
    """Return the description of an object in a schema."""
    module, _, name = kind.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **parts}


def counting_objects(depth: int) -> dict:
    """Return a list that contains the same list twice, and so on, by references."""
    content = node("ListNode", "builtins.list", content=[], __id__=1)
    for k in range(2, depth):
        again = {"__id__": k - 1}
        content = node("ListNode", "builtins.list", content=[content, again], __id__=k)
    return {**content, "protocol": 2, "_skops_version": "0.16.0"}


def random_damage(content: bytes, rng: np.random.Generator) -> bytes:
    """Return content with a few bits flipped, a part cut out, or some bytes doubled."""
    damaged = bytearray(content)
    kind = rng.integers(4)
    if kind == 0:
        for place in rng.integers(len(damaged), size=rng.integers(1, 8)):
            damaged[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del damaged[int(rng.integers(len(damaged))) :]
    else:
        start = int(rng.integers(len(damaged)))
        stop = start + int(rng.integers(1, 200))
        damaged[start:stop] = b"" if kind == 2 else damaged[start:stop] * 2
    return bytes(damaged)
