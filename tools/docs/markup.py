"""What the references have in common: text, code and tables as HTML."""

from __future__ import annotations

import html

from pages import parser


def text(markdown: str) -> str:
    """Paragraphs and blocks of a description."""
    return str(parser().render(markdown.replace("<", "&lt;")))


def line(markdown: str) -> str:
    """The same of one without paragraphs."""
    return str(parser().renderInline(markdown))


def code_block(code: str) -> str:
    return f'<pre tabindex="0"><code>{html.escape(code, quote=False)}</code></pre>'


def table(heads: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{cell}</th>" for cell in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
