"""What bash, zsh and fish complete, once kgraft is installed.

bash and zsh are started on a terminal, as people use them. A key is bound to what inserts all
completions of a word, `kgraft` to a function that writes down its words: so a line that is typed
becomes the words that the shell made of it. fish tells by itself what it would complete.
"""

from __future__ import annotations

import functools
import os
import pty
import re
import select
import shlex
import shutil
import tempfile
import time
import unittest
from pathlib import Path
from typing import Callable, ClassVar, Protocol

from installed import installation, output
from kgraft import TIMEOUT, run, write_tree

KEY = "\x07"  # no shell makes anything else of it here
FILES = {"facts.tsv": b"", "data/train.tsv": b"", "models/one/config.json": b""}


# ---------------------------------------------------------------------------------------------
# The truth, as kgraft itself tells it


def help_text(*words: str) -> str:
    return run(*words, "--help", cwd=Path("/")).stdout.decode()


@functools.cache
def commands() -> list[str]:
    return re.findall(r"(?m)^  ([a-z]+) ", help_text())


@functools.cache
def options(command: str) -> set[str]:
    """Those of another command, of which lists are taken, included."""
    text = help_text(command)
    found = set(re.findall(r"(?m)^  (--[a-z0-9-]+)", text))
    if other := re.search(r"those of kgraft (\w+) that take a value", text):
        found |= set(re.findall(r"(?m)^  (--[a-z0-9-]+) \S", help_text(other[1])))
    return found


def choices(command: str, option: str) -> set[str]:
    message = run(command, f"{option}=?", cwd=Path("/")).stderr.decode()
    listed = re.search(r"expected (.*), found", message)
    assert listed is not None, message
    return set(re.split(", | or ", listed[1]))


# ---------------------------------------------------------------------------------------------
# Shells


class Shell(Protocol):
    def complete(self, line: str) -> set[str]:
        """What the last word of a line behind `kgraft` may become."""

    def close(self) -> None: ...


class Terminal:
    """A shell on a terminal, in a folder with some files."""

    def __init__(self, command: list[str], start: str, folder: Path) -> None:
        self.words = folder.parent / "words"
        self.words.touch()
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            own = {"HOME": str(folder.parent), "TERM": "dumb", "WORDS": str(self.words)}
            os.execvpe(command[0], command, {**installation().environment, **own})
        self.pid = pid
        self.shown = b""
        self.type(start + "; kgraft ready\n")
        self.wait_for_line()

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def wait_for_line(self) -> list[str]:
        """The words of the next run of kgraft. What the terminal shows is taken and kept."""
        end = time.monotonic() + TIMEOUT
        while not self.words.read_bytes().endswith(b"\n"):
            if time.monotonic() > end:
                raise TimeoutError(self.shown)
            if select.select([self.terminal], [], [], 0.01)[0]:
                self.shown += os.read(self.terminal, 65536)
        line = self.words.read_text()
        self.words.write_text("")
        return line.split()

    def complete(self, line: str) -> set[str]:
        self.type(f"kgraft {line}{KEY}\n")
        return set(self.wait_for_line()[len(f"{line}.".split()) - 1 :])

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


WRITE_DOWN = 'kgraft() { echo "$@" >>"$WORDS"; }'


def start_bash(folder: Path) -> Terminal:
    script = installation().prefix / "share/bash-completion/completions/kgraft"
    start = f". {shlex.quote(str(script))}; {WRITE_DOWN}; bind '\"\\C-g\": insert-completions'"
    return Terminal(["bash", "--norc", "--noprofile", "-i"], start, folder)


def start_zsh(folder: Path) -> Terminal:
    functions = installation().prefix / "share/zsh/site-functions"
    start = "; ".join([
        f"fpath=({shlex.quote(str(functions))} $fpath)",
        "autoload -Uz compinit", "compinit -u -D",
        WRITE_DOWN, "zle -C all complete-word _generic", "bindkey '^G' all",
        "zstyle ':completion:all::::' completer _all_matches _complete",
        "zstyle ':completion:all:*' insert true",
    ])
    return Terminal(["zsh", "-f", "-i"], start, folder)


class Fish:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = installation().prefix / "share/fish/vendor_completions.d/kgraft.fish"

    def rows(self, line: str) -> list[tuple[str, str]]:
        """Completions with their descriptions."""
        words = ["source", str(self.script), "&&", "complete", "-C", f"kgraft {line}"]
        commands = " ".join(word if word == "&&" else shlex.quote(word) for word in words)
        env = {**os.environ, "HOME": str(self.folder.parent)}
        text = output(["fish", "--no-config", "-c", commands], cwd=self.folder, env=env)
        parts = [row.partition("\t") for row in text.splitlines()]
        return [(word, description) for word, _, description in parts]

    def complete(self, line: str) -> set[str]:
        return {word for word, _ in self.rows(line)}

    def close(self) -> None:
        pass


# ---------------------------------------------------------------------------------------------
# Tests, the same for all


class Completions:
    """What is the same in all shells."""

    program: ClassVar[str]
    start: ClassVar[Callable[[Path], Shell]]
    shell: ClassVar[Shell]

    @classmethod
    def setUpClass(cls) -> None:
        if shutil.which(cls.program) is None:
            raise unittest.SkipTest(f"{cls.program} is not installed")
        holder = tempfile.TemporaryDirectory(prefix="kgraft-test-")
        cls.addClassCleanup(holder.cleanup)
        folder = Path(holder.name, "folder")
        write_tree(folder, FILES)
        cls.shell = cls.start(folder)
        cls.addClassCleanup(cls.shell.close)

    def check(self, line: str, *expected: str) -> None:
        """Some shells write a slash behind a folder."""
        found = {word.rstrip("/") for word in self.shell.complete(line)}
        self.assertEqual(found, set(expected), line)

    def test_commands(self) -> None:
        self.assertGreaterEqual(set(commands()), {"import", "train", "eval"})
        self.assertEqual(self.shell.complete("") - {"help", "--help", "--version"}, set(commands()))

    def test_commands_by_their_beginning(self) -> None:
        self.check("tra", "train")
        self.check("help tra", "train")

    def test_options_of_the_tool(self) -> None:
        self.check("--", "--help", "--version")

    def test_options_of_every_command(self) -> None:
        for command in commands():
            self.check(f"{command} --", *options(command))

    def test_options_behind_other_words(self) -> None:
        self.check("train data --force --aggr", "--aggregate", "--aggregate-relations")
        self.check("train --seed 3 --aggr", "--aggregate", "--aggregate-relations")

    def test_options_of_one_letter(self) -> None:
        self.assertIn("-k", self.shell.complete("predict -"))
        self.assertNotIn("facts.tsv", self.shell.complete("predict -k fac"))

    def test_choices(self) -> None:
        self.check("train --model ", *choices("train", "--model"))
        self.check("train --model di", "distmult")
        self.check("import --literals ", "skip", "keep")

    def test_a_choice_behind_an_equals_sign(self) -> None:
        self.check("train --model=di", "--model=distmult")

    def test_lists_of_choices(self) -> None:
        self.check("tune --model di", "distmult")
        self.check("tune --model complex,di", "complex,distmult")

    def test_arguments_are_files(self) -> None:
        self.check("stats fac", "facts.tsv")
        self.check("train data --seed 3 mod", "models")

    def test_an_argument_below_a_folder(self) -> None:
        self.check("train data/tr", "data/train.tsv")

    def test_files_behind_options(self) -> None:
        self.check("eval --ranks fac", "facts.tsv")

    def test_folders_behind_options(self) -> None:
        self.check("reproduce --data ", "data", "models")

    def test_numbers_are_not_files(self) -> None:
        self.assertNotIn("facts.tsv", self.shell.complete("train --dim fac"))

    def test_a_file_with_the_name_of_a_command(self) -> None:
        """The second word is the command, whatever others are called"""
        self.check("eval train --ti", "--ties")


class Bash(Completions, unittest.TestCase):
    program = "bash"
    start = start_bash


class Zsh(Completions, unittest.TestCase):
    program = "zsh"
    start = start_zsh


class FishShell(Completions, unittest.TestCase):
    program = "fish"
    start = Fish

    def test_descriptions(self) -> None:
        """Every option comes with what --help says about it"""
        text = " ".join(help_text("train").split())
        for option, description in self.shell.rows("train --"):
            self.assertRegex(text, f"{option} .*{re.escape(description)}")
            self.assertNotEqual(description, "")


if __name__ == "__main__":
    unittest.main()
