"""The reference of the Python package, from its sources: what `__all__` names, with signatures and docstrings.

The sources are read and not imported, so that no library is needed. A string below a field describes that field.
"""

from __future__ import annotations

import ast
import html
from pathlib import Path
from typing import Iterator, Union

import markup

Definition = Union[ast.ClassDef, ast.FunctionDef]


def public_names(package: Path) -> list[str]:
    tree = ast.parse((package / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    raise ValueError(f"expected __all__ in {package}")


def definitions(package: Path) -> dict[str, Definition]:
    trees = (ast.parse(source.read_text()) for source in sorted(package.glob("*.py")))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, kinds)}


def signature(node: ast.FunctionDef, name: str) -> str:
    """One argument a line if it does not fit in one."""
    arguments = node.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{name}({ast.unparse(arguments)}){returns}"
    if len(line) <= 90:
        return line
    # Commas within brackets belong to types.
    parts, depth = [""], 0
    for character in ast.unparse(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    inner = "".join(f"    {part.strip()},\n" for part in parts)
    return f"{name}(\n{inner}){returns}"


def show_function(node: ast.FunctionDef, owner: str = "") -> str:
    name = f"{owner}.{node.name}" if owner else node.name
    is_property = any(ast.unparse(d) == "property" for d in node.decorator_list)
    returns = ast.unparse(node.returns) if node.returns else ""
    shown = f"{name}: {returns}" if is_property else signature(node, name)
    level = "h3" if owner else "h2"
    heading = f'<{level} id="{name}"><code>{name}</code></{level}>'
    return "\n".join([heading, markup.code_block(shown), markup.text(ast.get_docstring(node) or "")])


def fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of each."""
    for statement, following in zip(node.body, [*node.body[1:], None]):
        if isinstance(statement, ast.AnnAssign):
            is_described = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            description = str(following.value.value).strip() if is_described else ""  # type: ignore[union-attr]
            yield ast.unparse(statement.target), ast.unparse(statement.annotation), description


def show_class(node: ast.ClassDef) -> str:
    out = [f'<h2 id="{node.name}"><code>{node.name}</code></h2>', markup.text(ast.get_docstring(node) or "")]
    rows = [
        [f"<code>{name}</code>", f"<code>{html.escape(kind)}</code>", markup.text(description)]
        for name, kind, description in fields(node)
    ]
    if rows:
        out.append(markup.table(["field", "type", ""], rows))
    methods = (m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_"))
    return "\n".join([*out, *(show_function(method, node.name) for method in methods)])


def render(package: Path) -> str:
    known = definitions(package)
    nodes = [known[name] for name in public_names(package)]
    nodes.sort(key=lambda node: (isinstance(node, ast.ClassDef), node.name))  # functions first
    shown = (show_class(n) if isinstance(n, ast.ClassDef) else show_function(n) for n in nodes)
    return "\n".join(["<h1>The Python package</h1>", *shown])
