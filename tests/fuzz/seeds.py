"""Writes the seeds of the fuzzers: small inputs, made by hand, for the branches that matter.

usage: tests/fuzz/seeds.py [FOLDER]

They go to tests/fuzz/corpus/NAME/seed-*, or to FOLDER/NAME. What else lies there was found by the
fuzzers. To add what a session finds, keeping only what reaches something new:

    fuzz_NAME -dict=tests/fuzz/NAME.dict -max_total_time=600 /tmp/new tests/fuzz/corpus/NAME
    fuzz_NAME -merge=1 -use_counters=0 tests/fuzz/corpus/NAME /tmp/new

An input is a byte of options (fuzz.h) and files with a byte 0xff between them; that of a model is a
folder, packed as fuzz_model.c has it.
"""

from __future__ import annotations

import gzip
import struct
import sys
from json import dumps
from pathlib import Path
from typing import Optional

PLAIN, SKIP_BLANK, COMMENT, LITERALS, INVERSES, CANCEL = (1 << i for i in range(6))
SKIP_UNKNOWN = INVERSES
NTRIPLES, TURTLE, NQUADS, TRIG = (i << 6 for i in range(4))

Seeds = dict[str, bytes]


def pack(options: int, *files: str | bytes) -> bytes:
    raw = (file.encode() if isinstance(file, str) else file for file in files)
    return bytes([options]) + b"\xff".join(raw)


def zipped(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    data = bytearray(gzip.compress(raw, mtime=0))
    data[9] = 3  # the operating system; "unknown" would be a separator
    return bytes(data)


def zipped_file(content: str) -> bytes:
    """Without a byte that separates files: some number of blank lines behind it brings that."""
    return next(data for i in range(1000) if 0xFF not in (data := zipped(content + "\n" * i)))


def wrong_checksum(data: bytes) -> bytes:
    return data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]


def tsv() -> Seeds:
    facts = "a\tr\tb\nb\tr\tc\n"
    two_blocks = "".join(f"{i % 9:0400}\tr\tb\n" for i in range(3000))
    return {
        "empty": b"",
        "options-only": pack(PLAIN),
        "facts": pack(PLAIN, facts),
        "any-coding": pack(0, facts),
        "no-newline": pack(PLAIN, "a\tr\tb\nb\tr\tc"),
        "crlf": pack(PLAIN, "a\tr\tb\r\nb\tr\tc\r\n"),
        "returns": pack(PLAIN, "a\r\tr\r\tb\r\r\nb\rx\tr\tc\r\r\r\n"),
        "duplicates": pack(PLAIN, facts * 3 + "a\tr\ta\n"),
        "comments": pack(PLAIN | COMMENT, "# head\n" + facts + "#\n#a\tb\tc\n"),
        "comments-kept": pack(PLAIN, "#a\tr\tb\n" + facts),
        "blank": pack(PLAIN, "a\tr\tb\n\nb\tr\tc\n"),
        "blank-skipped": pack(PLAIN | SKIP_BLANK, "\n\r\na\tr\tb\n\nb\tr\tc\n\n"),
        "only-blank": pack(PLAIN | SKIP_BLANK | COMMENT, "\n#\n\n"),
        "two-columns": pack(PLAIN, "a\tr\tb\na\tb\n"),
        "four-columns": pack(PLAIN, "a\tr\tb\tc\n"),
        "empty-head": pack(PLAIN, "\tr\tb\n"),
        "empty-relation": pack(PLAIN, "a\t\tb\n"),
        "empty-tail": pack(PLAIN, "a\tr\t\n"),
        "only-return-as-tail": pack(PLAIN, "a\tr\t\r\n"),
        "nul": pack(PLAIN, "a\tr\tb\na\0\tr\tb\n"),
        "nul-after-bad-line": pack(PLAIN, "a\tb\n\0\n"),
        "utf16": pack(0, "a\tr\tb\n".encode("utf-16-le")),
        "utf8-mark": pack(0, b"\xef\xbb\xbfa\tr\tb\n"),
        "utf8-mark-of-a-name": pack(0, b"\xef\xbb\xbf\xef\xbb\xbfa\tr\tb\n\xef\xbb\xbfa\tr\tb\n"),
        "utf8-mark-alone": pack(SKIP_BLANK, b"\xef\xbb\xbf"),
        "utf8-mark-before-a-comment": pack(COMMENT, b"\xef\xbb\xbf#\na\tr\tb\n"),
        "utf8-mark-before-a-blank": pack(SKIP_BLANK, b"\xef\xbb\xbf\na\tr\tb\n"),
        "utf8": pack(0, "Zürich\tliegt in\tSchweiz\n😀\tist\tein Zeichen\n"),
        "not-utf8": pack(PLAIN, b"\xfe\xfe\t\x80\t\xc3\n\xed\xa0\x80\tr\t\xf5\n"),
        "not-utf8-shown": pack(PLAIN, b"\xfe\xf8\x80\xc3\x1b[31m" + bytes(range(1, 9))),
        "long-name": pack(PLAIN, "a" * 3000 + "\tr\tb\n"),
        "long-name-shown": pack(PLAIN, "ä" * 100),
        "many-names": pack(PLAIN, "".join(f"{i}\t{i % 7}\t{i * i % 101}\n" for i in range(300))),
        "gzip": pack(SKIP_BLANK, zipped_file(facts)),
        "gzip-taken-plain": pack(PLAIN, zipped_file(facts)),
        "gzip-members": pack(SKIP_BLANK, zipped_file(facts) + zipped_file("c\tr\td\n")),
        "gzip-cut": pack(SKIP_BLANK, zipped_file(facts)[:-9]),
        "gzip-cut-in-header": pack(SKIP_BLANK, zipped_file(facts)[:5]),
        "gzip-magic": pack(0, b"\x1f\x8b"),
        "gzip-half-magic": pack(0, b"\x1f"),
        "gzip-checksum": pack(SKIP_BLANK, wrong_checksum(zipped_file(facts))),
        "gzip-garbage-behind": pack(SKIP_BLANK, zipped_file(facts) + b"a\tr\tx\n"),
        "gzip-empty": pack(SKIP_BLANK, zipped_file("")),
        "gzip-two-blocks": pack(SKIP_BLANK, zipped_file(two_blocks)),
        "gzip-long-line": pack(SKIP_BLANK, zipped_file("a\tr\t" + "b" * 1_200_000)),
        "cancelled": pack(PLAIN | CANCEL, facts, facts),
        "all-parts": pack(PLAIN, facts, "c\tr\td\n", "a\ts\td\n", "x\tr\ta\n", "a\ts\ty\n"),
        "train-missing": pack(PLAIN, "", facts),
        "unseen": pack(PLAIN, facts, "", "", "x\tr\ta\nb\tr\tx\nx\tr\ta\n"),
        "unseen-not": pack(PLAIN, facts, "", "", "x\tr\ta\n\na\tr\tb\n"),
        "unseen-both-known": pack(PLAIN, facts, "", "", "x\tr\ta\na\tr\tb\n"),
        "unseen-neither-known": pack(PLAIN, facts, "", "", "x\tr\ta\nx\tr\ty\n"),
        "unseen-relation": pack(PLAIN | COMMENT, facts, "", "", "#\nx\tr\ta\nx\ts\ta\n"),
        "unseen-in-both": pack(PLAIN, facts, "", "", "x\tr\ta\n", "b\tr\tx\n"),
        "graph": pack(PLAIN, facts, *[""] * 4, "n\tr\ta\na\tr\tn\n", "n\tr\to\n", "o\tr\to\n"),
        "graph-relation": pack(PLAIN, facts, *[""] * 4, "n\ts\ta\na\tr\tn\n"),
        "graph-relation-skipped": pack(
            PLAIN | SKIP_UNKNOWN, facts, *[""] * 4, "n\ts\tm\na\tr\tn\n", "", "n\tt\ta\n"
        ),
        "graph-without-known-relations": pack(PLAIN | SKIP_UNKNOWN, facts, *[""] * 4, "n\ts\tm\n"),
        "graph-asked-only": pack(PLAIN, facts, *[""] * 5, "n\tr\to\n"),
    }


def facts() -> Seeds:
    """About new entities; the model knows a, b, dog.n.01, ... and the relations r and hypernym."""
    skip, entity = 2, 4
    cases = {
        "empty": "",
        "one": "x\tr\ta\n",
        "both-ways": "x\tr\ta\na\tr\tx\nx\thypernym\tdog.n.01\n",
        "several": "x\tr\ta\ny\tr\ta\nb\thypernym\tx\nNew York\tr\tz\n",
        "utf8-mark": "\ufeffx\tr\ta\n\ufeffx\tr\tb\n",
        "no-newline": "x\tr\ta\nb\tr\tx",
        "crlf": "x\tr\ta\r\nb\tr\tx\r\n",
        "returns": "x\r\tr\ta\nb\tr\tx\r\r\n",
        "repeated": "x\tr\ta\n" * 3,
        "itself": "x\tr\tx\nx\tr\ta\n",
        "only-itself": "x\tr\tx\n",
        "both-known": "x\tr\ta\na\tr\tb\n",
        "both-unknown": "x\tr\ty\n",
        "both-new": "x\tr\ta\ny\tr\ta\nx\tr\ty\n",
        "other-unknown": "x\tr\ta\nx\tr\tcanine.n.2\n",
        "relation-unknown": "x\tr\ta\nx\thyponym\ta\n",
        "case": "x\tr\tDOG.N.01\nx\tr\ta\n",
        "prefix": "x\thypernym\tdog\nx\tr\ta\n",
        "blank": "x\tr\ta\n\n",
        "two-columns": "x\tr\n",
        "four-columns": "x\tr\ta\tb\n",
        "empty-name": "x\t\ta\n",
        "nul": "x\tr\ta\0\n",
        "control": "\x1b[31m\tr\t\x7f\n",
        "long": "x" * 3000 + "\tr\t" + "dog.n.01" * 40 + "\n",
        "many": "".join(f"{i % 40}\tr\t{'ab'[i % 2]}\n" for i in range(300)),
    }
    seeds = {name: pack(PLAIN, text) for name, text in cases.items()}
    seeds |= {f"{name}-skipped": pack(PLAIN | skip, text) for name, text in cases.items()}
    return seeds | {
        "entity": pack(PLAIN | entity, "x\tr\ty\n"),
        "entity-both-new": pack(PLAIN | entity, "y\tr\ta\nx\tr\ty\n"),
        "not-utf8": pack(PLAIN, b"\xfe\tr\t\xff\n\xfe\t\x80\t\xff\n"),
        "gzip": pack(0, zipped(cases["several"])),
        "gzip-cut": pack(0, zipped(cases["several"])[:-9]),
        "gzip-two-blocks": pack(skip, zipped("".join(f"{i:0400}\tr\ta\n" for i in range(3000)))),
    }


def json() -> Seeds:
    good = '{"x": [["x", "r", "a"], ["b", "s", "x"]], "y": [["y", "r", "a"]]}'
    good_test = '{"z": [["z", "r", "a"]]}'
    cases = {
        "empty": "",
        "facts": good,
        "duplicate-fact": '{"x": [["x", "r", "a"], ["x", "r", "a"]]}',
        "duplicate-key": '{"x": [["x", "r", "a"]], "x": [["b", "r", "x"]]}',
        "in-sample-key": '{"a": [["a", "r", "b"]]}',
        "both-in-sample": '{"x": [["a", "r", "b"]]}',
        "both-unseen": '{"x": [["x", "r", "y"]]}',
        "itself": '{"x": [["x", "r", "x"]]}',
        "other-entity": '{"x": [["y", "r", "a"]]}',
        "new-relation": '{"x": [["x", "new", "a"]]}',
        "no-facts": '{"x": []}',
        "no-entities": "{}",
        "list": "[]",
        "string": '"x"',
        "number": "1",
        "facts-not-a-list": '{"x": {"x": 1}}',
        "fact-not-a-list": '{"x": [1.5]}',
        "fact-of-two": '{"x": [["x", "r"]]}',
        "fact-of-four": '{"x": [["x", "r", "a", "b"]]}',
        "not-strings": '{"x": [["x", null, true]]}',
        "empty-name": '{"x": [["x", "r", ""]]}',
        "empty-key": '{"": [["", "r", "a"]]}',
        "tab-in-name": '{"x\\ty": [["x\\ty", "r", "a"]]}',
        "newline-in-name": '{"x": [["x", "r", "a\\nb"]]}',
        "return-in-name": '{"x\\r": [["a", "r", "x\\r"]]}',
        "nul-in-name": '{"x\\u0000": [["x\\u0000", "r", "a"]]}',
        "escapes": '{"\\u00fc\\ud83d\\ude00": [["\\u00fc\\ud83d\\ude00", "r", "a"]]}',
        "half-surrogate": '{"\\ud83d": [["\\ud83d", "r", "a"]]}',
        "not-utf8": b'{"\x80": [["\x80", "r", "a"]]}',
        "cut": good[:-3],
        "cut-in-string": good[:12],
        "more-behind": good + "{}",
        "deep-lists": "[" * 3000,
        "deep-objects": '{"x":' * 2500,
        "big-number": '{"x": [[1e999, 123456789012345678901234567890, 0]]}',
        "utf16": good.encode("utf-16-le"),
        "nul": b'{"x"\0: 1}',
        "gzip": zipped_file(good),
        "gzip-cut": zipped_file(good)[:-12],
    }
    seeds = {name: pack(0, case) for name, case in cases.items()}
    seeds["both-parts"] = pack(PLAIN, good, good_test)
    seeds["both-parts-share"] = pack(PLAIN, good, good)
    return seeds | {"cancelled": pack(CANCEL, good), "second-empty": pack(0, good, "")}


def openke() -> Seeds:
    entities, relations = "3\na\t0\nb\t1\nc d\t2\n", "2\nr\t0\ns\t1\n"
    facts = "3\n0 1 0\n1 2 1\n2 0 0\n"
    names = (entities, relations)
    cases = {
        "facts": (*names, facts),
        "all-parts": (*names, facts, "1\n0 2 1\n", "1\n1 0 1\n"),
        "valid-wrong": (*names, facts, "1\n0 9 1\n"),
        "crlf": tuple(file.replace("\n", "\r\n") for file in (*names, facts)),
        "spaces": ("2\na b   0 \n c\t 1\t\n", "1 \nr 0\n", "1\n\t0  1\t0 \n"),
        "shuffled": ("3\nc\t2\na\t0\nb\t1\n", relations, facts),
        "unused": ("3\na\t0\nb\t1\nc\t2\n", relations, "1\n0 1 0\n"),
        "duplicates": (*names, "3\n0 1 0\n0 1 0\n0 1 0\n"),
        "no-newline": (*names, "1\n0 1 0"),
        "missing-files": (entities,),
        "empty-facts": (*names, ""),
        "no-facts": (*names, "0\n"),
        "no-names": ("0\n", "0\n", "1\n0 0 0\n"),
        "count-too-small": ("2\na\t0\nb\t1\nc\t2\n", relations, facts),
        "count-too-large": ("4\na\t0\nb\t1\nc\t2\n", relations, facts),
        "count-huge": ("4294967294\na\t4294967293\n", relations, facts),
        "count-over-limit": ("4294967295\na\t0\n", relations, facts),
        "count-long": ("1234567890123456789012\na\t0\n", relations, facts),
        "count-of-facts-huge": (*names, "4000000000\n0 1 0\n"),
        "count-negative": ("-1\n", relations, facts),
        "count-empty": ("\n", relations, facts),
        "count-and-more": ("3 4\n", relations, facts),
        "name-twice": ("2\na\t0\na\t1\n", relations, facts),
        "id-twice": ("2\na\t0\nb\t0\n", relations, "1\n0 1 0\n"),
        "id-missing": ("1\na\n", relations, facts),
        "id-too-large": ("2\na\t0\nb\t2\n", relations, facts),
        "id-only": ("1\n0\n", relations, facts),
        "tab-in-name": ("1\na\tb\t0\n", relations, facts),
        "return-in-name": ("2\na\r 0\nb\r\t1\n", relations, "1\n0 1 0\n"),
        "empty-line": ("2\na\t0\n\n", relations, facts),
        "fact-of-two": (*names, "1\n0 1\n"),
        "fact-of-four": (*names, "1\n0 1 0 0\n"),
        "fact-of-words": (*names, "1\na b r\n"),
        "head-too-large": (*names, "1\n3 0 0\n"),
        "relation-too-large": (*names, "1\n0 1 2\n"),
        "nul": ("1\na\0\t0\n", relations, "1\n0 0 0\n"),
        "not-utf8": (b"1\n\x80\xc3\t0\n", relations, "1\n0 0 0\n"),
        "utf16": (entities.encode("utf-16-be"), relations, facts),
        "gzip": tuple(map(zipped_file, (*names, facts))),
        "gzip-cut": (entities, relations, zipped_file(facts)[:-4]),
    }
    seeds = {name: pack(0, *files) for name, files in cases.items()}
    return seeds | {"empty": b"", "cancelled": pack(CANCEL, *names, facts, facts)}


def rdf() -> Seeds:
    term = "<u:a> <u:p> <u:b> .\n"
    xsd = "http://www.w3.org/2001/XMLSchema#"
    ntriples = {
        "triples": term + "<u:b> <u:p> _:x .\n_:x <u:q> <u:a> . # comment\n",
        "literals": '<u:a> <u:p> "x\\t\\n\\r\\"\\\\\\u00fc" .\n<u:a> <u:p> "y"@en-GB .\n'
        f'<u:a> <u:p> "1"^^<{xsd}integer> .\n',
        "crlf": term.replace("\n", "\r\n") * 2,
        "no-dot": "<u:a> <u:p> <u:b>\n",
        "no-object": "<u:a> <u:p> .\n",
        "relative": "<a> <b> <c> .\n",
        "escapes": "<u:\\u00FC\\U0001F600> <u:p> <u:\\u000D> .\n",
        "tab-escape": "<u:\\u0009> <u:p> <u:b> .\n",
        "newline-escape": "<u:a> <u:p> <u:\\u000A> .\n",
        "bad-escape": '<u:a> <u:p> "\\x" .\n',
        "out-of-range": '<u:a> <u:p> "\\U00110000" .\n',
        "open-string": '<u:a> <u:p> "x\n',
        "open-iri": "<u:a> <u:p> <u:b",
        "control-in-iri": "<u:a\x01> <u:p> <u:b> .\n",
        "control-unexpected": term + "\x1b[31m .\n",
        "not-utf8": b"<u:\x80\xc3> <u:p> <u:b> .\n",
        "surrogate": b"<u:\xed\xa0\x80> <u:p> <u:b> .\n",
        "nul": term + "\0" + "<u:c> <u:p> <u:d> .\n",
        "nul-in-comment": term + "# \0\n<u:c> <u:p> <u:d> .\n",
        "utf16": term.encode("utf-16-le"),
        "utf8-mark": b"\xef\xbb\xbf" + term.encode(),
        "blank-lines": "\n\n# nothing\n\n",
        "turtle-in-ntriples": "@prefix p: <u:p#> .\np:a a p:b .\n",
    }
    turtle = {
        "prefixes": "@prefix p: <u:p#> .\nPREFIX : <u:q#>\np:a a :b ; p:c :d , p:e\\(f%41 .\n",
        "base": "@base <http://e/x/> .\n<a> <../b> <#c> .\nBASE <y/>\n<a> <b> <> .\n",
        "base-relative": "@base <x> . <a> <b> <c> .\n",
        "no-prefix": "p:a p:b p:c .\n",
        "blanks": "_:a <u:p> [ <u:q> [ ] , [ <u:r> _:b ] ] .\n[ <u:s> <u:t> ] .\n",
        "blank-clash": "_:b1 <u:p> _:B1 , [ ] .\n",
        "collections": "(<u:a> ( ) [ <u:q> (<u:b>) ]) <u:p> ( 1 2.0 -3e4 true 'x' ) .\n",
        "long-strings": '<u:a> <u:p> """x "y" \n z\\u0041""" , \'\'\'q\'\'\'@de .\n',
        "datatype": "@prefix p: <u:p#> .\n<u:a> <u:p> 'x'^^p:t , 'x'^^<t> , 'x'^^p:t. .\n",
        "lists": "<u:a> <u:p> <u:b> , <u:c> ; ; <u:q> <u:d> ; .\n",
        "deep-blanks": "<u:a> <u:p> " + "[ <u:p> " * 200 + "<u:b>" + " ]" * 200 + " .\n",
        "deep-blanks-open": "<u:a> <u:p> " + "[[[" * 100,
        "deep-collections": "<u:a> <u:p> " + "(" * 500 + ")" * 500 + " .\n",
        "bad-directive": "@nothing <u:p#> .\n",
        "graph-in-turtle": "{ <u:a> <u:p> <u:b> }\n",
        "empty-iri": "<> <u:p> <u:b> .\n",
        "unclosed": "<u:a> <u:p> ( [ <u:q> <u:b>",
        "open-long-string": '<u:a> <u:p> """x',
    }
    trig = {
        "graphs": "<u:g> { <u:a> <u:p> <u:b> . <u:c> <u:p> ( <u:d> ) }\n{ <u:a> <u:p> _:b }\n",
        "graph-keyword": "GRAPH _:g { <u:a> <u:p> <u:b> }\ngraph [] { }\n",
        "deep-graphs": "<u:g> " + "{ " * 100,
        "bad-graph": "<u:g> { <u:a> <u:p> <u:b> } .\n",
    }
    nquads = {
        "quads": "<u:a> <u:p> <u:b> <u:g> .\n<u:a> <u:p> \"x\"@en _:g .\n" + term,
        "bad-quad": "<u:a> <u:p> <u:b> \"x\" .\n",
    }
    depth = 200_000  # more than the C stack would bear
    deep = {
        "gzip-deep-blanks": zipped_file("<u:a> <u:p> " + "[<u:p> " * depth),
        "gzip-deep-collections": zipped_file("<u:a> <u:p> " + "(" * depth),
    }
    seeds = {name: pack(NTRIPLES | PLAIN | LITERALS, text) for name, text in ntriples.items()}
    seeds |= {name: pack(TURTLE | PLAIN | LITERALS, text) for name, text in turtle.items()}
    seeds |= {name: pack(TRIG | PLAIN, text) for name, text in trig.items()}
    seeds |= {name: pack(NQUADS | PLAIN | LITERALS, text) for name, text in nquads.items()}
    seeds |= {name: pack(TURTLE, data) for name, data in deep.items()}
    return seeds | {
        "empty": b"",
        "literals-skipped": pack(NTRIPLES, ntriples["literals"] + term),
        "only-literals": pack(TURTLE, '<u:a> <u:p> "x" .\n'),
        "two-files": pack(TURTLE, turtle["blanks"], turtle["blanks"]),
        "gzip": pack(TURTLE, zipped_file(turtle["prefixes"])),
        "gzip-cut": pack(TURTLE, zipped_file(turtle["prefixes"])[:-20]),
        "gzip-pages": pack(NTRIPLES, zipped_file(term * 10_000)),
        "cancelled": pack(NTRIPLES | CANCEL, zipped_file(term * 10_000)),
    }


class WordNet:
    """The eight files, by name; those not given are empty."""

    ORDER = ("index.noun", "data.noun", "index.verb", "data.verb", "index.adj", "data.adj",
             "index.adv", "data.adv")

    def __init__(self, **files: str | bytes) -> None:
        self.files = {name.replace("_", "."): content for name, content in files.items()}

    def pack(self, options: int = 0) -> bytes:
        return pack(options, *(self.files.get(name, "") for name in self.ORDER)).rstrip(b"\xff")


def wordnet() -> Seeds:
    licence = "  1 This software and database is being provided\n"
    index = licence + "cat n 1 1 @ 1 0 00000002  \ndog n 2 2 @ ~ 2 1 00000001 00000003  \n"
    data = (
        licence + "00000001 05 n 02 dog 0 domestic_dog 0 001 @ 00000002 n 0000 | a dog  \n"
        "00000002 05 n 01 cat 0 002 ~ 00000001 n 0000 %p 00000003 n 0000 | a cat  \n"
        "00000003 06 n 01 Dog a 000 | a bad fellow  \n"
    )

    def nouns(
        data: str | bytes, index: str | bytes = "dog n 1 0 1 0 00000001  \n"
    ) -> bytes:
        return WordNet(index_noun=index, data_noun=data).pack()

    def pointer(text: str) -> bytes:
        return nouns(f"00000001 05 n 01 dog 0 001 {text} | x  \n")

    everything = WordNet(
        index_noun=index,
        data_noun=data,
        index_verb="go v 1 1 + 1 0 00000001  \n",
        data_verb="00000001 29 v 01 go 0 002 + 00000002 n 0101 $ 00000001 v 0000 "
        "02 + 01 00 + 02 01 | move  \n",
        index_adj="big a 1 0 1 0 00000001  \nhuge a 1 0 1 0 00000002  \n",
        data_adj="00000001 00 a 01 big 0 001 & 00000002 s 0000 | x  \n"
        "00000002 00 s 01 Huge(ip) 0 001 & 00000001 a 0000 | x  \n",
        index_adv="bigly r 1 0 1 0 00000001  \n",
        data_adv="00000001 02 r 01 bigly 0 001 \\ 00000001 a 0101 | x  \n",
    )
    plain = WordNet(index_noun=index, data_noun=data)
    return {
        "empty": b"",
        "nouns": plain.pack(),
        "inverses": plain.pack(INVERSES),
        "everything": everything.pack(INVERSES),
        "everything-plain": everything.pack(PLAIN),
        "cancelled": everything.pack(CANCEL),
        "crlf": WordNet(
            index_noun=index.replace("\n", "\r\n"), data_noun=data.replace("\n", "\r\n")
        ).pack(),
        "gzip": WordNet(index_noun=zipped_file(index), data_noun=zipped_file(data)).pack(),
        "gzip-cut": WordNet(index_noun=index, data_noun=zipped_file(data)[:-11]).pack(),
        "only-index": WordNet(index_noun=index).pack(),
        "not-in-index": nouns("00000001 05 n 01 cat 0 000 | x  \n"),
        "listed-twice": nouns(data, "dog n 2 0 2 0 00000001 00000001  \n"),
        "word-twice-in-index": nouns(
            "00000001 05 n 01 dog 0 000 | x  \n00000002 05 n 01 dog 0 000 | x  \n",
            "dog n 1 0 1 0 00000001  \ndog n 1 0 1 0 00000002  \n",
        ),
        "synset-twice": nouns("00000001 05 n 01 dog 0 000 | x  \n" * 2),
        "pointer-to-nothing": pointer("@ 00000009 n 0000"),
        "pointer-to-itself": pointer("@ 00000001 n 0000"),
        "pointer-unknown": pointer("? 00000001 n 0000"),
        "pointer-of-verbs": pointer("* 00000001 n 0000"),
        "pointer-bad-type": pointer("@ 00000001 x 0000"),
        "pointer-bad-words": pointer("@ 00000001 n 00g0"),
        "pointer-short-offset": pointer("@ 0000001 n 0000"),
        "pointers-too-few": nouns("00000001 05 n 01 dog 0 002 @ 00000001 n 0000 | x  \n"),
        "pointers-many": nouns("00000001 05 n 01 dog 0 99999999 | x  \n"),
        "words-many": nouns("00000001 05 n ffffffff dog 0 000 | x  \n"),
        "words-none": nouns("00000001 05 n 00 000 | x  \n"),
        "wrong-type": nouns("00000001 05 v 01 dog 0 000 | x  \n"),
        "short-offset": nouns("0000001 05 n 01 dog 0 000 | x  \n"),
        "no-gloss": nouns("00000001 05 n 01 dog 0 000\n"),
        "marker-only": nouns("00000001 05 n 01 (a) 0 000 | x  \n", "(a) n 1 0 1 0 00000001  \n"),
        "long-word": nouns(f"00000001 05 n 01 {'d' * 255} 0 000 | x  \n",
                           f"{'d' * 255} n 1 0 1 0 00000001  \n"),
        "too-long-word": nouns(f"00000001 05 n 01 {'d' * 256} 0 000 | x  \n"),
        "control-in-word": nouns("00000001 05 n 01 d\x07g 0 000 | x  \n"),
        "nul-in-word": nouns("00000001 05 n 01 d\0g 0 000 | x  \n"),
        "tab-in-word": nouns("00000001 05 n 01 d\tg 0 001 @ 00000001 n 0000 | x  \n",
                             "d\tg n 1 0 1 0 00000001  \n"),
        "not-utf8": nouns(b"00000001 05 n 01 d\x80g 0 001 @ 00000001 n 0000 | x  \n",
                          b"d\x80g n 1 0 1 0 00000001  \n"),
        "empty-line": nouns("00000001 05 n 01 dog 0 000 | x  \n\n"),
        "index-many-synsets": nouns(data, "dog n 99999999 0 1 0 00000001  \n"),
        "index-many-symbols": nouns(data, "dog n 1 99999999 1 0 00000001  \n"),
        "index-wrong-type": nouns(data, "dog v 1 0 1 0 00000001  \n"),
        "index-more-behind": nouns(data, "dog n 1 0 1 0 00000001 00000002  \n"),
        "index-long-number": nouns(data, "dog n 123456789 0 1 0 00000001  \n"),
        "verb-frames-too-few": WordNet(
            index_verb="go v 1 0 1 0 00000001  \n",
            data_verb="00000001 29 v 01 go 0 000 02 + 01 00 | move  \n",
        ).pack(),
        "verb-no-frames": WordNet(
            index_verb="go v 1 0 1 0 00000001  \n",
            data_verb="00000001 29 v 01 go 0 001 * 00000001 v 0000 | move  \n",
        ).pack(),
    }


FIX, CALIBRATE = 1, 2
MODEL_FILES = ("config.json", "model.safetensors", "entities.tsv", "relations.tsv", "names.idx",
               "known.bin", "calibration.safetensors")
HASHES = {"a": 0x1E964E1F, "b": 0x44D8843F, "c": 0x46B9F81B, "r": 0xB4AF0B35, "s": 0x4FF6BE13}
"""What XXH3 makes of these names, 32 bits of it."""

NO_ID = 0xFFFFFFFF


def safetensors(tensors: dict[str, tuple[int, int]], half: str = "") -> bytes:
    """Tensors of these shapes, all of whose numbers are 1, but for one in half precision."""
    header, start = {}, 0
    for name, (rows, columns) in tensors.items():
        size, dtype = (2, "F16") if name == half else (4, "F32")
        end = start + size * rows * columns
        header[name] = {"dtype": dtype, "shape": [rows, columns], "data_offsets": [start, end]}
        start = end
    text = dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    return struct.pack("<Q", len(text)) + text + struct.pack("<f", 1) * (start // 4)


def twin(magic: bytes, *sections: bytes) -> bytes:
    places, offset = [], 128
    for section in sections:
        places += [offset, len(section)]
        offset += len(section) + -len(section) % 64
    header = (magic + struct.pack(f"<{len(places)}Q", *places)).ljust(128, b"\0")
    return header + b"".join(section + bytes(-len(section) % 64) for section in sections)


def names_idx(*tables: str) -> bytes:
    sections = []
    for names in tables:
        slots = [(NO_ID, NO_ID)] * 8
        for i, name in enumerate(names):
            at = HASHES[name] % 8
            while slots[at][1] != NO_ID:
                at = (at + 1) % 8
            slots[at] = (HASHES[name], i)
        sections.append(struct.pack(f"<{len(names) + 1}Q", *range(len(names) + 1)))
        sections.append(b"".join(struct.pack("<2I", *slot) for slot in slots))
        sections.append(names.encode())
    return twin(b"kgnames1", *sections)


def known_bin(*entities: list[tuple[int, int]]) -> bytes:
    starts = [sum(map(len, entities[:i])) for i in range(len(entities) + 1)]
    links = b"".join(struct.pack("<2I", *link) for links in entities for link in links)
    return twin(b"kgknown1", struct.pack(f"<{len(starts)}Q", *starts), links)


DIRECTED, LAYERS, WIDTH = 4, 1, 16
PROPAGATION = {"layers": LAYERS, "width": WIDTH, "sources": 2, "edges": 9, "rank": 0, "profiles": 1,
               "sampled": 2, "pooling": ["sum", "max"], "weight": 1.0}
PROPAGATION_SHAPES = {
    "start": (DIRECTED, WIDTH), "relations": (LAYERS * DIRECTED, WIDTH),
    "pairs": (LAYERS * DIRECTED, DIRECTED * WIDTH), "gate": (LAYERS, WIDTH),
    "gate_bias": (LAYERS * DIRECTED, 1), "update": (LAYERS, 3 * WIDTH * WIDTH),
    "update_bias": (LAYERS, WIDTH), "hidden": (1, WIDTH * WIDTH),
    "hidden_bias": (DIRECTED, WIDTH), "profile": (DIRECTED, WIDTH), "output": (1, WIDTH),
    "degree": (DIRECTED, 16), "unreached": (DIRECTED, 1), "node_profile": (DIRECTED, WIDTH),
}
"""Of the tensors propagation_..."""


Files = dict[str, bytes]


def model_files(propagation: bool = False, **settings: object) -> Files:
    """A model of three entities and two relations, without its config."""
    shapes = {"entities": (3, 4), "relations": (2, 4)}
    if settings.get("model") == "rgcn-d":
        shapes |= {"features": (3, 4), "hidden": (3, 4), "first.mix": (2, 4), "first.bases": (8, 4),
                   "first.self": (2, 8), "second.mix": (2, 4), "second.bases": (8, 4),
                   "second.self": (4, 4)}
    if propagation:
        shapes |= {f"propagation_{name}": shape for name, shape in PROPAGATION_SHAPES.items()}
    return {
        "model.safetensors": safetensors(shapes),
        "entities.tsv": b"a\nb\nc\n",
        "relations.tsv": b"r\ns\n",
        "names.idx": names_idx("abc", "rs"),
        "known.bin": known_bin([(0, 1), (2, 2)], [(1, 0)], [(3, 0)]),
        "calibration.safetensors": safetensors({"calibration": (4, 2)}),
    }


def archive(options: int, files: Files) -> bytes:
    out = bytes([options])
    for name, content in files.items():
        out += bytes([MODEL_FILES.index(name)]) + struct.pack("<H", len(content)) + content
    return out


def model_seed(options: int, files: Files, without: tuple[str, ...] = (),
               changes: Optional[dict[str, object]] = None, **settings: object) -> bytes:
    kept = {name: content for name, content in files.items() if name not in without}
    heads = {name: 8 + struct.unpack("<Q", content[:8])[0] for name, content in kept.items()
             if name.endswith(".safetensors")} | {"names.idx": 128, "known.bin": 128}
    entries = {}
    for name, content in kept.items():
        entries[name] = {"bytes": len(content)}
        if options & FIX and name in heads:
            entries[name]["head"] = {"bytes": heads[name]}
    config = {"kgraft_model": 1, "entities": 3, "relations": 2,
              "settings": {"model": "distmult", "dim": 4} | settings, "files": entries}
    return archive(options, {"config.json": dumps(config | (changes or {})).encode()} | kept)


def model() -> Seeds:
    files = model_files()
    twins, calibration = ("names.idx", "known.bin"), ("calibration.safetensors",)
    texts = ("entities.tsv", "relations.tsv")
    encoder = {"model": "rgcn-d", "bases": 2, "self_loops": True}

    def replaced(name: str, content: bytes, options: int = FIX) -> bytes:
        return model_seed(options, files | {name: content})

    def changed(**changes: object) -> bytes:
        return model_seed(0, files, changes=changes)

    propagated = model_files(propagation=True)

    def propagate(options: int = FIX, without: tuple[str, ...] = (), replaced: Optional[Files] = None,
                  **changes: object) -> bytes:
        return model_seed(options, propagated | (replaced or {}), without,
                          {"propagation": PROPAGATION | changes})

    halved = safetensors({"entities": (3, 4), "relations": (2, 4)}, "entities")
    full = files["names.idx"].replace(struct.pack("<I", NO_ID), struct.pack("<I", 2))
    return {
        "empty": b"",
        "no-files": bytes([FIX]),
        "plain": model_seed(0, files),
        "plain-calibrated": model_seed(CALIBRATE, files),
        "sealed": model_seed(FIX, files),
        "sealed-calibrated": model_seed(FIX | CALIBRATE, files),
        "newly-calibrated": model_seed(FIX | CALIBRATE, files, calibration),
        "texts-only": model_seed(FIX, files, twins + calibration),
        "twins-only": model_seed(FIX, files, texts),
        "tensors-only": model_seed(FIX, files, texts + twins + calibration),
        "no-tensors": model_seed(FIX, files, ("model.safetensors",)),
        "simple": model_seed(FIX, files, model="simple"),
        "quate": model_seed(FIX, files, model="quate"),
        "unknown-model": model_seed(FIX, files, model="transe"),
        "rgcn-d": model_seed(FIX, model_files(**encoder), **encoder),
        "rgcn-d-without": model_seed(FIX, files, **encoder),
        "rgcn-d-loops": model_seed(FIX, model_files(**encoder), **encoder | {"self_loops": "yes"}),
        "rgcn-d-bases": model_seed(FIX, model_files(**encoder), **encoder | {"bases": 1001}),
        "dim-wrong": model_seed(FIX, files, dim=1 << 62),
        "dim-string": model_seed(FIX, files, dim="4"),
        "version-3": changed(kgraft_model=3),
        "version-2-bare": changed(kgraft_model=2),
        "checksum-wrong": changed(checksum="0" * 32),
        "entities-many": changed(entities=1 << 40),
        "files-list": changed(files=[]),
        "file-elsewhere": changed(files={"../x": {"bytes": 3}}),
        "head-too-long": changed(files={"names.idx": {"bytes": 3, "head": {"bytes": 4, "xxh3": ""}}}),
        "names-full": replaced("names.idx", full),
        "names-twice": replaced("names.idx", names_idx("aba", "rs")),
        "names-few": replaced("names.idx", names_idx("ab", "rs")),
        "names-cut": replaced("names.idx", files["names.idx"][:-64]),
        "texts-twice": model_seed(FIX, files | {"entities.tsv": b"a\nb\na\n"}, twins),
        "known-unsorted": replaced("known.bin", known_bin([(2, 2), (0, 1)], [(1, 0)], [(3, 0)])),
        "known-outside": replaced("known.bin", known_bin([(0, 9), (2, 2)], [(9, 0)], [(3, 0)])),
        "known-none": replaced("known.bin", known_bin([], [], [])),
        "calibration-wide": replaced(calibration[0], safetensors({"calibration": (2, 4)})),
        "calibration-nan": replaced(calibration[0], files[calibration[0]][:-4] + b"\0\0\xc0\x7f"),
        "evidence": model_seed(FIX, files, evidence=["path1"]),
        "propagation": propagate(),
        "propagation-unsealed": propagate(0),
        "propagation-calibrated": propagate(FIX | CALIBRATE),
        "propagation-object": model_seed(FIX, propagated, changes={"propagation": []}),
        "propagation-layers": propagate(layers=9),
        "propagation-width": propagate(width=17),
        "propagation-rank": propagate(rank=3),
        "propagation-sources": propagate(sources=-1),
        "propagation-pooling": propagate(pooling=["mean"]),
        "propagation-weight": propagate(weight="1"),
        "propagation-facts-missing": propagate(without=("known.bin",)),
        "propagation-tensors-missing": propagate(
            replaced={"model.safetensors": files["model.safetensors"]}
        ),
        "propagation-facts-unsorted": propagate(
            replaced={"known.bin": known_bin([(2, 2), (0, 1)], [(1, 0)], [(3, 0)])}
        ),
        "propagation-facts-one-sided": propagate(
            replaced={"known.bin": known_bin([(0, 1), (2, 2)], [], [(0, 0)])}
        ),
        "propagation-facts-with-itself": propagate(
            replaced={"known.bin": known_bin([(0, 0), (0, 1), (1, 0)], [(1, 0)], [(2, 2)])}
        ),
        "half": replaced("model.safetensors", halved),
        "half-cut": replaced("model.safetensors", halved.replace(b"[3, 4]", b"[6, 4]")),
        "half-relations": replaced(
            "model.safetensors", safetensors({"entities": (3, 4), "relations": (2, 4)}, "relations")
        ),
        "tensors-overflow": replaced(
            "model.safetensors", files["model.safetensors"].replace(b"[3, 4]", b"[4611686018427387907, 4]")
        ),
    }


def npy_file(header: str, data: bytes, version: int = 1) -> bytes:
    text = header.encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def npy_header(descr: str, shape: str, fortran: str = "False") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"


def tensor_file(header: object, data: bytes) -> bytes:
    text = dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy() -> Seeds:
    """Matrices; the byte before them has the parts and the layout of a row."""
    four = struct.pack("<4f", 1, -2, 0.5, 3)
    halves = struct.pack("<4e", 1, -2, 6e-8, 65504)
    plain = npy_file(npy_header("<f4", "(2, 2)"), four)

    def tensor(dtype: str, data: bytes, shape: object = (2, 2), end: int | None = None) -> bytes:
        offsets = [0, len(data) if end is None else end]
        return tensor_file(
            {"entities": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}, data
        )

    files = {
        "f4": plain,
        "f4-big-endian": npy_file(npy_header(">f4", "(2, 2)"), struct.pack(">4f", 1, -2, 0.5, 3)),
        "f2": npy_file(npy_header("<f2", "(1, 4)"), halves),
        "f8": npy_file(npy_header("<f8", "(4, 1)"), struct.pack("<4d", 1, -2, 0.5, 3)),
        "f8-too-large": npy_file(npy_header("<f8", "(1, 1)"), struct.pack("<d", 1e300)),
        "f4-not-a-number": npy_file(npy_header("<f4", "(1, 1)"), struct.pack("<f", float("nan"))),
        "c8": npy_file(npy_header("<c8", "(2, 1)"), four),
        "c16": npy_file(npy_header(">c16", "(1, 1)"), struct.pack(">2d", 1, 2)),
        "by-columns": npy_file(npy_header("<f4", "(2, 2)", "True"), four),
        "version-2": npy_file(npy_header("<f4", "(2, 2)"), four, 2),
        "version-3": npy_file(npy_header("<f4", "(2, 2)"), four, 3),
        "version-4": npy_file(npy_header("<f4", "(2, 2)"), four, 4),
        "padded": npy_file(npy_header("<f4", "(2, 2)") + " " * 9 + "\n", four),
        "other-order": npy_file(
            '{"shape":(2L,2L),"fortran_order":False,"descr":"<f4"}', four
        ),
        "one-dimension": npy_file(npy_header("<f4", "(4,)"), four),
        "no-dimension": npy_file(npy_header("<f4", "()"), four[:4]),
        "three-dimensions": npy_file(npy_header("<f4", "(1, 2, 2)"), four),
        "no-rows": npy_file(npy_header("<f4", "(0, 2)"), b""),
        "whole-numbers": npy_file(npy_header("<i4", "(2, 2)"), four),
        "records": npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", four),
        "key-twice": npy_file("{'shape': (2, 2), 'shape': (2, 2), 'descr': '<f4'}", four),
        "more-behind": npy_file(npy_header("<f4", "(2, 2)") + "x", four),
        "not-closed": npy_file(npy_header("<f4", "(2, 2)")[:-1], four),
        "shape-huge": npy_file(npy_header("<f4", "(2, 9223372036854775807)"), four),
        "shape-over": npy_file(npy_header("<f4", "(2, 99999999999999999999)"), four),
        "too-short": plain[:-1],
        "too-long": plain + b"x",
        "header-cut": plain[:40],
        "start-cut": plain[:9],
        "F32": tensor("F32", four),
        "F64": tensor("F64", struct.pack("<4d", 1, -2, 0.5, 3)),
        "F16": tensor("F16", halves),
        "BF16": tensor("BF16", four[2:4] + four[6:8] + four[10:12] + four[14:]),
        "I64": tensor("I64", bytes(32)),
        "tensor-outside": tensor("F32", four, end=17),
        "tensor-shape-huge": tensor("F32", four, shape=(2**62, 2**62)),
        "tensor-three": tensor("F32", four, shape=(1, 2, 2)),
        "no-tensor": tensor_file({"__metadata__": {"a": "b"}}, b""),
        "two-tensors": tensor_file({"a": {}, "b": {}}, b""),
        "archive": b"PK\3\4",
    }
    seeds = {name: b"\0" + content for name, content in files.items()}
    interleaved = {f"parts-{i}": bytes([i]) + plain for i in range(1, 8)}
    return {"empty": b"", "nothing": b"\0", **seeds, **interleaved}


def row_facts() -> Seeds:
    """Facts about the rows that the fuzzer names."""
    files = {
        "names": "a\tr\tb\n3\t1\t2\n",
        "ids": "0\t0\t1\n6\t2\t6\n",
        "both": "3\t1\t2\n",
        "same": "2\t1\t3\nhead\trelation\ttail\n",
        "header": "subject\tpredicate\tobject\n0\t0\t1\n",
        "header-that-is-a-fact": "head\trelation\ttail\na\tr\tb\n",
        "openke": "2\n0 1 0\n6\t5\t2\n",
        "openke-too-few": "2\n0 1 0\n",
        "openke-words": "1\n0 1\n",
        "crlf": "a\tr\tb\r\n",
        "mark": "\ufeffa\tr\tb\n",
        "nul": "a\tr\tb\0\n",
        "neither": "a\tr\t1\n",
        "two-columns": "a\tr\n",
        "empty": "",
    }
    return {name: text.encode() for name, text in files.items()}


def row_names() -> Seeds:
    """Names of rows; the byte before them is the number of rows."""
    files: dict[str, tuple[int, str]] = {
        "plain": (3, "a\nb\nc\n"),
        "plain-crlf": (3, "a\r\nb\r\r\nc"),
        "plain-numbers": (3, "2\n1\n0\n"),
        "too-few": (4, "a\nb\nc\n"),
        "twice": (2, "a\na\n"),
        "empty-line": (2, "a\n\n"),
        "nul": (2, "a\nb\0\n"),
        "tab-later": (2, "a\nb\t1\n"),
        "id-name": (3, "2\ta\n0\tb\n1\tc\n"),
        "name-id": (3, "a\t2\nb\t0\nc\t1\n"),
        "synsets": (2, "0\t00260881\n1\t0\n"),
        "both-same": (2, "1\t1\n0\t0\n"),
        "both-ids": (2, "1\t0\n0\t1\n"),
        "id-twice": (2, "0\ta\n0\tb\n"),
        "id-large": (2, "0\ta\n2\tb\n"),
        "id-long": (2, "0\ta\n99999999999999999999\tb\n"),
        "no-ids": (2, "a\tb\nc\td\n"),
        "three-columns": (2, "0\ta\tb\n1\tc\td\n"),
        "no-name": (2, "0\ta\n1\t\n"),
        "openke": (2, "2\na\t1\nb\t0\n"),
        "openke-spaces": (2, "2\nan a  1\nb 0 \n"),
        "openke-lies": (2, "3\na\t1\nb\t0\n"),
        "openke-no-id": (2, "2\na\t1\nb\n"),
        "pykeen": (2, "id\tlabel\n0\ta\n1\tb\n"),
        "pykeen-quoted": (3, 'id\tlabel\n0\t"a ""b"""\n1\t"""c"""\n2\t"\n'),
        "pykeen-empty": (1, 'id\tlabel\n0\t""\n'),
    }
    seeds = {name: bytes([rows]) + text.encode() for name, (rows, text) in files.items()}
    packed = bytes([2]) + zipped("0\ta\n1\tb\n")
    return {"empty": b"", "nothing": b"\1", "gzip": packed, "gzip-cut": packed[:-5], **seeds}


def changes() -> Seeds:
    """The last two bits of the options are the format, as in fuzz_changes.c."""
    patch, ntriples, nquads, tsv = (i << 6 for i in range(4))
    term = "<u:a> <u:p> <u:b>"
    files = {
        "patch": (patch, f'H id <u:1> .\nTX .\nPA "x" "u:" .\nA {term} .\nD {term} <u:g> .\nTC .\n'),
        "abort": (patch, f"TX .\nA {term} .\nTA .\nTX .\nPD \"x\" .\nTC ."),
        "blank": (patch, 'A _:b <u:p> <_:b> .\r\nA <_:c> <u:p> "<_:\\"" . # c\n'),
        "bad-rows": (patch, f"X .\nTC .\nTX .\nTX .\nA {term}\nA {term} . {term} .\nA .\n.\nTX x ."),
        "open-end": (patch, f"TX .\nA {term} ."),
        "literals": (patch | LITERALS, 'A <u:a> <u:p> "x"@en .\n'),
        "triples": (ntriples, f"{term} .\n# c\n\n_:n <u:p> <u:b> .\n"),
        "scope": (ntriples | 2, "_:n <u:p> _:m .\n"),
        "bad-triples": (ntriples, f"{term}\n{term} .\nx\n{term} <u:g> .\n{term} . {term} .\n"),
        "quads": (nquads, f"{term} <u:g> .\n{term} .\n"),
        "facts": (tsv, "a\tr\tb\nc\tr\td"),
        "bad-facts": (tsv, "head\trelation\ttail\na\tb\n\nc\tr\td\n"),
    }
    return {"empty": b"", **{name: pack(*parts) for name, parts in files.items()}}


def http() -> Seeds:
    """Requests as they are written, but for the version of HTTP; and no options."""

    def post(path: str, body: str, kind: str = "application/json", more: str = "") -> str:
        return f"POST {path}\nContent-Type: {kind}\n{more}\n{body}"

    batch = dumps({"requests": [{"entity": "a"}, {"facts": [["a", "r", "b"]], "k": 3}, 3, {"k": 0}]})
    whole = {
        "entity": "a", "relation": "r", "side": "tail", "k": 10, "min_probability": 0.5,
        "keep_known": True, "no_echo": False,
    }
    texts = {
        "model": "GET /v1/model\nAccept: text/html, application/*;q=0.5\n\n",
        "entities": "GET /v1/entities?prefix=a%20b+c&limit=100\n\n",
        "entity": "GET /v1/entities/a%2Fb?limit=3&offset=4\nIf-None-Match: *\n\n",
        "bad-names": "GET /v1/entities/%00%zz?limit=0&limit=1&x\n\n",
        "options": "OPTIONS /v1/facts\nOrigin: http://a\n\n",
        "no-method": "BREW /v1/model\n\n",
        "no-path": "GET /v2\n\n",
        "page": "HEAD /web/../x/main.js\n\n",
        "predict": post("/v1/predict", dumps(whole)),
        "batch": post("/v1/predict", batch),
        "bad-members": post("/v1/predict", '{"entity": "", "k": 1e3, "facts": [["a", 3]], "x": null}'),
        "deep": post("/v1/predict", "[" * 17 + "]" * 17),
        "deep-enough": post("/v1/embed", "[" * 16 + "]" * 16),
        "bad-json": post("/v1/explain", '{"a": 1, "a": "\\ud800\\u0000"}'),
        "facts": post("/v1/facts?source=s&offset=9223372036854775807", "a\tr\tb\n", "text/tab-separated-values"),
        "key": post("/v1/facts", "{}", more="Idempotency-Key: k\nContent-Encoding: gzip\n"),
        "too-large": post("/v1/predict", "{}", more="Content-Length: 99999999999999999999\n"),
        "changes": "GET /v1/changes?since=0\nLast-Event-ID: 3\n\n",
    }
    return {"empty": b"", **{name: text.encode() for name, text in texts.items()}}


def request() -> Seeds:
    """A target, and a body behind the first newline."""
    facts = '{"facts": [["a", "r", "b"]], "relation": "r", "side": "tail", "k": 3}'
    return {
        "empty": b"",
        "target": b"/v1/entities?prefix=a%20b&limit=3",
        "name": b"/v1/entities/a%2Fb",
        "bad-percent": b"/v1/entities/%4?x=%0",
        "nul": b"/a%00?b=%00",
        "entity": b'/v1/predict\n{"entity": "a", "k": 10, "min_probability": 0.5, "no_echo": true}',
        "facts": f"/v1/predict\n{facts}".encode(),
        "batch": f'/v1/predict\n{{"requests": [{facts}, {facts}]}}'.encode(),
        "deep": b"/\n" + b"[" * 20,
        "brackets-in-a-string": b'/\n{"entity": "[[[[[[[[[[[[[[[[[[[[\\\"["}',
        "twice": b'/\n{"k": 1, "k": 2}',
        "wrong": b'/\n{"k": "1", "entity": 3, "facts": {}, "side": "up"}',
        "no-utf8": b'/\n{"entity": "\xff"}',
        "huge-number": b'/\n{"k": 123456789012345678901234567890, "min_probability": 1e999}',
    }


FUZZERS = {
    "changes": changes, "http": http, "request": request,
    "model": model, "tsv": tsv, "facts": facts, "json": json, "openke": openke, "rdf": rdf,
    "wordnet": wordnet, "npy": npy, "row_names": row_names,
    "row_facts": row_facts,
}


def main() -> int:
    default = Path(__file__).resolve().parent / "corpus"
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    for name, make in FUZZERS.items():
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        for seed, content in make().items():
            (folder / f"seed-{seed}").write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
