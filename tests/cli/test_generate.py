"""kgraft generate: a made-up graph keeps its promises.

That many facts, all different, every entity and relation used, and the bytes a function of the
options alone.
"""

from __future__ import annotations

import subprocess
import unittest
from collections import Counter
from dataclasses import dataclass

from kgraft import BINARY, Case, cases


@dataclass(frozen=True)
class Size:
    name: str
    facts: int
    entities: int
    relations: int
    options: str = ""


SIZES = [
    Size("a thousand facts", 1000, 100, 10),
    Size("a hundred thousand facts", 100_000, 20_000, 50),
    Size("one fact", 1, 1, 1),
    Size("as many facts as entities", 500, 500, 3),
    Size("as many facts as relations", 500, 3, 500),
    Size("as many of all three", 500, 500, 500),
    Size("one entity", 50, 1, 50),
    Size("one relation", 1000, 100, 1),
    Size("half of all possible facts", 5000, 10, 100),
    Size("half of all possible facts, with a steep law", 5000, 10, 100, "--exponent 4"),
    Size("all draws alike", 1000, 100, 10, "--exponent 0"),
    Size("a law less steep than Zipf's", 1000, 100, 10, "--exponent 0.5"),
    Size("a law steeper than Zipf's", 1000, 100, 10, "--exponent 2.5"),
    Size("another seed", 1000, 100, 10, "--seed 9223372036854775807"),
]


def options_of(size: Size) -> list[str]:
    numbers = f"--facts {size.facts} --entities {size.entities} --relations {size.relations}"
    return f"{numbers} {size.options}".split()


@cases(SIZES)
class Promises(Case):
    def check(self, row: Size) -> None:
        self.succeed("generate", "g.tsv", *options_of(row))
        lines = self.lines("g.tsv")
        facts = {tuple(line.split(b"\t")) for line in lines}
        self.assertEqual((len(lines), len(facts)), (row.facts, row.facts))
        self.assertEqual({len(fact) for fact in facts}, {3})
        entities = {end for fact in facts for end in (fact[0], fact[2])}
        self.assertEqual(entities, {b"e%d" % i for i in range(row.entities)})
        self.assertEqual({fact[1] for fact in facts}, {b"r%d" % i for i in range(row.relations)})


class Bytes(Case):
    OPTIONS = ("--facts", "5000", "--entities", "300", "--relations", "7")

    def generate(self, *options: str) -> bytes:
        return self.succeed("generate", "-", *self.OPTIONS, *options).stdout

    def test_same_seed_same_bytes(self) -> None:
        self.assertEqual(self.generate("--seed", "7"), self.generate("--seed", "7"))

    def test_other_seed_other_bytes(self) -> None:
        self.assertNotEqual(self.generate("--seed", "7"), self.generate("--seed", "8"))

    def test_seed_0_is_the_default(self) -> None:
        self.assertEqual(self.generate(), self.generate("--seed", "0"))

    def test_a_file_holds_what_standard_output_gets(self) -> None:
        self.succeed("generate", "g.tsv", *self.OPTIONS)
        self.assertEqual(self.read("g.tsv"), self.generate())

    def test_a_device_gets_it_too(self) -> None:
        result = self.succeed("generate", "/dev/stdout", *self.OPTIONS)
        self.assertEqual(result.stdout, self.generate())

    def test_a_file_is_replaced(self) -> None:
        self.write({"g.tsv": b"old"})
        self.succeed("generate", "g.tsv", *self.OPTIONS)
        self.assertEqual(self.read("g.tsv"), self.generate())

    def test_the_defaults(self) -> None:
        stats = self.succeed("generate", "g.tsv")
        self.assertEqual(stats.stdout, b"")
        counts = self.stats("g.tsv")
        self.assertEqual(
            (counts["train"], counts["entities"], counts["relations"]), (100_000, 20_000, 50)
        )

    def test_degrees_follow_the_law(self) -> None:
        """The most frequent entity has far more facts than the average one"""
        facts = [line.split(b"\t") for line in self.generate().splitlines()]
        degrees = Counter(end for fact in facts for end in (fact[0], fact[2]))
        average = 2 * len(facts) / len(degrees)
        self.assertGreater(degrees.most_common(1)[0][1], 10 * average)

    def test_import_takes_it(self) -> None:
        self.succeed("generate", "g.tsv", *self.OPTIONS)
        answer = self.succeed("import", "g.tsv", "out", "--json").json
        self.assertEqual(answer["left_out"]["duplicates"], 0)
        self.assertEqual(self.read("out/train.tsv"), self.read("g.tsv"))

    def test_a_reader_that_leaves_early_ends_it_quietly(self) -> None:
        with subprocess.Popen(
            ["sh", "-c", '"$1" generate - --facts 1000000 | head -n 1', "sh", BINARY],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as shell:
            stdout, stderr = shell.communicate()
        self.assertEqual((stdout.count(b"\n"), stderr), (1, b""))


@dataclass(frozen=True)
class Wrong:
    name: str
    options: str
    pattern: str


WRONG = [
    Wrong("no facts", "--facts 0", "expected .*facts.*, .*found 0"),
    Wrong("no entities", "--entities 0", "expected .*entities.*"),
    Wrong("no relations", "--relations 0", "expected .*relations.*"),
    Wrong("fewer facts than entities", "--facts 10 --entities 11", "expected .*facts.*found 10"),
    Wrong("fewer facts than relations", "--facts 10 --entities 5 --relations 11", "expected .*"),
    Wrong(
        "more facts than possible",
        "--facts 100 --entities 3 --relations 2",
        "expected .*18 .*found 100",
    ),
    Wrong("more facts than half", "--facts 10 --entities 3 --relations 2", "expected .*half.*10"),
    Wrong("too many facts", "--facts 9000000000", "expected .*found 9000000000"),
    Wrong("too many entities", "--entities 9000000000", "expected .*entities.*"),
    Wrong("negative exponent", "--exponent -1", "(--exponent: )?expected .*from 0 to 4, found -1"),
    Wrong("exponent too large", "--exponent 4.5", "(--exponent: )?expected .*found 4.5"),
    Wrong("exponent that is no number", "--exponent x", "--exponent: expected a number, found 'x'"),
    Wrong("facts that are no number", "--facts 1e6", "--facts: expected a whole .*, found '1e6'"),
]


@cases(WRONG)
class Refusals(Case):
    def check(self, row: Wrong) -> None:
        self.write({"g.tsv": b"old"})
        self.refuse("generate", "g.tsv", *row.options.split(), pattern=row.pattern)


if __name__ == "__main__":
    unittest.main()
