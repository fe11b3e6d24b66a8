"""The reference of the C interface, from include/kgraft.h: each declaration with the comment above it.

The header is cut where an empty line stands outside of braces and comments. A piece is a comment, declarations or both; what
it declares gives it anchors. `/* ---- Title ---- */` begins a section.
"""

from __future__ import annotations

import html
import re
from typing import Iterator

from pages import slug

SECTION = re.compile(r"\A/\* ---- (.*) ---- \*/\Z")
COMMENT = re.compile(r"\A/\*(.*?)\*/\n?", re.DOTALL)
DECLARED = re.compile(
    r"^(?:KG_API[^;{]*?|static inline [^;{]*?)\b(kg_\w+)\(|^typedef (?:struct|enum) (kg_\w+)"
    r"|^typedef [^;{]*?\b(kg_\w+)[;(]"
    r"|^typedef [^;{]*?\(\*(kg_\w+)\)|^#define (KG_\w+)",
    re.MULTILINE,
)
GUARDS = re.compile(
    r"^#ifdef __cplusplus\n.*?^#endif\n|^#(?:ifndef|endif|include|define KGRAFT_H|define KG_API|define KG_MUST_CHECK)[^\n]*\n",
    re.MULTILINE | re.DOTALL,
)


def pieces(text: str) -> Iterator[str]:
    lines: list[str] = []
    depth, in_comment = 0, False
    for line in [*text.splitlines(), ""]:
        if not line and depth == 0 and not in_comment:
            if lines:
                yield "\n".join(lines)
            lines = []
            continue
        lines.append(line)
        code = re.sub(r"/\*.*?\*/", "", line)
        in_comment = "*/" not in line if in_comment else "/*" in code
        depth += 0 if in_comment else code.count("{") - code.count("}")


def declared(code: str) -> list[str]:
    names = ("".join(match.groups(default="")) for match in DECLARED.finditer(code))
    return list(dict.fromkeys(names))


def link_names(text: str, known: set[str]) -> str:
    """Escaped text in which names are links to where they are declared."""
    return re.sub(
        r"\b(?:kg|KG)_\w+",
        lambda match: f'<a href="#{match[0]}">{match[0]}</a>' if match[0] in known else match[0],
        html.escape(text, quote=False),
    )


def show_comment(comment: str, known: set[str]) -> str:
    lines = [re.sub(r"^ ?\*? ?", "", line, count=1) for line in comment.strip("\n").splitlines()]
    parts = re.split(r"\n\s*\n", "\n".join(lines).strip())
    shown = []
    for part in parts:
        text = re.sub(r"`(\w+)`", r"<code>\1</code>", link_names(part, known))
        if part.startswith("    "):
            shown.append(f'<pre tabindex="0">{text}</pre>')
        else:
            shown.append(f"<p>{text}</p>")
    return "\n".join(shown)


def show_code(code: str, known: set[str]) -> str:
    plain = re.sub(r"\b(KG_API|KG_MUST_CHECK) ", "", code)
    return f'<pre tabindex="0"><code>{link_names(plain, known)}</code></pre>'


def show_piece(piece: str, known: set[str]) -> str:
    if match := SECTION.match(piece):
        return f'<h2 id="{slug(match[1])}">{html.escape(match[1])}</h2>'
    match = COMMENT.match(piece)
    comment = show_comment(match[1], known) if match else ""
    code = piece[match.end():] if match else piece
    names = declared(code)
    if not names:
        return comment
    first, *others = names
    anchors = "".join(f'<span id="{name}"></span>' for name in others)
    title = ", ".join(name for name in names if not name.endswith("_INIT"))
    return f'<h3 id="{first}"><code>{title}</code></h3>{anchors}\n{show_code(code, known)}\n{comment}'


def render(header: str) -> str:
    parts = list(pieces(GUARDS.sub("", header)))
    known = {name for part in parts for name in declared(part)}
    return "\n".join(["<h1>The C interface</h1>", *(show_piece(part, known) for part in parts)])
