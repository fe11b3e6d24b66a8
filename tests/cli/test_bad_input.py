"""Inputs with one defect each: one clear line, exit status 2, and nothing left on disk.

A table for each form of input. Most rows are a good input with one thing replaced, so the defect
and nothing else is what the tool complains about; `GoodInputs` proves that the rest is good.
"""

from __future__ import annotations

import re
import unittest
from dataclasses import dataclass, field
from kgraft import Case, Tree, cases, tsv, zipped


@dataclass(frozen=True)
class Bad:
    """An input, how it is read, and what the one line on standard error must look like."""

    name: str
    files: Tree
    pattern: str
    words: str = "import in out"
    stdin: bytes = field(default=b"", repr=False)


class BadInput(Case):
    def check(self, row: Bad) -> None:
        self.write(row.files)
        self.refuse(*row.words.split(), pattern=row.pattern, stdin=row.stdin)


def replaced(files: Tree, name: str, old: bytes, new: bytes) -> Tree:
    """The same files but for one spot."""
    if files[name].count(old) != 1:
        raise ValueError(f"{old!r} does not stand in {name} exactly once")
    return {**files, name: files[name].replace(old, new)}


def without(files: Tree, name: str) -> Tree:
    return {other: content for other, content in files.items() if other != name}


def inside(folder: str, files: Tree) -> Tree:
    return {f"{folder}/{name}": content for name, content in files.items()}


# ---------------------------------------------------------------------------------------------
# TSV


def bad_tsv(name: str, content: bytes, pattern: str, options: str = "") -> Bad:
    return Bad(name, {"g.tsv": content}, pattern, f"import g.tsv out {options}")


FACTS = tsv("a r b", "b r c")
COLUMNS = "expected head, relation and tail.*, found"

TSV = [
    bad_tsv("empty file", b"", r"g\.tsv: expected facts, found none"),
    bad_tsv("one column", FACTS + b"abc\n", rf"g\.tsv:3: {COLUMNS} 1 column: 'abc'"),
    bad_tsv("two columns", FACTS + b"a\tr\n", rf"g\.tsv:3: {COLUMNS} 2 columns: .*"),
    bad_tsv("four columns", b"a\tr\tb\tc\n" + FACTS, rf"g\.tsv:1: {COLUMNS} 4 columns: .*"),
    bad_tsv("five columns", b"a\tr\tb\tc\td\n", rf"g\.tsv:1: {COLUMNS} 5 columns: .*"),
    bad_tsv("spaces for tabs", FACTS + b"a r b\n", rf"g\.tsv:3: {COLUMNS} 1 column: 'a r b' \(it looks separated by spaces: .*"),
    bad_tsv("commas for tabs", b"a,r,b\n", rf"g\.tsv:1: {COLUMNS} 1 column: 'a,r,b' \(it looks like CSV: write tabs .*"),
    bad_tsv("semicolons for tabs", b"a;r;b\n", rf"g\.tsv:1: {COLUMNS} .* \(it looks like CSV with semicolons: .*"),
    bad_tsv("RDF", b"<a> <r> <b> .\n", rf"g\.tsv:1: {COLUMNS} .* \(it looks like RDF: .* \.nt.*"),
    bad_tsv("Turtle with semicolons", b"e:a o:in e:b ; o:in e:c ; o:name \"a\" .\n", rf"g\.tsv:1: {COLUMNS} .* \(it looks like RDF: .*"),
    bad_tsv("Turtle with commas", b"e:a o:in e:b, e:c, e:d .\n", rf"g\.tsv:1: {COLUMNS} .* \(it looks like RDF: .*"),
    bad_tsv("names with colons and semicolons", b"e:a ; o:in ; e:b\n", rf"g\.tsv:1: {COLUMNS} .* \(it looks like CSV with .*"),
    bad_tsv("names with colons and commas", b"e:a, o:in, e:b\n", rf"g\.tsv:1: {COLUMNS} .* \(it looks like CSV: .*"),
    bad_tsv("a header", b"Head\tRelation\tTail\n" + FACTS, r"g\.tsv:1: expected a fact, found what looks like a header: .*delete this line.*"),
    Bad("facts from a pipe", {}, "standard input: expected facts, found none", "import - out"),
    Bad("a data set for a model", {"d/train.tsv": FACTS, "d/dataset.json": b"{}"},
        r"d: expected a model directory, found a data set \(kgraft train .*", "predict d d/train.tsv"),
    Bad("a file for a model", {"g.tsv": FACTS}, r"g\.tsv: expected a model directory, found a file", "info g.tsv"),
    Bad("a folder for a model", {"d/x": b""}, r"d: expected a model directory, found one without config\.json", "info d"),
    bad_tsv("empty head", FACTS + b"\tr\tb\n", r"g\.tsv:3:1: expected a name, found .*empty.*"),
    bad_tsv("empty relation", FACTS + b"a\t\tb\n", r"g\.tsv:3:3: expected a name, found .*empty.*"),
    bad_tsv("empty tail", FACTS + b"a\tr\t\n", r"g\.tsv:3:5: expected a name, found .*empty.*"),
    bad_tsv("empty tail before CRLF", b"a\tr\t\r\n", r"g\.tsv:1:5: expected a name, found .*"),
    bad_tsv("three empty columns", b"\t\t\n", r"g\.tsv:1:1: expected a name, found .*empty.*"),
    bad_tsv("NUL byte", FACTS + b"a\tr\tb\0c\n", r"g\.tsv:3:6: expected text, found a NUL byte.*"),
    bad_tsv("NUL byte alone", b"\0", r"g\.tsv:1:1: expected text, found a NUL byte.*"),
    bad_tsv(
        "little-endian UTF-16",
        FACTS.decode().encode("utf-16-le"),
        r"g\.tsv:1:2: expected text, found a NUL byte.*UTF-16.*",
    ),
    bad_tsv(
        "UTF-16 with a byte order mark",
        b"\xfe\xff" + FACTS.decode().encode("utf-16-be"),
        r"g\.tsv:1:3: expected text, found a NUL byte.*UTF-16.*",
    ),
    bad_tsv(
        "blank line", b"a\tr\tb\n\nb\tr\tc\n", r"g\.tsv:2: .*found an empty line.*--skip-blank.*"
    ),
    bad_tsv("blank line first", b"\n" + FACTS, r"g\.tsv:1: expected .*found an empty line.*"),
    bad_tsv("blank line last", FACTS + b"\n", r"g\.tsv:3: expected .*found an empty line.*"),
    bad_tsv("blank line with CRLF", FACTS + b"\r\n", r"g\.tsv:3: expected .*found an empty line.*"),
    bad_tsv("line of spaces", FACTS + b"  \n", rf"g\.tsv:3: {COLUMNS} 1 column: '  '"),
    bad_tsv(
        "line of spaces with --skip-blank",
        FACTS + b"  \n",
        rf"g\.tsv:3: {COLUMNS} 1 column: '  '",
        "--skip-blank",
    ),
    bad_tsv("comment", b"# hello\n" + FACTS, rf"g\.tsv:1: {COLUMNS} 1 column: '# hello'"),
    bad_tsv(
        "comment of another kind",
        FACTS + b"% hello\n",
        rf"g\.tsv:3: {COLUMNS} 1 column: '% hello'",
        "--comment #",
    ),
    bad_tsv(
        "comment behind a space",
        FACTS + b" # hello\n",
        rf"g\.tsv:3: {COLUMNS} 1 column: ' # hello'",
        "--comment #",
    ),
    bad_tsv("only comments", b"# a\n# b\n", r"g\.tsv: expected facts, found none", "--comment #"),
    bad_tsv("only blank lines", b"\n\n", r"g\.tsv: expected facts, found none", "--skip-blank"),
    bad_tsv(
        "bad line far into the file",
        FACTS * 200_000 + b"abc\n" + FACTS,
        rf"g\.tsv:400001: {COLUMNS} 1 column: 'abc'",
    ),
    bad_tsv(
        "unprintable bytes are shown escaped",
        b"\x1b[31m\xff\n",
        rf"g\.tsv:1: {COLUMNS} 1 column: '\\x1b\[31m\\xff'",
    ),
    bad_tsv(
        "a long line is shown cut",
        b"x" * 100_000 + b"\n",
        rf"g\.tsv:1: {COLUMNS} 1 column: 'x{{40,100}}\.\.\.'",
    ),
    Bad(
        "bad line in the second file",
        {"a.tsv": FACTS, "b.tsv": b"abc\n"},
        rf"b\.tsv:1: {COLUMNS} 1 column: 'abc'",
        "import a.tsv b.tsv out",
    ),
    Bad(
        "bad line on standard input",
        {},
        rf"standard input:3: {COLUMNS} 1 column: 'abc'",
        "import - out",
        FACTS + b"abc\n",
    ),
    Bad(
        "nothing on standard input",
        {},
        "standard input: expected facts, found none",
        "import - out",
    ),
]


@cases(TSV)
class Tsv(BadInput):
    pass


# ---------------------------------------------------------------------------------------------
# gzip

PACKED = zipped(FACTS * 1000)

GZIP = [
    bad_tsv("truncated gzip", PACKED[:-20], r"g\.tsv: expected intact gzip data, found .*early"),
    bad_tsv(
        "gzip without its end", PACKED[:-8], r"g\.tsv: expected intact gzip data, found .*early"
    ),
    bad_tsv(
        "gzip cut in its CRC", PACKED[:-6], r"g\.tsv: expected intact gzip data, found .*early"
    ),
    bad_tsv("gzip header alone", PACKED[:10], r"g\.tsv: expected intact gzip data, found .*early"),
    bad_tsv(
        "gzip with a wrong CRC",
        PACKED[:-8] + bytes([PACKED[-8] ^ 1]) + PACKED[-7:],
        r"g\.tsv: expected intact gzip data, found .*damaged",
    ),
    bad_tsv(
        "gzip with a wrong length",
        PACKED[:-1] + bytes([PACKED[-1] ^ 1]),
        r"g\.tsv: expected intact gzip data, found .*damaged",
    ),
    bad_tsv(
        "gzip of an unknown method",
        PACKED[:2] + b"\x07" + PACKED[3:],
        r"g\.tsv: expected intact gzip data, found .*damaged",
    ),
    bad_tsv("gzip of nothing", zipped(b""), r"g\.tsv: expected facts, found none"),
    bad_tsv(
        "bad line within gzip", zipped(FACTS + b"abc\n"), rf"g\.tsv:3: {COLUMNS} 1 column: 'abc'"
    ),
    Bad(
        "truncated gzip of RDF",
        {"g.nt": zipped(b"<http://x/a> <http://x/r> <http://x/b> .\n" * 1000)[:-20]},
        r"g\.nt: expected intact gzip data, found .*early",
        "import g.nt out",
    ),
    Bad(
        "truncated gzip in a directory",
        {"in/train.txt.gz": PACKED[:-20]},
        r"in/train\.txt\.gz: expected intact gzip data, found .*early",
    ),
    Bad(
        "truncated gzip on standard input",
        {},
        "standard input: expected intact gzip data, found .*early",
        "import - out",
        PACKED[:-20],
    ),
]


@cases(GZIP)
class Gzip(BadInput):
    pass


# ---------------------------------------------------------------------------------------------
# The authors' out-of-sample form

OOS_TRAIN = tsv("a r b", "b s c")
OOS_VALID = b'{"u": [["u", "r", "a"], ["b", "s", "u"]]}'
OOS_TEST = b'{"v": [["v", "r", "a"], ["v", "s", "b"]]}'
OOS = inside("in", {"train.txt": OOS_TRAIN, "valid.json": OOS_VALID, "test.json": OOS_TEST})


def bad_json(name: str, valid: bytes, pattern: str) -> Bad:
    return Bad(name, {**OOS, "in/valid.json": valid}, rf"in/valid\.json{pattern}")


def bad_fact(name: str, fact: bytes, pattern: str) -> Bad:
    """The second fact of the entity "u" is replaced."""
    files = replaced(OOS, "in/valid.json", b'["b", "s", "u"]', fact)
    return Bad(name, files, rf"in/valid\.json: entity 'u', fact 2: {pattern}")


SHAPE = ": expected an object .*, found"
FACT = r"expected \[head, relation, tail\], found"
OTHER_JSON = "expected JSON, found"

JSON = [
    bad_json("empty JSON", b"", f":1: {OTHER_JSON} .*end of file.*"),
    bad_json("truncated JSON", OOS_VALID[:-1], f":1:[0-9]+: {OTHER_JSON} .*end of file.*"),
    bad_json("JSON cut within a string", OOS_VALID[:20], f":1:[0-9]+: {OTHER_JSON} .*"),
    bad_json("a comma too many", b'{"u": [["u", "r", "a"],]}', f":1:[0-9]+: {OTHER_JSON} .*"),
    bad_json("single quotes", b"{'u': [['u', 'r', 'a']]}", f":1:[0-9]+: {OTHER_JSON} .*"),
    bad_json("something behind the JSON", OOS_VALID + b"\nx", f":2:[0-9]+: {OTHER_JSON} .*'x'.*"),
    bad_json("two JSON values", OOS_VALID + b"\n{}", f":2:[0-9]+: {OTHER_JSON} .*"),
    bad_json("defect on the third line", b'{\n"u":\nx}', f":3:[0-9]+: {OTHER_JSON} .*'x'.*"),
    bad_json(
        "JSON that is not UTF-8",
        b'{"u\xff": [["u", "r", "a"]]}',
        f":1:[0-9]+: {OTHER_JSON} .*0xff.*",
    ),
    bad_json("UTF-16 JSON", OOS_VALID.decode().encode("utf-16"), f":1(:[0-9]+)?: {OTHER_JSON} .*"),
    bad_json(
        "NUL in a name", b'{"u": [["u", "r", "\\u0000"]]}', f":1:[0-9]+: {OTHER_JSON} .*u0000.*"
    ),
    bad_json(
        "duplicate keys",
        b'{"u": [["u", "r", "a"]], "u": [["u", "r", "b"]]}',
        f":1:[0-9]+: {OTHER_JSON} .*duplicate.*\"u\".*",
    ),
    bad_json("no entities", b"{}", f"{SHAPE} an empty one"),
    bad_json("a list at the top", b"[]", f"{SHAPE} a list"),
    bad_json("a string at the top", b'"u"', ":1:[0-9]+: expected .*"),
    bad_json("a number at the top", b"1", ":1:[0-9]+: expected .*"),
    bad_json("null at the top", b"null", ":1:[0-9]+: expected .*"),
    bad_json(
        "an entity without facts",
        b'{"u": []}',
        ": entity 'u': expected a list of facts, found an empty one",
    ),
    bad_json(
        "an object for facts",
        b'{"u": {}}',
        ": entity 'u': expected a list of facts, found an object",
    ),
    bad_json(
        "a string for facts",
        b'{"u": "x"}',
        ": entity 'u': expected a list of facts, found a string",
    ),
    bad_json(
        "null for facts", b'{"u": null}', ": entity 'u': expected a list of facts, found null"
    ),
    bad_json(
        "a truth value for facts",
        b'{"u": true}',
        ": entity 'u': expected a list of facts, found a truth value",
    ),
    bad_json(
        "one fact without its list",
        b'{"u": ["u", "r", "a"]}',
        f": entity 'u', fact 1: {FACT} a string",
    ),
    bad_json(
        "an empty entity", b'{"": [["u", "r", "a"]]}', ": .*expected a name, found an empty string"
    ),
    bad_json(
        "a tab in an entity",
        b'{"u\\t": [["u\\t", "r", "a"]]}',
        r": .*expected a name without tab or newline, found 'u\\x09'",
    ),
    bad_json(
        "an entity that is in train",
        b'{"a": [["a", "r", "b"]]}',
        ": .*expected .*unseen.*, found .*'a'.*train.*",
    ),
    bad_fact("a fact of two names", b'["u", "r"]', f"{FACT} a list of 2"),
    bad_fact("a fact of four names", b'["u", "r", "a", "b"]', f"{FACT} a list of 4"),
    bad_fact("a fact of nothing", b"[]", f"{FACT} a list of 0"),
    bad_fact("an object for a fact", b'{"head": "u"}', f"{FACT} an object"),
    bad_fact("null for a fact", b"null", f"{FACT} null"),
    bad_fact("a number for a name", b'["u", "r", 3]', "expected three strings, found a number"),
    bad_fact("a list for a name", b'["u", ["r"], "a"]', "expected three strings, found a list"),
    bad_fact("null for a name", b'[null, "r", "u"]', "expected three strings, found null"),
    bad_fact("an empty name", b'["u", "", "a"]', "expected a name, found an empty string"),
    bad_fact(
        "a tab in a name",
        b'["u", "r\\t", "a"]',
        r"expected a name without tab or newline, found 'r\\x09'",
    ),
    bad_fact(
        "a newline in a name",
        b'["u", "r\\n", "a"]',
        r"expected a name without tab or newline, found 'r\\x0a'",
    ),
    bad_fact(
        "a fact without its entity",
        b'["a", "r", "b"]',
        "expected the entity at one end, found 'a' and 'b'",
    ),
    bad_fact(
        "a fact with two unseen ends", b'["u", "r", "w"]', "expected .*train, found .*'u'.*'w'.*"
    ),
    bad_fact(
        "a fact with two unseen entities",
        b'["u", "r", "v"]',
        "expected .*train, found .*'u'.*'v'.*",
    ),
    bad_fact(
        "a fact of an unseen entity with itself",
        b'["u", "r", "u"]',
        "expected .*train, found .*'u'.*",
    ),
    bad_fact(
        "a fact with an unknown relation",
        b'["u", "q", "a"]',
        "expected a relation .*train, found 'q'",
    ),
    Bad(
        "an entity that is unseen in both files",
        {**OOS, "in/test.json": OOS_VALID},
        r"in/test\.json: entity 'u', fact 1: expected an unseen entity of its own, found .*'u'.*",
    ),
    Bad(
        "out-of-sample form without facts to train on",
        {**OOS, "in/train.txt": b""},
        r"in/train\.txt: expected facts, found none",
    ),
    Bad(
        "out-of-sample form with a bad line",
        {**OOS, "in/train.txt": OOS_TRAIN + b"abc\n"},
        rf"in/train\.txt:3: {COLUMNS} 1 column: 'abc'",
    ),
    Bad(
        "out-of-sample form without train.txt",
        without(OOS, "in/train.txt"),
        r"in: expected .*train\.txt.*, found none.*",
    ),
]


@cases(JSON)
class OutOfSampleJson(BadInput):
    pass


# ---------------------------------------------------------------------------------------------
# The same rules for a directory of our own form, without dataset.json

UNSEEN = inside(
    "in",
    {
        "train.tsv": OOS_TRAIN,
        "unseen-valid.tsv": tsv("u r a", "b s u"),
        "unseen-test.tsv": tsv("v r a", "v s b"),
    },
)


def bad_unseen(name: str, line: str, pattern: str) -> Bad:
    files = replaced(UNSEEN, "in/unseen-test.tsv", tsv("v s b"), tsv(line))
    return Bad(name, files, rf"in/unseen-test\.tsv:2: {pattern}")


UNSEEN_TSV = [
    bad_unseen("both ends in train", "a r b", "expected .*unseen.*, found .*'a' and 'b'.*train.*"),
    bad_unseen("neither end in train", "v r w", "expected .*train, found .*'v' nor 'w'.*"),
    bad_unseen("an end in unseen-valid", "v r u", "expected .*train, found .*'v' nor 'u'.*"),
    bad_unseen("an entity of unseen-valid", "u r b", "expected .*of its own, found .*'u'.*"),
    bad_unseen("an unknown relation", "v q b", "expected a relation .*train, found 'q'"),
    bad_unseen("a column too few", "v r", f"{COLUMNS} 2 columns: .*"),
]


@cases(UNSEEN_TSV)
class OutOfSampleTsv(BadInput):
    pass


# ---------------------------------------------------------------------------------------------
# New graphs

ILPC = inside(
    "in",
    {
        "train.txt": OOS_TRAIN,
        "inference.txt": tsv("n r o", "o s n"),
        "inference_validation.txt": tsv("n r p"),
        "inference_test.txt": tsv("p s n"),
    },
)
NO_GRAPH = "in: expected facts of the new graph with known relations, found none"

NEW_GRAPHS = [
    Bad(
        "new graph with unknown relations",
        {**ILPC, "in/inference.txt": tsv("n q o", "n x o"), "in/inference_test.txt": tsv("n q p")},
        r"in: expected known relations in the new graph, found unknown ones in 3 of its facts: "
        r"'q', 'x' \(kgraft import leaves these facts out by --skip-unknown\)",
    ),
    Bad(
        "new graph with unknown relations only",
        {**ILPC, "in/inference.txt": tsv("n q o")},
        NO_GRAPH,
        "import in out --skip-unknown",
    ),
    Bad("new graph without known facts", without(ILPC, "in/inference.txt"), NO_GRAPH),
    Bad(
        "new graph with an empty file",
        {**ILPC, "in/inference_test.txt": b""},
        r"in/inference_test\.txt: expected facts, found none",
    ),
    Bad(
        "new graph with a column too few",
        {**ILPC, "in/inference_validation.txt": tsv("n r p", "n r")},
        rf"in/inference_validation\.txt:2: {COLUMNS} 2 columns: .*",
    ),
    Bad(
        "new graph that is cut off",
        {**without(ILPC, "in/inference.txt"), "in/inference.txt.gz": zipped(tsv("n r o"))[:-9]},
        r"in/inference\.txt\.gz: .*",
    ),
    Bad(
        "format ilpc without a new graph",
        {"in/train.txt": OOS_TRAIN},
        r"in: expected a directory with train\.txt and inference\.txt, as for format ilpc, found none",
        "import --format ilpc in out",
    ),
    Bad(
        "format grail without a new graph",
        {"in/train.txt": OOS_TRAIN},
        r"in_ind: expected a directory with train\.txt, as for format grail, found none",
        "import --format grail in out",
    ),
    Bad(
        "a pair of directories and one more",
        {"in/train.txt": OOS_TRAIN, "in_ind/train.txt": tsv("n r o"), "more/train.txt": OOS_TRAIN},
        "in: expected a file, as one of several sources, found a directory",
        "import in in_ind more out",
    ),
    Bad(
        "a pair whose new graph has unknown relations, as it is",
        {"in/train.txt": OOS_TRAIN, "in_ind/train.txt": tsv("n r o", "n q o")},
        "in: expected known relations in the new graph, found unknown ones in 1 of .*: 'q' .*",
        "stats in",
    ),
]


@cases(NEW_GRAPHS)
class NewGraphs(BadInput):
    pass


# ---------------------------------------------------------------------------------------------
# OpenKE

OPENKE = inside(
    "in",
    {
        "entity2id.txt": b"3\na\t0\nb\t1\nc\t2\n",
        "relation2id.txt": b"2\nr\t0\ns\t1\n",
        "train2id.txt": b"3\n0 1 0\n1 2 1\n2 0 0\n",
        "valid2id.txt": b"1\n0 2 0\n",
        "test2id.txt": b"1\n2 1 1\n",
    },
)


def bad_openke(name: str, file: str, old: bytes, new: bytes, pattern: str) -> Bad:
    path = f"in/{file}2id.txt"
    return Bad(name, replaced(OPENKE, path, old, new), rf"in/{file}2id\.txt:{pattern}")


MORE = "1: expected [0-9]+ lines to follow.*, found more"
FEWER = "1: expected [0-9]+ lines to follow.*, found fewer"

OPENKE_ROWS = [
    bad_openke(
        "head id out of range",
        "train",
        b"1 2 1",
        b"3 2 1",
        "3: expected a head id below 3, found 3",
    ),
    bad_openke(
        "tail id out of range",
        "train",
        b"1 2 1",
        b"1 99 1",
        "3: expected a tail id below 3, found 99",
    ),
    bad_openke(
        "relation id out of range",
        "train",
        b"1 2 1",
        b"1 2 2",
        "3: expected a relation id below 2, found 2",
    ),
    bad_openke(
        "id out of range in test",
        "test",
        b"2 1 1",
        b"2 3 1",
        "2: expected a tail id below 3, found 3",
    ),
    bad_openke(
        "enormous id",
        "train",
        b"1 2 1",
        b"1 18446744073709551617 1",
        "3: expected a tail id.*, found .*18446744073709551617.*",
    ),
    bad_openke(
        "negative id", "train", b"1 2 1", b"-1 2 1", "3: expected a head id, a number, found '-1'"
    ),
    bad_openke(
        "id that is no number",
        "train",
        b"1 2 1",
        b"1 two 1",
        "3: expected a tail id, a number, found 'two'",
    ),
    bad_openke(
        "id with a point",
        "train",
        b"1 2 1",
        b"1 2 1.0",
        "3: expected a relation id, a number, found '1.0'",
    ),
    bad_openke(
        "hexadecimal id",
        "train",
        b"1 2 1",
        b"0x1 2 1",
        "3: expected a head id, a number, found '0x1'",
    ),
    bad_openke(
        "two ids", "train", b"1 2 1", b"1 2", "3: expected a relation id, a number, found ''"
    ),
    bad_openke(
        "four ids",
        "train",
        b"1 2 1",
        b"1 2 1 1",
        "3: expected head, tail and relation ids, found .*column.*",
    ),
    bad_openke(
        "five ids",
        "train",
        b"1 2 1",
        b"1 2 1 1 0",
        "3: expected head, tail and relation ids, found .*column.*",
    ),
    bad_openke(
        "blank line of facts", "train", b"1 2 1", b"", "3: expected a head id, a number, found ''"
    ),
    bad_openke("count too small", "train", b"3\n", b"2\n", MORE),
    bad_openke("count too large", "train", b"3\n", b"4\n", FEWER),
    bad_openke("count of zero", "train", b"3\n", b"0\n", "1: expected .*, found .*"),
    bad_openke(
        "entity count too small",
        "entity",
        b"3\n",
        b"2\n",
        "(1: expected 2 lines to follow.*, found more|4: expected .* below 2, found 2)",
    ),
    bad_openke("entity count too large", "entity", b"3\n", b"4\n", FEWER),
    bad_openke(
        "relation count too small",
        "relation",
        b"2\n",
        b"1\n",
        "(1: expected 1 lines? to follow.*, found more|3: expected .* below 1, found 1)",
    ),
    bad_openke("relation count too large", "relation", b"2\n", b"3\n", FEWER),
    bad_openke("count too small in valid", "valid", b"1\n0", b"0\n0", "1: expected .*, found .*"),
    bad_openke(
        "no count", "train", b"3\n", b"", "1: expected .*number of lines that follow.*, found .*"
    ),
    bad_openke(
        "count that is no number",
        "train",
        b"3\n",
        b"three\n",
        "1: expected .*number of lines that follow.*, found 'three'",
    ),
    bad_openke(
        "negative count",
        "train",
        b"3\n",
        b"-3\n",
        "1: expected .*number of lines that follow.*, found '-3'",
    ),
    bad_openke(
        "two counts",
        "train",
        b"3\n",
        b"3 3\n",
        "1: expected only the number of lines that follow, found more.*",
    ),
    bad_openke("enormous count", "entity", b"3\n", b"4000000000\n", FEWER),
    bad_openke(
        "repeated id", "entity", b"c\t2", b"c\t1", "4: expected each id once, found 1 again"
    ),
    bad_openke(
        "repeated relation id",
        "relation",
        b"s\t1",
        b"s\t0",
        "3: expected each id once, found 0 again",
    ),
    bad_openke(
        "repeated name", "entity", b"c\t2", b"b\t2", "4: expected each name once, found 'b' again"
    ),
    bad_openke(
        "repeated relation",
        "relation",
        b"s\t1",
        b"r\t1",
        "3: expected each name once, found 'r' again",
    ),
    bad_openke(
        "entity id out of range", "entity", b"c\t2", b"c\t3", "4: expected .*below 3, found 3"
    ),
    bad_openke("negative entity id", "entity", b"c\t2", b"c\t-2", "4: expected .*id.*, found '-2'"),
    bad_openke(
        "name without id", "entity", b"c\t2", b"c", "4: expected a name and its id.*, found .*"
    ),
    bad_openke(
        "id without name", "entity", b"c\t2", b"2", "4: expected a name and its id.*, found .*"
    ),
    bad_openke(
        "name of two columns",
        "entity",
        b"c\t2",
        b"c\td\t2",
        "4: expected a name and its id, found .*",
    ),
    bad_openke(
        "NUL byte in a name", "entity", b"c\t2", b"c\0\t2", "4: expected text, found a NUL byte"
    ),
    bad_openke(
        "NUL byte in a fact", "train", b"1 2 1", b"1 2 \0", "4?3?: expected text, found a NUL byte"
    ),
    Bad(
        "empty file of facts",
        {**OPENKE, "in/train2id.txt": b""},
        r"in/train2id\.txt:1: expected .*number of lines that follow.*",
    ),
    Bad(
        "empty file of names",
        {**OPENKE, "in/entity2id.txt": b""},
        r"in/entity2id\.txt:1: expected .*number of lines that follow.*",
    ),
    Bad(
        "missing entity2id.txt",
        without(OPENKE, "in/entity2id.txt"),
        r"in: expected a file entity2id\.txt, found none",
    ),
    Bad(
        "missing relation2id.txt",
        without(OPENKE, "in/relation2id.txt"),
        r"in: expected a file relation2id\.txt, found none",
    ),
    Bad(
        "missing train2id.txt",
        without(OPENKE, "in/train2id.txt"),
        r"in: expected .*train2id\.txt.*, found none.*",
    ),
]


@cases(OPENKE_ROWS)
class OpenKe(BadInput):
    pass


# ---------------------------------------------------------------------------------------------
# RDF

NT = b"<http://x/a> <http://x/r> <http://x/b> .\n"
NQ = b"<http://x/a> <http://x/r> <http://x/b> <http://x/g> .\n"
TTL = b"@prefix x: <http://x/> .\nx:a x:r x:b .\n"
TRIG = b"@prefix x: <http://x/> .\nx:g {\n  x:a x:r x:b .\n}\n"


def bad_rdf(name: str, syntax: str, content: bytes, line: int, pattern: str) -> Bad:
    """Line 0 is for a file as a whole. What is missing may show only on the next line."""
    place = f":({line}|{line + 1})(:[0-9]+)?" if line else ""
    return Bad(
        f"{syntax}: {name}",
        {f"g.{syntax}": content},
        rf"g\.{syntax}{place}: {pattern}",
        f"import g.{syntax} out",
    )


INVALID = "not valid RDF: .+"

RDF = [
    bad_rdf("empty file", "nt", b"", 0, "expected facts, found none"),
    bad_rdf("only a comment", "nt", b"# nothing\n", 0, "expected facts, found none"),
    bad_rdf("no full stop", "nt", NT + NT[:-3] + b"\n", 2, INVALID),
    bad_rdf("two terms", "nt", NT + b"<http://x/a> <http://x/r> .\n", 2, INVALID),
    bad_rdf("four terms", "nt", NT + NQ, 2, "expected facts outside of graphs, .+"),
    bad_rdf("unclosed IRI", "nt", NT + b"<http://x/a> <http://x/r> <http://x/b .\n", 2, INVALID),
    bad_rdf(
        "space in an IRI", "nt", NT + b"<http://x/a b> <http://x/r> <http://x/b> .\n", 2, INVALID
    ),
    bad_rdf("relative IRI", "nt", NT + b"<a> <http://x/r> <http://x/b> .\n", 2, INVALID),
    bad_rdf("empty IRI", "nt", NT + b"<> <http://x/r> <http://x/b> .\n", 2, ".+"),
    bad_rdf("literal as subject", "nt", NT + b'"a" <http://x/r> <http://x/b> .\n', 2, INVALID),
    bad_rdf("literal as predicate", "nt", NT + b'<http://x/a> "r" <http://x/b> .\n', 2, INVALID),
    bad_rdf("blank node as predicate", "nt", NT + b"<http://x/a> _:r <http://x/b> .\n", 2, INVALID),
    bad_rdf("unclosed literal", "nt", NT + b'<http://x/a> <http://x/r> "b .\n', 2, INVALID),
    bad_rdf("unknown escape", "nt", NT + b'<http://x/a> <http://x/r> "\\q" .\n', 2, INVALID),
    bad_rdf("prefixed name", "nt", NT + b"x:a <http://x/r> <http://x/b> .\n", 2, ".+"),
    bad_rdf("TSV", "nt", FACTS, 1, INVALID),
    bad_rdf("NUL byte between facts", "nt", NT + b"\0\n" + NT, 2, ".+"),
    bad_rdf("cut off", "nt", NT + NT[:20], 2, INVALID),
    bad_rdf(
        "only literals",
        "nt",
        b'<http://x/a> <http://x/r> "b" .\n',
        0,
        r"expected facts to train on, found only some about literals, .*\(kgraft import takes them with --literals keep\)",
    ),
    bad_rdf("far into the file", "nt", NT * 10_000 + b"oops\n", 10_001, INVALID),
    bad_rdf("undefined prefix of an object", "ttl", TTL + b"x:a x:r y:b .\n", 3, ".*y:b.*"),
    bad_rdf("undefined prefix of a subject", "ttl", TTL + b"y:a x:r x:b .\n", 3, ".*y:a.*"),
    bad_rdf("undefined prefix of a predicate", "ttl", TTL + b"x:a y:r x:b .\n", 3, ".*y:r.*"),
    bad_rdf("no full stop", "ttl", TTL + b"x:a x:r x:b\n", 3, INVALID),
    bad_rdf("no object", "ttl", TTL + b"x:a x:r .\n", 3, INVALID),
    bad_rdf("unclosed bracket", "ttl", TTL + b"x:a x:r [ x:r x:b .\n", 3, INVALID),
    bad_rdf("unclosed list", "ttl", TTL + b"x:a x:r ( x:b .\n", 3, INVALID),
    bad_rdf("unclosed literal", "ttl", TTL + b'x:a x:r "b .\n', 3, INVALID),
    bad_rdf("broken prefix", "ttl", b"@prefix x <http://x/> .\n" + TTL, 1, INVALID),
    bad_rdf("unknown directive", "ttl", b"@prefiks x: <http://x/> .\n", 1, INVALID),
    bad_rdf("graph", "ttl", TRIG, 3, "expected facts outside of graphs, found one in .*"),
    bad_rdf("only prefixes", "ttl", b"@prefix x: <http://x/> .\n", 0, "expected facts, found none"),
    bad_rdf("no full stop", "nq", NQ + NQ[:-3] + b"\n", 2, INVALID),
    bad_rdf("five terms", "nq", NQ + NQ.replace(b" .", b" <http://x/h> ."), 2, INVALID),
    bad_rdf("literal as graph", "nq", NQ + NT.replace(b" .", b' "g" .'), 2, INVALID),
    bad_rdf("unclosed IRI", "nq", NQ + NQ.replace(b"/g>", b"/g"), 2, INVALID),
    bad_rdf("empty file", "nq", b"", 0, "expected facts, found none"),
    bad_rdf("unclosed graph", "trig", TRIG[:-2], 4, INVALID),
    bad_rdf("graph closed twice", "trig", TRIG + b"}\n", 5, INVALID),
    bad_rdf("undefined prefix", "trig", TRIG.replace(b"x:b", b"y:b"), 3, ".*y:b.*"),
    bad_rdf("no object", "trig", TRIG.replace(b"x:b", b""), 3, INVALID),
    bad_rdf("empty graph", "trig", b"<http://x/g> { }\n", 0, "expected facts, found none"),
    Bad(
        "gzipped nt: no full stop",
        {"g.nt.gz": zipped(NT + NT[:-3])},
        rf"g\.nt\.gz:2(:[0-9]+)?: {INVALID}",
        "import g.nt.gz out",
    ),
    Bad(
        "RDF by --format: no full stop",
        {"g": NT + NT[:-3]},
        rf"g:2(:[0-9]+)?: {INVALID}",
        "import g out --format nt",
    ),
    Bad(
        "RDF on standard input: no full stop",
        {},
        rf"standard input:2(:[0-9]+)?: {INVALID}",
        "import - out --format nt",
        NT + NT[:-3],
    ),
    Bad(
        "RDF on standard input: literals alone",
        {},
        "standard input: expected facts to train on, found only some about literals, .*",
        "import - out --format ttl",
        b'<http://a> <http://r> "x" .\n',
    ),
    Bad(
        "second of two RDF files",
        {"a.nt": NT, "b.nt": NT[:-3]},
        rf"b\.nt:1(:[0-9]+)?: {INVALID}",
        "import a.nt b.nt out",
    ),
]


@cases(RDF)
class Rdf(BadInput):
    pass


# ---------------------------------------------------------------------------------------------
# WordNet

WORDNET = inside(
    "wn",
    {
        "index.noun": (
            b"  1 licence\n"
            b"animal n 1 1 ~ 1 0 00000001  \n"
            b"dog n 1 1 @ 1 0 00000002  \n"
        ),
        "data.noun": (
            b"  1 licence\n"
            b"00000001 03 n 01 animal 0 001 ~ 00000002 n 0000 | it lives  \n"
            b"00000002 03 n 01 dog 0 002 @ 00000001 n 0000 + 00000003 v 0101 | it barks  \n"
        ),
        "index.verb": b"bark v 1 1 + 1 0 00000003  \n",
        "data.verb": b"00000003 29 v 01 bark 0 001 + 00000002 n 0101 01 + 02 00 | do it  \n",
        "index.adj": b"",
        "data.adj": b"",
        "index.adv": b"",
        "data.adv": b"",
    },
)


def bad_wordnet(name: str, file: str, old: bytes, new: bytes, pattern: str) -> Bad:
    return Bad(
        name,
        replaced(WORDNET, f"wn/{file}", old, new),
        rf"wn/{file.replace('.', '[.]')}:{pattern}",
        "import wordnet:wn out",
    )


WORDNET_ROWS = [
    Bad("no folder", {}, r"wn: expected .*, found none", "import wordnet:wn out"),
    Bad("no path", {}, r"wordnet:: expected a path .*, found none", "import wordnet: out"),
    Bad(
        "missing data file",
        without(WORDNET, "wn/data.verb"),
        r"wn: expected a file data\.verb, found none",
        "import wordnet:wn out",
    ),
    Bad(
        "missing index file",
        without(WORDNET, "wn/index.adv"),
        r"wn: expected a file index\.adv, found none",
        "import wordnet:wn out",
    ),
    Bad(
        "empty files",
        {name: b"" for name in WORDNET},
        r"wn/data\.noun: expected synsets, found none.*",
        "import wordnet:wn out",
    ),
    bad_wordnet(
        "pointer to nowhere",
        "data.noun",
        b"00000003 v",
        b"00000009 v",
        "3: expected pointers to synsets that exist, found .*00000009.*",
    ),
    bad_wordnet(
        "offset too short",
        "data.noun",
        b"00000002 03",
        b"0000002 03",
        "3:1: expected a synset offset.*, found '0000002'",
    ),
    bad_wordnet(
        "offset that is no number",
        "data.noun",
        b"00000002 03",
        b"0000000x 03",
        "3:1: expected a synset offset.*, found '0000000x'",
    ),
    bad_wordnet(
        "wrong part of speech",
        "data.noun",
        b"03 n 01 dog",
        b"03 v 01 dog",
        "3:13: expected synset type n, found 'v'",
    ),
    bad_wordnet("no words", "data.noun", b"01 dog 0", b"00 dog 0", "3.*: expected .*, found .*"),
    bad_wordnet(
        "too many words", "data.noun", b"01 dog 0", b"02 dog 0", "3:[0-9]+: expected .*, found .*"
    ),
    bad_wordnet(
        "too few pointers",
        "data.noun",
        b"002 @",
        b"001 @",
        r"3:[0-9]+: expected a gloss.*, found '\+'",
    ),
    bad_wordnet(
        "too many pointers",
        "data.noun",
        b"002 @",
        b"003 @",
        r"3:[0-9]+: expected a pointer symbol.*, found '\|'",
    ),
    bad_wordnet(
        "pointers that are no number",
        "data.noun",
        b"002 @",
        b"two @",
        "3:[0-9]+: expected the number of pointers, found 'two'",
    ),
    bad_wordnet(
        "unknown pointer symbol",
        "data.noun",
        b"002 @",
        b"002 ?",
        r"3:[0-9]+: expected a pointer symbol of nouns, found '\?'",
    ),
    bad_wordnet(
        "pointer symbol of verbs",
        "data.noun",
        b"002 @",
        b"002 *",
        r"3:[0-9]+: expected a pointer symbol of nouns, found '\*'",
    ),
    bad_wordnet(
        "unknown part of speech",
        "data.noun",
        b"00000003 v",
        b"00000003 x",
        "3:[0-9]+: expected a part of speech.*, found 'x'",
    ),
    bad_wordnet(
        "no gloss",
        "data.noun",
        b" | it barks  ",
        b"",
        "3: expected a gloss.*, found the end of the line",
    ),
    bad_wordnet(
        "line cut off",
        "data.noun",
        b" 03 n 01 dog 0 002 @ 00000001 n 0000 + 00000003 v 0101 | it barks  ",
        b" 03",
        "3: expected .*, found the end of the line",
    ),
    bad_wordnet(
        "blank line",
        "data.noun",
        b"  1 licence\n",
        b"\n",
        "1: expected .*, found the end of the line",
    ),
    bad_wordnet(
        "repeated synset",
        "data.noun",
        b"00000002 03 n 01 dog",
        b"00000001 03 n 01 dog",
        "3: expected .*00000001.*",
    ),
    bad_wordnet(
        "word that the index lacks",
        "data.noun",
        b"01 dog",
        b"01 cat",
        r"3: expected that wn/index\.noun lists .*'cat', found .*",
    ),
    bad_wordnet(
        "frames that are missing",
        "data.verb",
        b"01 + 02 00 |",
        b"02 + 02 00 |",
        r"1:[0-9]+: expected .*frame.*, found '\|'",
    ),
    bad_wordnet(
        "index of another part of speech",
        "index.noun",
        b"dog n",
        b"dog v",
        "3:5: expected .*part of speech.*, found 'v'",
    ),
    bad_wordnet(
        "index with too few offsets",
        "index.noun",
        b"dog n 1",
        b"dog n 2",
        "3:[0-9]+: expected a synset offset.*, found .*",
    ),
    bad_wordnet(
        "index with too many offsets",
        "index.noun",
        b"00000002",
        b"00000002 00000001",
        "3:[0-9]+: expected the end of the line, found '00000001'",
    ),
    Bad(
        "unused inverses only",
        {
            **WORDNET,
            "wn/data.noun": b"00000001 03 n 01 animal 0 001 ~ 00000001 n 0000 | x  \n",
            "wn/data.verb": b"",
        },
        ".*expected facts.*, found none",
        "import wordnet:wn out",
    ),
]


@cases(WORDNET_ROWS)
class WordNet(BadInput):
    pass


# ---------------------------------------------------------------------------------------------
# Data set folders


class DatasetFolder(Case):
    """A folder as kgraft wrote it, in which something was changed since."""

    def setUp(self) -> None:
        super().setUp()
        self.write(UNSEEN)
        self.succeed("import", "in", "data")
        self.about = self.read("data/dataset.json")

    def refuse_about(self, about: bytes, pattern: str) -> None:
        self.write({"data/dataset.json": about})
        self.refuse("import", "data", "out", pattern=rf"data/dataset\.json{pattern}")

    def refuse_other(self, name: str) -> None:
        pattern = rf"data/{name}: expected .*checksum.*, found .*, delete dataset\.json beside it"
        self.refuse("import", "data", "out", pattern=pattern)

    def test_empty_description(self) -> None:
        self.refuse_about(b"", ":1: expected JSON, found .*end of file.*")

    def test_truncated_description(self) -> None:
        self.refuse_about(self.about[:-3], ":[0-9]+:[0-9]+: expected JSON, found .*")

    def test_description_that_is_no_object(self) -> None:
        self.refuse_about(b"[]", ': expected an object with "kgraft_dataset".*, found .*')

    def test_description_of_something_else(self) -> None:
        self.refuse_about(b"{}", ': expected an object with "kgraft_dataset".*, found .*')

    def test_description_of_a_later_version(self) -> None:
        later = self.about.replace(b'"kgraft_dataset": 1', b'"kgraft_dataset": 2')
        self.refuse_about(later, ': expected .*"kgraft_dataset": 1, found 2')

    def test_description_with_duplicate_keys(self) -> None:
        twice = self.about.replace(b"{", b'{ "kgraft_dataset": 1,', 1)
        self.refuse_about(twice, ":[0-9]+:[0-9]+: expected JSON, found .*duplicate.*")

    def test_description_without_files(self) -> None:
        about = self.about.replace(b'"files"', b'"fils"')
        self.refuse_about(about, ': expected an object "files", found none')

    def test_description_whose_files_are_a_list(self) -> None:
        self.refuse_about(
            b'{"kgraft_dataset": 1, "files": []}', ': expected an object "files", found .*'
        )

    def test_changed_file(self) -> None:
        self.write({"data/train.tsv": self.read("data/train.tsv").replace(b"a", b"z")})
        self.refuse_other(r"train\.tsv")

    def test_file_with_a_line_more(self) -> None:
        self.write({"data/train.tsv": self.read("data/train.tsv") + tsv("a s c")})
        self.refuse_other(r"train\.tsv")

    def test_file_with_other_line_ends(self) -> None:
        self.write({"data/train.tsv": self.read("data/train.tsv").replace(b"\n", b"\r\n")})
        self.refuse_other(r"train\.tsv")

    def test_changed_checksum(self) -> None:
        self.write({"data/dataset.json": self.about.replace(b'"xxh3": "', b'"xxh3": "0')})
        self.refuse_other(r"train\.tsv")

    def test_checksum_that_is_no_string(self) -> None:
        about = re.sub(rb'"xxh3": "\w+"', b'"xxh3": 1', self.about)
        self.write({"data/dataset.json": about})
        self.refuse_other(r"train\.tsv")

    def test_missing_file(self) -> None:
        (self.folder / "data/unseen-test.tsv").unlink()
        self.refuse(
            "import", "data", "out", pattern=r"data: expected a file unseen-test\.tsv.*, found none"
        )

    def test_missing_train_file(self) -> None:
        (self.folder / "data/train.tsv").unlink()
        self.refuse("import", "data", "out", pattern=r"data: expected .*train\.tsv.*, found none.*")

    def test_file_that_is_not_listed(self) -> None:
        self.write({"data/valid.tsv": tsv("a r c")})
        self.refuse_other(r"valid\.tsv")

    def test_stats_and_split_refuse_it_too(self) -> None:
        self.write({"data/train.tsv": self.read("data/train.tsv") + tsv("a s c")})
        pattern = r"data/train\.tsv: expected .*checksum.*, found .*"
        self.refuse("stats", "data", pattern=pattern)
        self.refuse("split", "data", "out", pattern=pattern)


# ---------------------------------------------------------------------------------------------
# Sources and places

GRAPH = {"g.tsv": FACTS}
FOLDER = {"in/train.txt": FACTS}
OLD = {**GRAPH, "out/train.tsv": FACTS}
SEVERAL = "expected one data set, found files of several forms.*"
NONE = "expected .*train.*, found none.*"

SOURCES = [
    Bad("missing file", {}, r"g\.tsv: cannot open it: No such file.*", "import g.tsv out"),
    Bad(
        "missing second file",
        GRAPH,
        r"h\.tsv: cannot open it: No such file.*",
        "import g.tsv h.tsv out",
    ),
    Bad(
        "file below a file",
        GRAPH,
        r"g\.tsv/x: cannot open it: Not a directory",
        "import g.tsv/x out",
    ),
    Bad(
        "directory as one of several sources",
        {**GRAPH, **FOLDER},
        "in: expected a file.*, found a directory",
        "import g.tsv in out",
    ),
    Bad("wordnet as one of several sources", GRAPH, "wordnet.*: .*", "import g.tsv wordnet:wn out"),
    Bad("directory without known files", {"in/facts.csv": FACTS}, f"in: {NONE}"),
    Bad("directory with valid.txt alone", {"in/valid.txt": FACTS}, f"in: {NONE}"),
    Bad(
        "directory with an empty test.txt",
        {**FOLDER, "in/test.txt": b""},
        r"in/test\.txt: expected facts, found none",
    ),
    Bad(
        "directory with a bad valid.txt",
        {**FOLDER, "in/valid.txt": b"a\tb\n"},
        rf"in/valid\.txt:1: {COLUMNS} 2 columns: .*",
    ),
    Bad(
        "directory where train.txt is a directory",
        {"in/train.txt/x": b""},
        r"in/train\.txt: expected a file, found a directory",
    ),
    Bad("train.txt beside train.tsv", {**FOLDER, "in/train.tsv": FACTS}, f"in: {SEVERAL}"),
    Bad(
        "train.txt beside train2id.txt",
        {**FOLDER, "in/train2id.txt": b"1\n0 0 0\n"},
        f"in: {SEVERAL}",
    ),
    Bad(
        "TSV beside the out-of-sample form",
        {**OOS, "in/valid.txt": FACTS, "in/test.txt": FACTS},
        f"in: {SEVERAL}",
    ),
    Bad(
        "more TSV than out-of-sample form",
        {**without(OOS, "in/test.json"), "in/valid.txt": FACTS, "in/test.txt": FACTS},
        f"in: {SEVERAL}",
    ),
    Bad(
        "more of one TSV form than of the other",
        {**FOLDER, "in/valid.txt": FACTS, "in/train.tsv": FACTS},
        f"in: {SEVERAL}",
    ),
    Bad(
        "--format openke for a directory of TSV",
        FOLDER,
        "in: expected .*openke.*, found none.*",
        "import in out --format openke",
    ),
    Bad(
        "--format tsv for a directory of OpenKE",
        OPENKE,
        "in: expected .*tsv.*, found none.*",
        "import in out --format tsv",
    ),
    Bad(
        "--format oos-json for a directory of TSV",
        FOLDER,
        "in: expected .*oos-json.*, found none.*",
        "import in out --format oos-json",
    ),
    Bad(
        "--format nt for a directory",
        FOLDER,
        "in: expected .*, found .*",
        "import in out --format nt",
    ),
    Bad(
        "--format openke for a file",
        GRAPH,
        r"g\.tsv: expected a directory.*, found a file",
        "import g.tsv out --format openke",
    ),
    Bad(
        "--format oos-json for a file",
        GRAPH,
        r"g\.tsv: expected a directory.*, found a file",
        "import g.tsv out --format oos-json",
    ),
    Bad(
        "--format nt for TSV",
        GRAPH,
        rf"g\.tsv:1(:[0-9]+)?: {INVALID}",
        "import g.tsv out --format nt",
    ),
    Bad(
        "--format tsv for RDF",
        {"g.nt": NT},
        rf"g\.nt:1: {COLUMNS} 1 column: .*",
        "import g.nt out --format tsv",
    ),
    Bad("stats of nothing", {}, "in: cannot open it: No such file.*", "stats in"),
    Bad(
        "stats of a bad file", {"g.tsv": b"abc\n"}, rf"g\.tsv:1: {COLUMNS} .*", "stats --json g.tsv"
    ),
    Bad("split of nothing", {}, "in: cannot open it: No such file.*", "split in out"),
    Bad(
        "split of a graph that is too small",
        GRAPH,
        r"(g\.tsv: )?expected a graph .*, found .*",
        "split g.tsv out",
    ),
    Bad(
        "split of a star, which loses all",
        {"g.tsv": tsv("a r b", "a r c", "a r d")},
        r"(g\.tsv: )?expected .*, found .*",
        "split g.tsv out --unseen 0.99",
    ),
]

PLACES = [
    Bad("directory that exists", OLD, r"out: .*exists already.*--force.*", "import g.tsv out"),
    Bad(
        "empty directory that exists",
        {**GRAPH, "out/x/y": b""},
        r"out/x: .*exists already.*--force.*",
        "import g.tsv out/x",
    ),
    Bad(
        "directory that exists, named with a slash",
        OLD,
        r"out/?: .*exists already.*--force.*",
        "import g.tsv out/",
    ),
    Bad(
        "split to a directory that exists",
        OLD,
        r"out: .*exists already.*--force.*",
        "split g.tsv out",
    ),
    Bad(
        "file in the place",
        {**GRAPH, "out": b"x"},
        "out: expected .*new folder, found a file",
        "import g.tsv out",
    ),
    Bad(
        "file in the place, with --force",
        {**GRAPH, "out": b"x"},
        "out: expected .*new folder, found a file",
        "import g.tsv out --force",
    ),
    Bad(
        "the source itself in the place",
        GRAPH,
        r"g\.tsv: expected .*new folder, found a file",
        "import g.tsv g.tsv --force",
    ),
    Bad("missing parent", GRAPH, "no/out: cannot create it: No such file.*", "import g.tsv no/out"),
    Bad(
        "file as parent",
        GRAPH,
        r"g\.tsv/out: cannot create it: Not a directory",
        "import g.tsv g.tsv/out",
    ),
    Bad(
        "--force on foreign files",
        {**OLD, "out/diary": b"x"},
        "out: not replaced: it holds 'diary'.*",
        "import g.tsv out --force",
    ),
    Bad(
        "--force on a foreign folder",
        {**OLD, "out/sub/x": b"x"},
        "out: not replaced: it holds 'sub'.*",
        "import g.tsv out --force",
    ),
    Bad(
        "--force on a folder called like a file of ours",
        {**GRAPH, "out/train.tsv/x": b"x"},
        r"out.*train\.tsv.*",
        "import g.tsv out --force",
    ),
    Bad(
        "--force with a bad input",
        {**OLD, "g.tsv": b"abc\n"},
        rf"g\.tsv:1: {COLUMNS} .*",
        "import g.tsv out --force",
    ),
    Bad(
        "--force on the folder above",
        {"g/g.tsv": FACTS},
        r"\.: not replaced: it holds 'g'.*",
        "import g/g.tsv . --force",
    ),
    Bad(
        "generate into a missing folder",
        {},
        r"no/g\.tsv: cannot create it: No such file.*",
        "generate no/g.tsv",
    ),
    Bad("generate over a folder", FOLDER, "in: .*", "generate in"),
    Bad(
        "plot into a missing folder",
        GRAPH,
        r"no/p\.svg: cannot create it: No such file.*",
        "stats g.tsv --plot no/p.svg",
    ),
    Bad("plot over a folder", {**GRAPH, **FOLDER}, "in: .*", "stats g.tsv --plot in"),
]


@cases(SOURCES)
class Sources(BadInput):
    pass


@cases(PLACES)
class Places(BadInput):
    def test_empty_name(self) -> None:
        self.write(GRAPH)
        self.refuse("import", "g.tsv", "", pattern=".*''.*|.*name.*")

    def test_newline_in_the_name_of_a_source(self) -> None:
        self.refuse("import", "a\nb", "out", pattern=r"'?a\\(x0a|n)b'?: cannot open it: .*")

    def test_newline_in_the_name_of_a_place(self) -> None:
        self.write(GRAPH)
        self.refuse("import", "g.tsv", "a\nb/c", pattern=r"'?a\\(x0a|n)b/c'?: cannot create it: .*")

    def test_escape_sequence_in_the_name_of_a_source(self) -> None:
        self.refuse("import", "\x1b[2J", "out", pattern=r"'?\\x1b\[2J'?: cannot open it: .*")

    def test_symbolic_link_in_the_place(self) -> None:
        self.write(OLD)
        (self.folder / "link").symlink_to("out")
        self.refuse("import", "g.tsv", "link", pattern="link: .*")


# ---------------------------------------------------------------------------------------------
# The other way round


@dataclass(frozen=True)
class Good:
    """What the rows above change."""

    name: str
    files: Tree
    source: str = "in"


GOOD = [
    Good("TSV", GRAPH, "g.tsv"),
    Good("gzip", {"g.tsv": PACKED}, "g.tsv"),
    Good("out-of-sample JSON", OOS),
    Good("out-of-sample TSV", UNSEEN),
    Good("OpenKE", OPENKE),
    Good("N-Triples", {"g.nt": NT}, "g.nt"),
    Good("Turtle", {"g.ttl": TTL}, "g.ttl"),
    Good("N-Quads", {"g.nq": NQ}, "g.nq"),
    Good("TriG", {"g.trig": TRIG}, "g.trig"),
    Good("WordNet", WORDNET, "wordnet:wn"),
]


@cases(GOOD)
class GoodInputs(Case):
    def check(self, row: Good) -> None:
        self.write(row.files)
        self.succeed("import", row.source, "out")


if __name__ == "__main__":
    unittest.main()
