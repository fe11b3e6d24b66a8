"""Runs a cmocka program and passes on its TAP, with skipped tests as TAP wants them.

cmocka 1.1 writes `not ok 3 # SKIP name`, which every reader of TAP takes for a failure.
"""

import os
import re
import subprocess
import sys

environment = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP"}
result = subprocess.run(sys.argv[1:], env=environment, stdout=subprocess.PIPE, check=False)
for line in result.stdout.decode(errors="replace").splitlines():
    print(re.sub(r"^not ok (\d+) # SKIP (.*)", r"ok \1 - \2 # SKIP", line))
sys.exit(result.returncode)
