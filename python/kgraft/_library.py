"""The C library as ctypes sees it: where it is, its structs, and its functions.

Everything here mirrors `kgraft.h`, name for name. Nothing outside this file knows about ctypes'
signatures.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
from ctypes import CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float
from ctypes import c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Iterator

VERSION = "0.2.0"

# Of the header that the structs and functions below mirror.
ABI = 2

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


class Sized(Structure):
    """One that may grow: it begins with its size, which every new one has."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(ctypes.sizeof(self), *values, **named)


class ModelInfo(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("model", c_char_p),
        ("aggregate", c_char_p),
        ("entities", c_size_t),
        ("relations", c_size_t),
        ("relation_rows", c_size_t),
        ("dim", c_size_t),
        ("terms", c_size_t),
        ("is_calibrated", c_bool),
        ("has_facts", c_bool),
        ("entity_rows", c_size_t),
    ]


class NewEntitiesOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("skip_unknown", c_bool),
        ("entity", c_char_p),
        ("report", c_void_p),
        ("payload", c_void_p),
    ]


class Subject(Structure):
    _fields_ = [("entity", c_uint32), ("links", POINTER(Link)), ("count", c_size_t)]


# How new entities are embedded, instead of as the model was trained.
OVERRIDES = [
    ("aggregate", c_char_p),
    ("ls_rows", c_char_p),
    ("ls_lambda", c_double),
    ("ials_alpha", c_double),
    ("ials_lambda", c_double),
]


class WorkspaceOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        *OVERRIDES,
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


class Request(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("subject", Subject),
        ("relation", c_uint32),
        ("heads", c_bool),
        ("tails", c_bool),
        ("keep_known", c_bool),
        ("no_echo", c_bool),
    ]


REASON_STEPS = 8


class ScoreTerm(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("part", c_double),
        ("rest", c_double),
        ("reason_count", c_size_t),
    ]


class Share(Structure):
    _fields_ = [
        ("link", Link),
        ("weight", c_double),
        ("part", c_double),
        ("rank_without", c_double),
        ("parts", POINTER(c_double)),
    ]


class Reason(Structure):
    _fields_ = [
        ("term", c_size_t),
        ("path", Link * REASON_STEPS),
        ("steps", c_size_t),
        ("fact", Link),
        ("share", c_double),
    ]


class Explanation(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("shares", POINTER(Share)),
        ("share_capacity", c_size_t),
        ("terms", POINTER(ScoreTerm)),
        ("term_capacity", c_size_t),
        ("parts", POINTER(c_double)),
        ("part_capacity", c_size_t),
        ("reasons", POINTER(Reason)),
        ("reason_capacity", c_size_t),
        ("share_count", c_size_t),
        ("term_count", c_size_t),
        ("reason_count", c_size_t),
        ("score", c_double),
        ("rank", c_double),
        ("probability", c_float),
        ("untested_facts", c_uint32),
        ("unexpanded", c_size_t),
    ]


class LeftOutFacts(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("unknown", c_size_t),
        ("repeated", c_size_t),
        ("reflexive", c_size_t),
        ("literals", c_size_t),
        ("wrong", c_size_t),
    ]


class GraphOptions(Sized):
    _fields_ = [("size", c_size_t), ("skip_unknown", c_bool), ("progress", c_void_p)]


class LiveOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("skip_unknown", c_bool),
        ("allow_relations", c_bool),
        ("read_only", c_bool),
        ("unused", c_char * 5),
    ]


class Commit(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("added", c_uint64),
        ("removed", c_uint64),
        ("repeated", c_uint64),
        ("missing", c_uint64),
        ("unknown", c_uint64),
        ("entities_added", c_uint64),
        ("entities_removed", c_uint64),
        ("skipped", c_uint64),
        ("last", c_int64),
    ]


class SnapshotInfo(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("generation", c_int64),
        ("last", c_int64),
        ("facts", c_uint64),
    ]


class LogRecord(Structure):
    _fields_ = [
        ("number", c_int64),
        ("time", c_int64),
        ("head", Text),
        ("relation", Text),
        ("tail", Text),
        ("source", Text),
        ("offset", c_int64),
        ("is_added", c_bool),
    ]


class CompactionOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("epochs", c_uint64),
        ("threads", c_uint64),
        ("from_scratch", c_bool),
        ("restart", c_bool),
        ("unused", c_char * 6),
        ("progress", c_void_p),
    ]


class Compaction(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("generation", c_int64),
        ("is_new", c_uint64),
        ("added", c_uint64),
        ("removed", c_uint64),
        ("facts", c_uint64),
        ("entities", c_uint64),
        ("relations", c_uint64),
        ("new_entities", c_uint64),
        ("new_relations", c_uint64),
        ("gone_entities", c_uint64),
        ("epochs", c_uint64),
    ]


class ProgressReport(Structure):
    _fields_ = [
        ("stage", c_char_p),
        ("unit", c_char_p),
        ("done", c_uint64),
        ("total", c_uint64),
        ("note", c_char_p),
        ("phase", c_int),
    ]


ON_LOGGED = CFUNCTYPE(c_bool, c_void_p, POINTER(LogRecord))
ON_PROGRESS = CFUNCTYPE(c_bool, c_void_p, POINTER(ProgressReport))


class Progress(Structure):
    _fields_ = [("report", ON_PROGRESS), ("payload", c_void_p)]


class Metrics(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("queries", c_uint64),
        ("mrr", c_double),
        ("mr", c_double),
        ("hits", c_double * 3),
    ]


class EvaluationOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("in_sample", c_bool),
        ("valid", c_bool),
        *OVERRIDES,
        ("threads", c_int),
        ("progress", c_void_p),
    ]


STRUCTS = {
    "kg_error": ErrorStruct,
    "kg_text": Text,
    "kg_link": Link,
    "kg_model_info": ModelInfo,
    "kg_new_entities_options": NewEntitiesOptions,
    "kg_subject": Subject,
    "kg_workspace_options": WorkspaceOptions,
    "kg_answer": Answer,
    "kg_request": Request,
    "kg_score_term": ScoreTerm,
    "kg_share": Share,
    "kg_reason": Reason,
    "kg_explanation": Explanation,
    "kg_left_out_facts": LeftOutFacts,
    "kg_graph_options": GraphOptions,
    "kg_live_options": LiveOptions,
    "kg_commit": Commit,
    "kg_snapshot_info": SnapshotInfo,
    "kg_log_record": LogRecord,
    "kg_compaction_options": CompactionOptions,
    "kg_compaction": Compaction,
    "kg_progress_report": ProgressReport,
    "kg_metrics": Metrics,
    "kg_evaluation_options": EvaluationOptions,
}

_HANDLE = POINTER(c_void_p)
_ERROR = POINTER(ErrorStruct)
_SIZES = POINTER(c_size_t)

# What each function returns, and takes.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "kg_error_text": (c_void_p, [c_char_p, c_size_t, _ERROR]),
    "kg_version": (c_char_p, []),
    "kg_abi": (c_int, []),
    "kg_model_open": (c_int, [_HANDLE, c_char_p, _ERROR]),
    "kg_model_open_on_graph": (
        c_int,
        [_HANDLE, POINTER(LeftOutFacts), c_void_p, c_char_p, POINTER(GraphOptions), _ERROR],
    ),
    "kg_model_evaluate": (
        c_int,
        [POINTER(Metrics), c_void_p, c_char_p, POINTER(EvaluationOptions), _ERROR],
    ),
    "kg_model_close": (None, [c_void_p]),
    "kg_model_describe": (c_int, [POINTER(ModelInfo), c_void_p, _ERROR]),
    "kg_model_find_entity": (c_uint32, [c_void_p, Text]),
    "kg_model_find_relation": (c_uint32, [c_void_p, Text]),
    "kg_model_entity_name": (Text, [c_void_p, c_uint32]),
    "kg_model_relation_name": (Text, [c_void_p, c_uint32]),
    "kg_model_entity_vectors": (c_void_p, [c_void_p]),
    "kg_model_relation_vectors": (c_void_p, [c_void_p]),
    "kg_model_links": (
        c_int,
        [POINTER(POINTER(Link)), _SIZES, c_void_p, c_uint32, _ERROR],
    ),
    "kg_new_entities_open": (c_int, [_HANDLE, c_void_p, POINTER(NewEntitiesOptions), _ERROR]),
    "kg_new_entities_close": (None, [c_void_p]),
    "kg_new_entities_add": (c_int, [c_void_p, Text, Text, Text, _ERROR]),
    "kg_new_entities_read": (c_int, [c_void_p, c_char_p, _ERROR]),
    "kg_new_entities_finish": (c_int, [c_void_p, c_void_p, _ERROR]),
    "kg_new_entities_count": (c_size_t, [c_void_p]),
    "kg_new_entities_name": (Text, [c_void_p, c_size_t]),
    "kg_new_entities_links": (POINTER(Link), [_SIZES, c_void_p, c_size_t]),
    "kg_workspace_open": (c_int, [_HANDLE, c_void_p, POINTER(WorkspaceOptions), _ERROR]),
    "kg_workspace_close": (None, [c_void_p]),
    "kg_workspace_is_calibrated": (c_bool, [c_void_p]),
    "kg_workspace_embed": (c_int, [POINTER(c_float), c_void_p, Subject, c_uint32, _ERROR]),
    "kg_workspace_predict": (
        c_int,
        [POINTER(Answer), _SIZES, c_void_p, POINTER(Request), c_size_t, c_size_t, _ERROR],
    ),
    "kg_workspace_neighbors": (
        c_int,
        [POINTER(Answer), _SIZES, c_void_p, Subject, c_size_t, _ERROR],
    ),
    "kg_live_open": (c_int, [_HANDLE, c_void_p, POINTER(LiveOptions), _ERROR]),
    "kg_store_create": (c_int, [c_char_p, c_char_p, _ERROR]),
    "kg_live_open_store": (c_int, [_HANDLE, c_char_p, POINTER(LiveOptions), _ERROR]),
    "kg_live_offset": (c_int, [POINTER(c_int64), c_void_p, c_char_p, _ERROR]),
    "kg_live_log": (c_int, [c_void_p, c_int64, c_char_p, ON_LOGGED, c_void_p, _ERROR]),
    "kg_live_compact": (
        c_int,
        [POINTER(Compaction), c_void_p, POINTER(CompactionOptions), _ERROR],
    ),
    "kg_snapshot_describe": (c_int, [POINTER(SnapshotInfo), c_void_p, _ERROR]),
    "kg_live_close_store": (None, [c_void_p]),
    "kg_live_close": (None, [c_void_p]),
    "kg_live_snapshot": (c_int, [_HANDLE, c_void_p, _ERROR]),
    "kg_workspace_move": (c_int, [c_void_p, c_void_p, _ERROR]),
    "kg_changes_open": (c_int, [_HANDLE, c_void_p, _ERROR]),
    "kg_changes_close": (None, [c_void_p]),
    "kg_changes_add": (c_int, [c_void_p, Text, Text, Text, _ERROR]),
    "kg_changes_remove": (c_int, [c_void_p, Text, Text, Text, _ERROR]),
    "kg_changes_set_source": (c_int, [c_void_p, c_char_p, c_int64, _ERROR]),
    "kg_changes_commit": (c_int, [POINTER(Commit), c_void_p, _ERROR]),
    "kg_kernels_used": (c_char_p, []),
    "kg_kernels_better": (c_char_p, []),
    "kg_files_check": (c_int, [c_char_p, c_void_p, c_void_p, c_void_p, _ERROR]),
    "kg_workspace_explain": (
        c_int,
        [POINTER(Explanation), c_void_p, Subject, Link, _ERROR],
    ),
}


def _find() -> str:
    """The environment's, the one beside this file, or the system's of this ABI, by its name."""
    if named := os.environ.get("KGRAFT_LIBRARY"):
        return named
    for beside in sorted(Path(__file__).parent.glob("libkgraft.so*")):
        return str(beside)
    return f"libkgraft.so.{ABI}"


def _best_kernels() -> str | None:
    """The name of OpenBLAS' kernels that serve this processor best, judged by its features; None for
    processors without AVX2, all of which OpenBLAS knows. kg_kernels_better can be asked only when it
    is too late."""
    try:
        match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    flags = set(match[1].split()) if match else set()
    if flags >= {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}:
        return "SkylakeX"
    return "Haswell" if flags >= {"avx2", "fma"} else None


@contextlib.contextmanager
def openblas_environment(**also: str) -> Iterator[None]:
    """OpenBLAS reads its environment when it is loaded, and never again: so it is set for that
    moment. It would choose kernels by the model of the processor, which it may not know. What is set
    already stays."""
    wanted = {"OPENBLAS_CORETYPE": _best_kernels(), **also}
    added = {k: v for k, v in wanted.items() if v is not None and k not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@functools.cache
def library() -> Any:
    """The library, loaded once. Its structs are as here only if its ABI is."""
    path = _find()
    with openblas_environment(OPENBLAS_NUM_THREADS="1"):  # threads are the library's
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            raise OSError(
                f"expected libkgraft.so.{ABI} where KGRAFT_LIBRARY says, beside the package or where "
                f"the system looks for libraries: {error}"
            ) from None
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
