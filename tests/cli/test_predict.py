"""kgraft predict: lists against a slow twin, and against the ranks of kgraft eval."""

from __future__ import annotations

import json
import math
import re
import struct
import unicodedata
import unittest
from dataclasses import dataclass
from typing import Any

from grafted import AGGREGATES, GRAFT, MODELS, PROPAGATION, Fact, Grafted, Twin, as_tsv, rank_in
from kgraft import Case, cases, environment, is_sanitized, numbers_of_data, tsv, unpacked_data, zipped
from test_train import SMALL_PROPAGATION

ALL = "1000000"


@dataclass(frozen=True)
class Setting:
    model: str
    aggregate: str
    training: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.model}, {self.aggregate}" + (", propagation" if self.training == PROPAGATION else "")


SETTINGS = [Setting(model, aggregate) for model in MODELS for aggregate in AGGREGATES]


def as_float(number: float) -> float:
    """As single precision holds it."""
    return struct.unpack("f", struct.pack("f", number))[0]


@cases(SETTINGS)
class Lists(Grafted):
    """Every list of every new entity is that of the twin."""

    def check(self, row: Setting) -> None:
        self.prepare("--model", row.model)
        twin = Twin.read(self.folder / "model")
        new_entities = self.new_entities()
        words = ("model", "facts.tsv", "--aggregate", row.aggregate, "-k", ALL, "--keep-known")
        relation = "r1"
        found = self.ask("predict", *words, "--relation", relation)
        self.assertEqual(found["model"], "model")
        self.assertEqual([about["entity"] for about in found["entities"]], list(new_entities))
        for about in found["entities"]:
            facts = new_entities[about["entity"]]
            self.assertEqual((about["facts"], about["new"]), (len(set(facts)), True))
            size = len(twin.entities)
            self.assertEqual(len(about["answers"]), 2 * size)
            for side, answers in ("tail", about["answers"][:size]), ("head", about["answers"][size:]):
                self.check_list(twin, answers, about["entity"], facts, row.aggregate, relation, side)

    def check_list(
        self, twin: Twin, answers: Any, entity: str, facts: list[Fact], aggregate: str, relation: str, side: str
    ) -> None:
        """What is known already scores as if it were not."""
        vector = twin.embed(entity, facts, aggregate)
        self.assertEqual([answer["rank"] for answer in answers], list(range(1, len(answers) + 1)))
        self.assertEqual({answer["entity"] for answer in answers}, set(twin.entities))
        scores = [answer["score"] for answer in answers]
        self.assertEqual(scores, sorted(scores, reverse=True))
        size = max(map(abs, scores))
        order = {name: i for i, name in enumerate(twin.entities)}
        for before, after in zip(answers, answers[1:]):
            if before["score"] == after["score"]:
                self.assertLess(order[before["entity"]], order[after["entity"]])
        for answer in answers:
            other = answer["entity"]
            link = (entity, relation, other) if side == "tail" else (other, relation, entity)
            self.assertEqual((answer["head"], answer["relation"], answer["tail"]), link)
            self.assertEqual(answer["side"], side)
            others = [fact for fact in facts if fact != link]
            own = vector if link not in facts else twin.embed(entity, others, aggregate) if others else None
            expected = 0.0 if own is None else twin.score(own, relation, side, other)
            self.assertAlmostEqual(answer["score"], expected, delta=2e-5 * size)
            probability = twin.probability(relation, side, answer["score"])
            self.assertAlmostEqual(answer["probability"], probability, delta=1e-5)
            for key in "score", "probability":
                text = f"{as_float(answer[key]):.9g}"
                self.assertEqual(float(text), answer[key])


@cases(
    [
        *SETTINGS,
        *(Setting(model, "graft", GRAFT) for model in MODELS),
        Setting("distmult", "graft", PROPAGATION),
        Setting("complex", "graft", PROPAGATION),
        Setting("distmult", "ls", PROPAGATION),
    ]
)
class AsEvaluated(Grafted):
    """An unseen entity, from all but one of its facts, ranks the other one as kgraft eval does."""

    def check(self, row: Setting) -> None:
        self.prepare("--model", row.model, *row.training)
        words = ("--aggregate", row.aggregate, "--quiet")
        self.succeed("eval", "model", "data", *words, "--ranks", "ranks.tsv")
        ranks = [line.split("\t") for line in self.read("ranks.tsv").decode().splitlines()]
        new_entities = self.new_entities()
        compared = 0
        for relation in {line[1] for line in ranks}:
            for side in "head", "tail":
                queries = [line for line in ranks if line[1:3] == [relation, side]]
                compared += self.compare(queries, new_entities, "--relation", relation, *words)
        self.assertEqual(compared, len(self.facts))
        self.assertGreater(compared, 40)

    def compare(self, queries: Any, new_entities: Any, *words: str) -> int:
        """Each query is a new entity of its own, so that one run answers all."""
        facts: list[Fact] = []
        for i, (entity, relation, side, answer, _, _) in enumerate(queries):
            asked = (entity, relation, answer) if side == "tail" else (answer, relation, entity)
            for fact in new_entities[entity]:
                if fact != asked:
                    h, r, t = fact
                    facts.append((f"{h}#{i}", r, t) if h == entity else (h, r, f"{t}#{i}"))
        if not queries:
            return 0
        self.write({"queries.tsv": as_tsv(facts)})
        found = self.ask("predict", "model", "queries.tsv", "-k", ALL, "--side", queries[0][2], *words)
        answers = {about["entity"]: about["answers"] for about in found["entities"]}
        for i, (entity, _, _, answer, rank, _) in enumerate(queries):
            self.assertEqual(rank_in(answers[f"{entity}#{i}"], answer), float(rank), queries[i])
        return len(queries)


@numbers_of_data
class AsEvaluatedOnWordNet(Case):
    """The same for some hundred queries of oWN18RR, as far as lists of 300 go."""

    QUERIES = 400
    LONGEST = 300

    def test_ranks(self) -> None:
        if is_sanitized():
            self.skipTest("a sanitizer takes too long for as much as that")
        data = unpacked_data() / "oWN18RR"
        words = ("--dim 20 --epochs 2 --validate-every 2 --seed 1 --quiet --propagation-epochs 1 "
                 "--propagation-layers 2 --propagation-width 16").split()
        self.succeed("train", data, "model", *words)
        self.succeed("eval", "model", data, "--quiet", "--ranks", "ranks.tsv")
        lines = [line.split("\t") for line in self.read("ranks.tsv").decode().splitlines()]
        facts = json.loads((data / "test.json").read_text())
        within = 0
        for (relation, side), queries in self.sample(lines).items():
            self.write({"queries.tsv": as_tsv(self.rename(queries, facts))})
            found = self.succeed(
                "predict", "model", "queries.tsv", "-k", str(self.LONGEST), "--relation", relation,
                "--side", side, "--json", "--quiet",
            ).json
            answers = {about["entity"]: about["answers"] for about in found["entities"]}
            for i, (entity, _, _, answer, rank, _) in enumerate(queries):
                listed = answers[f"{entity}#{i}"]
                if float(rank) > self.LONGEST:
                    continue  # ties at the end of the list may still be in it
                self.assertIn(answer, [row["entity"] for row in listed], queries[i])
                if listed[-1]["score"] < next(r["score"] for r in listed if r["entity"] == answer):
                    self.assertEqual(rank_in(listed, answer), float(rank), queries[i])
                    within += 1
        self.assertGreater(within, 100)

    def sample(self, lines: Any) -> dict[tuple[str, str], Any]:
        out: dict[tuple[str, str], Any] = {}
        for line in lines[:: len(lines) // self.QUERIES]:
            out.setdefault((line[1], line[2]), []).append(line)
        return out

    def rename(self, queries: Any, facts: Any) -> list[Fact]:
        out: list[Fact] = []
        for i, (entity, relation, side, answer, _, _) in enumerate(queries):
            asked = [entity, relation, answer] if side == "tail" else [answer, relation, entity]
            for h, r, t in facts[entity]:
                if [h, r, t] != asked:
                    out.append((f"{h}#{i}", r, t) if h == entity else (h, r, f"{t}#{i}"))
        return out


# ---------------------------------------------------------------------------------------------
# Which links are asked about


class Asked(Grafted):
    def setUp(self) -> None:
        super().setUp()
        self.twin = Twin.read(self.folder / "model")

    def predict(self, *words: Any, **options: Any) -> Any:
        return self.ask("predict", "model", *words, **options)

    def test_known_answers_are_left_out(self) -> None:
        known = set(self.facts)
        relation = self.facts[0][1]
        kept = self.predict("facts.tsv", "--relation", relation, "-k", ALL, "--keep-known")
        left = self.predict("facts.tsv", "--relation", relation, "-k", ALL)
        dropped = 0
        for before, after in zip(kept["entities"], left["entities"]):
            links = [(a["head"], a["relation"], a["tail"]) for a in after["answers"]]
            expected = [(a["head"], a["relation"], a["tail"]) for a in before["answers"]]
            self.assertEqual(links, [link for link in expected if link not in known])
            dropped += len(expected) - len(links)
        self.assertEqual(dropped, sum(fact[1] == relation for fact in known))

    def test_all_relations_are_merged_by_probability(self) -> None:
        merged = self.predict("facts.tsv", "-k", "60")
        lists = [
            self.predict("facts.tsv", "-k", ALL, "--relation", relation)
            for relation in self.twin.relations
        ]
        for i, about in enumerate(merged["entities"]):
            every = [answer for found in lists for answer in found["entities"][i]["answers"]]
            every.sort(key=lambda answer: -answer["probability"])
            found = [answer["probability"] for answer in about["answers"]]
            self.assertEqual(found, [answer["probability"] for answer in every[:60]])
            links = {(a["head"], a["relation"], a["tail"]): a["score"] for a in every}
            for answer in about["answers"]:
                link = (answer["head"], answer["relation"], answer["tail"])
                self.assertEqual(answer["score"], links[link])
            self.assertEqual([answer["rank"] for answer in about["answers"]], list(range(1, 61)))

    def test_a_side_of_all_relations(self) -> None:
        for side in "head", "tail":
            found = self.predict("facts.tsv", "--side", side, "-k", "40")
            for about in found["entities"]:
                self.assertEqual({answer["side"] for answer in about["answers"]}, {side})

    def test_every_link_once(self) -> None:
        """More are asked for than there are"""
        name, facts = next(iter(self.new_entities().items()))
        found = self.predict("facts.tsv", "--entity", name, "-k", ALL)["entities"]
        links = [(a["head"], a["relation"], a["tail"]) for a in found[0]["answers"]]
        possible = 2 * len(self.twin.relations) * len(self.twin.entities)
        self.assertEqual(len(links), possible - len(set(facts)))
        self.assertEqual(len(set(links)), len(links))

    def test_one_of_the_new_entities(self) -> None:
        everyone = self.predict("facts.tsv")["entities"]
        for about in everyone:
            found = self.predict("facts.tsv", "--entity", about["entity"])
            self.assertEqual(found["entities"], [about])

    def test_a_known_entity(self) -> None:
        entity = self.known[0][0]
        known = {fact for fact in self.known if entity in (fact[0], fact[2])}
        found = self.predict("--entity", entity, "-k", ALL)["entities"][0]
        self.assertEqual((found["entity"], found["new"]), (entity, False))
        for answer in found["answers"]:
            self.assertNotIn((answer["head"], answer["relation"], answer["tail"]), known)
        vector = self.twin.entities[entity]
        kept = self.predict("--entity", entity, "-k", ALL, "--keep-known")["entities"][0]
        links = {(a["head"], a["relation"], a["tail"]) for a in kept["answers"]}
        self.assertLessEqual(known, links)
        for answer in kept["answers"]:
            expected = self.twin.score(vector, answer["relation"], answer["side"], answer["entity"])
            self.assertAlmostEqual(answer["score"], expected, delta=1e-5)

    def test_threads(self) -> None:
        one = self.predict("facts.tsv", "--threads", "1")
        self.assertEqual(self.predict("facts.tsv", "--threads", "7"), one)

    def test_many_entities_in_several_calls(self) -> None:
        """An entity gets the same list among thousands as alone"""
        name, facts = next(iter(self.new_entities().items()))
        copies = [tuple(f"{n}#{i}" if n == name else n for n in f) for i in range(2100) for f in facts]
        self.write({"many.tsv": as_tsv(copies)})  # type: ignore[arg-type]
        alone = self.predict("facts.tsv", "--entity", name, "-k", "3")["entities"][0]["answers"]
        expected = [(a["relation"], a["entity"], a["score"], a["probability"]) for a in alone]
        found = self.predict("many.tsv", "-k", "3")["entities"]
        self.assertEqual([about["entity"] for about in found], [f"{name}#{i}" for i in range(2100)])
        for about in found:
            rows = [(a["relation"], a["entity"], a["score"], a["probability"]) for a in about["answers"]]
            self.assertEqual(rows, expected)

    def test_numbers_that_are_none(self) -> None:
        """A score that is none is told, not listed"""
        for value in math.nan, math.inf, 3e38:
            self.break_numbers(value)
            for relation in (), ("--relation", "r0"):
                self.refuse("predict", "model", "facts.tsv", *relation, "--quiet",
                            pattern="expected a model of finite numbers, .*kgraft check.*")

    def test_forms_of_input(self) -> None:
        """Standard input, gzip, CRLF and a byte order mark give what the file gives"""
        expected = self.predict("facts.tsv")
        content = self.read("facts.tsv")
        self.assertEqual(self.predict("-", stdin=content), expected)
        self.assertEqual(self.predict("-", stdin=content.replace(b"\n", b"\r\n")), expected)
        self.assertEqual(self.predict("-", stdin=b"\xef\xbb\xbf" + content), expected)
        self.write({"facts.tsv.gz": zipped(content)})
        self.assertEqual(self.predict("facts.tsv.gz"), expected)
        self.assertEqual(self.predict("-", stdin=content + content), expected)


# ---------------------------------------------------------------------------------------------
# What people see


class Shown(Grafted):
    def test_table(self) -> None:
        """What all rows have in common stands in the heading"""
        name, facts = next(iter(self.new_entities().items()))
        words = ("predict", "model", "facts.tsv", "--entity", name, "--relation", "r0")
        lines = self.succeed(*words, "-k", "3").stdout.decode().splitlines()
        found = self.ask(*words, "-k", "3")["entities"][0]["answers"]
        self.assertEqual(lines[0], f"{name}, {len(set(facts))} facts: -r0-> ?")
        self.assertEqual(lines[1].split(), "rank probability score answer".split())
        self.assertEqual(lines[6], f"{name}, {len(set(facts))} facts: <-r0- ?")
        for line, answer in zip(lines[2:5] + lines[8:11], found):
            rank, probability, score, entity = line.split()
            self.assertEqual((int(rank), entity), (answer["rank"], answer["entity"]))
            self.assertAlmostEqual(float(probability), answer["probability"], delta=5.1e-5)
            self.assertAlmostEqual(float(score), answer["score"], delta=5.1e-5)

    def test_several_relations(self) -> None:
        name = next(iter(self.new_entities()))
        words = ("predict", "model", "facts.tsv", "--entity", name, "-k", "60")
        lines = self.succeed(*words).stdout.decode().splitlines()
        self.assertEqual(lines[1].split(), "rank probability score relation answer".split())
        for line, answer in zip(lines[2:], self.ask(*words)["entities"][0]["answers"]):
            arrow = f"-{answer['relation']}->" if answer["side"] == "tail" else f"<-{answer['relation']}-"
            self.assertEqual(line.split()[3:], [arrow, answer["entity"]])

    def test_80_columns(self) -> None:
        """Answers are whole, lines are not longer, and nothing is lost"""
        long = "a_name_that_is_about_as_long_as_those_of_ontologies_are"
        facts = [(h, f"{r}-{long}", t) for h, r, t in self.known]
        self.write({"long.tsv": as_tsv(facts)})
        self.succeed("split", "long.tsv", "split", "--quiet")
        self.succeed("train", "split", "long", *"--dim 4 --epochs 1 --quiet".split(), *SMALL_PROPAGATION)
        words = ("predict", "long", "--entity", self.known[0][0], "-k", "60")
        plain = self.succeed(*words).stdout.decode()
        narrow = self.succeed(*words, env=environment(COLUMNS="80")).stdout.decode()
        self.assertGreater(max(map(len, plain.splitlines())), 80)
        self.assertLessEqual(max(map(len, narrow.splitlines())), 80)
        self.assertEqual(plain.split(), narrow.split())

    def test_hostile_names(self) -> None:
        """Nothing steers the terminal, and JSON is valid"""
        name = b"\x1b[31m\xff\xc2\x9b\x9b2J\x7f" + b"x" * 5000
        facts = name + b"\tr0\te1\n"
        shown = self.succeed("predict", "model", "-", stdin=facts).stdout
        self.assertIn(rb"\x1b[31m\xff\xc2\x9b\x9b2J\x7fx", shown)
        told = self.succeed("predict", "model", "-", "--json", stdin=facts).stdout
        self.assertEqual(
            json.loads(told)["entities"][0]["entity"],
            "\x1b[31m\ufffd\x9b\ufffd2J\x7f" + "x" * 5000,
        )
        refused = self.run_kgraft("predict", "model", "-", stdin=facts + b"y\tr0\t\x9b\n").stderr
        self.assertIn(rb"\x9b", refused)
        for written in shown, told, refused:
            text = written.decode()
            self.assertEqual([c for c in text if c != "\n" and unicodedata.category(c) == "Cc"], [])

    def test_what_is_left_out_is_said(self) -> None:
        facts = tsv("x r0 e1", "x r0 e1", "x r0 x", "x r9 e1", "x r0 nobody", "y r0 z")
        words = ("predict", "model", "-", "--skip-unknown", "--json")
        result = self.succeed(*words, stdin=facts)
        self.assertEqual(
            result.messages,
            ["3 facts with unknown names left out", "1 repeated fact left out",
             "1 fact of an entity with itself left out"],
        )
        self.assertEqual([about["entity"] for about in result.json["entities"]], ["x"])
        self.assertEqual(result.json["entities"][0]["facts"], 1)
        self.assertEqual(self.succeed(*words, "--quiet", stdin=facts).stderr, b"")


class Prefixes(Case):
    """IRIs are shown by the prefixes of the graph's own files, or by those that are given."""

    TURTLE = b"@prefix ex: <http://example.org/resource/> .\n@prefix o: <http://example.org/o#> .\n"
    CITY = "http://example.org/resource/City0"

    def fill(self) -> None:
        facts = "".join(
            f"ex:City{i} o:in ex:Land{i % 3} ; o:twin ex:City{(7 * i + 1) % 12} ; o:name \"{i}\" .\n" for i in range(12)
        )
        self.write({"g.ttl": self.TURTLE + facts.encode()})
        self.succeed("import", "g.ttl", "data", "--quiet")
        self.succeed("train", "data", "model", *"--dim 4 --epochs 1 --quiet".split(), *SMALL_PROPAGATION)

    def ask(self, *words: str, **options: Any) -> str:
        return self.succeed("predict", "model", "--relation", "o:in", "--side", "tail", *words, **options).stdout.decode()

    def test_of_the_data(self) -> None:
        self.assertEqual(
            json.loads(self.read("data/dataset.json"))["prefixes"],
            {"ex": "http://example.org/resource/", "o": "http://example.org/o#"},
        )
        shown = self.ask("--entity", "ex:City0")
        self.assertRegex(shown, r"^ex:City0, \d facts: -o:in-> \?\n")
        self.assertRegex(shown, r"\n +1 .* ex:\w+\n")
        self.assertNotIn("http", shown)
        self.assertEqual(shown, self.ask("--entity", self.CITY))
        words = ("--relation", "o:in", "--answer", "ex:Land1", "--entity", "ex:City0")
        explained = self.succeed("explain", "model", *words).stdout.decode()
        self.assertTrue(explained.startswith("ex:City0 -o:in-> ex:Land1\n"))
        self.assertNotIn("http", explained)

    def test_json_has_whole_names(self) -> None:
        found = json.loads(self.ask("--entity", "ex:City0", "--json"))["entities"][0]
        self.assertEqual(found["entity"], self.CITY)
        self.assertEqual(found["answers"][0]["relation"], "http://example.org/o#in")

    def test_given(self) -> None:
        """They go before those of the data; the longest that fits is taken"""
        words = ("--prefix", "e=http://example.org/", "--prefix", "r=http://example.org/resource/")
        self.assertTrue(self.ask("--entity", "r:City0", *words).startswith("r:City0,"))
        self.assertTrue(self.ask("--entity", "e:resource/City0", *words[:2]).startswith("ex:City0,"))
        for wrong in "x", "x=", "=http://x", "a b=http://x", "a:b=http://x":
            self.refuse("predict", "model", "--entity", self.CITY, "--relation", "o:in", "--prefix", wrong,
                        pattern=f"--prefix: expected NAME=IRI, without .*, found '{wrong}'")
        self.refuse("predict", "model", "--entity", self.CITY, "--prefix=a=http://x", "--prefix=a=http://y",
                    pattern="--prefix: expected each NAME once, found 'a' again")

    def test_given_in_place_of_the_data(self) -> None:
        """What is shown is understood: the data's prefix of the same name is not known any more"""
        words = ("--prefix", "ex=http://example.org/")
        shown = self.ask("--entity", "ex:resource/City0", *words)
        self.assertTrue(shown.startswith("ex:resource/City0,"), shown)
        self.assertEqual(self.ask("--entity", self.CITY, *words), shown)
        self.refuse("predict", "model", "--entity", "ex:City0", *words, pattern="--entity: expected an entity .*")


class Rdf(Prefixes):
    """Facts about new entities as RDF."""

    NEW = b"e:New o:twin e:City3, e:City4 ; o:name \"New\" .\n_:b o:in e:Land1 .\n"

    def test_turtle(self) -> None:
        header = self.TURTLE.replace(b"ex:", b"e:")
        self.write({"new.ttl": header + self.NEW, "new.ttl.gz": zipped(header + self.NEW)})
        result = self.run_kgraft("predict", "model", "new.ttl", "--relation", "o:in", "--json")
        self.assertEqual(result.status, 0, result.stderr)
        self.assertEqual(result.messages, ["1 fact with a value that the model does not know left out"])
        entities = result.json["entities"]
        self.assertEqual([about["entity"] for about in entities], ["http://example.org/resource/New", "_:b#new1"])
        self.assertEqual([about["facts"] for about in entities], [2, 1])
        self.assertEqual(json.loads(self.ask("new.ttl.gz", "--json", "--side", "both"))["entities"], entities)

    def test_as_tsv(self) -> None:
        """N-Triples give what the same facts as TSV give"""
        ends = [f"http://example.org/{end}" for end in ("resource/New", "o#twin", "resource/City3")]
        self.write({"new.nt": "<{}> <{}> <{}> .\n".format(*ends).encode(), "new.tsv": "\t".join(ends).encode() + b"\n"})
        self.assertEqual(self.ask("new.nt"), self.ask("new.tsv"))
        words = ("--relation", "o:in", "--answer", "ex:Land1")
        explained = [self.succeed("explain", "model", file, *words).stdout for file in ("new.nt", "new.tsv")]
        self.assertEqual(*explained)

    def test_from_a_pipe(self) -> None:
        self.refuse("predict", "model", "-", "--relation", "o:in", "--on-error", "stop", stdin=self.TURTLE + self.NEW,
                    pattern=r"standard input:1: .* \(it looks like RDF: put it into a file whose name ends in \.nt, .*")

    def test_wrong(self) -> None:
        new = b"<http://n> <http://example.org/o#in> <http://example.org/resource/Land1> .\n"
        self.write({"new.nt": new + new.replace(b"#in", b"#on") + new.replace(b"//n", b"//m"), "bad.nt": new + b"<http\n"})
        result = self.run_kgraft("predict", "model", "new.nt", "--relation", "o:in", "--json")
        self.assertEqual([about["entity"] for about in result.json["entities"]], ["http://n", "http://m"])
        self.assertRegex(result.messages[0], r"^kgraft: new\.nt:2: expected a relation .*#on'")
        self.assertEqual((result.status, len(result.messages)), (2, 2))
        self.refuse("predict", "model", "bad.nt", "--relation", "o:in", pattern=r"bad\.nt:2:\d+: not valid RDF: .*")


class Chosen(Grafted):
    """Which answers are listed."""

    def test_min_probability(self) -> None:
        every = self.ask("predict", "model", "facts.tsv", "-k", "50")["entities"]
        least = every[0]["answers"][7]["probability"]
        found = self.ask("predict", "model", "facts.tsv", "-k", "50", "--min-probability", repr(least))["entities"]
        self.assertEqual([about["entity"] for about in found], [about["entity"] for about in every])
        for before, after in zip(every, found):
            self.assertEqual(after["answers"], [a for a in before["answers"] if a["probability"] >= least])
        shown = self.succeed("predict", "model", "facts.tsv", "--min-probability", "1").stdout.decode()
        self.assertIn("\n  no answer that is probable enough\n", shown)
        for wrong in "-0.1", "1.5":
            self.refuse("predict", "model", "facts.tsv", f"--min-probability={wrong}",
                        pattern=f"--min-probability: expected 0 to 1, found {wrong}")

    def check_echoes(self, *words: str) -> None:
        every = self.ask("predict", "model", *words, "-k", ALL)["entities"]
        found = self.ask("predict", "model", *words, "-k", ALL, "--no-echo")["entities"]
        facts = {*self.facts, *self.known}
        left = 0
        for before, after in zip(every, found):
            entity = before["entity"]
            own = [fact for fact in facts if entity in (fact[0], fact[2])]
            linked = {
                answer["entity"]: [fact for fact in own if {fact[0], fact[2]} == {entity, answer["entity"]}]
                for answer in before["answers"]
            }
            kept = [
                a for a in before["answers"]
                if all(fact == (a["head"], a["relation"], a["tail"]) for fact in linked[a["entity"]])
            ]
            left += len(before["answers"]) - len(kept)
            self.assertEqual(
                [(a["head"], a["relation"], a["tail"], a["score"]) for a in after["answers"]],
                [(a["head"], a["relation"], a["tail"], a["score"]) for a in kept],
            )
        self.assertGreater(left, 0)

    def test_no_echo(self) -> None:
        """No answer that a fact links to the entity already: all that eval calls fresh"""
        self.check_echoes("facts.tsv")
        self.check_echoes("facts.tsv", "--relation", "r1", "--keep-known")
        entity = next(h for h, _, t in self.known if h != t)
        self.check_echoes("--entity", entity)

    def test_no_echo_before_the_list_is_cut(self) -> None:
        whole = self.ask("predict", "model", "facts.tsv", "-k", ALL, "--no-echo")["entities"]
        few = self.ask("predict", "model", "facts.tsv", "-k", "5", "--no-echo")["entities"]
        for about, cut in zip(whole, few):
            self.assertEqual(about["answers"][:5], cut["answers"])


class OnError(Grafted):
    """A batch with wrong lines answers the others."""

    def test_skip(self) -> None:
        first, second = self.known[0][0], self.known[0][2]
        good = tsv(f"x r0 {first}", f"y r1 {second}")
        batch = tsv("head relation tail", f"x r0 {first}", f"x R0 {second}", "x,r0,b", f"{first} r0 {second}", f"y r1 {second}", "z r0 zz")
        expected = self.ask("predict", "model", "-", stdin=good)["entities"]
        result = self.run_kgraft("predict", "model", "-", "--json", "--quiet", stdin=batch)
        self.assertEqual(result.status, 2)
        self.assertEqual(result.json["entities"], expected)
        patterns = [
            r"standard input:1: expected a fact, found what looks like a header: .*",
            r"standard input:3: expected a relation that the model knows, found 'R0'.*",
            r"standard input:4: .* 1 column: 'x,r0,b' \(it looks like CSV.*",
            rf"standard input:5: .* found '{first}' and '{second}', both of which it knows \(--entity NAME without .*\)",
            r"standard input:7: expected one end that the model knows, .* leave this one out, or --skip-unknown\)",
            r"5 wrong facts left out, as reported above",
        ]
        self.assertEqual(len(result.messages), len(patterns), result.messages)
        for message, pattern in zip(result.messages, patterns):
            self.assertRegex(message, f"^kgraft: {pattern}$")
        stopped = self.run_kgraft("predict", "model", "-", "--json", "--on-error", "stop", stdin=batch)
        self.assertEqual((stopped.status, stopped.stdout, len(stopped.messages)), (2, b"", 1))

    def test_many(self) -> None:
        """The first lines that are wrong are shown, whatever is wrong with them, and the others counted"""
        good = f"x r0 {self.known[0][0]}"
        for wrong in 20, 21, 300:
            batch = tsv(good, *(good.replace("r0", "R0") if i % 3 else "x" for i in range(wrong)))
            result = self.run_kgraft("predict", "model", "-", "--quiet", stdin=batch)
            self.assertEqual(result.status, 2)
            numbers = [re.match(r"kgraft: standard input:(\d+): ", message) for message in result.messages[:20]]
            self.assertEqual([int(number[1]) for number in numbers if number], list(range(2, 22)))
            more = {20: [], 21: ["kgraft: and 1 more wrong line"], 300: ["kgraft: and 280 more wrong lines"]}
            last = f"kgraft: {wrong} wrong facts left out, as reported above"
            self.assertEqual(result.messages[20:], [*more[wrong], last])

    def test_nothing_left(self) -> None:
        result = self.run_kgraft("predict", "model", "-", stdin=tsv("x R0 e1"))
        self.assertEqual((result.status, result.stdout), (2, b""))
        self.assertRegex(result.messages[-1], "^kgraft: standard input: expected facts that link new .* 1 wrong")


# ---------------------------------------------------------------------------------------------
# What is refused


@dataclass(frozen=True)
class Wrong:
    name: str
    words: str
    pattern: str
    facts: bytes = b"new\tr0\te1\n"


MEANT = r", did you mean .*'{}'.*\?"

WRONG = [
    Wrong("neither facts nor an entity", "model", "expected FACTS about new entities, or --entity.*"),
    Wrong("no such model", "nothing facts.tsv", "nothing: cannot open it: .*"),
    Wrong("no such file", "model nothing.tsv", r"nothing\.tsv: cannot open it: .*"),
    Wrong("an unknown entity", "model --entity E1",
          "--entity: expected an entity that the model knows, found 'E1'" + MEANT.format("e1")),
    Wrong("an entity that is not in the facts", "model facts.tsv --entity newer",
          "--entity: expected one that is new in the facts, found 'newer'" + MEANT.format("new")),
    Wrong("an entity that is not new", "model facts.tsv --entity e1",
          "--entity: .*found 'e1', which the model knows .*"),
    Wrong("an unknown relation", "model facts.tsv --relation R0",
          "--relation: expected a relation that the model knows, found 'R0'" + MEANT.format("r0")),
    Wrong("no answers", "model facts.tsv -k 0", "-k: expected 1 to 1000000, found 0"),
    Wrong("too many answers", "model facts.tsv -k 1000001", "-k: expected 1 to 1000000, found 1000001"),
    Wrong("answers beyond all numbers", "model facts.tsv -k 99999999999999999999",
          "-k: expected a number of at most 18 digits, found '99999999999999999999'"),
    Wrong("answers that are no number", "model facts.tsv -k ten", "-k: expected a whole number.*'ten'"),
    Wrong("answers in the same word", "model facts.tsv -kten", "-k: expected a whole number.*'ten'"),
    Wrong("no number behind -k", "model facts.tsv -k", r"-k: expected a value \(N\) behind it"),
    Wrong("an option of one letter with two dashes", "model facts.tsv --k 1", r"unknown option --k \(.*"),
    Wrong("an unknown letter", "model facts.tsv -j 1", r"unknown option '-j' \(.*"),
    Wrong("a ridge of 0", "model facts.tsv --aggregate ls --ls-lambda 0", "--ls-lambda: expected .*"),
    Wrong("no implicit negatives", "model facts.tsv --aggregate ials --ials-alpha 0",
          "--ials-alpha: expected a weight above 0 .*, found 0"),
    Wrong("another model's aggregate", "model facts.tsv --aggregate rgcn-d", "--aggregate: expected .*"),
    Wrong("an aggregate of nothing", "model --entity e1 --aggregate ls",
          "--aggregate: expected FACTS about new entities, found none.*"),
    Wrong("nothing to skip", "model --entity e1 --skip-unknown", "--skip-unknown: expected FACTS.*"),
    Wrong("too many threads", "model facts.tsv --threads 9999", "--threads: expected 1 to 1024, found 9999"),
    Wrong("an empty file", "model facts.tsv", r"facts\.tsv: expected facts, found none", b""),
    Wrong("binary junk", "model facts.tsv", r"facts\.tsv:1:\d+: expected text, found a NUL byte.*",
          bytes(range(1, 9)) + bytes(100)),
    Wrong("a damaged gzip file", "model facts.tsv", r"facts\.tsv: .*", b"\x1f\x8b\x08\x00junk" * 9),
    Wrong("many columns", "model facts.tsv",
          r"facts\.tsv:1: expected head, relation and tail separated by tabs, found 100000 columns: .*",
          b"\t".join([b"x"] * 100000)),
    Wrong("an unknown relation in the facts", "model facts.tsv",
          r"facts\.tsv:2: expected a relation that the model knows, found 'R0'" + MEANT.format("r0"),
          tsv("new r0 e1", "new R0 e2")),
    Wrong("an unknown other end", "model facts.tsv",
          r"facts\.tsv:2: expected an entity that the model knows at the other end, found 'E5'"
          + MEANT.format("e5"), tsv("new r0 e1", "new r0 E5")),
    Wrong("an other end that --entity makes unknown", "model facts.tsv --entity new",
          r"facts\.tsv:1: expected an entity that the model knows at the other end, found 'zzzzzz'",
          tsv("new r0 zzzzzz")),
    Wrong("two unknown ends", "model facts.tsv",
          r"facts\.tsv:1: expected one end that the model knows, found 'new' and 'zzzzzz', both "
          r"unknown \(a new entity .* leave this one out, or --skip-unknown\)", tsv("new r0 zzzzzz")),
    Wrong("two known ends", "model facts.tsv",
          r"facts\.tsv:2: expected a fact of an entity that is new .* found 'e1' and 'e2', .*",
          tsv("new r0 e1", "e1 r0 e2")),
    Wrong("everything unknown", "model facts.tsv --skip-unknown",
          r"facts\.tsv: expected facts that link new entities to known ones, found none.*",
          tsv("a b c", "d e f")),
    Wrong("only with itself", "model facts.tsv",
          r"facts\.tsv:1: expected facts that link 'new' to entities that the model knows, .*",
          tsv("new r0 new")),
]


@cases(WRONG)
class Refused(Grafted):
    """Bad words and bad facts."""

    def setUp(self) -> None:
        super().setUp()
        self.seen_names = (self.folder / "model/entities.tsv").read_text().split()

    def check(self, row: Wrong) -> None:
        names = self.seen_names
        swap = {"e1": names[0], "e2": names[1], "E1": names[0].upper(), "e5": names[4],
                "E5": names[4].upper()}
        text = row.words
        facts = row.facts
        pattern = row.pattern
        for old, new in swap.items():
            text = " ".join(new if word == old else word for word in text.split(" "))
            facts = facts.replace(b"\t%s\n" % old.encode(), b"\t%s\n" % new.encode())
            facts = facts.replace(b"\n%s\t" % old.encode(), b"\n%s\t" % new.encode())
            pattern = pattern.replace(f"'{old}'", f"'{new}'")
        self.write({"facts.tsv": facts})
        self.refuse("predict", "--quiet", "--on-error", "stop", *text.split(), pattern=pattern)

    def test_not_calibrated(self) -> None:
        """Without a calibration, --relation is required and the message says why"""
        self.write({"plain.tsv": self.read("data/train.tsv")})
        self.succeed("train", "plain.tsv", "plain", *"--dim 4 --epochs 1 --hold-out 0 --quiet".split(),
                     *SMALL_PROPAGATION)
        name = self.known[0][0]
        pattern = (
            "expected --relation, found none: this model has no calibration, and without one the "
            r"scores of different relations cannot be compared \(kgraft calibrate MODEL DATASET .*"
        )
        self.refuse("predict", "plain", "--entity", name, pattern=pattern)
        found = self.ask("predict", "plain", "--entity", name, "--relation", "r0", "-k", "2")
        self.assertEqual([a["probability"] for a in found["entities"][0]["answers"]], [None] * 4)
        table = self.succeed("predict", "plain", "--entity", name, "--relation", "r0").stdout
        self.assertNotIn(b"probability", table)


if __name__ == "__main__":
    unittest.main()
