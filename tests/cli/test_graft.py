"""The recipe of graft: training by the softmax loss, and judging by aggregates that know the query.

Gradients are for the unit tests; here a model is read and asked by the formulas alone.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
import unittest
from collections import defaultdict
from dataclasses import dataclass
from typing import Iterator

import test_train
from kgraft import BINARY, ROOT, Case, cases, environment, is_sanitized, tsv
from test_train import SMALL_PROPAGATION, Setting, Tensors, Trained, Wrong, read_safetensors

BASE = "--preset graft --dim 8 --batch 50 --epochs 6 --negatives 30 --validate-every 2 --seed 5".split()
GRAFT = [*BASE, "--terms", "embedding+echo"]

PROPAGATION = "--terms all --propagation-layers 2 --propagation-width 16 --propagation-epochs 1".split()

# A rate that falls depends on the number of epochs; one that does not can be stopped by it.
SETTINGS = [
    Setting("the preset", ""),
    Setting("small batches, all entities", "--batch 7 --negatives all"),
    Setting("complex, shared relations", "--model complex --relations shared"),
    Setting("simple, one vector for facts and queries", "--model simple --aggregate-relations shared"),
    Setting("quate, eravg, sometimes unseen", "--model quate --aggregate eravg --psi 0.5"),
    Setting("never unseen, ls to judge", "--aggregate ls --psi 0 --aggregate-relations shared"),
    Setting("adam, L2", "--optimizer adam --lr 0.01 --lr-last 0.01 --l2 0.1"),
    Setting("neither weights nor echoes", "--graft-weights no --terms embedding --graft-power 1"),
    Setting("no dropout, no order", "--dropout 0 --shuffle no"),
    Setting("complex, N3", "--model complex --psi 0 --aggregate-relations shared --regularizer n3 --n3 0.1"),
    Setting("quate, N3, sometimes unseen", "--model quate --psi 0.5 --regularizer n3"),
    Setting("ls", "--aggregate ls"),
    Setting("ls without echoes", "--aggregate ls --terms embedding"),
    Setting("eravg", "--aggregate eravg"),
    Setting("ls-u, complex", "--aggregate ls-u --model complex"),
    Setting("eavg, sometimes unseen", "--aggregate eavg --psi 0.5 --aggregate-relations shared"),
    Setting("softplus", "--loss softplus --negatives 2"),
    Setting("softplus, N3", "--loss softplus --psi 0.5 --regularizer n3"),
    Setting("softplus, sometimes unseen, Adam", "--loss softplus --psi 0.5 --optimizer adam --l2 0.01"),
    Setting("softplus, eravg, complex", "--loss softplus --aggregate eravg --model complex --negatives 1 --psi 0.5"),
]


class Grafted(Trained):
    def graft(self, model: str, *words: str) -> None:
        self.succeed("train", "data", model, *GRAFT, *words)


class Density(Case):
    def test_many_facts(self) -> None:
        """Where entities have many facts there is less dropout, for more epochs, unless these are given"""
        for name, links, words, expected in (
            ("sparse", 8, "", (0.8, 8)),
            ("dense", 9, "", (0.5, 12)),
            ("chosen", 9, "--dropout 0.7 --epochs 3", (0.7, 3)),
        ):
            facts = (f"e{i} r e{(i + k) % 40}" for i in range(40) for k in range(1, links + 1))
            self.write({f"{name}.tsv": tsv(*facts)})
            words = f"--terms embedding --dim 4 --hold-out 0 --validate-every 0 --quiet {words}"
            self.succeed("train", f"{name}.tsv", name, *words.split())
            settings = self.succeed("info", name, "--json").json["settings"]
            self.assertEqual((settings["dropout"], settings["epochs"]), expected)


@cases(SETTINGS)
class SameBytes(Grafted):
    def check(self, row: Setting) -> None:
        words = ["--lr-last", "0.1", *row.words.split()]
        self.graft("one", *words, "--threads", "1")
        expected = self.embeddings("one")
        for threads in ("2", "7"):
            self.graft(f"with{threads}", *words, "--threads", threads)
            self.assertEqual(self.embeddings(f"with{threads}"), expected, f"{threads} threads")
        self.graft("stopped", *words, "--epochs", "3")
        self.graft("stopped", *words, "--resume")
        self.assertEqual(self.embeddings("stopped"), expected, "resumed")


class Falling(Grafted):
    """Rates that fall."""

    EPOCHS = "90" if is_sanitized() else "300"  # some seconds
    LONG = f"--dim 40 --epochs {EPOCHS} --validate-every 30 --batch 20 --threads 1".split()
    epochs_kept = test_train.Kills.epochs_kept

    def test_resumed_after_sigkill(self) -> None:
        """Killed at ten random moments and resumed, it ends in the same bytes"""
        self.check_kills()

    def check_kills(self, *words: str) -> None:
        draw = random.Random(1)
        start = time.monotonic()
        self.graft("whole", *self.LONG, *words)
        seconds = time.monotonic() - start
        for _ in range(10):
            command = [BINARY, "train", "data", "killed", *GRAFT, *self.LONG, *words, "--resume", "--quiet"]
            with subprocess.Popen(command, cwd=self.folder, env=environment()) as child:
                time.sleep(draw.uniform(0, seconds / 3))
                child.kill()
        self.assertGreater(self.epochs_kept("killed"), 0, "no run got anywhere")
        self.graft("killed", *self.LONG, *words, "--resume")
        self.assertEqual(self.embeddings("killed"), self.embeddings("whole"))

    def test_resume_with_more_epochs(self) -> None:
        """They would have been other epochs from the first"""
        self.graft("m")
        self.refuse("train", "data", "m", *GRAFT, "--epochs", "7", "--resume",
                    pattern="m/checkpoint.safetensors: .*another --epochs .*since the rate falls.*")

    def test_resume_with_a_steady_rate(self) -> None:
        self.graft("m")
        self.refuse("train", "data", "m", *GRAFT, "--lr-last", "0.1", "--resume",
                    pattern="m/checkpoint.safetensors: .*another --(lr-last|epochs) .*")

    def test_rates_matter(self) -> None:
        self.graft("falling")
        self.graft("steady", "--lr-last", "0.1")
        self.assertNotEqual(self.embeddings("falling"), self.embeddings("steady"))


# ---------------------------------------------------------------------------------------------
# Asked by the formulas

Link = tuple[int, str]
"""A directed relation, and who stands at the other end."""


@dataclass(frozen=True)
class Query:
    entity: str
    asked: int
    answer: str


class Plain:
    """A model of graft, as its files describe it, by plain loops."""

    def __init__(self, tensors: Tensors, config: dict, entities: list[str]) -> None:
        self.entities = dict(zip(entities, tensors["entities"]))
        self.asking = tensors["relations"]
        self.aggregating = tensors["aggregate_relations"]
        self.weights = {(a, g): value for a, g, value in tensors["weights"]}
        self.echoes = {(a, g): value for a, g, value in tensors["echoes"]}
        self.power = config["settings"]["graft_power"]

    def vector(self, query: Query, facts: list[Link]) -> list[float]:
        """DistMult: both query vectors are products. Who has no facts has a row."""
        z = [0.0] * len(self.asking[0]) if facts else self.entities[query.entity]
        for given, other in facts:
            weight = self.weights.get((query.asked, given), 1.0)
            for k, (r, x) in enumerate(zip(self.aggregating[given], self.entities[other])):
                z[k] += weight * r * x / len(facts) ** self.power
        return [r * x for r, x in zip(self.asking[query.asked], z)]

    def scores(self, query: Query, facts: list[Link]) -> dict[str, float]:
        vector = self.vector(query, facts)
        scores = {name: sum(a * b for a, b in zip(row, vector)) for name, row in self.entities.items()}
        for given, other in facts:
            scores[other] += self.echoes.get((query.asked, given), 0.0)
        return scores


class Judged(Grafted):
    NEAR = 1e-5

    def plain_model(self) -> Plain:
        config = json.loads(self.read("m/config.json"))
        names = self.read("m/entities.tsv").decode().split("\n")[:-1]
        return Plain(read_safetensors(self.embeddings("m")), config, names)

    def read_ranks(self) -> dict[Query, float]:
        relations = self.read("m/relations.tsv").decode().split("\n")
        found = {}
        for line in self.lines("ranks.tsv"):
            entity, relation, missing, answer, rank, _ = line.decode().split("\t")
            asked = 2 * relations.index(relation) + (missing == "head")
            found[Query(entity, asked, answer)] = float(rank)
        return found

    def check_rank(
        self, rank: float, plain: Plain, query: Query, facts: list[Link], known: set[str]
    ) -> None:
        """The entity is made of these facts; other known answers do not count."""
        scores = plain.scores(query, facts)
        goal = scores[query.answer]
        others = [s for u, s in scores.items() if u != query.answer and u not in known]
        best = 1 + sum(s > goal + self.NEAR for s in others)
        worst = 1 + sum(s >= goal - self.NEAR for s in others)
        self.assertTrue(best <= rank <= worst, (query, best, rank, worst))


class Asked(Judged):
    def facts_of(self, part: str) -> dict[str, list[Link]]:
        """The links of the unseen entities of a part."""
        seen = set(self.read("m/entities.tsv").decode().split("\n"))
        relations = self.read("m/relations.tsv").decode().split("\n")
        facts = defaultdict(list)
        for line in self.lines(f"data/{part}.tsv"):
            head, relation, tail = line.decode().split("\t")
            number = relations.index(relation)
            if head not in seen:
                facts[head].append((2 * number, tail))
            else:
                facts[tail].append((2 * number + 1, head))
        return facts

    def queries(self, facts: dict[str, list[Link]]) -> Iterator[tuple[Query, list[Link]]]:
        for entity, links in facts.items():
            for asked, answer in links:
                rest = [link for link in links if link != (asked, answer)]
                yield Query(entity, asked, answer), rest

    def check_ranks(self, *words: str) -> None:
        self.graft("m", *words)
        plain = self.plain_model()
        self.succeed("eval", "m", "data", "--ranks", "ranks.tsv")
        found = self.read_ranks()
        echoes = 0
        for query, rest in self.queries(self.facts_of("unseen-test")):
            known = {other for given, other in rest if given == query.asked}
            self.check_rank(found.pop(query), plain, query, rest, known)
            echoes += any(other == query.answer for _, other in rest)
        self.assertEqual(found, {})
        self.assertGreater(echoes, 0, "no echo was judged")

    def test_ranks(self) -> None:
        self.check_ranks("--epochs", "20")

    def test_ranks_at_another_power(self) -> None:
        self.check_ranks("--graft-power", "0.8")

    def shuffle(self, *parts: str) -> None:
        """Makes `other` of `data`, lines of these parts in another order."""
        self.succeed("split", "g.tsv", "other", "--quiet")
        for part in parts:
            lines = sorted(self.lines(f"data/{part}.tsv"), reverse=True)
            self.write({f"other/{part}.tsv": b"".join(line + b"\n" for line in lines)})
        (self.folder / "other/dataset.json").unlink()

    def test_other_order_with_propagation(self) -> None:
        """The same to the last rank, also where the first of equals is taken"""
        self.graft("m", *PROPAGATION)
        self.shuffle("train", "unseen-test")
        ranks = []
        for data in ("data", "other"):
            found = self.succeed("eval", "m", data, "--ranks", "ranks.tsv", "--json").json
            ranks.append(sorted(self.lines("ranks.tsv")))
        self.assertEqual(ranks[0], ranks[1])
        self.assertEqual(len(ranks[0]), found["queries"])

    def test_calibration_in_other_order(self) -> None:
        """With propagation the same bytes"""
        self.graft("m", *PROPAGATION)
        expected = self.read("m/calibration.safetensors")
        self.shuffle("train")
        self.succeed("calibrate", "m", "other", "--aggregate", "eavg")
        self.assertNotEqual(self.read("m/calibration.safetensors"), expected)
        self.succeed("calibrate", "m", "other")
        self.assertEqual(self.read("m/calibration.safetensors"), expected)

    def test_other_order(self) -> None:
        """Relations and entities may have other ids in the data set than in the model"""
        self.graft("m")
        self.shuffle("train")
        one = self.succeed("eval", "m", "data", "--json").json
        other = self.succeed("eval", "m", "other", "--json").json
        self.assertEqual(one["queries"], other["queries"])
        self.assertAlmostEqual(one["mrr"], other["mrr"], places=9)

    def test_other_aggregates(self) -> None:
        """A model of graft can be judged by the others, too"""
        self.graft("m")
        for aggregate in ("eavg", "eravg", "ls", "ls-u", "ials"):
            result = self.succeed("eval", "m", "data", "--aggregate", aggregate, "--json").json
            self.assertTrue(0 < result["mrr"] < 1)


class InSample(Judged):
    """A standard data set lies in `seen`. One test fact is a training fact, too; of one entity
    there is no training fact."""

    def setUp(self) -> None:
        super().setUp()
        lines = self.lines("data/train.tsv")
        self.parts = {
            "train": lines[:-60],
            "valid": lines[-60:-40],
            "test": [*lines[-40:], lines[0], b"new\tr0\t" + lines[1].split(b"\t")[0]],
        }
        for part, facts in self.parts.items():
            self.write({f"seen/{part}.tsv": b"".join(fact + b"\n" for fact in facts)})

    def links(self, *parts: str) -> dict[str, list[Link]]:
        """Both ways."""
        relations = self.read("m/relations.tsv").decode().split("\n")
        out: dict[str, set[Link]] = defaultdict(set)
        for part in parts:
            for line in self.parts[part]:
                head, relation, tail = line.decode().split("\t")
                out[head].add((2 * relations.index(relation), tail))
                out[tail].add((2 * relations.index(relation) + 1, head))
        return {entity: sorted(links) for entity, links in out.items()}

    def judge(self, *words: str) -> dict:
        self.succeed("train", "seen", "m", *GRAFT, *words)
        return self.succeed("eval", "m", "seen", "--in-sample", "--ranks", "ranks.tsv", "--json").json

    def check_ranks_in_sample(self, by_facts: bool) -> tuple[int, int]:
        """Returns how many queries were asked by facts, and by rows."""
        plain = self.plain_model()
        found = self.read_ranks()
        given = self.links("train")
        everything = self.links("train", "valid", "test")
        ways = [0, 0]
        for entity, links in self.links("test").items():
            for asked, answer in links:
                facts = [
                    (way, other)
                    for way, other in given.get(entity, [])
                    if by_facts and (way, other) != (asked, answer) and other != entity
                ]
                known = {other for way, other in everything[entity] if way == asked}
                query = Query(entity, asked, answer)
                self.check_rank(found.pop(query), plain, query, facts, known)
                ways[not facts] += 1
        self.assertEqual(found, {})
        return ways[0], ways[1]

    def test_by_facts(self) -> None:
        """Psi 1: by the training facts, the asked one left out; by its row who has no others"""
        found = self.judge("--epochs", "20")
        facts, rows = self.check_ranks_in_sample(by_facts=True)
        self.assertGreater(rows, 0)
        self.assertEqual(found["asked_by"], {"facts": facts, "rows": rows})
        text = self.succeed("eval", "m", "seen", "--in-sample").stdout.decode()
        self.assertIn(f"{facts} of {facts + rows} queries answered by the entity's training facts", text)

    def test_by_rows(self) -> None:
        """Psi below 1: by rows, which have learned to ask"""
        found = self.judge("--psi", "0.5")
        _, rows = self.check_ranks_in_sample(by_facts=False)
        self.assertEqual(found["asked_by"], {"facts": 0, "rows": rows})

    def check_predictions(self) -> None:
        """Known entities are predicted for as they are judged; facts that are asked for are new here."""
        relations = self.read("m/relations.tsv").decode().split("\n")
        everything = self.links("train", "valid", "test")
        given = self.links("train")
        queries = [q for q in self.read_ranks().items() if (q[0].asked, q[0].answer) not in given.get(q[0].entity, [])]
        by_rows = [q for q in queries if q[0].entity not in given]
        self.assertTrue(by_rows)
        for query, rank in queries[::8] + by_rows:
            told = self.succeed(
                "predict", "m", "--entity", query.entity, "--relation", relations[query.asked // 2],
                "--side", "head" if query.asked % 2 else "tail", "-k", "100000", "--keep-known", "--json",
            ).json
            scores = {answer["entity"]: answer["score"] for answer in told["entities"][0]["answers"]}
            known = {other for way, other in everything[query.entity] if way == query.asked}
            others = [score for name, score in scores.items() if name not in known]
            goal = scores[query.answer]
            higher, equal = sum(s > goal for s in others), sum(s == goal for s in others)
            self.assertEqual(rank, 1 + higher + equal / 2, query)

    def test_predicted_by_facts(self) -> None:
        """Psi 1, whatever the aggregate"""
        for words in (PROPAGATION, ("--aggregate", "eravg", "--terms", "embedding")):
            self.judge(*words, "--force")
            self.check_predictions()

    def test_predicted_by_rows(self) -> None:
        """Psi below 1"""
        self.judge("--psi", "0.5")
        self.check_predictions()

    def test_validation_is_as_in_training(self) -> None:
        for words in ((), PROPAGATION):
            self.judge(*words, "--force")
            config = json.loads(self.read("m/config.json"))
            history = config.get("propagation_history", config["history"])
            best = max((epoch["valid"] for epoch in history if "valid" in epoch), key=lambda v: v["mrr"])
            found = self.succeed("eval", "m", "seen", "--in-sample", "--split", "valid", "--json").json
            self.assertAlmostEqual(found["mrr"], best["mrr"])

    def test_no_propagation_for_rows(self) -> None:
        """Who is asked by its row is asked by nothing else"""
        found = self.judge(*PROPAGATION, "--epochs", "20")
        plain = self.plain_model()
        given = self.links("train")
        everything = self.links("train", "valid", "test")
        rows = 0
        for query, rank in self.read_ranks().items():
            facts = [fact for fact in given.get(query.entity, []) if fact != (query.asked, query.answer)]
            if not facts:
                known = {other for way, other in everything[query.entity] if way == query.asked}
                self.check_rank(rank, plain, query, facts, known)
                rows += 1
        self.assertEqual(found["asked_by"]["rows"], rows)
        self.assertGreater(rows, 0)

    def test_calibrated_by_facts(self) -> None:
        """As a new entity is asked about, with propagation and without, whether or not the model asks
        about its own by rows"""
        for words in ((), PROPAGATION):
            self.judge(*words, "--force")
            expected = self.read("m/calibration.safetensors")
            for psi in (0.5, 1):
                with self.change_config("m") as config:
                    config["settings"]["psi"] = psi
                self.succeed("calibrate", "m", "seen", "--aggregate", "eavg")
                self.assertNotEqual(self.read("m/calibration.safetensors"), expected)
                self.succeed("calibrate", "m", "seen")
                self.assertEqual(self.read("m/calibration.safetensors"), expected)

    def test_of_softplus(self) -> None:
        """Any model of psi 1, whatever its loss"""
        words = "--preset paper --dim 8 --epochs 2".split()
        for psi, way in (("1", "facts"), ("0.5", "rows")):
            self.succeed("train", "seen", f"p{psi}", *words, "--psi", psi)
            found = self.succeed("eval", f"p{psi}", "seen", "--in-sample", "--json").json
            self.assertGreater(found["asked_by"][way], found["queries"] / 2)

    def test_baseline(self) -> None:
        found = self.succeed("eval", "seen", "--in-sample", "--baseline", "popularity", "--json").json
        self.assertNotIn("asked_by", found)


class Regularized(Grafted):
    SEEN = "--psi 0 --aggregate-relations shared".split()

    def test_n3_keeps_factors_small(self) -> None:
        sizes = []
        for words in ("", "--regularizer n3 --n3 0.3", "--regularizer n3 --n3 3"):
            self.graft(f"m{len(sizes)}", *self.SEEN, "--epochs", "20", "--validate-every", "0", *words.split())
            tensors = read_safetensors(self.embeddings(f"m{len(sizes)}"))
            cubes = [abs(x) ** 3 for name in ("entities", "relations") for row in tensors[name] for x in row]
            sizes.append(sum(cubes))
        self.assertGreater(sizes[0], 1.5 * sizes[1])
        self.assertGreater(sizes[1], 1.5 * sizes[2])

    def test_its_weight_is_remembered(self) -> None:
        self.graft("m", "--regularizer", "n3", "--n3", "0.25")
        settings = json.loads(self.read("m/config.json"))["settings"]
        self.assertEqual((settings["regularizer"], settings["n3"]), ("n3", 0.25))
        self.refuse("train", "data", "m", *GRAFT, "--regularizer", "n3", "--n3", "0.5", "--resume",
                    pattern="m/checkpoint.safetensors: .*another --n3 .*")
        self.refuse("train", "data", "m", *GRAFT, "--resume",
                    pattern="m/checkpoint.safetensors: .*another --regularizer .*")

    def test_it_takes_the_place_of_l2(self) -> None:
        """The paper's usual L2, too"""
        words = "--preset paper --loss softmax --regularizer n3 --dim 4 --epochs 1".split()
        self.succeed("train", "data", "m", *words)
        self.assertEqual(json.loads(self.read("m/config.json"))["settings"]["l2"], 0)


class Learns(Grafted):
    def test_copying(self) -> None:
        """Where one relation repeats another, what is asked for stands among the facts"""
        draw = random.Random(3)
        facts = []
        for i in range(400):
            for other in draw.sample(range(60), 3):
                facts.append(f"e{i}\tknows\tb{other}\n")
                facts.append(f"e{i}\tlikes\tb{other}\n")
        self.write({"copies.tsv": "".join(facts).encode()})
        self.succeed("split", "copies.tsv", "copied", "--quiet")
        self.succeed("train", "copied", "c", *GRAFT, "--epochs", "30")
        with_echo = self.succeed("eval", "c", "copied", "--json").json
        self.assertGreater(with_echo["mrr"], 0.9)
        echoes = read_safetensors(self.embeddings("c"))["echoes"]
        relations = self.read("c/relations.tsv").decode().split("\n")
        pair = (2 * relations.index("likes"), 2 * relations.index("knows"))
        self.assertGreater({(a, g): value for a, g, value in echoes}[pair], 1)


# ---------------------------------------------------------------------------------------------
# Who says nothing gets it

@dataclass(frozen=True)
class Usual:
    model: str
    preset: str

    @property
    def name(self) -> str:
        return self.model


@cases([Usual("distmult", "graft"), Usual("quate", "graft"), Usual("rgcn-d", "paper")])
class WithoutAPreset(Grafted):
    def check(self, row: Usual) -> None:
        """The same model as with the preset that is usual for it, and the same record"""
        words = ["--model", row.model, *"--dim 8 --epochs 2 --validate-every 1 --quiet".split()]
        words += SMALL_PROPAGATION if row.preset == "graft" else []
        self.succeed("train", "data", "usual", *words)
        self.succeed("train", "data", "said", *words, "--preset", row.preset)
        self.assertEqual(self.embeddings("usual"), self.embeddings("said"))
        usual, said = (json.loads(self.read(f"{name}/config.json")) for name in ("usual", "said"))
        self.assertEqual(usual["preset"], row.preset)
        self.assertEqual(usual["settings"], said["settings"])

    def test_tuned(self) -> None:
        """What is usual is so for each run of a grid"""
        self.succeed("tune", "data", "out", *"--model distmult,rgcn-d --dim 4 --epochs 1 --terms embedding".split())
        presets = [json.loads(self.read(f"out/model={model}/config.json"))["preset"]
                   for model in ("distmult", "rgcn-d")]
        self.assertEqual(presets, ["graft", "paper"])

    def test_settings_of_the_paper(self) -> None:
        """They are refused with the preset that would take them"""
        for words in ("--psi 0 --aggregate-relations own", "--exclude pair"):
            self.refuse("train", "data", "m", *words.split(), pattern=".*preset paper.*")
            words = words.replace("own", "shared") + " --preset paper --dim 4 --epochs 1 --quiet --force"
            self.succeed("train", "data", "m", *words.split())

    def test_shown(self) -> None:
        """--help and the man page show the same table"""
        text = self.succeed("train", "--help").stdout.decode()
        page = (ROOT / "docs/man/kgraft-train.1.scd").read_text()
        shown = text.partition("\npresets:")[2].partition("\n\n")[0].splitlines()
        self.assertEqual(shown[0].split(), ["paper", "(rgcn-d)", "graft"])
        self.assertGreater(len(shown), 10)
        for line in shown[1:]:
            self.assertIn(line, page.splitlines())

    def test_columns(self) -> None:
        """Every row of the table has its values where the first has them"""
        text = self.succeed("train", "--help").stdout.decode()
        shown = text.partition("\npresets:")[2].partition("\n\n")[0].splitlines()
        shown[0] = " " * len("presets:") + shown[0]
        places = [[place.start() for place in re.finditer(r"\S+", line)][-3:] for line in shown]
        self.assertEqual(places, [places[0]] * len(shown))

    def test_columns_of_info(self) -> None:
        """Likewise the settings of a model, the longest names included"""
        self.graft("m", "--epochs", "1")
        lines = self.succeed("info", "m").stdout.decode().splitlines()
        starts = [found.end() for found in map(re.compile(r"  \w+ +").match, lines) if found]
        self.assertIn("  aggregate_relations own", lines)
        self.assertEqual(starts, [22] * len(starts))


# ---------------------------------------------------------------------------------------------
# What cannot be

LOSSES = r"\(preset graft: softmax, preset paper: softplus\)"

WRONG = [
    Wrong("--preset paper --aggregate graft --terms all", "--psi: expected 1 for propagation among --terms, .*"),
    Wrong("--model rgcn-d --preset graft",
          "--preset: expected paper for model rgcn-d, which cannot have the loss and the --psi of graft, found graft"),
    Wrong("--model rgcn-d --preset paper --terms embedding+propagation",
          "--terms: expected no propagation for model rgcn-d, which asks about entities of training by their rows, .*"),
    Wrong("--aggregate ials", "--psi: expected 0 for aggregate ials, which has no gradient, found 1"),
    Wrong("--model rgcn-d --preset paper --aggregate graft", "--aggregate: expected rgcn-d for model rgcn-d, which has an encoder, found graft"),
    Wrong("--model rgcn-d --preset paper --loss softmax", "--loss: expected softplus for model rgcn-d, .*"),
    Wrong("--exclude pair", f"--exclude: expected triple for loss softmax, which compares the answer with other ends of .*, found pair {LOSSES}"),
    Wrong("--psi 0 --aggregate-relations own", "--aggregate-relations: expected shared for psi 0, .*, found own .*preset paper: shared.*"),
    Wrong("--negatives 0", "--negatives: expected at least 1 for loss softmax, which compares the answer with others, found 0"),
    Wrong("--negatives some", "--negatives: expected a whole number, 0 or more, or all, found 'some'"),
    Wrong("--graft-power 1.5", "--graft-power: expected 0 to 1, found 1.5"),
    Wrong("--graft-power -1", "--graft-power: expected 0 to 1, found -1"),
    Wrong("--lr-last -1", "--lr-last: expected a rate from 0 .*, found -1"),
    Wrong("--lr-last 1e60", "--lr-last: expected .* single precision .*, found 1e\\+60"),
    Wrong("--lr 0.1 --lr-last 0.2", "--lr-last: expected at most --lr, which is 0.1, found 0.2"),
    Wrong("--aggregate eravg --graft-power 0.5", "--aggregate: expected graft for --graft-power, found eravg"),
    Wrong("--aggregate eravg --graft-weights yes", "--aggregate: expected graft for --graft-weights, .*"),
    Wrong("--aggregate eravg --graft-weights no", "--aggregate: expected graft for --graft-weights, .*"),
    Wrong("--n3 0.05", "--regularizer: expected n3 for --n3, found l2"),
    Wrong("--regularizer l2 --n3 0", "--regularizer: expected n3 for --n3, found l2"),
    Wrong("--regularizer n3 --l2 0.1", "--l2: expected 0 for regularizer n3, since there is one regularizer, found 0.1"),
    Wrong("--regularizer n3 --n3 -1", "--n3: expected a weight from 0 .*, found -1"),
    Wrong("--regularizer n3 --n3 1e60", "--n3: expected .* single precision .*, found 1e\\+60"),
    Wrong("--regularizer l1", "--regularizer: expected l2 or n3, found 'l1'"),
    Wrong("--relations both", "--relations: expected shared or directed, found 'both'"),
]


@cases(WRONG)
class Refusals(Grafted):
    def check(self, row: Wrong) -> None:
        self.refuse("train", "data", "m", *BASE, *row.words.split(), pattern=row.pattern)

    def test_a_model_without_it(self) -> None:
        self.train("m")
        self.refuse("eval", "m", "data", "--aggregate", "graft",
                    pattern="--aggregate: expected a model trained with graft, whose parameters it has, found one .*")

    def test_a_power_that_is_none(self) -> None:
        """A model's file may say anything"""
        self.graft("m", "--epochs", "1")
        for power, found in ((None, "null"), ("0.5", "a string"), ([0.5], "a list"), (2, "2"), (-0.5, "-0.5")):
            with self.change_config("m") as config:
                config["settings"]["graft_power"] = power
            self.refuse("eval", "m", "data",
                        pattern=f'm: expected a "graft_power" from 0 to 1 in its settings, found {found}')


if __name__ == "__main__":
    unittest.main()
