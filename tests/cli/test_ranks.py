"""kgraft train, tune and eval on ranks of MPI: the bytes of one process, on any number of them, however they end.

mpirun and the program's MPI belong together; a build without MPI only says so.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgraft import BINARY, Case, Result, cases, environment, is_sanitized, run

HAS_MPI = b"MPI_Init_thread" in Path(BINARY).read_bytes()
needs_mpi = unittest.skipUnless(
    HAS_MPI and shutil.which("mpirun"), "built without MPI, or no mpirun"
)

# More ranks than processors, as any user, in a container that forbids reading another's memory.
ENVIRONMENT = environment(
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_btl_vader_single_copy_mechanism="none",
    OMPI_MCA_btl="self,vader",
)

GRAFT = (
    "--dim 16 --batch 60 --negatives 50 --epochs 3 --validate-every 2 --seed 3 "
    "--propagation-layers 2 --propagation-width 16 --propagation-epochs 1"
).split()
PAPER = "--preset paper --dim 8 --batch 50 --epochs 4 --validate-every 2 --seed 5".split()


def mpirun(ranks: int) -> list[str]:
    return ["mpirun", "-n", str(ranks)]


class Ranks(Case):
    """A small graph of as many entities as three ranks own some of (in blocks of 384), and an
    out-of-sample data set made of it."""

    def fill(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "1300", "--entities", "850", "--relations", "5")
        self.succeed("split", "g.tsv", "data", "--quiet")

    def together(self, ranks: int, *words: str) -> Result:
        return run(*words, cwd=self.folder, env=ENVIRONMENT, wrapper=mpirun(ranks))

    def train(self, ranks: int, *words: str) -> Result:
        result = self.together(ranks, "train", *words)
        self.assertEqual(result.status, 0, result)
        return result

    def model(self, name: str) -> tuple[bytes, Any]:
        """Its numbers, and what its config says of the run but for time and machine."""
        config = json.loads(self.read(f"{name}/config.json"))
        for key in ("machine", "checksum"):
            config.pop(key, None)
        histories = [config["history"], config.get("propagation_history", []),
                     config.get("hold_out", {}).get("history", [])]
        for epoch in [epoch for history in histories for epoch in history]:
            epoch.pop("seconds")
        config["settings"].pop("threads", None)
        return self.read(f"{name}/model.safetensors"), config


@dataclass(frozen=True)
class Setting:
    name: str
    source: str
    words: list[str]


SETTINGS = [
    # Holds entities out, trains propagation, too, calibrates, and trains again on everything.
    Setting("graft", "g.tsv", GRAFT),
    Setting("adagrad, L2", "data", PAPER),
    Setting("adam, ls", "data", [*PAPER, *"--optimizer adam --lr 0.01 --aggregate ls".split()]),
]


@needs_mpi
@cases(SETTINGS)
class SameBytes(Ranks):
    def check(self, row: Setting) -> None:
        self.succeed("train", row.source, "one", *row.words, "--threads", "1")
        expected, about = self.model("one")
        for ranks in (1, 2, 3, 4):
            for threads in ("1", "2"):
                name = f"m{ranks}{threads}"
                self.train(ranks, row.source, name, *row.words, "--threads", threads)
                found, config = self.model(name)
                self.assertEqual(found, expected, f"{ranks} ranks, {threads} threads")
                self.assertEqual(config, about, f"{ranks} ranks, {threads} threads")


@needs_mpi
class Training(Ranks):
    LONG = "--preset paper --dim 40 --epochs 60 --validate-every 10 --batch 20 --threads 1".split()

    def test_progress_is_printed_once(self) -> None:
        alone = self.succeed("train", "data", "one", *PAPER, "--json")
        result = self.train(3, "data", "m", *PAPER, "--json")
        self.assertEqual(len(result.stdout.splitlines()), len(alone.stdout.splitlines()))
        self.assertEqual(result.stderr.count(b"is the best"), 1, result)

    def await_checkpoint(self, child: subprocess.Popen[bytes], name: str) -> None:
        checkpoint = self.folder / f"{name}.training" / "checkpoint.safetensors"
        while child.poll() is None and not checkpoint.exists():
            time.sleep(0.01)
        self.assertIsNone(child.poll(), "it ended too soon")

    def ranks_of(self, child: subprocess.Popen[bytes]) -> list[int]:
        """The processes that mpirun has started."""
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text()
        return [int(word) for word in children.split()]

    def kill_one(self, name: str, ranks: int) -> bytes:
        """Starts a run and kills its last rank when there is a checkpoint."""
        command = [*mpirun(ranks), BINARY, "train", "data", name, *self.LONG]
        child = subprocess.Popen(command, cwd=self.folder, env=ENVIRONMENT, stderr=subprocess.PIPE)
        with child:
            self.await_checkpoint(child, name)
            self.assertEqual(len(self.ranks_of(child)), ranks)
            os.kill(self.ranks_of(child)[-1], signal.SIGKILL)
            _, stderr = child.communicate()
        self.assertNotEqual(child.returncode, 0)
        return stderr

    def test_a_signal_to_one_stops_all(self) -> None:
        command = [*mpirun(3), BINARY, "train", "data", "m", *self.LONG, "--epochs", "2000"]
        child = subprocess.Popen(command, cwd=self.folder, env=ENVIRONMENT, stderr=subprocess.PIPE)
        with child:
            self.await_checkpoint(child, "m")
            os.kill(self.ranks_of(child)[1], signal.SIGTERM)
            _, stderr = child.communicate()
        self.assertNotEqual(child.returncode, 0)
        self.assertEqual(stderr.count(b"stopped: the same command with --resume goes on"), 1, stderr)
        self.assertTrue((self.folder / "m.training/checkpoint.safetensors").exists())

    def test_one_that_fails_alone_ends_all(self) -> None:
        source = "$([ $OMPI_COMM_WORLD_RANK = 1 ] && echo nothing || echo data)"
        script = f"exec {BINARY} train {source} m {' '.join(self.LONG)} --epochs 2000"
        done = subprocess.run([*mpirun(2), "sh", "-c", script], cwd=self.folder, env=ENVIRONMENT,
                              stderr=subprocess.PIPE, timeout=120, check=False)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(b"kgraft: nothing: cannot ", done.stderr)

    def test_resumed_on_another_number_of_ranks(self) -> None:
        self.succeed("train", "data", "one", *self.LONG)
        stderr = self.kill_one("m", 2)
        self.assertIn(b"signal 9", stderr)
        self.assertFalse((self.folder / "m").exists())
        self.train(3, "data", "m", *self.LONG, "--resume")
        self.assertEqual(self.read("m/model.safetensors"), self.read("one/model.safetensors"))
        self.assertEqual(os.listdir(self.folder / "m"), os.listdir(self.folder / "one"))
        self.assertFalse((self.folder / "m.training").exists())


@dataclass(frozen=True)
class Refusal:
    name: str
    ranks: int
    words: str
    message: bytes


REFUSALS = [
    Refusal("too many", 9, "train data m --preset paper",
            b"kgraft: expected at most 8 ranks, which is how many shards a batch has, found 9\n"),
    Refusal("an encoder", 2, "train data m --preset paper --model rgcn-d",
            b"kgraft: --model: expected one whose entities have rows"),
    Refusal("no data", 2, "train nothing m", b"kgraft: nothing: cannot"),
    Refusal("no option", 2, "eval m data --nothing", b"kgraft: unknown option --nothing"),
]


@needs_mpi
@cases(REFUSALS)
class Refused(Ranks):
    def check(self, row: Refusal) -> None:
        """One message, of the first rank"""
        result = self.together(row.ranks, *row.words.split())
        self.assertEqual(result.status, 2, result)
        self.assertEqual(result.stderr.count(row.message), 1, result)
        self.assertFalse((self.folder / "m").exists())
        self.assertFalse((self.folder / "m.training").exists())


@needs_mpi
class Evaluation(Ranks):
    def test_same_ranks_and_metrics(self) -> None:
        self.succeed("train", "data", "m", *PAPER)
        alone = self.succeed("eval", "m", "data", "--json", "--live", "--ranks", "one.tsv")
        for ranks in (2, 3):
            result = self.together(ranks, "eval", "m", "data", "--json", "--live", "--ranks", "r.tsv")
            self.assertEqual(result.status, 0, result)
            self.assertEqual(result.json, alone.json)
            self.assertEqual(self.read("r.tsv"), self.read("one.tsv"))


@needs_mpi
class Memory(Ranks):
    """What a rank needs is said before, and falls with the number of ranks for rows and their state."""

    WIDE = "--terms embedding+echo --dim 512 --optimizer adagrad --negatives 16 --batch 2048 " \
           "--epochs 1 --hold-out 0 --threads 1 --quiet".split()
    CONSTANT = 32e6

    def fill(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "40000", "--entities", "40000",
                     "--relations", "5", "--exponent", "0.6", "--quiet")

    @unittest.skipIf(is_sanitized(), "sanitizers take memory of their own")
    def test_rows_are_shared(self) -> None:
        shared = {}
        for ranks in (1, 4):
            self.train(ranks, "g.tsv", f"m{ranks}", *self.WIDE)
            machine = json.loads(self.read(f"m{ranks}/config.json"))["machine"]
            needs = machine["needs"]
            self.assertAlmostEqual(needs["total"], machine["memory"],
                                   delta=0.15 * machine["memory"] + self.CONSTANT)
            shared[ranks] = needs["rows"] + needs["state"]
        self.assertAlmostEqual(shared[4], shared[1] / 4, delta=0.01 * shared[1])
        self.assertEqual(self.read("m4/model.safetensors"), self.read("m1/model.safetensors"))


@needs_mpi
class Tuning(Ranks):
    LISTS = [*PAPER, "--lr", "0.1,0.01,1e30", "--quiet"]

    def results(self, out: str) -> list[list[str]]:
        lines = self.read(f"{out}/results.tsv").decode().splitlines()
        column = lines[0].split("\t").index("seconds")
        return [line.split("\t")[:column] + line.split("\t")[column + 1:] for line in lines]

    def test_same_runs(self) -> None:
        """All ranks train each run; one that diverges is the same to all"""
        self.succeed("tune", "data", "one", *self.LISTS)
        result = self.together(3, "tune", "data", "out", *self.LISTS)
        self.assertEqual(result.status, 0, result)
        self.assertEqual(len(result.stdout.splitlines()), 4)
        self.assertEqual(self.results("out"), self.results("one"))
        for run in ("lr=0.1", "lr=0.01"):
            name = f"{run}/model.safetensors"
            self.assertEqual(self.read(f"out/{name}"), self.read(f"one/{name}"))
        again = self.together(2, "tune", "data", "out", *self.LISTS)
        self.assertEqual(again.stdout, result.stdout)


class OtherCommands(Ranks):
    def test_other_commands_are_for_one_process(self) -> None:
        result = self.run_kgraft("stats", "g.tsv", env=environment(OMPI_COMM_WORLD_SIZE="2"))
        self.assert_refused(result, 2, "expected one process for kgraft stats, found that 2 .*")

    @unittest.skipIf(HAS_MPI, "built with MPI")
    def test_without_mpi(self) -> None:
        words = ("train", "data", "m", *PAPER)
        result = self.run_kgraft(*words, env=environment(OMPI_COMM_WORLD_SIZE="2"))
        self.assert_refused(result, 2, "expected one process, found that 2 were started, but "
                                       "this kgraft was built without MPI .*")
