"""Which matrix kernels the tool runs with, and how it gets along with little memory."""

from __future__ import annotations

import functools
import os
import re
import resource
import unittest
from pathlib import Path

from kgraft import Case, environment, is_sanitized, tsv

AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
AVX2 = {"avx2", "fma"}


def processor_flags() -> set[str]:
    match = re.search(r"(?m)^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text())
    return set(match[1].split()) if match else set()


def expected_kernels() -> set[str]:
    """By the processor's features, as the kernel tells them."""
    flags = processor_flags()
    if flags >= AVX512:
        return {"SkylakeX", "Cooperlake", "Sapphirerapids"}
    return {"Haswell", "Zen"}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in names}


@unittest.skipUnless(processor_flags() >= AVX2, "the processor has no AVX2")
class Kernels(Case):
    def kernels(self, env: dict[str, str]) -> str:
        result = self.run_kgraft("info", "--json", env=env)
        self.assertEqual((result.status, result.stderr), (0, b""))
        self.assertNotIn("better_kernels", result.json)
        return result.json["kernels"]

    def test_best_ones(self) -> None:
        self.assertIn(self.kernels(without("OPENBLAS_CORETYPE")), expected_kernels())

    @unittest.skipIf(is_sanitized(), "sanitizers want to be loaded first")
    def test_unknown_processor(self) -> None:
        """OpenBLAS comes up with the oldest kernels; the tool sees to it that it has better ones"""
        env = {**without("OPENBLAS_CORETYPE"), "LD_PRELOAD": os.environ["UNKNOWN_PROCESSOR"]}
        self.assertIn(self.kernels(env), expected_kernels())

    def test_what_a_user_wants(self) -> None:
        result = self.run_kgraft("info", "--json", env=environment(OPENBLAS_CORETYPE="Nehalem"))
        self.assertEqual(result.json["kernels"], "Nehalem")
        self.assertIn(result.json["better_kernels"], {"SkylakeX", "Haswell"})

    def test_words(self) -> None:
        """They survive the new start, whatever they are"""
        env = {**without("OPENBLAS_CORETYPE"), "LD_PRELOAD": os.environ["UNKNOWN_PROCESSOR"]}
        if is_sanitized():
            self.skipTest("sanitizers want to be loaded first")
        result = self.run_kgraft("inf o", "", "--x", env=env)
        self.assertEqual(result.status, 2)
        self.assertRegex(result.messages[-1], "unknown command 'inf o'")

    def test_in_text_and_in_models(self) -> None:
        self.write({"g.tsv": tsv("a r b", "b r c", "c r a", "a s c", "b s a")})
        self.succeed("train", "g.tsv", "model", "--epochs", "1", "--dim", "4", "--quiet")
        machine = self.succeed("info", "model", "--json").json["machine"]
        now = self.succeed("info", "--json").json
        self.assertEqual(machine["kernels"], now["kernels"])
        self.assertEqual(machine["processor"], now["processor"])
        for words in ("info",), ("info", "model"):
            text = self.succeed(*words).stdout.decode()
            self.assertRegex(text, rf"(?m)^  kernels +{now['kernels']}$")


@unittest.skipIf(is_sanitized(), "sanitizers need address space")
class ShortMemory(Case):
    def test_it_ends(self) -> None:
        """BLAS would wait for ever for memory that is not there"""
        self.write({"g.tsv": tsv("a r b", "b r c", "c r a", "a s c", "b s a")})
        self.succeed("train", "g.tsv", "model", "--epochs", "1", "--dim", "4", "--quiet")
        env = without("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # which OpenBLAS would go by

        def limit(megabytes: int) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
            resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

        for megabytes in 100, 150, 200, 250:
            for words in ("--version",), ("predict", "model", "--entity", "a", "--relation", "r"):
                before = functools.partial(limit, megabytes)
                result = self.run_kgraft(*words, before=before, env=env)
                self.assertIn(result.status, (0, 1), (megabytes, words, result))
                if result.status == 1:
                    self.assertRegex(result.messages[-1], "out of memory")
