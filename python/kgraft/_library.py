"""The C library as ctypes sees it: where it is, its structs, and its functions.

Everything here mirrors `kgraft.h`, name for name. Nothing outside this file knows about ctypes'
signatures.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
import re
from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int
from ctypes import c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

VERSION = "0.1.0"

# Of the header that the structs and functions below mirror.
ABI = 1

NO_ID = 0xFFFFFFFF
HEAD, TAIL = 0, 1
OK = 0


class ErrorStruct(Structure):
    _fields_ = [
        ("status", c_int),
        ("line", c_uint64),
        ("column", c_uint64),
        ("source", c_char * 512),
        ("message", c_char * 1024),
    ]


class Text(Structure):
    _fields_ = [("bytes", c_void_p), ("length", c_size_t)]


class Link(Structure):
    _fields_ = [("directed", c_uint32), ("other", c_uint32)]


class About(Structure):
    _fields_ = [
        ("model", c_char_p),
        ("aggregate", c_char_p),
        ("entities", c_size_t),
        ("relations", c_size_t),
        ("relation_rows", c_size_t),
        ("dim", c_size_t),
        ("is_calibrated", c_bool),
        ("has_facts", c_bool),
    ]


class NewcomersOptions(Structure):
    _fields_ = [
        ("skip_unknown", c_bool),
        ("entity", c_char_p),
        ("report", c_void_p),
        ("payload", c_void_p),
    ]


class Subject(Structure):
    _fields_ = [("entity", c_uint32), ("links", POINTER(Link)), ("count", c_size_t)]


class WorkspaceOptions(Structure):
    _fields_ = [
        ("aggregate", c_char_p),
        ("ls_rows", c_char_p),
        ("ls_lambda", c_double),
        ("ials_alpha", c_double),
        ("ials_lambda", c_double),
        ("threads", c_int),
        ("facts", c_size_t),
        ("answers", c_size_t),
    ]


class Answer(Structure):
    _fields_ = [
        ("directed", c_uint32),
        ("entity", c_uint32),
        ("score", c_float),
        ("probability", c_float),
    ]


class Request(Structure):
    _fields_ = [
        ("subject", Subject),
        ("relation", c_uint32),
        ("heads", c_bool),
        ("tails", c_bool),
        ("keep_known", c_bool),
        ("no_echo", c_bool),
    ]


MOST_STEPS = 4
MOST_REASONS = 8
FEATURE_COUNT = 7


class Share(Structure):
    _fields_ = [
        ("link", Link),
        ("weight", c_double),
        ("part", c_double),
        ("vector", c_double),
        ("echo", c_double),
        ("evidence", c_double * FEATURE_COUNT),
        ("rank_without", c_double),
    ]


class Reason(Structure):
    _fields_ = [
        ("path", Link * MOST_STEPS),
        ("steps", c_size_t),
        ("fact", Link),
        ("voter", c_uint32),
        ("hits", c_double),
        ("chances", c_double),
        ("share", c_double),
    ]


class Testimony(Structure):
    _fields_ = [
        ("part", c_double),
        ("rest", c_double),
        ("reason_count", c_size_t),
        ("reasons", Reason * MOST_REASONS),
    ]


class Explanation(Structure):
    _fields_ = [
        ("score", c_double),
        ("rank", c_double),
        ("probability", c_float),
        ("evidence", Testimony * FEATURE_COUNT),
    ]


STRUCTS = {
    "kg_error": ErrorStruct,
    "kg_text": Text,
    "kg_link": Link,
    "kg_about": About,
    "kg_new_entities_options": NewcomersOptions,
    "kg_subject": Subject,
    "kg_workspace_options": WorkspaceOptions,
    "kg_answer": Answer,
    "kg_request": Request,
    "kg_share": Share,
    "kg_reason": Reason,
    "kg_contribution": Testimony,
    "kg_explanation": Explanation,
}

_HANDLE = POINTER(c_void_p)
_ERROR = POINTER(ErrorStruct)
_SIZES = POINTER(c_size_t)

# What each function returns, and takes.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "kg_error_text": (c_void_p, [c_char_p, c_size_t, _ERROR]),
    "kg_version": (c_char_p, []),
    "kg_abi": (c_int, []),
    "kg_open": (c_int, [_HANDLE, c_char_p, _ERROR]),
    "kg_close": (None, [c_void_p]),
    "kg_describe": (About, [c_void_p]),
    "kg_find_entity": (c_uint32, [c_void_p, Text]),
    "kg_find_relation": (c_uint32, [c_void_p, Text]),
    "kg_entity_name": (Text, [c_void_p, c_uint32]),
    "kg_relation_name": (Text, [c_void_p, c_uint32]),
    "kg_entity_vectors": (c_void_p, [c_void_p]),
    "kg_relation_vectors": (c_void_p, [c_void_p]),
    "kg_known_links": (
        c_int,
        [c_void_p, c_uint32, POINTER(POINTER(Link)), POINTER(c_size_t), _ERROR],
    ),
    "kg_new_entities_open": (c_int, [_HANDLE, c_void_p, POINTER(NewcomersOptions), _ERROR]),
    "kg_new_entities_close": (None, [c_void_p]),
    "kg_new_entities_add": (c_int, [c_void_p, Text, Text, Text, _ERROR]),
    "kg_new_entities_read": (c_int, [c_void_p, c_char_p, _ERROR]),
    "kg_new_entities_finish": (c_int, [c_void_p, c_void_p, _ERROR]),
    "kg_new_entities_count": (c_size_t, [c_void_p]),
    "kg_new_entities_name": (Text, [c_void_p, c_size_t]),
    "kg_new_entities_links": (POINTER(Link), [c_void_p, c_size_t, _SIZES]),
    "kg_workspace_open": (c_int, [_HANDLE, c_void_p, POINTER(WorkspaceOptions), _ERROR]),
    "kg_workspace_close": (None, [c_void_p]),
    "kg_is_calibrated": (c_bool, [c_void_p]),
    "kg_embed": (c_int, [c_void_p, POINTER(c_float), Subject, c_uint32, _ERROR]),
    "kg_predict": (
        c_int,
        [c_void_p, POINTER(Answer), _SIZES, POINTER(Request), c_size_t, c_size_t, _ERROR],
    ),
    "kg_neighbors": (c_int, [c_void_p, POINTER(Answer), _SIZES, Subject, c_size_t, _ERROR]),
    "kg_feature_name": (c_char_p, [c_int]),
    "kg_kernels": (c_char_p, []),
    "kg_better_kernels": (c_char_p, []),
    "kg_check": (c_int, [c_char_p, c_void_p, c_void_p, c_void_p, _ERROR]),
    "kg_explain": (
        c_int,
        [c_void_p, POINTER(Explanation), POINTER(Share), Subject, Link, _ERROR],
    ),
}


def _find() -> str:
    """The environment's, the one beside this file, or the system's."""
    if named := os.environ.get("KGRAFT_LIBRARY"):
        return named
    for beside in sorted(Path(__file__).parent.glob("libkgraft.so*")):
        return str(beside)
    if found := ctypes.util.find_library("kgraft"):
        return found
    raise OSError(
        "expected libkgraft.so where KGRAFT_LIBRARY says, beside the package or where the "
        "system looks for libraries, found none"
    )


def _best_kernels() -> str | None:
    """The name of OpenBLAS' kernels that serve this processor best, judged by its features; None for
    processors without AVX2, all of which OpenBLAS knows. kg_better_kernels can be asked only when it
    is too late."""
    try:
        match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    flags = set(match[1].split()) if match else set()
    if flags >= {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}:
        return "SkylakeX"
    return "Haswell" if flags >= {"avx2", "fma"} else None


def _load(path: str) -> Any:
    """OpenBLAS reads its environment when it is loaded, and never again: so it is set for that
    moment. It would choose kernels by the model of the processor, which it may not know, and start
    threads of its own. What is set already stays."""
    wanted = {"OPENBLAS_CORETYPE": _best_kernels(), "OPENBLAS_NUM_THREADS": "1"}
    added = {k: v for k, v in wanted.items() if v is not None and k not in os.environ}
    os.environ.update(added)
    try:
        return ctypes.CDLL(path)
    finally:
        for name in added:
            del os.environ[name]


@functools.cache
def library() -> Any:
    """The library, loaded once. Its structs are as here only if its ABI is."""
    path = _find()
    loaded = _load(path)
    try:
        abi = loaded.kg_abi()
    except AttributeError:
        abi = "none"
    if abi != ABI:
        raise OSError(
            f"expected a kgraft library with ABI {ABI}, for which this package ({VERSION}) was "
            f"written, found ABI {abi}: {path}"
        )
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = arguments
    return loaded
