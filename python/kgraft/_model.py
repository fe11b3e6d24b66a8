"""Models, and what they answer."""

from __future__ import annotations

import contextlib
import ctypes
import math
import operator
import os
import threading
import warnings
from collections import deque
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple, Optional
from typing import Sequence, Union, overload

from . import _library as c

try:
    with c.openblas_environment():  # numpy's OpenBLAS may be that of the library
        import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[numpy.float32]
    """Numbers in an array of numpy's, or in a memoryview if numpy is not installed."""


class Fact(NamedTuple):
    head: str
    relation: str
    tail: str


Facts = Union[str, "os.PathLike[str]", Iterable["tuple[str, str, str]"]]
"""A TSV file (gzipped or not; "-" is standard input), or heads, relations and tails."""


class Error(Exception):
    """What the library refused, or the system could not do.

    `source`, `line` and `column` say where, as far as that is known: the file or option, and
    numbers from 1; otherwise they are empty and 0.
    """

    def __init__(self, text: str, source: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.source = source
        self.line = line
        self.column = column


def _show(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if type(value) is tuple:
        return f"<{len(value)}>"
    return repr(value)


class _Shown:
    """Dataclasses by their fields, but numbers with the digits that matter, and of lists only how
    long they are."""

    def __repr__(self) -> str:
        values = (f"{f.name}={_show(getattr(self, f.name))}" for f in fields(self))  # type: ignore
        return f"{type(self).__name__}({', '.join(values)})"


@dataclass(frozen=True, repr=False)
class Answer(_Shown):
    """A link that may hold."""

    relation: str
    side: str
    """The end of the relation at which `entity` stands: "head" or "tail"."""
    entity: str
    score: float
    probability: Optional[float]
    """By the model's calibration, if it has one."""


@dataclass(frozen=True, repr=False)
class Neighbor(_Shown):
    """An entity whose vector points where another does."""

    entity: str
    cosine: float


@dataclass(frozen=True, repr=False)
class Metrics(_Shown):
    """How accurate a model is, in means over all queries."""

    queries: int
    mrr: float
    """Of 1/rank."""
    mr: float
    """Of ranks."""
    hits: dict[int, float]
    """The fraction of ranks of at most 1, 3 and 10."""


@dataclass(frozen=True, repr=False)
class Share(_Shown):
    """What a fact contributes to a score."""

    fact: Fact
    weight: float
    """Of the fact in the vector of the entity."""
    part: float
    """Of the score: the sum of `embedding`, `echo` and `propagation`."""
    embedding: float
    """By the vector of the entity."""
    echo: float
    """Since the fact leads to the answer itself; 0 but for models of graft."""
    rank_without: Optional[float]
    """The rank of the answer, were this fact not known; None if it is the only one, or if it was not
    tested, since there are too many."""
    propagation: float
    """What learned propagation would lose without the fact; 0 for models without it."""


@dataclass(frozen=True, repr=False)
class Reason(_Shown):
    """A path along which propagation reached the answer."""

    path: tuple[Fact, ...]
    """From the entity to the answer."""
    fact: Fact
    """The fact of the entity with which it begins."""
    share: float
    """The fraction of what propagation brought to the answer."""


@dataclass(frozen=True, repr=False)
class Contribution(_Shown):
    """What a term contributes to the score of an answer."""

    term: str
    """"embedding", "echo" or "propagation"."""
    part: float
    """Of the score."""
    rest: float
    """Of that part: what none of the facts accounts for."""
    reason_count: int
    """Of all reasons."""
    reasons: tuple[Reason, ...]
    """Those of them with the largest shares."""


@dataclass(frozen=True, repr=False)
class Explanation(_Shown):
    """A score, split over the facts that it came from, and over its terms."""

    score: float
    """The sum of the parts of all shares and the rests of all terms, but for rounding."""
    rank: float
    """Of the answer among all entities but other known answers; ties count half."""
    probability: Optional[float]
    shares: tuple[Share, ...]
    terms: tuple[Contribution, ...]
    untested_facts: int
    """Facts without which propagation was not computed, since there are too many."""
    unexpanded: int
    """Entities that propagation reached in a step but did not go on from: too many links."""


# ---------------------------------------------------------------------------------------------
# Between Python and C


def _call(name: str, *arguments: Any) -> None:
    """Calls a function that can fail, and raises its error."""
    error = c.ErrorStruct()
    if getattr(c.library(), name)(*arguments, ctypes.byref(error)) == c.OK:
        return
    text = ctypes.create_string_buffer(1600)
    c.library().kg_error_text(text, len(text), ctypes.byref(error))
    raise Error(_decode(text.value), _decode(error.source), error.line, error.column)


def _decode(name: bytes) -> str:
    """Names may be any bytes; those that are not UTF-8 survive the way to Python and back."""
    return name.decode("utf-8", "surrogateescape")


def _encode(name: str) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"expected a name (str), found {_cut(name)}")
    return name.encode("utf-8", "surrogateescape")


def _c_string(encoded: bytes) -> bytes:
    """To C, a NUL is the end: what is behind it would be lost without a word."""
    if b"\0" in encoded:
        raise ValueError(f"expected a string without NUL, found {_cut(_decode(encoded))}")
    return encoded


def _encode_if(name: Optional[str]) -> Optional[bytes]:
    return None if name is None else _c_string(_encode(name))


def _path(path: Union[str, "os.PathLike[str]"]) -> bytes:
    return _c_string(os.fsencode(path))


def _read(text: c.Text) -> str:
    return _decode(ctypes.string_at(text.bytes, text.length))


def _text(name: str) -> c.Text:
    """Borrows from bytes that live as long as the struct."""
    encoded = _encode(name)
    text = c.Text(ctypes.cast(ctypes.c_char_p(encoded), ctypes.c_void_p), len(encoded))
    text.owner = encoded
    return text


def _cut(value: object) -> str:
    """What something is, for messages."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _check_fact(place: int, fact: object) -> tuple[str, str, str]:
    """A string would be three names, too, if it has three letters."""
    names = tuple(fact) if isinstance(fact, Iterable) and not isinstance(fact, str) else ()
    if len(names) == 3 and all(isinstance(name, str) for name in names):
        return names
    raise TypeError(
        f"facts[{place}]: expected (head, relation, tail), three strings, found {_cut(fact)}"
    )


def _check_count(k: int) -> int:
    count = operator.index(k)
    if count < 1:
        raise ValueError(f"expected a number of answers from 1 as k, found {k}")
    return count


def _known(number: float) -> Optional[float]:
    return None if math.isnan(number) else number


def _view(buffer: Any, shape: tuple[int, ...], writable: bool) -> Vectors:
    """Floats of ctypes as an array. It keeps them alive, and cannot be made writable again."""
    view = memoryview(buffer).cast("B")
    if not writable:
        view = view.toreadonly()
    if numpy is None:
        return view.cast("f", shape if 0 not in shape else (0,))
    return numpy.frombuffer(view, dtype=numpy.float32).reshape(shape)


class Names(Sequence[str]):
    """The names of a model's entities or relations, in the order of their ids."""

    def __init__(self, handle: _Handle, kind: str, count: int) -> None:
        self._handle = handle
        self._kind = kind
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        plural = "entities" if self._kind == "entity" else "relations"
        return f"<names of {self._count} {plural}>"

    @overload
    def __getitem__(self, id: int) -> str: ...

    @overload
    def __getitem__(self, id: slice) -> list[str]: ...

    def __getitem__(self, id: Union[int, slice]) -> Union[str, list[str]]:
        if isinstance(id, slice):
            return [self[i] for i in range(*id.indices(self._count))]
        place = id + self._count if id < 0 else id
        if not 0 <= place < self._count:
            raise IndexError(f"expected an id below {self._count}, found {id}")
        name = getattr(c.library(), f"kg_model_{self._kind}_name")
        return _read(name(self._handle.pointer, place))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) != c.NO_ID

    def index(self, name: str, start: int = 0, stop: Optional[int] = None) -> int:
        """The id of a name, in constant time. An unknown one is a ValueError."""
        id = self._find(name)
        if id == c.NO_ID or id not in range(*slice(start, stop).indices(self._count)):
            raise ValueError(f"expected a known {self._kind}, found {name!r}")
        return id

    def _find(self, name: str) -> int:
        find = getattr(c.library(), f"kg_model_find_{self._kind}")
        return int(find(self._handle.pointer, _text(name)))


class _Handle:
    """A model of the library's, and workspaces that no thread uses just now. It is closed when
    nothing refers to it any more: no model, no array, no call that is still at work, and no model
    on another graph, or live graph, which borrows from the one that it was `made_of`."""

    def __init__(
        self,
        library: Any,
        options: c.WorkspaceOptions,
        made_of: Optional[Union[_Handle, _LiveHandle]],
        function: str,
        *arguments: Any,
    ) -> None:
        self.library = library
        self.pointer = ctypes.c_void_p()
        self.options = options
        self.made_of = made_of
        self.idle: deque[ctypes.c_void_p] = deque()
        _call(function, ctypes.byref(self.pointer), *arguments)
        self.about = c.ModelInfo()
        _call("kg_model_describe", ctypes.byref(self.about), self.pointer)

    def __del__(self) -> None:
        for workspace in self.idle:
            self.library.kg_workspace_close(workspace)
        self.library.kg_model_close(self.pointer)

    def names(self, kind: str) -> Names:
        return Names(self, kind, self._count(kind))

    def count_facts(self, entity: int) -> int:
        """That training knew about an entity of the model."""
        links, count = ctypes.POINTER(c.Link)(), ctypes.c_size_t()
        _call("kg_model_links", ctypes.byref(links), ctypes.byref(count), self.pointer, entity)
        return count.value

    def vectors(self, kind: str) -> Vectors:
        rows = self.about.entity_rows if kind == "entity" else self.about.relation_rows
        shape = rows, self.about.dim
        address = getattr(self.library, f"kg_model_{kind}_vectors")(self.pointer)
        buffer = (ctypes.c_float * math.prod(shape)).from_address(address)
        buffer.owner = self
        return _view(buffer, shape, writable=False)

    def _count(self, kind: str) -> int:
        return int(self.about.entities if kind == "entity" else self.about.relations)

    @contextlib.contextmanager
    def workspace(self) -> Iterator[ctypes.c_void_p]:
        try:
            workspace = self.idle.pop()
        except IndexError:
            workspace = ctypes.c_void_p()
            options = ctypes.byref(self.options)
            _call("kg_workspace_open", ctypes.byref(workspace), self.pointer, options)
        try:
            yield workspace
        finally:
            self.idle.append(workspace)

    @contextlib.contextmanager
    def new_entities(
        self, facts: Facts, entity: Optional[str], skip_unknown: bool
    ) -> Iterator[ctypes.c_void_p]:
        new = ctypes.c_void_p()
        options = c.NewEntitiesOptions(skip_unknown, _encode_if(entity))
        _call("kg_new_entities_open", ctypes.byref(new), self.pointer, ctypes.byref(options))
        try:
            if isinstance(facts, (str, os.PathLike)):
                _call("kg_new_entities_read", new, _path(facts))
            else:
                if not isinstance(facts, Iterable) or isinstance(facts, bytes):
                    raise TypeError(
                        "expected facts as the path of a TSV file or as (head, relation, tail) "
                        f"for each, found {_cut(facts)}"
                    )
                for place, fact in enumerate(facts):
                    names = map(_text, _check_fact(place, fact))
                    _call("kg_new_entities_add", new, *names)
            _call("kg_new_entities_finish", None, new)
            yield new
        finally:
            self.library.kg_new_entities_close(new)


class _LiveHandle:
    """A live graph of the library's, closed when neither a graph nor a snapshot refers to it."""

    def __init__(
        self,
        library: Any,
        options: c.WorkspaceOptions,
        made_of: Optional[_Handle],
        function: str,
        *arguments: Any,
    ) -> None:
        self.library = library
        self.pointer = ctypes.c_void_p()
        self.options = options
        self.made_of = made_of
        _call(function, ctypes.byref(self.pointer), *arguments)

    def __del__(self) -> None:
        self.library.kg_live_close(self.pointer)

    def snapshot(self, before: Optional[_Handle]) -> _Handle:
        """As it is now, with the workspaces of another one that are idle."""
        handle = _Handle(self.library, self.options, self, "kg_live_snapshot", self.pointer)
        while before is not None and before.idle:
            try:
                workspace = before.idle.pop()
            except IndexError:
                break  # another thread took it
            try:
                _call("kg_workspace_move", workspace, handle.pointer)
            except Error:
                self.library.kg_workspace_close(workspace)
                raise
            handle.idle.append(workspace)
        return handle


# ---------------------------------------------------------------------------------------------
# Queries


class _Queried(NamedTuple):
    """The entity that queries are about."""

    name: str
    subject: c.Subject


class _Work(NamedTuple):
    """Queries, and what they are answered with."""

    queried: list[_Queried]
    workspace: ctypes.c_void_p
    entities: Names
    relations: Names
    dim: int

    def read_answer(self, answer: c.Answer) -> Answer:
        return Answer(
            self.relations[answer.directed // 2],
            "tail" if answer.directed % 2 == c.HEAD else "head",
            self.entities[answer.entity],
            answer.score,
            _known(answer.probability),
        )

    def read_fact(self, name: str, link: c.Link) -> Fact:
        relation = self.relations[link.directed // 2]
        other = self.entities[link.other]
        is_head = link.directed % 2 == c.HEAD
        return Fact(name, relation, other) if is_head else Fact(other, relation, name)

    def read_share(self, name: str, terms: list[c.ScoreTerm], share: c.Share) -> Share:
        parts = share.parts[: len(terms)]
        by_term = {t.name: part for t, part in zip(terms, parts)}
        return Share(
            self.read_fact(name, share.link),
            share.weight,
            share.part,
            by_term[b"embedding"],
            by_term[b"echo"],
            _known(share.rank_without),
            by_term.get(b"propagation", 0.0),
        )

    def read_reason(self, name: str, reason: c.Reason) -> Reason:
        fact = self.read_fact(name, reason.fact)
        path = []
        for link in reason.path[: reason.steps]:
            path.append(self.read_fact(name, link))
            name = self.entities[link.other]
        return Reason(tuple(path), fact, reason.share)

    def read_explanation(self, name: str, out: c.Explanation) -> Explanation:
        terms = out.terms[: out.term_count]
        reasons = out.reasons[: out.reason_count]
        return Explanation(
            out.score,
            out.rank,
            _known(out.probability),
            tuple(self.read_share(name, terms, share) for share in out.shares[: out.share_count]),
            tuple(
                Contribution(
                    _decode(term.name),
                    term.part,
                    term.rest,
                    term.reason_count,
                    tuple(self.read_reason(name, r) for r in reasons if r.term == i),
                )
                for i, term in enumerate(terms)
            ),
            out.untested_facts,
            out.unexpanded,
        )


_MOST_REASONS = 8  # of each term


def _make_explanation(facts: int, terms: int) -> c.Explanation:
    """One with arrays, which ctypes keeps alive with it."""
    return c.Explanation(
        shares=(c.Share * facts)(),
        share_capacity=facts,
        terms=(c.ScoreTerm * terms)(),
        term_capacity=terms,
        parts=(ctypes.c_double * (facts * terms))(),
        part_capacity=facts * terms,
        reasons=(c.Reason * (_MOST_REASONS * terms))(),
        reason_capacity=_MOST_REASONS * terms,
    )


def _list_new(new: ctypes.c_void_p) -> list[_Queried]:
    library = c.library()
    queried = []
    for place in range(library.kg_new_entities_count(new)):
        count = ctypes.c_size_t()
        links = library.kg_new_entities_links(ctypes.byref(count), new, place)
        name = _read(library.kg_new_entities_name(new, place))
        queried.append(_Queried(name, c.Subject(c.NO_ID, links, count)))
    return queried


def _check_side(side: str, *sides: str) -> None:
    if side not in sides:
        raise ValueError(f"expected one of {', '.join(sides)} as the side, found {side!r}")


class Model:
    """A model directory, opened by `load`. Its methods may be called by many threads at once.

    Questions are about the new entities in `facts`, a TSV file or heads, relations and tails: in
    each fact one end is known to the model, and the other new. With `entity` they are about that
    one alone, which may also be one of the model's; then there are no facts. `skip_unknown` leaves
    out facts with a relation or ends that the model does not know, which are an error otherwise.
    What comes back is by the names of those whom it is about.
    """

    def __init__(self, handle: _Handle) -> None:
        self._open_handle: Optional[_Handle] = handle

    def close(self) -> None:
        """From now on it refuses everything. Arrays and names that it gave stay as they are; the
        files are let go with the last of them."""
        self._open_handle = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._open_handle is None:
            return "<kgraft.Model, closed>"
        return (
            f"<kgraft.Model {self.kind}, {len(self.entities)} entities, "
            f"{len(self.relations)} relations, dim {self.dim}>"
        )

    @property
    def _handle(self) -> _Handle:
        if self._open_handle is None:
            raise ValueError("the model is closed")
        return self._open_handle

    @property
    def kind(self) -> str:
        """ "distmult", "complex" and so on."""
        return _decode(self._handle.about.model)

    @property
    def aggregate(self) -> str:
        """How unseen entities were embedded in training."""
        return _decode(self._handle.about.aggregate)

    @property
    def dim(self) -> int:
        """Numbers in a vector."""
        return int(self._handle.about.dim)

    @property
    def is_calibrated(self) -> bool:
        """Whether links of different relations can be ranked together."""
        return bool(self._handle.about.is_calibrated)

    @property
    def has_facts(self) -> bool:
        """Whether it knows the facts that it was trained on."""
        return bool(self._handle.about.has_facts)

    @property
    def entities(self) -> Names:
        return self._handle.names("entity")

    @property
    def relations(self) -> Names:
        return self._handle.names("relation")

    @property
    def entity_vectors(self) -> Vectors:
        """A row for each entity that did not come later: the model's own numbers, not copied and
        read-only."""
        return self._handle.vectors("entity")

    @property
    def relation_vectors(self) -> Vectors:
        """The same for relations: a row for each, or two if each direction has its own."""
        return self._handle.vectors("relation")

    def on_graph(
        self, graph: Union[str, os.PathLike[str]], *, skip_unknown: bool = False
    ) -> Model:
        """The model on a graph that it was not trained on: a file of facts, or anything else that
        `kgraft import` takes; of a data set with a new graph, that one. Its entities and facts are those
        of the graph, and so are all answers. It needs a term that has no vectors of entities, such as
        propagation. Facts with a relation that the model does not know are an error, unless
        `skip_unknown` leaves them out."""
        handle = self._handle
        options = c.GraphOptions(skip_unknown)
        return Model(
            _Handle(
                handle.library,
                handle.options,
                handle,
                "kg_model_open_on_graph",
                None,
                handle.pointer,
                _path(graph),
                ctypes.byref(options),
            )
        )

    def live(self, *, skip_unknown: bool = False) -> Graph:
        """The model's graph, to which facts can be added and from which they can be removed. Facts with
        a relation that the model does not know are an error, unless `skip_unknown` leaves them out: no
        term of a score can say anything about it before it is trained."""
        handle = self._handle
        options = ctypes.byref(c.LiveOptions(skip_unknown))
        return Graph(
            _LiveHandle(
                handle.library, handle.options, handle, "kg_live_open", handle.pointer, options
            )
        )

    def evaluate(
        self,
        dataset: Union[str, os.PathLike[str]],
        *,
        split: str = "test",
        in_sample: bool = False,
    ) -> Metrics:
        """How well it answers a data set's queries: about its new graph if it has one, or else about
        its unseen entities; with `in_sample`, about facts between seen ones. `split` is "test" or
        "valid". Answers are ranked among all entities but other known answers."""
        if split not in ("test", "valid"):
            raise ValueError(f"expected test or valid as the split, found {split!r}")
        handle = self._handle
        chosen = handle.options
        options = c.EvaluationOptions(
            in_sample,
            split == "valid",
            chosen.aggregate,
            chosen.ls_rows,
            chosen.ls_lambda,
            chosen.ials_alpha,
            chosen.ials_lambda,
            chosen.threads,
        )
        out = c.Metrics()
        path = _path(dataset)
        _call("kg_model_evaluate", ctypes.byref(out), handle.pointer, path, ctypes.byref(options))
        return Metrics(out.queries, out.mrr, out.mr, dict(zip((1, 3, 10), out.hits)))

    def embed(
        self,
        facts: Optional[Facts] = None,
        *,
        entity: Optional[str] = None,
        relation: Optional[str] = None,
        side: str = "tail",
        skip_unknown: bool = False,
    ) -> dict[str, Vectors]:
        """The vector of each. Models trained with graft have another one for each query, which
        is for that side of `relation`."""
        _check_side(side, "head", "tail")
        vectors = {}
        with self._open_work(facts, entity, skip_unknown) as work:
            asked = c.NO_ID
            if relation is not None:
                asked = 2 * work.relations.index(relation) + (c.HEAD if side == "tail" else c.TAIL)
            for name, subject in work.queried:
                buffer = (ctypes.c_float * work.dim)()
                _call("kg_workspace_embed", buffer, work.workspace, subject, asked)
                vectors[name] = _view(buffer, (work.dim,), writable=True)
        return vectors

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
    ) -> dict[str, list[Answer]]:
        """What else is true of each: the `k` best links, best first.

        Without `relation`, links of all relations are ranked together. For that, and for both
        sides of one, the model must be calibrated. `side` is the end at which the answers stand:
        "head", "tail" or "both". What is known already is left out unless `keep_known`; then it
        scores as if it were not. With `no_echo`, so are entities that another fact links to the
        one in question already."""
        _check_side(side, "head", "tail", "both")
        k = _check_count(k)
        with self._open_work(facts, entity, skip_unknown) as work:
            self._check_calibration(work)
            count = len(work.queried)
            requests = (c.Request * count)()
            for request, (_, subject) in zip(requests, work.queried):
                request.size = ctypes.sizeof(request)
                request.subject = subject
                request.relation = c.NO_ID if relation is None else work.relations.index(relation)
                request.heads = side != "tail"
                request.tails = side != "head"
                request.keep_known = keep_known
                request.no_echo = no_echo
            answers = (c.Answer * (k * count))()
            found = (ctypes.c_size_t * count)()
            _call("kg_workspace_predict", answers, found, work.workspace, requests, count, k)
            return {
                name: [work.read_answer(a) for a in answers[i * k : i * k + found[i]]]
                for i, (name, _) in enumerate(work.queried)
            }

    def neighbors(
        self,
        facts: Optional[Facts] = None,
        *,
        entity: Optional[str] = None,
        k: int = 10,
        skip_unknown: bool = False,
    ) -> dict[str, list[Neighbor]]:
        """The `k` entities of the model that are nearest to each by cosine, nearest first."""
        neighbors = {}
        k = _check_count(k)
        with self._open_work(facts, entity, skip_unknown) as work:
            for name, subject in work.queried:
                answers = (c.Answer * k)()
                found = ctypes.c_size_t()
                _call(
                    "kg_workspace_neighbors",
                    answers,
                    ctypes.byref(found),
                    work.workspace,
                    subject,
                    k,
                )
                neighbors[name] = [
                    Neighbor(work.entities[a.entity], a.score) for a in answers[: found.value]
                ]
        return neighbors

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
        """Why `answer` stands at that side of the relation, "head" or "tail": its score, split
        over the facts of the new entity, of which there must be one; or, without `facts`, over the
        training facts of `entity`, as if it were new. If this is one of them, all is as if it were
        not."""
        _check_side(side, "head", "tail")
        with self._open_work(facts, entity, skip_unknown) as work:
            if len(work.queried) != 1:
                raise ValueError(f"expected one new entity, or `entity`, found {len(work.queried)}")
            self._check_calibration(work)
            name, subject = work.queried[0]
            end = c.HEAD if side == "tail" else c.TAIL
            directed = 2 * work.relations.index(relation) + end
            link = c.Link(directed, work.entities.index(answer))
            facts_of = subject.count if facts is not None else self._handle.count_facts(subject.entity)
            out = _make_explanation(facts_of, self._handle.about.terms)
            _call("kg_workspace_explain", ctypes.byref(out), work.workspace, subject, link)
            return work.read_explanation(name, out)

    def _check_calibration(self, work: _Work) -> None:
        """Warns if probabilities are for another way to embed new entities, or other terms."""
        if self.is_calibrated and not self._handle.library.kg_workspace_is_calibrated(work.workspace):
            warnings.warn(
                "probabilities do not hold: the model is calibrated for another aggregate, for "
                "other settings of it (kgraft calibrate MODEL DATASET --aggregate NAME makes it so), "
                "or for a graph on which it has other terms",
                stacklevel=3,
            )

    @contextlib.contextmanager
    def _open_work(
        self, facts: Optional[Facts], entity: Optional[str], skip_unknown: bool
    ) -> Iterator[_Work]:
        handle = self._handle
        entities, relations = handle.names("entity"), handle.names("relation")
        with contextlib.ExitStack() as stack:
            if facts is not None:
                new = stack.enter_context(handle.new_entities(facts, entity, skip_unknown))
                queried = [a for a in _list_new(new) if entity in (None, a.name)]
                if not queried:
                    raise ValueError(f"expected a new entity of the facts, found {entity!r}")
            elif entity is not None:
                queried = [_Queried(entity, c.Subject(entities.index(entity), None, 0))]
            else:
                raise TypeError("expected facts or an entity, found neither")
            workspace = stack.enter_context(handle.workspace())
            yield _Work(queried, workspace, entities, relations, handle.about.dim)


@dataclass(frozen=True, repr=False)
class Commit(_Shown):
    """What a transaction has changed."""

    added: int
    removed: int
    repeated: int
    """Facts to be added that were there already."""
    missing: int
    """Facts to be removed that were not there."""
    unknown: int
    """Facts with a relation that the model does not know, which were left out, or kept in the store
    alone."""
    entities_added: int
    """Entities that were not there before."""
    entities_removed: int
    """Entities that are not there any more, since they have no facts."""
    skipped: int
    """Changes, all of them, since the source has been at this offset before."""
    last: int
    """The number of the last entry of the store's log; 0 without a store."""


@dataclass(frozen=True, repr=False)
class Entry(_Shown):
    """An entry of a store's log: a fact that was added, or removed."""

    number: int
    time: float
    """Seconds since 1970, UTC."""
    is_added: bool
    fact: Fact
    source: Optional[str]
    offset: Optional[int]


@dataclass(frozen=True, repr=False)
class Compaction(_Shown):
    """What a compaction has done."""

    generation: int
    """The one that is current now."""
    is_new: bool
    """If not, nothing has changed since it was trained."""
    added: int
    """Facts, since the last one."""
    removed: int
    facts: int
    """That it was trained on."""
    entities: int
    relations: int
    new_entities: int
    new_relations: int
    gone_entities: int
    """Entities that are left without a fact."""
    epochs: int


class Changes:
    """Facts that are added and removed all at once when the block ends, or not at all if it ends
    with an exception. `commit` says what has changed, afterwards. Of two changes of a fact the later
    one counts."""

    def __init__(
        self, graph: Graph, live: _LiveHandle, source: Optional[str], offset: int
    ) -> None:
        self._graph = graph
        self._live = live
        self._pointer = ctypes.c_void_p()
        self.commit: Optional[Commit] = None
        name = _encode_if(source)
        _call("kg_changes_open", ctypes.byref(self._pointer), self._live.pointer)
        if name is not None:
            _call("kg_changes_set_source", self._pointer, name, offset)

    def __del__(self) -> None:
        self._live.library.kg_changes_close(self._pointer)

    def add(self, facts: Iterable[tuple[str, str, str]]) -> None:
        self._change("kg_changes_add", facts)

    def remove(self, facts: Iterable[tuple[str, str, str]]) -> None:
        self._change("kg_changes_remove", facts)

    def _change(self, function: str, facts: Iterable[tuple[str, str, str]]) -> None:
        if self.commit is not None:
            raise ValueError("the transaction is over")
        for place, fact in enumerate(facts):
            _call(function, self._pointer, *map(_text, _check_fact(place, fact)))

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            out = c.Commit()
            with self._graph._using_store():
                _call("kg_changes_commit", ctypes.byref(out), self._pointer)
            names = (f.name for f in fields(Commit))
            self.commit = Commit(*(getattr(out, name) for name in names))
            self._graph._changed()


class Graph:
    """The graph of a model, and what has changed since: `open` makes one on a store, where what is
    committed is on disk, and `Model.live` one in memory alone.

        with kgraft.open("store") as graph:
            graph.add([("rex", "hypernym", "dog.n.01")])
            print(graph.model.predict(entity="rex"))

    Entities that came with facts can be asked about, and be answers, like the model's own, as long as
    they have facts. Any number of threads may use it at the same time."""

    def __init__(self, handle: _LiveHandle) -> None:
        self._open_handle: Optional[_LiveHandle] = handle
        self._lock = threading.Lock()
        self._snapshot: Optional[_Handle] = None
        self._is_old = True
        self._idle = threading.Condition()
        self._calls = 0  # that use the store just now

    @property
    def _handle(self) -> _LiveHandle:
        if self._open_handle is None:
            raise ValueError("the graph is closed")
        return self._open_handle

    def close(self) -> None:
        """Closes its store, when no other thread commits any more. From now on it refuses everything; models
        that it gave stay as they are."""
        with self._idle:
            handle, self._open_handle = self._open_handle, None
            self._idle.wait_for(lambda: self._calls == 0)
            if handle is not None:
                handle.library.kg_live_close_store(handle.pointer)
        self._snapshot = None

    @contextlib.contextmanager
    def _using_store(self) -> Iterator[_LiveHandle]:
        with self._idle:
            handle = self._handle
            self._calls += 1
        try:
            yield handle
        finally:
            with self._idle:
                self._calls -= 1
                self._idle.notify_all()

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def model(self) -> Model:
        """The model on the graph as it is now. It does not change when the graph does."""
        handle = self._handle
        with self._lock:
            if self._snapshot is None or self._is_old:
                self._is_old = False
                self._snapshot = handle.snapshot(self._snapshot)
            return Model(self._snapshot)

    def changes(self, *, source: Optional[str] = None, offset: int = 0) -> Changes:
        """A transaction: `with graph.changes() as changes: ...`. On a store it may come from a `source`,
        at an `offset` of that; where the source has been before, all is left out, so that a stream can
        be replayed."""
        return Changes(self, self._handle, source, offset)

    def offset(self, source: str) -> Optional[int]:
        """The last one of a source that was committed to the store."""
        out = ctypes.c_int64()
        with self._using_store() as handle:
            _call("kg_live_offset", ctypes.byref(out), handle.pointer, _c_string(_encode(source)))
        return out.value if out.value >= 0 else None

    @property
    def generation(self) -> int:
        """The number of the store's model; 0 without a store."""
        return self._describe().generation

    @property
    def last(self) -> int:
        """The number of the last entry of the store's log that `model` shows."""
        return self._describe().last

    @property
    def facts(self) -> int:
        """How many are live, with relations that the model knows."""
        return self._describe().facts

    def _describe(self) -> c.SnapshotInfo:
        out = c.SnapshotInfo()
        _call("kg_snapshot_describe", ctypes.byref(out), self.model._handle.pointer)
        return out

    def log(self, since: int = 0, source: Optional[str] = None) -> list[Entry]:
        """The entries of the store's log with numbers above `since`, of one source or of all."""
        entries: list[Entry] = []

        def read(_: object, record: Any) -> bool:
            entry = record.contents
            fact = Fact(_read(entry.head), _read(entry.relation), _read(entry.tail))
            has_source = entry.source.bytes is not None
            entries.append(
                Entry(
                    entry.number,
                    entry.time / 1000,
                    entry.is_added,
                    fact,
                    _read(entry.source) if has_source else None,
                    entry.offset if has_source else None,
                )
            )
            return True

        handle = self._handle
        name = _encode_if(source)
        _call("kg_live_log", handle.pointer, since, name, c.ON_LOGGED(read), None)
        return entries

    def compact(
        self,
        *,
        epochs: int = 0,
        threads: int = 0,
        from_scratch: bool = False,
        restart: bool = False,
        progress: Optional[Callable[[str, int, int], object]] = None,
    ) -> Compaction:
        """Trains the next generation of the store on all facts that are live now, and goes over to it.
        Other threads go on to use the graph; models that it gave stay as they are.

        `epochs`: 0 stands for half of those of a training from scratch; `threads`: 0 for all
        processors. `progress` is called now and then, with what is being done, how much of it is, and
        of how much; if it returns False or raises, the compaction is given up for now, and the next
        one goes on from there, unless that shall `restart` with the facts of then."""
        raised: list[BaseException] = []

        def report(_: object, told: Any) -> bool:
            try:
                now = told.contents
                return progress is None or progress(_decode(now.stage), now.done, now.total) is not False
            except BaseException as reason:
                raised.append(reason)
                return False

        watcher = c.Progress(c.ON_PROGRESS(report), None)
        options = c.CompactionOptions(epochs, threads, from_scratch, restart)
        options.progress = ctypes.cast(ctypes.pointer(watcher), ctypes.c_void_p)
        out = c.Compaction()
        with self._using_store() as handle:
            try:
                _call("kg_live_compact", ctypes.byref(out), handle.pointer, ctypes.byref(options))
            except Error:
                if raised:
                    raise raised[0]
                raise
        self._changed()
        values = [getattr(out, f.name) for f in fields(Compaction)]
        return Compaction(values[0], bool(values[1]), *values[2:])

    def add(self, facts: Iterable[tuple[str, str, str]]) -> Commit:
        """Adds facts, all or none."""
        with self.changes() as changes:
            changes.add(facts)
        assert changes.commit is not None
        return changes.commit

    def remove(self, facts: Iterable[tuple[str, str, str]]) -> Commit:
        """Removes facts, all or none. What is not there is counted as missing."""
        with self.changes() as changes:
            changes.remove(facts)
        assert changes.commit is not None
        return changes.commit

    def _changed(self) -> None:
        with self._lock:
            self._is_old = True


def _workspace_options(**named: Any) -> c.WorkspaceOptions:
    return c.WorkspaceOptions(facts=64, answers=100, **named)


def load(
    path: Union[str, os.PathLike[str]],
    *,
    aggregate: Optional[str] = None,
    ls_rows: Optional[str] = None,
    ls_lambda: float = 0,
    ials_alpha: float = 0,
    ials_lambda: float = 0,
    threads: int = 1,
) -> Model:
    """Opens a model directory. The cost hardly depends on its size, since it is mapped, not read; but of
    a model with propagation all training facts are checked and copied. Of a store it is what that has
    now.

    `aggregate` ("eavg", "eravg", "ls", "ls-u", "ials"), `ls_rows` ("normalized", "weighted") and the
    ridge `ls_lambda` say how new entities are embedded, instead of as the model was trained; so do
    the weight of implicit negatives `ials_alpha` and the ridge `ials_lambda`. A call uses up to
    `threads` threads; results do not depend on it."""
    options = _workspace_options(
        aggregate=_encode_if(aggregate),
        ls_rows=_encode_if(ls_rows),
        ls_lambda=ls_lambda,
        ials_alpha=ials_alpha,
        ials_lambda=ials_lambda,
        threads=threads,
    )
    return Model(_Handle(c.library(), options, None, "kg_model_open", _path(path)))


def create_store(
    path: Union[str, os.PathLike[str]], model: Union[str, os.PathLike[str]]
) -> None:
    """Makes a store of a model directory, as `kgraft store` does."""
    _call("kg_store_create", _path(path), _path(model))


def open(
    path: Union[str, os.PathLike[str]],
    *,
    read_only: bool = False,
    skip_unknown: bool = False,
    allow_relations: bool = False,
    threads: int = 1,
) -> Graph:
    """Opens a store. One process writes to it; any number open it with `read_only`, for what it has at
    that moment.

    Facts with a relation that the model does not know are an error, unless `skip_unknown` leaves them
    out, or `allow_relations` keeps them for the next generation; no answer depends on them before."""
    options = c.LiveOptions(skip_unknown, allow_relations, read_only)
    return Graph(
        _LiveHandle(
            c.library(),
            _workspace_options(threads=threads),
            None,
            "kg_live_open_store",
            _path(path),
            ctypes.byref(options),
        )
    )


def check(path: Union[str, os.PathLike[str]]) -> None:
    """Reads all of a model, a data set or a checkpoint and compares it with the checksums that were
    recorded when it was written. Whatever is damaged is raised as `Error`; `load` looks only at what
    it needs."""
    _call("kg_files_check", _path(path), None, None, None)
