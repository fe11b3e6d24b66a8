"""Pages of Markdown as GitHub shows them: headings with their anchors, links, and blocks of code.

What is to be done with a block is said in HTML comments, which readers do not see:

    <!-- scenario: NAME -->            the following blocks of the page are run, in order, in one folder;
    <!-- scenario: NAME, long -->      takes longer than a few seconds, so it is run on demand
    <!-- not run: REASON -->           the next block is not run
    <!-- none run: REASON -->          nor are any of the following ones, up to the next scenario
    <!-- file: NAME -->                the next block is written to this file of the folder
    <!-- setup: COMMANDS -->           is run in the folder, too

Of a scenario, a block `sh` is run as a script, `python` as a program; a block `console` has commands behind `$ `, and below
each what it prints. A block `text` is no code. Any other one has to be a file, or needs a reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Iterator, Optional
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"\A<!--\s*(scenario|not run|none run|file|setup):\s*(.*?)\s*-->\s*\Z", re.DOTALL)


def parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A block of code, or commands of a comment, whose `kind` is "setup"."""

    page: Path
    line: int
    kind: str
    text: str
    scenario: str = ""
    is_long: bool = False
    reason: str = ""
    file: str = ""

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def problem(self) -> Optional[str]:
        """Why it cannot be told what to do with it; None if all is well."""
        if self.kind == "text":
            commands = re.search(r"^(\$ \S|kgraft [a-z]+ \S)", self.text, re.MULTILINE)
            return "a block of text with a command in it" if commands else None
        if self.reason:
            return None
        if not self.scenario:
            return "a block without a scenario, or a reason not to run it"
        if not self.file and self.kind not in ("sh", "console", "python", "setup"):
            return f"a block of kind {self.kind!r} that is neither a file nor has a reason not to be run"
        return None


@dataclass(frozen=True)
class Link:
    page: Path
    line: int
    target: str

    @property
    def is_external(self) -> bool:
        return re.match(r"[a-z]+:", self.target) is not None

    @property
    def file(self) -> Path:
        """What it leads to, in the repository."""
        path = unquote(self.target.partition("#")[0])
        return (self.page.parent / path).resolve() if path else self.page

    @property
    def anchor(self) -> str:
        return unquote(self.target.partition("#")[2])


@dataclass(frozen=True)
class Heading:
    level: int
    text: str
    anchor: str


def slug(text: str) -> str:
    """The anchor of a heading, by GitHub's rule."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def plain_text(token: Token) -> str:
    """Of a heading or paragraph: what is read, without marks."""
    children = token.children or []
    return "".join(" " if c.type == "softbreak" else c.content for c in children if c.type != "html_inline")


@dataclass(frozen=True)
class Page:
    path: Path
    tokens: list[Token] = field(repr=False)

    @staticmethod
    def read(path: Path) -> Page:
        return Page(path, parser().parse(path.read_text()))

    @cached_property
    def title(self) -> str:
        return self.headings[0].text

    @cached_property
    def headings(self) -> list[Heading]:
        found: list[Heading] = []
        seen: dict[str, int] = {}
        for token, inline in zip(self.tokens, self.tokens[1:]):
            if token.type == "heading_open":
                text = plain_text(inline)
                anchor = slug(text)
                count = seen[anchor] = seen.get(anchor, -1) + 1
                found.append(Heading(int(token.tag[1]), text, f"{anchor}-{count}" if count else anchor))
        return found

    @cached_property
    def links(self) -> list[Link]:
        return list(self._links())

    def _links(self) -> Iterator[Link]:
        for token in self.tokens:
            line = token.map[0] + 1 if token.map else 0
            for child in token.children or []:
                target = child.attrGet({"link_open": "href", "image": "src"}.get(child.type, ""))
                if target:
                    yield Link(self.path, line, str(target))

    @cached_property
    def blocks(self) -> list[Block]:
        return list(self._blocks())

    def _blocks(self) -> Iterator[Block]:
        scenario, is_long, reason = "", False, ""
        once: dict[str, str] = {}  # what a comment says of the next block alone
        for token in self.tokens:
            line = token.map[0] + 1 if token.map else 0
            if token.type == "html_block" and (match := COMMENT.match(token.content)):
                name, value = match[1], match[2]
                if name == "scenario":
                    scenario, _, length = value.partition(", ")
                    is_long, reason = length == "long", ""
                elif name == "none run":
                    scenario, is_long, reason = "", False, value
                elif name == "setup":
                    yield Block(self.path, line, "setup", value, scenario, is_long)
                else:
                    once[{"not run": "reason"}.get(name, name)] = value
            elif token.type in ("fence", "code_block"):
                said = {"reason": reason, **once}
                yield Block(self.path, line, token.info.strip(), token.content, scenario, is_long, **said)
                once = {}


def all_pages() -> list[Path]:
    """Every Markdown file of the project but those of vendored libraries."""
    folders = [".", "docs", "docs/*", "bench", "experiments", "examples", "python", "src", "web"]
    return sorted({path for folder in folders for path in ROOT.glob(f"{folder}/*.md")})


def link_problems(pages: list[Page]) -> list[str]:
    """Links of pages that lead nowhere in the repository."""
    found = []
    anchors = {page.path: {heading.anchor for heading in page.headings} for page in pages}
    for page in pages:
        for link in page.links:
            where = f"{page.path.relative_to(ROOT)}:{link.line}: {link.target}"
            if link.is_external:
                continue
            if not link.file.exists():
                found.append(f"{where}: there is no such file")
            elif link.anchor and link.anchor not in anchors.get(link.file, set()):
                found.append(f"{where}: there is no such heading")
    return found
