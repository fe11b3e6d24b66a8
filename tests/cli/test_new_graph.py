"""New graphs: training for them, and the ranks of kgraft eval against the lists of kgraft predict."""

from __future__ import annotations

import atexit
import functools
import json
import random
import re
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any, Iterable

from grafted import rank_in
from kgraft import Case, Word, numbers_of_data, run, tsv, unpacked_data, write_tree
from test_train import read_safetensors

ALL = "1000000"
QUICK = (
    "--propagation-layers", "3", "--propagation-width", "16", "--propagation-epochs", "2",
    "--propagation-batch", "8", "--threads", "1", "--quiet",
)  # fmt: skip


def family(prefix: str, people: int, seed: int) -> list[str]:
    """Facts of people with parents and siblings; an aunt is a parent's sibling."""
    draw = random.Random(seed)
    parents = {i: draw.sample(range(i), min(i, 2)) for i in range(people)}
    siblings = {i: draw.sample(range(people), 2) for i in range(people)}
    facts = []
    for i in range(people):
        facts += [f"{prefix}{i} parent {prefix}{p}" for p in parents[i]]
        facts += [f"{prefix}{i} sibling {prefix}{s}" for s in siblings[i] if s != i]
        facts += [f"{prefix}{i} aunt {prefix}{s}" for p in parents[i] for s in siblings[p] if s != i]
    return list(dict.fromkeys(facts))


def parts(prefix: str, people: int, seed: int) -> tuple[list[str], list[str], list[str]]:
    """Facts that are known, and those that are asked for. The latter have an entity of their own, a
    fact of an entity with itself, and several answers to a query."""
    facts = family(prefix, people, seed)
    random.Random(seed + 1).shuffle(facts)
    known, valid, test = facts[30:], facts[:10], facts[10:30]
    known += [f"{prefix}0 sibling {prefix}0", known[0]]
    test += [f"{prefix}3 sibling {prefix}3", f"{prefix}1 parent {prefix}late", f"{prefix}1 parent {prefix}2"]
    return known, valid, test


KNOWN, VALID, TEST = parts("n", 40, 2)
DATA: dict[str, bytes] = {
    "data/train.txt": tsv(*family("t", 60, 1)),
    "data/inference.txt": tsv(*KNOWN),
    "data/inference_validation.txt": tsv(*VALID),
    "data/inference_test.txt": tsv(*TEST),
}


@functools.cache
def prepared(*words: Word) -> Path:
    """A folder with the data set, and a model that was trained on it; made once."""
    folder = Path(tempfile.mkdtemp(prefix="kgraft-new-graph-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_tree(folder, DATA)
    done = run("train", "data", "model", *QUICK, *words, cwd=folder)
    assert done.status == 0, done
    return folder


class NewGraph(Case):
    def prepare(self, *words: Word) -> None:
        shutil.copytree(prepared(*words), self.folder, dirs_exist_ok=True)

    def ranks(self, *words: Word) -> list[tuple[str, str, str, str, float]]:
        """What eval writes: entity, relation, missing side, answer, rank."""
        self.succeed("eval", *words, "--ranks", "ranks.tsv", "--threads", "1", "--quiet")
        rows = [line.decode().split("\t") for line in self.lines("ranks.tsv")]
        return [(row[0], row[1], row[2], row[3], float(row[4])) for row in rows]

    def predict(self, *words: Word) -> list[dict[str, Any]]:
        """The whole list of an entity's answers."""
        words = ("--relation", *words, "-k", ALL, "--threads", "1", "--json", "--quiet")
        (about,) = self.succeed("predict", "model", *words).json["entities"]
        return about["answers"]


def other_answers(
    facts: Iterable[str], entity: str, relation: str, missing: str, answer: str
) -> set[str]:
    """Of a query, by everything that is known or asked for."""
    found = set()
    for fact in facts:
        head, name, tail = fact.split(" ")
        one, other = (head, tail) if missing == "tail" else (tail, head)
        if one == entity and name == relation:
            found.add(other)
    return found - {answer}


class Ranks(NewGraph):
    """The rank of each answer is that in the list of kgraft predict, without other known answers."""

    def test_test(self) -> None:
        self.check("test", TEST)

    def test_valid(self) -> None:
        self.check("valid", VALID)

    def test_in_sample(self) -> None:
        """Also of entities without any training fact, which have no rows to be asked by."""
        self.prepare()
        known = {line.decode() for line in DATA["data/train.txt"].replace(b"\t", b" ").splitlines()}
        asked = ["t1 parent tlate", "t7 aunt t2", "t9 sibling t30"]
        self.write({"data/test.txt": tsv(*asked)})
        words = ("--terms", "propagation", "--force")
        self.succeed("train", "data", "model", *QUICK, *words)
        for entity, relation, missing, answer, rank in self.ranks("model", "data", "--in-sample"):
            words = (relation, "--side", missing, "--entity", entity, "--keep-known")
            answers = self.predict(*words)
            self.assertEqual(len(answers), 61)
            others = other_answers((*known, *asked), entity, relation, missing, answer)
            kept = [a for a in answers if a["entity"] not in others]
            self.assertEqual(rank, rank_in(kept, answer), (entity, relation, missing, answer))

    def check(self, split: str, facts: list[str]) -> None:
        self.prepare()
        ranks = self.ranks("model", "data", "--split", split)
        asked = []
        for entity, relation, missing, answer, rank in ranks:
            words = (relation, "--side", missing, "--entity", entity, "--graph", "data")
            answers = self.predict(*words, "--keep-known")
            self.assertEqual(len(answers), 41)
            others = other_answers((*KNOWN, *VALID, *TEST), entity, relation, missing, answer)
            kept = [a for a in answers if a["entity"] not in others]
            self.assertEqual(rank, rank_in(kept, answer), (entity, relation, missing, answer))
            ends = (entity, answer) if missing == "tail" else (answer, entity)
            asked.append(f"{ends[0]} {relation} {ends[1]}")
        self.assertEqual(asked, [fact for fact in facts for _ in range(2)])


class Evaluation(NewGraph):
    def mrr(self, *words: Word) -> float:
        return self.succeed("eval", *words, "--json", "--quiet").json["mrr"]

    def test_what_is_shown(self) -> None:
        self.prepare()
        ranks = self.ranks("model", "data")
        found = self.succeed("eval", "model", "data", "--json", "--quiet", "--bins", "2").json
        self.assertAlmostEqual(found["mrr"], sum(1 / r[4] for r in ranks) / len(ranks), places=12)
        self.assertEqual(found["queries"], 2 * len(TEST))
        self.assertEqual(found["echo"]["queries"] + found["fresh"]["queries"], 2 * len(TEST))
        self.assertEqual(sum(b["queries"] for b in found["bins"]), 2 * len(TEST))
        self.assertEqual(found["bins"][0]["facts"][0], 0)
        self.assertEqual(set(found["by_relation"]), {fact.split(" ")[1] for fact in TEST})
        self.assertEqual(found["left_out"], {"entities": 0, "queries": 0})
        for side in "head", "tail":
            self.assertEqual(found["by_side"][side]["queries"], len(TEST))

    def test_it_has_learned(self) -> None:
        self.prepare()
        baselines = [self.mrr("data", "--baseline", name) for name in ("popularity", "echo")]
        self.assertGreater(self.mrr("model", "data"), 1.2 * max(baselines))

    def test_threads(self) -> None:
        self.prepare()
        one = self.ranks("model", "data")
        self.succeed("eval", "model", "data", "--ranks", "other.tsv", "--threads", "3", "--quiet")
        self.assertEqual(self.read("other.tsv"), self.read("ranks.tsv"))
        self.assertEqual(len(one), 2 * len(TEST))

    def test_training_entities_need_not_be_known(self) -> None:
        self.prepare()
        train = "".join(f"x{line}\n" for line in DATA["data/train.txt"].decode().splitlines()[::-1])
        new = {name.replace("data", "other"): content for name, content in DATA.items()}
        self.write({**new, "other/train.txt": train.encode()})
        self.assertEqual(self.ranks("model", "other"), self.ranks("model", "data"))

    def test_names_in_both_graphs_are_different_entities(self) -> None:
        self.prepare()
        new = {name.replace("data", "other"): content for name, content in DATA.items()}
        for name, content in new.items():
            if "inference" in name:
                new[name] = re.sub(rb"\bn(?=\d|late)", b"t", content)
        self.write(new)
        ranks = [row[4] for row in self.ranks("model", "data")]
        self.assertEqual([row[4] for row in self.ranks("model", "other")], ranks)

    def test_a_new_graph_goes_before_unseen_parts(self) -> None:
        self.prepare()
        self.succeed("import", "data", "both", "--quiet")
        (self.folder / "both/dataset.json").unlink()
        self.write({"both/unseen-test.tsv": tsv("u parent t1", "u sibling t2")})
        self.assertEqual(self.ranks("model", "both"), self.ranks("model", "data"))
        result = self.succeed("eval", "model", "both", "--split", "valid", "--json", "--quiet")
        self.assertEqual(result.json["queries"], 2 * len(VALID))

    def test_calibrate(self) -> None:
        self.prepare()
        before = self.read("model/calibration.safetensors")
        self.succeed("calibrate", "model", "data", "--quiet")
        after = json.loads(self.read("model/config.json"))["calibration"]
        self.assertEqual(after["part"], "graph-valid")
        name = next(path.name for path in (self.folder / "model").glob("calibration*.safetensors"))
        self.assertEqual(self.read(f"model/{name}"), before)


class Training(NewGraph):
    def test_propagation_alone(self) -> None:
        self.prepare()
        config = json.loads(self.read("model/config.json"))
        self.assertEqual(config["settings"]["terms"], ["propagation"])
        self.assertNotIn("hold_out", config)
        found = self.succeed("eval", "model", "data", "--split", "valid", "--json", "--quiet").json
        best = config["history"][config["best_epoch"] - 1]["valid"]
        self.assertAlmostEqual(best["mrr"], found["mrr"], places=12)
        self.assertNotIn("entities", read_safetensors(self.read("model/model.safetensors")))

    def test_other_terms_are_silent_on_the_new_graph(self) -> None:
        self.prepare()
        words = ("--terms", "embedding+propagation", "--dim", "8", "--epochs", "1")
        self.succeed("train", "data", "both", *QUICK, *words)
        self.assertEqual(self.ranks("both", "data"), self.ranks("model", "data"))
        ask = ("predict", "both", "--entity")
        result = self.succeed(*ask, "n1", "--graph", "data", "--json", "--quiet")
        self.assertEqual((result.json["calibration"]["holds"], result.messages), (True, []))
        result = self.succeed(*ask, "t1", "--json", "--quiet")
        self.assertFalse(result.json["calibration"]["holds"])
        self.assertIn("calibrated for a new graph, where it has fewer terms", result.messages[0])
        self.succeed("train", "data/train.txt", "own", *QUICK, *words)
        result = self.succeed("predict", "own", "--entity", "n1", "--graph", "data", "--quiet")
        self.assertIn("calibrated for its own graph, where it has more terms", result.messages[0])
        result = self.succeed("predict", "own", "--entity", "t1", "--quiet")
        self.assertEqual(result.messages, [])

    def test_in_sample_validation_without_that_of_the_new_graph(self) -> None:
        self.prepare()
        facts = DATA["data/train.txt"].splitlines(keepends=True)
        self.write({"data/train.txt": b"".join(facts[10:]), "data/valid.txt": b"".join(facts[:10])})
        (self.folder / "data/inference_validation.txt").unlink()
        self.succeed("train", "data", "other", *QUICK)
        config = json.loads(self.read("other/config.json"))
        self.assertEqual(config["history"][-1]["valid"]["queries"], 20)
        self.assertEqual(config["calibration"]["part"], "valid")

    def test_hold_out_without_any_validation(self) -> None:
        self.write(DATA)
        (self.folder / "data/inference_validation.txt").unlink()
        self.succeed("train", "data", "model", *QUICK)
        config = json.loads(self.read("model/config.json"))
        self.assertGreater(config["hold_out"]["entities"], 0)
        self.assertEqual(len(self.ranks("model", "data")), 2 * len(TEST))

    def test_resumed(self) -> None:
        self.prepare()
        self.succeed("train", "data", "model", *QUICK, "--resume")
        self.assertEqual(self.ranks("model", "data"), self.ranks(prepared() / "model", "data"))

    def test_propagation_is_needed(self) -> None:
        self.write(DATA)
        result = self.run_kgraft("train", "data", "model", "--terms", "embedding", "--quiet")
        self.assert_refused(result, 2, "--terms: expected propagation among them, since the data set "
                            "has a new graph, whose entities the others do not know")
        result = self.run_kgraft("train", "data", "model", "--dim", "16", "--quiet")
        self.assert_refused(result, 2, "--terms: expected embedding among them for --dim, found propagation")
        self.assertFalse((self.folder / "model").exists())


class OtherGraphs(NewGraph):
    """kgraft predict and explain with --graph."""

    def scores(self, *words: Word) -> dict[str, float]:
        return {answer["entity"]: answer["score"] for answer in self.predict("aunt", "--side", "tail", *words)}

    def test_known_answers_of_hubs(self) -> None:
        """Each is a query of its own, so there is a limit to their number."""
        self.prepare()
        star = [f"hub sibling leaf{i}" for i in range(4097)]
        self.write({"most.tsv": tsv(*star[1:]), "more.tsv": tsv(*star)})
        words = ("predict", "model", "--entity", "hub", "--relation", "aunt", "--quiet")
        self.succeed(*words, "--keep-known", "--graph", "most.tsv")
        self.succeed(*words, "--graph", "more.tsv")
        result = self.run_kgraft(*words, "--keep-known", "--graph", "more.tsv")
        self.assert_refused(result, 2, r"--keep-known: expected an entity with at most 4096 facts, .* found one with 4097")

    def test_the_training_graph_as_another(self) -> None:
        self.prepare()
        for entity in "t5", "t17", "t40":
            own = self.predict("aunt", "--entity", entity)
            self.assertEqual(self.predict("aunt", "--entity", entity, "--graph", "data/train.txt"), own)

    def test_sources(self) -> None:
        """A data set with a new graph, a file of facts, standard input."""
        self.prepare()
        self.write({"facts.tsv": tsv(*KNOWN), "late.tsv": tsv("n7 sibling late")})
        by_data = self.scores("--entity", "n7", "--graph", "data")
        by_file = self.scores("--entity", "n7", "--graph", "facts.tsv")
        self.assertEqual(set(by_data) - set(by_file), {"nlate"})
        by_data.pop("nlate")
        self.assertEqual(by_file, by_data)

    def test_new_entities(self) -> None:
        """An entity has the same answers whether its facts are in the graph or given separately."""
        self.prepare()
        facts = ["late parent n9", "late sibling n12", "late parent n20", "n3 sibling late"]
        self.write({"graph.tsv": tsv(*KNOWN), "facts.tsv": tsv(*facts), "all.tsv": tsv(*KNOWN, *facts)})
        given = self.scores("facts.tsv", "--graph", "graph.tsv")
        within = self.scores("--entity", "late", "--graph", "all.tsv")
        self.assertEqual(set(given), set(within))
        self.assertEqual(len(given), 40)
        for entity, score in within.items():
            self.assertAlmostEqual(given[entity], score, places=4)

    def test_without_facts(self) -> None:
        """Answers are by how many facts of the relation they have, and nothing else."""
        self.prepare()
        about = self.succeed("predict", "model", "--graph", "data", "--entity", "nlate", "--relation", "sibling",
                             "--side", "tail", "-k", ALL, "--json", "--quiet").json["entities"][0]
        self.assertEqual(about["facts"], 0)
        counts: dict[str, int] = {}
        for fact in set(KNOWN):
            head, relation, tail = fact.split(" ")
            if relation == "sibling" and head != tail:
                counts[tail] = counts.get(tail, 0) + 1
        by_count: dict[int, set[float]] = {}
        for answer in about["answers"]:
            by_count.setdefault(counts.get(answer["entity"], 0), set()).add(answer["score"])
        self.assertEqual(len(about["answers"]), 40)
        self.assertTrue(len(by_count) > 2 and all(len(scores) == 1 for scores in by_count.values()))
        words = ("explain", "model", "--graph", "data", "--entity", "nlate", "--relation", "sibling", "--answer", "n4")
        explained = self.succeed(*words, "--json", "--quiet").json
        predicted = next(answer["score"] for answer in about["answers"] if answer["entity"] == "n4")
        self.assertAlmostEqual(explained["score"], predicted, places=5)
        self.assertEqual((explained["facts"], explained["shares"]), (0, []))
        lines = self.succeed(*words).stdout.decode().splitlines()
        self.assertEqual(lines[2], "it has no facts: by how often candidates are answers")
        self.assertRegex(lines[-1], "learned paths: none leads to it$")

    def test_repeated_and_reflexive_facts(self) -> None:
        self.prepare()
        known = list(dict.fromkeys(fact for fact in KNOWN if len(set(fact.split(" "))) == 3))
        self.write({"graph.tsv": tsv(*KNOWN), "plain.tsv": tsv(*known)})
        words = ("aunt", "--side", "tail", "--entity", "n8", "--graph")
        self.assertEqual(self.predict(*words, "graph.tsv"), self.predict(*words, "plain.tsv"))
        result = self.succeed("predict", "model", "--graph", "graph.tsv", "--entity", "n8", "--relation", "aunt")
        self.assertIn("1 repeated fact left out", result.messages)

    def test_explain(self) -> None:
        """The rank of an answer without a fact is that on the graph without it."""
        self.prepare()
        words = ("--relation", "aunt", "--answer", "n4", "--entity", "n8", "--json", "--quiet")
        graph = list(dict.fromkeys(KNOWN))
        self.write({"graph.tsv": tsv(*graph)})
        found = self.succeed("explain", "model", "--graph", "graph.tsv", *words).json
        self.assertGreater(len(found["shares"]), 2)
        for fact in found["shares"]:
            gone = f"{fact['head']} {fact['relation']} {fact['tail']}"
            if gone == "n8 aunt n4":
                continue
            self.assertIn(gone, graph)
            self.write({"less.tsv": tsv(*(f for f in graph if f != gone))})
            less = self.succeed("explain", "model", "--graph", "less.tsv", *words).json
            self.assertEqual(fact["rank_without"], less["rank"], gone)

    def test_plot_in_place_of_the_graph(self) -> None:
        self.prepare()
        self.write({"graph.tsv": tsv(*KNOWN)})
        result = self.run_kgraft("explain", "model", "--graph", "graph.tsv", "--entity", "n8", "--relation", "aunt",
                                 "--answer", "n4", "--plot", "graph.tsv", "--quiet")
        self.assert_refused(result, 2, "--plot: expected a file apart from what is read, found 'graph.tsv'")
        self.assertEqual(self.read("graph.tsv"), tsv(*KNOWN))

    def test_unknown_relations(self) -> None:
        self.prepare()
        self.write({"graph.tsv": tsv(*KNOWN, "n1 sibbling n2", "n1 likes n4"), "plain.tsv": tsv(*KNOWN)})
        words = ("model", "--entity", "n8", "--relation", "aunt", "--graph")
        result = self.run_kgraft("predict", *words, "graph.tsv")
        self.assert_refused(result, 2, r"graph\.tsv: expected known relations in the new graph, found unknown ones "
                            r"in 2 of its facts: 'sibbling', 'likes' \(--skip-unknown leaves these facts out\); "
                            r"for 'sibbling', did you mean 'sibling'\?")
        result = self.succeed("predict", *words, "graph.tsv", "--skip-unknown")
        self.assertIn("2 facts with unknown names left out", result.messages)
        self.assertEqual(result.stdout, self.succeed("predict", *words, "plain.tsv").stdout)


class Refused(NewGraph):
    def refuse(self, pattern: str, *words: Word) -> None:
        self.assert_refused(self.run_kgraft(*words, "--quiet"), 2, pattern)

    def test_graphs(self) -> None:
        self.prepare()
        self.write({"empty.tsv": b"", "unknown.tsv": tsv("a likes b"), "broken.tsv": b"a\tb\n"})
        ask = ("predict", "model", "--entity", "a", "--relation", "aunt", "--graph")
        self.refuse(r"empty\.tsv: .*", *ask, "empty.tsv")
        self.refuse(r"unknown\.tsv: expected known relations in the new graph, found .*'likes'.*", *ask, "unknown.tsv")
        self.refuse(r"unknown\.tsv: expected facts of the new graph with known relations, found none",
                    *ask, "unknown.tsv", "--skip-unknown")
        self.refuse(r"broken\.tsv:1: .*", *ask, "broken.tsv")
        self.refuse(r"missing\.tsv: .*", *ask, "missing.tsv")

    def test_names(self) -> None:
        self.prepare()
        self.write({"known.tsv": tsv("n1 parent n2"), "t.tsv": tsv("new parent t1")})
        ask = ("predict", "model", "--graph", "data", "--relation", "aunt")
        self.refuse(r"--entity: expected an entity that the model knows, found 't1'.*", *ask, "--entity", "t1")
        self.refuse(r"known\.tsv:1: expected a fact of an entity that is new.*", *ask, "known.tsv", "--on-error", "stop")
        self.refuse(r"t\.tsv:1: expected one end that the model knows, found 'new' and 't1', both unknown.*",
                    *ask, "t.tsv", "--on-error", "stop")
        self.refuse("expected FACTS about new entities, or --entity with one that the model knows, found neither",
                    "predict", "model", "--graph", "data")

    def test_options_about_embeddings(self) -> None:
        self.prepare()
        self.write({"new.tsv": tsv("new parent n1")})
        self.refuse("--aggregate: expected the graph that the model was trained on, found --graph, .*",
                    "predict", "model", "new.tsv", "--graph", "data", "--aggregate", "ls")
        self.refuse("--aggregate: expected queries about unseen entities, found a new graph, .*",
                    "eval", "model", "data", "--aggregate", "ls")
        self.refuse("--baseline: expected queries about unseen entities, found a new graph, .*",
                    "eval", "model", "data", "--baseline", "oov")

    def test_models_without_propagation(self) -> None:
        self.write(DATA)
        words = ("--preset", "paper", "--dim", "8", "--epochs", "1", "--quiet")
        self.succeed("train", "data/train.txt", "model", *words)
        none = "expected a model with a term that needs no vectors of entities, such as propagation, found none"
        self.refuse(none, "eval", "model", "data")
        self.refuse(none, "predict", "model", "--graph", "data", "--entity", "n1", "--relation", "aunt")
        self.refuse(none, "calibrate", "model", "data")

    def test_data_without_queries(self) -> None:
        self.prepare()
        (self.folder / "data/inference_test.txt").unlink()
        self.refuse("data: expected a data set with facts in graph-test, found none.*", "eval", "model", "data")

    def test_relations_that_the_model_lacks(self) -> None:
        self.prepare()
        self.write({"data/train.txt": DATA["data/train.txt"] + tsv("a likes b")})
        self.refuse("expected a model that knows the data set's relations, found that it lacks 'likes'",
                    "eval", "model", "data")


@numbers_of_data
class Published(Case):
    def test_wn18rr_v1(self) -> None:
        """By the usual settings; AdaProp has 0.733."""
        data = unpacked_data() / "WN18RR_v1"
        self.succeed("train", data, "model", "--threads", "1", "--quiet")
        found = self.succeed("eval", "model", data, "--threads", "1", "--json", "--quiet").json
        self.assertEqual(found["queries"], 376)
        self.assertGreater(found["mrr"], 0.72)


if __name__ == "__main__":
    unittest.main()
