"""Nothing is lost, whatever ends the program: kgraft is killed at every system call that changes
something on disk, and what is there afterwards is the old or the new as a whole. A kill between two
such calls leaves what one at the second leaves.

Also: who writes where another one writes is refused, and what the killed leave is swept.
"""

from __future__ import annotations

import collections
import json
import re
import resource
import shutil
import signal
import subprocess
import unittest
from pathlib import Path
from typing import Iterator

from kgraft import BINARY, Result, environment, is_sanitized, snapshot
from test_train import QUICK, Trained

STRACE = shutil.which("strace")
CHANGING = "mkdir,write,fsync,linkat,rename,renameat2,unlink,unlinkat,rmdir"
SMALL = ("--preset paper --dim 4 --batch 200 --epochs 2 --validate-every 1 --threads 1 --quiet"
         .split())


def can_trace() -> bool:
    """Whether there is a strace that may trace."""
    if STRACE is None or is_sanitized():
        return False
    words = [STRACE, "-f", "-e", "trace=fsync", "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@unittest.skipUnless(can_trace(), "no strace that may trace, or a sanitizer that would be traced")
class Killed(Trained):
    """`old` and `new` are what the command replaces and what it makes."""

    def trace(self, *words: str, options: tuple[str, ...] = ()) -> Result:
        log = self.folder / "trace"
        wrapper = [STRACE, "-f", "-o", str(log), "-e", f"trace={CHANGING}", *options]
        return self.run_kgraft(*words, wrapper=wrapper, env=environment(OMP_NUM_THREADS="1"))

    def calls(self, *words: str) -> Iterator[tuple[str, int]]:
        """Each system call of a run, by its name and how many of that name came before, from 1."""
        result = self.trace(*words)
        self.assertEqual(result.status, 0, result)
        counts: collections.Counter[str] = collections.Counter()
        for line in (self.folder / "trace").read_text().splitlines():
            if match := re.match(r"\d+ +(\w+)\(", line):
                counts[match[1]] += 1
                yield match[1], counts[match[1]]

    def each_kill(self, *words: str, restore: str) -> Iterator[str]:
        """Kills the command at each call in turn, in place of which there was `restore` before."""
        calls = list(self.calls(*words))
        self.assertGreater(len(calls), 10)
        for name, count in calls:
            for path in self.folder.glob("out*"):
                shutil.rmtree(path)
            shutil.copytree(self.folder / restore, self.folder / "out")
            inject = ("-e", f"inject={name}:signal=KILL:when={count}")
            result = self.trace(*words, options=inject)
            self.assertEqual(result.status, -signal.SIGKILL, (name, count, result))
            yield f"killed at {name} {count}"

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("out*") if path.name != "out")

    def content(self, model: str) -> dict[bytes, bytes | None]:
        """What is in a model, but for what depends on time, and for the run."""
        files = snapshot(self.folder / model)
        return {k: v for k, v in files.items() if k not in (b"config.json", b"checkpoint.safetensors")}

    def test_train(self) -> None:
        """train --force; then --resume if there is a run to go on with, --force if not"""
        for name, seed in ("old", "1"), ("new", "2"):
            self.succeed("train", "data", name, *SMALL, "--seed", seed)
        shutil.copytree(self.folder / "old", self.folder / "out")
        words = ("train", "data", "out", *SMALL, "--seed", "2")
        old, new = self.content("old"), self.content("new")
        seen = set()
        for where in self.each_kill(*words, "--force", restore="old"):
            found = self.content("out")
            self.assertIn(found, (old, new), where)
            self.assertTrue(self.succeed("check", "out", "--json", "--quiet").json["verified"], where)
            seen.add(found == new)
            unfinished = (self.folder / "out.training/checkpoint.safetensors").exists()
            if unfinished:
                self.assertEqual(self.run_kgraft(*words).status, 2, where)
                self.succeed("check", "out.training", "--quiet")
            self.succeed(*words, "--resume" if unfinished else "--force")
            self.assertEqual(self.content("out"), new, where)
            self.assertEqual(self.leftovers(), [], where)
        self.assertEqual(seen, {False, True})

    def test_calibrate(self) -> None:
        self.succeed("train", "data", "old", *SMALL)
        for name in ("new", "out"):
            shutil.copytree(self.folder / "old", self.folder / name)
        words = ("data", "--aggregate", "eavg", "--threads", "1", "--quiet")
        self.succeed("calibrate", "new", *words)
        seen = set()
        for where in self.each_kill("calibrate", "out", *words, restore="old"):
            listed = json.loads(self.read("out/config.json"))["files"]
            names = [name for name in listed if name.startswith("calibration")]
            calibrations = [self.read(f"out/{name}") for name in names]
            self.assertEqual(len(calibrations), 1, where)
            kinds = [self.read(f"{name}/calibration.safetensors") for name in ("old", "new")]
            self.assertIn(calibrations[0], kinds, where)
            self.assertTrue(self.succeed("check", "out", "--json", "--quiet").json["verified"], where)
            seen.add(kinds.index(calibrations[0]))
            self.succeed("calibrate", "out", *words)
            self.assertEqual(self.content("out"), self.content("new"), where)
        self.assertEqual(seen, {0, 1})

    def test_index(self) -> None:
        self.succeed("train", "data", "old", *SMALL)
        for name in ("new", "out"):
            shutil.copytree(self.folder / "old", self.folder / name)
        self.succeed("index", "new", "--quiet")
        seen = set()
        for where in self.each_kill("index", "out", "--quiet", restore="old"):
            seen.add("rows.int8" in json.loads(self.read("out/config.json"))["files"])
            self.assertTrue(self.succeed("check", "out", "--json", "--quiet").json["verified"], where)
            self.succeed("index", "out", "--quiet")
            self.assertEqual(self.content("out"), self.content("new"), where)
        self.assertEqual(seen, {False, True})

    def test_export(self) -> None:
        for name, seed in ("a", "1"), ("b", "2"):
            self.succeed("train", "data", name, *SMALL, "--seed", seed)
        for name, model in ("old", "a"), ("new", "b"), ("out", "a"):
            self.succeed("export", model, "--format", "npy", "--out", name)
        old, new = snapshot(self.folder / "old"), snapshot(self.folder / "new")
        words = ("export", "b", "--format", "npy", "--out", "out", "--force", "--quiet")
        seen = set()
        for where in self.each_kill(*words, restore="old"):
            found = snapshot(self.folder / "out")
            self.assertIn(found, (old, new), where)
            seen.add(found == new)
            self.succeed(*words)
            self.assertEqual(snapshot(self.folder / "out"), new, where)
            self.assertEqual(self.leftovers(), [], where)
        self.assertEqual(seen, {False, True})

    def test_disk_that_is_full_at_every_call(self) -> None:
        """train --force fails, and the old model is there; or it does not matter"""
        for name, seed in ("old", "1"), ("new", "2"):
            self.succeed("train", "data", name, *SMALL, "--seed", seed)
        shutil.copytree(self.folder / "old", self.folder / "out")
        words = ("train", "data", "out", *SMALL, "--seed", "2", "--force")
        new = self.content("new")
        for name, count in list(self.calls(*words)):
            if name in ("unlink", "unlinkat", "rmdir"):
                continue
            for path in self.folder.glob("out*"):
                shutil.rmtree(path)
            shutil.copytree(self.folder / "old", self.folder / "out")
            before = snapshot(self.folder / "out")
            inject = ("-e", f"inject={name}:error=ENOSPC:when={count}")
            result = self.trace(*words, options=inject)
            is_new = self.content("out") == new
            self.assertTrue(is_new or snapshot(self.folder / "out") == before, (name, count))
            self.assertTrue(is_new or result.status == 1, (name, count, result))
            self.assertLessEqual(set(self.leftovers()), {"out.training"}, (name, count))


class Locks(Trained):
    """Two at once: the second is refused, and the first one's model is whole."""

    LONG = (*QUICK, "--dim", "40", "--batch", "1", "--epochs", "5000", "--threads", "1", "--json")
    BUSY = "m.*: expected that nobody else is writing it, found that another process has locked it"

    def train_meanwhile(self, *words: str) -> subprocess.Popen[bytes]:
        command = [BINARY, "train", "data", "m", *self.LONG, *words]
        child = subprocess.Popen(command, cwd=self.folder, env=environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert child.stdout is not None
        child.stdout.readline()
        return child

    def test_two_trainings(self) -> None:
        with self.train_meanwhile() as child:
            for words in ((), ("--force",), ("--resume",)):
                result = self.run_kgraft("train", "data", "m", *QUICK, *words)
                self.assert_refused(result, 2, self.BUSY)
            child.kill()
        self.assertFalse((self.folder / "m").exists())
        self.train("m", "--force")
        self.succeed("check", "m")

    def test_writing_a_model_that_is_being_replaced(self) -> None:
        self.train("m")
        before = snapshot(self.folder / "m")
        with self.train_meanwhile("--force") as child:
            self.assert_refused(self.run_kgraft("calibrate", "m", "data"), 2, self.BUSY)
            self.succeed("info", "m")
            child.kill()
        self.assertEqual(snapshot(self.folder / "m"), before)
        self.succeed("calibrate", "m", "data")


class Leftovers(Trained):
    """What the killed leave is known by its name; what is not ours is never removed."""

    PARTIAL = ".partial-0123456789abcdef"

    def test_inside_a_model(self) -> None:
        self.train("m")
        for name in ("checkpoint.safetensors", "config.json", "calibration.safetensors"):
            self.write({f"m/{name}{self.PARTIAL}": b"cut off"})
        self.train("m", "--force")
        self.assertEqual(list((self.folder / "m").glob("*partial*")), [])

    def test_foreign_names(self) -> None:
        for name in (f"notes{self.PARTIAL}", "config.json.partial-12", "config.json.partial"):
            self.train("m", "--force")
            self.write({f"m/{name}": b"mine"})
            self.refuse("train", "data", "m", *QUICK, "--force", pattern="m: not replaced: .*")
            (self.folder / "m" / name).unlink()

    def test_beside_a_model(self) -> None:
        self.train("m")
        shutil.copytree(self.folder / "m", self.folder / f"m{self.PARTIAL}")
        self.write({f"mm{self.PARTIAL}/config.json": b"of another", f"m{self.PARTIAL[:-1]}": b"mine"})
        self.train("m", "--force")
        self.assertEqual(sorted(path.name for path in self.folder.glob("m*")),
                         ["m", f"m{self.PARTIAL[:-1]}", f"mm{self.PARTIAL}"])

    def test_foreign_folder_beside_a_model(self) -> None:
        self.write({f"m{self.PARTIAL}/thesis.tex": b"mine", f"m{self.PARTIAL}/config.json": b"{}"})
        self.train("m")
        self.assertEqual(len(snapshot(self.folder / f"m{self.PARTIAL}")), 2)

    def test_old_model_put_aside(self) -> None:
        """As where two names cannot be exchanged, killed between two renames"""
        self.train("m")
        before = snapshot(self.folder / "m")
        (self.folder / "m").rename(self.folder / "m.replaced-0123456789abcdef")
        self.run_kgraft("train", "data", "m", *QUICK)
        self.assertEqual(snapshot(self.folder / "m"), before)

    def test_folder_of_a_run_that_holds_something_else(self) -> None:
        self.write({"m.training/notes": b"mine"})
        self.refuse("train", "data", "m", *QUICK, "--force", pattern="m.training: .*holds 'notes'.*")

    def test_model_by_the_name_of_a_run(self) -> None:
        """It is not what the run to another model left behind, whatever files it has"""
        self.train("m.training")
        (self.folder / "m.training/checkpoint.safetensors").unlink()
        for more in ((), ("--force",), ("--resume",)):
            before = snapshot(self.folder)
            pattern = "m.training: expected the folder of an unfinished run, .* found a model: .*"
            self.refuse("train", "data", "m", *QUICK, *more, pattern=pattern)
            self.assertEqual(snapshot(self.folder), before)


class FewFiles(Trained):
    def test_replaced_with_few_open_files(self) -> None:
        """Where the new model cannot be written, the old one stays"""
        self.train("m")
        before = snapshot(self.folder / "m")
        for limit in range(4, 14):
            result = self.run_kgraft(
                *("train", "data", "m", *QUICK, "--force", "--threads", "1"),
                before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
            )
            if result.status == 0:
                break
            self.assertEqual(snapshot(self.folder / "m"), before, limit)
        else:
            self.fail("no limit was large enough")


class Links(Trained):
    def test_model_by_a_symbolic_link(self) -> None:
        """What it leads to is replaced, the link stays"""
        (self.folder / "real").mkdir()
        self.train("real/m")
        link = self.folder / "m"
        link.symlink_to(Path("real/m"))
        self.succeed("calibrate", "m", "data")
        self.train("m", "--force", "--dim", "12")
        self.assertTrue(link.is_symlink())
        self.assertEqual(json.loads(self.read("real/m/config.json"))["settings"]["dim"], 12)


if __name__ == "__main__":
    unittest.main()
