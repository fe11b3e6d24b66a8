"""Runs test programs with the kernels that OpenBLAS has for one type of processor, as TAP.

kernels.py TYPE PROGRAM...: results must be right with each, since users have all of them. The
type is one of OPENBLAS_CORETYPE; those with instructions that this processor lacks are skipped.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

# What a type's kernels are made of, by the names of Linux, from the oldest on.
NEEDED = {
    "Opteron": "3dnow",
    "Opteron_SSE3": "3dnow pni",
    "Prescott": "pni",
    "Core2": "ssse3",
    "Atom": "ssse3",
    "Nano": "ssse3",
    "Penryn": "sse4_1",
    "Dunnington": "sse4_1",
    "Barcelona": "sse4a",
    "Bobcat": "sse4a ssse3",
    "Nehalem": "sse4_2",
    "Sandybridge": "avx",
    "Bulldozer": "avx fma4",
    "Piledriver": "avx fma4 fma",
    "Steamroller": "avx fma4 fma",
    "Excavator": "avx2 fma4 fma",
    "Haswell": "avx2 fma",
    "Zen": "avx2 fma",
    "SkylakeX": "avx512f avx512cd avx512bw avx512dq avx512vl",
    "Cooperlake": "avx512f avx512cd avx512bw avx512dq avx512vl avx512_bf16",
}

# OpenBLAS takes another type if it was built without this one.
ASK = """
import ctypes
blas = ctypes.CDLL("libopenblas.so.0")
blas.openblas_get_corename.restype = ctypes.c_char_p
print(blas.openblas_get_corename().decode())
"""


def find_reason(core: str, environment: dict[str, str]) -> str | None:
    """Why the type cannot be tested here."""
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    lacking = set(NEEDED[core].split()) - set(flags[1].split() if flags else [])
    if lacking:
        return f"the processor lacks {' '.join(sorted(lacking))}"
    asked = subprocess.run([sys.executable, "-c", ASK], env=environment, check=True,
                           capture_output=True, text=True)
    taken = asked.stdout.strip()
    return None if taken == core else f"OpenBLAS takes {taken} instead"


def main(core: str, *programs: str) -> int:
    environment = {**os.environ, "OPENBLAS_CORETYPE": core, "CMOCKA_MESSAGE_OUTPUT": "TAP"}
    reason = find_reason(core, environment)
    if reason is not None:
        print(f"1..0 # SKIP {reason}")
        return 0
    failed = 0
    print(f"1..{len(programs)}")
    for number, program in enumerate(programs, 1):
        result = subprocess.run([program], env=environment, capture_output=True, check=False)
        name = Path(program).name.removeprefix("test_")
        print(f"{'ok' if result.returncode == 0 else 'not ok'} {number} - {name}", flush=True)
        if result.returncode != 0:
            failed += 1
            for line in (result.stdout + result.stderr).decode(errors="replace").splitlines():
                print(f"# {line}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
