"""Man pages as they are read: from the build, and with examples that can be pasted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap
import unittest
from dataclasses import dataclass
from pathlib import Path

from installed import BUILD
from kgraft import ROOT, TIMEOUT, Case, cases

SOURCES = sorted((ROOT / "docs/man").glob("*.scd"))
PAGES = BUILD / "docs/man"


def literal_blocks(source: Path) -> list[str]:
    """What stands between lines of ```; there, as elsewhere, a backslash escapes what follows."""
    blocks = re.findall(r"^```\n(.*?)\n```$", source.read_text(), re.MULTILINE | re.DOTALL)
    return [re.sub(r"\\(.)", r"\1", block) for block in blocks]


def examples(source: Path) -> str:
    found = re.search(r"^# EXAMPLES\n(.*?)^# ", source.read_text(), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def render(page: Path) -> str:
    """A page as a terminal of 80 columns shows it."""
    own = {"MANWIDTH": "80", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["man", "-Tutf8", page], env={**os.environ, **own}, capture_output=True, text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0 and done.stderr == "", done
    return re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)


@dataclass(frozen=True)
class Page:
    source: Path

    @property
    def name(self) -> str:
        return self.source.stem


needs_man = unittest.skipUnless(
    shutil.which("man") and shutil.which("scdoc"), "man or scdoc is not installed"
)


@needs_man
@cases([Page(source) for source in SOURCES])
class Examples(Case):
    """They can be pasted: the formatter leaves them alone."""

    def check(self, row: Page) -> None:
        self.assertNotRegex(examples(row.source), re.compile(r"^\t", re.MULTILINE))
        blocks = literal_blocks(row.source)
        if examples(row.source):
            self.assertGreater(len(blocks), 0)
        page = render(PAGES / row.name)
        for block in blocks:
            self.assertIn(textwrap.indent(block, " " * 11) + "\n", page)


@needs_man
class Built(unittest.TestCase):
    def test_pages_are_where_the_readme_says(self) -> None:
        said = re.findall(r"`man build/docs/man/([^`]*)`", (ROOT / "README.md").read_text())
        self.assertGreater(len(said), 1)
        for name in said:
            self.assertIn(name.removesuffix(".1"), render(PAGES / name))


if __name__ == "__main__":
    unittest.main()
