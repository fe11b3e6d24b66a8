"""kgraft serve: every route, every status, every limit, over a socket."""

from __future__ import annotations

import gzip
import json
import math
import urllib.parse
from dataclasses import dataclass
from typing import Any

from http_server import FACTS, RELATIONS, THINGS, Events, Served, fact
from kgraft import cases, tsv

COUNTS = {"added", "removed", "repeated", "missing", "unknown", "entities_added", "entities_removed", "skipped"}


def links_of(name: str) -> list[list[str]]:
    return sorted(fact(text) for text in FACTS if name in (fact(text)[0], fact(text)[2]))


def counts(commit: Any) -> dict[str, int]:
    """What is not 0 of a commit."""
    assert set(commit) == COUNTS | {"generation", "log"}, commit
    return {name: commit[name] for name in COUNTS if commit[name]}


class TestReading(Served):
    """What is asked of a graph that stays as it is."""

    def test_model(self) -> None:
        about = self.model()
        self.assertEqual(about["facts"], len(FACTS))
        self.assertEqual(sorted(about["relations"]), sorted(RELATIONS))
        self.assertEqual((about["generation"], about["log"], about["name"]), (1, 0, "store"))
        self.assertEqual((about["dim"], about["later_entities"]), (8, 0))
        self.assertEqual(about["entities"], len({end for text in FACTS for end in fact(text)[::2]}))
        self.assertTrue(about["calibrated"])
        self.assertFalse(about["read_only"] or about["compacting"])

    def test_completion(self) -> None:
        """Completion: most facts first, then by name."""
        names = {end for text in FACTS for end in fact(text)[::2]}
        for prefix, limit in (("", 7), ("thing1", 20), ("kind", 100), ("thing11", 3)):
            found = self.server.get(f"/v1/entities?prefix={prefix}&limit={limit}").json
            expected = sorted((-len(links_of(n)), n) for n in names if n.startswith(prefix))[:limit]
            self.assertEqual([(-row["facts"], row["name"]) for row in found["entities"]], expected)
            self.assertNotIn("similar", found)

    def test_did_you_mean(self) -> None:
        found = self.server.get("/v1/entities?prefix=thnig1").json
        self.assertEqual(found["entities"], [])
        self.assertIn("thing1", found["similar"])

    def test_entity(self) -> None:
        found = self.server.get("/v1/entities/thing3").json
        self.assertEqual(sorted(found["links"]), links_of("thing3"))
        self.assertEqual((found["entity"], found["known"], found["facts"]), ("thing3", True, len(found["links"])))

    def test_pages_of_links(self) -> None:
        whole = self.server.get("/v1/entities/place0?limit=1000").json["links"]
        pages = [
            link
            for offset in range(0, len(whole) + 7, 7)
            for link in self.server.get(f"/v1/entities/place0?limit=7&offset={offset}").json["links"]
        ]
        self.assertEqual(pages, whole)
        self.assertEqual(sorted(whole), links_of("place0"))

    def test_etag(self) -> None:
        """What a client has is not sent again."""
        first = self.server.get("/v1/entities/thing5")
        again = self.server.get("/v1/entities/thing5", If_None_Match=first.headers["ETag"])
        self.assertEqual((again.status, again.body), (304, b""))
        self.assertEqual(again.headers["ETag"], first.headers["ETag"])
        other = self.server.get("/v1/entities/thing6", If_None_Match=first.headers["ETag"])
        self.assertEqual(other.status, 200)

    def test_head(self) -> None:
        got = self.server.get("/v1/model")
        head = self.server.ask("HEAD", "/v1/model")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["Content-Length"], got.headers["Content-Length"])

    def test_options(self) -> None:
        found = self.server.ask("OPTIONS", "/v1/entities/a")
        self.assertEqual((found.status, found.body), (204, b""))
        self.assertEqual(found.headers["Allow"], "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")

    def test_unknown_entity(self) -> None:
        answer = self.refuse_request(404, "expected an entity of the graph, found 'thinng7'", "GET", "/v1/entities/thinng7")
        self.assertIn("thing7", answer.json["similar"])

    def test_health(self) -> None:
        self.assertEqual(self.server.get("/livez").json, {"status": "alive"})
        self.assertEqual(self.server.get("/readyz").json, {"status": "ready"})

    def test_gzip(self) -> None:
        plain = self.server.get("/v1/entities/place1?limit=1000")
        self.assertNotIn("Content-Encoding", plain.headers)
        for accepted in ("gzip", "deflate, gzip;q=0.5", "*"):
            packed = self.server.get("/v1/entities/place1?limit=1000", Accept_Encoding=accepted)
            self.assertEqual(packed.headers["Content-Encoding"], "gzip")
            self.assertLess(len(packed.body), len(plain.body) / 2)
            self.assertEqual(gzip.decompress(packed.body), plain.body)
        for refused in ("gzip;q=0", "br", "gzipped", "*, gzip;q=0", "*;q=0"):
            answer = self.server.get("/v1/entities/place1?limit=1000", Accept_Encoding=refused)
            self.assertEqual(answer.body, plain.body)
        self.assertNotIn("Content-Encoding", self.server.get("/livez", Accept_Encoding="gzip").headers)

    def test_keep_alive(self) -> None:
        """Many requests of a connection, refused ones among them."""
        connection = self.server.connect()
        for i in range(50):
            name = f"thing{i}" if i % 3 else f"nobody{i}"
            answer = self.server.ask("GET", f"/v1/entities/{name}", connection=connection)
            self.assertEqual(answer.status, 200 if i % 3 else 404)
        connection.close()


class TestQuestions(Served):
    """Predictions, explanations and vectors are those of the tool."""

    def tool(self, *words: str, facts: tuple[str, ...] = ()) -> Any:
        arguments = ["-"] if facts else []
        return self.succeed(words[0], self.home / "model", *arguments, *words[1:], "--json", "--quiet", stdin=tsv(*facts)).json

    def assert_same(self, ours: Any, theirs: Any) -> None:
        """The tool writes numbers with 15 digits, too, but sums in batches of its own."""
        self.assertEqual(type(ours), type(theirs))
        if isinstance(ours, dict):
            self.assertEqual(set(ours), set(theirs))
            for name in ours:
                self.assert_same(ours[name], theirs[name])
        elif isinstance(ours, list):
            self.assertEqual(len(ours), len(theirs))
            for one, other in zip(ours, theirs):
                self.assert_same(one, other)
        elif isinstance(ours, float):
            self.assertTrue(math.isclose(ours, theirs, rel_tol=1e-12), (ours, theirs))
        else:
            self.assertEqual(ours, theirs)

    def test_known_entity(self) -> None:
        found = self.server.post("/v1/predict", {"entity": "thing4", "k": 7})
        expected = self.tool("predict", "--entity", "thing4", "-k", "7")["entities"][0]
        self.assertEqual((found.pop("generation"), found.pop("log"), found.pop("calibrated")), (1, 0, True))
        self.assert_same(found, expected)

    def test_new_entity(self) -> None:
        facts = ("new is_a kind1", "new lives_in place2")
        asked = {"facts": [fact(text) for text in facts], "relation": "eats", "side": "tail", "k": 4}
        found = self.server.post("/v1/predict", asked)
        expected = self.tool("predict", "--relation", "eats", "--side", "tail", "-k", "4", facts=facts)["entities"][0]
        for name in ("generation", "log", "calibrated"):
            found.pop(name)
        self.assert_same(found, expected)
        self.assertTrue(found["new"])

    def test_settings(self) -> None:
        """Sides, known answers, echoes and the least probability."""
        for settings, words in (
            ({"side": "head"}, ("--side", "head")),
            ({"relation": "is_a"}, ("--relation", "is_a")),
            ({"keep_known": True, "relation": "is_a"}, ("--keep-known", "--relation", "is_a")),
            ({"no_echo": True}, ("--no-echo",)),
            ({"min_probability": 0.02, "k": 50}, ("--min-probability", "0.02", "-k", "50")),
        ):
            found = self.server.post("/v1/predict", {"entity": "thing9", **settings})
            expected = self.tool("predict", "--entity", "thing9", *words)["entities"][0]
            self.assert_same(found["answers"], expected["answers"])

    def test_batch(self) -> None:
        """A batch answers as its questions do one by one, and has problems of its own."""
        asked = [
            {"entity": "thing1", "k": 3},
            {"entity": "nobody"},
            {"facts": [["x", "is_a", "kind2"]], "k": 200},
            {"entity": "thing2", "relation": "nothing"},
            {"entity": "thing3", "relation": "eats", "k": 1},
            {"k": 3},
            {"entity": "thing3", "k": 0},
        ]
        found = self.server.post("/v1/predict", {"requests": asked})
        self.assertEqual(set(found), {"generation", "log", "calibrated", "results"})
        self.assertEqual(len(found["results"]), len(asked))
        for one, result in zip(asked, found["results"]):
            alone = self.server.ask("POST", "/v1/predict", one)
            if alone.status == 200:
                expected = {name: value for name, value in alone.json.items() if name in result}
                self.assertEqual(result, expected)
            else:
                place = f"`requests[{asked.index(one)}]`: "
                self.assertEqual((alone.status, result), (422, {"problem": {**alone.json, "detail": place + alone.detail}}))

    def test_batches(self) -> None:
        """The same of explanations, vectors and neighbors."""
        known: dict[str, Any] = {"entity": "thing1"}
        new: dict[str, Any] = {"facts": [["x", "is_a", "kind2"], ["x", "eats", "thing3"]]}
        asked_for = {"relation": "eats", "answer": "thing7"}
        for path, asked in (
            ("/v1/explain", [{**known, **asked_for}, {**new, **asked_for}, {**known, "relation": "eat", "answer": "thing1"}, {"entity": "thing2"}]),
            ("/v1/embed", [known, new, {"entity": "nobody"}]),
            ("/v1/neighbors", [{**known, "k": 2}, new, {"facts": [["x", "is", "kind1"]]}, {"requests": []}]),
        ):
            found = self.server.post(path, {"requests": asked})
            self.assertEqual(set(found), {"generation", "log", "results"})
            for i, one in enumerate(asked):
                alone = self.server.ask("POST", path, one)
                if alone.status == 200:
                    self.assert_same({**found["results"][i], "generation": 1, "log": 0}, alone.json)
                elif "requests" not in one:
                    problem = {**alone.json, "detail": f"`requests[{i}]`: {alone.detail}"}
                    self.assertEqual((alone.status, found["results"][i]), (422, {"problem": problem}))
                else:
                    self.assertRegex(found["results"][i]["problem"]["detail"], r"`requests\[3\]`: expected a member .* or k, found 'requests'")

    def test_wrong_facts(self) -> None:
        """A fact that is wrong is named by its place, with names that may have been meant."""
        for fact_, detail, similar in (
            (["x", "eat", "thing1"], "expected a relation that the model knows, found 'eat', did you mean 'eats'", "eats"),
            (["x", "eats", "thng12"], "expected an entity that the model knows at the other end, found 'thng12'", "thing12"),
        ):
            body = {"entity": "x", "facts": [["x", "is_a", "kind1"], fact_]}
            answer = self.refuse_request(422, r"^`facts\[1\]`: " + detail, "POST", "/v1/predict", body)
            self.assertIn(similar, answer.json["similar"])
            self.assertFalse({"source", "line"} & set(answer.json))
        answer = self.refuse_request(422, r"^`facts\[0\]`: expected one end that the model knows", "POST", "/v1/predict", {"facts": [["thng1", "is_a", "knd1"]]})
        self.assertNotIn("skip_unknown", answer.detail)

    def test_large_batch(self) -> None:
        """A batch that weighs more than a piece: answers are the same."""
        asked = [{"entity": f"thing{i % THINGS}", "k": 2} for i in range(256)]
        found = self.server.post("/v1/predict", {"requests": asked})["results"]
        self.assertEqual([row["entity"] for row in found], [row["entity"] for row in asked])
        self.assertEqual(found[THINGS:], found[: 256 - THINGS])
        alone = self.server.post("/v1/predict", asked[5])
        self.assertEqual(found[5]["answers"], alone["answers"])

    def test_explain(self) -> None:
        facts = ("new is_a kind1", "new lives_in place2")
        asked = {"facts": [fact(text) for text in facts], "relation": "eats", "answer": "thing7"}
        found = self.server.post("/v1/explain", asked)
        expected = self.tool("explain", "--relation", "eats", "--answer", "thing7", facts=facts)
        expected.pop("model")
        self.assertEqual((found.pop("generation"), found.pop("log")), (1, 0))
        self.assert_same(found, expected)

    def test_explain_known(self) -> None:
        found = self.server.post("/v1/explain", {"entity": "thing8", "relation": "eats", "side": "head", "answer": "thing7"})
        expected = self.tool("explain", "--entity", "thing8", "--relation", "eats", "--side", "head", "--answer", "thing7")
        for name in ("generation", "log"):
            found.pop(name)
        expected.pop("model")
        self.assert_same(found, expected)

    def test_embed(self) -> None:
        facts = ("new is_a kind1",)
        found = self.server.post("/v1/embed", {"facts": [fact(facts[0])]})
        name, *numbers = self.succeed("embed", self.home / "model", "-", "--quiet", stdin=tsv(*facts)).stdout.decode().split()
        self.assertEqual((found["entity"], found["vector"]), (name, [float(number) for number in numbers]))
        batch = self.server.post("/v1/embed", {"requests": [{"facts": [fact(facts[0])]}, {"entity": "nobody"}]})
        self.assertEqual(batch["results"][0], {"entity": "new", "vector": found["vector"]})
        self.assertEqual(batch["results"][1]["problem"]["status"], 422)
        asked = self.server.post("/v1/embed", {"facts": [fact(facts[0])], "relation": "eats", "side": "head"})
        self.assertNotEqual(asked["vector"], found["vector"])

    def test_neighbors(self) -> None:
        found = self.server.post("/v1/neighbors", {"entity": "thing4", "k": 5})
        expected = self.tool("neighbors", "--entity", "thing4", "-k", "5")["entities"][0]["neighbors"]
        for row in expected:
            row["similarity"] = row.pop("cosine")
        self.assert_same(found["neighbors"], expected)

    def test_missing(self) -> None:
        """What others of its kind have and it has not, by a count of our own."""
        given = [["new", "is_a", "kind1"]]
        found = self.server.post("/v1/missing", {"facts": given})["missing"]
        kin = [fact(text)[0] for text in FACTS if text.endswith(" is_a kind1")]
        self.assertEqual(len(kin), THINGS // 6)
        for relation, side, place in (("lives_in", "tail", 0), ("eats", "tail", 0), ("eats", "head", 2)):
            have = {fact(text)[place] for text in FACTS if fact(text)[1] == relation} & set(kin)
            rows = [row for row in found if (row["relation"], row["side"]) == (relation, side)]
            if not have:
                self.assertEqual(rows, [])
                continue
            self.assertEqual(rows[0]["similar"], len(kin))
            self.assertAlmostEqual(rows[0]["share"], len(have) / len(kin))
            self.assertLessEqual(set(rows[0]["examples"]), have)
            self.assertTrue(rows[0]["examples"])
        self.assertNotIn(("is_a", "tail"), [(row["relation"], row["side"]) for row in found])
        self.assertEqual([row["share"] for row in found], sorted((row["share"] for row in found), reverse=True))

    def test_missing_of_a_known_entity(self) -> None:
        found = self.server.post("/v1/missing", {"entity": "thing2", "k": 1})["missing"]
        self.assertEqual([(row["relation"], row["side"]) for row in found], [("eats", "tail")])


@dataclass(frozen=True)
class Refused:
    name: str
    status: int
    pattern: str
    method: str
    path: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()


JSON = (("Content-Type", "application/json"),)


@cases([
    Refused("no such path", 404, "expected a path of the API, found '/v2'", "GET", "/v2"),
    Refused("no name", 404, "expected a path of the API", "GET", "/v1/entities/"),
    Refused("slash in a name", 404, "expected a path of the API", "GET", "/v1/entities/a/b"),
    Refused("wrong method", 405, "expected GET, HEAD, OPTIONS, found 'DELETE'", "DELETE", "/v1/model"),
    Refused("method that nobody knows", 405, "found 'BREW'", "BREW", "/v1/model"),
    Refused("unknown parameter", 400, "expected a parameter of this operation, found 'prefx'", "GET", "/v1/entities?prefx=a"),
    Refused("parameter twice", 400, "`limit`: expected it once", "GET", "/v1/entities?limit=1&limit=2"),
    Refused("limit of 0", 400, "`limit`: expected a whole number of 1 to 100, found '0'", "GET", "/v1/entities?limit=0"),
    Refused("limit of no number", 400, "`limit`: .* found 'ten'", "GET", "/v1/entities?limit=ten"),
    Refused("percent sign alone", 400, "query: expected two hexadecimal digits", "GET", "/v1/entities?prefix=%1"),
    Refused("percent sign in a name", 400, "path: expected a name of at most", "GET", "/v1/entities/a%g1"),
    Refused("NUL in a name", 400, "target: expected no NUL, found %00", "GET", "/v1/entities/a%00"),
    Refused("NUL in a path", 400, "target: expected no NUL, found %00", "GET", "/v1/model%00"),
    Refused("NUL in a query", 400, "target: expected no NUL, found %00", "GET", "/v1/entities?prefix=%00a"),
    Refused("NUL of OPTIONS", 400, "target: expected no NUL, found %00", "OPTIONS", "/v1/entities/%00"),
    Refused("long name", 400, "path: expected a name of at most 4096 bytes", "GET", "/v1/entities/" + "a" * 4097),
    Refused("long prefix", 400, "`prefix`: expected at most 4096 bytes", "GET", "/v1/entities?prefix=" + "a" * 4097),
    Refused("what it does not answer with", 406, "Accept: expected application/json, found 'text/html'", "GET", "/v1/model", None, (("Accept", "text/html"),)),
    Refused("body of GET", 413, "expected a body of at most 0 bytes", "GET", "/v1/model", b"{}"),
    Refused("no type", 415, "Content-Type: expected application/json, found none", "POST", "/v1/predict", b"{}"),
    Refused("wrong type", 415, "Content-Type: expected application/json, found 'text/plain'", "POST", "/v1/predict", b"{}", (("Content-Type", "text/plain"),)),
    Refused("type of facts", 415, "expected application/json, application/x-ndjson, .* or application/rdf-patch", "POST", "/v1/facts", b"{}", (("Content-Type", "text/turtle"),)),
    Refused("packed body", 415, "Content-Encoding: expected none, found 'gzip'", "POST", "/v1/predict", b"{}", (*JSON, ("Content-Encoding", "gzip"))),
    Refused("no body", 400, "expected JSON", "POST", "/v1/predict", b"", JSON),
    Refused("no JSON", 400, "expected JSON, found that", "POST", "/v1/predict", b"{entity}", JSON),
    Refused("more behind the JSON", 400, "expected JSON, found that", "POST", "/v1/predict", b"{} {}", JSON),
    Refused("member twice", 400, "expected JSON, found that 'duplicate", "POST", "/v1/predict", b'{"k": 1, "k": 2}', JSON),
    Refused("no UTF-8", 400, "expected JSON", "POST", "/v1/predict", b'{"entity": "\xff"}', JSON),
    Refused("a list", 422, "`body`: expected an object, found an array|`body`: expected an object", "POST", "/v1/predict", []),
    Refused("unknown member", 422, "expected a member entity, facts, .*, no_echo or requests, found 'entitty'", "POST", "/v1/predict", {"entitty": "a"}),
    Refused("nobody", 422, "expected `entity`, or `facts` of a new one, found neither", "POST", "/v1/predict", {}),
    Refused("unknown entity", 422, "`entity`: expected an entity of the graph, found 'thng1', did you mean 'thing1'", "POST", "/v1/predict", {"entity": "thng1"}),
    Refused("unknown relation", 422, "`relation`: expected one of the model, found 'eat', did you mean 'eats'", "POST", "/v1/predict", {"entity": "thing1", "relation": "eat"}),
    Refused("wrong side", 422, "`side`: expected head, tail or both, found 'left'", "POST", "/v1/predict", {"entity": "thing1", "side": "left"}),
    Refused("k of 0", 422, "`k`: expected 1 to 1000, found 0", "POST", "/v1/predict", {"entity": "thing1", "k": 0}),
    Refused("negative k", 422, "`k`: expected 1 to 1000, found -1", "POST", "/v1/predict", {"entity": "thing1", "k": -1}),
    Refused("k of no number", 422, "`k`: expected a whole number, found a string", "POST", "/v1/predict", {"entity": "thing1", "k": "3"}),
    Refused("k of a fraction", 422, "`k`: expected a whole number", "POST", "/v1/predict", {"entity": "thing1", "k": 1.5}),
    Refused("probability too large", 422, "`min_probability`: expected 0 to 1, found 2", "POST", "/v1/predict", {"entity": "thing1", "min_probability": 2}),
    Refused("flag of no truth", 422, "`no_echo`: expected true or false", "POST", "/v1/predict", {"entity": "thing1", "no_echo": 1}),
    Refused("empty name", 422, "`entity`: expected 1 to 4096 bytes, found 0", "POST", "/v1/predict", {"entity": ""}),
    Refused("fact of two", 422, r"`facts\[0\]`: expected head, relation and tail, found 2 elements", "POST", "/v1/predict", {"facts": [["a", "b"]]}),
    Refused("fact of numbers", 422, r"`facts\[1\].tail`: expected a string", "POST", "/v1/predict", {"facts": [["a", "is_a", "kind1"], ["a", "b", 3]]}),
    Refused("no facts", 422, "expected", "POST", "/v1/predict", {"facts": []}),
    Refused("facts without a known end", 422, "expected", "POST", "/v1/predict", {"facts": [["a", "is_a", "b"]]}),
    Refused("facts of an entity that is known", 422, "`entity`: expected one that is new, found 'thing1', which is in the graph", "POST", "/v1/predict", {"entity": "thing1", "facts": [["thing1", "is_a", "kind1"]]}),
    Refused("facts of two", 422, "`entity`: expected one of the 2 new entities in `facts`, such as 'a', found none", "POST", "/v1/predict", {"facts": [["a", "is_a", "kind1"], ["b", "is_a", "kind1"]]}),
    Refused("batch of none", 422, "`requests`: expected 1 to 256 elements, found 0", "POST", "/v1/predict", {"requests": []}),
    Refused("batch and more", 422, "expected a member requests, found 'k'", "POST", "/v1/predict", {"requests": [{}], "k": 3}),
    Refused("compaction with a member", 422, "expected no members, found 'epochs'", "POST", "/v1/compactions", {"epochs": 1}),
    Refused("explain without relation", 422, "expected `relation`, found none", "POST", "/v1/explain", {"entity": "thing1", "answer": "thing2"}),
    Refused("explain without answer", 422, "expected `answer`, found none", "POST", "/v1/explain", {"entity": "thing1", "relation": "eats"}),
    Refused("explain both sides", 422, "`side`: expected head or tail, found both", "POST", "/v1/explain", {"entity": "thing1", "relation": "eats", "answer": "thing2", "side": "both"}),
    Refused("explain an unknown answer", 422, "`answer`: expected an entity of the graph", "POST", "/v1/explain", {"entity": "thing1", "relation": "eats", "answer": "thing"}),
    Refused("embed a side of nothing", 422, "`side`: expected `relation` beside it", "POST", "/v1/embed", {"entity": "thing1", "side": "head"}),
    Refused("neighbors of nobody", 422, "expected `entity`", "POST", "/v1/neighbors", {"k": 3}),
    Refused("missing of nobody", 422, "expected `entity`", "POST", "/v1/missing", {}),
    Refused("entity without facts", 422, "expected `facts`, found none", "PUT", "/v1/entities/a", {}),
    Refused("facts of others", 422, r"`facts\[0\]`: expected a fact with 'a' at one end", "PUT", "/v1/entities/a", {"facts": [["b", "is_a", "kind1"]]}),
    Refused("changes of nothing", 422, "expected `add` or `remove`, found neither", "PATCH", "/v1/entities/a", {}),
    Refused("changes of others", 422, r"`remove\[0\]`: expected a fact with 'a' at one end", "PATCH", "/v1/entities/a", {"remove": [["b", "is_a", "kind1"]]}),
    Refused("removal of nobody", 404, "expected an entity of the graph, found 'nobody'", "DELETE", "/v1/entities/nobody"),
    Refused("key as a source", 422, "`source`: expected one that does not begin with idempotency:", "POST", "/v1/facts", {"add": [], "source": "idempotency:a", "offset": 1}),
    Refused("source twice", 422, "`source`: expected it once, found it in the query and in the body", "POST", "/v1/facts?source=a&offset=1", {"add": [], "source": "a", "offset": 1}),
    Refused("long name in TSV", 422, "expected names of at most 4096 bytes, found 4097", "POST", "/v1/facts", b"a\tis_a\t" + b"b" * 4097 + b"\n", (("Content-Type", "text/tab-separated-values"),)),
    Refused("name in TSV that is not UTF-8", 422, "expected names in UTF-8, found", "POST", "/v1/facts", b"a\tis_a\tkind1\n\xff\tis_a\tkind1\n", (("Content-Type", "text/tab-separated-values"),)),
    Refused("path that is not UTF-8", 422, "path: expected names in UTF-8", "PUT", "/v1/entities/%FF", {"facts": []}),
    Refused("too many changes of NDJSON", 422, "expected at most 100000 facts", "POST", "/v1/facts", b'{"add":["a","is_a","b"]}\n' * 100001, (("Content-Type", "application/x-ndjson"),)),
    Refused("entry that is not there", 422, "`since`: expected an entry of the log, up to 0, found 1", "GET", "/v1/changes?since=1"),
    Refused("type of no weight", 406, "Accept: expected application/json", "GET", "/v1/model", None, (("Accept", "*/*, application/json;q=0"),)),
    Refused("neighbors too many", 422, "`requests`: expected a sum of `k` of at most 20000, found 21000", "POST", "/v1/neighbors", {"requests": [{"entity": "thing1", "k": 1000}] * 21}),
    Refused("facts of an unknown relation", 422, r"^`add\[1\]`: expected a relation of the model, found 'likes'", "POST", "/v1/facts", {"add": [["a", "is_a", "b"], ["a", "likes", "b"]]}),
    Refused("source without offset", 422, "expected `source` and `offset` together", "POST", "/v1/facts", {"add": [], "source": "x"}),
    Refused("tab in a name", 422, "expected a name without NUL, tab and newline", "POST", "/v1/facts", {"add": [["a\tb", "is_a", "kind1"]]}),
    Refused("key and source", 400, "Idempotency-Key: expected", "POST", "/v1/facts", {"add": [], "source": "x", "offset": 1}, (("Idempotency-Key", "k"),)),
    Refused("too many changes", 422, "expected at most 100000 facts", "POST", "/v1/facts", b"a\tis_a\tb\n" * 100001, (("Content-Type", "text/tab-separated-values"),)),
    Refused("bad line of NDJSON", 400, "expected JSON", "POST", "/v1/facts", b'{"add": ["a", "is_a", "b"]}\nx\n', (("Content-Type", "application/x-ndjson"),)),
    Refused("line of NDJSON with both", 422, "expected `add` or `remove`, found both", "POST", "/v1/facts", b'{"add": ["a", "is_a", "b"], "remove": ["a", "is_a", "b"]}', (("Content-Type", "application/x-ndjson"),)),
    Refused("bad line of TSV", 422, "expected", "POST", "/v1/facts", b"a\tis_a\n", (("Content-Type", "text/tab-separated-values"),)),
    Refused("patch that is given up", 422, "expected transactions that are committed, found TA", "POST", "/v1/facts", b"TX .\nA <http://e.org/a> <http://e.org/r> <http://e.org/c> .\nTA .\n", (("Content-Type", "application/rdf-patch"),)),
    Refused("event of no number", 400, "Last-Event-ID: expected the number of an entry, found 'x'", "GET", "/v1/changes", None, (("Last-Event-ID", "x"),)),
    Refused("file that is not there", 404, "expected a file of the page, found 'passwd'", "GET", "/web/passwd"),
    Refused("file above the page", 404, "expected a file of the page", "GET", "/web/../../etc/passwd"),
])
class TestRefused(Served):
    """What is wrong is refused with what was expected, and changes nothing."""

    def check(self, row: Refused) -> None:
        answer = self.refuse_request(row.status, row.pattern, row.method, row.path, row.body, **dict(row.headers))
        if row.status == 405:
            self.assertEqual(answer.headers["Allow"], "GET, HEAD, OPTIONS")
        about = self.model()
        self.assertEqual((about["log"], about["facts"]), (0, len(FACTS)))


class TestChanges(Served):
    """Facts that come and go."""

    def test_add_and_remove(self) -> None:
        before = self.model()
        added = self.server.post("/v1/facts", {"add": [["dodo", "is_a", "kind1"], ["dodo", "eats", "thing1"]]})
        self.assertEqual(counts(added), {"added": 2, "entities_added": 1})
        about = self.model()
        self.assertEqual((about["log"], about["facts"]), (added["log"], before["facts"] + 2))
        found = self.server.get("/v1/entities/dodo").json
        self.assertEqual((found["known"], found["facts"], found["log"]), (False, 2, added["log"]))
        self.assertEqual(self.server.post("/v1/predict", {"entity": "dodo"})["facts"], 2)
        again = self.server.post("/v1/facts", {"add": [["dodo", "is_a", "kind1"]], "remove": [["dodo", "is_a", "kind2"]]})
        self.assertEqual(counts(again), {"repeated": 1, "missing": 1})
        gone = self.server.post("/v1/facts", {"remove": [["dodo", "is_a", "kind1"], ["dodo", "eats", "thing1"]]})
        self.assertEqual(counts(gone), {"removed": 2, "entities_removed": 1})
        self.assertEqual(self.server.get("/v1/entities/dodo").status, 404)
        self.assertEqual(self.model()["facts"], before["facts"])

    def test_formats(self) -> None:
        """The same facts in each format."""
        for kind, text in (
            ("text/tab-separated-values", "emu\tis_a\tkind1\nemu\teats\tthing2\n"),
            ("text/tab-separated-values; charset=utf-8", "emu\tis_a\tkind1\r\nemu\teats\tthing2"),
            ("application/x-ndjson", '{"add": ["emu", "is_a", "kind1"]}\n\n{"add": ["emu", "eats", "thing2"]}\n'),
            ("application/json", '{"add": [["emu", "is_a", "kind1"], ["emu", "eats", "thing2"]]}'),
        ):
            answer = self.server.ask("POST", "/v1/facts", text.encode(), {"Content-Type": kind})
            self.assertEqual((answer.status, counts(answer.json)), (200, {"added": 2, "entities_added": 1}), answer)
            links = sorted(self.server.get("/v1/entities/emu").json["links"])
            self.assertEqual(links, [["emu", "eats", "thing2"], ["emu", "is_a", "kind1"]])
            self.assertEqual(self.server.ask("DELETE", "/v1/entities/emu").status, 200)

    def test_order_of_ndjson(self) -> None:
        """Of two changes of a fact the later one counts."""
        text = b'{"add": ["kiwi", "is_a", "kind1"]}\n{"remove": ["kiwi", "is_a", "kind1"]}\n'
        answer = self.server.ask("POST", "/v1/facts", text, {"Content-Type": "application/x-ndjson"})
        self.assertEqual(counts(answer.json), {"missing": 1})

    def test_rdf_patch(self) -> None:
        patch = b"TX .\nD <http://e.org/a> <http://e.org/r> <http://e.org/b> .\nTC .\n"
        answer = self.server.ask("POST", "/v1/facts", patch, {"Content-Type": "application/rdf-patch"})
        self.assertEqual((answer.status, counts(answer.json)), (200, {"removed": 1}), answer)
        patch = b"A <http://e.org/a> <http://e.org/r> <http://e.org/b> .\n"
        answer = self.server.ask("POST", "/v1/facts", patch, {"Content-Type": "application/rdf-patch"})
        self.assertEqual(counts(answer.json), {"added": 1})

    def test_n_triples(self) -> None:
        lines = b'<http://owl> <http://e.org/r> <http://e.org/a> .\n<http://owl> <http://e.org/r> "a literal" .\n'
        answer = self.server.ask("POST", "/v1/facts", lines, {"Content-Type": "application/n-triples"})
        self.assertEqual((answer.status, counts(answer.json)), (200, {"added": 1, "unknown": 1, "entities_added": 1}), answer)
        path = "/v1/entities/http%3A%2F%2Fowl"
        self.assertEqual(self.server.get(path).json["links"], [["http://owl", "http://e.org/r", "http://e.org/a"]])
        self.server.ask("DELETE", path)

    def test_names(self) -> None:
        """Names with anything in them come back as they went in."""
        for name in ("a b", "a/b?c&d=e", "100%", "<script>", '"\'\\', "日本語", "שלום", "a+b", "x" * 2000, "..", "\u2028"):
            path = "/v1/entities/" + urllib.parse.quote(name, safe="")
            put = self.server.ask("PUT", path, {"facts": [[name, "is_a", "kind1"]]})
            self.assertEqual(put.status, 201, put)
            found = self.server.get(path).json
            self.assertEqual((found["entity"], found["links"]), (name, [[name, "is_a", "kind1"]]))
            listed = self.server.get("/v1/entities?prefix=" + urllib.parse.quote_plus(name)).json
            self.assertIn({"name": name, "facts": 1}, listed["entities"])
            predicted = self.server.post("/v1/predict", {"entity": name, "k": 1})
            self.assertEqual(predicted["entity"], name)
            self.assertEqual(self.server.ask("DELETE", path).status, 200)

    def test_put(self) -> None:
        """PUT makes the facts exactly these."""
        path = "/v1/entities/moa"
        made = self.server.ask("PUT", path, {"facts": [["moa", "is_a", "kind1"], ["moa", "eats", "thing3"]]})
        self.assertEqual((made.status, counts(made.json)), (201, {"added": 2, "entities_added": 1}))
        changed = self.server.ask("PUT", path, {"facts": [["moa", "is_a", "kind1"], ["thing4", "eats", "moa"]]})
        self.assertEqual(changed.status, 200)
        self.assertEqual((changed.json["added"], changed.json["removed"]), (1, 1))
        links = sorted(self.server.get(path).json["links"])
        self.assertEqual(links, [["moa", "is_a", "kind1"], ["thing4", "eats", "moa"]])
        self.assertEqual(self.server.ask("PUT", path, {"facts": []}).json["removed"], 2)
        self.assertEqual(self.server.get(path).status, 404)

    def test_put_again(self) -> None:
        """What stays is not told as a change, and tags are those of what it has become."""
        path, facts = "/v1/entities/kea", [["kea", "is_a", "kind1"], ["kea", "eats", "thing3"], ["thing5", "eats", "kea"]]
        self.server.ask("PUT", path, {"facts": facts})
        before = self.model()["log"]
        same = self.server.ask("PUT", path, {"facts": facts[::-1]})
        self.assertEqual((counts(same.json), same.json["log"]), ({"repeated": 3}, before))
        self.assertEqual(same.headers["ETag"], self.server.get(path).headers["ETag"])
        other = self.server.ask("PUT", path, {"facts": facts[:2]}, {"If-Match": same.headers["ETag"]})
        self.assertEqual((counts(other.json), other.json["log"]), ({"repeated": 2, "removed": 1}, before + 1))
        patched = self.server.ask("PATCH", path, {"add": facts[2:]}, {"If-Match": other.headers["ETag"]})
        self.assertEqual(patched.headers["ETag"], same.headers["ETag"])
        unchanged = self.server.post("/v1/facts", {"remove": facts, "add": facts})
        self.assertEqual((counts(unchanged), unchanged["log"]), ({"repeated": 3}, patched.json["log"]))
        self.server.ask("DELETE", path)

    def test_fact_with_itself(self) -> None:
        path, facts = "/v1/entities/kiwi", [["kiwi", "eats", "kiwi"], ["kiwi", "is_a", "kind1"]]
        self.server.ask("PUT", path, {"facts": facts})
        found = self.server.get(path).json
        self.assertEqual((found["facts"], sorted(found["links"])), (2, facts))
        self.assertEqual(self.server.ask("DELETE", path).json["removed"], 2)
        self.assertEqual(self.server.get(path).status, 404)

    def test_similar_relations(self) -> None:
        """In all formats."""
        for kind, body in (
            ("application/json", b'{"add": [["a", "eat", "b"]]}'),
            ("application/x-ndjson", b'{"add": ["a", "eat", "b"]}'),
            ("text/tab-separated-values", tsv("a eat b")),
            ("application/n-triples", b"<http://e.org/a> <http://e.org/q> <http://e.org/b> ."),
        ):
            answer = self.refuse_request(422, "expected a relation of the model", "POST", "/v1/facts", body, Content_Type=kind)
            self.assertIn("http://e.org/r" if b"q>" in body else "eats", answer.json["similar"])
            self.assertEqual(answer.json.get("line"), None if kind.endswith("/json") else 1)

    def test_patch(self) -> None:
        path = "/v1/entities/rhea"
        self.server.ask("PUT", path, {"facts": [["rhea", "is_a", "kind1"]]})
        changed = self.server.ask("PATCH", path, {"add": [["rhea", "eats", "thing3"]], "remove": [["rhea", "is_a", "kind1"]]})
        self.assertEqual((changed.status, counts(changed.json)), (200, {"added": 1, "removed": 1}))
        self.assertEqual(self.server.get(path).json["links"], [["rhea", "eats", "thing3"]])
        self.server.ask("DELETE", path)

    def test_key_in_utf8(self) -> None:
        """A key is a text."""
        body = {"add": [["thing1", "is_a", "kind1"]]}
        for key, found in (("\xff\xfe", "Idempotency-Key: expected UTF-8, found '"), ("a\xc3", "Idempotency-Key: expected UTF-8, found 'a")):
            self.refuse_request(400, found, "POST", "/v1/facts", body, Idempotency_Key=key)
        self.assertEqual(self.server.ask("POST", "/v1/facts", body, {"Idempotency-Key": "Schl\xc3\xbcssel"}).status, 200)

    def test_query_of_the_page(self) -> None:
        """The page is there whatever its link was given on its way, the API's paths are strict."""
        plain = self.server.get("/")
        for query in ("?x=1", "?", "?a&b=%20", "?x=%zz"):
            self.assertEqual(self.server.get("/" + query).body, plain.body)
        self.refuse_request(400, "expected a parameter of this operation, found 'x'", "GET", "/v1/model?x=1")

    def test_preconditions(self) -> None:
        """If-Match and If-None-Match keep one from overwriting what another has changed."""
        path = "/v1/entities/auk"
        body = {"facts": [["auk", "is_a", "kind1"]]}
        self.refuse_request(412, "If-Match: expected an entity that is there, found none", "PUT", path, body, If_Match="*")
        self.assertEqual(self.server.ask("PUT", path, body, {"If-None-Match": "*"}).status, 201)
        self.refuse_request(412, "If-None-Match: expected an entity that is not there", "PUT", path, body, If_None_Match="*")
        etag = self.server.get(path).headers["ETag"]
        more = {"add": [["auk", "eats", "thing1"]]}
        self.refuse_request(412, "If-Match: expected", "PATCH", path, more, If_Match=f"W/{etag}")
        self.assertEqual(self.server.ask("PATCH", path, more, {"If-Match": etag}).status, 200)
        self.refuse_request(412, "If-Match: expected", "PATCH", path, {"remove": [["auk", "is_a", "kind1"]]}, If_Match=etag)
        self.refuse_request(412, "If-Match: expected", "DELETE", path, If_Match=etag)
        less = {"remove": [["auk", "eats", "thing1"]]}
        self.assertEqual(self.server.ask("PATCH", path, less).status, 200)
        self.assertEqual(self.server.get(path).headers["ETag"], etag)  # the same facts, the same tag
        self.assertEqual(self.server.ask("DELETE", path, headers={"If-Match": f'"other", {etag}'}).status, 200)

    def test_own_entity_without_facts(self) -> None:
        """The model's own entities stay, whatever becomes of their facts."""
        links = self.server.get("/v1/entities/thing50").json["links"]
        self.assertEqual(self.server.ask("DELETE", "/v1/entities/thing50").json["removed"], len(links))
        found = self.server.get("/v1/entities/thing50").json
        self.assertEqual((found["known"], found["facts"], found["links"]), (True, 0, []))
        self.assertEqual(self.server.ask("PUT", "/v1/entities/thing50", {"facts": links}).status, 200)

    def test_sources(self) -> None:
        """A place in a source counts once."""
        body = {"add": [["lory", "is_a", "kind1"]], "source": "stream", "offset": 7}
        self.assertEqual(counts(self.server.post("/v1/facts", body))["added"], 1)
        self.server.ask("DELETE", "/v1/entities/lory")
        self.assertEqual(counts(self.server.post("/v1/facts", body)), {"skipped": 1})
        headers = {"Content-Type": "text/tab-separated-values"}
        later = self.server.ask("POST", "/v1/facts?source=stream&offset=8", tsv("lory is_a kind1"), headers)
        self.assertEqual(counts(later.json)["added"], 1)
        self.server.ask("DELETE", "/v1/entities/lory")

    def test_idempotency(self) -> None:
        """A request that is sent twice with a key counts once; another body with it is refused."""
        body = json.dumps({"add": [["rail", "is_a", "kind1"]]}).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": "key 1"}
        start = self.model()["log"]
        first = self.server.ask("POST", "/v1/facts", body, headers)
        self.assertEqual((first.status, counts(first.json)["added"]), (200, 1))
        told = Events(self.server, f"/v1/changes?since={start}").wait_for("change", 1)[0]["data"]
        self.assertEqual((told["source"], told["offset"]), ("idempotency:key 1", None))
        self.server.ask("DELETE", "/v1/entities/rail")
        again = self.server.ask("POST", "/v1/facts", body, headers)
        self.assertEqual((again.status, counts(again.json)), (200, {"skipped": 1}))
        for other in (b'{"add": [["rail", "is_a", "kind2"]]}', b'{"add": [["rail", "is_a", "kind3"]]}'):
            answer = self.server.ask("POST", "/v1/facts", other, headers)
            self.assertEqual(answer.status, 409)
            self.assertRegex(answer.detail, "another body")
        self.assertEqual(self.server.get("/v1/entities/rail").status, 404)

    def test_stream(self) -> None:
        """Changes are told in their order, from anywhere in the log."""
        start = self.model()["log"]
        live = Events(self.server, "/v1/changes")
        self.assertEqual(live.response.getheader("Content-Type"), "text/event-stream")
        live.wait_for("generation", 1)
        self.assertEqual((live.events[0]["event"], live.events[0]["id"]), ("generation", str(start)))
        self.server.post("/v1/facts", {"add": [["gull", "is_a", "kind1"]], "source": "s", "offset": 3})
        self.server.post("/v1/facts", {"add": [["gull", "eats", "thing1"]]})
        self.server.ask("DELETE", "/v1/entities/gull")
        found = live.wait_for("change", 4)
        self.assertEqual([event["data"]["operation"] for event in found], ["A", "A", "D", "D"])
        self.assertEqual([int(event["id"]) for event in found], list(range(start + 1, start + 5)))
        first = found[0]["data"]
        self.assertEqual((first["fact"], first["source"], first["offset"]), (["gull", "is_a", "kind1"], "s", 3))
        self.assertIsNone(found[1]["data"]["source"])
        since = Events(self.server, f"/v1/changes?since={start}")
        again = since.wait_for("change", 4)
        self.assertEqual((since.events[0]["event"], since.events[0]["id"]), ("generation", str(start)))
        self.assertEqual([event["data"] for event in again], [event["data"] for event in found])
        resumed = Events(self.server, "/v1/changes?since=0", Last_Event_ID=str(start + 3)).wait_for("change", 1)
        self.assertEqual(resumed[0]["data"], found[3]["data"])
        live.close()

    def test_stream_again(self) -> None:
        """A client that was cut off before the first change misses none when it comes again."""
        first = Events(self.server, "/v1/changes")
        seen = first.wait_for("generation", 1)[0]["id"]
        first.close()
        self.server.post("/v1/facts", {"add": [["tern", "is_a", "kind1"]]})
        again = Events(self.server, "/v1/changes", Last_Event_ID=seen).wait_for("change", 1)
        self.assertEqual(again[0]["data"]["fact"], ["tern", "is_a", "kind1"])
        self.server.ask("DELETE", "/v1/entities/tern")

    def test_many_events(self) -> None:
        """More than a buffer holds."""
        start = self.model()["log"]
        names = [f"flock{i}-{'x' * 400}" for i in range(3000)]
        added = self.server.post("/v1/facts", {"add": [[name, "is_a", "kind1"] for name in names]})
        self.assertEqual(added["added"], len(names))
        found = Events(self.server, f"/v1/changes?since={start}").wait_for("change", len(names))
        self.assertEqual({event["data"]["fact"][0] for event in found}, set(names))
        self.assertEqual([int(event["id"]) for event in found], list(range(start + 1, start + 1 + len(names))))
        self.server.post("/v1/facts", {"remove": [[name, "is_a", "kind1"] for name in names]})

    def test_body_without_length(self) -> None:
        """Chunks are refused before they are read, and with them their connection."""
        for path, coding in (("/v1/predict", "chunked"), ("/v1/facts", "Chunked"), ("/v1/model", "chunked"), ("/nothing", "chunked")):
            connection = self.server.connect()
            headers = {"Content-Type": "application/json", "Transfer-Encoding": coding}
            connection.request("POST", path, headers=headers)
            response = connection.getresponse()
            self.assertEqual((response.status, response.getheader("Connection")), (411, "close"))
            problem = json.load(response)
            self.assertEqual((problem["status"], problem["title"]), (411, "Length Required"))
            self.assertEqual(problem["detail"], "expected Content-Length, found Transfer-Encoding")
            connection.close()


class TestPage(Served):
    """The page's files, and what browsers are told about them."""

    def test_page(self) -> None:
        page = self.server.get("/")
        self.assertEqual((page.status, page.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
        self.assertEqual(page.headers["X-Content-Type-Options"], "nosniff")
        again = self.server.get("/", If_None_Match=page.headers["ETag"])
        self.assertEqual((again.status, again.body), (304, b""))
        self.assertEqual(self.server.get("/web/index.html").body, page.body)

    def test_types(self) -> None:
        for name, kind in (("main.js", "text/javascript"), ("page.css", "text/css"), ("vendor/htm-preact.js", "text/javascript")):
            found = self.server.get(f"/web/{name}")
            self.assertEqual(found.headers["Content-Type"], f"{kind}; charset=utf-8")


class TestDescription(Served):
    """openapi.json says what is there."""

    def test_examples_of_lines(self) -> None:
        """Those of TSV and of lines of JSON have names of the graph, and can be sent as they stand."""
        schemas = self.server.get("/openapi.json").json["components"]["schemas"]
        for kind, schema in (("text/tab-separated-values", "TsvFacts"), ("application/x-ndjson", "ChangeLines")):
            for example in schemas[schema]["examples"]:
                self.assertIn("something new", example)
                answer = self.server.ask("POST", "/v1/facts", example.encode(), {"Content-Type": kind})
                self.assertEqual((answer.status, answer.json["added"]), (200, 1), answer)
            self.assertEqual(self.server.ask("DELETE", "/v1/entities/something%20new").status, 200)

    def test_references(self) -> None:
        """All references lead somewhere, and no limit was left without its number."""
        text = self.server.get("/openapi.json").body.decode()
        document = json.loads(text)

        def walk(value: Any) -> None:
            if isinstance(value, dict):
                if "$ref" in value:
                    place = document
                    for part in value["$ref"].split("/")[1:]:
                        place = place[part]
                for one in value.values():
                    walk(one)
            elif isinstance(value, list):
                for one in value:
                    walk(one)
            else:
                self.assertFalse(isinstance(value, str) and value.startswith("$"), value)

        walk(document)
        self.assertEqual(document["openapi"], "3.1.0")
        question = document["components"]["schemas"]["PredictQuestion"]["properties"]
        self.assertEqual(question["k"]["maximum"], self.model()["limits"]["k"])

    def test_operations(self) -> None:
        """Each described path is there, and each operation has an identifier of its own."""
        paths = self.server.get("/openapi.json").json["paths"]
        names = [operation["operationId"] for path in paths.values() for operation in path.values()]
        self.assertEqual(len(names), len(set(names)))
        for path, operations in paths.items():
            found = self.server.ask("OPTIONS", path.replace("{", "").replace("}", ""))
            self.assertEqual(found.status, 204)
            allowed = set(found.headers["Allow"].split(", ")) - {"OPTIONS", "HEAD"}
            self.assertEqual({name.upper() for name in operations}, allowed)
