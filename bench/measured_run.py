"""Commands with the time and memory that they took, records of them, and how far training got: for bench/scale and
bench/wikidata5m."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from signal import SIGINT
from threading import Timer
from typing import Any, Optional

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "build/src/kgraft"


def describe_run() -> dict[str, Any]:
    """When, of which commit, on what."""
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, check=True,
                            text=True).stdout.strip()
    about = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    processor = {key: re.search(rf"{key}\s*: (.*)", about) for key in ("model name", "cpu family")}
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(encoding="utf-8"))
    return {"began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit,
            "processor": ", ".join(f"{key} {found.group(1)}" for key, found in processor.items() if found),
            "processors": os.cpu_count(), "machine_memory": int(memory.group(1)) * 1024 if memory else 0,
            "load": os.getloadavg()[0]}


def run(*words: str | Path, seconds: Optional[float] = None) -> dict[str, Any]:
    """What a command printed and took, and what it said that it needs; it is interrupted after so many seconds."""
    about = describe_run()
    began = time.monotonic()
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        child = subprocess.Popen(words, stdout=printed, stderr=said)
        timer = Timer(seconds or 0, child.send_signal, [SIGINT])  # by which it writes a checkpoint
        if seconds is not None:
            timer.start()
        _, status, used = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - began
        printed.seek(0)
        said.seek(0)
        output, text = printed.read().decode(), said.read().decode()
    is_cut_off = child.returncode == -SIGINT and seconds is not None and took >= seconds
    if child.returncode != 0 and not is_cut_off:
        raise SystemExit(text)
    needs = re.search(r": needs (.*)", text)
    return about | {"seconds": took, "processor_seconds": used.ru_utime + used.ru_stime,
                    "memory": used.ru_maxrss * 1024, "needs": needs.group(1) if needs else "",
                    "is_cut_off": is_cut_off, "output": output}


def read_progress(model: Path) -> Optional[tuple[int, float]]:
    """Batches of the epoch of training that was cut off, and the seconds that they took."""
    checkpoint = model.with_name(f"{model.name}.training") / "checkpoint.safetensors"
    if not checkpoint.exists():
        return None
    with checkpoint.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        note = json.loads(json.loads(file.read(length))["__metadata__"]["kgraft"])
    return note["batch"], note["seconds"]
