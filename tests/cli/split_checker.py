#!/usr/bin/env python3
"""An independent checker of out-of-sample splits of a knowledge graph.

The idea.  The section "Datasets" of Albooyeh, Goel and Kazemi, "Out-of-Sample Representation
Learning for Knowledge Graphs" (2020), makes a split in six steps:

  1. merge all original facts into one set;
  2. draw a share of the entities that have at least min_facts facts: the candidates;
     every other entity is in-sample;
  3. drop the facts between two candidates; the facts with one candidate are unseen facts,
     those with none are train facts;
  4. drop the in-sample entities and the relations without a train fact, with their facts;
  5. drop the candidates that are left with fewer than min_facts facts;
  6. share the surviving candidates out between validation and test.

The draw is random, so nothing can be compared with an expected output.  This checker sees the
original facts and the three files of the result, and asks whether *some* draw explains them.
Written from the paper alone, it shares nothing with any implementation.

What it infers.  Nothing after step 3 takes a fact away from train: step 4 drops only entities and
relations that no train fact has.  Hence

  known    the entities of train.tsv: all in-sample, for no train fact has a candidate;
  unseen   the other ends of the unseen facts: all candidates, the ones that survived step 5;
  missing  every other original entity: dropped in step 4 or 5, and the files do not say which.

`Missing` below says what the original facts reveal about the third group.

A reflexive fact (e, r, e) counts once for e.  Both of its ends are candidates or neither is: for a
candidate step 3 drops it, for an in-sample entity it is a train fact.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Collection, Iterable, NoReturn

Fact = tuple[bytes, bytes, bytes]

TRAIN = "train.tsv"
VALID = "unseen-valid.tsv"
TEST = "unseen-test.tsv"
DATASET = "dataset.json"


# ---------------------------------------------------------------------------------------------
# Reading


def parse_facts(data: bytes) -> tuple[list[Fact], list[int]]:
    """The facts of a file in order, and the numbers of its lines that are not facts."""
    facts: list[Fact] = []
    bad: list[int] = []
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        parts = line.removesuffix(b"\r").split(b"\t")
        if len(parts) == 3 and all(parts):
            facts.append((parts[0], parts[1], parts[2]))
        else:
            bad.append(number)
    return facts, bad


def read_original(directory: Path) -> set[Fact]:
    """Step 1: the merged set of all original facts.  Only the train file has to exist."""
    merged: set[Fact] = set()
    for name in ("train", "valid", "test"):
        paths = [p for p in (directory / f"{name}.txt", directory / f"{name}.tsv") if p.is_file()]
        if len(paths) > 1:
            raise ValueError(f"{directory} has both {name}.txt and {name}.tsv")
        if not paths and name == "train":
            raise ValueError(f"{directory} has neither train.txt nor train.tsv")
        for path in paths:
            facts, bad = parse_facts(path.read_bytes())
            if bad:
                raise ValueError(f"{path}:{bad[0]}: not three fields separated by tabs")
            merged.update(facts)
    return merged


# ---------------------------------------------------------------------------------------------
# The original facts and the split


@dataclass
class Original:
    """The merged original facts."""

    facts: set[Fact]
    degree: Counter[bytes] = field(init=False)
    """The number of facts of each entity."""

    def __post_init__(self) -> None:
        self.degree = Counter()
        for head, _, tail in self.facts:
            self.degree[head] += 1
            if tail != head:
                self.degree[tail] += 1


@dataclass
class Split:
    """The facts of the three files, and what follows from them."""

    files: dict[str, list[Fact]]
    facts: dict[str, set[Fact]] = field(init=False)
    known: set[bytes] = field(init=False)
    relations: set[bytes] = field(init=False)
    """The relations of train.tsv."""
    facts_of: dict[str, Counter[bytes]] = field(init=False)
    """For validation and test: the number of facts of each unseen entity."""
    unseen: set[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.facts = {name: set(facts) for name, facts in self.files.items()}
        self.known = entities_of(self.facts[TRAIN])
        self.relations = {relation for _, relation, _ in self.facts[TRAIN]}
        self.facts_of = {
            name: Counter(
                self.unseen_end(fact) for fact in self.facts[name] if self.unknown_ends(fact) == 1
            )
            for name in (VALID, TEST)
        }
        self.unseen = set(self.facts_of[VALID]) | set(self.facts_of[TEST])

    def unknown_ends(self, fact: Fact) -> int:
        """How many of the two ends do not stand in train.tsv."""
        return (fact[0] not in self.known) + (fact[2] not in self.known)

    def unseen_end(self, fact: Fact) -> bytes:
        """The unseen end of a fact that has exactly one."""
        return fact[2] if fact[0] in self.known else fact[0]

    def is_legal(self, fact: Fact) -> bool:
        """Whether a fact of a candidate outlives steps 3 and 4.

        Its other end has to be in-sample with a train fact, hence known, and its relation has to
        have a train fact.  A reflexive fact of a candidate has no known end and is never legal.
        """
        return self.unknown_ends(fact) == 1 and fact[1] in self.relations


def entities_of(facts: Iterable[Fact]) -> set[bytes]:
    """The heads and tails of the facts."""
    return {end for head, _, tail in facts for end in (head, tail)}


# ---------------------------------------------------------------------------------------------
# The missing entities


@dataclass
class Missing:
    """What is certain about the entities in neither train nor the unseen files.

    A missing entity is one of two things.

    A candidate removed in step 5.  It was drawn, so it has at least min_facts original facts; and
    fewer than min_facts of them are legal, or it would have survived.  Legality is decided by
    train.tsv alone, so both conditions are read off exactly.  An entity that fails either one was
    *not drawn*.

    An in-sample entity removed in step 4.  It has no train fact, so the other end of each of its
    facts is a candidate.  A known end is no candidate, so it has no fact with a known entity; it
    has no reflexive fact, for that would be a train fact; and every missing neighbour is itself a
    removed candidate.  An entity with a known neighbour or a reflexive fact was *drawn*, and so
    was every missing neighbour of one that was not drawn.

    No entity may be both, and no fact may join two entities that were not drawn: it would be a
    train fact.  When neither happens, the removals are consistent: taking every undecided entity
    for a removed candidate satisfies all of the above.
    """

    all: set[bytes]
    drawn: set[bytes]
    not_drawn: set[bytes]
    lost_train_facts: set[Fact]
    """Facts between two entities of not_drawn."""
    undecided_pairs: int
    """A number of disjoint undecided pairs joined by a fact: one of each pair was drawn."""

    @property
    def contradictory(self) -> set[bytes]:
        """Entities that were neither removed candidates nor in-sample without a train fact."""
        return self.drawn & self.not_drawn

    @property
    def possibly_drawn(self) -> int:
        return len(self.all - self.not_drawn)

    @property
    def surely_drawn(self) -> int:
        return len(self.drawn - self.not_drawn) + self.undecided_pairs


def infer_missing(original: Original, split: Split, min_facts: int) -> Missing:
    """Apply the reasoning of `Missing` to the original facts."""
    missing = original.degree.keys() - split.known - split.unseen
    legal: Counter[bytes] = Counter()
    drawn: set[bytes] = set()
    inner: list[Fact] = []  # facts between two different missing entities
    for fact in original.facts:
        head, _, tail = fact
        if head not in missing and tail not in missing:
            continue
        if head == tail:
            drawn.add(head)
        elif head in missing and tail in missing:
            inner.append(fact)
        elif split.unknown_ends(fact) == 1:
            entity = split.unseen_end(fact)
            drawn.add(entity)
            legal[entity] += split.is_legal(fact)
    not_drawn = {e for e in missing if original.degree[e] < min_facts or legal[e] >= min_facts}

    lost = set()
    for fact in inner:
        ends = {fact[0], fact[2]}
        if ends <= not_drawn:
            lost.add(fact)
        elif ends & not_drawn:
            drawn |= ends - not_drawn
    pairs = count_disjoint_pairs(inner, missing - drawn - not_drawn)
    return Missing(missing, drawn, not_drawn, lost, pairs)


def count_disjoint_pairs(facts: Iterable[Fact], entities: Collection[bytes]) -> int:
    """The size of a greedy matching: a lower bound of how many entities touch all the facts."""
    free = set(entities)
    pairs = 0
    for head, _, tail in facts:
        if head in free and tail in free:
            free -= {head, tail}
            pairs += 1
    return pairs


# ---------------------------------------------------------------------------------------------
# The checks


class Report:
    """Collects violations: one sentence for each kind, with a count and the least example."""

    def __init__(self) -> None:
        self.violations: list[str] = []

    def add(self, sentence: str) -> None:
        self.violations.append(sentence)

    def add_facts(self, what: str, facts: Collection[Fact]) -> None:
        if facts:
            example = ", ".join(show(part) for part in min(facts))
            self.add(f"{what}: {plural(len(facts), 'fact')}, for example ({example}).")

    def add_entities(self, what: str, entities: Collection[bytes]) -> None:
        if entities:
            count = plural(len(entities), "entity", "entities")
            self.add(f"{what}: {count}, for example {show(min(entities))}.")


def show(name: bytes) -> str:
    return name.decode("utf-8", errors="backslashreplace")


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def share(fraction: float, count: int) -> Fraction:
    """The exact product, reading the fraction as the decimal number it was written as."""
    return Fraction(str(fraction)) * count


def read_split(directory: Path, report: Report) -> Split:
    """Read the three files; a missing file is a violation and counts as empty."""
    files: dict[str, list[Fact]] = {}
    for name in (TRAIN, VALID, TEST):
        files[name] = []
        try:
            data = (directory / name).read_bytes()
        except OSError as error:
            report.add(f"{name} cannot be read: {error.strerror}.")
            continue
        files[name], bad = parse_facts(data)
        if bad:
            report.add(
                f"{name} has lines without three fields separated by tabs: "
                f"{plural(len(bad), 'line')}, for example line {bad[0]}."
            )
    return Split(files)


def check_json(path: Path, report: Report) -> None:
    """The description of the split must be JSON, without the NaN that Python also accepts."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        json.loads(path.read_bytes(), parse_constant=refuse)
    except OSError as error:
        report.add(f"{path.name} cannot be read: {error.strerror}.")
    except (ValueError, RecursionError) as error:
        report.add(f"{path.name} does not parse, for example: {error}.")


def check_origin(original: Original, split: Split, report: Report) -> None:
    """Step 1: the split holds original facts only, each one once."""
    for name, facts in split.facts.items():
        report.add_facts(f"{name} has facts that are not original facts", facts - original.facts)
        if len(split.files[name]) > len(facts):
            twice = {fact for fact, count in Counter(split.files[name]).items() if count > 1}
            report.add_facts(f"{name} has facts that are written twice", twice)
    for one, other in ((TRAIN, VALID), (TRAIN, TEST), (VALID, TEST)):
        both = split.facts[one] & split.facts[other]
        report.add_facts(f"{one} and {other} have facts in common", both)


def check_unseen_facts(split: Split, report: Report) -> None:
    """Steps 3 and 4: one end unseen, the other known, the relation known.

    "Unseen" means "not in train", so a fact without an unseen end betrays an unseen entity that
    stands in train, and a fact with two betrays a known end that does not.
    """
    for name in (VALID, TEST):
        ends: dict[int, set[Fact]] = {0: set(), 1: set(), 2: set()}
        for fact in split.facts[name]:
            ends[split.unknown_ends(fact)].add(fact)
        reflexive = {fact for fact in ends[2] if fact[0] == fact[2]}
        report.add_facts(f"{name} has facts with both ends in {TRAIN}", ends[0])
        report.add_facts(f"{name} has facts with neither end in {TRAIN}", ends[2] - reflexive)
        report.add_facts(f"{name} has reflexive facts of unseen entities", reflexive)
        strange = {fact for fact in split.facts[name] if fact[1] not in split.relations}
        report.add_facts(f"{name} has facts with a relation that is not in {TRAIN}", strange)


def check_unseen_entities(
    original: Original, split: Split, min_facts: int, report: Report
) -> None:
    """Steps 2, 5 and 6: enough facts before and after, and one file for each entity."""
    limit = plural(min_facts, "fact")
    poor = {entity for entity in split.unseen if original.degree[entity] < min_facts}
    report.add_entities(f"unseen entities have fewer than {limit} in the original", poor)
    for name, facts_of in split.facts_of.items():
        poor = {entity for entity, count in facts_of.items() if count < min_facts}
        report.add_entities(f"unseen entities have fewer than {limit} in {name}", poor)
    both = split.facts_of[VALID].keys() & split.facts_of[TEST].keys()
    report.add_entities("entities are unseen in both validation and test", both)


def check_completeness(original: Original, split: Split, report: Report) -> None:
    """Steps 3 and 4 drop no fact that has a place.

    Two known ends are two in-sample ends, which step 3 makes a train fact.  A legal fact of an
    unseen entity survives to step 6, which keeps all facts of the entity together.
    """
    lost = original.facts - split.facts[TRAIN]
    report.add_facts(
        f"original facts with both ends in {TRAIN} are missing from it",
        {fact for fact in lost if split.unknown_ends(fact) == 0},
    )
    for name in (VALID, TEST):
        lost = {
            fact
            for fact in original.facts - split.facts[name]
            if split.is_legal(fact) and split.unseen_end(fact) in split.facts_of[name]
        }
        report.add_facts(f"original facts of unseen entities of {name} are missing from it", lost)


def check_missing(missing: Missing, report: Report) -> None:
    """Steps 4 and 5: every entity that is gone had to go."""
    report.add_entities(
        "entities are gone that were neither candidates with too few facts left nor in-sample "
        "entities without a train fact",
        missing.contradictory,
    )
    report.add_facts(
        "original facts between two entities that are gone but cannot have been candidates are "
        f"missing from {TRAIN}",
        missing.lost_train_facts,
    )


def check_counts(
    original: Original,
    split: Split,
    missing: Missing,
    unseen: float,
    valid_share: float,
    min_facts: int,
    report: Report,
) -> None:
    """Steps 2 and 6: how many entities were drawn, and how they were shared out.

    The drawn entities are the unseen ones and the removed candidates.  How many were removed is
    known only within bounds: at least those that were surely drawn, at most all that may have
    been.  The exact product is compared with a tolerance of 1, whichever way it was rounded.
    """
    eligible = sum(count >= min_facts for count in original.degree.values())
    drawn = share(unseen, eligible)
    survived = len(split.unseen)
    least = survived + missing.surely_drawn
    most = survived + missing.possibly_drawn
    if least > drawn + 1 or most < drawn - 1:
        report.add(
            f"the draw has the wrong size: from {least} to {most} candidates explain the split "
            f"({survived} unseen entities and the removed ones), but {unseen} of {eligible} "
            f"entities with at least {plural(min_facts, 'fact')} is {float(drawn):.1f}."
        )
    valid = len(split.facts_of[VALID])
    expected = math.floor(share(valid_share, survived))
    if abs(valid - expected) > 1:
        report.add(
            f"validation has the wrong size: {valid} entities, but {valid_share} of {survived} "
            f"unseen entities is {expected}."
        )


def run(
    original_dir: str | Path,
    split_dir: str | Path,
    unseen: float,
    valid_share: float,
    min_facts: int,
) -> tuple[list[str], str]:
    """The violations, and a line of counts for the reader."""
    report = Report()
    original = Original(read_original(Path(original_dir)))
    split = read_split(Path(split_dir), report)
    missing = infer_missing(original, split, min_facts)
    check_json(Path(split_dir) / DATASET, report)
    check_origin(original, split, report)
    check_unseen_facts(split, report)
    check_unseen_entities(original, split, min_facts, report)
    check_completeness(original, split, report)
    check_missing(missing, report)
    check_counts(original, split, missing, unseen, valid_share, min_facts, report)

    valid, test = split.facts_of[VALID], split.facts_of[TEST]
    counts = (
        f"{len(split.known)} known entities, {len(split.relations)} relations, "
        f"{len(split.facts[TRAIN])} train facts; unseen entities: {len(valid)} validation "
        f"({valid.total()} facts), {len(test)} test ({test.total()} facts); "
        f"{len(missing.all)} entities removed, of them from {missing.surely_drawn} to "
        f"{missing.possibly_drawn} candidates"
    )
    return report.violations, counts


def check(
    original_dir: str | Path,
    split_dir: str | Path,
    unseen: float = 0.2,
    valid_share: float = 0.5,
    min_facts: int = 2,
) -> list[str]:
    """The violations of the split, one sentence each with an example; empty if it is correct.

    Raises ValueError or OSError if the original data set itself cannot be read.
    """
    return run(original_dir, split_dir, unseen, valid_share, min_facts)[0]


def main() -> int:
    """Print the violations and return 1, or print the counts and return 0."""
    parser = argparse.ArgumentParser(description="Check an out-of-sample split.")
    parser.add_argument("original", type=Path, help="directory of the original data set")
    parser.add_argument("split", type=Path, help="directory of the split")
    parser.add_argument("--unseen", type=float, default=0.2, help="share of entities to draw")
    parser.add_argument("--valid-share", type=float, default=0.5, help="share of validation")
    parser.add_argument("--min-facts", type=int, default=2, help="facts an unseen entity needs")
    args = parser.parse_args()
    try:
        violations, counts = run(
            args.original, args.split, args.unseen, args.valid_share, args.min_facts
        )
    except (OSError, ValueError) as error:
        parser.error(str(error))  # exits with 2: nothing was checked
    print("\n".join(violations) if violations else f"ok: {counts}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
