"""kgraft train on data without a validation part: from a graph to calibrated answers in two commands.

What it comes to is checked against what other commands make of the same data: kgraft split, and
kgraft train with nothing held out.
"""

from __future__ import annotations

import gzip
import json
import signal
import struct
import subprocess
import unittest
from typing import Any

from kgraft import BINARY, Case, environment, tsv

QUICK = "--preset paper --dim 8 --batch 50 --epochs 6 --validate-every 2 --seed 5".split()
"""The rate does not fall: a run of fewer epochs is the beginning of a longer one."""

SMALL = "--dim 8 --batch 50 --epochs 5 --validate-every 2 --seed 5 --threads 1 --terms embedding+echo".split()


def read_lines(calibration: bytes, names: bytes) -> dict[bytes, bytes]:
    """The numbers of each relation, both directions, as bytes."""
    (length,) = struct.unpack_from("<Q", calibration)
    numbers = calibration[8 + length :]
    rows = names.splitlines()
    assert len(numbers) == 16 * len(rows)
    return {name: numbers[16 * i : 16 * i + 16] for i, name in enumerate(rows)}


class Held(Case):
    """A graph lies in g.tsv: a ring and random facts, no hub among them."""

    def setUp(self) -> None:
        super().setUp()
        facts = [f"e{i} next e{(i + 1) % 150}" for i in range(150)]
        facts += [f"e{i} r{i % 3} e{(i * k + 3) % 150}" for k in (7, 11, 23) for i in range(150)]
        self.write({"g.tsv": tsv(*dict.fromkeys(facts))})

    def config(self, model: str) -> Any:
        return self.succeed("info", model, "--json").json

    def embeddings(self, model: str) -> bytes:
        return self.read(f"{model}/model.safetensors")


class Models(Held):
    def test_without_a_refit(self) -> None:
        """It is what training on kgraft split's benchmark gives, and so is its calibration"""
        said = self.succeed("train", "g.tsv", "m", *QUICK, "--no-refit", "--hold-out", "0.1").messages
        self.succeed("split", "g.tsv", "bench", "--unseen", "0.1", "--valid-share", "1", "--seed", "5")
        self.succeed("train", "bench", "other", *QUICK)
        for file in ("model.safetensors", "calibration.safetensors", "entities.tsv", "known.bin"):
            self.assertEqual(self.read(f"m/{file}"), self.read(f"other/{file}"), file)
        about, other = self.config("m"), self.config("other")
        best = other["history"][other["best_epoch"] - 1]
        facts = len(self.lines("bench/unseen-valid.tsv"))
        held = {"share": 0.1, "entities": about["hold_out"]["entities"], "facts": facts, "refit": False,
                "epochs": 6, "best_epoch": best["epoch"], "valid": best["valid"]}
        self.assertEqual(about["hold_out"], held)
        self.assertEqual(about["data"]["split"]["steps"]["valid_entities"], held["entities"])
        self.assertNotIn("hold_out", other)
        few = "m: held out {} entities with {} facts to validate and calibrate by: so few that probabilities are rough"
        self.assertEqual(said[0], few.format(held["entities"], facts))
        self.assertEqual(len(said), 2)

    def test_refit(self) -> None:
        """It is what training on everything gives, for the epochs and with the calibration of the other"""
        told = self.succeed("train", "g.tsv", "m", *QUICK, "--json")
        held = self.config("m")["hold_out"]
        best = held["best_epoch"]
        self.succeed("train", "g.tsv", "without", *QUICK, "--no-refit")
        self.succeed("train", "g.tsv", "all", *QUICK, "--hold-out", "0", "--epochs", str(best))
        for file in ("model.safetensors", "entities.tsv", "known.bin"):
            self.assertEqual(self.read(f"m/{file}"), self.read(f"all/{file}"), file)
        self.assertEqual(len(self.lines("m/entities.tsv")), 150)
        self.assertLess(len(self.lines("without/entities.tsv")), 150)
        self.assertEqual(*(read_lines(self.read(f"{m}/calibration.safetensors"),
                                      self.read(f"{m}/relations.tsv")) for m in ("m", "without")))
        self.assertFalse((self.folder / "all/calibration.safetensors").exists())
        lines = [json.loads(line) for line in told.stdout.splitlines()]
        phases = ["hold-out"] * 6 + ["refit"] * best
        self.assertEqual([line.get("phase") for line in lines], [*phases, None])
        self.assertEqual([line.get("epoch") for line in lines[6:-1]], list(range(1, best + 1)))
        history = held.pop("history")
        self.assertEqual(lines[-1]["hold_out"].pop("valid"), lines[best - 1]["valid"])
        self.assertAlmostEqual(held.pop("valid")["mrr"], lines[best - 1]["valid"]["mrr"])
        self.assertEqual(lines[-1], {"hold_out": held})
        self.assertEqual([e["epoch"] for e in history if "valid" in e], [1, 2, 4, 6])
        self.assertTrue(held["refit"])
        self.assertRegex(told.messages[-1], f"^m: trained on everything for {best} epochs?$")

    def test_falling_rate(self) -> None:
        """It falls in the refit as if all epochs were to come"""
        self.succeed("train", "g.tsv", "m", *SMALL, "--validate-every", "3")
        self.succeed("train", "g.tsv", "all", *SMALL, "--hold-out", "0")
        found, whole = self.config("m"), self.config("all")
        best = found["hold_out"]["best_epoch"]
        self.assertEqual([e["loss"] for e in found["history"]],
                         [e["loss"] for e in whole["history"][:best]])
        self.assertEqual(found["settings"]["epochs"], 5)

    def test_rare_relation(self) -> None:
        """One of a single fact is not held out, but trained on and calibrated"""
        self.write({"rare.tsv": self.read("g.tsv") + tsv("e0 rare e1")})
        for seed in map(str, range(4)):
            self.succeed("train", "rare.tsv", "w", *QUICK, "--epochs", "1", "--no-refit", "--seed", seed,
                         "--hold-out", "0.3", "--force")
            self.assertIn(b"rare", self.read("w/relations.tsv").split())
        self.assertIn(b"rare", read_lines(self.read("w/calibration.safetensors"), self.read("w/relations.tsv")))

    def test_test_part(self) -> None:
        """It is neither held out nor trained on"""
        self.write({"in/train.tsv": self.read("g.tsv"), "in/test.tsv": tsv("e1 r0 e2", "e5 r1 e9")})
        for source in ("g.tsv", "in"):
            self.succeed("train", source, f"of-{source}", *QUICK)
        self.assertEqual(self.embeddings("of-g.tsv"), self.embeddings("of-in"))

    def test_validation_part(self) -> None:
        """Where there is one, nothing is held out"""
        self.write({"in/train.tsv": self.read("g.tsv"), "in/valid.tsv": tsv("e1 r0 e2", "e5 r1 e9")})
        said = self.succeed("train", "in", "m", *QUICK).messages
        self.assertRegex(said[0], "^m: epoch . of 6 is the best: .*")
        self.assertNotIn("hold_out", self.config("m"))
        self.refuse("train", "in", "n", *QUICK, "--hold-out", "0.1",
                    pattern="--hold-out: expected data without a validation part, found one, .*")

    def test_info(self) -> None:
        self.succeed("train", "g.tsv", "m", *QUICK)
        shown = self.succeed("info", "m").stdout.decode()
        self.assertRegex(shown, r"(?s)\nheld out\n  share +0\.2\n  entities +\d+\n  facts +\d+\n  refit +yes\n"
                                r".*\n +epoch +loss +MRR .*\n +6 ")


class Answers(Held):
    """From a graph to answers with probabilities in two commands."""

    def check(self, source: str, prefix: str) -> None:
        self.succeed("train", source, "m", *SMALL)
        facts = f"new\t{prefix}r0\t{prefix}e3\n{prefix}e7\t{prefix}next\tnew\n".encode()
        found = self.succeed("predict", "m", "-", "-k", "1000", "--json", stdin=facts).json
        answers = found["entities"][0]["answers"]
        self.assertTrue(answers)
        for answer in answers:
            self.assertTrue(0 < answer["probability"] < 1)
        self.assertGreater(len({answer["relation"] for answer in answers}), 1)

    def test_tsv(self) -> None:
        self.check("g.tsv", "")

    def test_turtle(self) -> None:
        lines = [f":{h} :{r} :{t} ." for h, r, t in map(str.split, self.read("g.tsv").decode().splitlines())]
        text = "@prefix : <http://example.org/> .\n" + "\n".join(lines) + "\n"
        self.write({"g.ttl.gz": gzip.compress(text.encode())})
        self.check("g.ttl.gz", "http://example.org/")

    def test_too_small(self) -> None:
        """A dozen facts train, and the rest is said"""
        self.write({"g.tsv": tsv("a knows b", "b knows c", "c likes a", "c knows d", "d likes b", "e likes a")})
        said = self.succeed("train", "g.tsv", "m", *SMALL).messages
        self.assertEqual(said, [
            "m: not calibrated, since the graph is too small to hold entities out: kgraft predict needs "
            "--relation to answer by scores", "m: 5 epochs, not validated"])
        self.assertNotIn("hold_out", self.config("m"))
        facts = tsv("new knows a", "new likes b")
        self.refuse("predict", "m", "-", stdin=facts, pattern="expected --relation, found none: .*")
        found = self.succeed("predict", "m", "-", "--relation", "knows", "--json", stdin=facts).json
        self.assertTrue(found["entities"][0]["answers"])

    def test_few_and_many(self) -> None:
        """What is held out is said to be few, or nothing is held out, as the graph is large"""
        for count, pattern in [
            (15, "m: not calibrated, since the graph is too small to hold entities out: .*"),
            (60, r"m: held out \d+ entities with \d\d facts .*: so few that probabilities are rough"),
            (400, r"m: held out \d+ entities with \d\d\d facts to validate and calibrate by"),
        ]:
            self.write({"some.tsv": tsv(*(f"e{i} {r} e{(i * k + 1) % count}"
                                          for i in range(count) for r, k in (("next", 1), ("far", 7))))})
            said = self.succeed("train", "some.tsv", "m", *SMALL, "--force").messages
            self.assertRegex(said[0], f"^{pattern}$")

    def test_left_out(self) -> None:
        """What is not read is said as kgraft import says it, and which option reads it"""
        text = "@prefix : <http://example.org/> .\n:a :r :b , :c .\n:b :r :c .\n:c :s :a , \"x\" , 7 .\n:a :r :b .\n"
        self.write({"g.ttl": text.encode(), "none.ttl": b'@prefix : <http://x/> .\n:a :r "x" , "y" .\n'})
        said = self.succeed("train", "g.ttl", "m", *SMALL).messages
        self.assertEqual(said[:2], ["left out: 1 repeated fact",
                                    "left out: 2 facts about literals (kgraft import --literals keep takes them)"])
        self.refuse("train", "none.ttl", "n", *SMALL,
                    pattern="none.ttl: expected facts to train on, found only some about literals, which are left out "
                            r"\(kgraft import takes them with --literals keep\)")

    def test_nothing_held_out(self) -> None:
        said = self.succeed("train", "g.tsv", "m", *SMALL, "--hold-out", "0").messages
        self.assertRegex(said[0], "^m: not calibrated, since nothing was held out: .*--relation.*")
        said = self.succeed("train", "g.tsv", "n", *SMALL, "--hold-out", "0.001").messages
        self.assertRegex(said[0], "^n: not calibrated, since that share leaves too few facts to validate by or to train on: .*")


class GoingOn(Held):
    def test_killed_in_the_refit(self) -> None:
        """It goes on with the refit, without the phase before, to the same bytes"""
        words = [*QUICK, "--dim", "40", "--epochs", "30", "--batch", "5", "--threads", "1"]
        self.succeed("train", "g.tsv", "whole", *words)
        command = [BINARY, "train", "g.tsv", "m", *words, "--json"]
        with subprocess.Popen(command, cwd=self.folder, env=environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            while json.loads(child.stdout.readline()).get("phase") != "refit":
                pass
            child.kill()
        self.assertEqual(child.returncode, -signal.SIGKILL)
        told = self.succeed("train", "g.tsv", "m", *words, "--json", "--resume").stdout.splitlines()
        self.assertNotIn("hold-out", [json.loads(line).get("phase") for line in told])
        for file in ("model.safetensors", "calibration.safetensors"):
            self.assertEqual(self.read(f"m/{file}"), self.read(f"whole/{file}"), file)
        found, whole = self.config("m")["hold_out"], self.config("whole")["hold_out"]
        for about in (found, whole):
            for epoch in about["history"]:
                del epoch["seconds"]
        self.assertEqual(found, whole)

    def test_refit_later(self) -> None:
        """A run that stopped before the refit goes on to it"""
        self.succeed("train", "g.tsv", "whole", *QUICK)
        self.succeed("train", "g.tsv", "m", *QUICK, "--no-refit")
        self.assertNotEqual(self.embeddings("m"), self.embeddings("whole"))
        self.succeed("train", "g.tsv", "m", *QUICK, "--resume")
        self.assertEqual(self.embeddings("m"), self.embeddings("whole"))

    def test_other_settings(self) -> None:
        self.succeed("train", "g.tsv", "m", *QUICK)
        for words, pattern in [
            ("--hold-out 0.1", "expected the settings .*, found another --hold-out .*"),
            ("--hold-out 0", "expected the settings .*, found another .*hold-out .*"),
            ("--epochs 7", "expected epochs 6, out of which . were chosen for .*, found 7"),
            ("--no-refit", "expected to go on with training on everything, .*, found no-refit"),
            ("--lr 0.2", "expected the settings .*, found another --lr .*"),
        ]:
            self.refuse("train", "g.tsv", "m", *QUICK, "--resume", *words.split(),
                        pattern=f"m/checkpoint.safetensors: {pattern}")

    def test_shares(self) -> None:
        for share in ("1", "-0.1", "-1", "-2"):
            self.refuse("train", "g.tsv", "m", *QUICK, "--hold-out", share,
                        pattern=f"--hold-out: expected a share from 0 to below 1, found {share}")


class Tuning(Held):
    def test_same_for_all_runs(self) -> None:
        """They hold out the same entities, and are compared by them"""
        result = self.succeed("tune", "g.tsv", "out", *QUICK, "--lr", "0.1,0.2", "--hold-out", "0.1")
        self.assertRegex(result.messages[0], r"^held out \d+ entities with \d+ facts to validate by$")
        splits = [self.config(f"out/lr={lr}")["data"]["split"] for lr in ("0.1", "0.2")]
        self.assertEqual(*splits)
        self.assertEqual(splits[0]["unseen"], 0.1)
        self.refuse("tune", "g.tsv", "other", *QUICK, "--hold-out", "0.1,0.2",
                    pattern="--hold-out: expected one share for all runs, found several")


if __name__ == "__main__":
    unittest.main()
