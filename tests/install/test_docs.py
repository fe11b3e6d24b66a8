"""The documentation: links lead somewhere, and blocks of code do what the pages show.

tools/docs/pages.py says how a page tells what is to be done with a block. Scenarios that take long are skipped, unless
KGRAFT_LONG_SCENARIOS is set; those that read the data sets in ../shared skip visibly if there are none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from installed import installation
from kgraft import BINARY, DATA, ROOT, Case, cases
from webdriver import Browser, Keys, needs_webdriver

sys.path.insert(0, str(ROOT / "tools/docs"))

from make_site import make_site, outline, site_problems, unlisted
from pages import Block, Page, all_pages, link_problems, parser
from python_api import public_names
from scenarios import agree, run_scenario

PAGES = [Page.read(path) for path in all_pages()]
BLOCKS = [block for page in PAGES for block in page.blocks]
IS_LONG_RUN = bool(os.environ.get("KGRAFT_LONG_SCENARIOS"))


@dataclass(frozen=True)
class Scenario:
    page: Path
    title: str
    blocks: list[Block]

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}_{self.title}".replace("/", "_").replace(".", "_")


def scenarios() -> list[Scenario]:
    run = [block for block in BLOCKS if block.scenario and not block.reason and (block.file or block.kind != "text")]
    run.sort(key=lambda block: (block.page, block.scenario))  # stable: in the order of the page
    return [Scenario(*key, list(blocks)) for key, blocks in groupby(run, lambda b: (b.page, b.scenario))]


@cases(scenarios())
class Scenarios(Case):
    """What pages show is what happens."""

    def check(self, row: Scenario) -> None:
        if row.blocks[0].is_long and not IS_LONG_RUN:
            self.skipTest("takes long: KGRAFT_LONG_SCENARIOS=1 runs it")
        if any("$DATA" in block.text for block in row.blocks) and not DATA.is_dir():
            self.skipTest(f"no data in {DATA}")
        environment = {
            **installation().environment,
            "COLUMNS": "120",
            "DATA": str(DATA),
            "KGRAFT_LIBRARY": str(installation().shared_library),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(ROOT / "python"),
            "ROOT": str(ROOT),
        }
        run_scenario(row.blocks, self.folder, environment)


class Blocks(unittest.TestCase):
    def test_all_are_run_or_have_a_reason(self) -> None:
        problems = [f"{block.where}: {block.problem}" for block in BLOCKS if block.problem]
        self.assertEqual(problems, [], "\n".join(problems))

    def test_what_agrees(self) -> None:
        """Shown and printed lines agree but for last digits, and what was left out"""
        for shown, printed in (
            (["a 0.5", "...", "z"], ["a 0.503", "b", "c", "z"]),
            (["..."], []),
            (["score 150, probability 0.07"], ["score 149.83, probability 0.0681"]),
            (["|####  x"], ["|#####  x"]),
        ):
            self.assertTrue(agree(shown, printed), (shown, printed))
        for shown, printed in (
            (["a 0.5"], ["a 0.6"]),
            (["12 facts"], ["13 facts"]),
            (["a"], ["a", "b"]),
            (["a", "..."], ["b", "a"]),
            ([], ["a"]),
            (["rank 2"], ["rank 3"]),
        ):
            self.assertFalse(agree(shown, printed), (shown, printed))


def broken_page(text: str) -> Page:
    return Page(ROOT / "docs/page.md", parser().parse(text))


class Links(unittest.TestCase):
    def test_what_is_wrong_is_found(self) -> None:
        for text, problem in (
            ("[a](nowhere.md)", "no such file"),
            ("[a](#nowhere)", "no such heading"),
            ("[a](recipe.md#nowhere)", "no such heading"),
            ("![a](figures/nowhere.svg)", "no such file"),
        ):
            recipe = next(page for page in PAGES if page.path.name == "recipe.md")
            problems = link_problems([broken_page(text), recipe])
            self.assertTrue(any(problem in found for found in problems), text)
        self.assertEqual(len(unlisted([Page(ROOT / "docs/new.md", [])], broken_page("# Home"))), 1)

    def test_what_cannot_be_run_is_found(self) -> None:
        for text in (
            "```sh\ntrue\n```",
            "    true\n",
            "<!-- scenario: a -->\n```yaml\na: 1\n```",
            "```text\nkgraft predict model\n```",
        ):
            (block,) = broken_page(text).blocks
            self.assertIsNotNone(block.problem, text)

    def test_reasons_and_scenarios(self) -> None:
        """Those of all following blocks, and those of one"""
        code = "```sh\ntrue\n```\n"
        page = broken_page(
            f"<!-- none run: why -->\n{code}{code}<!-- scenario: a, long -->\n{code}<!-- not run: so -->\n{code}"
            f"<!-- scenario: b -->\n{code}"
        )
        said = [(block.reason, block.scenario, block.is_long) for block in page.blocks]
        self.assertEqual(said, [("why", "", False)] * 2 + [("", "a", True), ("so", "a", True), ("", "b", False)])

    def test_external_links_are_listed(self) -> None:
        done = subprocess.run([ROOT / "tools/site", "--external"], capture_output=True, text=True, check=True)
        self.assertIn("https://aclanthology.org/2020.findings-emnlp.241/", done.stdout.splitlines())


class Figures(unittest.TestCase):
    def test_accuracy_over_time_is_that_of_the_results(self) -> None:
        """Each point of the plot is in a row of docs/results.md, or is the best of the paper there"""
        rows = (ROOT / "docs/results.md").read_text().splitlines()
        data = (ROOT / "docs/figures/accuracy-time.tsv").read_text().splitlines()
        points = [line.split("\t") for line in data if not line.startswith("#")]
        self.assertGreater(len(points), 5)
        for _, what, mrr, seconds in points:
            numbers = [mrr] if seconds == "-" else [mrr, f"{seconds} s"]
            found = [row for row in rows if what in row and all(number in row for number in numbers)]
            self.assertEqual(len(found), 1, (what, numbers))

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_accuracy_over_time_is_drawn_by_its_script(self) -> None:
        figures = ROOT / "docs/figures"
        with tempfile.TemporaryDirectory() as folder:
            drawn = Path(folder) / "plot.svg"
            subprocess.run([ROOT / "tools/draw-accuracy", drawn], check=True)
            texts, places = re.compile(r"<text>.*?</text>", re.DOTALL), re.compile(r"<use xlink[^>]*>")
            for what in texts, places:
                committed = what.findall((figures / "accuracy-time.svg").read_text())
                self.assertGreater(len(committed), 4)
                self.assertEqual(what.findall(drawn.read_text()), committed)


@unittest.skipUnless(shutil.which("mandoc") and shutil.which("scdoc"), "mandoc or scdoc is not installed")
class Site(unittest.TestCase):
    folder: ClassVar[Path]
    problems: ClassVar[list[str]]

    @classmethod
    def setUpClass(cls) -> None:
        holder = tempfile.TemporaryDirectory(prefix="kgraft-site-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = Path(holder.name)
        cls.problems = make_site(cls.folder, BINARY)

    def ids(self, name: str) -> set[str]:
        return outline((self.folder / name).read_text()).ids

    def test_every_link_leads_somewhere(self) -> None:
        self.assertEqual(self.problems, [], "\n".join(self.problems))

    def test_a_link_that_leads_nowhere_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page = '<h1 id="a">A</h1><a href="b.html">b</a><a href="#c">c</a><a href="#a">a</a>'
            (Path(folder) / "a.html").write_text(page)
            self.assertEqual(len(site_problems(Path(folder))), 2)

    def test_references_are_whole(self) -> None:
        """Every option, function of the header, public name of the package, and operation of the server has a place"""
        header = (ROOT / "include/kgraft.h").read_text()
        functions = set(re.findall(r"\b(kg_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
        self.assertGreater(len(functions), 50)
        self.assertLessEqual(functions, self.ids("c.html"))
        for source in sorted((ROOT / "docs/man").glob("*.scd")):
            options = set(re.findall(r"^\*--([a-z0-9-]+)", source.read_text(), re.MULTILINE))
            self.assertLessEqual({f"--{option}" for option in options}, self.ids(f"{source.stem}.html"))
        self.assertLessEqual(set(public_names(ROOT / "python/kgraft")), self.ids("python.html"))
        routes = (ROOT / "src/serve/routes.c").read_text()
        shown = (self.folder / "http.html").read_text()
        for path in re.findall(r'\.path = "(/v1/[^"]*)"', routes):
            self.assertIn(f" {path}</code></h3>", shown)

    @needs_webdriver
    def test_search(self) -> None:
        """From a local file, without a word on the browser's console"""
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open((self.folder / "index.html").as_uri())
        browser.find("#query").send_keys("calibrate")
        browser.find("#found li", "kgraft-calibrate")
        browser.find("#query").send_keys(Keys.ENTER)
        browser.wait("the best result", lambda: "kgraft-calibrate" in browser.run("return location.href"))
        self.assertEqual(browser.console(), [])


if __name__ == "__main__":
    unittest.main()
