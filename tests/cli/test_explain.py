"""kgraft explain: parts that sum to the score, and ranks without each fact, against fresh runs."""

from __future__ import annotations

import fcntl
import math
import os
import pty
import struct
import subprocess
import termios
import unittest
from dataclasses import dataclass
from typing import Any, Iterator, Optional

from grafted import (
    AGGREGATES,
    EVIDENCE,
    GRAFT,
    MODELS,
    Fact,
    Grafted,
    Twin,
    as_tsv,
    dot,
    rank_in,
    solve,
)
from kgraft import BINARY, TIMEOUT, cases, check_sanitizers, tsv


@dataclass(frozen=True)
class Setting:
    model: str
    aggregate: str
    words: str = ""
    training: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        evidence = ", evidence" if self.training == EVIDENCE else ""
        return f"{self.model}, {self.aggregate} {self.words}".strip() + evidence


SETTINGS = [Setting(model, aggregate) for model in MODELS for aggregate in AGGREGATES]
SETTINGS += [Setting(model, "graft", "", GRAFT) for model in MODELS]
SETTINGS += [Setting(model, "graft", "", EVIDENCE) for model in ("distmult", "quate")]
SETTINGS += [Setting("simple", "ls", "", EVIDENCE)]
SETTINGS += [
    Setting("distmult", "ls-u"),
    Setting("complex", "ls", "--ls-rows weighted"),
    Setting("quate", "ls", "--ls-lambda 0.001"),
]


class Explained(Grafted):
    def explain(self, *words: Any, **options: Any) -> Any:
        return self.ask("explain", "model", *words, **options)

    def some_entity(self) -> tuple[str, list[Fact]]:
        """One with a few facts, several of one relation."""
        return next(item for item in self.newcomers().items() if 4 <= len(item[1]) <= 9)


@cases(SETTINGS)
class Parts(Explained):
    """The parts of a score, and what if a fact were not known."""

    def check(self, row: Setting) -> None:
        self.prepare("--model", row.model, *row.training)
        twin = Twin.read(self.folder / "model")
        entity, facts = self.some_entity()
        options = ("--aggregate", row.aggregate, *row.words.split())
        own = next(fact for fact in facts if fact[0] == entity)
        answer = list(twin.entities)[7]
        for relation, side, answer in (facts[0][1], "tail", answer), (facts[1][1], "head", answer), (own[1], "tail", own[2]):
            asked = ("--relation", relation, "--side", side, "--answer", answer, *options)
            found = self.explain("facts.tsv", "--entity", entity, *asked)
            self.check_form(found, entity, relation, side, answer, facts)
            self.assertEqual(found["given"], answer == own[2])
            self.check_sum(found, twin, row)
            self.check_rank(found, facts, *asked)
            for share in found["shares"]:
                fact = (share["head"], share["relation"], share["tail"])
                others = [other for other in facts if other != fact and not (found["given"] and other == own)]
                self.write({"others.tsv": as_tsv(others)})
                fresh = self.explain("others.tsv", *asked)
                self.assertEqual(share["rank_without"], fresh["rank"], fact)

    def check_form(
        self, found: Any, entity: str, relation: str, side: str, answer: str, facts: list[Fact]
    ) -> None:
        link = (entity, relation, answer) if side == "tail" else (answer, relation, entity)
        self.assertEqual((found["head"], found["relation"], found["tail"]), link)
        self.assertEqual((found["entity"], found["side"]), (entity, side))
        self.assertEqual(found["facts"], len(set(facts)))
        shares = found["shares"]
        links = [(share["head"], share["relation"], share["tail"]) for share in shares]
        self.assertEqual(sorted(links), sorted(set(facts)))
        parts = [abs(share["part"]) for share in shares]
        self.assertEqual(parts, sorted(parts, reverse=True))
        parts += [abs(said["part"]) for said in found["evidence"]]
        for share in shares + found["evidence"]:
            self.assertAlmostEqual(share["share"], share["part"] / sum(parts))

    def check_sum(self, found: Any, twin: Twin, row: Setting) -> None:
        """The issue's bound; and each part is the weight times what the definition says."""
        parts = [part["part"] for part in found["shares"] + found["evidence"]]
        magnitudes = sum(map(abs, parts))
        self.assertAlmostEqual(math.fsum(parts), found["score"], delta=1e-9 * magnitudes)
        self.assertEqual(found["evidence"] != [], row.training == EVIDENCE)
        if row.training:
            return  # whose facts have vectors of their own
        asked = (found["head"], found["relation"], found["tail"])
        missing = "head" if found["side"] == "tail" else "tail"
        query = twin.query(asked, missing)
        matrix = self.matrix(found, twin) if row.aggregate == "ials" else []
        for share in found["shares"]:
            fact = (share["head"], share["relation"], share["tail"])
            is_head = fact[0] == found["entity"]
            if row.aggregate == "eavg":
                vector = twin.entities[fact[2] if is_head else fact[0]]
            else:
                vector = twin.query(fact, "head" if is_head else "tail")
            if row.aggregate == "ials":
                vector = solve(matrix, vector)
            expected = share["weight"] * dot(vector, query)
            self.assertAlmostEqual(share["part"], expected, delta=1e-5 * magnitudes)

    def matrix(self, found: Any, twin: Twin) -> list[list[float]]:
        """By which ials divides its facts' vectors."""
        facts = [(share["head"], share["relation"], share["tail"]) for share in found["shares"]]
        facts = [fact for fact in facts if fact != (found["head"], found["relation"], found["tail"])]
        sides = ["head" if fact[0] == found["entity"] else "tail" for fact in facts]
        return twin.implicit(
            {(fact[1], side) for fact, side in zip(facts, sides)},
            [twin.query(fact, side) for fact, side in zip(facts, sides)],
        )

    def check_rank(self, found: Any, facts: list[Fact], *words: Any) -> None:
        """As kgraft predict lists it."""
        options = list(words)
        del options[4:6]  # the answer
        self.write({"own.tsv": as_tsv(facts)})
        keep = ("--keep-known",) if (found["head"], found["relation"], found["tail"]) in facts else ()
        answers = self.ask("predict", "model", "own.tsv", "-k", "1000000", *options, *keep)
        answers = answers["entities"][0]["answers"]
        answer = found["tail"] if found["side"] == "tail" else found["head"]
        listed = next(row for row in answers if row["entity"] == answer)
        self.assertAlmostEqual(listed["score"], found["score"], places=5)
        self.assertAlmostEqual(listed["probability"], found["probability"], places=5)
        if not keep:
            self.assertEqual(rank_in(answers, answer), found["rank"])


class Answers(Explained):
    def test_an_answer_that_is_a_fact(self) -> None:
        """It is explained as if it were not, as eval asks for it"""
        entity, facts = self.some_entity()
        fact = next(fact for fact in facts if fact[0] == entity)
        words = ("--relation", fact[1], "--answer", fact[2])
        found = self.explain("facts.tsv", "--entity", entity, *words)
        others = [other for other in facts if other != fact]
        self.write({"others.tsv": as_tsv(others)})
        fresh = self.explain("others.tsv", *words)
        without = {(s["head"], s["relation"], s["tail"]): s["rank_without"] for s in found["shares"]}
        self.assertEqual(without[fact], fresh["rank"])
        self.assertEqual((found["score"], found["rank"]), (fresh["score"], fresh["rank"]))
        self.assertEqual((found["given"], fresh["given"]), (True, False))
        self.succeed("eval", "model", "data", "--ranks", "ranks.tsv", "--quiet")
        judged = [line.split("\t") for line in self.read("ranks.tsv").decode().splitlines()]
        ranks = [float(row[4]) for row in judged if row[:4] == [entity, fact[1], "tail", fact[2]]]
        self.assertEqual(ranks, [found["rank"]])
        shown = self.succeed("explain", "model", "facts.tsv", "--entity", entity, *words).stdout.decode()
        self.assertEqual(shown.splitlines()[2], "as if this were not one of the facts that are given")

    def test_with_evidence(self) -> None:
        """Likewise: what speaks for a known answer is what speaks for it without the fact"""
        self.prepare(*EVIDENCE)
        self.test_an_answer_that_is_a_fact()

    def test_a_single_fact(self) -> None:
        answer = self.known[0][0]
        words = ("--relation", "r0", "--answer", answer)
        facts = tsv(f"new r0 {self.known[0][2]}")
        found = self.explain("-", *words, stdin=facts)
        self.assertIsNone(found["shares"][0]["rank_without"])
        self.assertEqual(abs(found["shares"][0]["share"]), 1)
        table = self.succeed("explain", "model", "-", *words, stdin=facts).stdout.decode()
        self.assertRegex(table, r"(?m)^  new +r0 .*[+-]100\.0% +-  \|?#+\|?$")

    def test_without_a_calibration(self) -> None:
        self.write({"plain.tsv": self.read("data/train.tsv")})
        self.succeed("train", "plain.tsv", "plain", *"--dim 4 --epochs 1 --hold-out 0 --quiet".split())
        facts = tsv(f"new r0 {self.known[0][2]}")
        words = ("explain", "plain", "-", "--relation", "r0", "--answer", self.known[0][0])
        self.assertIsNone(self.ask(*words, stdin=facts)["probability"])
        self.assertNotIn(b"probability", self.succeed(*words, stdin=facts).stdout)


    def test_numbers_that_are_none(self) -> None:
        """They are told, not explained"""
        entity, facts = self.some_entity()
        other = facts[0][2] if facts[0][0] == entity else facts[0][0]
        words = ("facts.tsv", "--entity", entity, "--relation", "r0", "--answer", other)
        for value in math.nan, math.inf:
            self.break_numbers(value)
            for aggregate in AGGREGATES:
                self.refuse("explain", "model", *words, "--aggregate", aggregate, "--quiet",
                            pattern="expected a model of finite numbers, .*kgraft check.*")


class Evidence(Explained):
    """What speaks for an answer, counted again from the training facts."""

    LENGTHS = {"echo": 1, "two": 2, "three": 3, "four": 4}

    def setUp(self) -> None:
        super().setUp()
        self.prepare(*EVIDENCE)
        self.train = set(self.known)

    def explained(self) -> Iterator[tuple[str, list[Fact], Any]]:
        """The best answers to some questions about some entities."""
        for entity, facts in list(self.newcomers().items())[:4]:
            for relation, side in ("r0", "tail"), ("r2", "head"):
                words = ("--entity", entity, "--relation", relation, "--side", side)
                listed = self.ask("predict", "model", "facts.tsv", "-k", "3", *words)
                for answer in listed["entities"][0]["answers"]:
                    words = (*words[:6], "--answer", answer["entity"])
                    yield entity, facts, self.explain("facts.tsv", *words)

    def test_reasons(self) -> None:
        seen = set()
        for entity, facts, found in self.explained():
            answer = found["tail"] if found["side"] == "tail" else found["head"]
            for said in found["evidence"]:
                self.assertLessEqual(len(said["reasons"]), min(8, said["reason_count"]))
                shares = [reason["share"] for reason in said["reasons"]]
                self.assertEqual(shares, sorted(shares, reverse=True))
                for reason in said["reasons"]:
                    path = [(fact["head"], fact["relation"], fact["tail"]) for fact in reason["path"]]
                    self.check_reason(said["feature"], reason, path, entity, facts, answer, found)
                seen.add(said["feature"])
        self.assertGreaterEqual(seen, {"two", "three", "four", "company", "votes", "vacancy"})

    def check_reason(
        self, feature: str, reason: Any, path: list[Fact], entity: str, facts: list[Fact],
        answer: str, found: Any,
    ) -> None:
        if feature == "vacancy":
            self.assertEqual((path, reason["hits"]), ([], self.count_askers(found, answer)))
        elif feature == "votes":
            self.assertIn(path[0], self.train)
            self.assertEqual(self.asks(found, path[0]), answer)
        else:
            self.assertIn(path[0], facts)
            self.assertLessEqual(set(path[1:]), self.train)
        if feature == "company":
            self.check_company(reason, path[0], entity, answer, found)
        if feature in self.LENGTHS:
            self.assertEqual(len(path), self.LENGTHS[feature])
            here = entity
            for head, _, tail in path:
                self.assertIn(here, (head, tail))
                here = tail if here == head else head
            self.assertEqual(here, answer)
            self.assertLess(0, reason["hits"])
            self.assertLessEqual(reason["hits"], reason["chances"])

    def asks(self, found: Any, fact: Fact) -> Optional[str]:
        """What a fact answers, if it is one of the relation that is asked for."""
        return fact[2 if found["side"] == "tail" else 0] if fact[1] == found["relation"] else None

    def count_askers(self, found: Any, answer: str) -> int:
        own = [fact for fact in self.train if fact[0] != fact[2]]
        return sum(self.asks(found, fact) == answer for fact in own)

    def check_company(
        self, reason: Any, fact: Fact, entity: str, answer: str, found: Any
    ) -> None:
        """Of others with the fact, who are few enough to be asked all."""
        place = 0 if fact[0] == entity else 2
        others = {
            other[place] for other in self.train
            if other[1] == fact[1] and other[2 - place] == fact[2 - place] and other[0] != other[2]
        }
        if len(others) > 32:
            return
        asker = 0 if found["side"] == "tail" else 2
        answers: dict[str, set[str]] = {}
        for own in self.train:
            if own[asker] in others and own[1] == found["relation"] and own[0] != own[2]:
                answers.setdefault(own[asker], set()).add(own[2 - asker])
        self.assertEqual(reason["chances"], len(answers))
        self.assertEqual(reason["hits"], sum(answer in given for given in answers.values()))
        self.assertAlmostEqual(reason["share"], reason["hits"] / (reason["chances"] + 3))

    def test_words(self) -> None:
        """Each feature has a line, and at most three of its reasons do"""
        patterns = {
            "company": (
                r"(1 of \d+ others looked at with  STEP  that have any answer has|(?!1 )\d+ of \d+ others looked at with  STEP  that have any answer have|"
                r"the one other looked at with  STEP  that has any answer has) this one"
            ).replace("STEP", r"(-r\d+->|<-r\d+-) \S+"),
            "votes": r"\S+ (-r\d+->|<-r\d+-) \S+: \d+\.\d% of the votes",
            "vacancy": r"(nobody is known with  .* \S+  yet|1 other is .*|\d+ others are known with  .*)",
        }
        path = r"\S+( (-r\d+->|<-r\d+-) \S+)+: right in [\d.]+ of [\d.]+ cases"
        for entity, _, found in self.explained():
            answer = found["tail"] if found["side"] == "tail" else found["head"]
            words = ("--entity", entity, "--relation", found["relation"], "--side", found["side"])
            shown = self.succeed("explain", "model", "facts.tsv", *words, "--answer", answer)
            lines = shown.stdout.decode().split("\nevidence\n")[1].splitlines()
            for said in found["evidence"]:
                part, share, *_ = lines.pop(0).split()
                self.assertAlmostEqual(float(part), said["part"], delta=5.1e-5)
                self.assertAlmostEqual(float(share.rstrip("%")), 100 * said["share"], delta=0.051)
                for reason in said["reasons"][:3]:
                    pattern = patterns.get(said["feature"], path)
                    self.assertRegex(lines[0], rf"^    {pattern}$")
                    if said["feature"] == "company":
                        self.assertEqual("the one other" in lines[0], reason["chances"] == 1)
                    lines.pop(0)
                if said["reason_count"] > 3:
                    self.assertEqual(lines.pop(0), f"    and {said['reason_count'] - 3} more")
            self.assertEqual(lines, [])


class Tables(Explained):
    def words(self) -> tuple[str, ...]:
        entity, facts = self.some_entity()
        answer = sorted(self.seen)[3]
        return ("explain", "model", "facts.tsv", "--entity", entity, "--relation", "r0",
                "--answer", answer)

    def test_says_what_json_says(self) -> None:
        found = self.ask(*self.words())
        lines = self.succeed(*self.words()).stdout.decode().splitlines()
        self.assertEqual(lines[0], f"{found['head']}  {found['relation']}  {found['tail']}")
        self.assertEqual(
            lines[1],
            f"score {found['score']:.4f}, probability {found['probability']:.4f}, "
            f"rank {found['rank']:.15g}",
        )
        self.assertEqual(lines[3].split(), "head relation tail part share rank without".split())
        self.assertEqual(len(lines), 4 + len(found["shares"]))
        axis = {line.index("|") for line in lines[4:]}
        self.assertEqual(len(axis), 1)
        largest = max(abs(share["part"]) for share in found["shares"])
        for line, share in zip(lines[4:], found["shares"]):
            head, relation, tail, part, percent, rank, *_ = line.split()
            self.assertEqual(
                (head, relation, tail), (share["head"], share["relation"], share["tail"])
            )
            self.assertAlmostEqual(float(part), share["part"], delta=5.1e-5)
            self.assertAlmostEqual(float(percent.rstrip("%")), 100 * share["share"], delta=0.051)
            self.assertEqual(float(rank), share["rank_without"])
            left, right = line[max(axis) - 40 :].split("|")
            self.assertEqual(right.strip("#"), "")
            if abs(share["part"]) > largest / 10:
                self.assertEqual("#" in right, share["part"] > 0)
                self.assertEqual(left.endswith("#"), share["part"] < 0)

    def on_terminal(self, columns: int) -> list[str]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [BINARY, *self.words(), "--quiet"]
        with subprocess.Popen(
            command, cwd=self.folder, stdout=theirs, stderr=subprocess.PIPE
        ) as child:
            os.close(theirs)
            shown = b""
            while True:
                try:
                    piece = os.read(ours, 4096)
                except OSError:  # the other end is closed
                    break
                shown += piece
                if not piece:
                    break
            assert child.stderr is not None
            check_sanitizers(child.stderr.read())
            self.assertEqual(child.wait(TIMEOUT), 0)
        os.close(ours)
        return shown.decode().replace("\r\n", "\n").splitlines()

    def test_fits_the_terminal(self) -> None:
        for columns in 70, 80, 100, 120, 200:
            lines = self.on_terminal(columns)
            self.assertLessEqual(max(map(len, lines)), columns)
        self.assertEqual(lines, self.succeed(*self.words()).stdout.decode().splitlines())
        self.assertNotIn("\x1b", "".join(lines))

    def test_long_names_are_cut_on_a_terminal_only(self) -> None:
        name = "\u00e4" * 60
        facts = [tuple(name if n == "new" else n for n in fact) for fact in
                 (("new", "r0", self.known[0][0]), ("new", "r1", self.known[0][2]))]
        self.write({"facts.tsv": as_tsv(facts)})  # type: ignore[arg-type]
        self.facts = facts  # type: ignore[assignment]
        words = ("explain", "model", "facts.tsv", "--relation", "r0", "--answer", self.known[0][2])
        self.words = lambda: words  # type: ignore[method-assign]
        lines = self.on_terminal(80)
        self.assertLessEqual(max(map(len, lines[3:])), 80)
        self.assertRegex(lines[4], r"^  \u00e4+\.\.\.  ")
        self.assertIn(name, self.succeed(*words).stdout.decode().splitlines()[4])


@dataclass(frozen=True)
class Wrong:
    name: str
    words: str
    pattern: str


@cases(
    [
        Wrong("no relation", "model facts.tsv --answer x", "expected --relation, found none"),
        Wrong("no answer", "model facts.tsv --relation r0", "expected --answer, found none"),
        Wrong("no facts", "model --relation r0 --answer x", "too few arguments: .*"),
        Wrong("several new entities", "model facts.tsv --relation r0 --answer x",
              "expected --entity with one of the 3 new entities in the facts, such as 'a', found none"),
        Wrong("an unknown relation", "model facts.tsv --entity a --relation R0 --answer x",
              "--relation: expected a relation .* found 'R0', did you mean 'r0'.*"),
        Wrong("an unknown answer", "model facts.tsv --entity a --relation r0 --answer nobody",
              "--answer: expected an entity that the model knows, found 'nobody'"),
        Wrong("a side that is none", "model facts.tsv --relation r0 --answer x --side both",
              "--side: expected one of head tail, found 'both'"),
    ]
)
class Refused(Explained):
    """Bad words."""

    def check(self, row: Wrong) -> None:
        self.write({"facts.tsv": tsv(*(f"{new} r0 {self.known[0][0]}" for new in "abc"))})
        self.refuse("explain", *row.words.split(), pattern=row.pattern)

    def test_a_model_with_an_encoder(self) -> None:
        self.succeed("train", "data", "encoded", *"--model rgcn-d --dim 4 --epochs 1 --quiet".split())
        self.write({"facts.tsv": tsv(f"new r0 {self.known[0][0]}")})
        words = ("--relation", "r0", "--answer", self.known[0][0])
        self.refuse("explain", "encoded", "facts.tsv", *words,
                    pattern="expected a model whose vectors are sums over facts, found rgcn-d.*")


if __name__ == "__main__":
    unittest.main()
