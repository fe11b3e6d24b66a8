"""Builds the package's wheel with nothing but Python, so that `pip install` needs no network.

A wheel is a zip file of the package and three files about it (the binary distribution format of
the Python Packaging User Guide); pip calls the function `build_wheel` (PEP 517). What is said about
the package stands in pyproject.toml. This wheel is without the C library; library_backend.py makes
the one with it.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ["kgraft/*.py", "kgraft/py.typed"]
ANY_SYSTEM = "any"


def setting(name: str) -> str:
    """A string of pyproject.toml, which Python itself reads only from 3.11 on."""
    text = (HERE / "pyproject.toml").read_text()
    found = re.search(rf'^{name} = "(.*)"$', text, re.MULTILINE)
    if found is None:
        raise ValueError(f"pyproject.toml: expected {name}, found none")
    return found[1]


def version() -> str:
    """As the package itself says it."""
    found = re.search(r'^VERSION = "(.*)"$', (HERE / "kgraft/_library.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def metadata() -> str:
    return f"""Metadata-Version: 2.1
Name: {setting("name")}
Version: {version()}
Summary: {setting("description")}
License: MIT
Requires-Python: {setting("requires-python")}
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""


def _record(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def write_wheel(
    directory: str, platform: str, package_files: dict[str, bytes], licenses: dict[str, bytes]
) -> str:
    """A wheel of the package and of further files, for a platform. Its bytes depend on nothing else."""
    about = f"{setting('name')}-{version()}.dist-info"
    tag = f"py3-none-{platform}"
    paths = sorted(path for pattern in FILES for path in HERE.glob(pattern))
    files = {path.relative_to(HERE).as_posix(): path.read_bytes() for path in paths}
    files.update(package_files)
    files.update({f"{about}/licenses/{name}": data for name, data in licenses.items()})
    files[f"{about}/METADATA"] = metadata().encode()
    files[f"{about}/WHEEL"] = f"""Wheel-Version: 1.0
Generator: kgraft
Root-Is-Purelib: {str(platform == ANY_SYSTEM).lower()}
Tag: {tag}
""".encode()
    record = "".join(_record(name, data) for name, data in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    wheel = f"{setting('name')}-{version()}-{tag}.whl"
    with zipfile.ZipFile(Path(directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return wheel


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    return write_wheel(wheel_directory, ANY_SYSTEM, {}, {})
