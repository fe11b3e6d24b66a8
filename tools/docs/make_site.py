"""The documentation as static HTML: the Markdown pages, the man pages, and references made from what they are about.

Navigation is what docs/README.md lists. A link to a source leads to what is made of it: to the page of a man page's source,
to the reference of the header, of the Python package, of the routes. All files of the site lie in one folder, and work
without a server.
"""

from __future__ import annotations

import functools
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple, Optional
from urllib.parse import quote, unquote
from urllib.request import urlopen

import c_header
import http_api
import python_api
from markdown_it.token import Token
from pages import ROOT, Link, Page, all_pages, link_problems, parser, slug

HERE = Path(__file__).resolve().parent
DOCS = ROOT / "docs"
HOME = DOCS / "README.md"
MAN = DOCS / "man"

# Sources that have a page of their own, which is made of them.
REFERENCES = {
    MAN: "man.html",
    ROOT / "include/kgraft.h": "c.html",
    ROOT / "python/kgraft": "python.html",
    ROOT / "src/serve/routes.c": "http.html",
}


def output_name(source: Path) -> Optional[str]:
    """What a file of the repository is in the site; None for folders, which it does not have."""
    if source == HOME:
        return "index.html"
    if source in REFERENCES:
        return REFERENCES[source]
    if source.suffix == ".scd":
        return f"{source.stem}.html"
    if source.suffix == ".md":
        inner = source.relative_to(DOCS) if DOCS in source.parents else source.relative_to(ROOT)
        name = inner.stem if DOCS in source.parents else "-".join(inner.with_suffix("").parts)
        return f"{name.lower()}.html"
    return f"files/{source.relative_to(ROOT)}" if source.is_file() else None


class Html(NamedTuple):
    """A page of the site: its file, title, and what is in its main part."""

    name: str
    title: str
    body: str


# ---------------------------------------------------------------------------------------------
# Pages of Markdown


def resolve(page: Page, target: str) -> Optional[str]:
    """A link of a page as one of the site; None if it leads to a folder."""
    link = Link(page.path, 0, target)
    if link.is_external:
        return target
    name = output_name(link.file)
    return None if name is None else quote(name) + (f"#{link.anchor}" if link.anchor else "")


def relink(page: Page, children: list[Token]) -> None:
    unlinked = 0
    for child in children:
        if child.type == "link_open":
            target = resolve(page, str(child.attrGet("href")))
            if target is None:
                child.type, child.tag = "html_inline", ""
                unlinked += 1
            else:
                child.attrSet("href", target)
        elif child.type == "link_close" and unlinked:
            child.type, child.tag = "html_inline", ""
            unlinked -= 1
        elif child.type == "image":
            child.attrSet("src", resolve(page, str(child.attrGet("src"))) or "")


def show_code_inline(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    """`man kgraft-train` is a link to that page."""
    content = tokens[index].content
    code = f"<code>{html.escape(content, quote=False)}</code>"
    match = re.fullmatch(r"man (kgraft[\w-]*)", content)
    return f'<a href="{match[1]}.1.html">{code}</a>' if match and (MAN / f"{match[1]}.1.scd").exists() else code


def render_page(page: Page) -> Html:
    headings = iter(page.headings)
    for token in page.tokens:
        if token.type == "heading_open":
            token.attrSet("id", next(headings).anchor)
        elif token.type in ("th_open", "td_open") and "right" in str(token.attrs.pop("style", "")):
            token.attrSet("class", "right")
        elif token.type == "html_block":
            token.content = re.sub(r"<!--.*?-->\n?", "", token.content, flags=re.DOTALL)
        relink(page, token.children or [])
    markdown = parser()
    markdown.add_render_rule("code_inline", show_code_inline)
    body = markdown.renderer.render(page.tokens, markdown.options, {})
    body = body.replace("<pre>", '<pre tabindex="0">')
    body = body.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    return Html(str(output_name(page.path)), page.title, body)


# ---------------------------------------------------------------------------------------------
# References


def run(*command: str, given: bytes = b"") -> bytes:
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout


def add_option_headings(text: str) -> str:
    """What an indented text explains, an option for instance, is a heading, so that it can be searched for and linked to."""
    seen: set[str] = set()

    def heading(match: re.Match[str]) -> str:
        anchor = slug(re.sub(r"<[^>]*>|[ ,].*", "", match[1], flags=re.DOTALL))
        place = "" if anchor in seen else f' id="{anchor}"'
        seen.add(anchor)
        return f'<h3{place}>{match[1]}</h3>\n<div class="Bd-indent">'

    return re.sub(r'<p class="Pp">((?:(?!</p>).)+)</p>\s*<div class="Bd-indent">(?!\s*<pre)', heading, text, flags=re.DOTALL)


def render_man_page(source: Path) -> Html:
    text = run("mandoc", "-Thtml", "-Ofragment", given=run("scdoc", given=source.read_bytes())).decode()
    text = re.sub(r'<table class="(head|foot)">.*?</table>', "", text, flags=re.DOTALL)
    text = re.sub(r"<(/?)h1\b", r"<\1h2", text)
    text = re.sub(r'<a class="permalink"[^>]*>(.*?)</a>', r"\1", text)
    text = re.sub(r"<pre>.*?</pre>", lambda match: match[0].replace("<br/>\n", ""), text, flags=re.DOTALL)
    text = re.sub(r"<pre>\n*", '<pre tabindex="0">', text)
    text = re.sub(r"<b>(kgraft[\w-]*)</b>\((\d)\)", r'<a href="\1.\2.html"><b>\1</b>(\2)</a>', text)
    text = add_option_headings(text)
    name = source.stem.removesuffix(".1")
    return Html(f"{source.stem}.html", f"{name}(1)", f"<h1>{name}(1)</h1>\n{text}")


def render_man_list(sources: list[Path]) -> Html:
    rows = []
    for source in sources:
        match = re.search(r"^# NAME\n\n(\S+) - (.*)$", source.read_text(), re.MULTILINE)
        assert match is not None, source
        rows.append(f'<dt><a href="{source.stem}.html">{match[1]}(1)</a></dt><dd>{html.escape(match[2])}</dd>')
    return Html("man.html", "Man pages", f"<h1>Man pages</h1>\n<dl>{''.join(rows)}</dl>")


def openapi(kgraft: str) -> str:
    """As a server describes itself, which here has a small graph."""
    with tempfile.TemporaryDirectory() as folder:
        for words in (
            "generate graph.tsv --facts 300 --entities 60 --relations 4 --quiet",
            "train graph.tsv model --terms embedding --epochs 1 --dim 4 --quiet",
            "store model store --quiet",
        ):
            subprocess.run([kgraft, *words.split()], cwd=folder, check=True)
        command = [kgraft, "serve", f"{folder}/store", "--listen", "127.0.0.1:0", "--json", "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                about = ""
                while not about.endswith("}\n"):
                    about += server.stdout.readline().decode()
                with urlopen(f"http://127.0.0.1:{json.loads(about)['port']}/openapi.json") as answer:
                    return str(answer.read().decode())
            finally:
                server.terminate()


def render_references(kgraft: str) -> list[Html]:
    sources = sorted(MAN.glob("*.scd"))
    return [
        render_man_list(sources),
        *map(render_man_page, sources),
        Html("c.html", "The C interface", c_header.render((ROOT / "include/kgraft.h").read_text())),
        Html("python.html", "The Python package", python_api.render(ROOT / "python/kgraft")),
        Html("http.html", "The HTTP interface", http_api.render(openapi(kgraft))),
    ]


# ---------------------------------------------------------------------------------------------
# What is around them


class Section(NamedTuple):
    """A heading of the home page, and below it titles and targets."""

    title: str
    entries: list[tuple[str, str]]


def navigation(home: Page) -> list[Section]:
    """The first link of each item of the lists."""
    sections: list[Section] = []
    is_new_item = False
    for token, inline in zip(home.tokens, [*home.tokens[1:], home.tokens[-1]]):
        if token.type == "heading_open" and token.tag == "h2":
            sections.append(Section(inline.content, []))
        is_new_item = is_new_item or token.type == "list_item_open"
        children = token.children or []
        if is_new_item and sections and children and children[0].type == "link_open":
            target = resolve(home, str(children[0].attrGet("href")))
            if target is not None:
                sections[-1].entries.append((children[1].content, target))
            is_new_item = False
    return [section for section in sections if section.entries]


class Outline(HTMLParser):
    """Of a page as it is: sections with their text, anchors, and what it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.sections: list[list[str]] = []  # anchor, heading, text
        self._in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.add(str(given["id"]))
        for name in "href", "src":
            if name in given:
                self.targets.append(given[name] or "")
        if tag in ("h1", "h2", "h3"):
            self.sections.append([given.get("id") or "", "", ""])
            self._in_heading = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h1", "h2", "h3"):
            self._in_heading = False
        elif self.sections and not self._in_heading and tag in ("td", "th", "p", "li", "dt", "dd", "pre"):
            self.sections[-1][2] += " "

    def handle_data(self, data: str) -> None:
        if self.sections:
            self.sections[-1][1 if self._in_heading else 2] += data


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    return found


def show_navigation(sections: list[Section], page: Html) -> str:
    out = []
    for section in sections:
        items = []
        for title, target in section.entries:
            is_current = target == page.name or target == "man.html" and re.search(r"\.\d\.html$", page.name)
            current = ' aria-current="page"' if is_current else ""
            inner = f'<a href="{target}"{current}>{html.escape(title)}</a>'
            if is_current and target == page.name:
                heads = [s for s in outline(page.body).sections[1:] if s[0] and f'<h2 id="{s[0]}"' in page.body]
                inner += "<ul>" + "".join(f'<li><a href="#{a}">{html.escape(t)}</a></li>' for a, t, _ in heads) + "</ul>"
            items.append(f"<li>{inner}</li>")
        out.append(f"<h2>{html.escape(section.title)}</h2>\n<ul>{''.join(items)}</ul>")
    return "\n".join(out)


@functools.cache
def version() -> str:
    match = re.search(r"version: '([^']*)'", (ROOT / "meson.build").read_text())
    assert match is not None
    return match[1]


def finish(page: Html, sections: list[Section]) -> str:
    values = {
        "title": html.escape(f"{page.title} · kgraft" if page.name != "index.html" else page.title),
        "navigation": show_navigation(sections, page),
        "body": page.body,
        "version": version(),
    }
    template = (HERE / "page.html").read_text()
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


def search_index(pages: list[Html]) -> str:
    """A script, since a page of a local file may not load anything else."""
    rows = [
        [page.name + (f"#{anchor}" if anchor else ""), page.title, heading, " ".join(text.split())]
        for page in pages
        for anchor, heading, text in outline(page.body).sections
    ]
    return f"var searchIndex = {json.dumps(rows, ensure_ascii=False)};\n"


def site_problems(out: Path) -> list[str]:
    """Links of the finished site that lead nowhere in it."""
    outlines = {path.name: outline(path.read_text()) for path in sorted(out.glob("*.html"))}
    found = []
    for name, page in outlines.items():
        for target in page.targets:
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = unquote(target).partition("#")
            if not (out / (path or name)).is_file():
                found.append(f"{name}: {target}: there is no such file")
            elif anchor and anchor not in outlines[path or name].ids:
                found.append(f"{name}: {target}: there is no such place")
    return found


def unlisted(pages: list[Page], home: Page) -> list[str]:
    """Pages of docs/ that the home page does not list."""
    listed = {link.file for link in home.links} | {HOME}
    return [
        f"{page.path.relative_to(ROOT)}: expected a link to it in docs/README.md"
        for page in pages
        if DOCS in page.path.parents and page.path not in listed
    ]


def make_site(out: Path, kgraft: str) -> list[str]:
    """Writes the site; returns what is wrong with it."""
    sources = [Page.read(path) for path in all_pages()]
    home = next(page for page in sources if page.path == HOME)
    problems = link_problems(sources) + unlisted(sources, home)
    sections = navigation(home)
    files = {link.file for page in sources for link in page.links if not link.is_external and link.file.is_file()}
    pages = [*map(render_page, sources), *render_references(kgraft)]
    out.mkdir(parents=True, exist_ok=True)
    for page in pages:
        (out / page.name).write_text(finish(page, sections))
    for source in files:
        name = str(output_name(source))
        if name.startswith("files/"):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, out / name)
    for name in "site.css", "search.js":
        shutil.copyfile(HERE / name, out / name)
    (out / "search-index.js").write_text(search_index(pages))
    return problems + site_problems(out)


def external_links() -> list[str]:
    return sorted({link.target for path in all_pages() for link in Page.read(path).links if link.is_external})


def default_kgraft() -> str:
    return os.environ.get("KGRAFT", str(ROOT / "build/src/kgraft"))
