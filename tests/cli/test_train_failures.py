"""kgraft train and info when something is wrong: one clear line, and nothing is lost.

Disks without room, numbers that are none, files of a model that were cut off or replaced, and
memory that has to suffice.
"""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest
from pathlib import Path

from kgraft import (
    BINARY,
    Snapshot,
    environment,
    is_sanitized,
    needs_small_disk,
    on_small_disk,
    snapshot,
    tsv,
)
from sealed import open_checkpoint, seal_checkpoint
from test_train import QUICK, SMALL_PROPAGATION, Trained

NO_ROOM = "No space left on device"

# A disk of that size with the files of `before`, filled up but for `room` bytes if there is such a
# file; what is there afterwards is copied to `after`.
USED_DISK = """
mount -t tmpfs -o size="$1" tmpfs disk || exit 99
shift
cp -r before/. disk || exit 99
if [ -e room ]; then head -c "$(cat room)" /dev/zero >disk/room; fi
cat /dev/zero >disk/filler 2>/dev/null
rm -f disk/room
"$@"
status=$?
rm disk/filler
cp -r disk/. after
exit $status
"""


@needs_small_disk
class FullDisk(Trained):
    def setUp(self) -> None:
        super().setUp()
        for name in ("disk", "before", "after"):
            (self.folder / name).mkdir()

    def fail_for_room(self, *words: str, file: str, data: str = "data") -> None:
        wrapper = on_small_disk(USED_DISK, "4m")
        result = self.run_kgraft("train", data, "disk/m", *QUICK, *words, wrapper=wrapper)
        self.assert_refused(result, 1, f"disk/{file}: .*: {NO_ROOM}")

    def make_old(self) -> Snapshot:
        self.train("before/m", "--epochs", "3")
        return snapshot(self.folder / "before/m")

    def test_new_model(self) -> None:
        """Not even the folder is left"""
        self.fail_for_room(file="m.training/checkpoint.safetensors")
        self.assertEqual(os.listdir(self.folder / "after"), [])

    def test_longer_run(self) -> None:
        old = self.make_old()
        self.fail_for_room("--resume", file="m.training/checkpoint.safetensors")
        self.assertEqual(snapshot(self.folder / "after/m"), old)
        self.train("after/m", "--resume")
        self.train("whole")
        self.assertEqual(self.embeddings("after/m"), self.embeddings("whole"))

    def test_replaced_model(self) -> None:
        """With --force the old model stays until there is a new one"""
        old = self.make_old()
        self.fail_for_room("--force", "--dim", "16", file="m.training/checkpoint.safetensors")
        self.assertEqual(snapshot(self.folder / "after/m"), old)

    def test_room_for_the_checkpoint_alone(self) -> None:
        """The run is kept by its checkpoint, and the model made of it when there is room"""
        facts = [line.split(b"\t") for line in self.lines("g.tsv")]
        name = b"x" * 3000  # names take more room than numbers
        self.write({
            "long.tsv": b"".join(b"%s%s\t%s\t%s%s\n" % (name, h, r, name, t) for h, r, t in facts),
            "room": b"100000",
        })
        self.fail_for_room(file="m/entities.tsv", data="long.tsv")
        self.assertEqual(os.listdir(self.folder / "after"), ["m.training"])
        self.assertEqual(os.listdir(self.folder / "after/m.training"), ["checkpoint.safetensors"])
        self.succeed("train", "long.tsv", "after/m", *QUICK, "--resume")
        self.succeed("train", "long.tsv", "whole", *QUICK)
        self.assertEqual(self.embeddings("after/m"), self.embeddings("whole"))


class FullDiskWhenStopped(Trained):
    def test_interrupt(self) -> None:
        """Stopped without room for a checkpoint, it says so, and not that it goes on"""
        words = ("--dim", "200", "--batch", "1", "--negatives", "1000", "--threads", "1")
        command = [BINARY, "train", "data", "m", *QUICK, *words]
        child = subprocess.Popen(command, cwd=self.folder, env=environment(),
                                 stderr=subprocess.PIPE)
        with child:
            while not (self.folder / "m.training").exists():
                time.sleep(0.01)
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (0, 0))
            child.send_signal(signal.SIGINT)
            _, stderr = child.communicate()
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertRegex(stderr, rb"\Akgraft: m.training/checkpoint.safetensors: .*: File too large\n\Z")
        self.assertEqual(list(self.folder.glob("m*")), [])


class FullOutput(Trained):
    PATTERN = f"standard output: cannot write to it: {NO_ROOM}"

    def test_epochs(self) -> None:
        """Epochs that cannot be told are a failure, but the model is made"""
        with open("/dev/full", "wb") as full:
            result = self.run_kgraft(
                "train", "data", "m", *QUICK, "--json", "--quiet", stdout=full
            )
        self.assert_refused(result, 1, self.PATTERN)
        self.train("other")
        self.assertEqual(self.embeddings("m"), self.embeddings("other"))

    def test_info(self) -> None:
        self.train("m")
        for words in ([], ["--json"]):
            with open("/dev/full", "wb") as full:
                self.refuse("info", "m", *words, status=1, pattern=self.PATTERN, stdout=full)


class NotFinite(Trained):
    """A parameter that is no number, or becomes infinite, ends the run; all files stay."""

    CHECKPOINT = "m/checkpoint.safetensors"
    PATTERN = ".*no longer a number.*"

    QUICK = QUICK

    def fill(self) -> None:
        super().fill()
        self.succeed("train", "data", "m", *self.QUICK, "--epochs", "3")

    def spoil(self, tensor: str, row: int, value: float) -> None:
        """Sets a row of the checkpoint."""
        header, numbers = open_checkpoint(self.read(self.CHECKPOINT))
        columns = header[tensor]["shape"][1]
        start = header[tensor]["data_offsets"][0] + 4 * columns * row
        data = bytearray(numbers)
        struct.pack_into(f"<{columns}f", data, start, *[value] * columns)
        self.write({self.CHECKPOINT: seal_checkpoint(header, bytes(data))})

    def check_stopped(self, *words: str) -> None:
        # One thread: the leak sanitizer stumbles over those that still wait when a program ends.
        words = (*self.QUICK, "--threads", "1", "--resume", *words)
        self.refuse("train", "data", "m", *words, pattern=self.PATTERN)

    def test_not_a_number(self) -> None:
        self.spoil("entities", 0, math.nan)
        self.check_stopped()

    def test_infinity(self) -> None:
        self.spoil("relations", 1, math.inf)
        self.check_stopped()

    def test_in_a_run_that_is_complete(self) -> None:
        self.spoil("entities", 3, math.nan)
        self.check_stopped("--epochs", "3")

    def test_state_of_the_optimizer(self) -> None:
        self.spoil("entities.first", 3, math.inf)
        self.check_stopped()

    def test_growing_beyond_all_numbers(self) -> None:
        """What is on disk is finite when training leaves the numbers, and stays usable"""
        self.spoil("relations", 0, 1e25)
        self.check_stopped()
        self.succeed("train", "data", "m", *self.QUICK, "--resume", "--epochs", "3")

    def test_new_model(self) -> None:
        """Nothing is left of a run that fails at once"""
        self.refuse("train", "data", "new", *self.QUICK, "--lr", "1e30", pattern=self.PATTERN)

    def test_ridge_that_is_too_small(self) -> None:
        """Least squares without a ridge worth the name has no solution: that is not the rate"""
        words = ("--aggregate", "ls-u", "--ls-lambda", "1e-30", "--threads", "1")
        self.refuse("train", "data", "new", *QUICK, *words, pattern=f"{self.PATTERN}larger --ls-lambda")

    def test_replaced_model(self) -> None:
        words = (*self.QUICK, "--force", "--lr", "1e30")
        self.refuse("train", "data", "m", *words, pattern=self.PATTERN)


class NotFiniteSoftmax(NotFinite):
    """The same with the default preset, whose loss is the softmax over all answers."""

    QUICK = [*QUICK[2:], "--lr-last", "0.1", *SMALL_PROPAGATION]


class DamagedModels(Trained):
    """What kgraft info has to say of a folder that is not as train left it."""

    def fill(self) -> None:
        super().fill()
        self.train("m")

    def without_checksums(self) -> None:
        with self.change_config("m"):
            pass

    def refuse_model(self, pattern: str) -> None:
        for words in ([], ["--json"]):
            self.refuse("info", "m", *words, pattern=pattern)

    def test_truncated_tensors(self) -> None:
        whole = self.embeddings("m")
        for size in (0, 7, 8, 63, 64, len(whole) // 2, len(whole) - 1):
            self.write({"m/model.safetensors": whole[:size]})
            self.refuse_model("m: expected 'model.safetensors' as config.json describes it, .*")

    def test_longer_tensors(self) -> None:
        self.write({"m/model.safetensors": self.embeddings("m") + b"\0"})
        self.refuse_model("m: expected 'model.safetensors' as config.json describes it, .*")

    def test_missing_tensors(self) -> None:
        (self.folder / "m/model.safetensors").unlink()
        self.refuse_model("m: expected 'model.safetensors' as config.json describes it, .*")

    def test_foreign_bytes(self) -> None:
        """A file of the right size that is something else"""
        self.without_checksums()
        size = len(self.embeddings("m"))
        for content in (bytes(size), b"\xff" * size, b"\x08" + bytes(7) + b"[1,2,3] " * size):
            self.write({"m/model.safetensors": content[:size]})
            self.refuse_model("m/model.safetensors: expected a safetensors file, found .*")

    def replace_header(self, old: bytes, new: bytes) -> None:
        self.without_checksums()
        data = self.embeddings("m")
        self.assertIn(old, data)
        self.assertEqual(len(old), len(new))
        self.write({"m/model.safetensors": data.replace(old, new)})

    def test_foreign_names(self) -> None:
        self.replace_header(b'"entities"', b'"weights1"')
        self.refuse_model("m/model.safetensors: expected a tensor entities .*, found none")

    def test_foreign_type(self) -> None:
        self.replace_header(b'"F32"', b'"I32"')
        self.refuse_model("m/model.safetensors: expected a tensor entities of type F32 .*")

    def test_foreign_shape(self) -> None:
        """Another shape of the same size"""
        rows = len(self.lines("m/entities.tsv"))
        self.replace_header(b"[%d,8]" % rows, b"[8,%d]" % rows)
        self.refuse_model(f"m/model.safetensors: expected entities of {rows} x 8, found 8 x {rows}")

    def test_tensors_beyond_the_end(self) -> None:
        data = self.embeddings("m")
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        rows = header["entities"]["shape"][0]
        self.replace_header(b"[0,%d]" % (32 * rows), b"[9,%d]" % (32 * rows))
        self.refuse_model("m/model.safetensors: expected tensor entities within the file, .*")

    def test_no_config(self) -> None:
        (self.folder / "m/config.json").unlink()
        self.refuse_model("m: expected a model directory, found one without config.json")

    def test_config_that_is_garbage(self) -> None:
        for content in (b"", b"garbage", b"{", b"\xff\xfe", self.read("m/config.json")[:-20]):
            self.write({"m/config.json": content})
            self.refuse_model("m/config.json:.*")

    def test_config_of_something_else(self) -> None:
        for content in (b"{}", b"[]", b"3", b'{"kgraft_model":1}', b'{"kgraft_model":1,"files":3}'):
            self.write({"m/config.json": content})
            self.refuse_model("m.*: expected .*, found .*")

    def test_words_that_steer_a_terminal(self) -> None:
        with self.change_config("m") as config:
            config["settings"]["\x1b[2J"] = "one\ntwo\x07"
        shown = self.succeed("info", "m").stdout
        self.assertRegex(shown, rb"\n  \\x1b\[2J +one\\x0atwo\\x07\n")

    def test_no_folder(self) -> None:
        self.refuse("info", "nothing", pattern="nothing: cannot open it: .*")

    def test_resume_without_config(self) -> None:
        """A run only needs its checkpoint"""
        whole = self.embeddings("m")
        (self.folder / "m/config.json").unlink()
        self.write({"m/model.safetensors": b"cut off"})
        self.train("m", "--resume")
        self.assertEqual(self.embeddings("m"), whole)


class DataSets(Trained):
    def test_no_facts(self) -> None:
        self.write({"empty.tsv": b"", "empty/train.tsv": b""})
        for name in ("empty.tsv", "empty"):
            self.refuse("train", name, "m", *QUICK, pattern=".*: expected .*facts?, found none.*")

    def test_no_data_set(self) -> None:
        self.refuse("train", "nothing", "m", *QUICK, pattern="nothing: .*")

    def test_only_reflexive_facts(self) -> None:
        """Entities that know nobody but themselves have the zero vector for an aggregate"""
        self.write({"self.tsv": tsv("a r a", "b r b")})
        for aggregate in ("eavg", "eravg", "ls", "ls-u"):
            words = ("--psi", "1", "--aggregate", aggregate, "--force")
            self.succeed("train", "self.tsv", "m", *QUICK, *words)
            self.assertIn("loss", self.succeed("info", "m", "--json").json["history"][0])


@unittest.skipIf(is_sanitized(), "a sanitizer needs memory of its own")
class Memory(Trained):
    """At most four times the parameters, the graph, and 512 MB."""

    def test_adam_with_validation(self) -> None:
        """Parameters, two moments, and the best so far"""
        dim = 200
        self.succeed("generate", "big.tsv", "--facts", "150000", "--entities", "120000")
        self.succeed("split", "big.tsv", "big", "--quiet", "--unseen", "0.001")
        peak = self.peak_memory(
            *("train", "big", "m", "--preset", "paper", "--dim", str(dim), "--optimizer", "adam"),
            *("--epochs", "1", "--batch", "2000"),
        )
        rows = len(self.lines("m/entities.tsv")) + len(self.lines("m/relations.tsv"))
        graph = 2 * Path(self.folder, "big/train.tsv").stat().st_size
        self.assertGreater(rows * dim * 4, 90e6)
        self.assertLess(peak, 4 * rows * dim * 4 + graph + 512 * 1024**2)

    def test_hub_and_pairs(self) -> None:
        """What a pair leaves out is little, however large the hub"""
        facts = tsv(*(f"hub r{i % 3} e{i}" for i in range(20_000)))
        self.write({"star.tsv": facts})
        limit = 1_200_000_000
        result = self.run_kgraft(
            *("train", "star.tsv", "m", "--preset", "paper", "--dim", "8", "--epochs", "1"),
            *("--exclude", "pair", "--aggregate", "ls", "--batch", "20000", "--threads", "1"),
            before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            env=environment(OPENBLAS_NUM_THREADS="1"),
        )
        self.assertEqual(result.status, 0, result)

    def test_pairs_of_more_and_more_facts(self) -> None:
        """Each entity leaves out one fact more than all before it: that is no reason to double"""
        pairs = (f"h{n} r{i} t{n}" for n in range(40) for i in range(n + 1))
        self.write({"stairs.tsv": tsv(*pairs)})
        self.succeed("train", "stairs.tsv", "m", *QUICK, "--exclude", "pair", "--psi", "1",
                     "--batch", "1000", "--shuffle", "no", "--threads", "1")


if __name__ == "__main__":
    unittest.main()
