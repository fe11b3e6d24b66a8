"""kgraft replay: each fact is asked about just before it comes, in a graph that has what came before it."""

from __future__ import annotations

import itertools
import unittest
from typing import Any

from kgraft import Case, environment, tsv

# An entity comes with two facts, and a known one gets another.
STREAM = (("u", "r", "a1"), ("b2", "s", "u"), ("a3", "r", "b3"))


class Replayed(Case):
    def fill(self) -> None:
        facts = [f"a{i} r b{(i * i) % 7}" for i in range(8)] + [f"b{i % 7} s a{(i + 3) % 8}" for i in range(9)]
        self.write({"d/train.tsv": tsv(*facts), "d/test.tsv": tsv(" ".join(STREAM[2])),
                    "d/unseen-test.tsv": tsv(" ".join(STREAM[0]), " ".join(STREAM[1]))})
        self.succeed("train", "d", "m", "--dim", "8", "--epochs", "4", "--batch", "20", "--threads", "1",
                     "--propagation-epochs", "1", "--propagation-layers", "2", "--quiet")

    def replay(self, *words: str) -> Any:
        found = self.succeed("replay", "d", "m", "--threads", "1", "--quiet", "--json", *words).json
        found.pop("seconds")
        return found


class Truth(Replayed):
    def rank(self, store: str, entity: str, relation: str, side: str, answer: str) -> float | None:
        """The rank of an answer by what predict says, None if it cannot be asked."""
        result = self.run_kgraft("predict", store, "--entity", entity, "--relation", relation, "--side", side,
                                 "-k", "100", "--json", "--quiet", "--threads", "1")
        if result.status != 0:
            return None
        (found,) = result.json["entities"]
        scores = {row["entity"]: row["score"] for row in found["answers"]}
        if answer not in scores:
            return None
        others = [score for name, score in scores.items() if name not in (answer, entity)]
        higher = sum(score > scores[answer] for score in others)
        return 1 + higher + sum(score == scores[answer] for score in others) / 2

    def ranks_after(self, before: tuple[int, ...]) -> dict[int, list[float]]:
        """The ranks of the other facts' queries when some have come."""
        store = "store" + "".join(map(str, before))
        self.succeed("store", "m", store, "--quiet")
        facts = tsv(*(" ".join(STREAM[i]) for i in before))
        if before:
            self.succeed("add", store, "-", "--quiet", stdin=facts)
        out = {}
        for i in set(range(len(STREAM))) - set(before):
            head, relation, tail = STREAM[i]
            found = [self.rank(store, head, relation, "tail", tail), self.rank(store, tail, relation, "head", head)]
            out[i] = [rank for rank in found if rank is not None]
        return out

    def test_each_fact(self) -> None:
        """As predict says, on a store with the facts that came before, in the order of some permutation"""
        numbers = range(len(STREAM))
        ranks = {before: self.ranks_after(before)
                 for count in numbers for before in itertools.combinations(numbers, count)}
        expected = []
        for order in itertools.permutations(numbers):
            windows = [ranks[tuple(sorted(order[:i]))][fact] for i, fact in enumerate(order)]
            expected.append([(len(found), round(sum(1 / rank for rank in found), 9)) for found in windows])
        seen = set()
        for seed in range(8):
            found = self.replay("--batch", "1", "--seed", str(seed))
            windows = [(window["all"]["queries"], round(window["all"]["mrr"] * window["all"]["queries"], 9))
                       for window in found["windows"]]
            self.assertIn(windows, expected)
            self.assertEqual([window["unasked"] for window in found["windows"]], [2 - count for count, _ in windows])
            total = found["total"]
            self.assertEqual((total["facts"], total["all"]["queries"]), (3, sum(count for count, _ in windows)))
            self.assertEqual(total["known"]["queries"] + total["later"]["queries"], total["all"]["queries"])
            seen.add(str(windows))
        self.assertGreater(len(seen), 1)


class Options(Replayed):
    def test_same_for_threads_and_rates(self) -> None:
        words = ("--batch", "2", "--withdraw", "0.5", "--seed", "3")
        expected = self.replay(*words)
        self.assertEqual(self.replay(*words, "--threads", "3"), expected)
        self.assertEqual(self.replay(*words, "--rate", "100"), expected)

    def test_withdraw(self) -> None:
        """A share of 1 withdraws one for each fact that comes after the first transaction"""
        found = self.replay("--batch", "1", "--withdraw", "1")
        self.assertEqual(found["withdrawn"], 2)
        self.assertLessEqual(found["total"]["entities"], 16)

    def test_compact(self) -> None:
        (self.folder / "tmp").mkdir()
        found = self.succeed("replay", "d", "m", "--threads", "1", "--json", "--batch", "1", "--compact-every", "1",
                             env=environment(TMPDIR=str(self.folder / "tmp"))).json
        self.assertEqual([window["generation"] for window in found["windows"]], [2, 3, 3])
        self.assertEqual(found["total"]["facts"], 3)
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_text_and_plot(self) -> None:
        result = self.succeed("replay", "d", "m", "--threads", "1", "--plot", "plot.svg", "--batch", "1")
        lines = result.stdout.decode().splitlines()
        self.assertEqual(lines[0].split(), "facts entities generation unasked queries MRR known later".split())
        self.assertEqual(lines[-1].split()[-1], "all")
        self.assertEqual(len(lines), 5)
        svg = self.read("plot.svg")
        self.assertIn(b"MRR", svg)

    def test_left_out(self) -> None:
        """Facts that are there, and those with relations that the model does not know"""
        self.write({"e/train.tsv": tsv("a1 new b1"), "e/test.tsv": tsv("a1 r b1", "a2 new b2", "a3 r b3")})
        found = self.succeed("replay", "e", "m", "--threads", "1", "--quiet", "--json").json
        self.assertEqual((found["repeated"], found["unknown"]), (1, 1))

    def test_refused(self) -> None:
        self.refuse("replay", "d", "m", "--rate", "-1", pattern="--rate: expected 0 to 1e9 facts a second, found -1")
        self.refuse("replay", "d", "m", "--batch", "0", pattern="--batch: expected 1 to 1000000 facts, found 0")
        self.refuse("replay", "d", "m", "--withdraw", "2",
                    pattern="--withdraw: expected a share from 0 to 1, found 2")
        self.refuse("replay", "d/train.tsv", "m",
                    pattern="expected a data set with facts beside the training facts, found none")


if __name__ == "__main__":
    unittest.main()
