"""What the packages say of the project is what it is: versions, names, symbols and files."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from installed import installation
from kgraft import ROOT
from test_layout import ABI, SONAME, VERSION

DEBIAN = ROOT / "debian"
LIBRARY = f"libkgraft{ABI}"


PLACES = {
    "meson.build": r"^  version: '(.*)',$",
    "CHANGELOG.md": r"^## (\d[\d.]*)",
    "debian/changelog": r"\Akgraft \((.*)\) ",
    "python/kgraft/_library.py": r'^VERSION = "(.*)"$',
}


def first_match(pattern: str, file: str, root: Path = ROOT) -> str:
    found = re.search(pattern, (root / file).read_text(), re.MULTILINE)
    assert found is not None, f"{file}: expected {pattern}"
    return found[1]


class Versions(unittest.TestCase):
    """meson.build has the version; what has to repeat it repeats it right."""

    def test_versions(self) -> None:
        for file, pattern in PLACES.items():
            self.assertEqual(first_match(pattern, file), VERSION, file)

    def test_a_new_one(self) -> None:
        """tools/set-version changes all of them, and nothing else"""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for file in [*PLACES, "tools/set-version"]:
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, root / file)
            changes = root / "CHANGELOG.md"
            changes.write_text(re.sub("^## .*", "## Unreleased", changes.read_text(), count=1, flags=re.MULTILINE))
            before = {file: (root / file).read_text().splitlines() for file in PLACES}
            subprocess.run([root / "tools/set-version", "98.7.6"], check=True)
            for file, pattern in PLACES.items():
                self.assertEqual(first_match(pattern, file, root), "98.7.6")
                after = (root / file).read_text().splitlines()
                if file == "debian/changelog":
                    self.assertEqual(after[6:], before[file])
                else:
                    self.assertEqual(len(after), len(before[file]))
                    self.assertEqual(sum(a != b for a, b in zip(after, before[file])), 1)
            again = subprocess.run([root / "tools/set-version", "98.7.7"], capture_output=True, text=True, check=False)
            self.assertEqual((again.returncode, "Unreleased" in again.stderr), (1, True))

    def test_man_pages_have_none(self) -> None:
        for page in (ROOT / "docs/man").glob("*.scd"):
            self.assertNotIn(VERSION, page.read_text().splitlines()[0], page)

    def test_abi(self) -> None:
        self.assertEqual(first_match(r"^ABI = (\d+)$", "python/kgraft/_library.py"), ABI)


class Debian(unittest.TestCase):
    def packages(self) -> list[str]:
        return re.findall(r"^Package: (.*)$", (DEBIAN / "control").read_text(), re.MULTILINE)

    def test_packages(self) -> None:
        """The library's has the name of its soname, by Debian's policy"""
        names = ["kgraft", "kgraft-doc", "libkgraft-dev", LIBRARY, "python3-kgraft"]
        self.assertEqual(sorted(self.packages()), sorted(names))
        files = {path.name.split(".")[0] for path in DEBIAN.glob("*.*") if path.name != "kgraft.service"}
        self.assertLessEqual(files, {*names})

    def test_symbols(self) -> None:
        """The symbols file lists what the library exports, with the version that it came with"""
        name, *rows = (DEBIAN / f"{LIBRARY}.symbols").read_text().splitlines()
        self.assertEqual(name, f"{SONAME} {LIBRARY} #MINVER#")
        listed = dict(re.fullmatch(r" (\w+)@Base (\S+)", row).groups() for row in rows if row[0] == " ")
        command = ["nm", "--dynamic", "--defined-only", "--format=posix", installation().shared_library]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        exported = {line.split()[0] for line in text.splitlines()}
        self.assertEqual(listed.keys(), exported)
        for symbol, version in listed.items():
            self.assertLessEqual([*map(int, version.split("."))], [*map(int, VERSION.split("."))], symbol)

    def test_every_file_is_in_one_package(self) -> None:
        """What `meson install` puts in place"""
        here = installation()
        place = here.libraries.relative_to(here.prefix).as_posix()
        files = {
            "usr/" + re.sub(f"^{place}/", "lib/triplet/", path.relative_to(here.prefix).as_posix())
            for path in here.root.rglob("*") if path.is_symlink() or path.is_file()
        }
        taken: list[str] = []
        for name in set(self.packages()) - {"kgraft-doc", "python3-kgraft"}:
            for line in (DEBIAN / f"{name}.install").read_text().splitlines():
                pattern = line.split()[0]
                found = [f for f in files if fnmatch.fnmatch(f, pattern) or f.startswith(pattern + "/")]
                self.assertNotEqual(found, [], f"{name}: {pattern}")
                taken += found
        self.assertEqual(sorted(taken), sorted(files))

    def test_documents_are_there(self) -> None:
        for name in "kgraft-doc.docs", "kgraft-doc.examples", "python3-kgraft.docs":
            for pattern in (DEBIAN / name).read_text().split():
                self.assertNotEqual([*ROOT.glob(pattern)], [], f"{name}: {pattern}")

    def test_the_unit_is_started_from_where_the_package_has_the_tool(self) -> None:
        unit = (ROOT / "docs/kgraft.service").read_text()
        self.assertIn("\nExecStart=/usr/local/bin/kgraft serve ", unit)
        self.assertIn("s|/usr/local/bin|/usr/bin|", (DEBIAN / "rules").read_text())


if __name__ == "__main__":
    unittest.main()
