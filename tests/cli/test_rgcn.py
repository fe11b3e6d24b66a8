"""The baseline RGCN-D as commands see it: it is trained, resumed, tuned, shown and evaluated like any
other model, needs no options of its own for that, and refuses those of others.

What the encoder computes is checked by the unit tests against its plain twin.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import unittest
from dataclasses import dataclass
from typing import Any

from kgraft import BINARY, cases, environment, tsv
from sealed import open_checkpoint, seal_checkpoint
from test_train import QUICK, SMALL_PROPAGATION, Trained, read_safetensors

MODEL = ("--model", "rgcn-d")


@dataclass(frozen=True)
class Setting:
    name: str
    words: str


@cases(
    [
        Setting("defaults", ""),
        Setting("without self-loops", "--self-loops no"),
        Setting("one batch, the last epoch", "--batch 10000 --bases 1 --validate-every 0"),
        Setting("adagrad, dropout, L2", "--optimizer adagrad --dropout 0.3 --l2 0.1 --negatives 3"),
    ]
)
class SameBytes(Trained):
    """On a graph of several tiles."""

    def fill(self) -> None:
        super().fill()
        words = "--facts 4000 --entities 1500 --relations 7".split()
        self.succeed("generate", "large.tsv", *words)
        self.succeed("split", "large.tsv", "large", "--quiet")

    def check(self, row: Setting) -> None:
        words = [*QUICK, "--batch", "900", *MODEL, *row.words.split()]
        self.succeed("train", "large", "one", *words, "--threads", "1")
        expected = self.embeddings("one")
        for threads in ("2", "7"):
            self.succeed("train", "large", f"with{threads}", *words, "--threads", threads)
            self.assertTrue(self.embeddings(f"with{threads}") == expected, f"{threads} threads")
        self.succeed("train", "large", "stopped", *words, "--epochs", "3")
        self.succeed("train", "large", "stopped", *words, "--resume")
        self.assertTrue(self.embeddings("stopped") == expected, "resumed")


class Stopped(Trained):
    def test_resumed_after_an_interrupt(self) -> None:
        """Also within an epoch: what is encoded is not what was learned, and comes back"""
        words = [*QUICK, *MODEL, "--epochs", "60", "--validate-every", "20", "--batch", "20"]
        self.succeed("train", "data", "whole", *words)
        command = [BINARY, "train", "data", "other", *words, "--json"]
        child = subprocess.Popen(command, cwd=self.folder, env=environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with child:
            child.stdout.readline()
            child.send_signal(signal.SIGINT)
            child.communicate()
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertFalse((self.folder / "other/config.json").exists())
        self.succeed("train", "data", "other", *words, "--resume")
        self.assertTrue(self.embeddings("other") == self.embeddings("whole"))


class Encoded(Trained):
    """A trained model lies in `model`."""

    def fill(self) -> None:
        super().fill()
        self.train("model", *MODEL)

    def evaluate(self, *words: str, data: str = "data") -> Any:
        return self.succeed("eval", "model", data, "--json", "--quiet", *words).json


class Models(Encoded):
    def test_settings(self) -> None:
        settings = self.succeed("info", "model", "--json").json["settings"]
        self.assertEqual(settings["model"], "rgcn-d")
        self.assertEqual(settings["aggregate"], "rgcn-d")
        self.assertEqual(settings["optimizer"], "adam")
        self.assertIs(settings["self_loops"], True)
        self.assertNotIn("psi", settings)
        self.assertIn(b"self_loops          yes", self.succeed("info", "model").stdout)

    def test_defaults(self) -> None:
        """Those that depend on preset and model, as the man page has them"""
        names = ("batch", "epochs", "optimizer", "lr", "l2", "validate_every", "aggregate", "psi")
        for preset, model, expected in (
            ("paper", "rgcn-d", [10000, 30, "adam", 0.01, 0, 3, "rgcn-d", None]),
            ("paper", "distmult", [1000, 200, "adagrad", 0.1, 0.01, 20, "eravg", 0.5]),
            ("graft", "distmult", [1000, 8, "adagrad", 0.1, 0, 4, "graft", 1]),
        ):
            words = ["--preset", preset, "--model", model, "--dim", "4", "--quiet", "--force"]
            words += SMALL_PROPAGATION if preset == "graft" else []
            self.succeed("train", "data", "usual", *words)
            settings = self.succeed("info", "usual", "--json").json["settings"]
            self.assertEqual([settings.get(name) for name in names], expected)

    def test_tensors(self) -> None:
        self.train("bare", *MODEL, "--self-loops", "no", "--bases", "3")
        for model, bases, own in (("model", 4, True), ("bare", 3, False)):
            tensors = read_safetensors(self.embeddings(model))
            entities, relations = len(tensors["entities"]), len(tensors["relations"])
            shapes = {name: (len(rows), len(rows[0])) for name, rows in tensors.items()}
            expected = {
                "entities": (entities, 8),
                "relations": (relations, 8),
                "features": (entities, 2 * relations),
                "hidden": (entities, 8),
                "first.mix": (relations, 2 * bases),
                "first.bases": (bases * 2 * relations, 8),
                "second.mix": (relations, 2 * bases),
                "second.bases": (bases * 8, 8),
            }
            if own:
                expected |= {"first.self": (relations, 16), "second.self": (8, 8)}
            self.assertEqual(shapes, expected)

    def test_validation_is_as_in_training(self) -> None:
        config = self.succeed("info", "model", "--json").json
        best = config["history"][config["best_epoch"] - 1]["valid"]
        found = self.evaluate("--split", "valid")
        self.assertAlmostEqual(found["mrr"], best["mrr"])
        self.assertEqual(self.evaluate("--split", "valid", "--aggregate", "rgcn-d"), found)

    def test_it_learns(self) -> None:
        """Who likes and what is liked: the features tell, and the loss falls below that of a coin"""
        draw = random.Random(1)
        facts = {(draw.randrange(40), draw.randrange(40)) for _ in range(300)}
        self.write({"likes/train.tsv": tsv(*(f"p{p} likes t{t}" for p, t in sorted(facts)))})
        words = [*QUICK, *MODEL, "--epochs", "40", "--hold-out", "0", "--json"]
        lines = self.succeed("train", "likes", "m", *words).stdout.splitlines()
        losses = [json.loads(line)["loss"] for line in lines]
        self.assertLess(losses[-1], 0.55)
        self.assertLess(losses[-1], losses[0])

    def test_order_of_the_data_does_not_matter(self) -> None:
        """Rows, features and weights follow the names of entities and relations"""
        lines = self.read("data/train.tsv").splitlines(keepends=True)
        for part in ("unseen-valid", "unseen-test"):
            self.write({f"other/{part}.tsv": self.read(f"data/{part}.tsv")})
        self.write({"other/train.tsv": b"".join(reversed(lines))})
        self.assertAlmostEqual(self.evaluate(data="other")["mrr"], self.evaluate()["mrr"], places=5)

    def test_data_of_fewer_relations(self) -> None:
        """Whoever lacks a relation, and so counts fewer features, is encoded all the same"""
        relation = self.read("data/train.tsv").split(b"\t")[1]
        for part in ("unseen-test",):
            kept = [line for line in self.read(f"data/{part}.tsv").splitlines(keepends=True)
                    if line.split(b"\t")[1] != relation]
            self.write({f"full/{part}.tsv": b"".join(kept), f"few/{part}.tsv": b"".join(kept)})
        train = self.read("data/train.tsv").splitlines(keepends=True)
        # The same entities: facts of the missing relation become facts of another.
        other = next(line.split(b"\t")[1] for line in train if line.split(b"\t")[1] != relation)
        changed = [line.replace(b"\t" + relation + b"\t", b"\t" + other + b"\t") for line in train]
        self.write({"full/train.tsv": b"".join(train), "few/train.tsv": b"".join(changed)})
        self.assertAlmostEqual(self.evaluate(data="few")["mrr"], self.evaluate(data="full")["mrr"],
                               places=5)

    def test_threads(self) -> None:
        self.assertEqual(self.evaluate("--threads", "1"), self.evaluate("--threads", "7"))

    def test_average(self) -> None:
        """The average of its rows is a baseline like that of any model"""
        self.assertEqual(self.evaluate("--baseline", "oov")["queries"], self.evaluate()["queries"])

    def test_in_sample(self) -> None:
        facts = self.read("data/train.tsv").splitlines(keepends=True)
        parts = {"train": facts[:-40], "valid": facts[-40:-20], "test": facts[-20:]}
        self.write({f"seen/{part}.tsv": b"".join(lines) for part, lines in parts.items()})
        self.succeed("train", "seen", "seen-model", *QUICK, *MODEL)
        found = self.succeed("eval", "seen-model", "seen", "--in-sample", "--json", "--quiet").json
        self.assertEqual(found["queries"], 40)

    def test_tuned(self) -> None:
        words = (*QUICK, *MODEL, "--self-loops", "yes,no", "--json", "--quiet")
        runs = self.succeed("tune", "data", "out", *words).json["runs"]
        self.assertEqual({run["options"]["self-loops"] for run in runs}, {"yes", "no"})
        self.assertTrue(self.embeddings("out/self-loops=yes") == self.embeddings("model"))
        self.assertFalse(self.embeddings("out/self-loops=no") == self.embeddings("model"))


class Refused(Encoded):
    def test_options_of_others(self) -> None:
        for words, pattern in (
            ("--psi 0.5", "--psi: expected 0 for model rgcn-d.*, found 0.5"),
            ("--aggregate eravg", "--aggregate: expected rgcn-d for model rgcn-d, which has an encoder, found eravg"),
            ("--bases 0", "--bases: expected 1 to 1000, found 0"),
            ("--bases 1001", "--bases: expected 1 to 1000, found 1001"),
            ("--self-loops maybe", "--self-loops: expected yes or no, found 'maybe'"),
        ):
            self.refuse("train", "data", "m", *QUICK, *MODEL, *words.split(), pattern=pattern)

    def test_aggregates_of_others(self) -> None:
        pattern = "--aggregate: expected rgcn-d for model rgcn-d, which has an encoder, found ls"
        self.refuse("eval", "model", "data", "--aggregate", "ls", pattern=pattern)

    def test_its_aggregate_for_others(self) -> None:
        pattern = "--aggregate: expected eavg, eravg, ls, ls-u, graft or ials for model simple, which has no encoder, found rgcn-d"
        words = ("--model", "simple")
        self.refuse("train", "data", "m", *QUICK, *words, "--aggregate", "rgcn-d", pattern=pattern)
        self.train("simple", *words)
        self.refuse("eval", "simple", "data", "--aggregate", "rgcn-d", pattern=pattern)

    def test_no_store_of_it(self) -> None:
        self.refuse("store", "model", "store", pattern="model: expected a model whose vectors are sums over "
                    "facts, found rgcn-d, which has an encoder")
        self.assertFalse((self.folder / "store").exists())

    def test_resume_with_other_loops(self) -> None:
        pattern = "model/checkpoint.safetensors: expected the settings .*, found another --self-loops .*"
        self.refuse("train", "data", "model", *QUICK, *MODEL, "--self-loops", "no", "--resume",
                    pattern=pattern)

    def change_settings(self, **changes: Any) -> None:
        with self.change_config("model") as config:
            config["settings"].update(changes)

    def test_settings_that_do_not_fit(self) -> None:
        for changes, pattern in (
            ({"bases": 0}, 'model: expected 1 to 1000 as "bases", found 0'),
            ({"bases": 1 << 62}, 'model: expected 1 to 1000 as "bases", .*'),
            ({"bases": 3}, "model/model.safetensors: expected first.mix of 5 x 6, found 5 x 8"),
            ({"self_loops": "yes"}, 'model: expected true or false as "self_loops" .*, found a string'),
            ({"self_loops": None}, 'model: expected true or false as "self_loops" .*, found null'),
        ):
            self.change_settings(**changes)
            self.refuse("eval", "model", "data", pattern=pattern)

    def test_model_without_its_encoder(self) -> None:
        """An ordinary model that says that it is one of these"""
        self.train("model", "--force")
        self.change_settings(model="rgcn-d", bases=4, self_loops=True)
        pattern = "model/model.safetensors: expected a tensor features .*, found none"
        self.refuse("eval", "model", "data", pattern=pattern)

    def test_checkpoint_without_weights(self) -> None:
        header, numbers = open_checkpoint(self.read("model/checkpoint.safetensors"))
        header["second_bases"] = header.pop("second.bases")
        self.write({"model/checkpoint.safetensors": seal_checkpoint(header, numbers)})
        pattern = "model/checkpoint.safetensors: expected a tensor second.bases .*, found none"
        self.refuse("train", "data", "model", *QUICK, *MODEL, "--resume", pattern=pattern)

    def test_rate_that_explodes(self) -> None:
        result = self.run_kgraft("train", "data", "m", *QUICK, *MODEL, "--lr", "1e30")
        self.assert_refused(result, 2, ".*no longer a number.*")
        self.assertFalse((self.folder / "m/config.json").exists())


if __name__ == "__main__":
    unittest.main()
