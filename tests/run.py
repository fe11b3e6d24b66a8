"""Runs all tests of all builds and counts them.

A build is a way to compile the project: as users get it, under the address and undefined-behaviour
sanitizers, under the thread sanitizer, and with the fuzzers. Each runs its suites by `meson test`,
whose JUnit report is what is counted. The last line is `N passed, M failed, K skipped`.

usage: tests/run.py [--long] [BUILD]...

With --long, those examples of the documentation are run, too, that take longer than a few seconds.
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


# What clang's sanitizers need, and a linker that is fast: a hundred large programs are linked.
SANITIZED = ["-Db_lundef=false", "-Dc_link_args=-fuse-ld=lld"]

BUILDS = {
    "build": Build("gcc", ["-Dmpi=enabled"], ["lint", "unit", "cli", "install"], whole=True),
    "build-address": Build(
        "clang",
        ["-Db_sanitize=address,undefined", *SANITIZED, "-Dbuildtype=debugoptimized",
         "-Db_pie=false",  # thousands of processes start, each with 100,000 addresses to relocate
         f"-Dc_args=-fsanitize-ignorelist={ROOT / 'tests' / 'unit' / 'sanitizers.ignore'}"],
        ["unit", "cli"],
    ),
    "build-thread": Build(
        "clang",
        ["-Db_sanitize=thread", *SANITIZED, "-Dbuildtype=debugoptimized"],
        ["threads"],
    ),
    "build-fuzz": Build(
        "clang",
        ["-Db_sanitize=address,undefined", *SANITIZED, "-Dfuzzers=true"],
        ["fuzz"],
    ),
}

SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
    "LSAN_OPTIONS": f"suppressions={ROOT / 'tests' / 'unit' / 'leaks.supp'}:print_suppressions=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


# Files are written and synchronised thousands of times, for which a file system in memory does not
# wait; where there is room in one, and programs in it may run, the tests work there. Who has chosen
# another folder gets that.
MEMORY = "/dev/shm"


def temporary_folder() -> dict[str, str]:
    try:
        about = os.statvfs(MEMORY)
    except OSError:
        return {}
    fits = about.f_bavail * about.f_frsize >= 4 << 30 and not about.f_flag & os.ST_NOEXEC
    return {"TMPDIR": MEMORY} if fits else {}


def run(*command: str | Path, env: dict[str, str] | None = None) -> int:
    return subprocess.run(list(map(str, command)), cwd=ROOT, env=env, check=False).returncode


class Outcome(NamedTuple):
    """What a build's tests came to."""

    passed: int = 0
    skipped: int = 0
    failures: list[str] = []


def read_report(report: Path) -> Outcome:
    """Passed and skipped cases of a JUnit report, and the names of those that failed."""
    passed = skipped = 0
    failures = []
    for case in xml.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failures.append(f"{case.get('classname')} {case.get('name')}")
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return Outcome(passed, skipped, failures)


def make(folder: Path, build: Build, env: dict[str, str]) -> bool:
    """Sets up, and compiles what `meson test` does not compile by itself. A folder that is there
    already is set up again: demo.sh may have made it before the packages were installed that the
    tests are compiled with."""
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


def test(name: str, build: Build) -> Outcome:
    """A build that cannot be made, that lacks tests, or whose runner says no, counts as at least
    one failure."""
    env = {**temporary_folder(), **os.environ, **SANITIZER_OPTIONS, "CC": build.compiler}
    print(f"\n== {name} ({build.compiler}): {', '.join(build.suites)}", flush=True)
    folder = ROOT / name
    if not make(folder, build, env):
        return Outcome(failures=["the build"])
    if empty := empty_suites(folder, build):
        return Outcome(failures=[f"no tests in {', '.join(empty)}"])
    report = folder / "meson-logs" / "testlog.junit.xml"
    report.unlink(missing_ok=True)
    suites = [word for suite in build.suites for word in ("--suite", suite)]
    # One more than processors: tests of servers, kills and locks wait for most of their time.
    jobs = ["--num-processes", str((os.cpu_count() or 1) + 1)]
    status = run("meson", "test", "-C", folder, "--print-errorlogs", *jobs, *suites, env=env)
    if not report.exists():
        return Outcome(failures=["no report of the tests"])
    outcome = read_report(report)
    if status and not outcome.failures:
        outcome.failures.append(f"meson test: exit code {status}")
    return outcome


def main() -> int:
    names = [word for word in sys.argv[1:] if word != "--long"]
    if len(names) < len(sys.argv) - 1:
        os.environ["KGRAFT_LONG_SCENARIOS"] = "1"
    outcomes = {name: test(name, BUILDS[name]) for name in names or list(BUILDS)}
    failures = [f"{name}: {text}" for name, outcome in outcomes.items() for text in outcome.failures]
    passed = sum(outcome.passed for outcome in outcomes.values())
    skipped = sum(outcome.skipped for outcome in outcomes.values())
    # Last, where the end of a long log is all that may be seen of it.
    print(*["", "failed:", *failures] if failures else [], sep="\n")
    print(f"\n{passed} passed, {len(failures)} failed, {skipped} skipped")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
