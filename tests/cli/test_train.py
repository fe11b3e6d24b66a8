"""kgraft train and info: the same bytes whatever the threads and however often it was stopped.

What is learned is checked by the unit tests against golden numbers; here it is the command: its
files, its settings, its endings.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
import signal
import struct
import subprocess
import time
import unittest
from dataclasses import dataclass
from typing import Any

from kgraft import BINARY, ROOT, Case, cases, environment
from sealed import open_checkpoint, seal_checkpoint

QUICK = "--preset paper --dim 8 --batch 50 --epochs 6 --validate-every 2 --seed 5".split()

# For the default preset, whose propagation takes far longer than the rest: sanitizers slow it down most.
SMALL_PROPAGATION = "--propagation-layers 2 --propagation-width 16 --propagation-epochs 1".split()


class Trained(Case):
    """A small out-of-sample data set lies in `data`."""

    def fill(self) -> None:
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
    Setting("row-wise adagrad", "--optimizer adagrad-row"),
    Setting("no L2, no order", "--l2 0 --shuffle no"),
    Setting("psi 0, many negatives", "--psi 0 --negatives 7"),
    Setting("psi 0, judged by ials", "--psi 0 --aggregate ials --ials-alpha 0.01"),
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
    LONG = "--dim 40 --epochs 200 --validate-every 50 --batch 20 --threads 1".split()

    def epochs_kept(self, model: str) -> int:
        """How many epochs the checkpoint holds; 0 if there is none."""
        for folder in (f"{model}.training", model):
            with contextlib.suppress(FileNotFoundError):
                data = self.read(f"{folder}/checkpoint.safetensors")
                break
        else:
            return 0
        (length,) = struct.unpack_from("<Q", data)
        return int(json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["kgraft"])["epoch"])

    def test_resumed_after_sigkill(self) -> None:
        """Killed at twenty random moments and resumed, it ends in the same bytes"""
        draw = random.Random(1)
        start = time.monotonic()
        self.train("whole", *self.LONG)
        seconds = time.monotonic() - start
        kept = [0]
        for i in range(20):
            command = [BINARY, "train", "data", "killed", *QUICK, *self.LONG, "--resume", "--quiet"]
            with subprocess.Popen(command, cwd=self.folder, env=environment()) as child:
                # At any time, or, so that all of them get somewhere, behind a checkpoint.
                while i % 2 and child.poll() is None and self.epochs_kept("killed") == kept[-1]:
                    time.sleep(0.001)
                time.sleep(draw.uniform(0, seconds / 20 if i % 2 else seconds / 10))
                child.kill()
            kept.append(self.epochs_kept("killed"))
        self.assertEqual(kept, sorted(kept))
        self.assertGreater(kept[-1], 0, "no run got anywhere, so nothing was resumed")
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
        self.assertRegex(stderr, rb"stopped: .* --resume goes on\nkgraft: stopped while training\n\Z")
        self.assertTrue((self.folder / "other.training/checkpoint.safetensors").exists())
        self.assertFalse((self.folder / "other").exists())
        self.refuse("train", "data", "other", *QUICK, *self.LONG,
                    pattern="other.training: it holds an unfinished run .*--resume.*--force.*")
        self.train("other", *self.LONG, "--resume")
        self.assertFalse((self.folder / "other.training").exists())
        self.assertEqual(self.embeddings("other"), self.embeddings("whole"))


Tensors = dict[str, list[tuple[float, ...]]]
"""Rows by the names of tensors."""


def read_safetensors(data: bytes) -> Tensors:
    """A reader by the format's description, which knows nothing of kgraft: 8 bytes with the length
    of the header, the header as JSON, the numbers without gaps. Ours start at multiples of 64."""
    (length,) = struct.unpack_from("<Q", data)
    assert data[8:9] == b"{" and (8 + length) % 64 == 0, length
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors, end = {}, 0
    for name, about in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        (rows, columns), (start, stop) = about["shape"], about["data_offsets"]
        assert about["dtype"] == "F32" and start == end and stop - start == 4 * rows * columns
        numbers = struct.unpack_from(f"<{rows * columns}f", data, 8 + length + start)
        tensors[name] = [numbers[i : i + columns] for i in range(0, len(numbers), columns)]
        end = stop
    assert 8 + length + end == len(data)
    return tensors


class Files(Trained):
    def test_safetensors(self) -> None:
        """The embeddings stand where the format says, aligned, and are as many as names"""
        self.train("m")
        tensors = read_safetensors(self.embeddings("m"))
        self.assertEqual(list(tensors), ["entities", "relations"])
        for name, rows in tensors.items():
            self.assertEqual(len(self.lines(f"m/{name}.tsv")), len(rows))
            self.assertEqual({len(row) for row in rows}, {8})
            self.assertTrue(all(math.isfinite(x) for row in rows for x in row))

    def test_safetensors_of_the_checkpoint(self) -> None:
        """A checkpoint is of the same format. Its best embeddings are the model: those of an epoch
        before, or what it has after the last one"""
        for is_last, words in (True, ("--epochs", "1")), (False, ("--epochs", "3", "--lr", "1e-9")):
            self.train("m", *words, "--validate-every", "1", "--force")
            stored = read_safetensors(self.read("m/checkpoint.safetensors"))
            for name, rows in read_safetensors(self.embeddings("m")).items():
                self.assertEqual(f"best.{name}" in stored, not is_last)
                self.assertEqual(stored[name if is_last else f"best.{name}"], rows)
                self.assertEqual(len(stored[f"{name}.first"]), len(rows))

    def test_start(self) -> None:
        """Without an epoch it is Xavier's start: uniform up to a bound by the whole table's size"""
        self.train("m", "--epochs", "0")
        for rows in read_safetensors(self.embeddings("m")).values():
            bound = math.sqrt(6 / (len(rows) + 8))
            sizes = [abs(x) / bound for row in rows for x in row]
            self.assertLess(max(sizes), 1 + 1e-6)
            self.assertGreater(max(sizes), 0.9)
            self.assertAlmostEqual(sum(sizes) / len(sizes), 0.5, delta=0.15)

    def test_keys_of_an_epoch(self) -> None:
        for line in map(json.loads, self.train("m", "--json").stdout.splitlines()):
            valid = line.pop("valid", None)
            self.assertEqual(list(line), ["epoch", "loss", "seconds"])
            self.assertGreater(line["loss"], 0)
            self.assertGreaterEqual(line["seconds"], 0)
            if valid is not None:
                self.assertEqual(set(valid), {"mrr", "mr", "hits", "queries"})
                self.assertEqual(set(valid["hits"]), {"1", "3", "10"})

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

    def test_last_epoch(self) -> None:
        """It is validated, too, if it is no multiple, and so can be the best"""
        words = "--epochs 5 --validate-every 2 --json".split()
        lines = [json.loads(line) for line in self.train("m", *words).stdout.splitlines()]
        self.assertEqual([line["epoch"] for line in lines if "valid" in line], [1, 2, 4, 5])

    def test_patience(self) -> None:
        """It stops early, and says both what was asked for and how far it came"""
        words = ("--epochs", "500", "--validate-every", "1", "--patience", "2")
        lines = [json.loads(line) for line in self.train("m", *words, "--json").stdout.splitlines()]
        config = self.succeed("info", "m", "--json").json
        self.assertEqual(config["settings"]["epochs"], 500)
        self.assertEqual(config["epochs"], len(lines))
        self.assertEqual(config["best_epoch"], len(lines) - 2)
        self.assertLess(len(lines), 500)

    def test_without_validation(self) -> None:
        said = self.train("m", "--epochs", "1", "--validate-every", "0").messages
        self.assertEqual(said, ["m: 1 epoch, not validated"])
        self.assertNotIn(b"MRR", self.succeed("info", "m").stdout)

    def test_in_sample_validation(self) -> None:
        facts = self.read("g.tsv").splitlines(keepends=True)
        self.write({"in/train.tsv": b"".join(facts[:550]), "in/valid.tsv": b"".join(facts[550:])})
        lines = self.succeed("train", "in", "m", *QUICK, "--json").stdout.splitlines()
        self.assertEqual(json.loads(lines[1])["valid"]["queries"], 100)

    def test_rows_that_nobody_trains(self) -> None:
        """Entities and relations that train lacks keep the rows they started with"""
        self.write({"in/train.tsv": self.read("g.tsv"), "in/valid.tsv": b"x\there\ty\n"})
        ends = []
        for epochs in ("1", "5"):
            words = f"--l2 1 --validate-every 0 --epochs {epochs}".split()
            self.succeed("train", "in", epochs, *QUICK, *words)
            tensors = read_safetensors(self.embeddings(epochs))
            ends.append((tensors["entities"][-2:], tensors["relations"][-1], tensors["entities"][0]))
        self.assertEqual(ends[0][:2], ends[1][:2])
        self.assertNotEqual(ends[0][2], ends[1][2])

    def test_batch_of_everything(self) -> None:
        """A batch has no more facts than there are, and needs no more room"""
        facts = str(len(self.lines("data/train.tsv")))
        for name, batch in ("all", facts), ("more", str(1 << 24)):
            self.train(name, "--batch", batch, "--negatives", "1000", "--epochs", "1")
        self.assertEqual(self.embeddings("all"), self.embeddings("more"))

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
    Wrong("--dim 0", "--dim: expected 1 to 1048576 for model distmult, found 0"),
    Wrong("--dim -8", "--dim: expected a whole number.*, found '-8'"),
    Wrong("--dim 8.5", "--dim: expected a whole number.*, found '8.5'"),
    Wrong("--dim 99999999999", "--dim: expected .*, found 99999999999"),
    Wrong("--model simple --dim 9", "--dim: expected a multiple of 2 .*, found 9"),
    Wrong("--model complex --dim 7", "--dim: expected a multiple of 2 .*, found 7"),
    Wrong("--model quate --dim 6", "--dim: expected a multiple of 4 .*, found 6"),
    Wrong("--psi 1.5", "--psi: expected .*, found 1.5"),
    Wrong("--psi -0.1", "--psi: expected .*, found -0.1"),
    Wrong("--psi nan", "--psi: expected a number, found 'nan'"),
    Wrong("--psi half", "--psi: expected a number, found 'half'"),
    Wrong("--model transe", "--model: expected distmult, .*, found 'transe'"),
    Wrong("--aggregate mean", "--aggregate: expected eavg, .*, found 'mean'"),
    Wrong("--optimizer sgd", "--optimizer: expected adagrad, adam or adagrad-row, found 'sgd'"),
    Wrong("--loss hinge", "--loss: expected softplus or softmax, found 'hinge'"),
    Wrong("--patience 3 --validate-every 0", "--patience: expected 0 for validate-every 0, .*, found 3"),
    Wrong("--init normal", "--init: expected xavier, found 'normal'"),
    Wrong("--preset best", "--preset: expected paper or graft, found 'best'"),
    Wrong("--exclude all", "--exclude: expected triple or pair, found 'all'"),
    Wrong("--ls-rows long", "--ls-rows: expected normalized or weighted, found 'long'"),
    Wrong("--shuffle maybe", "--shuffle: expected yes or no, found 'maybe'"),
    Wrong("--lr 0", "--lr: expected .*, found 0"),
    Wrong("--lr -0.1", "--lr: expected .*, found -0.1"),
    Wrong("--lr nan", "--lr: expected a number, found 'nan'"),
    Wrong("--lr inf", "--lr: expected a number, found 'inf'"),
    Wrong("--lr 1e-60", "--lr: expected .*, found 1e-60"),
    Wrong("--lr 1e60", "--lr: expected .* single precision .*, found 1e\\+60"),
    Wrong("--l2 1e60", "--l2: expected .* single precision .*, found 1e\\+60"),
    Wrong("--l2 -1", "--l2: expected .*, found -1"),
    Wrong("--l2 -nan", "--l2: expected a number, found '-nan'"),
    Wrong("--l2 1e999", "--l2: expected a number, found '1e999'"),
    Wrong("--dropout 1", "--dropout: expected .*, found 1"),
    Wrong("--dropout -0.5", "--dropout: expected .*, found -0.5"),
    Wrong("--dropout nan", "--dropout: expected a number, found 'nan'"),
    Wrong("--ls-lambda 0", "--ls-lambda: expected .*, found 0"),
    Wrong("--ls-lambda -1", "--ls-lambda: expected .*, found -1"),
    Wrong("--ls-lambda inf", "--ls-lambda: expected a number, found 'inf'"),
    Wrong("--ls-lambda 1e-60", "--ls-lambda: expected .*, found 1e-60"),
    Wrong("--ls-lambda 1e60", "--ls-lambda: expected .*, found 1e\\+60"),
    Wrong("--aggregate ials --psi 0.5", "--psi: expected 0 for aggregate ials, .*, found 0.5"),
    Wrong("--aggregate ials --psi 0 --ials-alpha 0", "--ials-alpha: expected a weight above 0 .*, found 0"),
    Wrong("--aggregate ials --psi 0 --ials-lambda -1", "--ials-lambda: expected a ridge above 0 .*, found -1"),
    Wrong("--ials-alpha 1", "--aggregate: expected ials for --ials-alpha, found eravg"),
    Wrong("--self-loops no", "--model: expected rgcn-d for --self-loops, found distmult"),
    Wrong("--batch 0", "--batch: expected .*, found 0"),
    Wrong("--batch -1", "--batch: expected a whole number.*, found '-1'"),
    Wrong("--negatives -1", "--negatives: expected a whole number.*, found '-1'"),
    Wrong("--negatives 1001", "--negatives: expected at most 1000 for loss softplus, which draws them anew for each fact, found 1001"),
    Wrong("--epochs 30001", "--epochs: expected at most 30000, found 30001"),
    Wrong("--threads 1025", "--threads: expected 1 to 1024, found 1025"),
    Wrong("--seed -1", "--seed: expected a whole number.*, found '-1'"),
]


@cases(WRONG)
class Refusals(Trained):
    def check(self, row: Wrong) -> None:
        self.refuse("train", "data", "m", *QUICK, *row.words.split(), pattern=row.pattern)

    def test_resume_with_another_setting(self) -> None:
        self.train("m")
        pattern = "m/checkpoint.safetensors: expected the settings .*, found another --lr .*"
        self.refuse("train", "data", "m", *QUICK, "--lr", "0.2", "--resume", pattern=pattern)

    def test_resume_with_other_data(self) -> None:
        self.train("m")
        self.refuse("train", "g.tsv", "m", *QUICK, "--hold-out", "0", "--resume",
                    pattern="m/checkpoint.safetensors: expected the data set .*, found another")

    def test_resume_with_fewer_epochs(self) -> None:
        self.train("m")
        pattern = "m/checkpoint.safetensors: expected at least the 6 epochs .*, found 5"
        self.refuse("train", "data", "m", *QUICK, "--epochs", "5", "--resume", pattern=pattern)

    def test_resume_of_a_model_without_checkpoint(self) -> None:
        """Nobody asked to replace it"""
        self.train("m")
        whole = self.embeddings("m")
        (self.folder / "m/checkpoint.safetensors").unlink()
        pattern = "m: expected a run to go on with, found config.json without .*"
        self.refuse("train", "data", "m", *QUICK, "--resume", "--lr", "0.2", pattern=pattern)
        self.train("m", "--resume", "--force")
        self.assertEqual(self.embeddings("m"), whole)

    def test_resume_of_something_else(self) -> None:
        self.write({"m/model.safetensors": b"of another program", "file": b""})
        pattern = "m: expected a run to go on with, found model.safetensors without .*"
        self.refuse("train", "data", "m", *QUICK, "--resume", pattern=pattern)
        self.refuse("train", "data", "file", *QUICK, "--resume", pattern="file: .*, found a file")

    def test_start_by_resume_beside_notes(self) -> None:
        """The folder becomes another one, and notes would be lost"""
        self.write({"m/notes": b"mine"})
        self.refuse("train", "data", "m", *QUICK, "--resume", pattern="m: not replaced: .*notes.*")

    def test_checkpoint_that_stands_nowhere(self) -> None:
        """Numbers that no run gets to"""
        self.train("m")
        header, numbers = open_checkpoint(self.read("m/checkpoint.safetensors"))
        for name, value in [("step", 7), ("epoch", 2), ("epoch", -1), ("epoch", 1 << 62),
                            ("batch", 1000), ("best_epoch", 7), ("best_epoch", -1), ("history", [])]:
            note = {**json.loads(header["__metadata__"]["kgraft"]), name: value}
            about = {**header, "__metadata__": {"kgraft": json.dumps(note)}}
            self.write({"m/checkpoint.safetensors": seal_checkpoint(about, numbers)})
            self.refuse("train", "data", "m", *QUICK, "--resume",
                        pattern="m/checkpoint.safetensors: expected a checkpoint, found numbers .*")

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
        self.refuse("info", "data", pattern="data: expected a model directory, found a data set .*")


class Page(Case):
    """The man page tells of each setting what the table does."""

    def test_choices_and_defaults(self) -> None:
        page = (ROOT / "docs/man/kgraft-train.1.scd").read_text()
        text = self.succeed("train", "--help").stdout.decode()
        shown = re.findall(r"(?ms)^  --(\S+) [A-Zyes|no]+ +(.*?)(?=^  -)", text)
        self.assertGreater(len(shown), 30)
        found = set()
        for name, about in shown:
            paragraph = "".join(re.findall(rf"(?ms)^\*--{name}\* .*?(?=^\*--)", page))
            usual = re.search(r"\(default: (\S+)\)$", about.strip())
            message = self.run_kgraft("train", "data", "model", f"--{name}", "?").messages[0]
            choices = re.search(r"expected (?:.* of )?((?:[\w-]+, )*[\w-]+ or [\w-]+), found", message)
            for choice in re.split(", | or ", choices[1]) if choices else []:
                self.assertIn(f"*{choice}*", paragraph)
                found.add(choice)
            if usual:
                self.assertRegex(paragraph, rf"\b{re.escape(usual[1])}\b(?s:.*)default")
        self.assertLessEqual({"softmax", "adam", "complex", "graft", "n3", "propagation", "spread"}, found)


if __name__ == "__main__":
    unittest.main()
