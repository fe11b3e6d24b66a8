"""Copies a source file with a row added to its table, as whoever adds one does by hand.

usage: add_row.py IN OUT LAST NEW: NEW comes behind the only LAST.
"""

import sys
from pathlib import Path

source, out, last, new = sys.argv[1:]
text = Path(source).read_text()
if text.count(last) != 1:
    sys.exit(f"{source}: expected {last} once, found it {text.count(last)} times")
Path(out).write_text(text.replace(last, last + new))
