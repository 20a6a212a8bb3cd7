"""The table of tuned constants: what is chosen for a layer, from the package's rows and the user's. package.py has the
usage; torch is not needed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from package import ROOT

sys.path.insert(0, str(ROOT / "tests/bench"))

import numpy
import tilevm
import tuned_table
from tilevm import _tuned

H200 = "NVIDIA H200"
FEW, MANY = "quantized_matmul/few_rows.tile", "quantized_matmul/many_rows.tile"


def trial(device="A GPU", file=f"/home/me/programs/{FEW}", defines=("M=16", "N=512", "K=1024", "Q=i4", "GROUP=64"),
          point="BN=64 WARPS=2", us=5.0, exact=True, **others):
    return {"schema": 1, "command": "tune", "key": "0", "file": file, "defines": list(defines), "point": point, "rounds": 30,
            "us": us, "reason": "", "registers": 40, "spill_bytes": 0, "shared_bytes": 1, "exact": exact,
            "environment": {"device": f"{device}, sm_90, 80 GiB, 132 multiprocessors", "target": "sm_90a"}, **others}


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "tuned.jsonl"
        os.environ["TILEVM_TUNED"] = str(self.file)
        self.addCleanup(os.environ.pop, "TILEVM_TUNED")

    def write(self, *lines):
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))


class Making(unittest.TestCase):
    """tests/bench/tuned_table.py takes the winners of a search."""

    def test_winners(self):
        slow, fast, other = trial(us=5), trial(us=3, point="BN=128"), trial("Another", us=9)
        lines = [slow, other, trial(us=1, exact=False), trial(us=2, exact=None), trial(us=None), fast]
        self.assertEqual(tuned_table.winners(lines), [fast, other])


class OfThePackage(Tables):
    def only_measured_rows(self):
        """What `tilevm tune` adds for more shapes does not change what is asked here."""
        folder = self.file.parent
        (folder / "tuned.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in [*tuned_table.CROSSOVERS, *tuned_table.measured()]))
        patch = mock.patch.object(_tuned, "HERE", folder)
        patch.start()
        self.addCleanup(patch.stop)
        os.environ["TILEVM_TUNED"] = str(folder / "none.jsonl")

    def test_it_is_what_the_results_give(self):
        subprocess.run([sys.executable, str(ROOT / "tests/bench/tuned_table.py"), "--check"], check=True)

    def test_every_row_is_a_program_that_loads(self):
        rows = list(_tuned._rows(_tuned.HERE / "tuned.jsonl", H200))
        self.assertGreaterEqual(len(rows), 48)
        for row in rows:
            # Types without a sign stand for themselves, with zero points that the layer never asks for.
            k = tilevm.load(tilevm.programs() / row.program, entry="main", M=row.rows, N=row.outputs, K=row.inputs,
                            Q=row.type, GROUP=row.group, **row.constants)
            self.assertEqual(k.parameters[0].shape, (row.rows, row.inputs))
            self.assertRegex(row.source, "(quantized_matmul|tuned_shapes).jsonl, line")

    def test_the_measured_problem_has_its_row(self):
        self.only_measured_rows()
        for type_, rows, constants in (("i4", 16, {"BN": "448", "WARPS": "14", "SLICES": "2", "BK": "256", "STAGES": "2"}),
                                       ("i3", 1, {"SWAP": "1", "BN": "448", "WARPS": "14", "SLICES": "2", "BK": "512",
                                                  "STAGES": "2", "SPLIT_BARRIERS": "1"})):
            plan = _tuned.choose(H200, type_, 8192, 57344, 128, rows)
            self.assertEqual((plan.program, plan.constants), (FEW, constants))
        # A zero in the middle of unsigned codes is a sign.
        self.assertEqual(_tuned.choose(H200, "u4", 8192, 57344, 128, 16), _tuned.choose(H200, "i4", 8192, 57344, 128, 16))

    def test_other_shapes_have_the_nearest_row(self):
        self.only_measured_rows()
        self.assertEqual(_tuned.choose(H200, "u4", 4096, 4096, 128, 16).constants["BN"], "64")  # of 8192 x 8192
        self.assertEqual(_tuned.choose(H200, "u4", 8192, 28672, 128, 16).constants["BN"], "448")
        self.assertEqual(_tuned.choose(H200, "f4e2m1", 8192, 57344, 64, 16).constants["BK"], "256")
        # An exact type is found before a nearer shape of another number of bits.
        self.assertIn("line 26", _tuned.choose(H200, "u6", 8192, 8192, 128, 1).source)

    def test_a_row_that_the_program_refuses_is_left_out(self):
        # 96 weights of a scale divide no step of these rows.
        self.only_measured_rows()
        self.assertEqual(_tuned.choose(H200, "u4", 8192, 57344, 96, 16), _tuned.Plan())

    def test_another_device_of_the_architecture_is_better_than_none(self):
        plan = _tuned.choose("NVIDIA H100", "u4", 8192, 57344, 128, 16, "sm_90")
        self.assertEqual(plan, _tuned.choose(H200, "u4", 8192, 57344, 128, 16, "sm_90"))
        self.assertEqual(_tuned.choose("NVIDIA H100", "u4", 8192, 57344, 128, 16, "sm_80"), _tuned.Plan())

    def test_another_device_has_no_constants(self):
        self.assertEqual(_tuned.choose("A GPU", "u4", 8192, 57344, 128, 16), _tuned.Plan())
        self.assertEqual(_tuned.choose("", "u4", 8192, 57344, 128, 16), _tuned.Plan())

    def test_crossovers(self):
        self.assertEqual([_tuned.crossover(device) for device in (H200, "A GPU", "")], [192, 192, None])


class OfTheUser(Tables):
    def test_the_users_row_is_found_first(self):
        own = trial(H200, defines=("M=16", "N=57344", "K=8192", "Q=i4", "GROUP=128"), point="BN=256 WARPS=8", us=900)
        self.write(own)
        plan = _tuned.choose(H200, "u4", 8192, 57344, 128, 16)
        self.assertEqual((plan.constants, plan.source), ({"BN": "256", "WARPS": "8"}, f"{self.file}, line 1"))

    def test_each_device_has_its_rows(self):
        problem = {"defines": ("M=16", "N=57344", "K=8192", "Q=i4", "GROUP=128")}
        self.write(trial("NVIDIA H100", point="BN=256 WARPS=8", us=70, **problem),
                   trial("NVIDIA GH200", point="BN=128 WARPS=8", us=50, **problem))

        def constants(device, inputs, outputs):
            return _tuned.choose(device, "u4", inputs, outputs, 128, 16, "sm_90").constants

        self.assertEqual(constants("NVIDIA H100", 8192, 57344), {"BN": "256", "WARPS": "8"})
        self.assertEqual(constants("NVIDIA GH200", 8192, 57344), {"BN": "128", "WARPS": "8"})
        # Far from its own row: a near one of the H200 in the table of the package
        self.assertEqual(constants("NVIDIA H100", 8192, 8192)["BN"], "64")

    def test_many_rows_have_a_row_of_as_many(self):
        """The point of another device and of u4 for i4, before one of this device for half the rows, where weights are read twice."""
        problem = ("N=8192", "K=4096", "GROUP=128")
        self.write(trial(defines=("M=16", "Q=i4", *problem)),
                   trial("Another GPU", file=MANY, defines=("M=32", "Q=u4", *problem), point="BM=32 BK=128", us=9))
        for rows, program in ((1, FEW), (16, FEW), (32, MANY), (64, MANY)):
            self.assertEqual(_tuned.choose("A GPU", "u4", 4096, 8192, 128, rows, "sm_90").program, program, rows)

    def test_the_fastest_that_is_exact_wins(self):
        self.write(trial(us=5), trial(us=3, point="BN=128 WARPS=4"), trial(us=1, exact=False), trial(us=2, exact=None),
                   trial(us=None, exact=None, reason="a kernel faulted"))
        self.assertEqual(_tuned.choose("A GPU", "u4", 1024, 512, 64, 16).constants, {"BN": "128", "WARPS": "4"})

    def test_what_was_not_given_is_the_programs(self):
        self.write(trial(defines=("Q=i4", "STAGES=2"), us=5))
        row, = _tuned._rows(self.file, "A GPU")
        self.assertEqual((row.rows, row.outputs, row.inputs, row.group), (16, 1024, 1024, 128))
        self.assertEqual(row.constants, {"BN": "64", "WARPS": "2", "STAGES": "2"})

    def test_programs_and_forms_that_the_layer_lacks(self):
        self.write(trial(file="/home/me/programs/figure2.tile"), trial(defines=("M=16", "Q=i4", "T=bf16")),
                   trial(defines=("M=16", "Q=u4", "ZEROS=1")), trial(defines=("M=16", "N=512", "K=1024", "Q=i5", "GROUP=64")))
        self.assertEqual(_tuned.choose("A GPU", "u4", 1024, 512, 64, 16), _tuned.Plan())

    def test_crossovers(self):
        self.write({"command": "crossover", "environment": {"device": "A GPU"}, "rows": 300},
                   {"command": "crossover", "environment": {"device": H200}, "rows": 70}, trial())
        self.assertEqual([_tuned.crossover(device) for device in ("A GPU", H200, "Another")], [300, 70, 70])
        self.write({"command": "crossover", "environment": {"device": "A GPU"}, "rows": 0})
        with self.assertRaisesRegex(tilevm.UsageError, "at least 1"):
            _tuned.crossover("A GPU")

    def test_a_plan_for_many_rows(self):
        """A crossover that names the program, the point of the nearest shape for about a thousand rows, and the program's own
        constants where there is none; of no other architecture."""
        to_hopper = {"command": "crossover", "environment": {"device": "A GPU"}, "rows": 48, "program": _tuned.HOPPER}
        to_torch = {"command": "crossover", "environment": {"device": "A GPU"}, "rows": 300}
        file, problem = f"/home/me/programs/{_tuned.HOPPER}", ("N=512", "K=1024", "Q=i4", "GROUP=64")
        points = [trial(file=file, defines=(f"M={rows}", *problem), point=f"BM={tile} BAND=4") for rows, tile in ((64, 64), (1024, 256))]
        self.write(to_hopper, to_torch, trial())
        self.assertEqual(_tuned.many_plan("A GPU", "u4", 1024, 512, 64, "sm_90"), (48, _tuned.Plan(_tuned.HOPPER)))
        self.write(to_torch, to_hopper, trial(), *points)
        rows, plan = _tuned.many_plan("A GPU", "u4", 1024, 512, 64, "sm_90")
        self.assertEqual((rows, plan.program, plan.constants), (48, _tuned.HOPPER, {"BM": "256", "BAND": "4"}))
        self.assertEqual(_tuned.crossover("A GPU"), 300)
        self.assertEqual(_tuned.choose("A GPU", "u4", 1024, 512, 64, 16, "sm_90").program, FEW)
        for device, architecture in (("A GPU", "sm_80"), ("A GPU", ""), ("", "sm_90")):
            self.assertIsNone(_tuned.many_plan(device, "u4", 1024, 512, 64, architecture))

    def test_files_that_are_no_tables(self):
        self.file.write_text(json.dumps(trial()) + "\n" + json.dumps(trial(us=1))[:90])  # an interrupt
        self.assertEqual(_tuned.choose("A GPU", "u4", 1024, 512, 64, 16).program, FEW)
        for text, words in (("{\n", "line 1, is not a result"), ("[]\n", "line 1"), ('{"environment": 3}\n', "line 1"),
                            (json.dumps({**trial(), "defines": 3}) + "\n", "does not tell what was timed"),
                            (json.dumps(trial(defines=("NOBODY=1",))) + "\n", "does not tell what was timed")):
            self.file.write_text(text)
            with self.subTest(text), self.assertRaisesRegex(tilevm.UsageError, words):
                _tuned.choose("A GPU", "u4", 1024, 512, 64, 16)


class Dequantizing(unittest.TestCase):
    def test_integers_of_every_width(self):
        """(q - zero) * scale in float16, for sizes that fill no block and no group."""
        random = numpy.random.default_rng(1)
        for bits in range(1, 9):
            for kind, least in (("u", 0), ("i", -(1 << bits - 1))):
                type_ = f"{kind}{bits}"
                q = random.integers(least, least + (1 << bits), (70, 37))
                scale = random.standard_normal((2, 37)).astype("float16")
                k = tilevm.load(tilevm.programs() / "dequantize.tile", K=70, N=37, G=64, Q=type_)
                given = q.astype(f"{'u' if kind == 'u' else ''}int8") if bits == 8 else tilevm.pack(q, type_)
                zero = _tuned.zero_of(type_)
                wanted = (q - zero).astype("float16") * scale.repeat(64, axis=0)[:70]
                self.assertEqual(k(given, scale).tobytes(), wanted.tobytes(), type_)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
