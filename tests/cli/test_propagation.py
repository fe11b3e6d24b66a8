"""Models with propagation: alone and beside the other terms, the same bytes whatever the threads and
however often training was stopped; ranks of predict and of eval agree.

What is computed is checked by the unit tests against plain twins; here it is the commands.
"""

from __future__ import annotations

import random
import subprocess
import time
from dataclasses import dataclass

from kgraft import BINARY, Case, cases, environment, is_sanitized, tsv
from test_train import read_safetensors

SMALL = ("--propagation-layers", "2", "--propagation-width", "16", "--propagation-epochs", "2",
         "--dim", "8", "--epochs", "2", "--batch", "50", "--negatives", "30", "--seed", "5")
ALONE = ("--terms", "propagation", *SMALL[:6], *SMALL[-2:])


class Propagated(Case):
    """A small out-of-sample data set lies in `data`."""

    def fill(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "600", "--entities", "120", "--relations", "5")
        self.succeed("split", "g.tsv", "data", "--quiet")

    def tensors(self, model: str) -> bytes:
        return self.read(f"{model}/model.safetensors")


@dataclass(frozen=True)
class Setting:
    name: str
    words: tuple[str, ...]


SETTINGS = [
    Setting("alone", ALONE),
    Setting("beside the embedding", ("--terms", "embedding+propagation", *SMALL)),
    Setting("beside all others", ("--terms", "all", *SMALL)),
    Setting("factors, other pooling", (*ALONE, "--propagation-relations", "3",
                                       "--propagation-pooling", "sum+min+spread")),
    Setting("refit on everything", (*ALONE, "--hold-out", "0.1")),
]


@cases(SETTINGS)
class SameBytes(Propagated):
    def check(self, row: Setting) -> None:
        source = "g.tsv" if "--hold-out" in row.words else "data"
        for threads in ("1", "7") if is_sanitized() else ("1", "2", "7"):
            self.succeed("train", source, f"with{threads}", *row.words, "--threads", threads)
            self.assertEqual(self.tensors(f"with{threads}"), self.tensors("with1"),
                             f"{threads} threads")
        self.succeed("check", "with1")
        self.assertEqual("entities" in read_safetensors(self.tensors("with1")),
                         "propagation" != row.words[1])


class Echoes(Case):
    def test_none_in_validation(self) -> None:
        """Echoes are not learned where validation has none, unless terms are given"""
        ring = [f"e{i} r e{(i + 1) % 600}" for i in range(600)]
        echoes = [f"e{i} echo e{(i + 1) % 600}" for i in range(0, 600, 2)]
        asked = [f"e{i} r e{(i + 7) % 600}" for i in range(600)]
        told = [f"e{i} echo e{(i + 1) % 600}" for i in range(1, 600, 2)] + asked
        for name, valid in (("without", asked), ("with", told)):
            self.write({f"{name}/train.txt": tsv(*ring, *echoes), f"{name}/valid.txt": tsv(*valid)})
            said = self.succeed("train", name, f"model-{name}", *SMALL).messages
            settings = self.succeed("info", f"model-{name}", "--json").json["settings"]
            self.assertEqual(any("they are not learned" in line for line in said), name == "without")
            self.assertEqual("echo" in settings["terms"], name == "with")
            self.assertEqual(settings["propagation_echoes"], 0 if name == "without" else 0.25)
        self.succeed("train", "without", "chosen", *SMALL, "--propagation-echoes", "0.7")
        self.assertEqual(self.succeed("info", "chosen", "--json").json["settings"]["propagation_echoes"], 0.7)
        self.succeed("train", "without", "given", *SMALL, "--terms", "all")
        self.assertIn("echo", self.succeed("info", "given", "--json").json["settings"]["terms"])


class HoldOut(Propagated):
    def test_trained_once(self) -> None:
        """What was held out is in the graph of the model, whose parameters are those without it"""
        words = (*ALONE, "--hold-out", "0.1")
        self.succeed("train", "g.tsv", "without", *words, "--no-refit")
        said = self.succeed("train", "g.tsv", "with", *words).messages
        self.assertIn("with: what was held out is in its graph, without more training", said)
        self.assertEqual(self.tensors("with"), self.tensors("without"))
        self.assertEqual(self.read("with/relations.tsv"), self.read("without/relations.tsv"))
        named = {name for line in self.lines("g.tsv") for name in line.split()[::2]}
        self.assertEqual(set(self.lines("with/entities.tsv")), named)
        self.assertLess(len(self.lines("without/entities.tsv")), len(named))
        held = sorted(named - set(self.lines("without/entities.tsv")))[0].decode()
        self.succeed("predict", "with", "--entity", held)


class Kills(Propagated):
    def test_resumed_after_sigkill(self) -> None:
        """Killed at random moments of both runs and resumed, it ends in the same bytes"""
        words = (*SMALL, "--terms", "embedding+propagation", "--epochs", "20", "--dim", "32",
                 "--propagation-epochs", "12", "--threads", "1", "--hold-out", "0.1")
        draw = random.Random(1)
        start = time.monotonic()
        self.succeed("train", "g.tsv", "whole", *words)
        seconds = time.monotonic() - start
        for _ in range(3 if is_sanitized() else 12):
            command = [BINARY, "train", "g.tsv", "killed", *words, "--resume", "--quiet"]
            with subprocess.Popen(command, cwd=self.folder, env=environment()) as child:
                time.sleep(draw.uniform(0, seconds / 3))
                child.kill()
        self.succeed("train", "g.tsv", "killed", *words, "--resume")
        self.succeed("train", "g.tsv", "killed", *words, "--resume")
        self.assertEqual(self.tensors("killed"), self.tensors("whole"))
        files = [sorted(path.name for path in (self.folder / m).iterdir()) for m in ("killed", "whole")]
        self.assertEqual(*files)
        self.assertFalse((self.folder / "killed.training").exists())


class Answers(Propagated):
    def test_ranks_of_predict(self) -> None:
        """The right answer has the rank in predict's list that eval gives it"""
        self.succeed("train", "data", "model", *ALONE)
        self.succeed("eval", "model", "data", "--ranks", "ranks.tsv", "--ties", "optimistic")
        facts: dict[str, list[list[str]]] = {}
        seen = {name for line in self.lines("data/train.tsv") for name in line.decode().split()[::2]}
        for line in self.lines("data/unseen-test.tsv"):
            fact = line.decode().split()
            facts.setdefault(fact[0] if fact[0] not in seen else fact[2], []).append(fact)
        compared = 0
        for line in self.lines("ranks.tsv"):
            entity, relation, side, answer, rank, _ = line.decode().split("\t")
            fact = [entity, relation, answer] if side == "tail" else [answer, relation, entity]
            rest = [f for f in facts[entity] if f != fact]
            if len(rest) == 0:
                continue
            compared += 1
            self.write({"one.tsv": "".join("\t".join(f) + "\n" for f in rest).encode()})
            listed = self.succeed("predict", "model", "one.tsv", "--relation", relation, "--side",
                                  side, "-k", "200", "--json").json["entities"][0]["answers"]
            own = next(a["score"] for a in listed if a["entity"] == answer)
            self.assertEqual(1 + sum(a["score"] > own for a in listed), float(rank))
        self.assertGreater(compared, 10)

    def test_without_embedding(self) -> None:
        """A model without vectors says so where they are asked for"""
        self.succeed("train", "data", "model", *ALONE)
        self.write({"new.tsv": b"new\tr0\te0\n"})
        for words in ("embed model new.tsv", "neighbors model new.tsv", "export model --format npy --out out"):
            self.refuse(*words.split(),
                        pattern="expected a model with the term embedding, found one without")


@dataclass(frozen=True)
class Refused:
    name: str
    words: str
    pattern: str


REFUSED = [
    Refused("rows", "--terms propagation --psi 0.5", "--psi: expected 1 for propagation.*"),
    *(Refused(f"no {words.split()[0]}", f"--terms propagation {words}",
              f"--terms: expected embedding or echo for {words.split()[0]}, found propagation")
      for words in ("--loss softmax", "--lr 0.1", "--lr-last 0.1", "--batch 9", "--epochs 3", "--optimizer adam",
                    "--negatives 5", "--patience 1")),
    *(Refused(f"no {words.split()[0]}", f"--terms propagation {words}",
              f"--terms: expected embedding among them for {words.split()[0]}, found propagation")
      for words in ("--aggregate ls", "--relations shared", "--aggregate-relations shared", "--ls-lambda 1",
                    "--exclude triple", "--dropout 0.1", "--regularizer l2", "--l2 0", "--graft-power 1")),
    Refused("no rows", "--terms propagation --dim 8",
            "--terms: expected embedding among them for --dim, found .*"),
    Refused("no propagation", "--terms embedding --propagation-layers 2",
            "--terms: expected propagation among them for --propagation-layers, found .*"),
    Refused("layers", "--terms propagation --propagation-layers 9",
            "--propagation-layers: expected at most 8, found 9"),
    Refused("width", "--terms propagation --propagation-width 20",
            "--propagation-width: expected a multiple of 16 from 0 to 1024, found 20"),
    Refused("rank", "--terms all --propagation-relations 65",
            "--propagation-relations: expected at most 64, found 65"),
    Refused("no term", "--terms none", "--terms: expected at least one.*"),
    Refused("another term", "--terms embedding+nothing", ".*--terms.*embedding.*propagation.*"),
]


@cases(REFUSED)
class Refusals(Propagated):
    def check(self, row: Refused) -> None:
        self.refuse("train", "data", "m", *row.words.split(), pattern=row.pattern)
