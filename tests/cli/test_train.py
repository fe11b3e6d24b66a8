"""kgraft train and info: the same bytes whatever the threads and however often it was stopped.

What is learned is checked by the unit tests against golden numbers; here it is the command: its
files, its settings, its endings.
"""

from __future__ import annotations

import json
import random
import signal
import struct
import subprocess
import time
import unittest
from dataclasses import dataclass
from typing import Any

from kgraft import BINARY, Case, cases, environment

QUICK = "--preset paper --dim 8 --batch 50 --epochs 6 --validate-every 2 --seed 5".split()


class Trained(Case):
    """A small out-of-sample data set lies in `data`."""

    def setUp(self) -> None:
        super().setUp()
        self.succeed("generate", "g.tsv", "--facts", "600", "--entities", "120", "--relations", "5")
        self.succeed("split", "g.tsv", "data", "--quiet")

    def train(self, model: str, *words: str) -> Any:
        return self.succeed("train", "data", model, *QUICK, *words)

    def embeddings(self, model: str) -> bytes:
        return self.read(f"{model}/model.safetensors")


@dataclass(frozen=True)
class Setting:
    name: str
    words: str


SETTINGS = [
    Setting("defaults", ""),
    Setting("simple, eavg", "--model simple --aggregate eavg"),
    Setting("complex, ls", "--model complex --aggregate ls --ls-lambda 0.01"),
    Setting("quate, ls-u, pair", "--model quate --aggregate ls-u --exclude pair"),
    Setting("weighted ls", "--aggregate ls --ls-rows weighted"),
    Setting("adam, dropout", "--optimizer adam --lr 0.01 --dropout 0.3"),
    Setting("no L2, no order", "--l2 0 --shuffle no"),
    Setting("psi 0, many negatives", "--psi 0 --negatives 7"),
    Setting("psi 1", "--psi 1"),
]


@cases(SETTINGS)
class SameBytes(Trained):
    def check(self, row: Setting) -> None:
        words = row.words.split()
        self.train("one", *words, "--threads", "1")
        expected = self.embeddings("one")
        for threads in ("2", "7"):
            self.train(f"with{threads}", *words, "--threads", threads)
            self.assertEqual(self.embeddings(f"with{threads}"), expected, f"{threads} threads")
        self.succeed("train", "data", "stopped", *QUICK, *words, "--epochs", "3")
        self.train("stopped", *words, "--resume")
        self.assertEqual(self.embeddings("stopped"), expected, "resumed")


class Kills(Trained):
    LONG = "--dim 40 --epochs 60 --validate-every 5 --batch 20".split()

    def test_resumed_after_sigkill(self) -> None:
        """Killed at twenty random moments and resumed, it ends in the same bytes"""
        draw = random.Random(1)
        start = time.monotonic()
        self.train("whole", *self.LONG)
        seconds = time.monotonic() - start
        for i in range(20):
            command = [BINARY, "train", "data", "killed", *QUICK, *self.LONG, "--resume", "--quiet"]
            with subprocess.Popen(command, cwd=self.folder, env=environment()) as child:
                time.sleep(draw.uniform(0, seconds / 2))
                child.kill()
        self.train("killed", *self.LONG, "--resume")
        self.assertEqual(self.embeddings("killed"), self.embeddings("whole"))

    def test_resumed_after_an_interrupt(self) -> None:
        self.train("whole", *self.LONG)
        command = [BINARY, "train", "data", "other", *QUICK, *self.LONG, "--json"]
        child = subprocess.Popen(command, cwd=self.folder, env=environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with child:
            child.stdout.readline()
            child.send_signal(signal.SIGINT)
            _, stderr = child.communicate()
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertIn(b"--resume", stderr)
        self.assertTrue((self.folder / "other/checkpoint.safetensors").exists())
        self.train("other", *self.LONG, "--resume")
        self.assertEqual(self.embeddings("other"), self.embeddings("whole"))


class Files(Trained):
    def test_safetensors(self) -> None:
        """The embeddings stand where the format says, aligned, and are as many as names"""
        self.train("m")
        data = self.embeddings("m")
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        self.assertEqual((8 + length) % 64, 0)
        end = 0
        for name in ("entities", "relations"):
            rows, columns = header[name]["shape"]
            self.assertEqual(header[name]["dtype"], "F32")
            self.assertEqual(columns, 8)
            self.assertEqual(len(self.lines(f"m/{name}.tsv")), rows)
            self.assertEqual(header[name]["data_offsets"], [end, end + 4 * rows * columns])
            end += 4 * rows * columns
        self.assertEqual(len(data), 8 + length + end)

    def test_epochs_as_json(self) -> None:
        lines = [json.loads(line) for line in self.train("m", "--json").stdout.splitlines()]
        self.assertEqual([line["epoch"] for line in lines], [1, 2, 3, 4, 5, 6])
        self.assertEqual([line["epoch"] for line in lines if "valid" in line], [1, 2, 4, 6])
        config = self.succeed("info", "m", "--json").json
        self.assertEqual([e["epoch"] for e in config["history"]], [1, 2, 3, 4, 5, 6])
        for told, kept in zip(lines, config["history"]):
            self.assertAlmostEqual(told["loss"], kept["loss"], places=12)
        best = max((e for e in lines if "valid" in e), key=lambda e: e["valid"]["mrr"])
        self.assertEqual(config["best_epoch"], best["epoch"])

    def test_in_sample_validation(self) -> None:
        facts = self.read("g.tsv").splitlines(keepends=True)
        self.write({"in/train.tsv": b"".join(facts[:550]), "in/valid.tsv": b"".join(facts[550:])})
        lines = self.succeed("train", "in", "m", *QUICK, "--json").stdout.splitlines()
        self.assertEqual(json.loads(lines[1])["valid"]["queries"], 100)

    def test_existing_model(self) -> None:
        self.train("m")
        self.refuse("train", "data", "m", *QUICK, pattern="m: it exists already .*")
        self.train("m", "--force")
        self.write({"m/notes": b"mine"})
        self.refuse("train", "data", "m", *QUICK, "--force", pattern="m: not replaced: .*notes.*")


@dataclass(frozen=True)
class Wrong:
    words: str
    pattern: str

    @property
    def name(self) -> str:
        return self.words


WRONG = [
    Wrong("--dim 0", "dim: expected a multiple of 1 .*, found 0"),
    Wrong("--model complex --dim 7", "dim: expected a multiple of 2 .*, found 7"),
    Wrong("--model quate --dim 6", "dim: expected a multiple of 4 .*, found 6"),
    Wrong("--psi 1.5", "psi: expected .*, found 1.5"),
    Wrong("--psi -0.1", "psi: expected .*, found -0.1"),
    Wrong("--model transe", "--model: expected one of distmult .*, found 'transe'"),
    Wrong("--aggregate mean", "--aggregate: expected one of eavg .*, found 'mean'"),
    Wrong("--lr 0", "lr: expected .*, found 0"),
    Wrong("--l2 -1", "l2: expected .*, found -1"),
    Wrong("--dropout 1", "dropout: expected .*, found 1"),
    Wrong("--ls-lambda 0", "ls-lambda: expected .*, found 0"),
    Wrong("--batch 0", "batch: expected .*, found 0"),
]


@cases(WRONG)
class Refusals(Trained):
    def check(self, row: Wrong) -> None:
        self.refuse("train", "data", "m", *QUICK, *row.words.split(), pattern=row.pattern)

    def test_resume_with_another_setting(self) -> None:
        self.train("m")
        pattern = "m/checkpoint.safetensors: expected the settings .*, found another lr .*"
        self.refuse("train", "data", "m", *QUICK, "--lr", "0.2", "--resume", pattern=pattern)

    def test_resume_with_other_data(self) -> None:
        self.train("m")
        self.refuse("train", "g.tsv", "m", *QUICK, "--resume",
                    pattern="m/checkpoint.safetensors: expected the data set .*, found another")

    def test_truncated_checkpoint(self) -> None:
        self.train("m")
        whole = self.read("m/checkpoint.safetensors")
        for size in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
            self.write({"m/checkpoint.safetensors": whole[:size]})
            self.refuse("train", "data", "m", *QUICK, "--resume",
                        pattern="m/checkpoint.safetensors: expected .*, found .*")

    def test_foreign_checkpoint(self) -> None:
        self.train("m")
        header = b'{"entities":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}'
        data = struct.pack("<Q", len(header)) + header + bytes(4)
        self.write({"m/checkpoint.safetensors": data})
        self.refuse("train", "data", "m", *QUICK, "--resume",
                    pattern="m/checkpoint.safetensors: expected a checkpoint of kgraft, found none")

    def test_rate_that_explodes(self) -> None:
        """It stops with a message, and there is no model"""
        result = self.run_kgraft("train", "data", "m", *QUICK, "--lr", "1e30")
        self.assert_refused(result, 2, ".*no longer a number.*")
        self.assertFalse((self.folder / "m/config.json").exists())

    def test_info_without_a_model(self) -> None:
        self.refuse("info", "data", pattern="data/config.json: cannot open it: .*")


if __name__ == "__main__":
    unittest.main()
