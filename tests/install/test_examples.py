"""The programs in examples/, compiled as their first lines say against what is installed, and run.

What they print must be what the tool says in JSON.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, ClassVar

from installed import STRICT, installation, output
from kgraft import ROOT, TIMEOUT, Word, run

EXAMPLES = ROOT / "examples"


class Examples(unittest.TestCase):
    folder: ClassVar[Path]
    facts: ClassVar[list[list[str]]]
    kernels: ClassVar[dict[str, str]]

    @classmethod
    def setUpClass(cls) -> None:
        holder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = Path(holder.name)
        cls.kgraft("generate", "g.tsv", "--facts", "600", "--entities", "80", "--relations", "4")
        cls.kgraft("split", "g.tsv", "data", "--seed", "1")
        cls.kgraft("train", "data", "model")
        machine = json.loads((cls.folder / "model/config.json").read_text())["machine"]
        # The tool executes itself again where OpenBLAS does not know the processor, programs of users do not.
        cls.kernels = {"OPENBLAS_CORETYPE": machine["kernels"]}
        lines = (cls.folder / "data/unseen-test.tsv").read_text().splitlines()
        cls.facts = [line.split("\t") for line in lines[:30]]
        cls.write_facts("facts.tsv", cls.facts)
        for source in EXAMPLES.glob("*.c"):
            cls.compile(source, cls.folder)

    @classmethod
    def compile(cls, source: Path, where: Path, *options: str) -> None:
        """By the command that the program itself gives, strictly."""
        command = re.search(r"(?m)^ \* +(cc .*)$", source.read_text())
        assert command is not None, source
        strict = command[1].replace("cc ", f"cc {' '.join([*STRICT, *options])} ").replace(
            source.name, str(source)
        )
        output(["sh", "-c", strict], cwd=where, env=installation().environment)

    @classmethod
    def kgraft(cls, *words: Word) -> Any:
        result = run(*words, "--quiet", cwd=cls.folder)
        assert result.status == 0, result
        return result

    @classmethod
    def write_facts(cls, name: str, facts: list[list[str]]) -> None:
        (cls.folder / name).write_text("".join("\t".join(fact) + "\n" for fact in facts))

    def run_example(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / name, *words],
            cwd=self.folder, env={**installation().environment, **self.kernels}, capture_output=True, text=True,
            timeout=TIMEOUT, check=False,
        )

    def succeed(self, name: str, *words: str) -> list[list[str]]:
        """The columns of what it prints."""
        done = self.run_example(name, *words)
        self.assertEqual(done.returncode, 0, done)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def refuse(self, name: str, *words: str, status: int = 1, pattern: str) -> None:
        done = self.run_example(name, *words)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done)
        self.assertRegex(done.stderr, pattern)

    def assert_near(self, texts: list[str], numbers: list[float]) -> None:
        self.assertEqual(len(texts), len(numbers))
        for text, number in zip(texts, numbers):
            self.assertAlmostEqual(float(text), number, delta=1e-6 * max(1, abs(number)))

    # -- a header of a later version

    def test_newer_header(self) -> None:
        """Programs that were compiled with more fields do the same with this library"""
        newer = self.folder / "newer"
        newer.mkdir()
        header, count = re.subn(
            r"(typedef struct kg_\w+ \{\s+size_t size;[^}]*)", r"\1    double came_later[3];\n",
            installation().header.read_text(),
        )
        self.assertGreater(count, 5)
        (newer / "kgraft.h").write_text(header)
        for source in EXAMPLES.glob("*.c"):
            self.compile(source, newer, f"-I{newer}")
        for name, *words in (
            ("predict", "model", "facts.tsv"),
            ("explain", "model", "facts.tsv", "r1", self.known_entity()),
            ("train", "data", "theirs"),
        ):
            self.assertEqual(self.succeed(f"newer/{name}", *words), self.succeed(name, *words))

    def known_entity(self) -> str:
        return (self.folder / "data/train.tsv").read_text().split("\t")[0]

    # -- predict

    def check_predictions(self, found: list[list[str]], *words: str) -> None:
        told = self.kgraft("predict", "model", "facts.tsv", "--json", *words).json
        answers = [answer for entity in told["entities"] for answer in entity["answers"]]
        self.assertGreater(len(answers), 10)
        self.assertEqual(len(found), len(answers))
        for row, answer in zip(found, answers):
            self.assertEqual(row[:3], [answer["head"], answer["relation"], answer["tail"]])
            self.assert_near(row[3:], [answer["score"], answer["probability"]])

    def test_predict(self) -> None:
        self.check_predictions(self.succeed("predict", "model", "facts.tsv"))

    def test_predict_one_relation(self) -> None:
        found = self.succeed("predict", "model", "facts.tsv", "r1")
        self.check_predictions(found, "--relation", "r1", "--side", "tail")

    def test_predict_refuses(self) -> None:
        self.refuse("predict", status=2, pattern="usage: ")
        self.refuse("predict", "nowhere", "facts.tsv", pattern=r"\Apredict: nowhere.*\n\Z")
        self.refuse("predict", "model", "nothing.tsv", pattern=r"\Apredict: nothing\.tsv: .*\n\Z")
        self.refuse("predict", "model", "facts.tsv", "r99", pattern="no relation r99")

    # -- other graphs

    def test_other_graph(self) -> None:
        lines = (self.folder / "g.tsv").read_text().splitlines(keepends=True)
        (self.folder / "other.tsv").write_text("".join(f"new {l}" for l in lines[:200] if "r1" in l))
        self.kgraft("train", "data", "mover", "--terms", "propagation", "--propagation-epochs", "1")
        entity = "new " + next(l for l in lines if "r1" in l).split("\t")[0]
        found = self.succeed("other_graph", "mover", "other.tsv", entity, "r1")
        words = ("--graph", "other.tsv", "--entity", entity, "--relation", "r1", "--side", "tail")
        (told,) = self.kgraft("predict", "mover", *words, "--json").json["entities"]
        self.assertEqual([row[0] for row in found], [a["entity"] for a in told["answers"]])
        self.assert_near([row[1] for row in found], [a["score"] for a in told["answers"]])

    def test_other_graph_refuses(self) -> None:
        self.refuse("other_graph", "model", status=2, pattern="usage: ")
        self.refuse("other_graph", "model", "none.tsv", "a", "r1", pattern=r"none\.tsv")

    # -- explain

    def test_explain(self) -> None:
        trained = set((self.folder / "data/train.tsv").read_text().split())
        asked = next(fact for fact in self.facts if fact[0] not in trained)
        new_entity, relation, answer = asked
        others = [fact for fact in self.facts if new_entity in fact and fact != asked]
        self.assertGreater(len(others), 1)
        self.write_facts("others.tsv", others)
        first, *found = self.succeed("explain", "model", "others.tsv", relation, answer)
        words = ["--relation", relation, "--answer", answer]
        told = self.kgraft("explain", "model", "others.tsv", "--json", *words).json
        self.assert_near(first[:2], [told["score"], told["rank"]])
        rests = {row[1]: row[:1] for row in found if len(row) == 2}
        ours = {tuple(row[2:]): row[:2] for row in found if len(row) > 2}
        self.assertEqual(len(ours), len(others))
        self.assertGreater(len(rests), 0)
        expected = {f"rest: {t['term']}": t["rest"] for t in told["terms"] if t["rest"] != 0}
        self.assertEqual(rests.keys(), expected.keys())
        for name, rest in expected.items():
            self.assert_near(rests[name], [rest])
        for fact in told["shares"]:
            name = tuple(
                "*" if fact[part] == new_entity else fact[part]
                for part in ("head", "relation", "tail")
            )
            self.assert_near(ours[name], [fact["part"], fact["rank_without"]])
        self.assertAlmostEqual(sum(float(row[0]) for row in found), float(first[0]), 5)

    def test_explain_refuses(self) -> None:
        self.refuse("explain", status=2, pattern="usage: ")
        for relation, answer in ("r99", "e1"), ("r1", "nobody"):
            words = ["model", "facts.tsv", relation, answer]
            self.refuse("explain", *words, pattern="does not know (r99|nobody)")

    # -- live

    def test_live(self) -> None:
        """While the fact is there, what the tool says of it; afterwards the entity is gone"""
        self.kgraft("store", "model", "store")
        known = self.known_entity()
        found = self.succeed("live", "store", "somebody", "r1", known)
        self.write_facts("somebody.tsv", [["somebody", "r1", known]])
        words = ("--relation", "r1", "--side", "tail", "--json")
        (told,) = self.kgraft("predict", "model", "somebody.tsv", *words).json["entities"]
        self.assertEqual(found[0], ["change 1"])
        self.assertEqual([row[0] for row in found[1:-2]], [a["entity"] for a in told["answers"]])
        self.assert_near([row[1] for row in found[1:-2]], [a["score"] for a in told["answers"]])
        self.assertEqual(found[-2:], [["change 2"], ["no facts"]])

    def test_live_refuses(self) -> None:
        self.refuse("live", status=2, pattern="usage: ")
        self.refuse("live", "model", "a", "r1", "b", pattern="live: model: expected a store")

    # -- train

    def test_train(self) -> None:
        """The same bytes as kgraft train, the same metrics as kgraft eval"""
        found = self.succeed("train", "data", "ours")
        for name in "model.safetensors", "entities.tsv", "relations.tsv":
            ours, theirs = self.folder / "ours" / name, self.folder / "model" / name
            self.assertEqual(ours.read_bytes(), theirs.read_bytes(), name)
        told = self.kgraft("eval", "model", "data", "--json").json
        self.assertEqual([row[0] for row in found], ["queries", "MRR", "Hit@1", "Hit@3", "Hit@10"])
        hits = [told["hits"][most] for most in ("1", "3", "10")]
        self.assert_near([row[1] for row in found], [told["queries"], told["mrr"], *hits])

    def test_train_refuses(self) -> None:
        self.refuse("train", status=2, pattern="usage: ")
        self.refuse("train", "nowhere", "none", pattern="train: nowhere")
        self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    unittest.main()
