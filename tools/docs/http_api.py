"""The reference of the HTTP interface, from the OpenAPI description that a server gives of itself."""

from __future__ import annotations

import html
import json
from typing import Any

import markup
from pages import slug

Json = dict[str, Any]


def show_type(schema: Json) -> str:
    """A type in a few words, with links to those that have a name."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return f'<a href="#{name}">{name}</a>'
    for key in ("oneOf", "anyOf", "allOf"):
        if key in schema:
            return " or ".join(show_type(option) for option in schema[key])
    if "enum" in schema:
        return " or ".join(f"<code>{html.escape(json.dumps(value))}</code>" for value in schema["enum"])
    if "const" in schema:
        return f"<code>{html.escape(json.dumps(schema['const']))}</code>"
    kinds = schema.get("type", "any value")
    name = " or ".join(kinds) if isinstance(kinds, list) else kinds
    items = schema.get("prefixItems") or ([schema["items"]] if isinstance(schema.get("items"), dict) else [])
    of = f" of {', '.join(dict.fromkeys(map(show_type, items)))}" if items else ""
    bounds = [
        f"{words} {schema[key]:,}"
        for key, words in {
            "minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "minItems": "at least",
            "maxItems": "at most", "minLength": "length at least", "maxLength": "length at most",
        }.items()
        if key in schema
    ]
    default = [f"default <code>{html.escape(json.dumps(schema['default']))}</code>"] if "default" in schema else []
    return name + of + "".join(f", {word}" for word in bounds + default)


def show_content(content: Json) -> str:
    return "; ".join(f"<code>{kind}</code>: {show_type(media.get('schema', {}))}" for kind, media in content.items())


def show_operation(method: str, path: str, operation: Json) -> str:
    title = f"{method.upper()} {path}"
    out = [f'<h3 id="{slug(title)}"><code>{title}</code></h3>', f"<p>{markup.line(operation['summary'])}</p>"]
    if parameters := operation.get("parameters"):
        rows = [
            [f"<code>{p['name']}</code>", p["in"], show_type(p["schema"]), markup.line(p.get("description", ""))]
            for p in parameters
        ]
        out.append(markup.table(["parameter", "in", "type", ""], rows))
    if body := operation.get("requestBody"):
        out.append(f"<p>Body: {show_content(body['content'])}</p>")
    rows = [
        [status, markup.line(response["description"]), show_content(response.get("content", {}))]
        for status, response in operation["responses"].items()
    ]
    out.append(markup.table(["status", "", "content"], rows))
    return "\n".join(out)


def show_schema(name: str, schema: Json) -> str:
    out = [f'<h3 id="{name}"><code>{name}</code></h3>', f"<p>{markup.line(schema.get('description', ''))}</p>"]
    required = schema.get("required", [])
    if properties := schema.get("properties"):
        rows = [
            [
                f"<code>{key}</code>" + (" (required)" if key in required else ""), show_type(of),
                markup.line(of.get("description", "")),
            ]
            for key, of in properties.items()
        ]
        out.append(markup.table(["member", "type", ""], rows))
    else:
        out.append(f"<p>{show_type(schema)}</p>")
    return "\n".join(out)


def render(openapi: str) -> str:
    document = json.loads(openapi)
    info = document["info"]
    out = ["<h1>The HTTP interface</h1>", f"<p>{markup.line(info['summary'])}. {markup.line(info['description'])}</p>"]
    out.append('<h2 id="operations">Operations</h2>')
    out += [show_operation(m, path, op) for path, item in document["paths"].items() for m, op in item.items()]
    out.append('<h2 id="schemas">Schemas</h2>')
    out += [show_schema(name, schema) for name, schema in document["components"]["schemas"].items()]
    return "\n".join(out)
