"""kgraft explain of models with the term propagation: parts of facts against fresh runs, paths in
words and as JSON, and drawn."""

from __future__ import annotations

import atexit
import functools
import math
import re
import shutil
import struct
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafted import SMALL, Fact, Grafted, as_tsv, prepared, rank_in
from kgraft import cases, run

PROPAGATION = ("--propagation-epochs", "1", "--propagation-layers", "3", "--propagation-width", "16")
ALONE = ("--preset", "graft", "--terms", "propagation", *PROPAGATION)
TOGETHER = (*SMALL, "--terms", "all", *PROPAGATION)

SVG = "{http://www.w3.org/2000/svg}"


def fact_of(found: Any) -> Fact:
    return (found["head"], found["relation"], found["tail"])


def units(score: float) -> int:
    """The term's scores are multiples of a number; JSON has 15 digits of them."""
    out = score * 65536
    assert abs(out - round(out)) < 1e-6, score
    return round(out)


def of_propagation(found: Any) -> Any:
    (said,) = [said for said in found["terms"] if said["term"] == "propagation"]
    return said


@dataclass(frozen=True)
class Setting:
    name: str
    training: tuple[str, ...]


@functools.cache
def prepared_alone() -> Path:
    """The usual data set, and a model without vectors."""
    folder = Path(tempfile.mkdtemp(prefix="kgraft-paths-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(prepared() / "data", folder / "data")
    result = run("train", "data", "model", *ALONE, "--quiet", cwd=folder)
    assert result.status == 0, result
    return folder


class Explained(Grafted):
    def setUp(self) -> None:
        super().setUp()
        self.prepare(*ALONE)

    def prepare(self, *words: str) -> None:
        if words != ALONE:
            shutil.rmtree(self.folder / "model", ignore_errors=True)
            super().prepare(*words)
            return
        shutil.rmtree(self.folder / "model", ignore_errors=True)
        shutil.copytree(prepared_alone(), self.folder, dirs_exist_ok=True)
        self.read_facts()

    def explain(self, *words: Any) -> Any:
        return self.ask("explain", "model", *words)

    def facts_of(self, entity: str) -> list[Fact]:
        return [fact for fact in self.known if entity in (fact[0], fact[2])]

    def some_new(self) -> tuple[str, list[Fact]]:
        return next(item for item in self.new_entities().items() if 4 <= len(item[1]) <= 9)

    def best(self, *words: str) -> str:
        """The best answer."""
        answers = self.ask("predict", "model", *words, "-k", "1")["entities"][0]["answers"]
        return str(answers[0]["entity"])


@cases([Setting("propagation alone", ALONE), Setting("with all other terms", TOGETHER)])
class Parts(Explained):
    def check(self, row: Setting) -> None:
        self.prepare(*row.training)
        entity, facts = self.some_new()
        self.write({"own.tsv": as_tsv(facts)})
        given = next(fact for fact in facts if fact[0] == entity)
        for relation, side, answer in (
            ("r0", "tail", sorted(self.seen)[5]), ("r1", "head", sorted(self.seen)[20]),
            ("r2", "tail", self.best("own.tsv", "--relation", "r2", "--side", "tail")),
            (given[1], "tail", given[2]),
        ):
            asked = ("--relation", relation, "--side", side, "--answer", answer)
            found = self.explain("own.tsv", *asked)
            self.check_sum(found)
            self.check_paths(found, entity, facts, answer)
            self.check_predicted(found, answer, "own.tsv", *asked[:4], alone=row.training == ALONE)
            for share in found["shares"]:
                if fact_of(share) == fact_of(found):
                    continue
                self.write({"others.tsv": as_tsv(fact for fact in facts if fact != fact_of(share))})
                fresh = self.explain("others.tsv", *asked)
                lost = of_propagation(found)["part"] - of_propagation(fresh)["part"]
                self.assertEqual(units(share["propagation"]), units(lost))
                self.assertEqual(share["rank_without"], fresh["rank"])

    def check_sum(self, found: Any) -> None:
        parts = [share["part"] for share in found["shares"]]
        rests = [said["rest"] for said in found["terms"]]
        self.assertAlmostEqual(math.fsum(parts + rests), found["score"])
        said = of_propagation(found)
        own = [share["propagation"] for share in found["shares"]]
        self.assertAlmostEqual(math.fsum(own) + said["rest"], said["part"])
        self.assertEqual((said["untested_facts"], said["unexpanded"]), (0, 0))

    def check_paths(self, found: Any, entity: str, facts: list[Fact], answer: str) -> None:
        said = of_propagation(found)
        shares = [reason["share"] for reason in said["reasons"]]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertLessEqual(sum(shares), 1.000001)
        self.assertEqual(len(shares), min(8, said["reason_count"]))
        for reason in said["reasons"]:
            path = [fact_of(step) for step in reason["path"]]
            self.assertEqual(fact_of(reason["fact"]), path[0])
            self.assertIn(path[0], facts)
            self.assertLessEqual(set(path[1:]), set(self.known))
            here = entity
            for head, _, tail in path:
                self.assertIn(here, (head, tail))
                here = tail if here == head else head
            self.assertEqual(here, answer)

    def check_predicted(self, found: Any, answer: str, *words: str, alone: bool) -> None:
        keep = ("--keep-known",) if found["given"] else ()
        answers = self.ask("predict", "model", *words, "-k", "100000", *keep)["entities"][0]["answers"]
        score = next(row["score"] for row in answers if row["entity"] == answer)
        if alone:
            self.assertEqual(struct.pack("<f", found["score"]), struct.pack("<f", score))
        self.assertAlmostEqual(found["score"], score, places=5)
        if not keep:
            self.assertEqual(rank_in(answers, answer), found["rank"])


class Known(Explained):
    """Entities of the model, by their training facts."""

    def test_as_predicted(self) -> None:
        checked = 0
        for entity in sorted(self.seen)[:6]:
            words = ("--entity", entity, "--relation", "r0", "--side", "tail")
            answers = self.ask("predict", "model", *words, "-k", "100000")["entities"][0]["answers"]
            for answer in answers[0], answers[7], answers[-1]:
                found = self.explain(*words, "--answer", answer["entity"])
                self.assertEqual(struct.pack("<f", found["score"]), struct.pack("<f", answer["score"]))
                self.assertEqual(found["rank"], rank_in(answers, answer["entity"]))
                checked += 1
        self.assertEqual(checked, 18)

    def test_as_evaluated(self) -> None:
        """Training facts are explained as if they were not known, as they are scored when listed"""
        for entity in sorted(self.seen)[:4]:
            own = [fact for fact in self.facts_of(entity) if fact[0] == entity and fact[2] != entity]
            for fact in own[:3]:
                words = ("--entity", entity, "--relation", fact[1])
                kept = self.ask("predict", "model", *words, "--side", "tail", "-k", "100000", "--keep-known")
                scores = {row["entity"]: row["score"] for row in kept["entities"][0]["answers"]}
                found = self.explain(*words, "--answer", fact[2])
                self.assertTrue(found["given"])
                self.assertEqual(struct.pack("<f", found["score"]), struct.pack("<f", scores[fact[2]]))


class Words(Explained):
    def test_says_what_json_says(self) -> None:
        entity, facts = self.some_new()
        self.write({"own.tsv": as_tsv(facts)})
        words = ("own.tsv", "--relation", "r0", "--answer", self.best("own.tsv", "--relation", "r0", "--side", "tail"))
        found = self.explain(*words)
        lines = self.succeed("explain", "model", *words).stdout.decode().split(" fact\n")[1].splitlines()
        for share in found["shares"]:
            self.assertRegex(lines.pop(0), rf"^ +{re.escape(format(share['part'], '+.4f'))} .*r\d")
            through = [r for r in of_propagation(found)["reasons"] if fact_of(r["fact"]) == fact_of(share)]
            for reason in through[:3] if share["propagation"] != 0 else []:
                line = lines.pop(0)
                self.assertEqual(line.count("->") + line.count("<-"), len(reason["path"]))
                percent = re.fullmatch(rf"      {entity} .*: (\S+)% of what reaches the answer", line)
                assert percent is not None, line
                self.assertAlmostEqual(float(percent[1]), 100 * reason["share"], delta=0.501)
        self.assertRegex(lines.pop(0), r"^ +\S+ .*learned paths: what no single fact accounts for$")
        self.assertEqual(lines, [])

    def test_together(self) -> None:
        """Beside other terms it has a row of its own"""
        self.prepare(*TOGETHER)
        _, facts = self.some_new()
        self.write({"own.tsv": as_tsv(facts)})
        words = ("own.tsv", "--relation", "r0", "--answer", self.best("own.tsv", "--relation", "r0", "--side", "tail"))
        shown = self.succeed("explain", "model", *words).stdout.decode()
        self.assertRegex(shown, r"(?m)^ +[+-]\S+ +\S+% +[|#]+ +learned paths$")
        self.assertRegex(shown, r"(?m)  its embedding$")


# A name that is XML, one with control characters, one that is not UTF-8, one that XML forbids.
HOSTILE = (b"</text>&<x y=\"'\">]]>", b"bell\x07tab\x1b[31m", b"\xff\xfe\xc3(", b"\xef\xbf\xbf\xef\xbf\xbe")


class Drawn(Explained):
    def draw(self, *words: Any) -> ElementTree.Element:
        self.succeed("explain", "model", *words, "--plot", "paths.svg", "--quiet")
        return ElementTree.fromstring(self.read("paths.svg"))

    def titles(self, svg: ElementTree.Element) -> list[str]:
        return [element.text or "" for element in svg.iter(SVG + "title")]

    def test_paths(self) -> None:
        """Everything on the paths is there, inside the drawing; thicker arrows have larger shares"""
        entity, facts = self.some_new()
        self.write({"own.tsv": as_tsv(facts)})
        answer = self.best("own.tsv", "--relation", "r0", "--side", "tail")
        words = ("own.tsv", "--relation", "r0", "--answer", answer)
        said = of_propagation(self.explain(*words))
        svg = self.draw(*words)
        titles = self.titles(svg)
        self.assertEqual(titles[0], f"{entity} -r0-> {answer}")
        names = {end for reason in said["reasons"] for step in reason["path"] for end in (step["head"], step["tail"])}
        self.assertGreaterEqual(set(titles), names)
        width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
        for box in svg.iter(SVG + "rect"):
            if "x" in box.attrib:
                x, y = float(box.attrib["x"]), float(box.attrib["y"])
                self.assertTrue(0 < x < width - float(box.attrib["width"]) and 0 < y < height - 40)
        strokes = {}
        for group in svg.iter(SVG + "g"):
            curve = group.find(SVG + "path")
            if curve is not None and "stroke-width" in curve.attrib:
                said_share = float(titles_of(group).rsplit(": ", 1)[1].rstrip("%"))
                strokes.setdefault(said_share, set()).add(float(curve.attrib["stroke-width"]))
        self.assertGreater(len(strokes), 0)
        self.assertEqual([*map(max, (strokes[k] for k in sorted(strokes)))], sorted(map(max, strokes.values())))
        percent = round(100 * sum(reason["share"] for reason in said["reasons"]))
        text = "".join(svg.itertext())
        self.assertIn(f"{percent}% of what reaches the answer", text)

    def test_hostile_names(self) -> None:
        """They are shown whole as titles, cut as texts, and the file is XML whatever they are"""
        name, long = self.known[0][0], "\u00e4\u4e2d" * 60
        train = self.read("data/train.tsv")
        others = [fact[2] for fact in self.facts_of(name) if fact[0] == name][:3]
        links = b"".join(b"%s\tr%d\t%s\n" % (hostile, i % 3, other.encode())
                         for i, hostile in enumerate((*HOSTILE, long.encode())) for other in (name, *others))
        self.write({"hostile.tsv": train + links})
        self.succeed("train", "hostile.tsv", "model", *ALONE, "--hold-out", "0", "--force", "--quiet")
        for i, hostile in enumerate((*HOSTILE, long.encode())):
            self.write({"own.tsv": b"%s!\tr0\t%s\n" % (hostile, name.encode())})
            svg = self.draw("own.tsv", "--relation", "r1", "--answer", hostile)
            titles = self.titles(svg)
            self.assertFalse(any(ord(c) < 32 and c != "\n" for t in titles for c in t), hostile)
            if i == 0:
                self.assertIn(hostile.decode(), titles)
                self.assertIn(hostile.decode() + "!", titles)
        self.assertIn(long, titles)
        texts = [t.text or "" for t in svg.iter(SVG + "text")]
        self.assertIn("\u2026", "".join(texts))
        self.assertLess(max(map(len, texts)), 120)

    def test_not_reached(self) -> None:
        """Entities apart from all others"""
        self.write({"apart.tsv": self.read("data/train.tsv") + b"lonely\tr0\tother\n"})
        self.succeed("train", "apart.tsv", "model", *ALONE, "--hold-out", "0", "--force", "--quiet")
        _, facts = self.some_new()
        self.write({"own.tsv": as_tsv(facts)})
        words = ("own.tsv", "--relation", "r0", "--answer", "other")
        found = self.explain(*words)
        said = of_propagation(found)
        self.assertEqual((said["reasons"], said["reason_count"]), ([], 0))
        self.assertEqual((said["part"], said["rest"]), (found["score"], found["score"]))
        self.assertEqual({share["part"] for share in found["shares"]}, {0})
        shown = self.succeed("explain", "model", *words).stdout.decode()
        self.assertTrue(shown.endswith("  learned paths: none leads to it\n") or found["score"] == 0, shown)
        self.assertIn("no path", "".join(self.draw(*words).itertext()))
        answers = self.ask("predict", "model", "own.tsv", "--relation", "r0", "--side", "tail", "-k", "100000")
        self.assertEqual(rank_in(answers["entities"][0]["answers"], "other"), found["rank"])

    def test_refused(self) -> None:
        _, facts = self.some_new()
        self.write({"own.tsv": as_tsv(facts)})
        words = ("own.tsv", "--relation", "r0", "--answer", self.known[0][0])
        self.refuse("explain", "model", *words, "--plot", "-", pattern="--plot: expected the name of a file, found '-'.*")
        self.refuse("explain", "model", *words, "--plot", "own.tsv", pattern=".*plot.*")
        self.refuse("explain", "model", *words, "--plot", "nowhere/x.svg", pattern="nowhere/x.svg: cannot create it.*")
        self.prepare()
        self.write({"own.tsv": as_tsv(facts)})
        self.refuse("explain", "model", *words, "--plot", "x.svg",
                    pattern="--plot: expected a model with the term propagation, .* found none")
        self.assertFalse((self.folder / "x.svg").exists())


def titles_of(group: ElementTree.Element) -> str:
    title = group.find(SVG + "title")
    return "" if title is None else title.text or ""


if __name__ == "__main__":
    unittest.main()
