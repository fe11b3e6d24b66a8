"""Requests made at random from the description of a server, and what its answers have to be.

usage: contract_requests.py PORT description
       contract_requests.py PORT examples
       contract_requests.py PORT described|broken|raw COUNT

`description` looks at openapi.json itself, `examples` sends those that it has. The others send COUNT
requests: as they are described; with something broken; and bytes that are hardly requests. They are
the same in each run. Prints what was answered how often, or fails with the request that was not
answered as described.

It wants hypothesis and jsonschema, and so runs as a program of its own, by the system's Python.
"""

from __future__ import annotations

import collections
import contextlib
import gzip
import http.client
import json
import socket
import sys
import time
import urllib.parse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import jsonschema
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

TIMEOUT = 30
MOMENT = 0.2
ROUND = 500  # requests of one search, whose memory grows with them
END = b"\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
SEEDS = Path(__file__).with_name("http_seeds")

JSON = "application/json"
PROBLEM = "application/problem+json"
STREAM = "text/event-stream"
COMMON_NAMES = ["subject", *(f"thing{i}" for i in range(6)), "kind1", "place2", "http://e.org/a", "animal", "new one", "новый"]
RELATIONS = ["is_a", "lives_in", "eats", "http://e.org/r", "unknown"]
JOBS = {"compact", "backUp"}
RARE = JOBS | {"streamChanges", "explain"}  # that cost more than others

OVERLOADED = {"streamChanges"}  # whose number is limited, and whose end is noticed late
NEVER = {500, 503, 507}
REFUSED_AT_THE_DOOR = {400, 401, 403, 405, 406, 411, 413, 414, 415, 431}
BY_THE_PARSER = {400, 413, 414, 431, 501, 505}
"""With which libmicrohttpd refuses by itself, in HTML."""


# ---------------------------------------------------------------------------------------------
# The description


@dataclass(frozen=True)
class Operation:
    path: str
    method: str
    about: Any

    @property
    def name(self) -> str:
        return str(self.about["operationId"])

    @property
    def parameters(self) -> list[Any]:
        return list(self.about.get("parameters", []))

    @property
    def bodies(self) -> dict[str, Any]:
        """What may be sent, by type."""
        return dict(self.about.get("requestBody", {}).get("content", {}))


class Description:
    def __init__(self, document: Any) -> None:
        self.document = document
        self.operations = [
            Operation(path, method.upper(), about)
            for path, methods in document["paths"].items()
            for method, about in methods.items()
        ]
        self.validators: dict[str, Any] = {}

    def follow(self, schema: Any) -> Any:
        while "$ref" in schema:
            place = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                place = place[part]
            schema = place
        return schema

    def complaint(self, schema: Any, value: Any) -> Optional[str]:
        """Why a value is not as a schema has it, if so."""
        key = json.dumps(schema)
        if key not in self.validators:
            whole = {**schema, "components": self.document["components"]}
            self.validators[key] = jsonschema.Draft202012Validator(whole)
        error = jsonschema.exceptions.best_match(self.validators[key].iter_errors(value))
        return None if error is None else f"{error.json_path}: {error.message[:300]}"


TEXT = {"type": "string", "minLength": 1}
ANY_SCHEMA = {"type": "object"}
MEDIA = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "type": "object",
        "properties": {"schema": ANY_SCHEMA},
        "required": ["schema"],
        "additionalProperties": False,
    },
}
OPERATION = {
    "type": "object",
    "properties": {
        "operationId": {**TEXT, "pattern": "^[a-z][A-Za-z]*$"},
        "summary": TEXT,
        "description": TEXT,
        "tags": {"type": "array", "items": TEXT, "minItems": 1},
        "parameters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": TEXT,
                    "in": {"enum": ["query", "header", "path"]},
                    "required": {"type": "boolean"},
                    "description": TEXT,
                    "schema": ANY_SCHEMA,
                    "example": True,
                },
                "required": ["name", "in", "schema"],
                "if": {"properties": {"in": {"const": "path"}}},
                "then": {"properties": {"required": {"const": True}}, "required": ["required"]},
                "additionalProperties": False,
            },
        },
        "requestBody": {
            "type": "object",
            "properties": {"required": {"type": "boolean"}, "content": MEDIA},
            "required": ["content"],
            "additionalProperties": False,
        },
        "responses": {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {
                "^[1-5][0-9][0-9]$": {
                    "type": "object",
                    "properties": {"description": TEXT, "headers": {"type": "object"}, "content": MEDIA},
                    "required": ["description"],
                    "additionalProperties": False,
                }
            },
            "additionalProperties": False,
        },
        "security": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["operationId", "summary", "responses", "security"],
    "additionalProperties": False,
}
OPENAPI = {
    "type": "object",
    "properties": {
        "openapi": {"type": "string", "pattern": r"^3\.1\.\d+$"},
        "info": {
            "type": "object",
            "properties": {
                "title": TEXT,
                "version": TEXT,
                "summary": TEXT,
                "description": TEXT,
                "contact": {"type": "object"},
                "license": {
                    "type": "object",
                    "properties": {"name": TEXT, "identifier": TEXT},
                    "required": ["name"],
                    "additionalProperties": False,
                },
            },
            "required": ["title", "version"],
            "additionalProperties": False,
        },
        "servers": {"type": "array", "items": {"type": "object", "required": ["url"]}, "minItems": 1},
        "tags": {"type": "array", "items": {"type": "object", "required": ["name"]}},
        "paths": {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {
                "^/": {
                    "type": "object",
                    "propertyNames": {"enum": ["get", "put", "post", "delete", "patch"]},
                    "additionalProperties": OPERATION,
                }
            },
            "additionalProperties": False,
        },
        "components": {
            "type": "object",
            "properties": {"schemas": {"type": "object"}, "securitySchemes": {"type": "object"}},
            "additionalProperties": False,
        },
    },
    "required": ["openapi", "info", "paths", "components"],
    "additionalProperties": False,
}


def values(value: Any) -> Iterator[Any]:
    """A value and all that it has in it."""
    yield value
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from values(one)


def check_description(description: Description) -> None:
    """It has the structure of OpenAPI, all references lead somewhere, schemas are schemas and are used,
    and what a template of a path has in braces is a parameter."""
    document = description.document
    jsonschema.Draft202012Validator(OPENAPI).validate(document)
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    used = {value["$ref"] for value in values(document) if isinstance(value, dict) and "$ref" in value}
    assert used == {f"#/components/schemas/{name}" for name in schemas}, used
    names = [operation.name for operation in description.operations]
    assert len(names) == len(set(names)), names
    tags = {tag["name"] for tag in document.get("tags", [])}
    for operation in description.operations:
        in_path = [row["name"] for row in operation.parameters if row["in"] == "path"]
        assert in_path == [part[1:-1] for part in operation.path.split("/") if part.startswith("{")], operation
        assert set(operation.about.get("tags", [])) <= tags, operation
        for row in operation.parameters:
            jsonschema.Draft202012Validator.check_schema(row["schema"])
            if "example" in row:
                assert description.complaint(row["schema"], row["example"]) is None, row
        for media in operation.bodies.values():
            for example in description.follow(media["schema"])["examples"]:
                assert description.complaint(media["schema"], example) is None, media


# ---------------------------------------------------------------------------------------------
# Requests and answers


@dataclass(frozen=True)
class Request:
    """`operation` is the one that is meant, if any; `length` is what Content-Length says, if it is not
    the length of the body."""

    operation: Optional[Operation]
    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: Optional[bytes] = None
    length: Optional[int] = None

    def __bytes__(self) -> bytes:
        lines = [b"%b %b HTTP/1.1" % (self.method, self.target), b"Host: localhost"]
        lines += [b"%b: %b" % header for header in self.headers]
        if self.body is not None:
            length = len(self.body) if self.length is None else self.length
            lines.append(b"Content-Length: %d" % length)
        return b"\r\n".join(lines) + b"\r\n\r\n" + (self.body or b"")

    @property
    def is_cut(self) -> bool:
        """Whether the server has to wait for more than there is."""
        return self.length is not None and self.length > len(self.body or b"")


@dataclass(frozen=True)
class Answer:
    status: int
    type: str
    body: bytes


class Client:
    """A connection that is kept where it can be, and what was answered over it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.timeout: float = TIMEOUT
        self.socket: Optional[socket.socket] = None
        self.counts: collections.Counter[tuple[str, int]] = collections.Counter()

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def send(self, data: bytes) -> socket.socket:
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=self.timeout)
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was refused before it was read
        return self.socket

    def ask(self, request: Request) -> Optional[Answer]:
        """None where one of both hung up."""
        source = self.send(bytes(request))
        answer = None if request.is_cut else self.receive(source, request.method.decode("latin-1"))
        if request.length is not None:  # what is left would be another request
            self.close()
        return answer

    def receive(self, source: socket.socket, method: str) -> Optional[Answer]:
        response = http.client.HTTPResponse(source, method=method)
        keep = False
        try:
            response.begin()
            kind = (response.getheader("Content-Type") or "").partition(";")[0]
            if kind == STREAM and response.status == 200 and method != "HEAD":
                body = response.readline() + response.readline()
            else:
                body = response.read()
                keep = not response.will_close
            if response.getheader("Content-Encoding") == "gzip" and body:
                body = gzip.decompress(body)
            return Answer(response.status, kind, body)
        except (http.client.HTTPException, ConnectionResetError, BrokenPipeError):
            return None
        except TimeoutError:
            if self.timeout == MOMENT:
                return None
            raise
        finally:
            response.close()
            if not keep:
                self.close()

    def retry(self, request: Request) -> Optional[Answer]:
        """A connection that was kept may have been closed meanwhile."""
        was_kept = self.socket is not None
        answer = self.ask(request)
        return self.ask(request) if answer is None and was_kept and not request.is_cut else answer


def parse(body: bytes) -> Any:
    """JSON as RFC 8259 has it, with no member twice."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(pairs) != len({name for name, _ in pairs}):
            raise ValueError("a member twice")
        return dict(pairs)

    def refuse(word: str) -> Any:
        raise ValueError(word)

    return json.loads(body.decode(), object_pairs_hook=members, parse_constant=refuse)


def check_answer(description: Description, request: Request, answer: Answer) -> None:
    """Its status is one that the operation has, its type and body are those of this status."""
    assert answer.status not in NEVER or (request.operation and request.operation.name in OVERLOADED), answer
    if is_unclear(request) or request.operation is None or answer.status == 405:
        assert answer.status in ((400, 411, 414, 431) if is_unclear(request) else (404, 405, 414, 431)), answer
        content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    else:
        responses = request.operation.about["responses"]
        assert str(answer.status) in responses, f"{answer.status} is not described: {answer}"
        content = responses[str(answer.status)].get("content", {})
    if request.method == b"HEAD" or not content:
        assert answer.body == b"", answer
        return
    assert answer.type in content, answer
    if answer.status >= 400 and answer.type == PROBLEM:
        assert json.loads(answer.body)["status"] == answer.status, answer
    if answer.type.endswith("json"):
        complaint = description.complaint(content[answer.type]["schema"], json.loads(answer.body))
        assert complaint is None, f"{complaint} in {answer.body[:2000]!r}"
    elif answer.type == STREAM:
        assert answer.body.startswith((b"event: ", b"id: ", b": ")), answer


def is_as_described(description: Description, request: Request) -> bool:
    """Whether the JSON that it has is what the operation takes."""
    operation = request.operation
    if operation is None or request.body is None or JSON not in operation.bodies:
        return True
    kinds = [value for name, value in request.headers if name == b"Content-Type"]
    if kinds[:1] != [JSON.encode()]:  # of several the first counts
        return True
    try:
        return description.complaint(operation.bodies[JSON]["schema"], parse(request.body)) is None
    except (ValueError, RecursionError):
        return False


# ---------------------------------------------------------------------------------------------
# Requests as they are described


NAMES = st.sampled_from(COMMON_NAMES) | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\t\n\r"), min_size=1, max_size=12)


class Maker:
    """Strategies by schema. A few members are drawn from what is in the graph, or hardly anything that
    is asked would be answered."""

    def __init__(self, description: Description) -> None:
        self.description = description
        subject = st.tuples(st.just("subject"), st.sampled_from(RELATIONS), NAMES).map(list)
        self.members: dict[str, st.SearchStrategy[Any]] = {
            "relation": st.sampled_from(RELATIONS),
            "k": st.integers(1, 20) | st.integers(1, 1000),
            "add": st.lists(self.fact(), max_size=4),
            "remove": st.lists(self.fact(), max_size=4),
            "facts": st.lists(subject, max_size=4) | st.lists(self.fact(), max_size=3),
            "offset": st.integers(0, 30) | st.integers(0, 2**63 - 1),
            "source": st.sampled_from(["stream", "queue"]),
        }

    @staticmethod
    def fact() -> st.SearchStrategy[list[str]]:
        return st.tuples(NAMES, st.sampled_from(RELATIONS), NAMES).map(list)

    def value(self, schema: Any) -> st.SearchStrategy[Any]:
        if schema.get("$ref", "").endswith("/Name"):
            return NAMES
        schema = self.description.follow(schema)
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        if schema.get("type") == "object" or "properties" in schema:
            return self.object(schema)
        if "anyOf" in schema:
            return st.one_of([self.value(one) for one in schema["anyOf"]])
        made: Callable[[Any], st.SearchStrategy[Any]] = {
            "integer": lambda s: st.integers(s.get("minimum", -(2**40)), s.get("maximum", 2**40)),
            "number": lambda s: st.floats(s.get("minimum", -1e9), s.get("maximum", 1e9), allow_nan=False),
            "boolean": lambda s: st.booleans(),
            "string": lambda s: NAMES,
            "array": lambda s: st.lists(self.value(s["items"]), min_size=s.get("minItems", 0), max_size=max(4, s.get("minItems", 0))),
        }[schema["type"]]
        return made(schema)

    def object(self, schema: Any) -> st.SearchStrategy[Any]:
        """With one of the sets of members that it has to have, and any of the others."""
        rows = {
            name: self.members[name] if name in self.members else self.value(one)
            for name, one in schema.get("properties", {}).items()
        }
        if not rows:
            return st.just({})
        choices = [set(schema.get("required", [])) | set(one["required"]) for one in schema.get("anyOf", [{"required": []}])]
        if schema.get("minProperties") and choices == [set()]:
            choices = [{name} for name in rows]

        def members(required: set[str]) -> st.SearchStrategy[Any]:
            optional = {name: row for name, row in rows.items() if name not in required}
            return st.fixed_dictionaries({name: rows[name] for name in sorted(required)}, optional=optional)

        return st.sampled_from(choices).flatmap(members)

    def text(self, kind: str) -> st.SearchStrategy[bytes]:
        """A body of a format that is not ours."""
        facts = st.lists(self.fact(), max_size=4)
        iris = st.sampled_from(["http://e.org/a", "http://e.org/b", "http://e.org/r", "urn:x"])
        triples = st.lists(st.tuples(iris, iris, iris).map(lambda row: "<%s> <%s> <%s> ." % row), max_size=4)
        strategies = {
            "text/tab-separated-values": facts.map(lambda rows: "".join("\t".join(row) + "\n" for row in rows)),
            "application/x-ndjson": st.lists(st.tuples(st.sampled_from(["add", "remove"]), self.fact())).map(
                lambda rows: "".join(json.dumps({name: row}) + "\n" for name, row in rows)
            ),
            "application/n-triples": triples.map("\n".join),
            "application/rdf-patch": triples.map(lambda rows: "TX .\n" + "".join(f"A {row}\n" for row in rows) + "TC .\n"),
        }
        return strategies[kind].map(str.encode)

    def parameter(self, row: Any) -> st.SearchStrategy[str]:
        if row["in"] == "header" and row["schema"]["type"] == "string":
            tags = st.sampled_from(["*", '"1"', 'W/"a", "b"', ' ,"",'])
            return tags if row["name"] != "Idempotency-Key" else st.uuids(version=4).map(str) | st.sampled_from(["12", "key", '"1"'])
        if row["name"] == "id":
            return st.integers(0, 5).map(str)
        if row["schema"].get("maximum", 0) > 2**30:
            return (st.integers(0, 30) | st.integers(0, row["schema"]["maximum"])).map(str)
        return self.value(row["schema"]).map(str)

    def body(self, operation: Operation) -> st.SearchStrategy[tuple[Optional[str], Optional[bytes]]]:
        if not operation.bodies:
            return st.just((None, None))

        def of_type(kind: str) -> st.SearchStrategy[tuple[Optional[str], Optional[bytes]]]:
            if kind != JSON:
                return self.text(kind).map(lambda body: (kind, body))
            schema = operation.bodies[kind]["schema"]
            return self.value(schema).map(lambda value: (kind, json.dumps(value).encode()))

        return st.sampled_from(sorted(operation.bodies)).flatmap(of_type)

    def parameters(self, operation: Operation) -> st.SearchStrategy[dict[str, str]]:
        rows = {row["name"]: self.parameter(row) for row in operation.parameters}
        required = {row["name"] for row in operation.parameters if row.get("required")}
        return st.fixed_dictionaries(
            {name: row for name, row in rows.items() if name in required},
            optional={name: row for name, row in rows.items() if name not in required},
        )

    def request(self, operation: Operation) -> st.SearchStrategy[Request]:
        def put(parameters: dict[str, str], body: tuple[Optional[str], Optional[bytes]], is_head: bool) -> Request:
            method = "HEAD" if is_head and operation.method == "GET" else operation.method
            return make_request(operation, parameters, *body, method=method)

        return st.builds(put, self.parameters(operation), self.body(operation), st.integers(0, 9).map(lambda i: i == 0))

    def requests(self) -> st.SearchStrategy[Request]:
        operations = [operation for operation in self.description.operations for _ in range(1 if operation.name in RARE else 6)]
        return st.sampled_from(operations).flatmap(self.request)


def make_request(operation: Operation, parameters: dict[str, str], kind: Optional[str], body: Optional[bytes], method: str) -> Request:
    places = {row["name"]: row["in"] for row in operation.parameters}
    path = operation.path
    for name, value in parameters.items():
        if places[name] == "path":
            path = path.replace("{%s}" % name, urllib.parse.quote(value, safe=""))
    query = urllib.parse.urlencode({name: value for name, value in parameters.items() if places[name] == "query"})
    headers = [(name.encode(), value.encode()) for name, value in parameters.items() if places[name] == "header"]
    if kind is not None:
        headers.append((b"Content-Type", kind.encode()))
    target = path + ("?" + query if query else "")
    return Request(operation, method.encode(), target.encode(), tuple(headers), body)


# ---------------------------------------------------------------------------------------------
# Requests that are not


ODD_VALUES: list[Any] = [
    None, True, -1, 0, 1.5, 2**53, 2**63, 2**70, -(2**63) - 1, 10**400, 1e308, "", "\0", "\t", "a\nb", "x" * 4097, "\ud800",
    [], {}, [[]], [{}], [1, 2, 3], ["a", "b"], ["a", "b", "c", "d"], {"entity": {}}, "thing1", [["a", "is_a", 3]],
]
ODD_BODIES = [
    b"", b" ", b"null", b"true", b"3", b'""', b"{", b"[", b'{"', b'{"entity":', b"{}{}", b"\xef\xbb\xbf{}", b"NaN", b"{'a': 1}",
    b'{"entity": "\\ud800"}', b'{"entity": "\\u0000"}', b'{"entity": "\xc3\x28"}', b'{"k": 1e999}', b'{"k": 1' + b"0" * 400 + b"}",
    b"[" * 40 + b"]" * 40, b"[" * 100000, b'{"a":' * 50000, b'{"requests": [' + b"{}," * 300 + b"{}]}", b"\0" * 10, b"\xff\xfe{\0}\0",
    b'{"entity": "thing1", "entity": "thing2"}', b'"' + b"x" * 70000 + b'"', b"\x1f\x8b\x08\0\0\0\0\0\0\3",
    b"a\tb\n", b"a\tb\tc\td\n", b"\t\t\n", b'{"add": 3}\n{', b"<a> <b> .\n", b"TX .\nA <a> .\n", b"TA .\n", b"H x y .\n",
]
ODD_TYPES = ["", "text/plain", "application/xml", "application/json/", "json", "application/jsonx", "application/json; charset=utf-16", "*/*", "multipart/form-data; boundary=x", "x" * 3000]
ODD_TARGETS = [
    "/", "//", "/v1", "/v1/", "/v2/model", "/v1/model/", "/v1/entities/%", "/v1/entities/%zz", "/v1/entities/%00", "/v1/model%00", "/v1/model\0", "/v1/entities/a\0?b", "/v1/entities/%ff%fe", "/v1/entities/a%2Fb",
    "/v1/entities/" + "a" * 5000, "/v1/entities?prefix=%", "/v1/entities?prefix=%f", "/v1/entities?=&&=&=", "/v1/entities?limit", "/v1/entities?limit=+1", "/v1/entities?limit=0x1",
    "/v1/entities?limit=1&limit=1", "/v1/entities?prefix=a&prefix=b", "/v1/entities?limit=99999999999999999999", "/v1/jobs/0", "/v1/jobs/-1", "/v1/jobs/1e3", "/v1/jobs/18446744073709551617",
    "/web/../../etc/passwd", "/web/%2e%2e/x", "/web/", "/V1/model", "/v1/model#x", "/v1/model?" + "a=b&" * 900, "*", "http://localhost/v1/model", "/v1/changes?since=-1",
    "/v1/changes?since=9223372036854775807", "/v1/facts?source=s", "/v1/facts?offset=3", "/\x01\x02", "/v1/entities/\xe9", "/v1/ent\x7fities",
]
ODD_METHODS = ["BREW", "get", "TRACE", "OPTIONS", "CONNECT", "HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "G" * 300]
ODD_HEADERS = [
    ("Accept", "text/html"), ("Accept", "application/json;q=0"), ("Accept", "*/*;q=0.1, text/*"), ("Accept", ",,;;="), ("Accept", "application/"),
    ("Accept-Encoding", "gzip"), ("Accept-Encoding", "gzip;q=x, *;q=0"), ("Content-Encoding", "gzip"), ("Content-Encoding", "identity"), ("Content-Type", "text/plain"),
    ("Content-Type", JSON), ("Authorization", "Bearer x"), ("Authorization", "Basic Og=="), ("Authorization", ""), ("If-Match", ""), ("If-Match", '"' * 50), ("If-Match", "12"), ("If-Match", "*x"), ("If-None-Match", '"a", *'), ("If-None-Match", "W/"),
    ("If-None-Match", "*"), ("Idempotency-Key", ""), ("Idempotency-Key", "k" * 4097), ("Idempotency-Key", "key"), ("Last-Event-ID", "x"), ("Last-Event-ID", "-1"), ("Last-Event-ID", "99999999999999999999"),
    ("Expect", "100-continue"), ("Expect", "x"), ("Connection", "close"), ("Connection", "Upgrade"), ("Origin", "http://evil"), ("Cookie", "a=b; " * 200), ("X-" + "y" * 200, "z"), ("Range", "bytes=0-1"),
    ("Upgrade", "h2c"), ("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "gzip"), ("Idempotency-Key", "\xff\xfe"), ("Accept", "\x01"),
]


class Breaker:
    """Changes of a good request, by which it mostly is one no more."""

    @staticmethod
    def value(request: Request, value: Any, at: int) -> Request:
        """Another value at some place of the JSON, or a member more or less."""
        if request.body is None or dict(request.headers).get(b"Content-Type") != JSON.encode():
            return request
        try:
            body = json.loads(request.body)
        except (ValueError, RecursionError):  # broken by another change
            return request
        places = [one for one in values(body) if isinstance(one, (dict, list))] or [[body]]
        place = places[at % len(places)]
        if isinstance(place, list):
            index = at // 7 % (len(place) + 1)
            place[index : index + at // 3 % 2] = [value]
        elif at % 3 == 0 or not place:
            place["entitty" if at % 2 else "k"] = value
        else:
            name = sorted(place)[at // 3 % len(place)]
            place[name] = value
            if at % 5 == 0:
                del place[name]
        return replace(request, body=json.dumps(body).encode())

    @staticmethod
    def byte(request: Request, at: int, byte: int) -> Request:
        body = request.body or b""
        at %= len(body) + 1
        return replace(request, body=body[:at] + bytes([byte]) + body[at + byte % 2 :]) if request.body is not None else request

    @staticmethod
    def body(request: Request, body: bytes) -> Request:
        return replace(request, body=body)

    @staticmethod
    def length(request: Request, off: int) -> Request:
        """A body that ends early: the server hears no more of it."""
        return replace(request, body=request.body or b"", length=len(request.body or b"") + off)

    @staticmethod
    def kind(request: Request, kind: str) -> Request:
        others = tuple(header for header in request.headers if header[0] != b"Content-Type")
        return replace(request, headers=(*others, (b"Content-Type", kind.encode())))

    @staticmethod
    def header(request: Request, header: tuple[str, str], times: int) -> Request:
        one = (header[0].encode("latin-1"), header[1].encode("latin-1"))
        return replace(request, headers=request.headers + (one,) * times)

    @staticmethod
    def headerless(request: Request) -> Request:
        return replace(request, headers=())

    @staticmethod
    def target(request: Request, target: str) -> Request:
        return replace(request, target=target.encode("latin-1"))

    @staticmethod
    def query(request: Request, text: str) -> Request:
        mark = b"&" if b"?" in request.target else b"?"
        return replace(request, target=request.target + mark + text.encode())

    @staticmethod
    def method(request: Request, method: str) -> Request:
        return replace(request, method=method.encode())

    @classmethod
    def changes(cls) -> st.SearchStrategy[Callable[[Request], Request]]:
        places = st.integers(0, 1000)
        queries = st.sampled_from(["limit=0", "limit=-1", "limit=1e3", "prefix=%00", "x=y", "%", "a=%f", "offset=99999999999999999999", "limit=%31", "&&&", "source=", "offset=-0", "since="])
        made: list[tuple[Any, ...]] = [
            (cls.value, st.sampled_from(ODD_VALUES), places),
            (cls.value, st.sampled_from(ODD_VALUES), places),
            (cls.byte, places, st.sampled_from([0, 9, 10, 13, 34, 44, 58, 91, 92, 93, 123, 125, 0xC0, 0xFF, 48, 45])),
            (cls.body, st.sampled_from(ODD_BODIES)),
            (cls.length, st.integers(1, 100)),
            (cls.kind, st.sampled_from(ODD_TYPES)),
            (cls.header, st.sampled_from(ODD_HEADERS), st.integers(1, 2)),
            (cls.headerless,),
            (cls.target, st.sampled_from(ODD_TARGETS)),
            (cls.query, queries),
            (cls.method, st.sampled_from(ODD_METHODS)),
        ]

        def bound(change: Any, *arguments: Any) -> Callable[[Request], Request]:
            return lambda request: change(request, *arguments)

        return st.one_of([st.builds(bound, st.just(change), *arguments) for change, *arguments in made])


def addressed(description: Description, request: Request) -> Request:
    """The request with the operation that its method and target are of, whatever it was made from."""
    path = request.target.split(b"?")[0]
    method = b"GET" if request.method == b"HEAD" else request.method
    for operation in description.operations:
        before, brace, _ = operation.path.encode().partition(b"{")
        fits = path.startswith(before) and len(path) > len(before) and b"/" not in path[len(before) :] if brace else path == before
        if fits and operation.method.encode() == method:
            return replace(request, operation=operation)
    return replace(request, operation=None)


ONCE = {b"Authorization", b"Content-Encoding", b"Content-Type", b"Idempotency-Key", b"If-Match", b"If-None-Match", b"Last-Event-ID", b"Origin"}


def is_unclear(request: Request) -> bool:
    """Whether it is refused, as what has no length, is cut by a NUL or has a header twice, whatever it is about."""
    names = [name for name, _ in request.headers]
    return any(names.count(name) > 1 for name in ONCE) or b"Transfer-Encoding" in names or b"%00" in request.target or b"\0" in request.target


def is_undescribed(request: Request) -> bool:
    """The page, which is no part of the API, and OPTIONS."""
    return request.method == b"OPTIONS" or request.target.split(b"?")[0] == b"/" or request.target.startswith(b"/web/")


def is_for_the_parser(request: Request) -> bool:
    """Whether libmicrohttpd may refuse it before we see it."""
    names = [name for name, _ in request.headers]
    return (
        any(byte <= 32 or byte >= 127 for byte in request.target + request.method)
        or any(byte < 32 for _, value in request.headers for byte in value)
        or b"Expect" in names
        or len(bytes(request)) - len(request.body or b"") > 8000
    )


# ---------------------------------------------------------------------------------------------
# Runs


def search(count: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    """Checks so many values, in rounds with a seed each."""
    for number, start in enumerate(range(0, count, ROUND)):
        decorate = settings(
            max_examples=min(ROUND, count - start),
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )
        seed(number)(decorate(given(strategy)(check)))()


def check_alive(client: Client) -> None:
    alive = client.retry(Request(None, b"GET", b"/livez"))
    assert alive is not None and alive.status == 200, alive


@contextlib.contextmanager
def blaming(request: Request | bytes) -> Iterator[None]:
    """Failures name the bytes that were sent."""
    try:
        yield
    except (AssertionError, TimeoutError) as error:
        raise AssertionError(f"{bytes(request)[:2000]!r}\n{error}") from None


def run_described(description: Description, client: Client, count: int) -> None:
    """Good requests are not refused for their form, whatever becomes of what they say."""

    def check(request: Request) -> None:
        assert request.operation is not None
        with blaming(request):
            answer = client.retry(request)
            assert answer is not None, "it hung up"
            check_answer(description, request, answer)
            is_odd_key = b"Idempotency-Key" in dict(request.headers) and answer.status == 400  # beside a source
            assert answer.status not in REFUSED_AT_THE_DOOR or is_odd_key, answer
            assert is_as_described(description, request)
        client.counts[request.operation.name, answer.status] += 1

    search(count, Maker(description).requests(), check)


def is_taken(answer: Answer) -> bool:
    """Whether it counts as success, and no question of a batch has a problem of its own."""
    return answer.status < 300 and b'"problem":' not in answer.body


def check_refusal(description: Description, client: Client, request: Request, answer: Optional[Answer]) -> None:
    """A broken request is refused as described, or it was not broken after all."""
    if answer is None or (answer.type == "text/html" and answer.status in BY_THE_PARSER):
        is_reset = answer is None and is_unclear(request)  # since its body was not read
        assert request.is_cut or is_for_the_parser(request) or is_reset, f"not answered by us: {answer}"
        check_alive(client)
    elif is_undescribed(request):
        assert answer.status in (200, 204, 304, 400, 404, 405, 411, 413, 414, 431), answer
    else:
        check_answer(description, request, answer)
        assert not is_taken(answer) or is_as_described(description, request), f"accepted: {answer}"


def run_broken(description: Description, client: Client, count: int) -> None:
    def check(made: tuple[Request, list[Callable[[Request], Request]]]) -> None:
        request, changes = made
        for change in changes:
            request = change(request)
        request = addressed(description, request)
        with blaming(request):
            answer = client.retry(request)
            check_refusal(description, client, request, answer)
        client.counts[request.operation.name if request.operation else "", 0 if answer is None else answer.status] += 1

    search(count, st.tuples(Maker(description).requests(), st.lists(Breaker.changes(), min_size=1, max_size=3)), check)


def splice(seeds: list[bytes]) -> st.SearchStrategy[bytes]:
    """Bytes of a seed with a few edits: cut, doubled, replaced, and pieces of other seeds put in."""
    pieces = st.binary(max_size=8) | st.sampled_from([b"\r\n", b"\n", b"\r\n\r\n", b" ", b"\0", b"%", b"%00", b"HTTP/1.0", b"HTTP/9.9", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"ffffffffffffffff\r\n", b"0\r\n\r\n", b": ", b"A" * 40000, b"?", b"&", b"/"]) | st.sampled_from(seeds)

    def edit(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
        for at, length, piece in edits:
            start = at % (len(data) + 1)
            data = data[:start] + piece + data[start + length :]
        return data[:200000]

    return st.builds(edit, st.sampled_from(seeds), st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 12), pieces), min_size=1, max_size=4))


def run_raw(description: Description, client: Client, count: int) -> None:
    """Whatever comes, the answer is a response of HTTP with a status that is not ours to be ashamed of, or
    none; and the server goes on. It would wait for what may still come, so behind all is a request that
    is whole, and what comes of both is looked at for a moment only."""
    client.timeout = MOMENT

    def check(data: bytes) -> None:
        client.close()
        with blaming(data):
            answer = client.receive(client.send(data + END), "HEAD" if data.startswith(b"HEAD") else "GET")
            client.counts["", 0 if answer is None else answer.status] += 1
            assert answer is None or answer.status not in NEVER, answer
            if answer is not None and answer.type == PROBLEM and answer.body:
                complaint = description.complaint({"$ref": "#/components/schemas/Problem"}, json.loads(answer.body))
                assert complaint is None, complaint
        client.close()

    seeds = [path.read_bytes() for path in sorted(SEEDS.iterdir())]
    for one in seeds:
        check(one)
    search(count, splice(seeds), check)


def bodies(description: Description, operation: Operation) -> Iterator[tuple[Optional[str], Optional[bytes]]]:
    """The examples of bodies, with their types. Those of RDF name a relation of no graph in particular: here, one of this."""
    if not operation.bodies:
        yield None, None
    for kind, media in operation.bodies.items():
        for example in description.follow(media["schema"])["examples"]:
            text = json.dumps(example) if kind == JSON else example.replace("<http://example.org/is_a>", "<http://e.org/r>")
            yield kind, text.encode()


def run_examples(description: Description, client: Client) -> None:
    """Each is answered with success."""
    for operation in description.operations:
        parameters = {row["name"]: str(row["example"]) for row in operation.parameters if "example" in row}
        for kind, body in bodies(description, operation):
            request = make_request(operation, parameters, kind, body, operation.method)
            answer = client.retry(request)
            while answer is not None and answer.status == 409 and b"under way" in answer.body:  # the job before it
                time.sleep(0.1)
                answer = client.retry(request)
            assert answer is not None, request
            check_answer(description, request, answer)
            client.counts[operation.name, answer.status] += 1
            assert answer.status < 300, f"{request} {answer}"


def main() -> None:
    port, what, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0
    client = Client(port)
    document = client.ask(Request(None, b"GET", b"/openapi.json"))
    assert document is not None
    description = Description(json.loads(document.body))
    if what == "description":
        check_description(description)
    elif what == "examples":
        run_examples(description, client)
    else:
        {"described": run_described, "broken": run_broken, "raw": run_raw}[what](description, client, count)
    client.timeout = TIMEOUT
    check_alive(client)
    client.close()
    for (name, status), times in sorted(client.counts.items()):
        print(f"{times:8} {status or 'none'} {name}")


if __name__ == "__main__":
    main()
