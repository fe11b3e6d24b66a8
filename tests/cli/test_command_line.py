"""The command line itself: help, options, suggestions, exit statuses, progress, and man pages."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

from kgraft import BINARY, COMMANDS, ROOT, TIMEOUT, Case, cases, check_sanitizers, tsv

FACTS = tsv("a r b", "b s c")

# ---------------------------------------------------------------------------------------------
# Help and version


@dataclass(frozen=True)
class Command:
    name: str


@cases([Command(name) for name in COMMANDS])
class Help(Case):
    """Help for each command."""

    def check(self, row: Command) -> None:
        result = self.succeed(row.name, "--help")
        self.assertEqual(result.stderr, b"")
        self.assertRegex(result.stdout.decode(), rf"\Ausage: kgraft {row.name} ")
        for words in (row.name, "-h"), ("help", row.name), ("--help", row.name):
            self.assertEqual(self.succeed(*words).stdout, result.stdout, words)

    def test_of_the_program(self) -> None:
        result = self.succeed("--help")
        self.assertEqual(result.stderr, b"")
        self.assertEqual(tuple(re.findall(r"(?m)^  (\w+) ", result.stdout.decode())), COMMANDS)
        for words in ("-h",), ("help",):
            self.assertEqual(self.succeed(*words).stdout, result.stdout)

    def test_behind_other_words(self) -> None:
        """--help wins over arguments that are missing"""
        result = self.succeed("import", "--quiet", "--help")
        self.assertEqual(result.stdout, self.succeed("import", "--help").stdout)

    def test_lines_are_short(self) -> None:
        for command in COMMANDS:
            text = self.succeed(command, "--help").stdout.decode()
            self.assertLessEqual(max(map(len, text.splitlines())), 100, command)

    def test_columns(self) -> None:
        """What options do stands below each other"""
        for command in COMMANDS:
            text = self.succeed(command, "--help").stdout.decode()
            table = text.partition("\noptions:\n")[2].partition("\n\n")[0].splitlines()
            rows = [re.match(r"(  -\S+( \S+)? +|   +)\S", line) for line in table]
            self.assertEqual(len({row.end() for row in rows if row is not None}), 1, command)
            self.assertNotIn(None, rows)

    def test_version(self) -> None:
        project = (ROOT / "meson.build").read_text()
        version = re.search(r"version: '([0-9.]+)'", project)
        assert version is not None
        result = self.succeed("--version")
        self.assertEqual((result.stdout, result.stderr), (f"kgraft {version[1]}\n".encode(), b""))


# ---------------------------------------------------------------------------------------------
# Wrong words


@dataclass(frozen=True)
class Wrong:
    """Words that are not understood, in a folder that holds g.tsv."""

    words: str
    pattern: str

    @property
    def name(self) -> str:
        return f"kgraft {self.words}"


def suggests(word: str) -> str:
    return f"did you mean {re.escape(word)}\\?.*"


WRONG = [
    Wrong("imprt g.tsv out", f"unknown command 'imprt', {suggests('import')}"),
    Wrong("Import g.tsv out", f"unknown command 'Import', {suggests('import')}"),
    Wrong("stat g.tsv", f"unknown command 'stat', {suggests('stats')}"),
    Wrong("spilt g.tsv out", f"unknown command 'spilt', {suggests('split')}"),
    Wrong("generat g", f"unknown command 'generat', {suggests('generate')}"),
    Wrong("help imprt", f"unknown command 'imprt', {suggests('import')}"),
    Wrong("frobnicate", r"unknown command 'frobnicate' \(see kgraft --help\)"),
    Wrong("g.tsv", r"unknown command 'g\.tsv' \(see kgraft --help\)"),
    Wrong("''", "unknown command ''.*"),
    Wrong("--frobnicate", r"unknown option '--frobnicate' \(see kgraft --help\)"),
    Wrong("--verison", f"unknown option '--verison', {suggests('--version')}"),
    Wrong("--hlep", f"unknown option '--hlep', {suggests('--help')}"),
    Wrong("import --fromat tsv g.tsv out", f"unknown option --fromat, {suggests('--format')}"),
    Wrong(
        "import --skipblank g.tsv out", f"unknown option --skipblank, {suggests('--skip-blank')}"
    ),
    Wrong("import --literal=keep g.tsv out", f"unknown option --literal, {suggests('--literals')}"),
    Wrong("import --forse g.tsv out", f"unknown option --forse, {suggests('--force')}"),
    Wrong("import --halp", f"unknown option --halp, {suggests('--help')}"),
    Wrong("split --sed 1 g.tsv out", f"unknown option --sed, {suggests('--seed')}"),
    Wrong(
        "split --min_facts 3 g.tsv out", f"unknown option --min_facts, {suggests('--min-facts')}"
    ),
    Wrong("stats --jason g.tsv", f"unknown option --jason, {suggests('--json')}"),
    Wrong("stats --plt x g.tsv", f"unknown option --plt, {suggests('--plot')}"),
    Wrong("generate --fact 3 g", f"unknown option --fact, {suggests('--facts')}"),
    Wrong("stats --frobnicate g.tsv", r"unknown option --frobnicate \(see kgraft stats --help\)"),
    Wrong("import -f g.tsv out", r"unknown option '?-f'? \(see kgraft import --help\)"),
    Wrong("import -force g.tsv out", "unknown option '?-force'?.*"),
    Wrong("import", "too few arguments: expected kgraft import SOURCE... DIR"),
    Wrong("import g.tsv", "too few arguments: expected kgraft import SOURCE... DIR"),
    Wrong("split g.tsv", "too few arguments: expected kgraft split SOURCE OUT"),
    Wrong("split g.tsv out more", "too many arguments: expected kgraft split SOURCE OUT"),
    Wrong("stats", "too few arguments: expected kgraft stats DIR"),
    Wrong("eval g.tsv", "expected MODEL and DATASET, found 1 argument"),
    Wrong("stats g.tsv g.tsv", "too many arguments: expected kgraft stats DIR"),
    Wrong("generate", "too few arguments: expected kgraft generate FILE\\|DIR"),
    Wrong("generate a b", "too many arguments: expected kgraft generate FILE\\|DIR"),
    Wrong("import g.tsv out --format", r"--format: expected a value \(NAME\).*"),
    Wrong("split g.tsv out --seed", r"--seed: expected a value \(N\).*"),
    Wrong("stats g.tsv --plot", r"--plot: expected a value \(FILE\.svg\).*"),
    Wrong("import g.tsv out --force=yes", "--force takes no value"),
    Wrong("stats --json=1 g.tsv", "--json takes no value"),
    Wrong("import g.tsv out --format rdf", "--format: expected tsv, nt, .*, found 'rdf'"),
    Wrong("import g.tsv out --format=", "--format: expected tsv, nt, .*, found ''"),
    Wrong("import g.tsv out --format TSV", "--format: expected tsv, nt, .*, found 'TSV'"),
    Wrong("import g.tsv out --literals no", "--literals: expected skip or keep, found 'no'"),
    Wrong("import g.tsv out --inverses both", "--inverses: expected .*, found 'both'"),
    Wrong("generate g --seed 1.5", "--seed: expected a whole number, 0 or more, found '1.5'"),
    Wrong("generate g --seed +1", r"--seed: expected a whole number, 0 or more, found '\+1'"),
    Wrong("generate g --seed ' 1'", "--seed: expected a whole number, 0 or more, found ' 1'"),
    Wrong("generate g --seed 0x10", "--seed: expected a whole number, 0 or more, found '0x10'"),
    Wrong("generate g --seed=", "--seed: expected a whole number, 0 or more, found ''"),
    Wrong("generate g --facts 1_000", "--facts: expected a whole number, 0 or more, found '1_000'"),
    Wrong("generate g --facts 1k", "--facts: expected a whole number, 0 or more, found '1k'"),
    Wrong("generate g --facts 99999999999999999999", "--facts: expected a number of at most 18 digits, found '9+'"),
    Wrong("generate g --exponent ''", "--exponent: expected a number, found ''"),
    Wrong("generate g --exponent '1 '", "--exponent: expected a number, found '1 '"),
]


@cases(WRONG)
class WrongWords(Case):
    def check(self, row: Wrong) -> None:
        self.write({"g.tsv": FACTS})
        self.refuse(*shlex.split(row.words), pattern=row.pattern)

    def test_no_command(self) -> None:
        """kgraft without a word shows what there is, on standard error"""
        result = self.run_kgraft()
        self.assertEqual((result.status, result.stdout), (2, b""))
        self.assertRegex(result.messages[-1], "kgraft: expected a command")
        self.assertTrue(any("import" in line for line in result.messages))

    def test_an_unprintable_option(self) -> None:
        self.refuse("import", "--a\nb\x1b", pattern=r"unknown option .*a\\(x0a|n)b\\x1b.*")

    def test_an_unprintable_command(self) -> None:
        self.refuse("a\nb\x1b", pattern=r"unknown command 'a\\(x0a|n)b\\x1b'.*")

    def test_a_very_long_option(self) -> None:
        self.refuse("import", "--" + "x" * 100_000, pattern="unknown option --?'?x{40,200}.*")


# ---------------------------------------------------------------------------------------------
# Where things go


class Streams(Case):
    """Results on standard output, everything else on standard error."""

    def setUp(self) -> None:
        super().setUp()
        self.write({"g.tsv": FACTS})

    def test_import_says_what_it_did_on_standard_error(self) -> None:
        result = self.succeed("import", "g.tsv", "out")
        self.assertEqual(result.stdout, b"")
        self.assertEqual(result.messages, ["out: 2 facts, 3 entities, 2 relations"])

    def test_one_is_not_many(self) -> None:
        self.write({"g.tsv": tsv("a r a", "a r a")})
        messages = self.succeed("import", "g.tsv", "out").messages
        self.assertEqual(messages[0], "left out: 1 repeated fact")
        self.assertEqual(messages[1], "out: 1 fact, 1 entity, 1 relation")

    def test_import_says_what_it_left_out(self) -> None:
        self.write({"g.tsv": b"# x\n\n" + FACTS * 3})
        result = self.succeed("import", "g.tsv", "out", "--comment=#", "--skip-blank")
        said = "\n".join(result.messages)
        self.assertRegex(said, "left out: 4 repeated facts")
        self.assertRegex(said, "left out: 1 comment")
        self.assertRegex(said, "left out: 1 blank line")

    def test_import_json_is_alone_on_standard_output(self) -> None:
        result = self.succeed("import", "g.tsv", "out", "--json")
        self.assertEqual(result.json["train"], 2)
        self.assertEqual(len(result.messages), 1)

    def test_quiet_import(self) -> None:
        self.write({"g.tsv": FACTS * 2})
        result = self.succeed("import", "--quiet", "g.tsv", "out")
        self.assertEqual((result.stdout, result.stderr), (b"", b""))

    def test_quiet_stats(self) -> None:
        result = self.succeed("stats", "--quiet", "g.tsv")
        self.assertEqual(result.stdout, self.succeed("stats", "g.tsv").stdout)
        self.assertEqual(result.stderr, b"")

    def test_quiet_split(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "1000", "--entities", "100")
        result = self.succeed("split", "--quiet", "--json", "g.tsv", "out")
        self.assertEqual(result.stderr, b"")
        self.assertGreater(result.json["train"], 0)

    def test_quiet_generate(self) -> None:
        result = self.succeed("generate", "--quiet", "g.tsv")
        self.assertEqual((result.stdout, result.stderr), (b"", b""))

    def test_quiet_does_not_silence_errors(self) -> None:
        self.refuse("stats", "--quiet", "none", pattern="none: cannot open it: .*")

    def test_json_ends_with_a_newline(self) -> None:
        self.assertTrue(self.succeed("stats", "--json", "g.tsv").stdout.endswith(b"}\n"))


# ---------------------------------------------------------------------------------------------
# Progress


class Progress(Case):
    """A bar on a terminal, a plain line now and then elsewhere, nothing if asked to be quiet."""

    GENERATE = ("generate", "g.tsv", "--facts", "1500000")

    def run_on_terminal(self, *words: str) -> bytes:
        """What the program writes to a terminal that is its standard error."""
        ours, its = pty.openpty()
        with subprocess.Popen(
            [BINARY, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=its
        ) as child:
            os.close(its)
            written = b""
            try:
                while piece := os.read(ours, 65536):
                    written += piece
            except OSError:  # how Linux says that the other side is closed
                pass
            os.close(ours)
            self.assertEqual(child.wait(TIMEOUT), 0)
        check_sanitizers(written)
        return written

    def test_a_bar_on_a_terminal(self) -> None:
        written = self.run_on_terminal(*self.GENERATE)
        bars = re.findall(rb"\r\x1b\[K(\w+ \w+) \[(#*)( *)\] +(\d+)% ([^\r]*facts)", written)
        self.assertGreater(len(bars), 0, written)
        shares = [int(bar[3]) for bar in bars if bar[0] == bars[0][0]]
        self.assertEqual(shares, sorted(shares))
        self.assertEqual({len(bar[1]) + len(bar[2]) for bar in bars}, {24})

    def test_the_bar_is_wiped(self) -> None:
        written = self.run_on_terminal(*self.GENERATE)
        self.assertTrue(written.endswith(b"\r\x1b[K"), written[-200:])

    def test_no_bar_on_a_terminal_when_quiet(self) -> None:
        self.assertEqual(self.run_on_terminal(*self.GENERATE, "--quiet"), b"")

    def test_a_bar_and_the_summary(self) -> None:
        self.succeed("generate", "g.tsv", "--facts", "3000000")
        written = self.run_on_terminal("import", "g.tsv", "out")
        self.assertRegex(written, rb"reading g\.tsv \[#* *\] +\d+% ")
        last = written.replace(b"\r\n", b"\n").split(b"\r\x1b[K")[-1]
        self.assertRegex(last, rb"\Aout: 3,000,000 facts, .*\n\Z")

    def test_no_escape_sequences_elsewhere(self) -> None:
        result = self.succeed(*self.GENERATE)
        self.assertNotRegex(result.stderr, rb"[\r\x1b]")


class ProgressInLogs(unittest.TestCase):
    """Two imports whose input makes a pause of more than ten seconds, side by side."""

    PAUSE = 10.5
    PAGE = FACTS * 300_000  # several times what is read at once

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
        cls.addClassCleanup(folder.cleanup)
        with cls.start(folder.name, "loud") as loud, cls.start(folder.name, "--quiet") as quiet:
            for child in loud, quiet:
                assert child.stdin is not None
                child.stdin.write(cls.PAGE)
                child.stdin.flush()
            time.sleep(cls.PAUSE)
            cls.loud, cls.quiet = (child.communicate(cls.PAGE)[1] for child in (loud, quiet))
        check_sanitizers(cls.loud + cls.quiet)

    @staticmethod
    def start(folder: str, name: str) -> subprocess.Popen[bytes]:
        options = [name] if name.startswith("--") else []
        return subprocess.Popen(
            [BINARY, "import", *options, "--", "-", f"out{name}"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def test_plain_lines(self) -> None:
        line, *_, summary = self.loud.splitlines()
        self.assertRegex(line, rb"\Areading standard input: [0-9.]+ [kMG]?B, .*B/s\Z")
        self.assertRegex(summary, rb"\Aoutloud: 2 facts")

    def test_no_plain_lines_when_quiet(self) -> None:
        self.assertEqual(self.quiet, b"")


# ---------------------------------------------------------------------------------------------
# Man pages


def page_of(name: str) -> Path:
    return ROOT / "docs" / "man" / f"{name}.1.scd"


@cases([Command(name) for name in COMMANDS])
class ManPages(Case):
    """The options that --help lists are those that the man page explains."""

    def check(self, row: Command) -> None:
        listed = re.findall(r"(?m)^  (-\S+)", self.succeed(row.name, "--help").stdout.decode())
        page = page_of(f"kgraft-{row.name}").read_text().replace("\\", "")
        heads = re.findall(r"(?m)^(\*-.*)\n\t", page)
        explained = re.findall(r"\*(-[^ *]+)\*", " ".join(heads))
        self.assertIn("--help", listed)
        self.assertEqual(set(explained), set(listed))

    def test_the_main_page_names_all_commands(self) -> None:
        page = page_of("kgraft").read_text().replace("\\", "")
        for command in COMMANDS:
            self.assertRegex(page, rf"kgraft-{command}\*?\(1\)")

    def test_the_main_page_tells_the_exit_statuses(self) -> None:
        page = page_of("kgraft").read_text()
        self.assertRegex(page, r"(?m)^# EXIT STATUS")


if __name__ == "__main__":
    unittest.main()
