"""kgraft import on good input: every form that a graph comes in, and what is made of it.

A data set folder is plain text, so most tests compare its lines with what was put in. Whatever is
written must be the same, to the byte, when it is read and written again.
"""

from __future__ import annotations

import json
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgraft import (
    DATA,
    Case,
    Tree,
    Word,
    cases,
    environment,
    needs_data,
    snapshot,
    tsv,
    unpacked_data,
    zipped,
)

NOTHING_LEFT_OUT = {
    "duplicates": 0,
    "literals": 0,
    "inverses": 0,
    "comments": 0,
    "blank_lines": 0,
    "unused_names": 0,
    "unknown_relations": 0,
}


class ImportCase(Case):
    def load(self, *words: Word, **options: Any) -> Any:
        """Imports into out, and from there again; gives back what --json says."""
        result = self.succeed("import", *words, "out", "--json", **options)
        self.assert_stable("out")
        return result.json

    def assert_stable(self, name: str) -> None:
        """A data set that is imported once more is the same to the byte."""
        self.succeed("import", "--quiet", name, f"{name}-again")
        self.assertEqual(snapshot(self.folder / name), snapshot(self.folder / f"{name}-again"))

    def assert_facts(self, *facts: str, part: str = "train") -> None:
        self.assertEqual(self.lines(f"out/{part}.tsv"), tsv(*facts).split(b"\n")[:-1])


# ---------------------------------------------------------------------------------------------
# TSV

FACTS = tsv("a r b", "b s c", "c r a")
MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Same:
    """Another spelling of the same three facts."""

    name: str
    content: bytes
    options: str = ""
    left_out: dict[str, int] = field(default_factory=dict)


SAME = [
    Same("plain", FACTS),
    Same("no newline at the end", FACTS[:-1]),
    Same("CRLF", FACTS.replace(b"\n", b"\r\n")),
    Same("CRLF but for the last line", FACTS.replace(b"\n", b"\r\n")[:-2]),
    Same("carriage return alone at the end", FACTS[:-1] + b"\r"),
    Same("CRLF and LF mixed", FACTS.replace(b"\n", b"\r\n", 1)),
    Same("byte order mark", MARK + FACTS),
    Same("byte order mark and CRLF, gzipped", zipped(MARK + FACTS.replace(b"\n", b"\r\n"))),
    Same("byte order mark before a comment", MARK + b"# a\n" + FACTS, "--comment #", {"comments": 1}),
    Same("byte order mark before a blank line", MARK + b"\n" + FACTS, "--skip-blank", {"blank_lines": 1}),
    Same("gzipped", zipped(FACTS)),
    Same("gzipped in two pieces", zipped(FACTS[:3]) + zipped(FACTS[3:])),
    Same("gzipped CRLF", zipped(FACTS.replace(b"\n", b"\r\n"))),
    Same("a fact repeated", FACTS + tsv("a r b"), left_out={"duplicates": 1}),
    Same("all facts repeated", FACTS * 3, left_out={"duplicates": 6}),
    Same("blank lines", b"\n" + FACTS + b"\r\n\n", "--skip-blank", {"blank_lines": 3}),
    Same("comments", b"# a\n" + FACTS + b"#\n", "--comment #", {"comments": 2}),
    Same("comments of two bytes", b"//\n" + FACTS + b"// b", "--comment=//", {"comments": 2}),
    Same("comment of three columns", b"#\tr\tb\n" + FACTS, "--comment #", {"comments": 1}),
    Same(
        "comments and blank lines",
        b"% a\n\n" + FACTS + b"\n",
        "--comment % --skip-blank",
        {"comments": 1, "blank_lines": 2},
    ),
]


@cases(SAME)
class TsvSpellings(ImportCase):
    def check(self, row: Same) -> None:
        self.write({"g.tsv": row.content})
        answer = self.load("g.tsv", *row.options.split())
        self.assert_facts("a r b", "b s c", "c r a")
        self.assertEqual(answer["left_out"], {**NOTHING_LEFT_OUT, **row.left_out})


class Tsv(ImportCase):
    def test_counts(self) -> None:
        self.write({"g.tsv": FACTS})
        answer = self.load("g.tsv")
        self.assertEqual((answer["entities"], answer["relations"], answer["train"]), (3, 2, 3))

    def test_the_folder_holds_two_files(self) -> None:
        self.write({"g.tsv": FACTS})
        self.load("g.tsv")
        self.assertEqual(set(snapshot(self.folder / "out")), {b"train.tsv", b"dataset.json"})

    def test_standard_input(self) -> None:
        self.load("-", stdin=FACTS)
        self.assert_facts("a r b", "b s c", "c r a")

    def test_standard_input_beside_a_folder_called_like_it(self) -> None:
        self.write({"-/train.txt": tsv("x r y")})
        self.assertEqual(self.load("-", stdin=FACTS)["train"], 3)

    def test_gzip_on_standard_input(self) -> None:
        self.load("-", stdin=zipped(FACTS))
        self.assert_facts("a r b", "b s c", "c r a")

    def test_several_files(self) -> None:
        self.write({"a.tsv": tsv("a r b", "b s c"), "b.tsv.gz": zipped(tsv("b s c", "c r a"))})
        answer = self.load("a.tsv", "b.tsv.gz")
        self.assert_facts("a r b", "b s c", "c r a")
        self.assertEqual(answer["left_out"]["duplicates"], 1)

    def test_several_files_are_all_named_in_the_description(self) -> None:
        self.write({"a.tsv": FACTS, "b.tsv": FACTS})
        self.load("a.tsv", "b.tsv")
        about = self.read("out/dataset.json")
        self.assertIn(b"a.tsv", about)
        self.assertIn(b"b.tsv", about)

    def test_facts_with_themselves(self) -> None:
        self.write({"g.tsv": tsv("a r a", "r r r")})
        self.assertEqual(self.load("g.tsv")["entities"], 2)
        self.assert_facts("a r a", "r r r")

    def test_names_that_start_like_an_option(self) -> None:
        self.write({"-g.tsv": FACTS})
        self.succeed("import", "--quiet", "--", "-g.tsv", "-out")
        self.assertEqual(self.read("-out/train.tsv"), FACTS)

    def test_order_of_options_and_arguments_does_not_matter(self) -> None:
        self.write({"g.tsv": b"# x\n" + FACTS})
        self.succeed("import", "--comment", "#", "g.tsv", "one", "--quiet")
        self.succeed("import", "g.tsv", "--quiet", "two", "--comment=#")
        self.assertEqual(snapshot(self.folder / "one"), snapshot(self.folder / "two"))

    def test_the_number_of_threads_does_not_matter(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "200000")
        for threads in "1", "2", "5":
            self.succeed("import", "g.tsv", threads, env=environment(OMP_NUM_THREADS=threads))
        one = snapshot(self.folder / "1")
        self.assertEqual(one, snapshot(self.folder / "2"))
        self.assertEqual(one, snapshot(self.folder / "5"))

    def test_a_large_graph_comes_out_as_it_went_in(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "300000")
        self.load("g.tsv")
        self.assertEqual(self.read("out/train.tsv"), self.read("g.tsv"))


# ---------------------------------------------------------------------------------------------
# Names

ANY_BYTE = bytes(b for b in range(1, 256) if b not in b"\t\n\r")
LONG = b"n" * 1_000_000


@dataclass(frozen=True)
class Name:
    name: str
    entity: bytes


NAMES = [
    Name("one byte", b"x"),
    Name("a space", b" "),
    Name("spaces around", b" a b "),
    Name("hash first", b"#1"),
    Name("quotes and backslashes", b"\"\\'\\n"),
    Name("UTF-8", "Žluťoučký kůň 🐎".encode()),
    Name("byte order mark, but not first", b"a\xef\xbb\xbf"),
    Name("combining and right-to-left characters", "e\u0301\u202eabc".encode()),
    Name("all bytes", ANY_BYTE),
    Name("invalid UTF-8", b"\xff\xfe\xc3\x28"),
    Name("overlong UTF-8", b"\xc0\xaf"),
    Name("half of a surrogate pair", b"\xed\xa0\x80"),
    Name("control characters", b"\x01\x07\x08\x0b\x0c\x1b[31m\x7f"),
    Name("carriage return inside", b"a\rb"),
    Name("carriage return first", b"\rb"),
    Name("one megabyte", LONG),
    Name("one megabyte of invalid UTF-8", b"\xff" * 1_000_000),
    Name("more than two blocks", b"n" * 3_000_001),
    Name("start of gzip", b"\x1f\x8b"),
    Name("start of gzip with its method", b"\x1f\x8b\x08\0"[:3]),
    Name("start of JSON", b"{"),
    Name("path", b"../../etc/passwd"),
    Name("percent signs", b"%s%n%d"),
]


@cases(NAMES)
class Names(ImportCase):
    """Each as head, relation and tail, and first in its file. The file is gzipped, so that what it
    holds is not taken for gzip itself."""

    def check(self, row: Name) -> None:
        e = row.entity
        content = b"%s\t%s\t%s!\nb\t%s\t%s\n" % (e, e, e, e, e)
        self.write({"g.tsv": zipped(content)})
        answer = self.load("g.tsv")
        self.assertEqual(self.read("out/train.tsv"), content)
        self.assertEqual((answer["entities"], answer["relations"]), (3, 1))

    def test_carriage_return_last_in_tsv(self) -> None:
        """A name that ends in a carriage return, at the end of a line that ends in CRLF"""
        self.write({"g.tsv": b"a\tr\tb\r\r\nb\r\tr\r\ta\n"})
        self.assertEqual(self.load("g.tsv")["entities"], 2)
        self.assertEqual(self.read("out/train.tsv"), b"a\tr\tb\r\r\nb\r\tr\r\ta\n")

    def test_carriage_returns_from_json(self) -> None:
        unseen = {"u\r": [["u\r", "r", "a"], ["b", "r", "u\r"]], "\r": [["a", "r", "\r"]]}
        self.write({"in/train.txt": tsv("a r b"), "in/valid.json": json.dumps(unseen).encode()})
        self.assertEqual(self.load("in")["unseen_valid"], 2)
        self.assertEqual(
            self.read("out/unseen-valid.tsv"), b"u\r\tr\ta\nb\tr\tu\r\r\na\tr\t\r\r\n"
        )

    def test_byte_order_marks_of_names(self) -> None:
        """The first name of a file has one only if it stands there twice"""
        content = MARK + MARK + tsv("a r b", "b r c") + MARK + tsv("a r c")
        self.write({"g.tsv": content})
        self.assertEqual(self.load("g.tsv")["entities"], 3)
        self.assertEqual(self.read("out/train.tsv"), content)
        self.write({"h.tsv": MARK + tsv("a r b") + MARK + tsv("a r c")})
        self.assertEqual(self.succeed("import", "h.tsv", "other", "--json").json["entities"], 4)

    def test_every_byte_as_a_name_of_its_own(self) -> None:
        names = [bytes([byte]) for byte in ANY_BYTE]
        content = b"".join(b"%s\t%s\tx%s\n" % (name, name, name) for name in names)
        self.write({"g.tsv": content})
        answer = self.load("g.tsv")
        self.assertEqual(self.read("out/train.tsv"), content)
        self.assertEqual((answer["entities"], answer["relations"]), (504, 252))

    def test_names_that_differ_in_normalisation_only(self) -> None:
        self.write({"g.tsv": "é\tr\te\u0301\n".encode()})
        self.assertEqual(self.load("g.tsv")["entities"], 2)

    def test_entities_and_relations_are_apart(self) -> None:
        self.write({"g.tsv": tsv("x x x")})
        answer = self.load("g.tsv")
        self.assertEqual((answer["entities"], answer["relations"]), (1, 1))

    def test_source_whose_name_is_not_utf8(self) -> None:
        (self.folder / "in").mkdir()
        Path(bytes(self.folder / "in").decode() + "/g\udcff.tsv").write_bytes(FACTS)
        self.load(b"in/g\xff.tsv")


# ---------------------------------------------------------------------------------------------
# RDF

A, R, B = "http://x/a", "http://x/r", "http://x/b"
FACT = f"{A} {R} {B}"
TWO = f"<{A}> <{R}> <{B}> .\n<{B}> <{R}> <{A}> .\n"


@dataclass(frozen=True)
class Graph:
    """An RDF file and the facts that it holds."""

    name: str
    syntax: str
    content: str
    facts: tuple[str, ...]
    options: str = ""


GRAPHS = [
    Graph("N-Triples", "nt", TWO, (FACT, f"{B} {R} {A}")),
    Graph("N-Triples with comments", "nt", f"# x\n\n{TWO}# y", (FACT, f"{B} {R} {A}")),
    Graph("N-Triples with CRLF", "nt", TWO.replace("\n", "\r\n"), (FACT, f"{B} {R} {A}")),
    Graph("N-Triples without spaces", "nt", f"<{A}><{R}><{B}>.", (FACT,)),
    Graph(
        "N-Triples with escapes",
        "nt",
        f"<{A}> <{R}> <http://x/\\u00e9> .",
        (f"{A} {R} http://x/é",),
    ),
    Graph("N-Triples with a label of digits", "nt", f"_:1 <{R}> _:2 .", (f"_:1 {R} _:2",)),
    Graph(
        "blank nodes", "nt", f"_:a <{R}> _:b .\n_:b <{R}> _:a .", (f"_:a {R} _:b", f"_:b {R} _:a")
    ),
    Graph("blank nodes called b1 and B1", "nt", f"_:b1 <{R}> _:B1 .", (f"_:b1 {R} _:B1",)),
    Graph("N-Quads", "nq", f"<{A}> <{R}> <{B}> <http://x/g> .\n", (FACT,)),
    Graph("N-Quads in the default graph", "nq", f"<{A}> <{R}> <{B}> .\n", (FACT,)),
    Graph("N-Quads of a blank graph", "nq", f"<{A}> <{R}> <{B}> _:g .\n", (FACT,)),
    Graph(
        "N-Quads with a literal",
        "nq",
        f'<{A}> <{R}> "x" <http://x/g> .\n<{A}> <{R}> <{B}> <http://x/g> .\n',
        (FACT,),
    ),
    Graph("prefixes", "ttl", "@prefix x: <http://x/> .\nx:a x:r x:b .", (FACT,)),
    Graph("prefixes as in SPARQL", "ttl", "PREFIX x: <http://x/>\nx:a x:r x:b .", (FACT,)),
    Graph("empty prefix", "ttl", "@prefix : <http://x/> .\n:a :r :b .", (FACT,)),
    Graph(
        "prefix that changes",
        "ttl",
        "@prefix x: <http://y/> . @prefix x: <http://x/> . x:a x:r x:b .",
        (FACT,),
    ),
    Graph("base", "ttl", "@base <http://x/> .\n<a> <r> <b> .", (FACT,)),
    Graph(
        "lists of objects and predicates",
        "ttl",
        "@prefix x: <http://x/> . x:a x:r x:b, x:c; x:s x:b .",
        (FACT, f"{A} {R} http://x/c", f"{A} http://x/s {B}"),
    ),
    Graph(
        "type",
        "ttl",
        "@prefix x: <http://x/> . x:a a x:b .",
        (f"{A} http://www.w3.org/1999/02/22-rdf-syntax-ns#type {B}",),
    ),
    Graph(
        "graphs",
        "trig",
        "@prefix x: <http://x/> . x:g { x:a x:r x:b . } x:h { x:b x:r x:a }",
        (FACT, f"{B} {R} {A}"),
    ),
    Graph(
        "graphs beside the default graph",
        "trig",
        "@prefix x: <http://x/> . { x:a x:r x:b . } x:b x:r x:a .",
        (FACT, f"{B} {R} {A}"),
    ),
    Graph(
        "the same fact in two graphs",
        "trig",
        "@prefix x: <http://x/> . x:g { x:a x:r x:b } x:h { x:a x:r x:b }",
        (FACT,),
    ),
    Graph(
        "literals left out",
        "nt",
        f'<{A}> <{R}> "b" .\n<{A}> <{R}> <{B}> .\n<{A}> <{R}> "b"@en .',
        (FACT,),
    ),
    Graph(
        "literals kept",
        "nt",
        f'<{A}> <{R}> "b" .\n<{A}> <{R}> "b"@en .\n<{A}> <{R}> "1"^^<{B}> .',
        (f'{A} {R} "b"', f'{A} {R} "b"@en', f'{A} {R} "1"^^<{B}>'),
        "--literals keep",
    ),
    Graph(
        "literals of Turtle kept",
        "ttl",
        "@prefix x: <http://x/> . x:a x:r 1, true, 'b', \"c\"^^x:b .",
        tuple(
            f"{A} {R} {literal}"
            for literal in (
                '"1"^^<http://www.w3.org/2001/XMLSchema#integer>',
                '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>',
                '"b"',
                f'"c"^^<{B}>',
            )
        ),
        "--literals keep",
    ),
]


@cases(GRAPHS)
class Rdf(ImportCase):
    def check(self, row: Graph) -> None:
        self.write({f"g.{row.syntax}": row.content.encode()})
        self.load(f"g.{row.syntax}", *row.options.split())
        self.assert_facts(*row.facts)

    def test_literals_are_counted(self) -> None:
        content = f'{TWO}<{A}> <{R}> "x" .\n<{A}> <{R}> "y" .\n'
        self.write({"g.nt": content.encode()})
        self.assertEqual(self.load("g.nt")["left_out"], {**NOTHING_LEFT_OUT, "literals": 2})

    def test_tabs_and_newlines_in_literals(self) -> None:
        self.write({"g.nt": f'<{A}> <{R}> "a\\tb\\nc\\rd\\"e\\\\f" .\n'.encode()})
        self.load("g.nt", "--literals", "keep")
        expected = r'"a\tb\nc\rd\"e\\f"'
        self.assertEqual(self.read("out/train.tsv"), f"{A}\t{R}\t{expected}\n".encode())

    def test_gzipped_with_an_extension(self) -> None:
        self.write({"g.nt.gz": zipped(TWO.encode())})
        self.assertEqual(self.load("g.nt.gz")["train"], 2)

    def test_gzipped_without_an_extension(self) -> None:
        self.write({"g.nt": zipped(TWO.encode())})
        self.assertEqual(self.load("g.nt")["train"], 2)

    def test_format_given_for_a_file(self) -> None:
        self.write({"g.txt": TWO.encode()})
        self.assertEqual(self.load("g.txt", "--format", "nt")["train"], 2)

    def test_format_given_for_standard_input(self) -> None:
        self.assertEqual(self.load("-", "--format=ttl", stdin=TWO.encode())["train"], 2)

    def test_format_tsv_for_a_file_called_nt(self) -> None:
        self.write({"g.nt": FACTS})
        self.assertEqual(self.load("g.nt", "--format", "tsv")["train"], 3)

    def test_blank_nodes_of_two_files_are_apart(self) -> None:
        content = f"_:a <{R}> <{B}> .\n".encode()
        self.write({"a.nt": content, "b.nt": content})
        answer = self.load("a.nt", "b.nt")
        self.assertEqual((answer["entities"], answer["train"]), (3, 2))

    def test_blank_nodes_of_three_files_are_apart(self) -> None:
        content = f"_:a <{R}> _:b .\n".encode()
        self.write({"a.nt": content, "b.ttl": content, "c.nt": content})
        self.assertEqual(self.load("a.nt", "b.ttl", "c.nt")["entities"], 6)

    def test_nameless_blank_nodes_of_turtle(self) -> None:
        self.write({"g.ttl": f"[] <{R}> [ <{R}> <{B}> ] .\n<{A}> <{R}> (<{A}>) .\n".encode()})
        answer = self.load("g.ttl")
        self.assertEqual((answer["entities"], answer["train"]), (6, 5))

    def test_nameless_blank_nodes_are_not_those_with_a_label(self) -> None:
        self.write({"g.ttl": f"_:b1 <{R}> <{A}> .\n[] <{R}> <{A}> .\n".encode()})
        self.assertEqual(self.load("g.ttl")["entities"], 3)

    def test_labels_of_turtle_that_look_made_up(self) -> None:
        """Serd cannot keep _:b1 and _:B1 apart, so they are refused and not mixed up"""
        self.write({"g.ttl": f"_:b1 <{R}> _:B1 .\n[] <{R}> <{A}> .\n".encode()})
        self.refuse("import", "g.ttl", "out", pattern=r"g\.ttl:1:[0-9]+: not valid RDF: .*blank.*")

    def test_iris_are_shared_by_two_files(self) -> None:
        self.write({"a.nt": TWO.encode(), "b.ttl": b"@prefix x: <http://x/> . x:a x:r x:c ."})
        answer = self.load("a.nt", "b.ttl")
        self.assertEqual((answer["entities"], answer["train"]), (3, 3))

    def test_rdf_beside_tsv(self) -> None:
        self.write({"a.nt": TWO.encode(), "b.tsv": tsv(f"{A} {R} {B}", f"{A} {R} c")})
        answer = self.load("a.nt", "b.tsv")
        self.assertEqual((answer["train"], answer["left_out"]["duplicates"]), (3, 1))

    def test_many_statements(self) -> None:
        lines = [f"<http://x/{i}> <{R}> <http://x/{7 * i % 5000}> .\n" for i in range(20_000)]
        self.write({"g.nt": "".join(lines).encode()})
        self.assertEqual(self.load("g.nt")["train"], 20_000)
        self.assertEqual(self.lines("out/train.tsv")[-1].split(b"\t")[0], b"http://x/19999")


# ---------------------------------------------------------------------------------------------
# Directories

PARTS = {"train": tsv("a r b", "b s c"), "valid": tsv("a s c"), "test": tsv("c r a", "b r a")}
OPENKE = {
    "in/entity2id.txt": b"4\nc\t0\nb\t1\na\t2\nunused one\t3\n",
    "in/relation2id.txt": b"2\nr\t1\ns\t0\n",
    "in/train2id.txt": b"2\n2\t1\t1\n1\t0\t0\n",
    "in/valid2id.txt": b"1\n2 0 0\n",
    "in/test2id.txt": b"2\n0 2 1\n1 2 1\n",
}
UNSEEN = {
    "in/train.txt": tsv("a r b", "b s c"),
    "in/valid.json": b'{"u": [["u", "r", "a"], ["b", "s", "u"]], "v": [["v", "r", "a"]]}',
    "in/test.json": b'{"w": [["a", "r", "w"]]}',
}


class Directories(ImportCase):
    def check_parts(self, files: Tree) -> Any:
        self.write(files)
        answer = self.load("in")
        for part, content in PARTS.items():
            self.assertEqual(self.read(f"out/{part}.tsv"), content)
        counts = [answer[key] for key in ("entities", "relations", "train", "valid", "test")]
        self.assertEqual(counts, [3, 2, 2, 1, 2])
        return answer

    def test_txt(self) -> None:
        self.check_parts({f"in/{part}.txt": content for part, content in PARTS.items()})

    def test_tsv(self) -> None:
        self.check_parts({f"in/{part}.tsv": content for part, content in PARTS.items()})

    def test_own_files_gzipped_by_somebody(self) -> None:
        self.write({"g.tsv": FACTS})
        self.succeed("import", "g.tsv", "own")
        before = snapshot(self.folder / "own")
        (self.folder / "own/train.tsv").unlink()
        self.write({"own/train.tsv.gz": zipped(FACTS)})
        self.load("own")
        self.assertEqual(snapshot(self.folder / "out"), before)

    def test_gzipped(self) -> None:
        self.check_parts({f"in/{part}.txt.gz": zipped(content) for part, content in PARTS.items()})

    def test_other_files_do_not_matter(self) -> None:
        files = {f"in/{part}.txt": content for part, content in PARTS.items()}
        self.check_parts({**files, "in/README": b"x", "in/entities.dict": b"x", "in/x/y": b""})

    def test_openke(self) -> None:
        self.assertEqual(self.check_parts(OPENKE)["left_out"]["unused_names"], 1)

    def test_openke_with_crlf(self) -> None:
        self.check_parts({k: v.replace(b"\n", b"\r\n") for k, v in OPENKE.items()})

    def test_openke_gzipped(self) -> None:
        self.check_parts({f"{k}.gz": zipped(v) for k, v in OPENKE.items()})

    def test_openke_without_a_last_newline(self) -> None:
        self.check_parts({k: v[:-1] for k, v in OPENKE.items()})

    def test_openke_beside_other_forms_by_format(self) -> None:
        self.write({**OPENKE, "in/train.txt": FACTS, "in/valid.txt": FACTS, "in/test.txt": FACTS})
        self.assertEqual(self.load("in", "--format", "openke")["train"], 2)

    def test_train_alone(self) -> None:
        self.write({"in/train.txt": FACTS})
        self.assertEqual(self.load("in")["train"], 3)

    def test_entities_that_train_lacks(self) -> None:
        self.write({"in/train.txt": FACTS, "in/test.txt": tsv("x q y")})
        answer = self.load("in")
        self.assertEqual((answer["entities"], answer["relations"]), (5, 3))

    def test_a_fact_in_two_parts_stays_in_both(self) -> None:
        self.write({"in/train.txt": FACTS, "in/test.txt": tsv("a r b", "a r b")})
        answer = self.load("in")
        self.assertEqual((answer["train"], answer["test"]), (3, 1))
        self.assertEqual(answer["left_out"]["duplicates"], 1)

    def test_out_of_sample_form(self) -> None:
        self.write(UNSEEN)
        answer = self.load("in")
        keys = ("entities", "unseen_valid", "unseen_test", "queries_valid", "queries_test")
        self.assertEqual([answer[key] for key in keys], [3, 2, 1, 3, 1])
        self.assert_facts("u r a", "b s u", "v r a", part="unseen-valid")
        self.assert_facts("a r w", part="unseen-test")

    def test_out_of_sample_form_gzipped(self) -> None:
        self.write({f"{name}.gz": zipped(content) for name, content in UNSEEN.items()})
        self.assertEqual(self.load("in")["queries_valid"], 3)

    def test_out_of_sample_form_without_test(self) -> None:
        self.write({name: content for name, content in UNSEEN.items() if "test" not in name})
        self.assertEqual(self.load("in")["unseen_test"], 0)

    def test_escapes_in_json(self) -> None:
        valid = b'{"\\u00e9\\ud83d\\udc0e\\/": [["\xc3\xa9\xf0\x9f\x90\x8e/", "r", "a"]]}'
        self.write({"in/train.txt": tsv("a r b"), "in/valid.json": valid})
        self.load("in")
        self.assert_facts("é🐎/ r a", part="unseen-valid")

    def test_a_folder_by_way_of_a_symbolic_link(self) -> None:
        self.write({"in/train.txt": FACTS})
        (self.folder / "link").symlink_to("in")
        self.assertEqual(self.load("link")["train"], 3)


TRAINED = {"train": tsv("a r b", "b s c"), "valid": tsv("a s c")}
GRAPH = {
    "graph": tsv("n r o", "o s n"),
    "graph-valid": tsv("n s p"),
    "graph-test": tsv("o r o", "a r n"),
}
ILPC = {
    **{f"in/{part}.txt": content for part, content in TRAINED.items()},
    "in/inference.txt": GRAPH["graph"],
    "in/inference_validation.txt": GRAPH["graph-valid"],
    "in/inference_test.txt": GRAPH["graph-test"],
}
GRAIL = {
    **{f"in/{part}.txt": content for part, content in TRAINED.items()},
    "in_ind/train.txt": GRAPH["graph"],
    "in_ind/valid.txt": GRAPH["graph-valid"],
    "in_ind/test.txt": GRAPH["graph-test"],
}


class NewGraphs(ImportCase):
    """A graph of other entities with the relations of the training graph."""

    def check_parts(self, files: Tree, *words: Word) -> Any:
        self.write(files)
        answer = self.load(*words)
        for part, content in {**TRAINED, **GRAPH}.items():
            self.assertEqual(self.read(f"out/{part}.tsv"), content)
        keys = ("entities", "train", "graph_entities", "graph", "graph_valid", "graph_test")
        self.assertEqual([answer[key] for key in keys], [3, 2, 4, 2, 1, 2])
        self.assertEqual(answer["left_out"], NOTHING_LEFT_OUT)
        return answer

    def test_inference_files(self) -> None:
        self.check_parts(ILPC, "in")

    def test_inference_files_by_format(self) -> None:
        self.check_parts({**ILPC, "in/train2id.txt": b""}, "in", "--format", "ilpc")

    def test_inference_files_gzipped(self) -> None:
        self.check_parts({f"{k}.gz": zipped(v) for k, v in ILPC.items()}, "in")

    def test_pair_of_directories(self) -> None:
        self.check_parts(GRAIL, "in", "in_ind")

    def test_pair_of_directories_with_other_names(self) -> None:
        files = {name.replace("in_ind", "new"): content for name, content in GRAIL.items()}
        self.check_parts(files, "in/", "new/")

    def test_pair_by_its_first_directory(self) -> None:
        self.check_parts(GRAIL, "in/")
        self.assertEqual(self.stats("in"), self.stats("out"))

    def test_pair_by_its_first_directory_and_format(self) -> None:
        self.check_parts(GRAIL, "in", "--format", "grail")

    def test_both_forms_are_the_same_data(self) -> None:
        self.write({**GRAIL, **{f"ilpc/{k}": v for k, v in ILPC.items()}})
        self.load("in", "in_ind")
        self.succeed("import", "ilpc/in", "other")
        for part in (*TRAINED, *GRAPH):
            self.assertEqual(self.read(f"out/{part}.tsv"), self.read(f"other/{part}.tsv"))

    def test_first_directory_alone_by_format(self) -> None:
        self.write(GRAIL)
        answer = self.load("in", "--format", "tsv")
        self.assertNotIn("graph", answer)
        self.assertFalse((self.folder / "out/graph.tsv").exists())

    def test_check_reads_all_files(self) -> None:
        self.write(ILPC)
        self.load("in")
        checked = self.succeed("check", "out").stdout.decode()
        for part in GRAPH:
            self.assertRegex(checked, rf"(?m)^verified +out/{part}\.tsv$")

    def test_facts_that_are_repeated_or_reflexive(self) -> None:
        self.write({**ILPC, "in/inference.txt": tsv("n r n", "n r o", "n r o")})
        answer = self.load("in")
        self.assert_facts("n r n", "n r o", part="graph")
        self.assertEqual(answer["left_out"]["duplicates"], 1)

    def test_a_fact_that_is_known_and_asked_for_stays_in_both(self) -> None:
        self.write({**ILPC, "in/inference_test.txt": tsv("n r o")})
        self.assertEqual(self.load("in")["graph_test"], 1)

    def test_names_of_both_graphs(self) -> None:
        """The same name is another entity there, and a message says how many there are"""
        self.write(ILPC)
        result = self.succeed("import", "in", "out")
        shared = "new graph: 1 name is also in the training graph (of another entity)"
        counts = "new graph: 2 facts, 3 facts to ask for, 4 entities"
        self.assertLessEqual({shared, counts}, set(result.messages))

    def test_unknown_relations_left_out(self) -> None:
        self.write(ILPC)
        self.write({"in/inference.txt": tsv("n r o", "n q x", "n q y")})
        self.write({"in/inference_test.txt": tsv("n p o", "n s o")})
        result = self.succeed("import", "in", "out", "--skip-unknown")
        self.assertIn("left out: 3 facts of the new graph with unknown relations", result.messages)
        self.assert_facts("n r o", part="graph")
        self.assert_facts("n s o", part="graph-test")
        self.assertEqual(self.stats("out")["graph_entities"], 3)
        answer = self.load("in", "--skip-unknown", "--force")
        self.assertEqual(answer["left_out"], {**NOTHING_LEFT_OUT, "unknown_relations": 3})

    def test_replaced_by_a_set_without_one(self) -> None:
        self.write({**ILPC, "g.tsv": FACTS})
        self.succeed("import", "in", "out")
        self.succeed("import", "g.tsv", "out", "--force")
        self.assertEqual(set(snapshot(self.folder / "out")), {b"train.tsv", b"dataset.json"})

    def test_split_takes_the_training_graph(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "500", "--entities", "100")
        relation = self.lines("g.tsv")[0].split(b"\t")[1]
        self.write({"in/train.txt": self.read("g.tsv"), "in/inference.txt": b"n\t%s\to\n" % relation})
        steps = self.succeed("split", "in", "unseen", "--json").json["split"]["steps"]
        self.assertEqual(steps["merged_facts"], 500)
        self.assertFalse((self.folder / "unseen/graph.tsv").exists())


class Replacing(ImportCase):
    """--force, where a data set stands already."""

    def setUp(self) -> None:
        super().setUp()
        self.write({"g.tsv": FACTS, **UNSEEN})
        self.succeed("import", "in", "out")

    def test_by_a_smaller_one(self) -> None:
        self.succeed("import", "g.tsv", "out", "--force")
        self.assertEqual(set(snapshot(self.folder / "out")), {b"train.tsv", b"dataset.json"})
        self.assertEqual(set(snapshot(self.folder)), self.names("out/train.tsv out/dataset.json"))

    def test_by_itself(self) -> None:
        before = snapshot(self.folder)
        self.succeed("import", "out", "out", "--force")
        self.assertEqual(snapshot(self.folder), before)

    def test_an_empty_folder(self) -> None:
        (self.folder / "empty").mkdir()
        self.succeed("import", "g.tsv", "empty", "--force")
        self.assertEqual(self.read("empty/train.tsv"), FACTS)

    def test_nothing(self) -> None:
        self.succeed("import", "g.tsv", "new", "--force")
        self.assertEqual(self.read("new/train.tsv"), FACTS)

    def test_a_place_with_a_slash_at_its_end(self) -> None:
        self.succeed("import", "g.tsv", "new/")
        self.assertEqual(self.read("new/train.tsv"), FACTS)

    def names(self, new: str) -> set[bytes]:
        return {b"g.tsv", b"in", b"out", *map(str.encode, [*UNSEEN, *new.split()])}


# ---------------------------------------------------------------------------------------------
# Real data


@dataclass(frozen=True)
class Published:
    """A data set and the counts that its publishers give."""

    name: str
    counts: dict[str, int]


def in_sample(name: str, entities: int, relations: int, *facts: int) -> Published:
    train, valid, test = facts
    counts = {"entities": entities, "relations": relations}
    return Published(name, {**counts, "train": train, "valid": valid, "test": test})


def out_of_sample(name: str, entities: int, relations: int, train: int, *unseen: int) -> Published:
    keys = ("unseen_valid", "unseen_test", "queries_valid", "queries_test")
    counts = {"entities": entities, "relations": relations, "train": train}
    return Published(name, {**counts, **dict(zip(keys, unseen)), "valid": 0, "test": 0})


PUBLISHED = [
    in_sample("WN18RR", 40943, 11, 86835, 3034, 3134),
    in_sample("FB15k-237", 14541, 237, 272115, 17535, 20466),
    out_of_sample("oWN18RR", 32270, 11, 60608, 2848, 2848, 12760, 12440),
    out_of_sample("oFB15k-237", 11579, 234, 193504, 1395, 1403, 44601, 54118),
]


@needs_data
@cases(PUBLISHED)
class RealData(ImportCase):
    def check(self, row: Published) -> None:
        answer = self.load(unpacked_data() / row.name)
        self.assertEqual(answer["left_out"], NOTHING_LEFT_OUT)
        for counts in answer, self.stats("out"):
            self.assertEqual({key: counts[key] for key in row.counts}, row.counts)

    def test_files_come_out_as_they_went_in(self) -> None:
        source = unpacked_data() / "FB15k-237"
        self.load(source)
        for part in "train", "valid", "test":
            original = (source / f"{part}.txt").read_bytes().replace(b"\r\n", b"\n")
            self.assertEqual(self.read(f"out/{part}.tsv").rstrip(), original.rstrip())


def new_graph(name: str, entities: int, relations: int, *facts: int) -> Published:
    keys = ("train", "valid", "graph_entities", "graph", "graph_valid", "graph_test")
    return Published(name, {"entities": entities, "relations": relations, **dict(zip(keys, facts))})


NEW_GRAPHS = [
    new_graph("WN18RR_v1", 2746, 9, 5410, 630, 922, 1618, 185, 188),
    new_graph("fb237_v1", 1594, 180, 4245, 489, 1093, 1993, 206, 205),
    new_graph("ilpc22-small", 10230, 48, 78616, 0, 6653, 20960, 2908, 2902),
]


@unittest.skipUnless((DATA / "inductive.tar.xz").is_file(), f"no new graphs in {DATA}")
@cases(NEW_GRAPHS)
class RealNewGraphs(ImportCase):
    def check(self, row: Published) -> None:
        source = unpacked_data() / row.name
        answer = self.load(source)
        self.assertEqual(answer["left_out"], NOTHING_LEFT_OUT)
        for counts in answer, self.stats("out"):
            self.assertEqual({key: counts[key] for key in row.counts}, row.counts)
        for part, file in ("graph", ""), ("graph-valid", "_validation"), ("graph-test", "_test"):
            original = (source / f"inference{file}.txt").read_bytes().replace(b"\r\n", b"\n")
            self.assertEqual(self.read(f"out/{part}.tsv").rstrip(), original.rstrip())


WORDNET = Path("/usr/share/wordnet")


@unittest.skipUnless((WORDNET / "data.noun").is_file(), f"no WordNet in {WORDNET}")
class WordNet(ImportCase):
    def test_synsets_and_their_relations(self) -> None:
        self.load("wordnet")
        facts = set(self.lines("out/train.tsv"))
        self.assertIn(b"dog.n.01\thypernym\tcanine.n.02", facts)
        self.assertIn(b"eiffel_tower.n.01\tinstance_hypernym\ttower.n.01", facts)
        self.assertIn(b"snore.v.01\tentailment\tsleep.v.01", facts)
        self.assertIn(b"good.a.01\tantonym\tbad.a.01", facts)
        relations = {fact.split(b"\t")[1] for fact in facts}
        self.assertNotIn(b"hyponym", relations)

    def test_a_folder_of_that_name(self) -> None:
        """The commands that take a folder take it; import takes WordNet"""
        self.succeed("generate", "g.tsv", "--facts", "500", "--entities", "100")
        self.succeed("import", "g.tsv", "wordnet")
        self.assertEqual(self.stats("wordnet")["train"], 500)
        steps = self.succeed("split", "wordnet", "unseen", "--json").json["split"]["steps"]
        self.assertEqual(steps["merged_facts"], 500)
        self.assertGreater(self.load("wordnet")["train"], 200_000)

    def test_a_file_of_that_name(self) -> None:
        self.write({"wordnet": FACTS})
        self.assertEqual(self.load("wordnet", "--format", "tsv")["train"], 3)

    def test_inverses(self) -> None:
        skipped = self.succeed("import", "wordnet", "skipped", "--json").json
        kept = self.load(f"wordnet:{WORDNET}", "--inverses", "keep")
        self.assertEqual(kept["left_out"]["inverses"], 0)
        self.assertGreater(skipped["left_out"]["inverses"], 100_000)
        self.assertEqual(
            kept["train"] + kept["left_out"]["duplicates"],
            skipped["train"]
            + skipped["left_out"]["duplicates"]
            + skipped["left_out"]["inverses"],
        )
        self.assertIn(b"canine.n.02\thyponym\tdog.n.01", set(self.lines("out/train.tsv")))


if __name__ == "__main__":
    unittest.main()
