"""kgraft neighbors: cosines against those of a slow twin."""

from __future__ import annotations

import math
import unittest
from typing import Any

from grafted import MODELS, Grafted, Twin, Vector, dot, length
from kgraft import cases
from test_predict import Setting

ALL = "1000000"


def cosine(x: Vector, y: Vector) -> float:
    return dot(x, y) / (length(x) * length(y))


class Near(Grafted):
    def check_list(self, twin: Twin, found: Any, vector: Vector, itself: str) -> None:
        neighbors = found["neighbors"]
        names = [neighbor["entity"] for neighbor in neighbors]
        self.assertEqual(set(names), set(twin.entities) - {itself})
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual([n["rank"] for n in neighbors], list(range(1, len(names) + 1)))
        cosines = [neighbor["cosine"] for neighbor in neighbors]
        self.assertEqual(cosines, sorted(cosines, reverse=True))
        for neighbor in neighbors:
            expected = cosine(vector, twin.entities[neighbor["entity"]])
            self.assertAlmostEqual(neighbor["cosine"], expected, delta=1e-5)


@cases([Setting(model, aggregate) for model in MODELS for aggregate in ("eravg", "ls")])
class Lists(Near):
    """Those of every new entity."""

    def check(self, row: Setting) -> None:
        self.prepare("--model", row.model)
        twin = Twin.read(self.folder / "model")
        words = ("model", "facts.tsv", "--aggregate", row.aggregate, "-k", ALL)
        found = self.ask("neighbors", *words)
        new_entities = self.new_entities()
        self.assertEqual(found["model"], "model")
        self.assertEqual([about["entity"] for about in found["entities"]], list(new_entities))
        for about in found["entities"]:
            facts = new_entities[about["entity"]]
            self.assertEqual((about["facts"], about["new"]), (len(set(facts)), True))
            vector = twin.embed(about["entity"], facts, row.aggregate)
            self.check_list(twin, about, vector, "")


class Words(Near):
    def test_a_known_entity(self) -> None:
        """It is not among its own neighbors"""
        twin = Twin.read(self.folder / "model")
        name = list(twin.entities)[5]
        found = self.ask("neighbors", "model", "--entity", name, "-k", ALL)["entities"]
        self.assertEqual((len(found), found[0]["entity"], found[0]["new"]), (1, name, False))
        self.check_list(twin, found[0], twin.entities[name], name)

    def test_a_few(self) -> None:
        every = self.ask("neighbors", "model", "facts.tsv", "-k", ALL)["entities"]
        few = self.ask("neighbors", "model", "facts.tsv", "-k3")["entities"]
        for one, other in zip(every, few):
            self.assertEqual(one["neighbors"][:3], other["neighbors"])
        usual = self.ask("neighbors", "model", "facts.tsv", "--entity", few[1]["entity"])["entities"]
        self.assertEqual([about["neighbors"] for about in usual], [every[1]["neighbors"][:10]])
        one = self.ask("neighbors", "model", "facts.tsv", "--threads", "1")
        self.assertEqual(self.ask("neighbors", "model", "facts.tsv", "--threads", "5"), one)

    def test_table(self) -> None:
        found = self.ask("neighbors", "model", "facts.tsv", "-k", "2")["entities"]
        lines = self.succeed("neighbors", "model", "facts.tsv", "-k", "2").stdout.decode().splitlines()
        self.assertEqual(len(lines), 5 * len(found))
        for i, about in enumerate(found):
            heading, columns, first, second, blank = lines[5 * i : 5 * i + 5]
            self.assertEqual(heading, f"{about['entity']}, {about['facts']} facts")
            self.assertEqual((columns.split(), blank), (["rank", "cosine", "entity"], ""))
            for line, neighbor in zip((first, second), about["neighbors"]):
                rank, number, name = line.split()
                self.assertEqual((int(rank), name), (neighbor["rank"], neighbor["entity"]))
                self.assertAlmostEqual(float(number), neighbor["cosine"], delta=5.1e-5)

    def test_numbers_that_are_none(self) -> None:
        for value in math.nan, math.inf:
            self.break_numbers(value)
            self.refuse("neighbors", "model", "facts.tsv", "-k", ALL, "--quiet",
                        pattern="expected a model of finite numbers, .*kgraft check.*")

    def test_refused(self) -> None:
        self.refuse("neighbors", "model", pattern="expected FACTS about new entities, or --entity.*")
        self.refuse("neighbors", "model", "facts.tsv", "-k", "0", pattern="-k: expected 1 to .*")
        self.refuse("neighbors", "model", "--entity", "nobody", pattern="--entity: .*'nobody'")


if __name__ == "__main__":
    unittest.main()
