"""Runs the blocks of a page as a reader would, and compares what is printed with what the page shows.

The blocks of a scenario are run in order in one folder. Of what a command prints, standard error included, each line
has to be shown, but `...` stands for any number of lines. Numbers with a decimal point may differ by 2 % or .02, since
their last digits depend on the processor's matrix kernels, and bars accordingly; by 25 % in a scenario that takes long,
where another processor does to a model what another seed does. A command may fail only where the page shows its message.

`kgraft serve` is started on a free port, which takes the place of 8080 from then on, and ends with the scenario.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Sequence

from pages import Block

TIMEOUT = 1200
SERVE = re.compile(r"^kgraft serve\b[^#\n]*")
ADDRESS = re.compile(r"(localhost|127\.0\.0\.1):8080\b")
# What long work writes every ten seconds where there is no terminal; whether it does depends on the machine.
PROGRESS = re.compile(r"^[a-z ]+[a-z]: .*(\d%|, [\d.]+ k?[a-z]+/s)")


class Failure(AssertionError):
    """A block that does not do what its page says."""


@dataclass(frozen=True)
class Command:
    words: str
    shown: list[str]


def read_console(text: str) -> list[Command]:
    """The commands of a block, and what it shows below each. A backslash at its end continues a command."""
    commands: list[Command] = []
    goes_on = False
    for line in text.splitlines():
        if goes_on:
            commands[-1] = Command(f"{commands[-1].words}\n{line}", [])
        elif line.startswith("$ "):
            commands.append(Command(line[2:], []))
        elif commands:
            commands[-1].shown.append(line)
        else:
            raise Failure(f"expected a command behind '$ ', found {line!r}")
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return [Command(c.words, trim(c.shown)) for c in commands]


def trim(lines: list[str]) -> list[str]:
    """Without empty lines at both ends."""
    return "\n".join(lines).strip("\n").split("\n") if any(lines) else []


def agree_words(shown: str, printed: str, share: float) -> bool:
    """The words are the same, or numbers that are nearly the same."""
    if shown == printed:
        return True
    if shown.startswith("|") and set(shown + printed) <= set("|#"):
        return abs(len(shown) - len(printed)) <= 2
    pieces = [re.split(r"([-+]?\d+(?:,\d{3})*(?:\.\d+)?)", word) for word in (shown, printed)]
    if len(pieces[0]) != len(pieces[1]) or pieces[0][::2] != pieces[1][::2]:
        return False
    for a, b in zip(pieces[0][1::2], pieces[1][1::2]):
        x, y = (float(number.replace(",", "")) for number in (a, b))
        if a != b and ("." not in b or abs(x - y) > max(0.02, share * abs(y))):
            return False
    return True


def agree_lines(shown: str, printed: str, share: float) -> bool:
    a, b = shown.split(), printed.split()
    return len(a) == len(b) and all(agree_words(*words, share) for words in zip(a, b))


def agree(shown: Sequence[str], printed: Sequence[str], share: float = 0.02) -> bool:
    """Whether all lines agree, `...` being any number of them, and numbers differ by no more than that share."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(agree(shown[1:], printed[i:], share) for i in range(len(printed) + 1))
    return bool(printed) and agree_lines(shown[0], printed[0], share) and agree(shown[1:], printed[1:], share)


class Run:
    """A scenario that is being run."""

    def __init__(self, folder: Path, environment: Mapping[str, str], cleanup: ExitStack) -> None:
        self.folder = folder
        self.environment = environment
        self.cleanup = cleanup
        self.address = "127.0.0.1:8080"

    def run(self, block: Block) -> None:
        try:
            self.run_block(block)
        except Failure as failure:
            raise Failure(f"{block.where}: {failure}") from None

    def run_block(self, block: Block) -> None:
        if block.file:
            (self.folder / block.file).write_text(ADDRESS.sub(self.address, block.text))
            if block.file.endswith(".c"):
                strict = "cc -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only $(pkg-config --cflags kgraft)"
                self.execute(f"{strict} {block.file}")
        elif block.kind == "console":
            for command in read_console(block.text):
                self.run_command(command, 0.25 if block.is_long else 0.02)
        elif block.kind == "python":
            program = self.folder / "block.py"
            program.write_text(ADDRESS.sub(self.address, block.text))
            self.execute("python3 block.py")
            program.unlink()
        else:
            lines = block.text.strip().splitlines()
            if lines and (match := SERVE.match(lines[-1])):
                self.execute("\n".join(lines[:-1]))
                self.serve(match[0])
            else:
                self.execute(block.text)

    def run_command(self, command: Command, share: float) -> None:
        if match := SERVE.match(command.words):
            self.serve(match[0])
            return
        may_fail = any(line.startswith("kgraft: ") for line in command.shown)
        printed = [line for line in self.execute(command.words, may_fail).splitlines() if not PROGRESS.match(line)]
        if not agree(command.shown, trim(printed), share):
            shown = "\n".join(command.shown)
            raise Failure(f"$ {command.words}\nshown:\n{shown}\nprinted:\n" + "\n".join(printed))

    def execute(self, script: str, may_fail: bool = False) -> str:
        """What it prints."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", ADDRESS.sub(self.address, script)], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False,
        )
        output = done.stdout.decode(errors="backslashreplace")
        if done.returncode and not may_fail:
            raise Failure(f"exit status {done.returncode}: {script}\n{output}")
        return output

    def serve(self, command: str) -> None:
        """Starts a server, and waits until it is ready."""
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command} --listen 127.0.0.1:0 --json --quiet"], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )
        self.cleanup.callback(server.wait)
        self.cleanup.callback(server.terminate)
        assert server.stdout is not None
        self.cleanup.callback(server.stdout.close)
        said = b""
        while (line := server.stdout.readline()) and not (said := said + line).endswith(b"}\n"):
            pass
        if not said:
            raise Failure(f"{command}: exit status {server.wait()}")
        self.address = f"127.0.0.1:{json.loads(said)['port']}"


def run_scenario(blocks: Sequence[Block], folder: Path, environment: Mapping[str, str]) -> float:
    """Runs all blocks; returns how many seconds that took."""
    start = time.monotonic()
    with ExitStack() as cleanup:
        run = Run(folder, environment, cleanup)
        for block in blocks:
            run.run(block)
    return time.monotonic() - start
