"""What the command-line tests share: running the tool, folders to run it in, and the data.

Every test runs the program itself, named by the environment variable KGRAFT, inside a temporary
folder, so that paths in messages are short and everything that is left behind can be seen.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Callable, Iterable, Iterator, Mapping, Optional, Protocol, TypeVar, Union

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
DATA = SHARED / "data"
BINARY = os.path.abspath(os.environ.get("KGRAFT", ROOT / "build" / "src" / "kgraft"))
TIMEOUT = 300

os.environ.pop("COLUMNS", None)  # by which tables would be laid out

COMMANDS = (
    "import", "stats", "train", "predict", "explain", "embed", "neighbors", "store", "add", "remove", "log", "compact", "serve", "info", "check", "export",
    "adopt", "calibrate", "index", "split", "eval", "replay", "tune", "reproduce", "generate",
)

Word = Union[str, bytes, Path]
Tree = Mapping[str, bytes]
"""Files by their paths in a folder."""

Snapshot = dict[bytes, Optional[bytes]]
"""What lies in a folder: paths and contents, None for folders."""



@functools.cache
def is_sanitized() -> bool:
    """Whether the program was built with a sanitizer, which needs room that limits deny it."""
    return b"__asan_init" in Path(BINARY).read_bytes()


needs_data = unittest.skipUnless(DATA.is_dir(), f"no data in {DATA}")


def numbers_of_data(case: type) -> type:
    """Of tests that check the numbers of whole data sets: what sanitizers would see there they see on
    small graphs, many times as fast."""
    reason = "whole data sets are for the build that users get"
    return needs_data(unittest.skipIf(is_sanitized(), reason)(case))


@functools.cache
def unpacked_data() -> Path:
    """A folder with all data sets, unpacked once per module and removed at its end."""
    folder = tempfile.mkdtemp(prefix="kgraft-data-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([DATA / "unpack", folder], check=True, timeout=TIMEOUT)
    return Path(folder)


# ---------------------------------------------------------------------------------------------
# Running


@dataclass(frozen=True)
class Result:
    """How a run ended; a negative status is the number of the signal that ended it."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def messages(self) -> list[str]:
        """The lines on standard error. Only newlines count as ends of lines."""
        lines = self.stderr.decode(errors="backslashreplace").split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def check_sanitizers(stderr: bytes) -> None:
    """A finding of a sanitizer fails the test, whatever the test itself is about. But that of leaks
    at times stumbles over threads that are about to end, and takes the program's exit status with
    it: that says nothing about the program, and cannot be told from what it would have said."""
    if b"LeakSanitizer has encountered a fatal error" in stderr:
        raise unittest.SkipTest("the leak sanitizer broke down")
    if re.search(rb"runtime error:|(Address|Leak|Undefined\w*|Thread)Sanitizer", stderr):
        raise AssertionError(stderr.decode(errors="backslashreplace"))


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, **changes}


def run(
    *words: Word,
    cwd: Path,
    stdin: bytes = b"",
    stdout: Union[int, IO[bytes]] = subprocess.PIPE,
    env: Optional[Mapping[str, str]] = None,
    before: Optional[Callable[[], None]] = None,
    wrapper: Iterable[Word] = (),
) -> Result:
    """Runs the program; `before` runs in the child, `wrapper` is a command that runs it."""
    done = subprocess.run(
        [*wrapper, BINARY, *words],
        cwd=cwd,
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=env,
        preexec_fn=before,
        timeout=TIMEOUT,
        check=False,
    )
    check_sanitizers(done.stderr)
    return Result(done.returncode, done.stdout or b"", done.stderr)


# ---------------------------------------------------------------------------------------------
# Folders and files


def snapshot(folder: Path) -> Snapshot:
    """Everything below a folder. What cannot be read counts as empty."""
    found: Snapshot = {}
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder))
        try:
            found[name] = None if path.is_dir() else path.read_bytes()
        except PermissionError:
            found[name] = b""
    return found


def write_tree(folder: Path, files: Tree) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def tsv(*facts: str) -> bytes:
    """Facts like "a r b" as lines of TSV."""
    return b"".join(fact.replace(" ", "\t").encode() + b"\n" for fact in facts)


# ---------------------------------------------------------------------------------------------
# Disks that are too small


NAMESPACES: list[tuple[Word, ...]] = [("unshare", "-rm"), ("unshare", "-m")]
# Mounts a disk of the size given first at `disk`, and runs the other words.
SMALL_DISK = (
    'mount -t tmpfs -o size="$1" tmpfs disk || exit 99; shift; '
    '"$@"; status=$?; find disk -mindepth 1 >left; exit $status'
)


@functools.cache
def namespace() -> Optional[tuple[Word, ...]]:
    """The command that starts another in a mount namespace of its own, if we may do that."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "disk").mkdir()
        for words in NAMESPACES:
            with contextlib.suppress(OSError):
                script = ["sh", "-c", SMALL_DISK, "sh", "1m", "true"]
                done = subprocess.run([*words, *script], cwd=folder, capture_output=True)
                if done.returncode == 0:
                    return words
    return None


needs_small_disk = unittest.skipUnless(
    namespace(), "may not mount a small disk, not even in a namespace"
)


def on_small_disk(script: str, size: str) -> list[Word]:
    """The command that runs another by the script, in a namespace of its own."""
    return [*(namespace() or ()), "sh", "-c", script, "sh", size]


# ---------------------------------------------------------------------------------------------
# Tests


class Case(unittest.TestCase):
    """A test with a folder of its own, in which the program runs."""

    maxDiff = 4000

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        shutil.copytree(filled(type(self)), self.folder, symlinks=True, dirs_exist_ok=True)

    def fill(self) -> None:
        """Makes what lies in the folder of each test of the class; runs once, and is copied."""

    def write(self, files: Tree) -> None:
        write_tree(self.folder, files)

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def lines(self, name: str) -> list[bytes]:
        return self.read(name).split(b"\n")[:-1]

    def run_kgraft(self, *words: Word, **options: Any) -> Result:
        return run(*words, cwd=self.folder, **options)

    def succeed(self, *words: Word, **options: Any) -> Result:
        result = self.run_kgraft(*words, **options)
        self.assertEqual(result.status, 0, result)
        return result

    def peak_memory(self, *words: Word) -> int:
        """Bytes that a run needs at most."""
        command = [BINARY, *words, "--quiet"]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        return usage.ru_maxrss * 1024

    def stats(self, source: Word) -> Any:
        return self.succeed("stats", "--json", "--quiet", source).json

    @contextlib.contextmanager
    def change_config(self, model: str) -> Iterator[Any]:
        """A model's config, to be changed. It becomes one without checksums, as others write it."""
        config = json.loads(self.read(f"{model}/config.json"))
        config["kgraft_model"] = 1
        config.pop("checksum", None)
        config["files"] = {name: {"bytes": file["bytes"]} for name, file in config["files"].items()}
        yield config
        self.write({f"{model}/config.json": json.dumps(config).encode()})

    def assert_refused(self, result: Result, status: int, pattern: str) -> None:
        """It failed with one clear line, which matches the pattern as a whole, and no result."""
        self.assertEqual(result.status, status, result)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(len(result.messages), 1, result.messages)
        self.assertRegex(result.messages[0], re.compile(f"kgraft: {pattern}\\Z"))

    def refuse(self, *words: Word, status: int = 2, pattern: str, **options: Any) -> None:
        """Runs what must fail, and leave everything on disk as it was."""
        before = snapshot(self.folder)
        self.assert_refused(self.run_kgraft(*words, **options), status, pattern)
        self.assertEqual(snapshot(self.folder), before)


@functools.cache
def filled(case: type[Case]) -> Path:
    """A folder as the tests of a class find it; removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="kgraft-filled-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    maker = case()
    maker.folder = folder
    maker.fill()
    return folder


class Row(Protocol):
    """A row of a table of tests; others have more to say than their name."""

    @property
    def name(self) -> str: ...


CaseType = TypeVar("CaseType", bound=type)


def cases(rows: Iterable[Row]) -> Callable[[CaseType], CaseType]:
    """Makes each row a test of the class, named by the row and run by the class's `check`."""

    def decorate(cls: CaseType) -> CaseType:
        for row in rows:
            if hasattr(cls, f"test_{row.name}"):
                raise ValueError(f"two rows are called {row.name!r}")
            setattr(cls, f"test_{row.name}", make_method(row))
        return cls

    return decorate


def make_method(row: Row) -> Callable[[Any], None]:
    def method(self: Any) -> None:
        self.check(row)

    method.__doc__ = row.name
    return method
