"""kgraft eval: ranks and metrics, against golden ones and against each other.

That ranking in tiles is right is for the unit tests; here it is the command: real data, what it
prints and writes, and models it cannot use.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgraft import SHARED, TIMEOUT, Case, cases, is_sanitized, numbers_of_data, run, tsv, unpacked_data
from test_train import SMALL_PROPAGATION, Trained, read_safetensors

# ---------------------------------------------------------------------------------------------
# Embeddings given by a formula, with known metrics


@dataclass(frozen=True)
class Golden:
    dim: int
    split: str
    aggregate: str

    @property
    def name(self) -> str:
        return f"oWN18RR, hashed embeddings of {self.dim}: {self.split}, {self.aggregate}"


GOLDEN = [
    Golden(dim, split, aggregate)
    for dim in (32, 200)
    for split in ("valid", "test")
    for aggregate in ("eravg", "eavg", "ls", "ls-u")
]


@functools.cache
def hashed_model(dim: int, out: Path, *words: str) -> Path:
    script = Path(__file__).with_name("hashed_model.py")
    model = out / f"hashed{dim}"
    dataset = unpacked_data() / "oWN18RR"
    command = ["/usr/bin/python3", "-B", script, dataset, str(dim), model, *words]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    return model


@functools.cache
def golden_results() -> list[dict[str, Any]]:
    results: list[dict[str, Any]]
    results = json.loads((SHARED / "golden" / "hashed-oWN18RR.json").read_text())["results"]
    return results


def check_golden(case: unittest.TestCase, row: Golden, model: Path) -> None:
    """Evaluates a model of hashed embeddings and compares it with what is given."""
    expected = next(
        result
        for result in golden_results()
        if (result["dim"], result["split"], result["aggregate"])
        == (row.dim, row.split, row.aggregate)
    )
    ridge = " --ls-lambda 0.01" if row.aggregate.startswith("ls") else ""
    words = f"--split {row.split} --aggregate {row.aggregate}{ridge}".split()
    options = (*words, "--ties", "reference", "--json", "--quiet")
    result = run("eval", model, unpacked_data() / "oWN18RR", *options, cwd=model.parent)
    case.assertEqual(result.status, 0, result)
    found = result.json
    case.assertEqual(found["queries"], expected["queries"])
    case.assertAlmostEqual(found["mrr"], expected["mrr"], delta=1e-5)
    case.assertAlmostEqual(found["mr"], expected["mr"], delta=0.1)
    for k, share in expected["hits"].items():
        case.assertAlmostEqual(found["hits"][k], share, delta=1.7e-4 if row.dim == 200 else 1e-4)


@numbers_of_data
@cases(GOLDEN)
class Hashed(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.out = Path(tempfile.mkdtemp(prefix="kgraft-eval-"))
        cls.addClassCleanup(shutil.rmtree, cls.out)

    def check(self, row: Golden) -> None:
        if is_sanitized() and row.dim > 32:
            self.skipTest("a sanitizer takes too long for as much as that")
        check_golden(self, row, hashed_model(row.dim, self.out))


# ---------------------------------------------------------------------------------------------
# Baselines, with published numbers


@dataclass(frozen=True)
class Baseline:
    data: str
    baseline: str
    mrr: float
    delta: float
    hits: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.data}: {self.baseline}"


@numbers_of_data
@cases(
    [
        # The paper's row, to the digit; the others by an implementation of someone else.
        Baseline("oWN18RR", "popularity", 0.0094, 5e-5, (0.0030, 0.0076, 0.0215)),
        Baseline("oFB15k-237", "popularity", 0.0325, 5e-5),
        Baseline("oWN18RR", "relation-popularity", 0.024, 5e-4),
        Baseline("oFB15k-237", "relation-popularity", 0.200, 5e-4),
        Baseline("oWN18RR", "echo", 0.284, 5e-4),
        Baseline("oFB15k-237", "echo", 0.132, 5e-4),
    ]
)
class Baselines(Case):
    def check(self, row: Baseline) -> None:
        if is_sanitized() and row.data != "oWN18RR":
            self.skipTest("a sanitizer takes too long for as much as that")
        options = ("--baseline", row.baseline, "--json", "--quiet")
        found = self.succeed("eval", unpacked_data() / row.data, *options).json
        self.assertAlmostEqual(found["mrr"], row.mrr, delta=row.delta)
        for k, share in zip(("1", "3", "10"), row.hits):
            self.assertAlmostEqual(found["hits"][k], share, delta=row.delta)


# ---------------------------------------------------------------------------------------------
# A small model


class Evaluated(Trained):
    """A trained model lies in `model`."""

    def fill(self) -> None:
        super().fill()
        self.train("model")

    def evaluate(self, *words: str) -> Any:
        return self.succeed("eval", "model", "data", "--json", "--quiet", *words).json


class Metrics(Evaluated):
    def test_groups_are_made_of_the_whole(self) -> None:
        found = self.evaluate()
        parts = {
            "bins": found["bins"],
            "sides": list(found["by_side"].values()),
            "relations": list(found["by_relation"].values()),
            "echoes": [found["echo"], found["fresh"]],
        }
        for name, groups in parts.items():
            self.assertEqual(sum(group["queries"] for group in groups), found["queries"], name)
            sums = sum(group["mrr"] * group["queries"] for group in groups)
            self.assertAlmostEqual(sums / found["queries"], found["mrr"], msg=name)

    def test_ranks(self) -> None:
        found = self.evaluate("--ranks", "ranks.tsv")
        lines = [line.split("\t") for line in self.read("ranks.tsv").decode().splitlines()]
        self.assertEqual(len(lines), found["queries"])
        ranks = [float(line[4]) for line in lines]
        self.assertAlmostEqual(sum(1 / rank for rank in ranks) / len(ranks), found["mrr"])
        unseen = self.read("data/unseen-test.tsv").decode().splitlines()
        facts = {tuple(line.split("\t")) for line in unseen}
        for entity, relation, side, answer, _, used in lines:
            fact = (entity, relation, answer) if side == "tail" else (answer, relation, entity)
            self.assertIn(fact, facts)
            of_entity = sum(entity in (fact[0], fact[2]) for fact in facts)
            self.assertEqual(int(used), of_entity - 1)
        echoes = 0
        for entity, _, _, answer, _, _ in lines:
            others = [fact for fact in facts if {fact[0], fact[2]} == {entity, answer}]
            echoes += len(others) > 1
        self.assertEqual(found["echo"]["queries"], echoes)

    def test_threads(self) -> None:
        self.assertEqual(self.evaluate("--threads", "1"), self.evaluate("--threads", "7"))

    def test_validation_is_as_in_training(self) -> None:
        config = json.loads(self.read("model/config.json"))
        best = config["history"][config["best_epoch"] - 1]["valid"]
        found = self.evaluate("--split", "valid")
        self.assertAlmostEqual(found["mrr"], best["mrr"])
        self.assertAlmostEqual(found["mr"], best["mr"])

    def test_order_of_the_data_does_not_matter(self) -> None:
        lines = self.read("data/train.tsv").splitlines(keepends=True)
        for part in ("unseen-valid", "unseen-test"):
            self.write({f"other/{part}.tsv": self.read(f"data/{part}.tsv")})
        self.write({"other/train.tsv": b"".join(reversed(lines))})
        found = self.succeed("eval", "model", "other", "--json", "--quiet").json
        self.assertAlmostEqual(found["mrr"], self.evaluate()["mrr"])

    def test_table(self) -> None:
        result = self.succeed("eval", "model", "data", "--quiet", "--bins", "2")
        lines = result.stdout.decode().splitlines()
        labels = [line[:24].strip() for line in lines]
        self.assertEqual(labels[1:6], ["all", "echoes", "fresh", "head missing", "tail missing"])
        self.assertRegex(lines[-1], "^echoes: another fact links .* to the right answer; fresh: none does$")

    def test_groups_without_queries_are_left_out(self) -> None:
        """No two facts link the same entities, so there is no echo"""
        names = sorted({line.split(b"\t")[0] for line in self.read("data/train.tsv").splitlines()})
        facts = [b"new\tr0\t" + name + b"\n" for name in names[:3]]
        self.write({"few/train.tsv": self.read("data/train.tsv"), "few/unseen-test.tsv": b"".join(facts),
                    "few/unseen-valid.tsv": b"".join(facts).replace(b"new", b"other")})
        shown = self.succeed("eval", "model", "few", "--quiet").stdout.decode()
        labels = [line[:24].strip() for line in shown.splitlines()]
        self.assertEqual(labels[1:4], ["all", "fresh", "tail missing"])

    def test_in_sample(self) -> None:
        facts = self.read("data/train.tsv").splitlines(keepends=True)
        self.write(
            {
                "seen/train.tsv": b"".join(facts[:-40]),
                "seen/valid.tsv": b"".join(facts[-40:-20]),
                "seen/test.tsv": b"".join(facts[-20:]),
            }
        )
        self.succeed("train", "seen", "seen-model", *"--dim 8 --epochs 2 --quiet".split(), *SMALL_PROPAGATION)
        found = self.succeed("eval", "seen-model", "seen", "--in-sample", "--json", "--quiet").json
        self.assertEqual(found["queries"], 40)
        self.assertNotIn("echo", found)


class Live(Trained):
    """With facts between unseen entities, and a model of all terms."""

    def fill(self) -> None:
        super().fill()
        self.succeed("split", "g.tsv", "between", "--keep-between", "--quiet")
        words = "--dim 8 --epochs 2 --propagation-epochs 1 --threads 1 --quiet".split()
        self.succeed("train", "between", "model", *words)

    def evaluate(self, data: str, *words: str) -> Any:
        return self.succeed("eval", "model", data, "--json", "--quiet", *words).json

    def test_beside_what_is_said_without_it(self) -> None:
        found = self.evaluate("between", "--live", "--ranks", "ranks.tsv")
        live = found.pop("live")
        self.assertEqual(found, self.evaluate("between"))
        counts = self.succeed("stats", "between", "--json", "--quiet").json
        self.assertGreater(counts["between_test"], 0)
        self.assertEqual(live["entities"], counts["unseen_test"])
        self.assertEqual(live["facts"], counts["queries_test"] + counts["between_test"])
        self.assertEqual(live["known"]["queries"], counts["queries_test"])
        self.assertEqual(live["among_known"]["queries"], counts["queries_test"])
        self.assertGreater(live["among_known"]["mrr"], live["known"]["mrr"])
        self.assertEqual(live["later"]["queries"], 2 * counts["between_test"])
        lines = [line.split("\t") for line in self.read("ranks.tsv").decode().splitlines()]
        unseen = {line[0] for line in lines}
        ranks = [float(line[4]) for line in lines if line[3] in unseen]
        self.assertEqual(len(ranks), live["later"]["queries"])
        self.assertAlmostEqual(sum(1 / rank for rank in ranks) / len(ranks), live["later"]["mrr"])

    def test_threads(self) -> None:
        words = ("--live", "--split", "valid")
        one = self.evaluate("between", *words, "--threads", "1")
        self.assertEqual(one, self.evaluate("between", *words, "--threads", "3"))

    def test_without_facts_between_unseen_entities(self) -> None:
        found = self.evaluate("data", "--live")
        self.assertEqual(found["live"]["later"]["queries"], 0)
        self.assertEqual(found["live"]["known"]["queries"], found["queries"])

    def test_table(self) -> None:
        shown = self.succeed("eval", "model", "between", "--live", "--quiet").stdout.decode()
        labels = [line[:24].strip() for line in shown.splitlines()]
        self.assertIn("all added: known answers", labels)
        self.assertIn("among known entities", labels)
        self.assertIn("all added: later answers", labels)

    def test_refused(self) -> None:
        pattern = r"--live: expected a model and queries about unseen entities, found --{}"
        self.refuse("eval", "model", "data", "--live", "--in-sample", pattern=pattern.format("in-sample"))
        self.refuse("eval", "data", "--live", "--baseline", "echo", pattern=pattern.format("baseline"))


class Averages(Evaluated):
    def test_oov(self) -> None:
        """Every unseen entity is the average of all rows: ranks by an implementation of our own"""
        self.evaluate("--baseline", "oov", "--ranks", "ranks.tsv")
        tensors = read_safetensors(self.read("model/model.safetensors"))
        rows = tensors["entities"]
        average = [sum(column) / len(rows) for column in zip(*rows)]
        entities = self.read("model/entities.tsv").decode().splitlines()
        relations = self.read("model/relations.tsv").decode().splitlines()
        facts = [line.split("\t") for line in self.read("data/unseen-test.tsv").decode().splitlines()]
        for line in self.read("ranks.tsv").decode().splitlines():
            entity, relation, side, answer, rank, _ = line.split("\t")
            weights = tensors["relations"][relations.index(relation)]
            query = [a * w for a, w in zip(average, weights)]
            scores = {
                name: sum(x * y for x, y in zip(row, query)) for name, row in zip(entities, rows)
            }
            ends = (0, 2) if side == "tail" else (2, 0)
            known = {f[ends[1]] for f in facts if f[1] == relation and f[ends[0]] == entity}
            rivals = [name for name in entities if name not in known]
            higher = sum(scores[name] > scores[answer] for name in rivals)
            self.assertAlmostEqual(float(rank), higher + 1, delta=1)


# ---------------------------------------------------------------------------------------------
# What cannot be evaluated


class Refused(Evaluated):
    def test_part_that_is_not_there(self) -> None:
        pattern = "data: expected a data set with facts in test, found none .try without .*"
        self.refuse("eval", "model", "data", "--in-sample", status=2, pattern=pattern)
        self.refuse("eval", "model", "data/train.tsv", status=2,
                    pattern="data/train.tsv: .* facts in unseen-test, found none .kgraft split makes .*")

    def test_other_entities(self) -> None:
        self.write({"new/train.tsv": tsv("a r0 b"), "new/unseen-test.tsv": tsv("x r0 a", "x r0 b")})
        pattern = "expected a model that knows the data set's entities, found that it lacks 'a'"
        self.refuse("eval", "model", "new", status=2, pattern=pattern)

    def test_baseline_that_needs_no_model(self) -> None:
        pattern = "expected DATASET alone for a baseline that counts facts, found 2 arguments"
        self.refuse("eval", "model", "data", "--baseline", "echo", status=2, pattern=pattern)

    def test_baseline_that_needs_a_model(self) -> None:
        pattern = "expected MODEL and DATASET, found 1 argument"
        self.refuse("eval", "data", "--baseline", "oov", status=2, pattern=pattern)

    def test_options_without_a_meaning(self) -> None:
        """What would be ignored is refused"""
        oov = r"--baseline oov: expected queries about unseen entities, found --in-sample"
        self.refuse("eval", "model", "data", "--baseline", "oov", "--in-sample", pattern=oov)
        for option, value in (
            ("aggregate", "ls"),
            ("ls-lambda", "1"),
            ("ls-rows", "weighted"),
            ("ials-alpha", "1"),
            ("ials-lambda", "1"),
        ):
            pattern = rf"--{option}: expected unseen entities .*, found --in-sample"
            self.refuse("eval", "model", "data", "--in-sample", f"--{option}", value,
                        pattern=pattern)
            pattern = rf"--{option}: expected unseen entities .*, found --baseline"
            self.refuse("eval", "data", "--baseline", "echo", f"--{option}", value, pattern=pattern)

    def test_settings_of_another_aggregator(self) -> None:
        for words in ("--aggregate eavg --ls-lambda 1", "--aggregate eravg --ls-rows weighted", "--aggregate ls --ials-alpha 1",
                      "--aggregate eavg --ials-lambda 1"):
            _, aggregate, option, value = words.split()
            pattern = f"{option}: expected an aggregator that it is a setting of, found {aggregate}"
            self.refuse("eval", "model", "data", *words.split(), status=2, pattern=pattern)

    def test_ranks_in_place_of_what_is_read(self) -> None:
        for path in ("data/train.tsv", "model/config.json"):
            pattern = f"--ranks: expected a file apart from what is read, found '{path}' in it"
            self.refuse("eval", "model", "data", "--ranks", path, pattern=pattern)

    def test_names_without_a_twin(self) -> None:
        expected = self.evaluate()
        with self.change_config("model") as config:
            for name in ("names.idx", "known.bin"):
                del config["files"][name]
                (self.folder / "model" / name).unlink()
        self.assertEqual(self.evaluate(), expected)

    def test_damaged_twin(self) -> None:
        with self.change_config("model"):
            pass
        for name, what in (("names.idx", "names"), ("known.bin", "facts")):
            good = self.read(f"model/{name}")
            self.write({f"model/{name}": good[:128] + b"\xff" * 60 + good[188:]})
            pattern = f"model/{name}: expected a file as kgraft writes it, found {what} .*"
            self.refuse("eval", "model", "data", status=2, pattern=pattern)
            self.write({f"model/{name}": good})

    def test_no_bins(self) -> None:
        pattern = "--bins: expected 1 to 1000, found 0"
        self.refuse("eval", "model", "data", "--bins", "0", status=2, pattern=pattern)

    def test_negative_ridge(self) -> None:
        for ridge in ("-1", "0", "1e-60"):
            pattern = f"--ls-lambda: expected a ridge above 0 .*, found {ridge}"
            self.refuse("eval", "model", "data", "--ls-lambda", ridge, status=2, pattern=pattern)

    def test_ials_as_trained(self) -> None:
        """What it was trained with is what it is asked with, unless said otherwise"""
        given = ("--aggregate", "ials", "--ials-alpha", "0.5", "--ials-lambda", "2")
        self.train("implicit", "--psi", "0", "--validate-every", "0", *given)
        self.train("plain", "--psi", "0", "--validate-every", "0")
        found = self.succeed("eval", "implicit", "data", "--json").json
        self.assertEqual(self.succeed("eval", "plain", "data", "--json", *given).json, found)
        usual = self.succeed("eval", "plain", "data", "--json", "--aggregate", "ials").json
        self.assertNotEqual(usual, found)

    def test_no_model(self) -> None:
        self.refuse("eval", "nothing", "data", status=2, pattern="nothing: cannot open it: .*")

    def test_truncated_tensors(self) -> None:
        tensors = self.read("model/model.safetensors")
        self.write({"model/model.safetensors": tensors[:-4]})
        pattern = "model: expected 'model.safetensors' as config.json describes it, .*"
        self.refuse("eval", "model", "data", status=2, pattern=pattern)

    def test_names_that_do_not_fit(self) -> None:
        names = self.read("model/entities.tsv")
        first, second, rest = names.split(b"\n", 2)
        self.write({"model/entities.tsv": first + b"\n" + first + b"\n" + rest})
        with self.change_config("model") as config:
            config["files"]["entities.tsv"]["bytes"] += len(first) - len(second)
            del config["files"]["names.idx"]  # so that the names themselves are read
        pattern = r"model/entities\.tsv:2: expected a new name, found that of line 1 again"
        self.refuse("eval", "model", "data", status=2, pattern=pattern)


# ---------------------------------------------------------------------------------------------
# Memory


@unittest.skipIf(is_sanitized(), "a sanitizer needs memory of its own")
class Memory(Case):
    """The parameters and 256 MB, of which a data set of this size takes a part."""

    def test_large_data_set(self) -> None:
        self.succeed("generate", "big.tsv", "--facts", "400000", "--entities", "100000")
        self.succeed("split", "big.tsv", "big", "--quiet", "--unseen", "0.01")
        dim = 100
        self.succeed(
            *("train", "big", "m", "--preset", "paper", "--dim", str(dim), "--epochs", "1"),
            *("--batch", "10000", "--psi", "0", "--l2", "0", "--validate-every", "0", "--quiet"),
        )
        rows = len(self.lines("m/entities.tsv")) + len(self.lines("m/relations.tsv"))
        for aggregate in ("eravg", "ls"):
            peak = self.peak_memory("eval", "m", "big", "--aggregate", aggregate)
            self.assertLess(peak, rows * dim * 4 + 256 * 1024**2, aggregate)


if __name__ == "__main__":
    unittest.main()
