"""A graph behind `kgraft serve`, asked as a local one is, and with the same answers.

Nothing here needs the C library: JSON over HTTP, by Python's own modules.
"""

from __future__ import annotations

import ctypes
import gzip
import http.client
import io
import json
import os
import socket
import ssl
import time
import uuid
from collections import deque
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Optional, Union
from urllib.parse import quote, urlencode, urlsplit

from ._model import (
    Answer,
    Commit,
    Contribution,
    Error,
    Explanation,
    Fact,
    Neighbor,
    Reason,
    Share,
    _check_count,
    _check_fact,
    _check_side,
    _cut,
    _Shown,
    _view,
)

if TYPE_CHECKING:
    from ._model import Vectors

Triples = Iterable["tuple[str, str, str]"]
Facts = Union[str, "os.PathLike[str]", Triples]

_SILENCE = 60.0  # seconds after which a stream counts as broken; the server says something every 15
_PAUSE = 1.0  # seconds before a broken stream is opened again


class ServerError(Error):
    """What a server refused, or that it cannot be reached. `status` is that of HTTP, or 0 where there was no answer;
    `similar` has names that may have been meant."""

    def __init__(self, problem: Mapping[str, Any], status: int) -> None:
        text = problem.get("detail") or problem.get("title") or f"status {status}"
        place = problem.get("source", ""), problem.get("line", 0), problem.get("column", 0)
        super().__init__(text, *place)
        self.status = status
        self.similar: tuple[str, ...] = tuple(problem.get("similar", ()))


@dataclass(frozen=True, repr=False)
class Missing(_Shown):
    """A relation that similar entities have, and this one does not."""

    relation: str
    side: str
    """The end at which the answer would stand: "head" or "tail"."""
    share: float
    """Of the similar entities: those that have it."""
    similar: int
    """Entities that were looked at."""
    examples: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Change(_Shown):
    """A fact that was added or withdrawn."""

    number: int
    """Of the entry in the log."""
    time: datetime
    operation: str
    """ "add" or "remove"."""
    fact: Fact
    source: Optional[str]
    offset: Optional[int]


# ---------------------------------------------------------------------------------------------
# HTTP


class _Transport:
    """Requests to one server, by connections that stay open; `idle` are those that no thread uses just now, `streams`
    those that changes come by."""

    def __init__(
        self, url: str, token: Optional[str], timeout: float, context: Optional[ssl.SSLContext]
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"expected a URL such as http://127.0.0.1:8080, found {url!r}")
        self.parts = parts
        self.timeout = timeout
        self.context = context
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.idle: deque[http.client.HTTPConnection] = deque()
        self.streams: set[socket.socket] = set()
        self.is_closed = False

    def open(self, timeout: float) -> http.client.HTTPConnection:
        if self.is_closed:
            raise ValueError("the client is closed")
        host, port = self.parts.hostname or "", self.parts.port
        if self.parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=self.context)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def ask(
        self, method: str, path: str, body: Optional[object] = None, key: Optional[str] = None
    ) -> Any:
        """A server closes connections that were idle for long: then it is asked once more, by a new one. A change has
        a `key`, by which the server knows it again."""
        try:
            return self._ask(method, path, body, key)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            text = f"{self.parts.geturl()}: no answer from a server: {reason}"
            raise ServerError({"detail": text}, 0) from error

    def _ask(self, method: str, path: str, body: Optional[object], key: Optional[str]) -> Any:
        try:
            reused = self.idle.pop()
        except IndexError:
            return self._ask_by(self.open(self.timeout), method, path, body, key)
        try:
            return self._ask_by(reused, method, path, body, key)
        except (http.client.RemoteDisconnected, ConnectionError):
            return self._ask_by(self.open(self.timeout), method, path, body, key)

    def _ask_by(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Optional[object],
        key: Optional[str],
    ) -> Any:
        """It stays open where its answer was read to the end."""
        try:
            response = self.send(connection, method, path, body, key=key)
            data = response.read()
        except BaseException:
            connection.close()
            raise
        self.idle.append(connection)
        if self.is_closed:
            self.close()
        return _read_json(response.status, data)

    def send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Optional[object] = None,
        accept: str = "application/json",
        key: Optional[str] = None,
    ) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": accept, **self.headers}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        connection.request(method, self.parts.path.rstrip("/") + path, data, headers)
        return connection.getresponse()

    def stream(self, path: str) -> Iterator[tuple[str, Any]]:
        """Server-sent events, as they come; until the connection breaks, or the client is closed."""
        connection = self.open(_SILENCE)
        with closing(connection):
            connection.connect()
            sock = connection.sock
            self.streams.add(sock)
            try:
                response = self.send(connection, "GET", path, accept="text/event-stream")
                if response.status != 200:
                    _read_json(response.status, response.read())
                yield from _read_events(response)
            finally:
                self.streams.discard(sock)

    def close(self) -> None:
        """Who waits for an event hears its connection end."""
        self.is_closed = True
        while self.idle:
            self.idle.pop().close()
        for sock in tuple(self.streams):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def _read_json(status: int, data: bytes) -> Any:
    if status < 400:
        return json.loads(data)
    try:
        problem = json.loads(data)
    except ValueError:
        problem = {}
    raise ServerError(problem if isinstance(problem, dict) else {}, status)


def _read_events(response: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    """Server-sent events: their types, and what they say."""
    kind, data = "message", []
    for line in iter(response.readline, b""):
        name, _, value = line.decode().rstrip("\r\n").partition(":")
        if name == "event":
            kind = value.removeprefix(" ")
        elif name == "data":
            data.append(value.removeprefix(" "))
        elif line in (b"\n", b"\r\n"):
            if data:
                yield kind, json.loads("\n".join(data))
            kind, data = "message", []


# ---------------------------------------------------------------------------------------------
# Answers


def _fact(value: Mapping[str, str]) -> Fact:
    return Fact(value["head"], value["relation"], value["tail"])


def _answer(value: Mapping[str, Any]) -> Answer:
    return Answer(
        value["relation"], value["side"], value["entity"], value["score"], value["probability"]
    )


def _share(value: Mapping[str, Any]) -> Share:
    return Share(
        _fact(value),
        value["weight"],
        value["part"],
        value["embedding"],
        value["echo"],
        value["rank_without"],
        value.get("propagation", 0.0),
    )


def _contribution(value: Mapping[str, Any]) -> Contribution:
    reasons = (
        Reason(tuple(map(_fact, reason["path"])), _fact(reason["fact"]), reason["share"])
        for reason in value["reasons"]
    )
    return Contribution(
        value["term"], value["part"], value["rest"], value["reason_count"], tuple(reasons)
    )


def _explanation(value: Mapping[str, Any]) -> Explanation:
    return Explanation(
        value["score"],
        value["rank"],
        value["probability"],
        tuple(map(_share, value["shares"])),
        tuple(map(_contribution, value["terms"])),
        sum(term.get("untested_facts", 0) for term in value["terms"]),
        sum(term.get("unexpanded", 0) for term in value["terms"]),
    )


def _commit(value: Mapping[str, Any]) -> Commit:
    return Commit(
        value["added"],
        value["removed"],
        value["repeated"],
        value["missing"],
        value["unknown"],
        value["entities_added"],
        value["entities_removed"],
        value["skipped"],
        value["log"],
    )


def _change(value: Mapping[str, Any]) -> Change:
    return Change(
        value["number"],
        datetime.fromtimestamp(value["time"] / 1000, timezone.utc),
        "add" if value["operation"] == "A" else "remove",
        Fact(*value["fact"]),
        value.get("source"),
        value.get("offset"),
    )


def _check_facts(facts: Triples) -> list[tuple[str, str, str]]:
    return [_check_fact(place, fact) for place, fact in enumerate(facts)]


def _read_tsv(path: Union[str, os.PathLike[str]]) -> list[tuple[str, str, str]]:
    """Lines of head, relation and tail with tabs between them, gzipped or not."""
    name = os.fspath(path)
    if name.removesuffix(".gz").endswith((".nt", ".ttl", ".nq", ".trig")):
        raise Error("expected a TSV file, found RDF, which only a local model reads", name)
    try:
        with open(name, "rb") as file:
            data = file.read()
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Error(f"{name}: {getattr(error, 'strerror', None) or error}", name) from error
    facts = []
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        names = line.removesuffix("\n").removesuffix("\r").split("\t")
        if len(names) != 3 or not all(names):
            found = f"expected head, relation and tail with tabs between them, found {_cut(line)}"
            raise Error(f"{name}:{number}: {found}", name, number)
        facts.append((names[0], names[1], names[2]))
    if not facts:
        raise Error(f"{name}: expected facts, found none", name)
    return facts


def _read_facts(facts: Facts) -> list[tuple[str, str, str]]:
    if isinstance(facts, (str, os.PathLike)):
        return _read_tsv(facts)
    if not isinstance(facts, Iterable) or isinstance(facts, bytes):
        raise TypeError(
            "expected facts as the path of a TSV file or as (head, relation, tail) "
            f"for each, found {_cut(facts)}"
        )
    return _check_facts(facts)


def _cut_batches(
    questions: list[dict[str, Any]], limits: Mapping[str, int]
) -> Iterator[list[dict[str, Any]]]:
    """As many to a request as the server takes."""
    batch: list[dict[str, Any]] = []
    answers = size = 0
    for question in questions:
        more, length = question.get("k", 0), len(json.dumps(question)) + 2
        is_full = (
            len(batch) == limits["batch"]
            or answers + more > limits["answers"]
            or size + length > limits["body_bytes"] - 100
        )
        if batch and is_full:
            yield batch
            batch, answers, size = [], 0, 0
        batch.append(question)
        answers, size = answers + more, size + length
    yield batch


def _entity_path(name: str) -> str:
    return f"/v1/entities/{quote(name, safe='')}"


# ---------------------------------------------------------------------------------------------
# The graph


class Entities:
    """The entities of a served graph, by their names. A server does not give them by number."""

    def __init__(self, transport: _Transport) -> None:
        self._transport = transport

    def __len__(self) -> int:
        return int(self._transport.ask("GET", "/v1/model")["entities"])

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self._transport.ask("GET", f"{_entity_path(name)}?limit=1")
        except ServerError as error:
            if error.status != 404:
                raise
            return False
        return True

    def find(self, prefix: str, limit: int = 20) -> list[str]:
        """Names that begin so, those with the most facts first."""
        query = urlencode({"prefix": prefix, "limit": _check_count(limit)})
        found = self._transport.ask("GET", f"/v1/entities?{query}")["entities"]
        return [entity["name"] for entity in found]


class RemoteChanges:
    """As `Changes` of a local graph: all at once when the block ends, or not at all."""

    def __init__(self, transport: _Transport, source: Optional[str], offset: int) -> None:
        self._transport = transport
        self._origin: dict[str, Any] = {} if source is None else {"source": source, "offset": offset}
        self._last: dict[tuple[str, str, str], str] = {}
        self.commit: Optional[Commit] = None

    def add(self, facts: Triples) -> None:
        self._change("add", facts)

    def remove(self, facts: Triples) -> None:
        self._change("remove", facts)

    def _change(self, operation: str, facts: Triples) -> None:
        """Of two changes of a fact the later one counts."""
        if self.commit is not None:
            raise ValueError("the transaction is over")
        for fact in _check_facts(facts):
            self._last[fact] = operation

    def __enter__(self) -> RemoteChanges:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        body: dict[str, Any] = {"add": [], "remove": [], **self._origin}
        for fact, operation in self._last.items():
            body[operation].append(fact)
        key = None if self._origin else str(uuid.uuid4())
        self.commit = _commit(self._transport.ask("POST", "/v1/facts", body, key))


class Client:
    """A graph that a server has, opened by `connect`. What a local `Model` answers it answers as well, always by
    the graph as it is now; what a local `Graph` does it does, too. Facts are given as to a `Model`: as the path of a
    TSV file or as heads, relations and tails, of any number of new entities. Whatever the server refuses is raised as
    `ServerError`. Any number of threads may use it."""

    def __init__(self, transport: _Transport) -> None:
        self._transport = transport

    def close(self) -> None:
        """Closes its connections. From now on it refuses everything with a `ValueError`."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._transport.is_closed:
            return "<kgraft.Client, closed>"
        return f"<kgraft.Client of {self._transport.parts.geturl()}>"

    def describe(self) -> dict[str, Any]:
        """What the server says about its graph: name, generation, log, entities, facts, limits and so on."""
        return dict(self._transport.ask("GET", "/v1/model"))

    @property
    def model(self) -> Client:
        """Itself, so that `graph.model.predict` is the same here as on a store. It is no snapshot."""
        return self

    @property
    def dim(self) -> int:
        """Numbers in a vector."""
        return int(self.describe()["dim"])

    @property
    def is_calibrated(self) -> bool:
        """Whether links of different relations can be ranked together."""
        return bool(self.describe()["calibrated"])

    @property
    def generation(self) -> int:
        """The number of the store's model."""
        return int(self.describe()["generation"])

    @property
    def last(self) -> int:
        """The number of the last entry of the store's log."""
        return int(self.describe()["log"])

    @property
    def entities(self) -> Entities:
        return Entities(self._transport)

    @property
    def relations(self) -> list[str]:
        return list(self.describe()["relations"])

    def facts(self, entity: str) -> Iterator[Fact]:
        """Of an entity, page by page."""
        place = 0
        while True:
            answer = self._transport.ask("GET", f"{_entity_path(entity)}?limit=100&offset={place}")
            yield from (Fact(*link) for link in answer["links"])
            place += len(answer["links"])
            if place >= answer["facts"] or not answer["links"]:
                return

    def _subjects(
        self, facts: Optional[Facts], entity: Optional[str], skip_unknown: bool
    ) -> list[dict[str, Any]]:
        """What a request says of each that questions are about. The server finds out which end of a fact is new where
        that can only be one; of several, each gets its own facts."""
        if facts is None:
            if entity is None:
                raise TypeError("expected facts or an entity, found neither")
            return [{"entity": entity}]
        given = _read_facts(facts)
        if skip_unknown:
            relations = set(self.relations)
            given = [fact for fact in given if fact[1] in relations]
        if entity is not None:
            own = [fact for fact in given if entity in (fact[0], fact[2])]
            if skip_unknown:
                own = self._group(own, skip_unknown).get(entity, [])
            if not own:
                raise ValueError(f"expected a new entity of the facts, found {entity!r}")
            return [{"entity": entity, "facts": own}]
        groups = self._group(given, skip_unknown)
        if len(groups) < 2:
            return [{"facts": next(iter(groups.values()), given)}]
        return [{"entity": name, "facts": own} for name, own in groups.items()]

    def _group(
        self, facts: list[tuple[str, str, str]], skip_unknown: bool
    ) -> dict[str, list[tuple[str, str, str]]]:
        """Facts by the end that is new; none, if one of them is wrong and the server has to say why."""
        shared = set.intersection(*({head, tail} for head, _, tail in facts)) if facts else set()
        if not skip_unknown and any(name not in self.entities for name in shared):
            return {}
        ends = dict.fromkeys(end for head, _, tail in facts for end in (head, tail))
        known = {name for name in ends if name in self.entities}
        groups: dict[str, list[tuple[str, str, str]]] = {}
        for fact in facts:
            new = {fact[0], fact[2]} - known
            if len(new) == 1 and fact[0] != fact[2]:
                groups.setdefault(new.pop(), []).append(fact)
            elif not (skip_unknown and new) and fact[0] != fact[2]:
                return {}
        return groups

    def _ask_each(self, route: str, subjects: list[dict[str, Any]], **rest: Any) -> list[Any]:
        chosen = {key: value for key, value in rest.items() if value is not None}
        questions = [{**subject, **chosen} for subject in subjects]
        path = f"/v1/{route}"
        if len(questions) == 1 or route not in ("predict", "embed"):
            return [self._transport.ask("POST", path, question) for question in questions]
        results = []
        for batch in _cut_batches(questions, self.describe()["limits"]):
            results += self._transport.ask("POST", path, {"requests": batch})["results"]
        for result in results:
            if "problem" in result:
                raise ServerError(result["problem"], result["problem"]["status"])
        return results

    def _ask_one(self, route: str, subjects: list[dict[str, Any]], **rest: Any) -> Any:
        if len(subjects) != 1:
            raise ValueError(f"expected one new entity, or `entity`, found {len(subjects)}")
        return self._ask_each(route, subjects, **rest)[0]

    def predict(
        self,
        facts: Optional[Facts] = None,
        *,
        entity: Optional[str] = None,
        relation: Optional[str] = None,
        side: str = "both",
        k: int = 10,
        keep_known: bool = False,
        no_echo: bool = False,
        skip_unknown: bool = False,
        min_probability: Optional[float] = None,
    ) -> dict[str, list[Answer]]:
        """As `Model.predict`; answers that are less probable than `min_probability` are left out."""
        _check_side(side, "head", "tail", "both")
        found = self._ask_each(
            "predict",
            self._subjects(facts, entity, skip_unknown),
            relation=relation,
            side=side,
            k=_check_count(k),
            keep_known=keep_known,
            no_echo=no_echo,
            min_probability=min_probability,
        )
        return {one["entity"]: [_answer(answer) for answer in one["answers"]] for one in found}

    def explain(
        self,
        facts: Optional[Facts] = None,
        *,
        relation: str,
        answer: str,
        side: str = "tail",
        entity: Optional[str] = None,
        skip_unknown: bool = False,
    ) -> Explanation:
        """As `Model.explain`."""
        _check_side(side, "head", "tail")
        subjects = self._subjects(facts, entity, skip_unknown)
        return _explanation(
            self._ask_one("explain", subjects, relation=relation, side=side, answer=answer)
        )

    def embed(
        self,
        facts: Optional[Facts] = None,
        *,
        entity: Optional[str] = None,
        relation: Optional[str] = None,
        side: Optional[str] = None,
        skip_unknown: bool = False,
    ) -> dict[str, Vectors]:
        """As `Model.embed`."""
        if side is not None:
            _check_side(side, "head", "tail")
        subjects = self._subjects(facts, entity, skip_unknown)
        vectors = {}
        for one in self._ask_each("embed", subjects, relation=relation, side=side):
            vector = one["vector"]
            buffer = (ctypes.c_float * len(vector))(*vector)
            vectors[one["entity"]] = _view(buffer, (len(vector),), writable=True)
        return vectors

    def neighbors(
        self,
        facts: Optional[Facts] = None,
        *,
        entity: Optional[str] = None,
        k: int = 10,
        skip_unknown: bool = False,
    ) -> dict[str, list[Neighbor]]:
        """As `Model.neighbors`."""
        subjects = self._subjects(facts, entity, skip_unknown)
        found = self._ask_each("neighbors", subjects, k=_check_count(k))
        return {
            one["entity"]: [Neighbor(near["entity"], near["similarity"]) for near in one["neighbors"]]
            for one in found
        }

    def missing(
        self,
        facts: Optional[Facts] = None,
        *,
        entity: Optional[str] = None,
        k: int = 10,
        skip_unknown: bool = False,
    ) -> list[Missing]:
        """What is usually known of such things and missing here; of one entity, as with `explain`."""
        subjects = self._subjects(facts, entity, skip_unknown)
        found = self._ask_one("missing", subjects, k=_check_count(k))
        return [
            Missing(
                one["relation"], one["side"], one["share"], one["similar"], tuple(one["examples"])
            )
            for one in found["missing"]
        ]

    def changes(self, *, source: Optional[str] = None, offset: int = 0) -> RemoteChanges:
        """As `Graph.changes`: a transaction, `with client.changes() as changes: ...`."""
        return RemoteChanges(self._transport, source, offset)

    def add(self, facts: Triples) -> Commit:
        """Adds facts, all or none; on disk when this returns."""
        with self.changes() as changes:
            changes.add(facts)
        assert changes.commit is not None
        return changes.commit

    def remove(self, facts: Triples) -> Commit:
        """Removes facts, all or none. What is not there is counted as missing."""
        with self.changes() as changes:
            changes.remove(facts)
        assert changes.commit is not None
        return changes.commit

    def follow(self, since: Optional[int] = None) -> Iterator[Change]:
        """Every change after entry `since` of the log (by default, from now on), whoever makes it, as it comes and
        without end. A connection that breaks is made again, and goes on where it was."""
        log = self.last  # which fails at once if there is no such server
        last = log if since is None else since
        while True:
            try:
                for kind, value in self._transport.stream(f"/v1/changes?since={last}"):
                    if kind == "change":
                        last = value["number"]
                        yield _change(value)
            except (OSError, http.client.HTTPException):
                pass
            if not self._transport.is_closed:
                time.sleep(_PAUSE)


def connect(
    url: str,
    *,
    token: Optional[str] = None,
    timeout: float = 60,
    context: Optional[ssl.SSLContext] = None,
) -> Client:
    """The graph that `kgraft serve` has at a URL such as "http://127.0.0.1:8080". `token` is sent with each request,
    `timeout` is in seconds, and `context` says which certificates are trusted, where not those of the system.
    Nothing is sent before the first question."""
    return Client(_Transport(url, token, timeout, context))
