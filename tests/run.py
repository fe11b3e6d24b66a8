"""Runs all tests of all builds and counts them.

A build is a way to compile the project: as users get it, under the address and undefined-behaviour
sanitizers, under the thread sanitizer, and with the fuzzers. Each runs its suites by `meson test`,
whose JUnit report is what is counted. The last line is `N passed, M failed, K skipped`.

usage: tests/run.py [BUILD]...
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Build(NamedTuple):
    compiler: str
    setup: list[str]
    suites: list[str]
    whole: bool = False  # if not, only what the suites need is compiled


BUILDS = {
    "build": Build("gcc", [], ["lint", "unit", "cli", "install"], whole=True),
    "build-address": Build(
        "clang",
        ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dbuildtype=debugoptimized"],
        ["unit", "cli"],
    ),
    "build-thread": Build(
        "clang",
        ["-Db_sanitize=thread", "-Db_lundef=false", "-Dbuildtype=debugoptimized"],
        ["threads"],
    ),
    "build-fuzz": Build(
        "clang",
        ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dfuzzers=true"],
        ["fuzz"],
    ),
}

SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
    "LSAN_OPTIONS": f"suppressions={ROOT / 'tests' / 'unit' / 'leaks.supp'}:print_suppressions=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def run(*command: str | Path, env: dict[str, str] | None = None) -> int:
    return subprocess.run(list(map(str, command)), cwd=ROOT, env=env, check=False).returncode


def count(report: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped cases of a JUnit report."""
    passed = failed = skipped = 0
    for case in xml.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed += 1
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def make(folder: Path, build: Build, env: dict[str, str]) -> bool:
    """Sets up, and compiles what `meson test` does not compile by itself. A folder that is there already is set up again: demo.sh may have made
    it before the packages were installed that the tests are compiled with."""
    again = ["--reconfigure"] if (folder / "build.ninja").exists() else []
    return (
        run("meson", "setup", *again, folder, *build.setup, env=env) == 0
        and (not build.whole or run("ninja", "-C", folder, env=env) == 0)
    )


def empty_suites(folder: Path, build: Build) -> list[str]:
    """The suites that should be run but hold no test."""
    command = ["meson", "introspect", "--tests", str(folder)]
    tests = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    filled = {suite.split(":")[-1] for test in tests for suite in test["suite"]}
    return [suite for suite in build.suites if suite not in filled]


def test(name: str, build: Build) -> tuple[int, int, int]:
    """A build that cannot be made, that lacks tests, or whose runner says no, counts as at least
    one failure."""
    env = {**os.environ, **SANITIZER_OPTIONS, "CC": build.compiler}
    print(f"\n== {name} ({build.compiler}): {', '.join(build.suites)}", flush=True)
    folder = ROOT / name
    if not make(folder, build, env):
        return 0, 1, 0
    if empty := empty_suites(folder, build):
        print(f"no tests in {', '.join(empty)}")
        return 0, 1, 0
    report = folder / "meson-logs" / "testlog.junit.xml"
    report.unlink(missing_ok=True)
    suites = [word for suite in build.suites for word in ("--suite", suite)]
    status = run("meson", "test", "-C", folder, "--print-errorlogs", *suites, env=env)
    if not report.exists():
        return 0, 1, 0
    passed, failed, skipped = count(report)
    return passed, max(failed, 1) if status else failed, skipped


def main() -> int:
    names = sys.argv[1:] or list(BUILDS)
    totals = [test(name, BUILDS[name]) for name in names]
    passed, failed, skipped = map(sum, zip(*totals))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
