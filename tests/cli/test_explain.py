"""kgraft explain: parts that sum to the score, and ranks without each fact, against fresh runs."""

from __future__ import annotations

import fcntl
import math
import os
import pty
import re
import struct
import subprocess
import termios
import unittest
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

from grafted import (
    AGGREGATES,
    GRAFT,
    MODELS,
    PROPAGATION,
    Fact,
    Grafted,
    Twin,
    as_tsv,
    dot,
    rank_in,
    solve,
)
from kgraft import BINARY, TIMEOUT, cases, check_sanitizers, environment, tsv
from test_train import SMALL_PROPAGATION


@dataclass(frozen=True)
class Setting:
    model: str
    aggregate: str
    words: str = ""
    training: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        propagation = ", propagation" if self.training == PROPAGATION else ""
        return f"{self.model}, {self.aggregate} {self.words}".strip() + propagation


SETTINGS = [Setting(model, aggregate) for model in MODELS for aggregate in AGGREGATES]
SETTINGS += [Setting(model, "graft", "", GRAFT) for model in MODELS]
SETTINGS += [Setting(model, "graft", "", PROPAGATION) for model in ("distmult", "quate")]
SETTINGS += [Setting("simple", "ls", "", PROPAGATION)]
SETTINGS += [
    Setting("distmult", "ls-u"),
    Setting("complex", "ls", "--ls-rows weighted"),
    Setting("quate", "ls", "--ls-lambda 0.001"),
]


def pieces(found: Any) -> list[float]:
    """All that the parts of a score are made of."""
    own = [
        piece for share in found["shares"]
        for piece in (share[said["term"]] for said in found["terms"])
    ]
    return own + [said["rest"] for said in found["terms"]]


class Explained(Grafted):
    def explain(self, *words: Any, **options: Any) -> Any:
        return self.ask("explain", "model", *words, **options)

    def some_entity(self) -> tuple[str, list[Fact]]:
        """One with a few facts, several of one relation."""
        return next(item for item in self.new_entities().items() if 4 <= len(item[1]) <= 9)


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
            known = [fact for fact in facts if not (found["given"] and fact == own)]
            self.check_ranks_without(found, known, *asked)

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
        for share in shares + found["terms"]:
            self.assertAlmostEqual(share["share"], share["part"] / math.fsum(map(abs, pieces(found))))

    def check_sum(self, found: Any, twin: Twin, row: Setting) -> None:
        """The issue's bound; and each part is the weight times what the definition says."""
        parts = [share["part"] for share in found["shares"]] + [said["rest"] for said in found["terms"]]
        magnitudes = sum(map(abs, pieces(found)))
        self.assertAlmostEqual(math.fsum(parts), found["score"], delta=1e-9 * magnitudes)
        for share in found["shares"]:
            own = [share[said["term"]] for said in found["terms"]]
            self.assertAlmostEqual(math.fsum(own), share["part"], delta=1e-9 * magnitudes)
        for said in found["terms"]:
            through = [share[said["term"]] for share in found["shares"]]
            self.assertAlmostEqual(math.fsum(through) + said["rest"], said["part"], delta=1e-9 * magnitudes)
            self.assertTrue(said["term"] == "propagation" or said["rest"] == 0)
        self.assertEqual(len(found["terms"]), 3 if row.training == PROPAGATION else 2)
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

    def rank_by_predict(self, words: Sequence[str], answer: str, *keep: str) -> Iterator[tuple[Any, float]]:
        """How kgraft predict lists the answer for each entity of own.tsv, and its rank in the list.
        The words are those of explain."""
        options = list(words)
        del options[4:6]  # the answer
        asked = self.ask("predict", "model", "own.tsv", "-k", "1000000", *options, *keep)
        for entity in asked["entities"]:
            listed = next(row for row in entity["answers"] if row["entity"] == answer)
            yield listed, rank_in(entity["answers"], answer)

    def check_rank(self, found: Any, facts: list[Fact], *words: Any) -> None:
        """As kgraft predict lists it."""
        self.write({"own.tsv": as_tsv(facts)})
        keep = ("--keep-known",) if (found["head"], found["relation"], found["tail"]) in facts else ()
        answer = found["tail"] if found["side"] == "tail" else found["head"]
        ((listed, rank),) = self.rank_by_predict(words, answer, *keep)
        self.assertAlmostEqual(listed["score"], found["score"], places=5)
        self.assertAlmostEqual(listed["probability"], found["probability"], places=5)
        if not keep:
            self.assertEqual(rank, found["rank"])

    def check_ranks_without(self, found: Any, known: list[Fact], *words: Any) -> None:
        """Entities that are new, each with the facts but one, get these ranks, too."""
        shares = found["shares"]
        own = b""
        for number, share in enumerate(shares):
            left_out = (share["head"], share["relation"], share["tail"])
            others = [fact for fact in known if fact != left_out]
            own += as_tsv(
                tuple(f"new {number}" if word == found["entity"] else word for word in fact)
                for fact in others
            )
        self.write({"own.tsv": own})
        answer = found["tail"] if found["side"] == "tail" else found["head"]
        ranks = [rank for _, rank in self.rank_by_predict(words, answer)]
        self.assertEqual([share["rank_without"] for share in shares], ranks)


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

    def test_with_propagation(self) -> None:
        """Likewise: what speaks for a known answer is what speaks for it without the fact"""
        self.prepare(*PROPAGATION)
        self.test_an_answer_that_is_a_fact()

    def test_a_single_fact(self) -> None:
        answer = self.known[0][0]
        words = ("--relation", "r0", "--answer", answer)
        facts = tsv(f"new r0 {self.known[0][2]}")
        found = self.explain("-", *words, stdin=facts)
        self.assertIsNone(found["shares"][0]["rank_without"])
        self.assertEqual(abs(found["shares"][0]["share"]), 1)
        table = self.succeed("explain", "model", "-", *words, stdin=facts).stdout.decode()
        self.assertRegex(table, r"(?m)^ +[+-]\d\S+ +[+-]100\.0% +-  \|?#+\|? +-r0-> \S+$")

    def test_without_a_calibration(self) -> None:
        self.write({"plain.tsv": self.read("data/train.tsv")})
        self.succeed("train", "plain.tsv", "plain", *"--dim 4 --epochs 1 --hold-out 0 --quiet".split(),
                     *SMALL_PROPAGATION)
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


class Known(Explained):
    """Entities of the model, by their training facts."""

    def facts_of(self, entity: str) -> list[Fact]:
        return [fact for fact in self.known if entity in (fact[0], fact[2])]

    def test_as_predicted(self) -> None:
        """A model that asks by facts predicts what is explained: scores and ranks"""
        self.prepare(*PROPAGATION)
        for entity in sorted(self.seen)[:3]:
            facts = self.facts_of(entity)
            for relation, side in ("r0", "tail"), ("r1", "head"):
                words = ("--entity", entity, "--relation", relation, "--side", side)
                answers = self.ask("predict", "model", *words, "-k", "1000000")["entities"][0]["answers"]
                for answer in answers[0], answers[5], answers[-1]:
                    found = self.explain(*words, "--answer", answer["entity"])
                    self.assertEqual((found["new"], found["given"]), (False, False))
                    self.assertAlmostEqual(found["score"], answer["score"], places=5)
                    self.assertEqual(found["rank"], rank_in(answers, answer["entity"]))
                    links = [(s["head"], s["relation"], s["tail"]) for s in found["shares"]]
                    self.assertEqual(set(links), set(facts))
                    parts = [share["part"] for share in found["shares"]]
                    rests = [said["rest"] for said in found["terms"]]
                    self.assertAlmostEqual(math.fsum(parts + rests), found["score"])

    def test_a_training_fact(self) -> None:
        """It is explained as if it were not one, which is how eval asks for it"""
        self.prepare(*PROPAGATION)
        entity = next(name for name in sorted(self.seen) if 3 <= len(self.facts_of(name)) <= 9)
        fact = next(fact for fact in self.facts_of(entity) if fact[0] == entity and fact[2] != entity)
        words = ("--entity", entity, "--relation", fact[1], "--answer", fact[2])
        found = self.explain(*words)
        self.assertTrue(found["given"])
        kept = self.ask("predict", "model", *words[:4], "--side", "tail", "-k", "1000000", "--keep-known")
        scores = {a["entity"]: a["score"] for a in kept["entities"][0]["answers"]}
        self.assertAlmostEqual(found["score"], scores[fact[2]], places=5)
        own = next(s for s in found["shares"] if (s["head"], s["relation"], s["tail"]) == fact)
        self.assertEqual((own["part"], own["rank_without"]), (0, found["rank"]))
        lines = self.succeed("explain", "model", *words).stdout.decode().splitlines()
        self.assertEqual(lines[2], f"by its {len(self.facts_of(entity))} training facts, as if it were new")
        self.assertEqual(lines[3], "as if this were not one of its training facts")

    def test_a_model_that_asks_by_rows(self) -> None:
        """Its entities are explained by their facts all the same, as if they were new"""
        twin = Twin.read(self.folder / "model")
        entity = next(name for name in sorted(self.seen) if 3 <= len(self.facts_of(name)) <= 9)
        facts = [fact for fact in self.facts_of(entity) if fact[0] != fact[2]]
        answer = sorted(self.seen - {end for fact in facts for end in fact})[0]
        found = self.explain("--entity", entity, "--relation", "r0", "--answer", answer, "--aggregate", "ls")
        vector = twin.embed(entity, facts, "ls")
        self.assertAlmostEqual(found["score"], twin.score(vector, "r0", "tail", answer), places=4)


class Tables(Explained):
    def words(self) -> tuple[str, ...]:
        entity, facts = self.some_entity()
        answer = sorted(self.seen)[3]
        return ("explain", "model", "facts.tsv", "--entity", entity, "--relation", "r0",
                "--answer", answer)

    def test_says_what_json_says(self) -> None:
        found = self.ask(*self.words())
        lines = self.succeed(*self.words()).stdout.decode().splitlines()
        self.assertEqual(lines[0], f"{found['head']} -{found['relation']}-> {found['tail']}")
        self.assertEqual(
            lines[1],
            f"score {found['score']:.4f}, probability {found['probability']:.4f}, "
            f"rank {found['rank']:.15g}",
        )
        self.assertEqual(lines[3].split(), "part share rank without fact".split())
        self.assertEqual(len(lines), 4 + len(found["shares"]))
        axis = {line.index("|") for line in lines[4:]}
        self.assertEqual(len(axis), 1)
        largest = max(abs(share["part"]) for share in found["shares"])
        for line, share in zip(lines[4:], found["shares"]):
            part, percent, rank, *_, arrow, other = line.split()
            is_head = share["head"] == found["entity"]
            self.assertEqual(arrow, f"-{share['relation']}->" if is_head else f"<-{share['relation']}-")
            self.assertEqual(other, share["tail"] if is_head else share["head"])
            self.assertAlmostEqual(float(part), share["part"], delta=5.1e-5)
            self.assertAlmostEqual(float(percent.rstrip("%")), 100 * share["share"], delta=0.051)
            self.assertEqual(float(rank), share["rank_without"])
            left, right = line[:line.index(arrow)].split("|")
            self.assertEqual(right.strip(" #"), "")
            if abs(share["part"]) > largest / 10:
                self.assertEqual("#" in right, share["part"] > 0)
                self.assertEqual(left.endswith("#"), share["part"] < 0)

    def test_one_scale(self) -> None:
        """The bars of facts and of terms are in proportion to their parts"""
        self.prepare(*PROPAGATION)
        lines = self.succeed(*self.words()).stdout.decode().split(" fact\n", 1)[1].splitlines()
        rows = [line for line in lines if "|" in line]
        parts = [float(row.split()[0]) for row in rows]
        bars = [row.count("#") * (1 if part > 0 else -1) for row, part in zip(rows, parts)]
        self.assertGreater(len(rows), len(lines) / 4)
        scale = (max(bars) - min(bars)) / (max(*parts, 0) - min(*parts, 0))
        for part, bar in zip(parts, bars):
            self.assertAlmostEqual(bar, part * scale, delta=1.1)

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

    def test_facts_go_on_behind_the_numbers(self) -> None:
        """In a line of their own if need be, but never where a row begins; no line ends with blanks"""
        for long in "x" * 20, "x" * 40:
            known = [(h, f"{r}-{long}", t) for h, r, t in self.known]
            self.write({"long.tsv": as_tsv(known)})
            self.succeed("train", "long.tsv", "long", *"--dim 4 --epochs 1 --terms embedding+echo --quiet --force".split())
            words = ("explain", "long", "--entity", known[0][0], "--relation", known[0][1], "--answer", known[1][2])
            plain = self.succeed(*words).stdout.decode()
            narrow = self.succeed(*words, env=environment(COLUMNS="80")).stdout.decode()
            table = narrow.split("\n\n")[1].splitlines()
            column = table[0].index("fact")
            further = [line for line in table[1:] if not re.match(r" *[+-]\d", line) and long in line]
            self.assertGreater(len(further) + sum(long in line for line in table), 4)
            for line in further:
                start = len(line) - len(line.lstrip())
                self.assertTrue(start == column + 2 or (start > 32 and len(line) == 80), line)
            self.assertLessEqual(max(map(len, narrow.splitlines())), 80)
            self.assertNotRegex(plain + narrow, r"(?m) $")
            self.assertNotEqual(plain, narrow)
            self.assertEqual(re.sub(r"[ #|]+", " ", plain).split(), re.sub(r"[ #|]+", " ", narrow).split())

    def test_long_names_are_whole(self) -> None:
        """They have lines of their own where they do not fit"""
        name = "\u00e4" * 60
        self.write({"facts.tsv": as_tsv([(name, "r0", self.known[0][0]), (name, "r1", self.known[0][2])])})
        words = ("explain", "model", "facts.tsv", "--relation", "r0", "--answer", self.known[0][2])
        self.words = lambda: words  # type: ignore[method-assign]
        lines = self.on_terminal(62)
        self.assertEqual(lines[:2], [name, f"  -r0-> {self.known[0][2]}"])
        self.assertLessEqual(max(map(len, lines)), 62)
        self.assertIn(name, self.succeed(*words).stdout.decode().splitlines()[0])


@dataclass(frozen=True)
class Wrong:
    name: str
    words: str
    pattern: str


@cases(
    [
        Wrong("no relation", "model facts.tsv --answer x", "expected --relation, found none"),
        Wrong("no answer", "model facts.tsv --relation r0", "expected --answer, found none"),
        Wrong("no facts", "model --relation r0 --answer x",
              "expected FACTS about new entities, or --entity with one that the model knows, found neither"),
        Wrong("no facts of it", "model --entity nobody --relation r0 --answer x",
              "--entity: expected an entity that the model knows, found 'nobody'"),
        Wrong("several new entities", "model facts.tsv --relation r0 --answer x",
              "expected --entity with one of the 3 new entities in the facts, such as 'a', found none"),
        Wrong("an unknown relation", "model facts.tsv --entity a --relation R0 --answer x",
              "--relation: expected a relation .* found 'R0', did you mean 'r0'.*"),
        Wrong("an unknown answer", "model facts.tsv --entity a --relation r0 --answer nobody",
              "--answer: expected an entity that the model knows, found 'nobody'"),
        Wrong("a side that is none", "model facts.tsv --relation r0 --answer x --side both",
              "--side: expected head or tail, found 'both'"),
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
