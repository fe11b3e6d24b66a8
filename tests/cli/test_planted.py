"""kgraft generate --shape wikidata5m: what is planted is there.

The rules of dataset.json are applied to the facts of train.tsv by brute force: what is held out
of a rule follows from it, controls follow from none, and the counts are exact. Types, functional
relations and Zipf's law are read off the facts alone.
"""

from __future__ import annotations

import json
import math
import unittest
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kgraft import Case, cases, is_sanitized

Fact = tuple[str, str, str]
GROUPS = ["1 step", "2 steps", "3 steps", "control"]


def read_facts(path: Path) -> list[Fact]:
    lines = path.read_text().splitlines()
    return [(head, relation, tail) for head, relation, tail in (line.split("\t") for line in lines)]


class Graph:
    def __init__(self, folder: Path) -> None:
        self.about = json.loads((folder / "dataset.json").read_text())
        self.parts = {
            part: read_facts(folder / f"{part}.tsv") if (folder / f"{part}.tsv").exists() else []
            for part in ("train", "valid", "test")
        }
        self.rules: list[Any] = self.about["planted"]["rules"]
        self.types: int = self.about["planted"]["types"]
        self.targets: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for head, relation, tail in self.parts["train"]:
            self.targets[relation][head].append(tail)

    @cached_property
    def all(self) -> set[Fact]:
        return {fact for facts in self.parts.values() for fact in facts}

    @cached_property
    def links(self) -> list[str]:
        return [f"r{i}" for i in range(self.types)]

    def groups(self, part: str) -> dict[str, list[Fact]]:
        facts = iter(self.parts[part])
        sizes = {group["name"]: group["facts"] for group in self.about["groups"][part]}
        return {name: [next(facts) for _ in range(size)] for name, size in sizes.items()}

    def conclusions(self, rule: Any) -> list[Fact]:
        """Of each body of the rule in the training facts."""
        first, *others = rule["body"]
        ends = [(x, y) for x, targets in self.targets[first].items() for y in targets]
        for relation in others:
            ends = [(x, z) for x, y in ends for z in self.targets[relation][y]]
        if rule["inverse"]:
            ends = [(y, x) for x, y in ends]
        return [(x, rule["head"], y) for x, y in ends]


@dataclass(frozen=True)
class Size:
    name: str
    facts: int
    entities: int
    relations: int
    options: str = ""


SIZES = [
    Size("as small as can be", 400, 200, 20),
    Size("one in a hundred, fewer relations", 206_000, 46_000, 200, "--seed 1"),
    Size("many relations", 60_000, 12_000, 800, "--seed 2"),
    Size("as many facts as entities can have", 100_000, 8_000, 100, "--seed 3"),
    Size("two facts for each entity", 20_000, 10_000, 50, "--seed 4"),
    Size("uniform", 40_000, 8_000, 100, "--exponent 0 --seed 5"),
    Size("a steep law", 40_000, 8_000, 100, "--exponent 2 --seed 9223372036854775807"),
]


@cases(SIZES)
class Planted(Case):
    def check(self, row: Size) -> None:
        sizes = f"--facts {row.facts} --entities {row.entities} --relations {row.relations}"
        self.succeed("generate", "g", "--shape", "wikidata5m", *f"{sizes} {row.options}".split())
        graph = Graph(self.folder / "g")
        self.check_counts(row, graph)
        self.check_types(graph)
        self.check_rules(graph)

    def check_counts(self, row: Size, graph: Graph) -> None:
        self.assertEqual(len(graph.all), row.facts)
        self.assertEqual(sum(len(facts) for facts in graph.parts.values()), row.facts)
        train = graph.parts["train"]
        entities = {end for fact in train for end in (fact[0], fact[2])}
        self.assertEqual(entities, {f"e{i}" for i in range(row.entities)})
        self.assertEqual({fact[1] for fact in train}, {f"r{i}" for i in range(row.relations)})
        self.assertFalse([fact for fact in graph.all if fact[0] == fact[2]])
        each = int(min(1000, *(size / 10 for size in self.sizes(graph))))
        for part in ("valid", "test"):
            wanted = dict(zip(GROUPS, (each, each, each, 3 * each)))
            found = {name: len(facts) for name, facts in graph.groups(part).items()}
            self.assertEqual(found, wanted)
            self.assertEqual(len(graph.parts[part]), 6 * each)
        counts = self.stats("g")
        self.assertEqual(
            (counts["train"], counts["valid"], counts["entities"], counts["relations"]),
            (len(train), 6 * each, row.entities, row.relations),
        )

    def sizes(self, graph: Graph) -> list[float]:
        """The facts expected of rules of each length, and of controls for each length."""
        sizes = [0.0] * 4
        for rule in graph.rules:
            sizes[len(rule["body"]) - 1] += rule["facts"] * rule["confidence"]
            sizes[3] += rule["facts"] * (1 - rule["confidence"]) / 3
        return sizes

    def check_types(self, graph: Graph) -> None:
        """Each entity has one link, which tells its type; relations lead from one type to one."""
        type_of = {head: link for link in graph.links for head in graph.targets[link]}
        self.assertEqual(len(type_of), sum(len(graph.targets[link]) for link in graph.links))
        self.assertEqual(len(type_of), graph.about["planted"]["entities"])
        ends: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for head, relation, tail in graph.all:
            ends[relation].add((type_of[head], type_of[tail]))
        self.assertEqual({len(types) for types in ends.values()}, {1})
        for link in graph.links:
            self.assertEqual({len(tails) for tails in graph.targets[link].values()}, {1})

    def check_rules(self, graph: Graph) -> None:
        rules = {rule["head"]: rule for rule in graph.rules}
        self.assertEqual(len(rules), len(graph.rules))
        self.assertEqual({len(rule["body"]) for rule in graph.rules}, {1, 2, 3})
        self.assertFalse(set(rules) & {name for rule in graph.rules for name in rule["body"]})
        used = Counter(fact[1] for fact in graph.all)
        follows = set()
        for rule in graph.rules:
            conclusions = graph.conclusions(rule)
            right = [fact for fact in conclusions if fact in graph.all]
            follows.update(right)
            self.assertEqual(len(set(conclusions)), len(conclusions))
            self.assertEqual((len(conclusions), used[rule["head"]]), (rule["facts"],) * 2)
            loops = sum(fact[0] == fact[2] for fact in conclusions)
            expected = rule["confidence"] * (len(conclusions) - loops)
            spread = math.sqrt(expected * (1 - rule["confidence"]))
            self.assertLessEqual(abs(len(right) - expected), 5 * spread + 1e-6)
        for part in ("valid", "test"):
            for name, facts in graph.groups(part).items():
                for fact in facts:
                    steps = len(rules[fact[1]]["body"])
                    self.assertEqual(fact in follows, name != "control")
                    self.assertIn(name, ("control", GROUPS[steps - 1]))


class Law(Case):
    def fill(self) -> None:
        for exponent in ("0.7", "1", "1.5"):
            options = f"--facts 100000 --entities 20000 --relations 100 --exponent {exponent}"
            self.succeed("generate", exponent, "--shape", "wikidata5m", *options.split())

    def test_relations(self) -> None:
        """The k-th base relation has its share of the facts, but for rounding."""
        for exponent in ("0.7", "1", "1.5"):
            graph = Graph(self.folder / exponent)
            used = Counter(fact[1] for fact in graph.parts["train"])
            heads = {rule["head"] for rule in graph.rules}
            base = [name for name in (f"r{i}" for i in range(graph.types, 100)) if name not in heads]
            scaled = [(used[name] - 1, (k + 1) ** -float(exponent)) for k, name in enumerate(base)]
            low = max(count / weight for count, weight in scaled[1:])
            high = min((count + 1) / weight for count, weight in scaled[1:])
            self.assertLessEqual(low, high)
            self.assertLess(abs(scaled[0][0] / low - 1), 0.05)

    def test_targets(self) -> None:
        """The most frequent targets of each type are as frequent as the law has it."""
        for exponent in ("0.7", "1", "1.5"):
            graph = Graph(self.folder / exponent)
            type_of = {head: link for link in graph.links for head in graph.targets[link]}
            sizes = Counter(type_of.values())
            heads = {rule["head"] for rule in graph.rules}
            degrees: dict[str, Counter[str]] = defaultdict(Counter)
            functional = {
                relation
                for relation, targets in graph.targets.items()
                if relation not in heads
                and all(len(tails) == 1 for tails in targets.values())
            }
            for _, relation, tail in graph.parts["train"]:
                if relation in functional:
                    degrees[type_of[tail]][tail] += 1
            self.assertGreater(len(degrees), 2)
            for name, counts in degrees.items():
                weights = [(k + 1) ** -float(exponent) for k in range(sizes[name])]
                total = sum(counts.values())
                for k, (_, count) in enumerate(counts.most_common(5)):
                    expected = total * weights[k] / sum(weights)
                    if expected > 200:
                        self.assertLess(abs(count - expected), 5 * math.sqrt(expected) + 2)


class Bytes(Case):
    SHAPE = ("--shape", "wikidata5m", "--relations", "20")

    def generate(self, name: str, *options: str, **changes: Any) -> tuple[bytes, ...]:
        self.succeed("generate", name, *self.SHAPE, *options, **changes)
        files = ("train.tsv", "valid.tsv", "test.tsv", "dataset.json")
        return tuple(self.read(f"{name}/{file}") for file in files)

    def test_same_seed_same_bytes(self) -> None:
        first = self.generate("a", "--facts", "5000", "--seed", "3", env={"OMP_NUM_THREADS": "1"})
        second = self.generate("b", "--facts", "5000", "--seed", "3", env={"OMP_NUM_THREADS": "4"})
        other = self.generate("c", "--facts", "5000", "--seed", "4")
        self.assertEqual(first, second)
        self.assertNotEqual(first[0], other[0])

    def test_sizes_in_proportion(self) -> None:
        self.generate("facts", "--facts", "20600")
        self.generate("entities", "--entities", "4600")
        for name in ("facts", "entities"):
            planted = json.loads(self.read(f"{name}/dataset.json"))["planted"]
            self.assertEqual((planted["facts"], planted["entities"]), (20600, 4600))

    def test_import_and_check_take_it(self) -> None:
        files = self.generate("a", "--facts", "20600")
        self.succeed("check", "a")
        self.succeed("import", "a", "b")
        self.assertEqual(self.read("b/train.tsv"), files[0])
        self.assertEqual(self.read("b/dataset.json"), files[3])

    def test_a_folder_is_not_replaced(self) -> None:
        self.generate("a", "--facts", "2000")
        self.refuse("generate", "a", *self.SHAPE, pattern="a: it exists already .*")

    @unittest.skipIf(is_sanitized(), "memory is counted differently")
    def test_memory_does_not_grow_with_facts(self) -> None:
        sizes = ("20000", "500000")
        small, large = (
            self.peak_memory("generate", f"of-{size}", *self.SHAPE, "--facts", size) for size in sizes
        )
        self.assertLess(large - small, 1_500_000)


class Evaluation(Case):
    """kgraft eval shows how much of what was planted is found."""

    def fill(self) -> None:
        options = "--shape wikidata5m --facts 50000 --relations 100".split()
        self.succeed("generate", "g", *options)

    def sizes(self, part: str) -> list[tuple[str, int]]:
        groups = json.loads(self.read("g/dataset.json"))["groups"][part]
        return [(group["name"], group["facts"]) for group in groups]

    def test_groups(self) -> None:
        for part in ("valid", "test"):
            options = ("--in-sample", "--baseline", "echo", "--split", part, "g")
            groups = self.succeed("eval", "--json", "--ranks", "ranks", *options).json["groups"]
            shown = self.succeed("eval", *options).stdout.decode()
            ranks = [line.split(b"\t") for line in self.lines("ranks")]
            self.assertEqual(list(groups), GROUPS)
            at = 0
            for name, size in self.sizes(part):
                own = ranks[at : at + 2 * size]
                at += 2 * size
                self.assertEqual(groups[name]["queries"], 2 * size)
                self.assertAlmostEqual(groups[name]["mrr"], mean(own))
                for side in ("head", "tail"):
                    found = groups[name]["by_side"][side]
                    self.assertAlmostEqual(
                        found["mrr"], mean([row for row in own if row[2] == side.encode()])
                    )
                self.assertRegex(shown, f"(?m)^{name} +{2 * size} +{groups[name]['mrr']:.4f} ")
            self.assertEqual(at, len(ranks))

    def test_echoes_are_rules_of_one_step(self) -> None:
        options = ("--in-sample", "--baseline", "echo", "g")
        groups = self.succeed("eval", "--json", *options).json["groups"]
        found = {name: groups[name]["by_side"]["tail"]["mrr"] for name in GROUPS}
        self.assertGreater(found["1 step"], 0.3)
        self.assertLess(found["control"], found["1 step"] / 2)

    def test_no_groups_where_they_are_not_about_the_part(self) -> None:
        about = json.loads(self.read("g/dataset.json"))
        del about["checksum"]
        count = len(self.lines("g/test.tsv"))
        for name, facts in (("1 step", count - 1), (None, count), ("x", -1), ("x", count + 1)):
            group = {"name": name, "facts": facts}
            about["groups"] = {"test": [group]}
            self.write({"g/dataset.json": json.dumps(about).encode()})
            answer = self.succeed("eval", "--json", "--in-sample", "--baseline", "echo", "g").json
            self.assertNotIn("groups", answer)


def mean(rows: list[list[bytes]]) -> float:
    return sum(1 / float(row[4]) for row in rows) / len(rows)


@dataclass(frozen=True)
class Wrong:
    name: str
    options: str
    pattern: str


WRONG = [
    Wrong("few relations", "--relations 19", "expected 20 to .* relations, found 19"),
    Wrong("few entities", "--entities 199 --relations 20", "expected at least 10 entities .*199"),
    Wrong("few facts", "--facts 399 --entities 200 --relations 20", "expected at least 2 .*399"),
    Wrong(
        "many facts",
        "--facts 200000 --entities 800 --relations 80",
        "expected fewer facts for each entity: .*",
    ),
    Wrong("exponent", "--exponent 5", "expected an exponent from 0 to 4, found 5"),
    Wrong("no facts", "--facts 0", "expected at least 10 entities .*found 0"),
    Wrong("unknown shape", "--shape other", "--shape: expected zipf or wikidata5m, found 'other'"),
]


@cases(WRONG)
class Refusals(Case):
    def check(self, row: Wrong) -> None:
        options = ["--shape", "wikidata5m", *row.options.split()]
        self.refuse("generate", "g", *options, pattern=row.pattern)


if __name__ == "__main__":
    unittest.main()
