"""The report on experiments: its page, its drawings and its tables as text, made of results that
say anything in any field, and the page as a browser shows it."""

from __future__ import annotations

import copy
import html
import json
import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import browser
from browser import needs_browser
from kgraft import (
    ROOT, TIMEOUT, Case, Result, cases, check_sanitizers, environment, is_sanitized, snapshot,
)

RENDER = os.environ.get("RENDER_REPORT", str(ROOT / "build" / "tests" / "cli" / "render_report"))

needs_gnuplot = unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")

COLUMNS = [
    {"label": "MRR", "digits": 4},
    {"label": "MR", "digits": 1, "better": "lower"},
    {"label": "facts", "digits": 0, "better": "same"},
    {"label": "source", "digits": 0},
]
ROWS: list[dict[str, Any]] = [
    {
        "label": "Popularity",
        "cells": [
            {"value": 0.00941, "paper": 0.0094},
            {"value": 1234.5, "paper": 1300},
            {"value": 60608, "paper": 60608},
            {"text": "counted"},
        ],
    },
    {
        "label": "oDistMult-ERAvg",
        "rule": True,
        "note": "kgraft train oWN18RR model --psi 0.5",
        "cells": [
            {"value": 0.4016, "sd": 0.0017, "seeds": 3, "paper": 0.3904},
            {"value": 700.04, "sd": 12.3, "seeds": 3, "paper": 690.0},
            {"value": 60608, "paper": 60609},
            None,
        ],
    },
    {
        "label": "oDistMult-LS",
        "cells": [{"value": 0.31, "sd": 0.5, "seeds": 1, "paper": 0.4093}, {"value": -3}, None, None],
    },
]
PLOTS = [
    {
        "name": "curve",
        "title": "MRR over psi",
        "x": "the share psi",
        "y": "test MRR",
        "series": [
            {"name": "ERAvg", "style": "line", "points": [[0, 0.30, 0.01], [0.5, 0.40], [1, 0.41]]},
            {"name": "the paper's", "style": "dashed", "points": [[0, 0.31], [1, 0.39]]},
        ],
    },
    {
        "name": "bins",
        "title": "MRR by facts",
        "x": "facts kept",
        "y": "MRR of a bin",
        "y_from_zero": True,
        "x_labels": ["1", "2 to 3", "more"],
        "series": [
            {"name": "psi 0", "style": "bars", "points": [[0, 0.2, 0.02], [1, 0.3, 0.02], [2, 0.4]]},
            {"name": "psi 0.5", "style": "bars", "points": [[0, 0.3], [1, 0.4], [2, 0.5]]},
        ],
    },
    {
        "name": "queries",
        "title": "Queries by facts",
        "x": "facts of a query",
        "y": "queries",
        "log_x": True,
        "log_y": True,
        "series": [
            {"name": "all", "style": "points", "points": [[1, 2000], [10, 30], [200, 1]]},
            {"name": "bins", "style": "bars", "points": [[1, 9], [2, 7]], "groups": [[1, 1], [2, 9]]},
        ],
    },
]
RESULTS: dict[str, Any] = {
    "version": "1.2.3",
    "made": "2026-01-02",
    "machine": {"processor": "A Processor", "kernels": "OfTheNextOne", "blas": "A BLAS", "threads": 2},
    "command": "kgraft reproduce all --data DIR",
    "experiments": [
        {
            "name": "table2",
            "title": "Table 2: unseen entities",
            "text": ["A first paragraph.", "A second one."],
            "seconds": 7260,
            "tables": [{"title": "oWN18RR", "head": "Model", "columns": COLUMNS, "rows": ROWS}],
        },
        {"name": "curve", "title": "Figure 3", "text": [], "seconds": 3, "plots": PLOTS},
    ],
}

HOSTILE = (
    "<script>alert(1)</script></title></style> \"double\" 'single' &amp; `touch pwned` "
    "$(touch pwned) \\ \\n {a_b^c}@d %d %s \"; system(\"touch pwned\"); # '; !touch pwned\n"
    "system('touch pwned') \x1b[31m ü€𝄞 | *bold* id='gpPt5' <g id=\"x\"> -->"
)

HOSTILE_LABELS = ["<b> 'a' \"b\" `touch pwned` 5% %d %%", "$(touch pwned) \\ {a_b} \n @c", "'; !touch pwned\n'#"]

SVG = "{http://www.w3.org/2000/svg}"
HTML = "{http://www.w3.org/1999/xhtml}"


def words(text: str) -> str:
    """Text with its white space and control characters as single spaces."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())


def content(element: xml.Element) -> str:
    return words("".join(element.itertext()))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def changed(path: tuple[Any, ...], new: Any) -> Any:
    """The results with another value at a place."""
    results = copy.deepcopy(RESULTS)
    at(results, path[:-1])[path[-1]] = new
    return results


def poisoned() -> tuple[Any, dict[tuple[Any, ...], str]]:
    """The results with a hostile text in every field that takes any, each with a mark. Labels of an
    axis are short, or they would be cut."""
    results = copy.deepcopy(RESULTS)
    texts: dict[tuple[Any, ...], str] = {}
    for path in places(RESULTS):
        named = path[-1] == "name" and "series" not in path
        if isinstance(at(RESULTS, path), str) and not named and path[-1] not in ("style", "better"):
            text = HOSTILE_LABELS[path[-1]] if "x_labels" in path else HOSTILE
            texts[path] = f"{text} {len(texts)}."
            at(results, path[:-1])[path[-1]] = texts[path]
    return results, texts


class ReportCase(Case):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "out").mkdir()
        self.page = self.folder / "out" / "report.html"

    def render(self, results: Any, *more: str, env: Optional[dict[str, str]] = None) -> Result:
        self.write({"results.json": json.dumps(results).encode()})
        done = subprocess.run(
            [RENDER, "results.json", *more],
            cwd=self.folder,
            capture_output=True,
            env=env,
            timeout=TIMEOUT,
            check=False,
        )
        check_sanitizers(done.stderr)
        return Result(done.returncode, done.stdout, done.stderr)

    def write_report(self, results: Any = None) -> xml.Element:
        """Writes the report, and gives its page as the well-formed document that it is."""
        result = self.render(RESULTS if results is None else results, "out")
        self.assertEqual((result.status, result.stderr), (0, b""), result)
        return xml.fromstring(self.page.read_bytes())

    def print_tables(self, results: Any = None) -> str:
        result = self.render(RESULTS if results is None else results)
        self.assertEqual((result.status, result.stderr), (0, b""), result)
        return result.stdout.decode()


@needs_gnuplot
class Page(ReportCase):
    def test_head(self) -> None:
        text = content(self.write_report())
        for part in "kgraft 1.2.3", "2026-01-02", "A Processor", "OfTheNextOne", "A BLAS, 2 threads", "2.0 h":
            self.assertIn(part, text)
        self.assertIn("kgraft reproduce all --data DIR", text)

    def test_contents(self) -> None:
        """Every experiment can be reached from the contents"""
        root = self.write_report()
        links = [link.get("href") for link in root.iter(f"{HTML}a")]
        self.assertEqual(links, ["#table2", "#curve"])
        self.assertEqual([s.get("id") for s in root.iter(f"{HTML}section")], ["table2", "curve"])

    def test_numbers(self) -> None:
        """Each with its digits, deviation, the paper's, the difference, and what to think of it"""
        table = next(self.write_report().iter(f"{HTML}table"))
        rows = [
            [(cell.get("class"), content(cell)) for cell in row.findall(f"{HTML}td")]
            for row in table.iter(f"{HTML}tr")
        ]
        words = ("words", "counted")
        self.assertEqual(
            rows[1:],
            [
                [
                    ("equal", "0.0094 the paper's 0.0094 = equal"),
                    ("better", "1234.5 the paper's 1300.0 ▲ −65.5 better"),
                    ("equal", "60,608 the paper's 60,608 = equal"),
                    words,
                ],
                [
                    ("better", "0.4016 ± 0.0017 the paper's 0.3904 ▲ +0.0112 better"),
                    ("near", "700.0 ± 12.3 the paper's 690.0 ≈ +10.0 near"),
                    ("different", "60,608 the paper's 60,609 ≠ −1 different"),
                    ("none", ""),
                ],
                [
                    ("worse", "0.3100 the paper's 0.4093 ▼ −0.0993 worse"),
                    ("none", "−3.0"),
                    ("none", ""),
                    ("none", ""),
                ],
            ],
        )

    def test_numbers_of_others(self) -> None:
        """Where they are not the paper's, it says whose they are"""
        root = self.write_report(changed(("experiments", 0, "beside"), "LibKGE"))
        table = content(next(root.iter(f"{HTML}table")))
        self.assertIn("0.4016 ± 0.0017 LibKGE's 0.3904 ▲ +0.0112 better", table)
        self.assertNotIn("paper", table)
        said = [content(p) for p in root.iter(f"{HTML}p") if "LibKGE" in content(p)]
        self.assertEqual(said, ["Under ours stand the numbers of LibKGE, not of the paper."])

    def test_semantics(self) -> None:
        """Captions, scopes and labels for those who do not see the page"""
        root = self.write_report()
        table = next(root.iter(f"{HTML}table"))
        self.assertEqual(content(table[0]), "oWN18RR")
        self.assertEqual(table[0].tag, f"{HTML}caption")
        heads = [(head.get("scope"), content(head)) for head in table.iter(f"{HTML}th")]
        columns = ["Model", "MRR", "MR", "facts", "source"]
        labels = ["Popularity", "oDistMult-ERAvg", "oDistMult-LS"]
        expected = [("col", text) for text in columns] + [("row", text) for text in labels]
        self.assertEqual(heads, expected)
        figures = list(root.iter(f"{HTML}figure"))
        self.assertEqual(len(figures), 3)
        for figure, plot in zip(figures, PLOTS):
            self.assertEqual(figure[0].get("aria-label"), plot["title"])
            self.assertEqual(content(figure[1]), plot["title"])

    def test_notes_and_rules(self) -> None:
        root = self.write_report()
        notes = [content(note) for note in root.iter(f"{HTML}dd") if note.find(f"{HTML}code") is not None]
        self.assertIn("kgraft train oWN18RR model --psi 0.5", notes)
        rules = [row.get("class") for row in root.iter(f"{HTML}tr")]
        self.assertEqual(rules, [None, None, "rule", None])

    def test_nothing_from_elsewhere(self) -> None:
        root = self.write_report()
        self.assertEqual([e for e in root.iter() if "src" in e.attrib], [])
        links = [value for e in root.iter() for key, value in e.items() if key.endswith("href")]
        self.assertTrue(links and all(link.startswith("#") for link in links))
        tags = {element.tag.split("}")[1] for element in root.iter()}
        self.assertFalse(tags & {"script", "link", "img", "iframe", "object", "image"})
        self.assertIn("default-src 'none'", self.page.read_text())
        self.assertNotIn("@import", self.page.read_text())
        self.assertNotIn("url(", self.page.read_text())

    def test_ids(self) -> None:
        """Drawings on one page share no ids, and all references lead somewhere"""
        root = self.write_report()
        ids = [element.get("id") for element in root.iter() if "id" in element.attrib]
        self.assertEqual(len(ids), len(set(ids)))
        used = [
            value[1:]
            for element in root.iter(f"{SVG}use")
            for key, value in element.items()
            if key.endswith("href")
        ]
        self.assertTrue(used)
        self.assertLessEqual(set(used), set(ids))

    def test_drawings(self) -> None:
        """The same on the page and beside it: titles, axes, labels, legends"""
        page = self.write_report()
        inside = list(page.iter(f"{SVG}svg"))
        for plot, drawing in zip(PLOTS, inside):
            alone = xml.fromstring(self.read(f"out/{plot['name']}.svg"))
            self.assertIn(plot["title"], content(alone))
            self.assertNotIn("Gnuplot", content(drawing))
            for root in alone, drawing:
                texts = {content(text) for text in root.iter(f"{SVG}text")}
                names = {series["name"] for series in plot["series"]}
                labels = set(plot.get("x_labels", []))
                self.assertLessEqual({plot["x"], plot["y"]} | names | labels, texts)
            self.assertRegex(drawing.get("viewBox", ""), r"0 0 \d+ \d+")
            self.assertIsNone(drawing.get("width"))

    def test_files(self) -> None:
        self.write_report()
        files = {"report.html", "report.md", "curve.svg", "bins.svg", "queries.svg"}
        self.assertEqual({path.name for path in (self.folder / "out").iterdir()}, files)

    def test_again(self) -> None:
        """A report takes the place of an earlier one, and is the same"""
        self.write_report()
        before = snapshot(self.folder)
        self.write_report()
        self.assertEqual(snapshot(self.folder), before)

    def test_no_experiments(self) -> None:
        self.write_report({**RESULTS, "experiments": []})

    def test_only_what_must_be(self) -> None:
        results = {key: RESULTS[key] for key in ("version", "made", "command")}
        self.write_report({**results, "experiments": [{"name": "a", "title": "A"}]})


@needs_gnuplot
class HostileTexts(ReportCase):
    def setUp(self) -> None:
        super().setUp()
        self.results, self.texts = poisoned()

    def tearDown(self) -> None:
        self.assertEqual(list(self.folder.rglob("pwned")), [])
        super().tearDown()

    def test_every_field_of_the_page(self) -> None:
        """Shown as it is, wherever it stands"""
        root = self.write_report(self.results)
        seen = content(root) + " ".join(words(v) for e in root.iter() for v in e.attrib.values())
        missing = [path for path, text in self.texts.items() if words(text) not in seen]
        self.assertEqual(missing, [])
        tags = {element.tag.split("}")[1] for element in root.iter()}
        self.assertFalse(tags & {"script", "b"})

    def test_every_text_of_a_drawing(self) -> None:
        self.write_report(self.results)
        for plot in self.results["experiments"][1]["plots"]:
            root = xml.fromstring(self.read(f"out/{plot['name']}.svg"))
            texts = {content(text) for text in root.iter(f"{SVG}text")}
            names = [series["name"] for series in plot["series"]]
            for text in plot["title"], plot["x"], plot["y"], *names:
                self.assertIn(words(text), texts)

    def test_long_texts(self) -> None:
        """Only labels of an axis are cut, and not within a character"""
        for start in range(4):
            long = "x" * start + "ü€𝄞%'" * 1000
            results = changed((*PLOT[:-1], 1, "x_labels"), [long, "]]>" * 90, "x" * 49])
            results["experiments"][1]["plots"][1].update(title=long, y=long)
            self.write_report(results)
            root = xml.fromstring(self.read("out/bins.svg"))
            texts = {content(text) for text in root.iter(f"{SVG}text")}
            self.assertLessEqual({long, "x" * 49}, texts)
            self.assertTrue([t for t in texts if t.endswith("…") and long.startswith(t[:-1])])

    def test_what_xml_does_not_allow(self) -> None:
        self.write_report(changed((*PLOT, "x"), "a ]]> b ]]]]>> c"))
        root = xml.fromstring(self.read("out/curve.svg"))
        self.assertIn("a ]] > b ]]]] >> c", {content(text) for text in root.iter(f"{SVG}text")})

    def test_the_terminal(self) -> None:
        """No text can steer it, break a line or a cell"""
        text = self.print_tables(self.results)
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f]")
        lines = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(len(lines), 2 + len(ROWS))
        for line in lines:
            self.assertEqual(len(re.findall(r"(?<!\\)\|", line)), len(COLUMNS) + 2, line)

    def test_markdown(self) -> None:
        """Nor can it make a heading, a row or an element of the Markdown page"""
        self.write_report(self.results)
        text = self.read("out/report.md").decode()
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f]")
        self.assertEqual(len(re.findall(r"(?m)^\|", text)), 2 + len(ROWS))
        self.assertEqual(len(re.findall(r"(?m)^#", text)), 4)
        self.assertNotRegex(text, r"(?<!\\)<")


class Text(ReportCase):
    def test_table(self) -> None:
        """Aligned, so that it can be read in a terminal"""
        expected = """\
## Table 2: unseen entities

### oWN18RR

| Model           |                       MRR |                      MR |             facts | source  |
|-----------------|--------------------------:|------------------------:|------------------:|---------|
| Popularity      | 0.0094         (0.0094 =) | 1234.5       (1300.0 ▲) | 60,608 (60,608 =) | counted |
| oDistMult-ERAvg | 0.4016 ±0.0017 (0.3904 ▲) |  700.0 ±12.3  (690.0 ≈) | 60,608 (60,609 ≠) |         |
| oDistMult-LS    | 0.3100         (0.4093 ▼) |   -3.0                  |                   |         |
"""
        self.assertTrue(self.print_tables().startswith(expected))

    def test_legend(self) -> None:
        """It says whose numbers the others are"""
        self.assertRegex(self.print_tables(), r"\nIn brackets the paper's: ▲ ours is better, ")
        text = self.print_tables(changed(("experiments", 0, "beside"), "LibKGE"))
        self.assertRegex(text, r"\nIn brackets LibKGE's: ▲ ours is better, ")
        self.assertNotIn("paper", text)

    def test_page(self) -> None:
        """The page as Markdown has what that in HTML has"""
        self.write_report()
        page = self.read("out/report.md").decode()
        self.assertTrue(page.startswith("# kgraft: the paper, reproduced\n\nMade 2026-01-02 by kgraft 1.2.3 on A Processor, "))
        for text in ("\nA first paragraph.\n\nA second one.\n", "### oWN18RR", "0.4016 ±0.0017 (0.3904, +0.0112 ▲)",
                     "0.3100         (0.4093, -0.0993 ▼)", "\n- oDistMult-ERAvg: kgraft train oWN18RR model --psi 0.5\n",
                     "\n## Figure 3\n"):
            self.assertIn(text, page)
        for name in re.findall(r"!\[.*?\]\((.*?)\)", page):
            self.assertTrue((self.folder / "out" / name).exists(), name)
        self.assertEqual(page.count("!["), len(PLOTS))

    def test_all_lines_are_as_wide(self) -> None:
        lines = [line for line in self.print_tables().splitlines() if line.startswith("|")]
        self.assertEqual({len(line) for line in lines}, {len(lines[0])})
        bars = [[i for i, c in enumerate(line) if c == "|"] for line in lines]
        self.assertTrue(all(places == bars[0] for places in bars))


@dataclass(frozen=True)
class Wrong:
    """A change that makes results wrong, and what is said about it."""

    name: str
    path: tuple[Any, ...]
    value: Any
    pattern: str


TABLE = ("experiments", 0, "tables", 0)
CELL = (*TABLE, "rows", 0, "cells", 0)
PLOT = ("experiments", 1, "plots", 0)
SERIES = (*PLOT, "series", 0)

WRONGS = [
    Wrong("version", ("version",), 1, r"results\.version: expected a string, found a number"),
    Wrong("machine", ("machine",), [], r"results\.machine: expected an object, found a list"),
    Wrong("threads", ("machine", "threads"), -1, r".*threads: expected a number from 0 to \d+, found -1"),
    Wrong("experiments", ("experiments",), {}, "results.experiments: expected a list, found an object"),
    Wrong("experiment", ("experiments", 0), None, r".*experiments\[0\]: expected an object, found null"),
    Wrong("keys", ("experiments", 0), {"name": "a"}, r".*\[0\]: expected the key 'title', found none"),
    Wrong("paragraph", ("experiments", 0, "text", 1), 3, r".*text\[1\]: expected a string, .* number"),
    Wrong("digits", (*TABLE, "columns", 0, "digits"), 16, r".*expected a number from 0 to 15, found 16"),
    Wrong("better", (*TABLE, "columns", 0, "better"), "x", ".*expected higher or lower or same, found 'x'"),
    Wrong("no_columns", (*TABLE, "columns"), [], ".*columns: expected a list of at least 1, found 0"),
    Wrong("short_row", (*TABLE, "rows", 0, "cells"), [], ".*cell for each of 4 columns, found 0 in row 1 .*"),
    Wrong("cell", CELL, 1.5, r".*cells\[0\]: expected an object, found a number"),
    Wrong("empty_cell", CELL, {}, ".*value or a text, found neither in cell 1 of row 1 of table 'oWN18RR'"),
    Wrong("full_cell", CELL, {"value": 1, "text": "a"}, ".*value or a text, found both in cell 1 .*"),
    Wrong("value", (*CELL, "value"), "1", ".*value: expected a number, found a string"),
    Wrong("rule", (*TABLE, "rows", 1, "rule"), 1, ".*rule: expected true or false, found a number"),
    Wrong("path_in_a_name", (*PLOT, "name"), "../a", r".*plots\[0\]\.name: expected a name .*'\.\./a'"),
    Wrong("hidden_name", (*PLOT, "name"), ".a", ".*expected a name .*"),
    Wrong("no_name", ("experiments", 0, "name"), "", ".*expected a name .*"),
    Wrong("long_name", ("experiments", 0, "name"), "a" * 101, ".*expected a name of at most 100 .*"),
    Wrong("plots_of_one_name", (*PLOT, "name"), "bins", ".*names of their own, found 'bins' twice"),
    Wrong("experiments_of_one_name", ("experiments", 0, "name"), "curve", ".*found 'curve' twice"),
    Wrong("style", (*SERIES, "style"), "dots", ".*expected line or dashed or points or bars, .*"),
    Wrong("no_series", (*PLOT, "series"), [], ".*series: expected a list of at least 1, found 0"),
    Wrong("no_points", (*SERIES, "points"), [], ".*points: expected a list of at least 1, found 0"),
    Wrong("short_point", (*SERIES, "points", 0), [1], ".*expected a list of at least 2, found 1"),
    Wrong("long_point", (*SERIES, "points", 0), [1, 2, 3, 4], ".*expected a list of at most 3, found 4"),
    Wrong("point", (*SERIES, "points", 0, 1), "a", r".*points\[0\]\[1\]: expected a number, .*"),
    Wrong("groups", (*SERIES, "groups"), [[1]], ".*expected a list of at least 2, found 1"),
    Wrong("log", (*PLOT, "log_x"), True, r".*over 0 on a logarithmic axis, found \(0, 0\.3\) in plot 'curve'"),
    Wrong("labels", (*PLOT, "x_labels"), ["a"], ".*one of 1 labels, found x = 1 in plot 'curve'"),
]


@cases(WRONGS)
class WrongShapes(ReportCase):
    """Results that are not what they should be leave no report, but a message that says why."""

    def check(self, row: Wrong) -> None:
        result = self.render(changed(row.path, row.value), "out")
        self.assertEqual(result.status, 2, result)
        self.assertRegex("\n".join(result.messages), re.compile(f"{row.pattern}\\Z"))
        self.assertEqual(list((self.folder / "out").iterdir()), [])


class AnyShapes(ReportCase):
    def check_all(self, change: Callable[[Any, Any], None]) -> None:
        """Nothing in any place breaks the program. Without gnuplot no run takes long, and every one
        must fail that draws."""
        env = environment(PATH=str(self.folder))
        for path in places(RESULTS):
            results = copy.deepcopy(RESULTS)
            change(at(results, path[:-1]), path[-1])
            result = self.render(results, "out", env=env)
            self.assertIn(result.status, (0, 1, 2), (path, result))
            self.assertLessEqual(len(result.messages), 1)
            files = list((self.folder / "out").iterdir())
            self.assertEqual(bool(files), result.status == 0, (path, files))
            for file in files:
                file.unlink()

    def test_values_left_out(self) -> None:
        def drop(holder: Any, key: Any) -> None:
            del holder[key]

        self.check_all(drop)

    def test_values_of_another_kind(self) -> None:
        def replace(holder: Any, key: Any) -> None:
            holder[key] = {} if isinstance(holder[key], (str, list)) else "a"

        self.check_all(replace)

    def test_nulls(self) -> None:
        def replace(holder: Any, key: Any) -> None:
            holder[key] = None

        self.check_all(replace)

    def test_lists(self) -> None:
        def replace(holder: Any, key: Any) -> None:
            holder[key] = [[[]], holder[key]]

        self.check_all(replace)

    def test_other_roots(self) -> None:
        for results in [], {}, [RESULTS]:
            result = self.render(results, "out")
            self.assertEqual(result.status, 2)
            self.assertRegex(result.messages[0], "results: expected ")


class Failures(ReportCase):
    def test_no_folder(self) -> None:
        result = self.render({**RESULTS, "experiments": []}, "nowhere")
        self.assertEqual(result.status, 2)
        self.assertRegex(result.messages[0], "nowhere/report.html: cannot create it: .*")

    def test_a_gnuplot_that_fails_late(self) -> None:
        """Leaves the earlier report, and nothing of the new one"""
        script = b"#!/bin/sh\necho >>count\n[ $(wc -l <count) -lt 4 ] && echo '<svg><g /></svg>'\n"
        self.write({"gnuplot": script, "out/report.html": b"old", "out/curve.svg": b"old"})
        (self.folder / "gnuplot").chmod(0o755)
        before = snapshot(self.folder / "out")
        result = self.render(RESULTS, "out", env=environment(PATH=f"{self.folder}:/usr/bin:/bin"))
        self.assertEqual(result.status, 1)
        self.assertRegex(result.messages[0], ".*gnuplot.*")
        self.assertEqual(self.read("count").count(b"\n"), 4)
        self.assertEqual(snapshot(self.folder / "out"), before)


SEEN = """(() => {
    const inside = (a, b) => a.width > 0 && a.height > 0 && a.left >= b.left - 1 &&
        a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
    const page = {left: 0, top: 0, right: innerWidth, bottom: document.body.scrollHeight};
    const background = (element) => getComputedStyle(element).backgroundColor;
    return {
        wide: document.documentElement.scrollWidth > innerWidth,
        tables: [...document.querySelectorAll(".scroll")].map((holder) => ({
            visible: inside(holder.getBoundingClientRect(), page),
            cells: [...holder.querySelectorAll("td, th")].filter(
                (cell) => cell.checkVisibility() && cell.getBoundingClientRect().height > 10).length,
        })),
        plots: [...document.querySelectorAll("figure > svg")].map((svg) => ({
            visible: inside(svg.getBoundingClientRect(), page),
            width: svg.getBoundingClientRect().width,
            background: background(svg),
            texts: [...svg.querySelectorAll("text")].filter((text) => inside(
                text.getBoundingClientRect(), svg.getBoundingClientRect())).map(
                (text) => text.textContent.trim()),
        })),
        background: background(document.body),
        color: getComputedStyle(document.body).color,
        loaded: performance.getEntriesByType("resource").length,
    };
})()"""

WHITE = "rgb(255, 255, 255)"
DARK = "--blink-settings=preferredColorScheme=0"


@needs_gnuplot
class Titles(ReportCase):
    """Of the page, in its head and at its top."""

    def titles(self, results: Any) -> set[str]:
        page = self.write_report(results)
        found = [*page.iter(f"{HTML}title"), *page.iter(f"{HTML}h1")]
        self.assertEqual(len(found), 2)
        return {"".join(element.itertext()) for element in found}

    def test_of_the_paper(self) -> None:
        self.assertEqual(self.titles(RESULTS), {"kgraft: the paper, reproduced"})
        self.assertIn("Albooyeh", self.page.read_text())

    def test_of_ones_own(self) -> None:
        self.assertEqual(self.titles({**RESULTS, "title": "My <own> & others"}), {"My <own> & others"})
        self.assertNotIn("Albooyeh", self.page.read_text())


@needs_browser
@unittest.skipIf(is_sanitized(), "the same page once more would say nothing about the program")
@needs_gnuplot
class Browser(ReportCase):
    def check_seen(self, seen: Any) -> None:
        self.assertFalse(seen["wide"], "the page scrolls sideways")
        self.assertEqual(seen["loaded"], 0)
        cells = (len(COLUMNS) + 1) * (len(ROWS) + 1)
        self.assertEqual(seen["tables"], [{"visible": True, "cells": cells}])
        self.assertEqual(len(seen["plots"]), len(PLOTS))
        for plot, drawing in zip(PLOTS, seen["plots"]):
            self.assertTrue(drawing["visible"])
            self.assertEqual(drawing["background"], WHITE)
            names = {series["name"] for series in plot["series"]}
            self.assertLessEqual({plot["x"], plot["y"]} | names, set(drawing["texts"]))
            numbers = [text for text in drawing["texts"] if re.fullmatch(r"[\d.e+-]+", text)]
            self.assertGreaterEqual(len(numbers), 6, "tic labels of both axes")
            self.assertLessEqual(set(plot.get("x_labels", [])), set(drawing["texts"]))

    def test_light(self) -> None:
        self.write_report()
        self.check_seen(browser.ask(self.page, SEEN, size=(1200, 900)))

    def test_dark(self) -> None:
        """Light text on a dark page, drawings on white"""
        self.write_report()
        light = browser.ask(self.page, SEEN, size=(1200, 900))
        dark = browser.ask(self.page, SEEN, DARK, size=(1200, 900))
        self.check_seen(dark)
        brightness = {
            key: sum(map(int, re.findall(r"\d+", seen[part])[:3]))
            for key, seen, part in [
                ("light page", light, "background"), ("light text", light, "color"),
                ("dark page", dark, "background"), ("dark text", dark, "color"),
            ]
        }
        self.assertGreater(brightness["light page"], brightness["light text"] + 400)
        self.assertGreater(brightness["dark text"], brightness["dark page"] + 400)

    def test_wide_tables(self) -> None:
        """All that tables of experiments have fits 1,100 pixels"""
        results = copy.deepcopy(RESULTS)
        digits = [4] * 7 + [0] * 3
        labels = ["MRR", "Hit@1", "Hit@3", "Hit@10", "MRR, echoes", "MRR, fresh", "validation MRR",
                  "epoch", "seconds", "MB"]
        scores = [{"value": 0.4016, "sd": 0.0017, "seeds": 3, "paper": 0.3904}] * 4
        others = [{"value": 0.9958, "sd": 0.0017, "seeds": 3}] * 3
        counts = [{"value": v, "sd": 12, "seeds": 3} for v in (200, 2512, 1834)]
        label = "DistMult-ERAvg, every tenth epoch validated"
        results["experiments"][0]["tables"] = [{
            "title": "oFB15k-237",
            "head": "Model",
            "columns": [{"label": l, "digits": d} for l, d in zip(labels, digits)],
            "rows": [{"label": label, "cells": [*scores, *others, *counts]}],
        }]
        self.write_report(results)
        script = """[...document.querySelectorAll(".scroll")].map(
            (holder) => holder.scrollWidth - holder.clientWidth)"""
        self.assertEqual(browser.ask(self.page, script, size=(1100, 900)), [0])

    def test_phone(self) -> None:
        """At 360 pixels the page fits, and tables scroll by themselves"""
        self.write_report()
        text = browser.POLICY.sub("", self.page.read_text())
        frame = f'<iframe srcdoc="{html.escape(text)}" style="width: 360px; height: 700px"></iframe>'
        policy = '<meta http-equiv="Content-Security-Policy" content="" />'
        phone = self.page.with_name("phone.html")
        phone.write_text(f"{policy}<body>{frame}</body>")
        seen = browser.ask(
            phone, f"document.querySelector('iframe').contentWindow.eval(`{SEEN}`)", size=(800, 900)
        )
        self.check_seen(seen)
        self.assertTrue(all(plot["width"] <= 360 for plot in seen["plots"]))

    def test_hostile_texts(self) -> None:
        """No text becomes a script, not even without the policy against scripts"""
        results, _ = poisoned()
        self.write_report(results)
        count = "document.querySelectorAll('script').length"
        self.assertEqual(browser.ask(self.page, count, size=(1200, 900)), 1)

    def test_console(self) -> None:
        """It stays empty for the page as it is; a page with an error in it shows that we would see"""
        self.write_report()
        self.assertEqual(browser.console(browser.run(self.page, "--dump-dom", size=(900, 900))), [])
        bad = self.folder / "bad.html"
        bad.write_text("<script>nothing.at.all()</script>")
        self.assertTrue(browser.console(browser.run(bad, "--dump-dom", size=(900, 900))))

    def test_screenshot(self) -> None:
        """A picture of the right size, with text and with a plot"""
        self.write_report({**RESULTS, "experiments": RESULTS["experiments"][1:]})
        size, counts = browser.colors(browser.screenshot(self.page, size=(800, 1000)))
        self.assertEqual(size, (800, 1000))
        total = sum(counts.values())
        self.assertLess(counts.most_common(1)[0][1], 0.9 * total, "the picture is blank")
        self.assertGreater(len(counts), 100)
        self.assertGreater(counts[bytes.fromhex("3b6ea5")], 100, "no line of the first plot")


if __name__ == "__main__":
    unittest.main()
