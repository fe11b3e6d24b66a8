"""kgraft calibrate: probabilities are for the aggregate that they were made with, of entities that the
model does not know.

What a calibration comes to is held against the plain way in tests/unit/test_calibrate.c.
"""

from __future__ import annotations

from typing import Any

from grafted import AGGREGATES, Fact, Grafted, as_tsv

WARNING = (
    "probabilities do not hold: the model is calibrated for --aggregate '{}', not for {} "
    "(kgraft calibrate MODEL DATASET --aggregate {} makes it so)"
)


class Aggregates(Grafted):
    """In-sample validation facts, as models that are adopted have them."""

    def setUp(self) -> None:
        super().setUp()
        valid, train = self.known[:60:2], self.known[1::2] + self.known[60:]
        self.write({"seen/train.txt": as_tsv(train), "seen/valid.txt": as_tsv(valid)})

    def config(self) -> Any:
        return self.succeed("info", "model", "--json").json

    def says(self, *words: str) -> str:
        return self.succeed(*words).stderr.decode()

    def test_each_has_its_own(self) -> None:
        found = set()
        for aggregate in AGGREGATES:
            self.succeed("calibrate", "model", "seen", "--aggregate", aggregate)
            found.add(self.read("model/calibration.safetensors"))
            about = self.config()["calibration"]
            self.assertEqual(about["aggregate"], aggregate)
            self.assertEqual(about["part"], "valid")
            self.assertEqual("ls_lambda" in about, aggregate == "ls")
            self.assertEqual("ials_alpha" in about, aggregate == "ials")
            shown = self.succeed("info", "model").stdout.decode()
            self.assertRegex(shown, rf"(?m)^calibration\n  aggregate +{aggregate}$")
        self.assertEqual(len(found), len(AGGREGATES))

    def test_predict_and_explain_say_what_it_is_for(self) -> None:
        head, relation, tail = self.facts[0]
        answer = tail if tail in self.seen else head
        asked = "--relation", relation, "--answer", answer, "--entity", head if answer == tail else tail
        self.assertEqual(self.config()["calibration"]["aggregate"], "eravg")
        self.succeed("calibrate", "model", "seen", "--aggregate", "ls")
        for words in (("predict", "model", "facts.tsv"), ("explain", "model", "facts.tsv", *asked)):
            self.assertIn(WARNING.format("ls", "eravg", "eravg"), self.says(*words))
            self.assertEqual(self.says(*words, "--aggregate", "ls"), "")
            lambdas = self.says(*words, "--aggregate", "ls", "--ls-lambda", "0.7")
            self.assertIn("calibrated for --aggregate 'ls' with other settings, not for these", lambdas)
            for aggregate, holds in (("eavg", False), ("ls", True)):
                found = self.ask(*words, "--aggregate", aggregate)["calibration"]
                self.assertEqual(found, {"aggregate": "ls", "holds": holds})
        known = "--entity", self.known[0][0]
        for words in (("predict", "model", *known), ("explain", "model", *known, *asked[:4])):
            for more in (), ("--quiet",), ("--json",):
                self.assertEqual(self.says(*words, *more), WARNING.format("ls", "eravg", "eravg") + "\n")
            self.assertFalse(self.ask(*words)["calibration"]["holds"])

    def test_older_ones_are_for_what_was_trained(self) -> None:
        with self.change_config("model") as config:
            del config["calibration"]
        self.assertEqual(self.says("predict", "model", "facts.tsv"), "")
        shown = self.says("predict", "model", "facts.tsv", "--aggregate", "ls")
        self.assertIn(WARNING.format("eravg", "ls", "ls"), shown)

    def test_no_validation_facts(self) -> None:
        """What they are is said, and that models of a graph as it is need none"""
        self.write({"all.tsv": as_tsv(self.known)})
        pattern = (
            r"expected a data set with validation facts \(valid.tsv .*\), found none "
            r"\(kgraft train calibrates its models by itself\)"
        )
        self.refuse("calibrate", "model", "all.tsv", pattern=pattern)

    def test_entities_without_facts(self) -> None:
        """Nothing can be said where there is nothing to embed from"""
        self.write({"none/train.txt": as_tsv(self.known[:1]), "none/valid.txt": as_tsv(self.known[:1])})
        pattern = "expected entities in valid with other facts to be embedded from, found none"
        self.refuse("calibrate", "model", "none", pattern=pattern)


class Known(Grafted):
    """Unseen entities of the data set that the model was trained with."""

    def of(self, part: str, names: set[str]) -> tuple[list[Fact], list[Fact]]:
        """The facts of a part with these names, and the others."""
        lines = self.read(f"data/{part}.tsv").decode().splitlines()
        facts: list[Fact] = [(h, r, t) for h, r, t in (line.split("\t") for line in lines)]
        return ([f for f in facts if {f[0], f[2]} & names], [f for f in facts if not {f[0], f[2]} & names])

    def unseen(self, part: str) -> list[str]:
        facts = self.of(part, set())[1]
        return sorted({end for fact in facts for end in (fact[0], fact[2])} - self.seen)

    def learn(self, part: str, names: list[str]) -> None:
        """Trains the model with what the part has about them, too."""
        learned = self.known + self.of(part, set(names))[0]
        self.write({"more.tsv": as_tsv(learned)})
        self.succeed("train", "more.tsv", "model", "--force", *"--preset paper --dim 8 --epochs 2".split())

    def write_rest(self, part: str, names: list[str]) -> None:
        """A data set that does not have them."""
        parts = {name: self.of(name, set())[1] for name in ("train", "unseen-valid", "unseen-test")}
        parts[part] = self.of(part, set(names))[1]
        self.write({f"rest/{name}.tsv": as_tsv(facts) for name, facts in parts.items()})

    def test_eval(self) -> None:
        some = self.unseen("unseen-test")[:3]
        queries = len(self.of("unseen-test", set(some))[0])
        self.learn("unseen-test", some)
        self.write_rest("unseen-test", some)
        found = self.ask("eval", "model", "data")
        self.assertEqual(found.pop("left_out"), {"entities": 3, "queries": queries})
        expected = self.ask("eval", "model", "rest")
        self.assertEqual(expected.pop("left_out"), {"entities": 0, "queries": 0})
        self.assertEqual(found, expected)
        shown = self.succeed("eval", "model", "data").stdout.decode()
        self.assertIn(f"\nleft out: 3 unseen entities that the model knows, with {queries} queries\n", shown)
        self.assertNotIn("left out", self.succeed("eval", "model", "rest").stdout.decode())

    def test_all_of_them(self) -> None:
        for part, words in (("unseen-test", ("eval",)), ("unseen-valid", ("calibrate",))):
            names = self.unseen(part)
            self.learn(part, names)
            pattern = (
                f"expected entities in {part} that the model does not know, found that it was "
                rf"trained with all {len(names)} of them \(.*\)"
            )
            self.refuse(*words, "model", "data", pattern=pattern)

    def test_calibrate(self) -> None:
        some = self.unseen("unseen-valid")[:2]
        self.learn("unseen-valid", some)
        self.write_rest("unseen-valid", some)
        said = self.succeed("calibrate", "model", "data").stderr.decode()
        self.assertIn("left out: 2 unseen entities that the model knows\n", said)
        found = self.read("model/calibration.safetensors")
        self.assertEqual(self.succeed("info", "model", "--json").json["calibration"]["left_out"], 2)
        self.succeed("calibrate", "model", "rest")
        self.assertEqual(self.read("model/calibration.safetensors"), found)
        self.assertEqual(self.succeed("info", "model", "--json").json["calibration"]["left_out"], 0)
