"""What `meson install` puts in place, and that others can build on it by pkg-config."""

from __future__ import annotations

import re
import shutil
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path

from installed import STRICT, Installation, installation, option, output
from kgraft import ROOT, Case, Word, cases

VERSION = re.findall(r"version: '([0-9.]+)'", (ROOT / "meson.build").read_text())[0]
ABI = re.findall(r"#define KG_ABI (\d+)", (ROOT / "include/kgraft.h").read_text())[0]
SONAME = f"libkgraft.so.{ABI}"

PROGRAM = b"""
#include <kgraft.h>
#include <stdio.h>

int main(void) {
    kg_error error = {.line = 3, .source = "facts.tsv", .message = "found nothing"};
    char text[KG_ERROR_TEXT_MAX];
    printf("%s\\n%s\\n", kg_version(), kg_error_text(text, sizeof text, &error));
    return 0;
}
"""


def compile_program(here: Installation, folder: Path, flags: list[str]) -> Path:
    (folder / "program.c").write_bytes(PROGRAM)
    output(["cc", *STRICT, "program.c", "-o", "program", *flags], cwd=folder, env=here.environment)
    return folder / "program"


def can_link(flag: str, folder: Path) -> bool:
    source = b"int main(void) { return 0; }"
    command: list[Word] = ["cc", "-x", "c", "-", "-o", folder / "nothing", flag]
    return subprocess.run(command, input=source, capture_output=True).returncode == 0


class Files(unittest.TestCase):
    def test_everything_is_there_and_nothing_else(self) -> None:
        here = installation()
        library = here.libraries.relative_to(here.prefix)
        commands = re.findall(r"&cli_(\w+)", (ROOT / "src/cli/commands.c").read_text())
        self.assertGreater(len(commands), 0)
        expected = {
            "bin/kgraft",
            "include/kgraft.h",
            f"{library}/libkgraft.a",
            f"{library}/libkgraft.so",
            f"{library}/{SONAME}",
            f"{library}/libkgraft.so.{VERSION}",
            f"{library}/pkgconfig/kgraft.pc",
            "share/bash-completion/completions/kgraft",
            "share/fish/vendor_completions.d/kgraft.fish",
            "share/man/man1/kgraft.1",
            *(f"share/man/man1/kgraft-{command}.1" for command in commands),
            "share/zsh/site-functions/_kgraft",
        }
        found = {
            str(path.relative_to(here.prefix))
            for path in here.root.rglob("*")
            if path.is_symlink() or not path.is_dir()
        }
        self.assertEqual(found, expected)

    def test_the_header_is_the_one_of_the_source(self) -> None:
        header = installation().header
        self.assertEqual(header.read_bytes(), (ROOT / "include/kgraft.h").read_bytes())

    def test_the_tool_runs_without_the_library(self) -> None:
        tool = installation().prefix / "bin/kgraft"
        self.assertEqual(output([tool, "--version"], env={}), f"kgraft {VERSION}\n")

    def test_the_library_knows_its_name(self) -> None:
        text = output(["readelf", "--dynamic", installation().shared_library])
        self.assertIn(f"[{SONAME}]", text)
        self.assertNotRegex(text, f"R(UN)?PATH.*{re.escape(str(ROOT))}")

    def test_hardening(self) -> None:
        """What an optimised build protects, as the files say themselves"""
        if option("optimization") in ("plain", "0", "g"):
            self.skipTest("not an optimised build")
        here = installation()
        for file in here.prefix / "bin/kgraft", here.shared_library:
            symbols = output(["readelf", "--dyn-syms", "--wide", file])
            self.assertIn(" __stack_chk_fail@", symbols)
            self.assertRegex(symbols, r" __\w+_chk@")  # of FORTIFY
            self.assertIn("GNU_RELRO", output(["readelf", "--segments", "--wide", file]))
            self.assertRegex(output(["readelf", "--dynamic", file]), r"FLAGS.*\bNOW\b")
        dynamic = output(["readelf", "--dynamic", here.prefix / "bin/kgraft"])
        self.assertRegex(dynamic, r"FLAGS_1.*\bPIE\b")

    def test_names_lead_to_the_library(self) -> None:
        here = installation()
        for name in "libkgraft.so", SONAME:
            link = here.libraries / name
            self.assertEqual(link.resolve(), here.libraries / f"libkgraft.so.{VERSION}")


class PkgConfig(Case):
    def setUp(self) -> None:
        super().setUp()
        self.here = installation()

    def check_program(self, program: Path) -> None:
        text = output([program], env=self.here.environment)
        self.assertEqual(text, f"{VERSION}\nfacts.tsv:3: found nothing\n")

    def test_version(self) -> None:
        self.assertEqual(self.here.pkg_config("--modversion"), [VERSION])

    def test_flags(self) -> None:
        flags = self.here.pkg_config("--cflags", "--libs")
        self.assertIn(f"-I{self.here.header.parent}", flags)
        self.assertIn(f"-L{self.here.libraries}", flags)
        self.assertEqual([flag for flag in flags if flag.startswith("-l")], ["-lkgraft"])

    def test_a_program_with_the_shared_library(self) -> None:
        flags = self.here.pkg_config("--cflags", "--libs")
        program = compile_program(self.here, self.folder, flags)
        self.assertIn(SONAME, output(["readelf", "--dynamic", program]))
        self.check_program(program)

    def test_a_program_with_the_static_library(self) -> None:
        flags = self.here.pkg_config("--cflags", "--libs", "--static")
        if "-lgfortran" in flags and not can_link("-lgfortran", self.folder):
            self.skipTest("Debian's static OpenBLAS wants a libgfortran that is not installed")
        flags = [flag.replace("-lkgraft", "-l:libkgraft.a") for flag in flags]
        program = compile_program(self.here, self.folder, flags)
        self.assertNotIn(SONAME, output(["readelf", "--dynamic", program]))
        self.check_program(program)


@dataclass(frozen=True)
class Compiler:
    program: str
    language: str
    standard: str

    @property
    def name(self) -> str:
        return f"{self.program} {self.standard}"


@cases([
    Compiler("gcc", "c", "c99"),
    Compiler("gcc", "c", "c17"),
    Compiler("clang", "c", "c99"),
    Compiler("clang", "c", "c17"),
    Compiler("g++", "c++", "c++11"),
    Compiler("clang", "c++", "c++11"),
    Compiler("clang", "c++", "c++20"),
])
class Header(Case):
    """The header stands alone."""

    def check(self, row: Compiler) -> None:
        if shutil.which(row.program) is None:
            self.skipTest(f"{row.program} is not installed")
        include = installation().header.parent
        source = self.folder / "source"
        source.write_text('#include "kgraft.h"\n')
        output([
            row.program, "-x", row.language, f"-std={row.standard}", *STRICT,
            "-I", include, "-c", source, "-o", self.folder / "object",
        ])


if __name__ == "__main__":
    unittest.main()
