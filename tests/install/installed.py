"""What the tests of an installation share: the project as `meson install` puts it in place.

The build is named by the environment variable BUILD. It is installed once per module, below a
temporary folder that stands for the root of a file system.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

from kgraft import ROOT, TIMEOUT, Word

# What compilers are asked to find in programs that use the library.
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

BUILD = Path(os.environ.get("BUILD", ROOT / "build")).resolve()


@dataclass(frozen=True)
class Installation:
    root: Path
    prefix: Path
    libraries: Path

    @property
    def header(self) -> Path:
        return self.prefix / "include" / "kgraft.h"

    @property
    def shared_library(self) -> Path:
        return self.libraries / "libkgraft.so"

    @property
    def environment(self) -> dict[str, str]:
        """What finds it below its root."""
        return {
            **os.environ,
            "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": str(self.libraries),
            "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig"),
            "PKG_CONFIG_SYSROOT_DIR": str(self.root),
        }

    def pkg_config(self, *words: str) -> list[str]:
        command = ["pkg-config", *words, "kgraft"]
        return output(command, env=self.environment).split()


def output(command: Sequence[Word], **options: Any) -> str:
    """What a command prints that has to succeed without a word on standard error."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **options)
    assert done.returncode == 0 and done.stderr == "", (command, done)
    return str(done.stdout)


def option(name: str) -> str:
    options = json.loads(output(["meson", "introspect", "--buildoptions", BUILD]))
    return str(next(row["value"] for row in options if row["name"] == name))


@functools.cache
def installation() -> Installation:
    root = Path(tempfile.mkdtemp(prefix="kgraft-root-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    subprocess.run(
        ["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root],
        check=True, capture_output=True, timeout=TIMEOUT,
    )
    prefix = root / option("prefix").lstrip("/")
    return Installation(root, prefix, prefix / option("libdir"))
