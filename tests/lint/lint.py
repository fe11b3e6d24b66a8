"""Formatting, static analysis and the order of layers, as tests.

usage: lint.py CHECK SOURCE-ROOT BUILD-ROOT

Exit status: 0 fine, 1 findings, 77 the tool is not installed (which meson counts as skipped).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SKIPPED = 77

# The layers in reading order: each may include itself and those before it.
LAYERS = [
    "base", "graph", "math", "model", "exchange", "aggregate", "terms", "rank",
    "train", "store", "infer", "live", "api", "experiment", "report", "serve", "cli",
]


def layer_of(path: str) -> int:
    """The layer of a file by its path in src/."""
    return LAYERS.index(path.split("/")[0])


# Those of the tool: they may have its options in texts.
TOOL = {"experiment", "report", "cli"}

# Only these files may touch these libraries.
OWNERS = {
    "cblas.h": {"math/linalg.c"},
    "gnutls/gnutls.h": {"serve/tls_certificates.c"},
    "microhttpd.h": {"serve/connection_thread.c", "serve/http.c", "serve/request_head.c"},
    "lapacke.h": {"math/linalg.c"},
    "jansson.h": {"base/json.h", "graph/dataset.h"},
    "Random123/philox.h": {"base/random.c"},
    "mpi.h": {"base/ranks_mpi.c"},
    "serd/serd.h": {"graph/readers/rdf.c"},
    "sqlite3.h": {"store/database.c"},
    "xxhash.h": {"base/checksum.c", "base/names.c"},
    "zlib.h": {"base/input.c", "serve/gzip_body.c"},
}

# Functions that nobody should call, and what to use instead.
BANNED = {
    "strcpy": "kg__copy_string", "strcat": "snprintf", "sprintf": "snprintf", "gets": "kg_lines",
    "atoi": "strtoull with checks", "malloc": "kg__alloc", "calloc": "kg__alloc",
    "strdup": "kg__copy_string", "exit": "an error", "abort": "an error", "rand": "kg__random",
}

# How far clang's analyzer goes in a function, a ninth of what it does by itself: it visits all code
# first and then the same code by ever more paths, which takes the time and finds next to nothing.
ANALYZER = [
    f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=25000")
]


def c_files(root: Path, *folders: str) -> list[Path]:
    return sorted(f for folder in folders for f in (root / folder).rglob("*.[ch]"))


def run(*command: str | Path) -> int:
    if shutil.which(str(command[0])) is None:
        print(f"{command[0]} is not installed")
        return SKIPPED
    return subprocess.run(list(map(str, command)), check=False).returncode


def check_format(root: Path, _build: Path) -> int:
    files = c_files(root, "include", "src", "examples", "tests", "bench")
    return run("clang-format", "--dry-run", "--Werror", *files)


def check_shell(root: Path, _build: Path) -> int:
    names = ["", ".ci", "bench", "debian/tests", "tools", "tools/release-steps"]
    folders = [root / name for name in names]
    files = sorted(f for folder in folders for f in folder.iterdir() if f.is_file())
    scripts = [f for f in files if f.read_bytes().startswith(b"#!/bin/sh\n")]
    missing = {"run", "eval", "library", "predict", "train", "test.sh"} - {f.name for f in scripts}
    if missing:
        print(f"not found among the scripts: {', '.join(sorted(missing))}")
    return 1 if missing else run("shellcheck", *scripts)


def check_cppcheck(root: Path, _build: Path) -> int:
    return run(
        "cppcheck", "--quiet", "--error-exitcode=1", "--std=c11", "--inline-suppr", "-j2",
        "--enable=warning,performance,portability", "-I", root / "include", "-I", root / "src",
        "--suppress=missingIncludeSystem", "-D_DEFAULT_SOURCE", '-DKG_VERSION="0"',
        root / "src",
    )


def first_commands(build: Path) -> list[dict[str, str]]:
    """How each file is compiled the first time: many are compiled again, for the tests, and
    clang-tidy would look at them as often."""
    commands: dict[Path, dict[str, str]] = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        commands.setdefault((Path(command["directory"]) / command["file"]).resolve(), command)
    return list(commands.values())


def check_tidy(root: Path, build: Path) -> int:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        (Path(folder) / "compile_commands.json").write_text(json.dumps(first_commands(build)))

        # One file a process: after the first, clang 14 takes every va_list for uninitialised.
        def tidy(file: Path) -> int:
            return run("clang-tidy", "--quiet", *ANALYZER, "-p", folder, file)

        return max(pool.map(tidy, [f for f in c_files(root, "src") if f.suffix == ".c"]))


def check_layers(root: Path, _build: Path) -> int:
    findings: list[str] = []
    source = root / "src"
    for file in c_files(root, "src"):
        name = file.relative_to(source).as_posix()
        layer = layer_of(name)
        for number, line in enumerate(file.read_text().splitlines(), 1):
            where = f"src/{name}:{number}"
            if match := re.match(r'#include "(\w+/.*)"', line):
                if layer_of(match[1]) > layer:
                    findings.append(f"{where}: {LAYERS[layer]} must not include {match[1]}")
            if match := re.match(r"#include <(.+)>", line):
                if name not in OWNERS.get(match[1], {name}):
                    findings.append(f"{where}: <{match[1]}> belongs to {OWNERS[match[1]]}")
            if LAYERS[layer] not in TOOL and re.search(r'"[^"]*--[a-z][^"]*"', line):
                findings.append(
                    f"{where}: options are the tool's: messages of the library have its settings, "
                    "in backquotes (name_options in cli/message.c makes options of them)"
                )
            for word in re.findall(r"\b(\w+)\(", re.sub(r'/\*.*|"[^"]*"|^ \*.*', "", line)):
                if word in BANNED:
                    findings.append(f"{where}: {word} is not used here, but {BANNED[word]}")
    places: dict[str, Path] = {}
    for file in c_files(root, "src"):
        if (other := places.setdefault(file.stem, file.parent)) != file.parent:
            findings.append(f"{file}: {other} has a file of that name, too")
    print("\n".join(findings))
    return 1 if findings else 0


def symbols(library: Path, *options: str) -> set[str]:
    command = ["nm", "--extern-only", "--defined-only", "--format=posix", *options, library]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[0] for line in listing.splitlines() if " " in line}


def check_exports(root: Path, build: Path) -> int:
    """The shared library exports exactly what the public header declares; in the static one, all
    else starts with kg__."""
    header = (root / "include/kgraft.h").read_text()
    declared = set(re.findall(r"KG_API\b[^;]*?\b(kg_\w+)\(", header))
    exported = symbols(build / "src/libkgraft.so", "--dynamic")
    private = {name for name in symbols(build / "src/libkgraft.a") if not name.startswith("kg__")}
    print(f"only declared: {declared - exported}, only exported: {exported - declared}")
    print(f"without kg__ and not declared: {private - declared}")
    return 0 if declared and declared == exported == private else 1


CHECKS = {
    "cppcheck": check_cppcheck,
    "exports": check_exports,
    "format": check_format,
    "layers": check_layers,
    "shell": check_shell,
    "tidy": check_tidy,
}

if __name__ == "__main__":
    sys.exit(CHECKS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3])))
