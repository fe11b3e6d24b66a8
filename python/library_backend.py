"""Builds the wheel of the package together with the C library, which meson compiles: so `pip install`
of the whole source needs a compiler and the libraries of packages.txt, and no network.

pip calls `build_wheel`; `build_sdist` packs the source for it (PEP 517).
"""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
from pathlib import Path

from wheel_backend import metadata, setting, version, write_wheel

ROOT = Path(__file__).resolve().parent.parent


def compile_library(folder: Path) -> Path:
    """The shared library, compiled in a folder."""
    if shutil.which("meson") is None:
        raise OSError("expected meson, which compiles the library, found none; packages.txt lists what it needs")
    subprocess.run(["meson", "setup", folder, ROOT, "-Dwerror=false"], check=True)
    subprocess.run(["meson", "compile", "-C", folder, "kgraft:shared_library"], check=True)
    return (folder / "src" / "libkgraft.so").resolve()


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    with tempfile.TemporaryDirectory() as folder:
        library = compile_library(Path(folder)).read_bytes()
    licenses = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    return write_wheel(wheel_directory, platform, {"kgraft/libkgraft.so": library}, licenses)


def _source_files() -> list[Path]:
    """What git knows; in an unpacked archive, which has no git, everything."""
    if (ROOT / ".git").exists():
        command = ["git", "-C", ROOT, "ls-files", "-z"]
        names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
        return sorted(ROOT / name for name in names if name)
    return sorted(path for path in ROOT.rglob("*") if path.is_file())


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """The source and PKG-INFO, as bytes that depend on nothing else."""
    top = f"{setting('name')}-{version()}"
    target = Path(sdist_directory) / f"{top}.tar.gz"
    with target.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in _source_files():
                entry = tarfile.TarInfo(f"{top}/{path.relative_to(ROOT).as_posix()}")
                data = path.read_bytes()
                entry.size = len(data)
                entry.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                archive.addfile(entry, io.BytesIO(data))
            entry = tarfile.TarInfo(f"{top}/PKG-INFO")
            data = metadata().encode()
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return target.name
