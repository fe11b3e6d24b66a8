#!/bin/sh
# Installs what is missing, builds, and runs all tests. Ends with "N passed, M failed, K skipped".
set -eu
cd "$(dirname "$0")"
tools/install-packages run test
exec python3 tests/run.py "$@"
