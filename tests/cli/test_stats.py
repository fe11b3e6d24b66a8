"""kgraft stats: the numbers of small graphs are those that one can count by hand."""

from __future__ import annotations

import re
import resource
import shutil
import unittest
import xml.etree.ElementTree as xml
from collections import Counter
from typing import Any

from kgraft import Case, environment, tsv

KEYS = [
    "entities",
    "relations",
    "train",
    "valid",
    "test",
    "unseen_valid",
    "unseen_test",
    "queries_valid",
    "queries_test",
]

# a has five training facts, b three, c two and d one; x stands in valid alone.
TRAIN = tsv("a r b", "a s b", "a r c", "a r a", "d s a", "b r c")
UNSEEN_VALID = tsv("u r a", "a s u", "u s c", "v r a")
UNSEEN_TEST = tsv("w r a", "w s b")

needs_gnuplot = unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")


class StatsCase(Case):
    def setUp(self) -> None:
        super().setUp()
        self.write(
            {
                "plain/train.txt": TRAIN,
                "plain/valid.txt": tsv("x r a"),
                "unseen/train.tsv": TRAIN,
                "unseen/unseen-valid.tsv": UNSEEN_VALID,
                "unseen/unseen-test.tsv": UNSEEN_TEST,
                "inductive/train.txt": TRAIN,
                "inductive/inference.txt": tsv("n r o", "n s o", "o r o", "n r a"),
                "inductive/inference_validation.txt": tsv("n r p"),
                "inductive/inference_test.txt": tsv("a r o", "o s n"),
            }
        )


class Outputs(StatsCase):
    def test_plot_in_place_of_the_data(self) -> None:
        self.write({"g.tsv": TRAIN})
        for plot, source in ("g.tsv", "g.tsv"), ("./g.tsv", "g.tsv"), ("plain/valid.txt", "plain"):
            before = self.read(plot)
            pattern = f"--plot: expected a file apart from what is read, found '{plot}'( in it)?"
            self.refuse("stats", source, "--plot", plot, pattern=pattern)
            self.assertEqual(self.read(plot), before)


class Json(StatsCase):
    def check_counts(self, source: str, *expected: int) -> None:
        stats = self.stats(source)
        self.assertEqual(list(stats)[: len(KEYS)], KEYS)
        self.assertEqual([stats[key] for key in KEYS], list(expected))

    def test_counts(self) -> None:
        self.check_counts("plain", 5, 2, 6, 1, 0, 0, 0, 0, 0)

    def test_counts_of_unseen_entities(self) -> None:
        self.check_counts("unseen", 4, 2, 6, 0, 0, 2, 1, 4, 2)

    def test_counts_of_a_new_graph(self) -> None:
        self.check_counts("inductive", 4, 2, 6, 0, 0, 0, 0, 0, 0)
        stats = self.stats("inductive")
        keys = ("graph_entities", "graph", "graph_valid", "graph_test")
        self.assertEqual([stats[key] for key in keys], [4, 4, 1, 2])
        self.assertNotIn("graph", self.stats("unseen"))

    def test_counts_are_the_same_once_imported(self) -> None:
        for source in "plain", "unseen", "inductive":
            self.succeed("import", source, f"{source}-imported")
            self.assertEqual(self.stats(source), self.stats(f"{source}-imported"))

    def test_a_file_will_do(self) -> None:
        self.write({"g.tsv": TRAIN})
        self.check_counts("g.tsv", 4, 2, 6, 0, 0, 0, 0, 0, 0)

    def test_standard_input_will_do(self) -> None:
        result = self.succeed("stats", "--json", "-", stdin=TRAIN)
        self.assertEqual(result.json["train"], 6)

    def check_histogram(self, histogram: Any, *values: int) -> None:
        """`values` are what was counted: one for each entity or query."""
        ordered = sorted(values)
        counted = sorted([value, count] for value, count in Counter(values).items())
        self.assertEqual(histogram["histogram"], counted)
        self.assertAlmostEqual(histogram["mean"], sum(values) / len(values))
        self.assertEqual(histogram["max"], max(values))
        self.assertEqual(histogram["median"], ordered[(len(ordered) - 1) // 2])

    def test_degrees(self) -> None:
        """A fact of an entity with itself counts once, an entity without a training fact counts"""
        self.check_histogram(self.stats("unseen")["degrees"], 5, 3, 2, 1)
        self.check_histogram(self.stats("plain")["degrees"], 5, 3, 2, 1, 0)

    def test_degrees_in_a_new_graph(self) -> None:
        """By what is known of an entity; p is only asked for"""
        stats = self.stats("inductive")
        self.check_histogram(stats["degrees"], 5, 3, 2, 1)
        self.check_histogram(stats["graph_degrees"], 3, 3, 1, 0)

    def test_queries_by_what_the_entity_keeps(self) -> None:
        """An entity of three facts is asked three times, and each time keeps two"""
        stats = self.stats("unseen")
        self.check_histogram(stats["queries_valid_by_facts"], 2, 2, 2, 0)
        self.check_histogram(stats["queries_test_by_facts"], 1, 1)

    def test_no_queries(self) -> None:
        stats = self.stats("plain")
        for key in "queries_valid_by_facts", "queries_test_by_facts":
            self.assertEqual(stats[key]["histogram"], [])


class Text(StatsCase):
    def test_counts(self) -> None:
        text = self.succeed("stats", "unseen").stdout.decode()
        for line in (
            r"entities +4",
            r"relations +2",
            r"train facts +6",
            r"unseen valid entities +2",
            r"unseen valid queries +4",
            r"unseen test entities +1",
            r"unseen test queries +2",
        ):
            self.assertRegex(text, rf"(?m)^{line}$")

    def test_new_graph(self) -> None:
        text = self.succeed("stats", "inductive").stdout.decode()
        for line in (
            r"new graph entities +4",
            r"new graph facts +4",
            r"new graph valid facts +1",
            r"new graph test facts +2",
            r"entities of the new graph by facts: median 1, mean 1\.8, most 3",
        ):
            self.assertRegex(text, rf"(?m)^{line}$")

    def test_bars(self) -> None:
        text = self.succeed("stats", "unseen").stdout.decode()
        self.assertRegex(text, r"entities by training facts: median 2, mean 2\.8, most 5")
        self.assertRegex(text, r"(?m)^ +3-4 #+ +1$")
        self.assertRegex(text, r"validation queries by facts .*: median 2, mean 1\.5, most 2")

    def test_all_queries_have_a_bar(self) -> None:
        """The bars of a histogram add up to its queries, those without a fact to go by included"""
        text = self.succeed("stats", "unseen").stdout.decode()
        section = text.split("validation queries")[1].split("test queries")[0]
        counts = [int(line.split()[-1]) for line in section.splitlines()[1:] if line.strip()]
        self.assertEqual(sum(counts), 4)

    def test_no_bar_for_what_is_not_there(self) -> None:
        """All queries keep one fact, so there is one bar"""
        section = self.succeed("stats", "unseen").stdout.decode().split("\ntest queries")[1]
        self.assertRegex(section, r"\A by facts .*: median 1, mean 1\.0, most 1\n +1 #+ 2\n\Z")

    def test_large_numbers_are_grouped(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "12345", "--entities", "1234")
        text = self.succeed("stats", "g.tsv").stdout.decode()
        self.assertRegex(text, r"(?m)^train facts +12,345$")

    def test_lines_are_short(self) -> None:
        self.succeed("generate", "g.tsv")
        text = self.succeed("stats", "g.tsv").stdout.decode()
        self.assertLessEqual(max(map(len, text.splitlines())), 100)


class Plot(StatsCase):
    @needs_gnuplot
    def test_an_svg_file(self) -> None:
        result = self.succeed("stats", "unseen", "--plot", "p.svg")
        self.assertIn(b"entities", result.stdout)
        root = xml.fromstring(self.read("p.svg"))
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        text = " ".join("".join(root.itertext()).split())
        for title in "Entities by training facts", "Validation queries", "Test queries":
            self.assertIn(title, text)

    @needs_gnuplot
    def test_a_new_graph(self) -> None:
        self.succeed("stats", "inductive", "--plot", "p.svg")
        text = " ".join("".join(xml.fromstring(self.read("p.svg")).itertext()).split())
        for title in "Entities by training facts", "Entities of the new graph by facts":
            self.assertIn(title, text)

    @needs_gnuplot
    def test_a_graph_of_one_fact(self) -> None:
        self.write({"g.tsv": tsv("a r b")})
        result = self.succeed("stats", "--quiet", "g.tsv", "--plot", "p.svg")
        self.assertEqual(result.stderr, b"")
        xml.fromstring(self.read("p.svg"))

    @needs_gnuplot
    def test_tics_between_counts(self) -> None:
        """There are none: a number of entities or facts is whole"""
        self.write({"g.tsv": tsv("a r b", "b r c", "c r d", "a s c")})
        self.succeed("stats", "g.tsv", "--plot", "p.svg")
        root = xml.fromstring(self.read("p.svg"))
        numbers = [text for text in (t.strip() for t in root.itertext()) if re.fullmatch(r"[0-9.]+", text)]
        self.assertEqual(sorted(numbers), ["1", "1", "2", "2", "3"])

    @needs_gnuplot
    def test_json_beside_it(self) -> None:
        result = self.succeed("stats", "plain", "--json", "--plot", "p.svg")
        self.assertEqual(result.json["train"], 6)
        xml.fromstring(self.read("p.svg"))

    @needs_gnuplot
    def test_a_file_is_replaced(self) -> None:
        self.write({"p.svg": b"old"})
        self.succeed("stats", "plain", "--plot", "p.svg")
        xml.fromstring(self.read("p.svg"))

    def test_without_gnuplot(self) -> None:
        """It is the system's failure, and leaves no file"""
        pattern = ".*gnuplot.*"
        env = environment(PATH=str(self.folder))
        self.refuse("stats", "plain", "--plot", "p.svg", status=1, pattern=pattern, env=env)

    def test_a_gnuplot_that_fails(self) -> None:
        self.write({"p.svg": b"old", "gnuplot": b"#!/bin/sh\necho half\nexit 3\n"})
        (self.folder / "gnuplot").chmod(0o755)
        env = environment(PATH=f"{self.folder}:/usr/bin:/bin")
        pattern = ".*gnuplot.*"
        self.refuse("stats", "plain", "--plot", "p.svg", status=1, pattern=pattern, env=env)

    def test_a_plot_that_does_not_fit(self) -> None:
        """gnuplot is not left waiting for someone to take the rest, nor are we for gnuplot"""
        self.write({"gnuplot": b"#!/bin/sh\nexec head -c 8000000 /dev/zero\n"})
        (self.folder / "gnuplot").chmod(0o755)
        env = environment(PATH=f"{self.folder}:/usr/bin:/bin")
        self.refuse(
            *("stats", "plain", "--plot", "p.svg"),
            status=1,
            pattern=r"p\.svg: cannot write to it: File too large",
            env=env,
            before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
        )

    def test_no_plot_among_the_numbers(self) -> None:
        self.refuse("stats", "plain", "--plot", "-", pattern="--plot: expected .*file, found '-'.*")


if __name__ == "__main__":
    unittest.main()
