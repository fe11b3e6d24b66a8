"""Builds the package's wheel with nothing but Python, so that `pip install` needs no network.

A wheel is a zip file of the package and three files about it (the binary distribution format of
the Python Packaging User Guide); pip calls the function `build_wheel` (PEP 517). What is said about
the package stands in pyproject.toml.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = ["kgraft/*.py", "kgraft/py.typed", "kgraft/libkgraft.so*"]


def _setting(name: str) -> str:
    """A string of pyproject.toml, which Python itself reads only from 3.11 on."""
    text = (HERE / "pyproject.toml").read_text()
    found = re.search(rf'^{name} = "(.*)"$', text, re.MULTILINE)
    if found is None:
        raise ValueError(f"pyproject.toml: expected {name}, found none")
    return found[1]


def _metadata() -> str:
    return f"""Metadata-Version: 2.1
Name: {_setting("name")}
Version: {_setting("version")}
Summary: {_setting("description")}
License: MIT
Requires-Python: {_setting("requires-python")}
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""


def _record(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    about = f"{_setting('name')}-{_setting('version')}.dist-info"
    tag = "py3-none-any"
    paths = sorted(path for pattern in FILES for path in HERE.glob(pattern))
    files = {path.relative_to(HERE).as_posix(): path.read_bytes() for path in paths}
    files[f"{about}/METADATA"] = _metadata().encode()
    files[f"{about}/WHEEL"] = f"""Wheel-Version: 1.0
Generator: kgraft
Root-Is-Purelib: true
Tag: {tag}
""".encode()
    record = "".join(_record(name, data) for name, data in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    wheel = f"{_setting('name')}-{_setting('version')}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel
