"""Pictures: layouts, timelines and reports. Usage: pictures_test.py TILEVM.

SVG files are compared with those in golden/; TILEVM_BLESS=1 writes them. Look at what changed before
you commit it: rsvg-convert FILE.svg -o FILE.png.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TILEVM = sys.argv.pop(1) if len(sys.argv) > 1 else "tilevm"

GOLDEN = {
    "fragment": ["f16 local(2, 1).spatial(8, 4).local(1, 2)"],
    "view": ["u8 local(3).spatial(32)", "i6 local(2, 1).column_spatial(4, 8).local(2, 1)"],
    "replicas": ["replicated(2).spatial(2, 4).local(1, 2)"],
    "rank3": ["f32 spatial(2, 4, 4)"],
    "conflicts": ["f32 row_major(8, 32)", "--access", "local(1, 8).spatial(8, 4)"],
    "swizzle": ["f16 row_major(8, 64).swizzle(3, 3, 3)", "--access", "spatial(8, 4).local(1, 16)"],
}


def run(*arguments, status=0):
    done = subprocess.run([TILEVM, *arguments], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "NO_COLOR": "1"})
    if done.returncode != status:
        raise AssertionError(f"tilevm {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


class Layouts(unittest.TestCase):
    def test_pictures_are_those_that_were_looked_at(self):
        for name, arguments in GOLDEN.items():
            with self.subTest(name=name):
                svg = run("layout", *arguments, "-o", "-")
                file = HERE / "golden" / f"{name}.svg"
                if os.environ.get("TILEVM_BLESS"):
                    file.write_text(svg)
                self.assertEqual(svg, file.read_text(), f"look at it, then bless: {name}")
                xml.dom.minidom.parseString(svg)

    def test_pages_hold_the_picture_and_ask_for_no_other_file(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "x.html"
            run("layout", *GOLDEN["view"], "-o", str(page))
            text = page.read_text()
            self.assertIn(run("layout", *GOLDEN["view"], "-o", "-"), text)
            self.assertEqual(set(re.findall(r"https?://[^\"' ]*", text)), {"http://www.w3.org/2000/svg"})
            self.assertNotRegex(text, r"\bsrc=|\bhref=|@import|url\(")
            # Every element of both layouts can be pointed at, with its thread, place and bits.
            self.assertEqual(len(re.findall(r'data-t="\d+" data-h="[^"]+" data-l="\d" data-b="8"', text)), 96)
            self.assertEqual(len(re.findall(r'data-t="\d+" data-h="[^"]+" data-l="\d" data-b="6"', text)), 128)

    def test_every_element_is_in_the_picture_once(self):
        found = json.loads(run("layout", *GOLDEN["fragment"], "--json"))["layouts"][0]
        svg = run("layout", *GOLDEN["fragment"], "-o", "-")
        for k, (thread, local) in enumerate(found["places"]):
            self.assertEqual(svg.count(f'data-t="{thread}" data-h="{thread}" data-l="{local}" data-b="16" '
                                       f'data-e="[{k // 8}, {k % 8}]"'), 1)

    def test_conflicts_in_the_picture_are_those_that_a_run_counts(self):
        access = json.loads(run("layout", *GOLDEN["conflicts"], "--json"))["access"]
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "p.tile"
            program.write_text("def f<1>(f32* c):\n    s = AllocateShared(f32, shape=[8, 32])\n"
                               "    StoreShared(AllocateRegister(f32, layout=local(1, 8).spatial(8, 4), init=1.0), s)\n"
                               "    Synchronize()\n    x = LoadShared(s, layout=local(1, 8).spatial(8, 4))\n"
                               "    StoreGlobal(x, ViewGlobal(c, shape=[8, 32]))\n")
            stats = json.loads(run("run", str(program), "--stats", "--json"))["stats"]["kernels"][0]["totals"]
        self.assertEqual(access["wavefronts"], stats["shared_load"]["wavefronts"])
        self.assertEqual(access["bank_conflicts"], stats["shared_load"]["bank_conflicts"])
        self.assertGreater(access["bank_conflicts"], 0)
        passes = access["worst"]["lanes_by_bank"]
        self.assertEqual({lane for banks in passes for lanes in banks for lane in lanes}, set(range(32)))

    def test_the_drawn_wavefronts_are_as_many_as_are_counted(self):
        for pitch in (*range(32, 42), 48, 64):
            for tile in ("spatial(32, 1)", "spatial(8, 4)", "spatial(16, 2)", "spatial(1, 32)", "column_spatial(4, 8)"):
                access = json.loads(run("layout", f"f32 memory_layout([32, 32], [32, 32], [{pitch}, 1])", "--access", tile,
                                        "--json"))["access"]
                self.assertEqual(access["requests"], 1)
                self.assertEqual(len(access["worst"]["lanes_by_bank"]), access["wavefronts"], (pitch, tile))

    def test_large_layouts_are_cut(self):
        svg = run("layout", "local(1024, 1024)", "-o", "-")
        self.assertEqual(svg.count('class="c"'), 1 << 14)
        self.assertIn("... 1032192 more elements", svg)

    def test_names_cannot_break_out(self):
        self.assertNotIn("<script>alert", run("layout", "local(<script>alert(1)</script>)", "-o", "-", status=1))

    def test_colours_follow_the_environment(self):
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE")}
        def colours(**more):
            return "\x1b[" in subprocess.run([TILEVM, "layout", "spatial(4)"], capture_output=True, text=True,
                                             env={**environment, **more}, check=True).stdout
        self.assertFalse(colours())
        self.assertTrue(colours(CLICOLOR_FORCE="1"))
        self.assertFalse(colours(CLICOLOR_FORCE="1", NO_COLOR="1"))
        self.assertFalse(colours(CLICOLOR_FORCE="0"))


PIPELINED = ["programs/matmul_f16_pipelined.tile", "-D", "M=128", "-D", "N=128", "-D", "K=128"]


class Timelines(unittest.TestCase):
    def trace(self, *more):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.json"
            chart = run("trace", *PIPELINED, *more, "-o", str(file))
            return chart, json.loads(file.read_text())

    def test_the_file_is_a_chrome_trace_whose_copies_end_at_their_waits(self):
        chart, trace = self.trace()
        events = trace["traceEvents"]
        for event in events:
            self.assertIn(event["ph"], "MXbe")
            self.assertLessEqual({"pid", "tid", "name"}, set(event))
            if event["ph"] == "X":
                self.assertEqual(event["dur"], 1)
        begins = {event["id"]: event for event in events if event["ph"] == "b"}
        ends = {event["id"]: event for event in events if event["ph"] == "e"}
        self.assertEqual(set(begins), set(ends))
        self.assertTrue(begins)
        waits = {event["ts"] + 1 for event in events if event["name"] == "CopyAsyncWaitGroup"}
        for key, begin in begins.items():
            self.assertLess(begin["ts"], ends[key]["ts"])
            if begin["args"]["waited"]:
                self.assertIn(ends[key]["ts"], waits)
        # Copies are in flight while Dot runs: that is what a pipeline is for.
        dots = [event["ts"] for event in events if event["name"] == "Dot"]
        self.assertTrue(any(begins[k]["ts"] < dot < ends[k]["ts"] for k in begins for dot in dots))
        self.assertRegex(chart, r"CopyAsync +\|[ #]*#=+")
        self.assertEqual(trace["otherData"]["cut"], False)

    def test_several_blocks_are_in_order_whatever_the_host_threads(self):
        _, one = self.trace("--blocks", "3", "--threads", "1")
        _, two = self.trace("--blocks", "3", "--threads", "4")
        self.assertEqual(one, two)
        names = [event["args"]["name"] for event in one["traceEvents"] if event["name"] == "process_name"]
        self.assertGreaterEqual(len(names), 3)

    def test_warps_have_tracks_where_they_differ(self):
        with tempfile.TemporaryDirectory() as folder:
            program, file = pathlib.Path(folder) / "p.tile", pathlib.Path(folder) / "t.json"
            program.write_text(
                "@threads(64)\ndef f<1>(u8* a, u8* c):\n    s = AllocateShared(u8, shape=[256])\n"
                "    CopyAsync(s, ViewGlobal(a, shape=[256]))\n    CopyAsyncCommitGroup()\n    CopyAsyncWaitGroup(0)\n"
                "    Synchronize()\n    StoreGlobal(LoadShared(s, layout=spatial(64).local(4)),"
                " ViewGlobal(c, shape=[256]))\n")
            run("trace", str(program), "-o", str(file))
            events = json.loads(file.read_text())["traceEvents"]
        tracks = {e["tid"] for e in events if e["name"] == "thread_name"}
        self.assertEqual(tracks, {0, 1})
        copies = [e["tid"] for e in events if e["name"] == "CopyAsync"]
        self.assertEqual(copies, [0])  # 16 pieces of 16 bytes: the second warp has none
        self.assertEqual([e["tid"] for e in events if e["name"] == "Synchronize"], [0, 1])

    def test_a_file_that_cannot_be_written_is_refused_before_the_run(self):
        run("trace", *PIPELINED, "-o", "/no/such/folder/t.json", status=2)


class Reports(unittest.TestCase):
    def report(self, *arguments, status=0):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "r.html"
            run("run", *arguments, "--report", str(page), status=status)
            text = page.read_text()
        self.assertEqual(set(re.findall(r"https?://[^\"' ]*", text)) - {"http://www.w3.org/2000/svg"}, set())
        self.assertNotRegex(text, r"<script|\bsrc=|@import|url\(")
        for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
            xml.dom.minidom.parseString(svg)
        return text

    def test_a_page_has_costs_by_line_outputs_banks_and_timeline(self):
        text = self.report(*PIPELINED)
        for part in ("<h2>Program</h2>", "<h2>Outputs</h2>", "<h2>Shared memory</h2>", "<h2>Timeline</h2>", "CopyAsync"):
            self.assertIn(part, text)
        stats = json.loads(run("run", *PIPELINED, "--stats", "--json"))["stats"]["kernels"]
        dots = [s for kernel in stats for s in kernel["statements"] if "mma" in s]
        row = re.search(rf'<tr id="L{dots[0]["line"]}">.*?</tr>', text).group()
        self.assertIn(f'>{dots[0]["mma_instructions"]:,}<', row)

    def test_sectors_in_the_picture_are_those_that_a_run_counts(self):
        tiles = {"spatial(32, 1).local(1, 4)": (32, 4), "spatial(1, 32)": (4, 0), "spatial(4, 8).local(1, 2)": (8, 0),
                 "column_spatial(32, 1)": (32, 7)}
        for tile, (sectors, unused) in tiles.items():
            with self.subTest(tile), tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder) / "p.tile"
                program.write_text("def f<1>(f32* x, f32* c):\n    vx = ViewGlobal(x, shape=[32, 64])\n"
                                   "    vc = ViewGlobal(c, shape=[32, 64])\n"
                                   f"    t = LoadGlobal(vx, layout={tile}, offset=[0:, 0:])\n"
                                   "    StoreGlobal(t, vc, offset=[0:, 0:])\n")
                text = self.report(str(program))
                stats = json.loads(run("run", str(program), "--stats", "--json"))["stats"]["kernels"][0]["totals"]
            section = text.split("<h2>Global memory</h2>")[1].split("<h2>")[0]
            for traffic in ("global_load", "global_store"):
                self.assertEqual(stats[traffic]["sectors"], sectors)
            # Each of the two statements has it in its picture and as its name.
            self.assertEqual(len(re.findall(rf">1 request of warps: {sectors} sectors, ", section)), 4, tile)
            self.assertEqual(section.count("fetched with their sector, and not used"), 2 * sectors * unused, tile)

    def test_sectors_of_a_copy_in_the_picture_are_those_that_a_run_counts(self):
        # A copy past the L1 cache reads a sector once for each sector of shared memory that gets a part of it.
        layouts = {"row_major(16, 64)": 64, "row_major(16, 64).swizzle(3, 3, 3)": 64,
                   "memory_layout([16, 64], [16, 8, 8], [8, 128, 1])": 128}
        for layout, expected in layouts.items():
            with self.subTest(layout), tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder) / "p.tile"
                program.write_text("@threads(64)\ndef f<1>(f16* x, f16* c):\n"
                                   f"    s = AllocateShared(f16, shape=[16, 64], layout={layout})\n"
                                   "    CopyAsync(s, ViewGlobal(x, shape=[16, 64]), offset=[0:, 0:])\n"
                                   "    CopyAsyncCommitGroup()\n    CopyAsyncWaitGroup(0)\n    Synchronize()\n"
                                   "    StoreGlobal(LoadShared(s, layout=spatial(16, 4).local(1, 16)), ViewGlobal(c, shape=[16, 64]))\n")
                text = self.report(str(program))
                statements = json.loads(run("run", str(program), "--stats", "--json"))["stats"]["kernels"][0]["statements"]
            copy = next(s for s in statements if s["instruction"] == "CopyAsync")
            row = re.search(rf'<tr id="L{copy["line"]}">.*?</tr>', text).group()
            section = text.split("<h2>Global memory</h2>")[1].split("<h2>")[0]
            sectors = re.search(r"CopyAsync, \d+ requests? of warps: (\d+) sectors, ", section).group(1)
            self.assertIn(f">{sectors}<", row)
            self.assertEqual(int(sectors), expected)

    def test_a_fault_is_told_and_marked_at_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "race.tile"
            program.write_text("def f<1>(f32* c):\n    s = AllocateShared(f32, shape=[64])\n"
                               "    StoreShared(AllocateRegister(f32, layout=spatial(64), init=1.0), s)\n"
                               "    x = LoadShared(s, layout=local(2).spatial(32).replicated(2))\n"
                               "    StoreGlobal(x, ViewGlobal(c, shape=[64]))\n")
            text = self.report(str(program), status=1)
        self.assertIn('<pre class="fault">', text)
        self.assertRegex(text, r'<tr id="L\d+" class="fault">')
        self.assertNotIn("<h2>Outputs</h2>", text)
        # Long lines of a fault are broken, not cut.
        self.assertRegex(text, r"pre\.fault[^}]*white-space: pre-wrap")

    def test_nan_is_marked_in_the_heat_map(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "nan.tile"
            program.write_text("def f<1>(f32* a, f32* c):\n    x = LoadGlobal(ViewGlobal(a, shape=[64]), layout=spatial(64))\n"
                               "    two = AllocateRegister(f32, layout=spatial(64), init=2.0)\n    StoreGlobal(Sqrt(Sub(x, two)), ViewGlobal(c, shape=[64]))\n")
            text = self.report(str(program))
        self.assertIn("64 NaN (red, crossed)", text)


if __name__ == "__main__":
    unittest.main()
