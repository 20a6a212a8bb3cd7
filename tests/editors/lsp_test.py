"""`tilevm lsp` as editors drive it, and as no editor should. Usage: lsp_test.py TILEVM."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

from lsp_client import Client

ROOT = pathlib.Path(__file__).resolve().parents[2]
URI = "file:///p.tile"
TILEVM = sys.argv.pop(1) if len(sys.argv) > 1 else "tilevm"

PROGRAM = """\
const N, BM = 64, 16
const T = f16

def scale<N / BM>(f16* a_ptr, f16* c_ptr):
    i = BlockIndices()
    ga = ViewGlobal(a_ptr, dtype=T, shape=[N])
    gc = ViewGlobal(c_ptr, dtype=T, shape=[N])
    for k in range(1):
        a = LoadGlobal(ga, layout=spatial(16), offset=[i * BM:])
        a = Add(a, a)
        StoreGlobal(a, gc, offset=[i * BM:])
"""


def position(text, word, occurrence=0, inside=1):
    """Line and character in (by default) the n-th occurrence of a word."""
    at = -1
    for _ in range(occurrence + 1):
        at = text.index(word, at + 1)
    at += inside
    line = text.count("\n", 0, at)
    return line, at - (text.rfind("\n", 0, at) + 1)


def apply(text, edits):
    """A text after edits (UTF-16 of ASCII)."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    def offset(p):
        return min(starts[p["line"]] + p["character"], len(text))
    for edit in sorted(edits, key=lambda e: -offset(e["range"]["start"])):
        text = text[:offset(edit["range"]["start"])] + edit["newText"] + text[offset(edit["range"]["end"]):]
    return text


class Editing(unittest.TestCase):
    def setUp(self):
        self.client = Client(TILEVM)
        self.addCleanup(self.client.__exit__)

    def open(self, text=PROGRAM):
        self.client.open(URI, text)
        return self.client.diagnostics(URI)

    def test_a_right_program_has_no_diagnostics(self):
        self.assertEqual(self.open(), [])

    def test_a_wrong_name_has_a_fix_that_makes_the_program_right(self):
        text = PROGRAM.replace("spatial(16)", "spatal(16)")
        found = self.open(text)
        self.assertEqual([d["code"] for d in found], ["TV0104"])
        self.assertEqual(found[0]["severity"], 1)
        actions = self.client.of("textDocument/codeAction", URI, range=found[0]["range"],
                                 context={"diagnostics": found})
        self.assertEqual(actions[0]["title"], "Replace by `spatial`")
        edits = actions[0]["edit"]["changes"][URI]
        self.assertEqual(apply(text, edits), PROGRAM)

    def test_notes_with_a_place_are_related_information(self):
        found = self.open(PROGRAM.replace("const T = f16", "const N = 1"))
        self.assertTrue(any(d["relatedInformation"] for d in found))

    def test_changes_are_judged_as_one_types(self):
        self.assertEqual(self.open(), [])
        line, character = position(PROGRAM, "Add", inside=0)
        at = {"line": line, "character": character}
        for version, text in ((2, "b"), (3, "")):
            end = {"line": line, "character": character + (1 if version == 3 else 0)}
            self.client.notify("textDocument/didChange", {
                "textDocument": {"uri": URI, "version": version},
                "contentChanges": [{"range": {"start": at, "end": end}, "text": text}]})
            found = self.client.diagnostics(URI, version)
            self.assertEqual(len(found), 1 if version == 2 else 0, found)
        self.client.notify("textDocument/didChange", {
            "textDocument": {"uri": URI, "version": 4}, "contentChanges": [{"text": "def"}]})
        self.assertTrue(self.client.diagnostics(URI, 4))
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        self.assertEqual(self.client.diagnostics(URI), [])

    def test_hover_shows_types_layouts_bits_and_instructions(self):
        self.open()
        def says(word, occurrence=0):
            found = self.client.at("textDocument/hover", URI, *position(PROGRAM, word, occurrence))
            return found["contents"]["value"] if found else ""
        tile = says("a = Add", 0)
        self.assertIn("a: f16[16], spatial(16)", tile)
        self.assertIn("bits of thread 0", tile)
        self.assertIn("0:0", tile)
        self.assertIn("[, out=]) -> register tile", says("LoadGlobal"))
        self.assertIn("`layout` of `LoadGlobal`", says("layout="))
        self.assertIn("0:0", says("spatial"))
        self.assertIn("`f16`: 16 bits, a float of 5 exponent", says("f16"))
        self.assertIn("const BM = 16", says("BM", 1))
        self.assertIn("scale<N / BM>", says("scale"))

    def test_hover_knows_types_beside_a_line_that_is_being_typed(self):
        text = PROGRAM.replace("        a = Add(a, a)\n", "        b = Add(a,\n")
        self.assertTrue(self.open(text))
        found = self.client.at("textDocument/hover", URI, *position(text, "ga = View", inside=0))
        self.assertIn("ga: f16[64] view", found["contents"]["value"])

    def test_definitions_and_references(self):
        self.open()
        line, character = position(PROGRAM, "BM:]", 1)
        found = self.client.at("textDocument/definition", URI, line, character)
        self.assertEqual(found["range"]["start"], {"line": 0, "character": 9})
        uses = self.client.at("textDocument/references", URI, line, character,
                              context={"includeDeclaration": True})
        self.assertEqual(len(uses), PROGRAM.count("BM"))
        without = self.client.at("textDocument/references", URI, line, character,
                                 context={"includeDeclaration": False})
        self.assertEqual(len(without), PROGRAM.count("BM") - 1)
        self.assertIsNone(self.client.at("textDocument/definition", URI, *position(PROGRAM, "Add")))

    def test_renaming_keeps_the_program_right_and_is_refused_where_it_would_not(self):
        self.open()
        for word, to in (("BM", "ROWS"), ("scale", "twice"), ("ga", "input"), ("a_ptr", "x"), ("a = Add", "tile")):
            where = position(PROGRAM, word, inside=0)
            edit = self.client.at("textDocument/rename", URI, *where, newName=to)
            text = apply(PROGRAM, edit["changes"][URI])
            self.assertIn(to, text)
            other = f"file:///{to}.tile"
            self.client.open(other, text)
            self.assertEqual(self.client.diagnostics(other), [], text)
        for to, why in (("N", "exists already"), ("for", "not a name"), ("1x", "not a name"), ("Dot", "instruction"),
                        ("f16", "type"), ("local", "layout"), ("", "not a name")):
            answer = self.client.ask("textDocument/rename", {
                "textDocument": {"uri": URI}, "newName": to,
                "position": dict(zip(("line", "character"), position(PROGRAM, "BM")))})
            self.assertIn(why, answer["error"]["message"])
        prepared = self.client.at("textDocument/prepareRename", URI, *position(PROGRAM, "ga"))
        self.assertEqual(prepared["placeholder"], "ga")

    def test_completion_offers_what_fits_the_place(self):
        text = PROGRAM + "        x = LoadGlobal(ga, \n"
        self.open(text)
        def labels(text_at):
            found = self.client.at("textDocument/completion", URI, *text_at)
            return {item["label"]: item for item in found["items"]}
        inside = labels(position(text, "x = LoadGlobal(ga, ", inside=len("x = LoadGlobal(ga, ")))
        for label in ("layout=", "offset=", "out=", "ga", "Cast", "i6", "local", "BM"):
            self.assertIn(label, inside)
        self.assertEqual(inside["ga"]["detail"].split(",")[0], "f16[64] view")
        self.assertIn("dtype=${2:dtype}", inside["Cast"]["insertText"])
        with Client(TILEVM, snippets=False) as plain:  # as an editor that would insert the text as it is
            plain.open(URI, text)
            self.assertFalse([item for item in plain.at("textDocument/completion", URI, 4, 4)["items"]
                              if "${" in item.get("insertText", "")])
        self.assertNotIn("k", labels((5, 4)))  # the loop's variable, outside of the loop

    def test_completion_after_a_dot_and_an_at_sign(self):
        text = PROGRAM.replace("spatial(16)", "spatial(16).l").replace("\ndef", "\n@t\ndef")
        self.open(text)
        dot = self.client.at("textDocument/completion", URI, *position(text, "spatial(16).l", inside=13))
        self.assertEqual({"reduce", "local"} - {item["label"] for item in dot["items"]}, set())
        self.assertNotIn("Cast", [item["label"] for item in dot["items"]])
        at = self.client.at("textDocument/completion", URI, *position(text, "@t", inside=2))
        self.assertIn("threads", [item["label"] for item in at["items"]])

    def test_signatures_come_from_the_schema_and_follow_the_operand(self):
        self.open()
        line, character = position(PROGRAM, "layout=spatial", inside=9)
        found = self.client.at("textDocument/signatureHelp", URI, line, character)
        one = found["signatures"][0]
        self.assertTrue(one["label"].startswith("LoadGlobal("))
        self.assertEqual(one["parameters"][found["activeParameter"]]["label"], "layout")
        line, character = position(PROGRAM, "Add(a, a", inside=len("Add(a, a"))
        found = self.client.at("textDocument/signatureHelp", URI, line, character)
        self.assertEqual(found["activeParameter"], 1)
        self.assertIsNone(self.client.at("textDocument/signatureHelp", URI, 0, 3))

    def test_formatting_is_that_of_fmt(self):
        text = PROGRAM.replace("a = Add(a, a)", "a=Add( a,a )")
        self.open(text)
        edits = self.client.of("textDocument/formatting", URI, options={"tabSize": 4, "insertSpaces": True})
        self.assertEqual(apply(text, edits), PROGRAM)
        self.client.open("file:///broken.tile", "def (")
        self.assertIsNone(self.client.of("textDocument/formatting", "file:///broken.tile", options={}))

    def test_hints_show_tile_types_and_lenses_what_lines_cost(self):
        self.open()
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        hints = self.client.of("textDocument/inlayHint", URI, range=whole)
        labels = [hint["label"] for hint in hints]
        self.assertEqual(labels, [": view f16[64]", ": view f16[64]", ": f16[16]", ": f16[16]"])
        lenses = self.client.of("textDocument/codeLens", URI)
        titles = [lens["command"]["title"] for lens in lenses]
        self.assertEqual(titles[:2], ["run", "debug"])
        self.assertTrue(any("access of 2 bytes" in title for title in titles), titles)

    def test_outline_and_highlights(self):
        self.open()
        names = [symbol["name"] for symbol in self.client.of("textDocument/documentSymbol", URI)]
        self.assertEqual(names, ["N", "BM", "T", "scale"])
        marks = self.client.at("textDocument/documentHighlight", URI, *position(PROGRAM, "ga"))
        self.assertEqual([mark["kind"] for mark in marks], [3, 2])

    def test_settings_override_constants(self):
        with Client(TILEVM, options={"defines": {"N": "63"}, "target": "sm_90a"}) as client:
            client.open(URI, PROGRAM + "require N == 64, \"no\"\n")
            self.assertIn("TV0301", [d["code"] for d in client.diagnostics(URI)])

    def test_characters_beyond_ascii_count_as_the_client_counts(self):
        text = "def f<1>(i32* x):\n    Print(1, \"\U0001f600\", nope=1)\n"
        for encoding, column in (("utf-16", 19), ("utf-8", 21)):
            with self.subTest(encoding=encoding), Client(TILEVM, encodings=(encoding,)) as client:
                self.assertEqual(client.capabilities["positionEncoding"], encoding)
                client.open(URI, text)
                found = [d for d in client.diagnostics(URI) if d["code"] == "TV0103"]
                self.assertEqual(found[0]["range"]["start"], {"line": 1, "character": column})


class ShippedPrograms(unittest.TestCase):
    def test_every_shipped_program_is_understood(self):
        with Client(TILEVM) as client:
            for file in sorted(ROOT.glob("programs/**/*.tile")):
                with self.subTest(file=file.name):
                    uri, text = file.as_uri(), file.read_text()
                    client.open(uri, text)
                    errors = [d for d in client.diagnostics(uri) if d["severity"] == 1]
                    self.assertEqual(bool(errors), file.name == "figure9_as_printed.tile")
                    client.of("textDocument/codeLens", uri)
                    tokens = client.of("textDocument/semanticTokens/full", uri)["data"]
                    self.assertGreater(len(tokens), 60)
            self.assertEqual(client.shut_down(), 0)

    def test_every_name_can_be_renamed_and_the_program_means_the_same(self):
        names = {"enumMember", "parameter", "variable", "method", "interface"}
        with Client(TILEVM) as client:
            legend = client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
            for file in sorted(ROOT.glob("programs/*.tile")):
                # Under sanitizers, which take ten times as long, only small programs.
                large = file.read_text().count("\n") > (60 if os.environ.get("TILEVM_SANITIZED") else 200)
                if large or file.name == "figure9_as_printed.tile":
                    continue
                uri, text = file.as_uri(), file.read_text()
                client.open(uri, text)
                before = [d["code"] for d in client.diagnostics(uri)]
                data = client.of("textDocument/semanticTokens/full", uri)["data"]
                line, begin, seen = 0, 0, set()
                for i in range(0, len(data), 5):
                    begin = data[i + 1] if data[i] else begin + data[i + 1]
                    line += data[i]
                    if legend[data[i + 3]] not in names:
                        continue
                    found = client.at("textDocument/definition", uri, line, begin)
                    if found is None:  # a name of an included file
                        continue
                    found = found["range"]["start"]
                    if (found["line"], found["character"]) in seen:
                        continue
                    seen.add((found["line"], found["character"]))
                    edit = client.at("textDocument/rename", uri, line, begin, newName="another_name")
                    client.open("file:///renamed.tile", apply(text, edit["changes"][uri]))
                    after = [d["code"] for d in client.diagnostics("file:///renamed.tile")]
                    self.assertEqual(after, before, f"{file.name}:{found}")


LIBRARY = """\
const WIDTH = 64

# Adds a tile to itself.
def double(x) -> tile:
    y = Add(x, x)
    return y
"""
MAIN = """\
include "lib.tile"
include "std/fragments.tile"

def scale<1>(f32* a_ptr, f32* c_ptr):
    ga = ViewGlobal(a_ptr, dtype=f32, shape=[WIDTH])
    gc = ViewGlobal(c_ptr, dtype=f32, shape=[WIDTH])
    a = LoadGlobal(ga, layout=spatial(WIDTH), offset=[0:])
    b = double(a)
    StoreGlobal(b, gc, offset=[0:])
"""


class AcrossFiles(unittest.TestCase):
    """A program, a file that it includes, and another program that includes the same file and is not open."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.uris, self.texts = {}, {"lib.tile": LIBRARY, "main.tile": MAIN,
                                     "other program.tile": MAIN.replace("scale", "other")}
        for name, text in self.texts.items():
            (self.folder / name).write_text(text)
            self.uris[name] = (self.folder / name).as_uri()
        self.client = Client(TILEVM)
        self.addCleanup(self.client.__exit__)
        self.main, self.library = self.uris["main.tile"], self.uris["lib.tile"]
        self.client.open(self.main, MAIN)
        self.assertEqual(self.client.diagnostics(self.main), [])

    def at(self, method, text, word, uri=None, occurrence=0, **more):
        return self.client.at("textDocument/" + method, uri or self.main, *position(text, word, occurrence), **more)

    def test_definition_and_hover(self):
        found = self.at("definition", MAIN, "double")
        self.assertEqual((found["uri"], found["range"]["start"]), (self.library, {"line": 3, "character": 4}))
        self.assertEqual(self.at("definition", MAIN, "WIDTH")["uri"], self.library)
        hover = self.at("hover", MAIN, "double")["contents"]["value"]
        for part in ("def double(x) -> tile:", "Adds a tile to itself.", "from `", "lib.tile"):
            self.assertIn(part, hover)
        self.assertIn("const WIDTH = 64", self.at("hover", MAIN, "WIDTH")["contents"]["value"])
        self.assertIn("f32[64]", self.at("hover", MAIN, "b = double")["contents"]["value"])

    def test_references_in_open_and_other_files_from_both_ends(self):
        self.client.open(self.library, LIBRARY)
        for uri, text in ((self.main, MAIN), (self.library, LIBRARY)):
            found = self.at("references", text, "WIDTH", uri, context={"includeDeclaration": True})
            by_file = {u: sum(one["uri"] == u for one in found) for u in self.uris.values()}
            self.assertEqual(by_file, {self.main: 3, self.library: 1, self.uris["other program.tile"]: 3})
        without = self.at("references", MAIN, "double", context={"includeDeclaration": False})
        self.assertEqual(len(without), 2)
        local = self.at("references", MAIN, "ga", context={"includeDeclaration": True})
        self.assertEqual({one["uri"] for one in local}, {self.main})

    def test_renaming_changes_every_file(self):
        edit = self.at("rename", MAIN, "double", newName="twice")["changes"]
        self.assertEqual(set(edit), set(self.uris.values()))
        for name, uri in self.uris.items():
            self.texts[name] = apply(self.texts[name], edit[uri])
            (self.folder / name).write_text(self.texts[name])
        self.assertIn("def twice(x)", self.texts["lib.tile"])
        self.client.notify("textDocument/didChange", {
            "textDocument": {"uri": self.main, "version": 2}, "contentChanges": [{"text": self.texts["main.tile"]}]})
        self.assertEqual(self.client.diagnostics(self.main, 2), [])
        for word, to, why in (("WIDTH", "scale", "exists already"), ("WIDTH", "a", "exists already")):
            answer = self.client.ask("textDocument/rename", {
                "textDocument": {"uri": self.main}, "newName": to,
                "position": dict(zip(("line", "character"), position(self.texts["main.tile"], word)))})
            self.assertIn(why, answer["error"]["message"])

    def test_the_standard_library_is_known_and_not_renamed(self):
        text = MAIN.replace("b = double(a)", "b = double(a)\n    c = AllocateRegister(f32, layout=fragment_c(), init=0.0)")
        self.client.open(self.main, text)
        self.client.diagnostics(self.main)
        self.assertIsNone(self.at("definition", text, "fragment_c"))
        self.assertIn("def fragment_c() -> layout:", self.at("hover", text, "fragment_c")["contents"]["value"])
        answer = self.client.ask("textDocument/rename", {
            "textDocument": {"uri": self.main}, "newName": "f",
            "position": dict(zip(("line", "character"), position(text, "fragment_c")))})
        self.assertIn("standard library", answer["error"]["message"])

    def test_faults_are_told_where_they_are_as_the_library_is_edited(self):
        self.client.open(self.library, LIBRARY)
        self.assertEqual(self.client.diagnostics(self.library), [])
        self.client.notify("textDocument/didChange", {
            "textDocument": {"uri": self.library, "version": 2},
            "contentChanges": [{"text": LIBRARY.replace("Add(x, x)", "Add(x, 1 + x + y2)")}]})
        here = self.client.diagnostics_when(self.main, bool)
        self.assertEqual(here[0]["range"]["start"]["line"], 0)  # at the include
        places = [one["location"] for one in here[0]["relatedInformation"]]
        self.assertTrue(any(p["uri"] == self.library and p["range"]["start"]["line"] == 4 for p in places), places)
        found = self.client.diagnostics_when(self.library, bool)
        self.assertEqual(found[0]["range"]["start"]["line"], 4)
        self.client.notify("textDocument/didChange", {
            "textDocument": {"uri": self.library, "version": 3}, "contentChanges": [{"text": LIBRARY}]})
        for uri in (self.main, self.library):
            self.client.diagnostics_when(uri, lambda found: not found)

    def test_a_fault_of_a_file_that_is_not_open_is_told_of_that_file(self):
        (self.folder / "lib.tile").write_text(LIBRARY.replace("return y", "return z"))
        self.client.open(self.main, MAIN)
        self.client.diagnostics_when(self.main, bool)
        found = self.client.diagnostics_when(self.library, bool)
        self.assertEqual(found[0]["range"]["start"]["line"], 5)
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": self.main}})
        self.client.diagnostics_when(self.library, lambda found: not found)


class WrongClients(unittest.TestCase):
    """A clear answer, never a crash or a hang."""

    def check_alive(self, client):
        self.assertEqual(client.ask("textDocument/hover", {})["error"]["code"], -32602)

    def test_wrong_messages_are_answered_and_the_server_goes_on(self):
        with Client(TILEVM) as client:
            for body, code in ((b"{", -32700), (b"[]", -32600), (b"7", -32600), (b"\xff\xfe", -32700),
                               (b'{"id": 1}', -32600), (b'{"id": [1], "method": "shutdown"}', -32600),
                               (b"[" * 100000, -32700), (b"", -32700)):
                with self.subTest(body=body[:20]):
                    client.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                    answer = client.receive()
                    self.assertEqual(answer["error"]["code"], code)
            client.raw(b"Content-Type: x\r\n\r\n")
            self.assertEqual(client.receive()["error"]["code"], -32600)
            client.raw(b"content-length:2\r\nX: y\r\n\r\n{}")  # names of headers have no case
            self.assertEqual(client.receive()["error"]["code"], -32600)
            self.check_alive(client)

    def test_wrong_parameters_are_answered(self):
        with Client(TILEVM) as client:
            client.open(URI, PROGRAM)
            for params in (None, [], 3, {}, {"textDocument": 1}, {"textDocument": {"uri": URI}},
                           {"textDocument": {"uri": "file:///no"}, "position": {"line": 0, "character": 0}},
                           {"textDocument": {"uri": URI}, "position": {"line": "x", "character": 0}},
                           {"textDocument": {"uri": URI}, "position": {"line": 1e300, "character": 0}}):
                with self.subTest(params=params):
                    self.assertEqual(client.ask("textDocument/hover", params)["error"]["code"], -32602)
            for line in (-5, 10**9):
                client.at("textDocument/hover", URI, line, 10**9)
                client.at("textDocument/completion", URI, line, -1)
            client.notify("textDocument/didChange", {"textDocument": {"uri": URI}})
            client.notify("textDocument/didOpen", {})
            client.notify("$/anything", {"x": [{}]})
            self.assertEqual(client.ask("no/such", {})["error"]["code"], -32601)

    def test_order_of_life(self):
        with Client(TILEVM, initialize=False) as client:
            self.assertEqual(client.ask("textDocument/hover", {})["error"]["code"], -32002)
            client.open(URI, PROGRAM)  # before its time: left out
            client.request("initialize", {"capabilities": {}})
            client.request("shutdown", None)
            self.assertEqual(client.ask("textDocument/hover", {})["error"]["code"], -32600)
            client.notify("exit", None)
            self.assertEqual(client.server.wait(60), 0)
        with Client(TILEVM) as client:
            client.notify("exit", None)
            self.assertEqual(client.server.wait(60), 1)

    def test_a_client_that_goes_away_ends_the_server(self):
        with Client(TILEVM) as client:
            client.server.stdin.close()
            self.assertEqual(client.server.wait(60), 1)
        with Client(TILEVM) as client:
            client.raw(b"Content-Length: 1000\r\n\r\n{")  # and no more
            client.server.stdin.close()
            self.assertEqual(client.server.wait(60), 1)
        with Client(TILEVM) as client:
            client.server.stdout.close()
            client.open(URI, PROGRAM)
            self.assertEqual(client.server.wait(60), 2)
            client.server.stdout = open("/dev/null", "rb")

    def test_bytes_that_are_no_protocol_end_it(self):
        with Client(TILEVM) as client:
            client.raw(b"GET / HTTP/1.1 " * 600)
            self.assertEqual(client.receive()["error"]["code"], -32700)
            self.assertEqual(client.server.wait(60), 2)

    def test_huge_messages_are_left_out(self):
        with Client(TILEVM) as client:
            size = 40 << 20
            client.raw(b"Content-Length: %d\r\n\r\n" % size)
            for _ in range(40):
                client.raw(b" " * (1 << 20))
            self.assertIn("has at most", client.receive()["error"]["message"])
            client.open(URI, "x" * (5 << 20))
            self.assertEqual([d["code"] for d in client.diagnostics(URI)], ["TV0005"])
            self.check_alive(client)

    def test_deep_and_strange_programs(self):
        texts = ["", "\n" * 1000, "(" * 5000, "def f<1>():\n" + "    if 1:\n" * 1, "\x00\x01", "\u2028 = 1",
                 "def f<1>():\n" + "".join("    " * i + "if 1 == 1:\n" for i in range(1, 400)),
                 "const X = " + "-" * 3000 + "1\n", "const A = " + "local(1)." * 2000 + "local(1)\n"]
        with Client(TILEVM) as client:
            for i, text in enumerate(texts):
                uri = f"file:///{i}.tile"
                client.open(uri, text)
                client.diagnostics(uri)
                for method in ("codeLens", "semanticTokens/full", "documentSymbol", "formatting"):
                    client.of("textDocument/" + method, uri)
                client.at("textDocument/completion", uri, 0, 5)
            self.check_alive(client)

    def test_a_line_as_long_as_a_file(self):
        text = "const A = [" + "1, " * 300000 + "1]\n"
        with Client(TILEVM) as client:
            client.open(URI, text)
            client.diagnostics(URI)
            tokens = client.of("textDocument/semanticTokens/full", URI)["data"]
            self.assertEqual(len(tokens), 5 * 300003)
            self.assertEqual(tokens[-4], 3)

    def test_prefixes_of_a_program_are_survived(self):
        text = (ROOT / "programs/matmul_f16_pipelined.tile").read_text()
        with Client(TILEVM) as client:
            for end in range(0, len(text), max(1, len(text) // 40)):
                uri = f"file:///{end}.tile"
                client.open(uri, text[:end])
                line = text.count("\n", 0, end)
                client.at("textDocument/completion", uri, line, 200)
                client.at("textDocument/signatureHelp", uri, line, 200)
                client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            self.check_alive(client)

    def test_requests_can_be_cancelled(self):
        with Client(TILEVM) as client:
            client.open(URI, PROGRAM)
            client.diagnostics(URI)
            def body(message):
                data = json.dumps(message).encode()
                return b"Content-Length: %d\r\n\r\n" % len(data) + data
            hover = {"jsonrpc": "2.0", "id": "h", "method": "textDocument/hover", "params": {
                "textDocument": {"uri": URI}, "position": {"line": 4, "character": 9}}}
            cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "h"}}
            client.raw(body(hover) + body(cancel))
            self.assertEqual(client.answer_of("h")["error"]["code"], -32800)


if __name__ == "__main__":
    unittest.main()
