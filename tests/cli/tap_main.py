"""Runs one unittest module and reports every test as a line of TAP.

unittest has no TAP of its own, and meson counts single cases only when it is told of them. The
plan stands at the end, since a class that cannot be set up is a failure that nobody planned. The
exit status is 0 once everything has been reported, failures included: meson takes any other for a
program that broke down, and would not say how many tests failed.

usage: tap_main.py MODULE
"""

from __future__ import annotations

import signal
import sys
import unittest
from types import TracebackType
from typing import Any, Optional

ExcInfo = tuple[type[BaseException], BaseException, TracebackType]


def title(test: Any) -> str:
    """What a test is called: its class and its first line of documentation, or its method.

    A number sign starts a directive in TAP, so there is none in a title.
    """
    method = getattr(test, "_testMethodName", None)
    if method is None:  # unittest's stand-in for a class or a module that could not be set up
        text = str(test)
    else:
        words = method.removeprefix("test_").replace("_", " ")
        text = f"{type(test).__name__}: {test.shortDescription() or words}"
    return text.replace("#", "number sign ")


class TapResult(unittest.TestResult):
    """Prints a result as soon as it is known."""

    count = 0

    def report(self, good: bool, test: Any, directive: str = "", details: str = "") -> None:
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {title(test)}{directive}")
        for line in details.splitlines():
            print(f"# {line}")
        sys.stdout.flush()

    def addSuccess(self, test: Any) -> None:
        self.report(True, test)

    def addSkip(self, test: Any, reason: str) -> None:
        self.report(True, test, f" # SKIP {reason}")

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self.report(False, test, details=self.failures[-1][1])

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self.report(False, test, details=self.errors[-1][1])

    def addSubTest(self, test: Any, subtest: Any, err: Optional[ExcInfo]) -> None:
        raise TypeError(f"{title(test)}: rows are cases of their own here, not subtests")


def main() -> int:
    # Started by nohup or in the background, we would hand ignored signals on to what is tested.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    result = TapResult()
    unittest.defaultTestLoader.loadTestsFromName(sys.argv[1]).run(result)
    print(f"1..{result.count}")
    return 0 if result.count else 1


if __name__ == "__main__":
    sys.exit(main())
