"""When the system fails, or somebody ends the program: exit status 1 or the signal, and no traces.

Disks that are full, files that may not be read, limits, and signals at any moment. A data set is
there as a whole or not at all, and with --force the old or the new one is.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pwd
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Iterator, Optional

from kgraft import (
    BINARY,
    SMALL_DISK,
    TIMEOUT,
    Case,
    Snapshot,
    Word,
    cases,
    check_sanitizers,
    environment,
    is_sanitized,
    needs_small_disk,
    on_small_disk,
    run,
    snapshot,
    tsv,
)

FACTS = tsv("a r b", "b s c")
IS_ROOT = os.geteuid() == 0
PATIENCE = 10
"""Seconds in which a program that is asked to stop has to do so."""

# ---------------------------------------------------------------------------------------------
# No permission


def become_nobody() -> None:
    """Root may read everything, so the program runs as somebody else."""
    if IS_ROOT:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)


@functools.cache
def nobody_can_run() -> bool:
    """Whether the program lies where the one we become can get at it."""
    try:
        return run("--version", cwd=Path("/"), before=become_nobody).status == 0
    except (OSError, subprocess.SubprocessError):
        return False


@unittest.skipUnless(nobody_can_run(), f"another user cannot run {BINARY}")
class Permissions(Case):
    def setUp(self) -> None:
        super().setUp()
        self.write({"g.tsv": FACTS, "in/train.txt": FACTS, "data/train.tsv": FACTS})
        self.allow(0o777, ".", "in", "data")

    def allow(self, mode: int, *names: str) -> None:
        for name in names:
            (self.folder / name).chmod(mode)

    def deny(self, *words: str, pattern: str) -> None:
        """Refused, as the system's failure, when run by somebody without rights."""
        self.refuse(
            *words, status=1, pattern=f"{pattern}: .*Permission denied", before=become_nobody
        )

    def test_what_is_allowed_works(self) -> None:
        """What is allowed works, so that the rest of this class proves something"""
        self.succeed("import", "g.tsv", "out", before=become_nobody)
        self.succeed("import", "in", "out2", before=become_nobody)

    def test_unreadable_file(self) -> None:
        self.allow(0, "g.tsv")
        self.deny("import", "g.tsv", "out", pattern=r"g\.tsv")

    def test_unreadable_file_of_stats(self) -> None:
        self.allow(0, "g.tsv")
        self.deny("stats", "--json", "g.tsv", pattern=r"g\.tsv")

    def test_unreadable_file_in_a_directory(self) -> None:
        self.allow(0, "in/train.txt")
        self.deny("import", "in", "out", pattern=r"in/train\.txt")

    def test_unreadable_description(self) -> None:
        self.succeed("import", "g.tsv", "set")
        self.allow(0, "set/dataset.json")
        self.deny("import", "set", "out", pattern=r"set/dataset\.json")

    def test_unreadable_directory(self) -> None:
        self.allow(0, "in")
        self.deny("import", "in", "out", pattern="in/.*")
        self.allow(0o755, "in")

    def test_unreadable_wordnet(self) -> None:
        self.allow(0, "in")
        self.deny("import", "wordnet:in", "out", pattern="in.*")
        self.allow(0o755, "in")

    def test_file_in_an_unreadable_directory(self) -> None:
        self.allow(0, "in")
        self.deny("import", "in/train.txt", "out", pattern=r"in/train\.txt")
        self.allow(0o755, "in")

    def test_parent_that_may_not_be_written(self) -> None:
        self.allow(0o555, ".")
        self.deny("import", "g.tsv", "out", pattern="out")
        self.allow(0o777, ".")

    def test_parent_that_may_not_be_written_by_generate(self) -> None:
        self.allow(0o555, ".")
        self.deny("generate", "new.tsv", pattern=r"new\.tsv")
        self.allow(0o777, ".")

    def test_data_set_that_may_not_be_replaced(self) -> None:
        """A data set of somebody else, whose files we could not remove, is not replaced"""
        self.allow(0o755, "data")
        self.deny("import", "g.tsv", "data", "--force", pattern="data")


# ---------------------------------------------------------------------------------------------
# No room


@needs_small_disk
class FullDisk(Case):
    """A disk of its own, in memory, that is too small for the result."""

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "disk").mkdir()
        self.succeed("generate", "g.tsv", "--facts", "300000")

    def check_full(self, size: str, *words: str, pattern: str) -> None:
        result = self.run_kgraft(*words, wrapper=on_small_disk(SMALL_DISK, size))
        self.assert_refused(result, 1, f"{pattern}: .*No space left on device")
        self.assertEqual(self.read("left"), b"")

    def test_import(self) -> None:
        self.check_full("1m", "import", "g.tsv", "disk/out", pattern=r"disk/out.*")

    def test_import_that_nearly_fits(self) -> None:
        size = str(os.path.getsize(self.folder / "g.tsv"))
        self.check_full(size, "import", "g.tsv", "disk/out", pattern=r"disk/out.*")

    def test_split(self) -> None:
        self.check_full("1m", "split", "g.tsv", "disk/out", pattern=r"disk/out.*")

    def test_generate(self) -> None:
        self.check_full("1m", "generate", "disk/g.tsv", pattern=r"disk/g\.tsv")

    def test_import_that_fits(self) -> None:
        """A result that fits is written: the disk works"""
        self.succeed("import", "--quiet", "g.tsv", "disk/out", wrapper=on_small_disk(SMALL_DISK, "100m"))
        self.assertIn(b"disk/out/train.tsv", self.read("left"))


class FullOutput(Case):
    """/dev/full is a disk without room."""

    PATTERN = "standard output: cannot write to it: No space left on device"

    def setUp(self) -> None:
        super().setUp()
        self.write({"g.tsv": FACTS})

    def check_full(self, *words: str) -> None:
        with open("/dev/full", "wb") as full:
            self.refuse(*words, status=1, pattern=self.PATTERN, stdout=full)

    def test_stats(self) -> None:
        self.check_full("stats", "g.tsv")

    def test_stats_as_json(self) -> None:
        self.check_full("stats", "--json", "g.tsv")

    def test_generate(self) -> None:
        self.check_full("generate", "-", "--facts", "100", "--entities", "10", "--relations", "5")

    def test_generate_much(self) -> None:
        self.check_full("generate", "-", "--facts", "300000")

    def test_help(self) -> None:
        self.check_full("import", "--help")

    def test_help_of_the_program(self) -> None:
        self.check_full("--help")

    def test_version(self) -> None:
        self.check_full("--version")

    def test_split_leaves_its_result(self) -> None:
        """A split that cannot tell its result has made it all the same, and whole"""
        self.succeed("generate", "g.tsv", "--facts", "1000", "--entities", "100")
        with open("/dev/full", "wb") as full:
            result = self.run_kgraft("split", "--quiet", "--json", "g.tsv", "out", stdout=full)
        self.assert_refused(result, 1, self.PATTERN)
        self.succeed("import", "out", "again")


def close(number: int) -> Callable[[], None]:
    return lambda: os.close(number)


class ClosedStreams(Case):
    """Standard streams that are closed from the beginning."""

    def setUp(self) -> None:
        super().setUp()
        self.write({"g.tsv": FACTS})

    def test_output(self) -> None:
        pattern = "standard output: cannot write to it: .*"
        self.refuse("stats", "g.tsv", status=1, pattern=pattern, before=close(1))

    def test_input(self) -> None:
        pattern = "standard input: cannot (open|read) it: .*"
        self.refuse("import", "-", "out", status=1, pattern=pattern, before=close(0))

    def test_error(self) -> None:
        """No file is opened in the place of standard error, to receive our messages"""
        with spawn(
            self.folder,
            "import",
            "-",
            "out",
            stdin=subprocess.PIPE,
            before=close(2),
        ) as child:
            time.sleep(0.5)
            streams = Path(f"/proc/{child.pid}/fd")
            error = os.readlink(streams / "2") if (streams / "2").is_symlink() else "nothing"
            input_pipe = os.readlink(streams / "0")
            child.kill()
            finish(child)
        self.assertNotEqual(error, input_pipe)


def limit(kind: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (value, value))


class Limits(Case):
    def setUp(self) -> None:
        super().setUp()
        self.succeed("generate", "g.tsv", "--facts", "100000")

    def test_file_size_of_import(self) -> None:
        small = limit(resource.RLIMIT_FSIZE, 100_000)
        pattern = "out.*: .*File too large"
        self.refuse("import", "g.tsv", "out", status=1, pattern=pattern, before=small)

    def test_file_size_of_import_with_force(self) -> None:
        self.write({"out/train.tsv": FACTS})
        small = limit(resource.RLIMIT_FSIZE, 100_000)
        pattern = "out.*: .*File too large"
        self.refuse("import", "g.tsv", "out", "--force", status=1, pattern=pattern, before=small)

    def test_file_size_of_split(self) -> None:
        small = limit(resource.RLIMIT_FSIZE, 100_000)
        pattern = "out.*: .*File too large"
        self.refuse("split", "g.tsv", "out", status=1, pattern=pattern, before=small)

    def test_file_size_of_generate(self) -> None:
        self.write({"old.tsv": b"old"})
        small = limit(resource.RLIMIT_FSIZE, 100_000)
        pattern = r"old\.tsv: .*File too large"
        self.refuse("generate", "old.tsv", status=1, pattern=pattern, before=small)

    @unittest.skipIf(is_sanitized(), "a sanitizer opens files of its own")
    def test_open_files(self) -> None:
        few = limit(resource.RLIMIT_NOFILE, 4)
        pattern = ".*: .*Too many open files"
        self.refuse("import", "g.tsv", "out", status=1, pattern=pattern, before=few)

    @unittest.skipIf(is_sanitized(), "a sanitizer needs more memory than any limit leaves")
    def test_memory(self) -> None:
        self.succeed("generate", "big.tsv", "--facts", "3000000", "--entities", "2000000")
        # Enough for OpenBLAS to start: it never ends its search for memory that is not there.
        little = limit(resource.RLIMIT_AS, 230_000_000)
        env = environment(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="2")
        pattern = "out of memory"
        self.refuse("import", "big.tsv", "out", status=1, pattern=pattern, before=little, env=env)


@unittest.skipIf(is_sanitized(), "sanitizers want to be loaded first")
class NoThreads(Case):
    """What would be shared among four threads, where none can be made beside the first."""

    def commands(self, *more: str) -> list[list[str]]:
        """`more` is for those that have a number of threads."""
        ask = ["m", "new.tsv", "--relation", "r0", "--quiet"]
        train = "--preset paper --dim 4 --epochs 1 --negatives 1".split()
        return [
            ["import", "g.tsv", "data"],
            ["split", "data", "bench", "--seed", "1"],
            ["train", "bench", "m", *train, *more],
            ["train", "bench", "n", "--preset", "graft", "--terms", "embedding+echo", *train[2:], *more],
            ["eval", "m", "bench", *more],
            ["calibrate", "m", "bench", *more],
            ["predict", *ask, *more],
        ]

    def setUp(self) -> None:
        super().setUp()
        self.succeed("generate", "g.tsv", "--facts", "20000", "--entities", "500")
        self.write({"new.tsv": b"new\tr0\te1\n"})

    def run_alone(self, commands: Iterable[list[str]], **changes: str) -> list[bytes]:
        one = {"OPENBLAS_NUM_THREADS": "1", "LD_PRELOAD": os.environ["NO_THREADS"]}
        env = environment(OMP_NUM_THREADS="4", **one, **changes)
        return [self.succeed(*words, env=env).stdout for words in commands]

    def test_refused(self) -> None:
        """All is done by one, to the same result"""
        found = self.run_alone(self.commands("--threads", "4"))
        shutil.rmtree(self.folder / "data")
        for folder in ("bench", "m", "n"):
            (self.folder / folder).rename(self.folder / f"old-{folder}")
        self.assertEqual(found, [self.succeed(*words).stdout for words in self.commands()])
        for file in ("m/model.safetensors", "m/calibration.safetensors", "n/model.safetensors"):
            self.assertEqual(self.read(file), self.read(f"old-{file}"), file)

    def test_not_wanted(self) -> None:
        """One thread is one: no other is made"""
        commands = self.commands("--threads", "1")
        self.run_alone(commands[:2])
        self.run_alone(commands[2:], NO_THREADS_WANTED="1")


# ---------------------------------------------------------------------------------------------
# Signals


def spawn(
    folder: Path,
    *words: Word,
    stdin: Optional[int] = None,
    before: Optional[Callable[[], None]] = None,
) -> subprocess.Popen[bytes]:
    """Starts the program; `before` runs in the child."""
    return subprocess.Popen(
        [BINARY, *words], cwd=folder, stdin=stdin, stderr=subprocess.PIPE, preexec_fn=before
    )


def finish(child: subprocess.Popen[bytes]) -> bytes:
    """Waits for the end; what the program had to say."""
    _, stderr = child.communicate(timeout=TIMEOUT)
    check_sanitizers(stderr)
    return stderr


@dataclass(frozen=True)
class Big:
    """A graph whose import takes a while."""

    path: Path
    complete: Snapshot
    """What a whole data set of it looks like."""
    seconds: float
    """How long its import takes."""


@functools.cache
def big_graph(facts: int) -> Big:
    """Made once, by whoever needs it first."""
    folder = Path(tempfile.mkdtemp(prefix="kgraft-big-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run("generate", "big.tsv", "--facts", str(facts), cwd=folder)
    started = time.monotonic()
    result = run("import", "big.tsv", "whole", cwd=folder)
    seconds = time.monotonic() - started
    assert result.status == 0, result
    return Big(folder / "big.tsv", snapshot(folder / "whole"), seconds)


class BigGraphCase(Case):
    FACTS = 2_000_000

    def setUp(self) -> None:
        super().setUp()
        self.big = big_graph(self.FACTS)


@dataclass(frozen=True)
class Moment:
    """When a process is killed, as a share of the time that an import takes."""

    number: int
    share: float
    force: bool = False

    @property
    def name(self) -> str:
        where = "while it replaces a data set" if self.force else "while it makes one"
        return f"kill {self.number} {where}"


def moments(count: int, force: bool) -> Iterator[Moment]:
    """Random moments, the same in every run; some lie behind the end."""
    chance = random.Random(f"kill {force}")
    for number in range(1, count + 1):
        yield Moment(number, chance.uniform(0, 1.05), force)


@cases(moments(25, force=False))
@cases(moments(25, force=True))
class Kills(BigGraphCase):
    """SIGKILL, against which nothing can be done: what is there is whole.

    Only while the new folder is being put in its place may it stand beside that under a temporary
    name; `PlacingKills` is about this moment.
    """

    OLD = tsv("old r b", "b s old")

    def check(self, row: Moment) -> None:
        old = self.make_old() if row.force else None
        with spawn(self.folder, "import", self.big.path, "out", *["--force"] * row.force) as child:
            time.sleep(row.share * self.big.seconds)
            child.kill()
            finish(child)
        out = self.folder / "out"
        found = snapshot(out) if out.exists() else None
        self.assertTrue(found in (old, self.big.complete), f"{found and list(found)}")
        others = [p.name for p in self.folder.iterdir() if p != out and not is_aside(p)]
        self.assertEqual(others, [])

    def make_old(self) -> Snapshot:
        self.succeed("import", "-", "out", stdin=self.OLD)
        return snapshot(self.folder / "out")


def is_aside(path: Path) -> bool:
    return path.is_dir() and path.name.startswith("out.partial-")


class PlacingKills(BigGraphCase):
    """SIGKILL as soon as anything shows up on disk: `out` is not there, or whole.

    Between the moment when the folder gets its files and the one when it gets its name, or when the
    old one is removed, a folder `out.partial-...` may be left: no system call does all at once.
    """

    FACTS = 30_000

    def check_kill(self, *options: str) -> None:
        before = set(os.listdir(self.folder))
        with spawn(self.folder, "import", self.big.path, "out", *options) as child:
            while child.poll() is None and set(os.listdir(self.folder)) == before:
                pass
            child.kill()
            finish(child)
        for name in set(os.listdir(self.folder)) - before - {"out"}:
            self.assertRegex(name, r"\Aout\.partial-[0-9a-f]{16}\Z")
            shutil.rmtree(self.folder / name)
        if (self.folder / "out").exists():
            self.succeed("stats", "out")

    def test_a_new_data_set(self) -> None:
        for _ in range(20):
            self.check_kill()
            shutil.rmtree(self.folder / "out", ignore_errors=True)

    def test_a_replaced_data_set(self) -> None:
        self.succeed("import", "-", "out", stdin=FACTS)
        for _ in range(20):
            self.check_kill("--force")


def ignore_hangup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@dataclass(frozen=True)
class Signal:
    number: signal.Signals

    @property
    def name(self) -> str:
        return self.number.name


@cases([Signal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
class Signals(BigGraphCase):
    """Those that ask: the program cleans up, says so, and ends by the signal."""

    SHARES = (0.4, 0.2, 0.1, 0.05)
    """When to interrupt an import, by the time that one takes; earlier if it was too late."""

    def check(self, row: Signal) -> None:
        self.check_interrupted_import(row.number)

    def check_interrupted_import(self, number: signal.Signals, old: bytes = b"") -> None:
        for share in self.SHARES:
            place = self.folder / str(share)
            place.mkdir()
            if old:
                self.succeed("import", "-", place / "out", stdin=old)
            before = snapshot(place)
            with spawn(place, "import", self.big.path, "out", *["--force"] * bool(old)) as child:
                time.sleep(share * self.big.seconds)
                child.send_signal(number)
                stderr = finish(child)
            if child.returncode != 0:
                break
        self.assert_ended_by(number, child, stderr)
        self.assertEqual(snapshot(place), before)

    def check_waiting(self, child: subprocess.Popen[bytes], number: signal.Signals) -> None:
        """It ends although its input stays open, and leaves the folder as it was."""
        before = snapshot(self.folder)
        child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(PATIENCE)
        was_running = child.poll() is None
        stderr = finish(child)
        self.assertFalse(was_running, f"it did not end within {PATIENCE} seconds")
        self.assert_ended_by(number, child, stderr)
        self.assertEqual(snapshot(self.folder), before)

    def assert_ended_by(
        self, number: signal.Signals, child: subprocess.Popen[bytes], stderr: bytes
    ) -> None:
        self.assertEqual(child.returncode, -number, stderr)
        self.assertRegex(stderr, rb"\A(kgraft: stopped( while .*)?\n)?\Z")

    def test_while_it_waits_for_input(self) -> None:
        with spawn(self.folder, "import", "-", "out", stdin=subprocess.PIPE) as child:
            assert child.stdin is not None
            child.stdin.write(FACTS * 300_000)
            child.stdin.flush()
            time.sleep(0.3)
            self.check_waiting(child, signal.SIGINT)

    def test_before_any_input(self) -> None:
        with spawn(self.folder, "import", "-", "out", stdin=subprocess.PIPE) as child:
            time.sleep(0.5)
            self.check_waiting(child, signal.SIGTERM)

    def test_while_it_replaces_a_data_set(self) -> None:
        self.check_interrupted_import(signal.SIGTERM, old=FACTS)

    def test_while_it_generates(self) -> None:
        self.write({"g.tsv": b"old"})
        with spawn(self.folder, "generate", "g.tsv", "--facts", "20000000") as child:
            time.sleep(0.5)
            self.check_waiting(child, signal.SIGTERM)

    def test_an_ignored_signal_stays_ignored(self) -> None:
        """A signal that is ignored, as under nohup, stays ignored"""
        with spawn(self.folder, "import", self.big.path, "out", before=ignore_hangup) as child:
            time.sleep(0.4 * self.big.seconds)
            child.send_signal(signal.SIGHUP)
            finish(child)
        self.assertEqual(child.returncode, 0)


if __name__ == "__main__":
    unittest.main()
