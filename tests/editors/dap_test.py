"""`tilevm dap` as editors drive it, and as no editor should. Usage: dap_test.py TILEVM [UNIT_TESTS].

Every message is held against the protocol's published schema where the packages of editors/requirements.txt are
installed (./dev test does it); the messages of the unit tests too, if their program is named.
"""

import base64
import importlib.util
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from dap_wire import DEADLINE, Child, Protocol, check_order, frame, published_schema

ROOT = pathlib.Path(__file__).resolve().parents[2]
TILEVM = sys.argv.pop(1) if len(sys.argv) > 1 else "tilevm"
UNIT_TESTS = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]) else None
FIGURE2 = str(ROOT / "programs" / "figure2.tile")
SMALL = {"M": 16, "N": 8, "K": 32}
EDITOR = {"clientID": "test", "adapterID": "tilevm", "linesStartAt1": True, "columnsStartAt1": True,
          "pathFormat": "path", "supportsVariableType": True, "supportsVariablePaging": True,
          "supportsMemoryReferences": True, "supportsProgressReporting": True, "supportsInvalidatedEvent": True,
          "supportsMemoryEvent": True, "supportsANSIStyling": True}
LONG = """\
def spin<1>(i32* y_ptr):
    n = 0
    for i in range(100000000):
        n = n + i
    y = ViewGlobal(y_ptr, dtype=i32, shape=[32])
    StoreGlobal(AllocateRegister(i32, layout=spatial(32), init=1), y, offset=[0:])
"""
LIBRARY = """\
def double(x) -> tile:
    y = Add(x, x)
    return y
"""
MAIN = """\
include "lib.tile"
include "std/fragments.tile"

def scale<1>(f32* a_ptr, f32* c_ptr):
    ga = ViewGlobal(a_ptr, dtype=f32, shape=[64])
    gc = ViewGlobal(c_ptr, dtype=f32, shape=[64])
    a = LoadGlobal(ga, layout=spatial(64), offset=[0:])
    b = double(a)
    StoreGlobal(b, gc, offset=[0:])
"""


class Sessions(unittest.TestCase):
    """One session a test; when it is over, all of its messages are judged."""

    protocol = Protocol() if published_schema() else None

    def setUp(self):
        self.child = Child(TILEVM)
        self.addCleanup(self.judge)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def judge(self):
        self.child.close()
        self.assertEqual(check_order(self.child.said), [])
        if self.protocol is None:
            return
        for entry in self.child.said:
            if entry["from"] == "adapter" or entry["valid"]:
                found = self.protocol.faults(entry["message"], ours=entry["from"] == "adapter")
                self.assertEqual(found, [], json.dumps(entry["message"])[:2000])

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text)
        return str(path)

    def start(self, program=FIGURE2, editor=EDITOR, **launch):
        """Up to the first stop; the adapter's abilities."""
        can = self.child.body("initialize", editor)
        launch = {"stopOnEntry": True, **launch}
        self.child.body("launch", {"program": program, **launch})
        self.child.event("initialized")
        self.child.body("configurationDone")
        if launch["stopOnEntry"]:
            self.assertEqual(self.child.event("stopped")["reason"], "entry")
        return can

    def trace(self, thread=1):
        return self.child.body("stackTrace", {"threadId": thread, "startFrame": 0, "levels": 20})["stackFrames"]

    def line(self):
        return self.trace()[0]["line"]

    def variables(self, reference, **more):
        return self.child.body("variables", {"variablesReference": reference, **more})["variables"]

    def scope(self, name):
        scopes = self.child.body("scopes", {"frameId": self.trace()[0]["id"]})["scopes"]
        return self.variables(next(s for s in scopes if s["name"] == name)["variablesReference"])

    def say(self, text):
        return self.child.body("evaluate", {"expression": text, "context": "repl"})["result"]

    # ---- what the adapter can

    def test_a_session_with_every_request(self):
        can = self.start(defines=SMALL, inputs={"a_ptr": "full:1"})
        for ability in ("supportsStepBack", "supportsDataBreakpoints", "supportsDataBreakpointBytes",
                        "supportsReadMemoryRequest", "supportsWriteMemoryRequest", "supportsDisassembleRequest",
                        "supportsExceptionInfoRequest", "supportsCancelRequest", "supportsANSIStyling",
                        "supportsValueFormattingOptions", "supportsHitConditionalBreakpoints"):
            self.assertTrue(can[ability], ability)
        self.assertEqual([mode["mode"] for mode in can["breakpointModes"]], ["all", "focus"])
        ask, body = self.child.ask, self.child.body
        self.assertEqual(body("threads")["threads"][0]["name"], "block [0, 0]")
        placed = body("setBreakpoints", {"source": {"path": FIGURE2}, "breakpoints": [
            {"line": 22, "condition": "bk == 1"}, {"line": 18, "hitCondition": ">= 2", "mode": "focus"},
            {"line": 999}, {"line": 18, "hitCondition": "often"}]})["breakpoints"]
        self.assertEqual([one["verified"] for one in placed], [True, True, False, False])
        self.assertIn(">= 3", placed[3]["message"])
        stop = self.child.stop_of("continue")
        self.assertEqual((stop["reason"], stop["hitBreakpointIds"]), ("breakpoint", [placed[1]["id"]]))
        self.child.stop_of("continue")
        self.assertEqual(self.line(), 22)
        for command, line in (("stepBack", 21), ("next", 22), ("stepOut", 23), ("reverseContinue", 22),
                              ("tilevm/reverseNext", 21), ("stepIn", 22), ("tilevm/reverseStepOut", 17)):
            self.child.stop_of(command)
            self.assertEqual(self.line(), line, command)
        body("setBreakpoints", {"source": {"path": FIGURE2}, "breakpoints": []})
        body("setFunctionBreakpoints", {"breakpoints": [{"name": "Dot"}]})
        body("setExceptionBreakpoints", {"filters": []})
        self.child.stop_of("continue")
        a = next(v for v in self.scope("Registers") if v["name"] == "a")
        self.assertEqual((a["indexedVariables"], a["type"]), (16, "f16[16, 16]"))
        rows = self.variables(a["variablesReference"], start=2, count=3)
        self.assertEqual([row["name"] for row in rows], ["[2]", "[3]", "[4]"])
        self.assertEqual(self.variables(rows[0]["variablesReference"], format={"hex": True})[5]["value"], "0x3c00")
        self.assertEqual(self.variables(a["variablesReference"], start=100, count=5), [])
        changed = body("setVariable", {"variablesReference": rows[0]["variablesReference"], "name": "[2, 5]",
                                       "value": "2.5"})
        self.assertEqual(changed["value"], "2.5")
        self.assertEqual(self.child.event("invalidated"), {"areas": ["variables"]})
        body("setExpression", {"expression": "a[2, 6]", "value": "-1", "frameId": self.trace()[0]["id"]})
        for context, expression, result in (("watch", "a[2, 5] + 1", "3.5"), ("hover", "a[2, 6]", "-1"),
                                            ("watch", "bk", "0")):
            self.assertEqual(body("evaluate", {"expression": expression, "context": context})["result"], result)
        self.assertEqual(body("evaluate", {"expression": "20 + 22", "context": "watch",
                                           "format": {"hex": True}})["result"], "0x2a")
        words = body("completions", {"text": "pri", "column": 4})["targets"]
        self.assertEqual([word["label"] for word in words], ["print"])
        places = body("breakpointLocations", {"source": {"path": FIGURE2}, "line": 16, "endLine": 19})["breakpoints"]
        self.assertEqual([place["line"] for place in places], [16, 17, 18, 19])
        target = body("gotoTargets", {"source": {"path": FIGURE2}, "line": 16})["targets"][0]
        self.assertEqual(self.child.stop_of("goto", {"threadId": 1, "targetId": target["id"]})["reason"], "goto")
        self.assertEqual(self.line(), 16)
        source = body("loadedSources")["sources"]
        self.assertEqual([one["path"] for one in source], [FIGURE2])
        self.assertEqual(body("source", {"source": source[0], "sourceReference": 0})["content"],
                         pathlib.Path(FIGURE2).read_text())
        self.assertFalse(ask("exceptionInfo", {"threadId": 1})["success"])
        body("pause", {"threadId": 1})
        body("terminate")
        body("disconnect", {"terminateDebuggee": True})
        self.assertIsNone(self.drain())

    def drain(self):
        while self.child.receive() is not None:
            pass

    def test_memory_and_data_breakpoints(self):
        self.start(str(ROOT / "tests/filetests/debug/rotated_rows.tile"), inputs={"x_ptr": "iota"})
        body = self.child.body
        self.say("goto @3")
        s = next(v for v in self.scope("Shared memory") if v["name"] == "s")
        self.assertEqual(s["memoryReference"], "s")
        by_name = body("dataBreakpointInfo", {"name": "s[0, 0]"})["dataId"]
        child = body("dataBreakpointInfo", {"variablesReference": s["variablesReference"], "name": "[0]"})["dataId"]
        self.assertEqual(child, "s[0]")
        by_address = body("dataBreakpointInfo", {"name": "s+0x4", "asAddress": True, "bytes": 8})["dataId"]
        by_bytes = body("dataBreakpointInfo", {"name": "s[0, 1]", "bytes": 8})["dataId"]
        self.assertEqual((by_address, by_bytes), ("s+0x4:8", "s+0x4:8"))
        self.assertIsNone(body("dataBreakpointInfo", {"name": "nothing"})["dataId"])
        placed = body("setDataBreakpoints", {"breakpoints": [
            {"dataId": by_name, "accessType": "write"}, {"dataId": by_address, "condition": "i == 9"},
            {"dataId": by_name, "accessType": "read"}, {"dataId": "?"}]})["breakpoints"]
        self.assertEqual([one["verified"] for one in placed], [True, True, False, False])
        stop = self.child.stop_of("continue")
        self.assertEqual((stop["reason"], stop["hitBreakpointIds"]), ("data breakpoint", [placed[0]["id"]]))
        read = body("readMemory", {"memoryReference": "s", "offset": 0, "count": 4})
        self.assertEqual(base64.b64decode(read["data"]).hex(), "0000c042")  # 96.0
        body("writeMemory", {"memoryReference": "s", "offset": 0, "data": "AACAPw=="})
        self.assertEqual(self.child.event("memory"), {"memoryReference": "s", "offset": 0, "count": 4})
        self.assertEqual(body("evaluate", {"expression": "s[0, 0]", "context": "hover"})["result"], "1")
        self.assertEqual(body("readMemory", {"memoryReference": "s", "offset": 1 << 40, "count": 4})["unreadableBytes"],
                         4)

    def test_a_fault_is_an_exception_with_its_report(self):
        self.start(str(ROOT / "tests/filetests/faults/race_no_lock.tile"))
        self.assertEqual(self.child.stop_of("continue")["reason"], "exception")
        info = self.child.body("exceptionInfo", {"threadId": 1})
        self.assertEqual((info["exceptionId"], info["breakMode"]), ("TV0406", "always"))
        self.assertIn("race_no_lock.tile:8:19", info["details"]["stackTrace"])
        self.assertEqual(self.trace(2)[0]["line"], 8)  # before the access of block 1

    def test_frames_breakpoints_and_texts_of_included_files(self):
        library, main = self.write("lib.tile", LIBRARY), self.write("main.tile", MAIN)
        self.start(main, inputs={"a_ptr": "iota"})
        body = self.child.body
        sources = body("loadedSources")["sources"]
        self.assertEqual([one["name"] for one in sources], ["main.tile", "lib.tile", "fragments.tile"])
        self.assertEqual(os.path.realpath(sources[1]["path"]), os.path.realpath(library))
        self.assertIn("fragment_a", body("source", {"sourceReference": sources[2]["sourceReference"],
                                                                  "source": sources[2]})["content"])
        in_main = body("setBreakpoints", {"source": {"path": main}, "breakpoints": [{"line": 9}]})["breakpoints"]
        in_library = body("setBreakpoints", {"source": {"path": library}, "breakpoints": [{"line": 2}]})["breakpoints"]
        other = body("setBreakpoints", {"source": {"path": FIGURE2}, "breakpoints": [{"line": 2}]})["breakpoints"]
        self.assertEqual([one["verified"] for one in in_main + in_library + other], [True, True, False])
        self.assertEqual(self.child.stop_of("continue")["hitBreakpointIds"], [in_library[0]["id"]])
        inner, outer = self.trace()
        self.assertEqual((inner["name"], inner["line"], inner["source"]["name"]), ("double", 2, "lib.tile"))
        self.assertEqual((outer["line"], outer["source"]["name"]), (8, "main.tile"))
        self.assertEqual(self.child.stop_of("continue")["hitBreakpointIds"], [in_main[0]["id"]])

    def test_disassemble_gives_the_code_of_a_line(self):
        self.start(defines=SMALL)
        self.child.body("setFunctionBreakpoints", {"breakpoints": [{"name": "Dot"}]})
        self.child.stop_of("continue")
        at = self.trace()[0]["instructionPointerReference"]
        code = self.child.body("disassemble", {"memoryReference": at, "instructionOffset": -1,
                                               "instructionCount": 6})["instructions"]
        self.assertIn("// Dot(a, b2, acc, out=acc)", code[1]["instruction"])
        self.assertTrue(any("mma_m16n8k16" in one["instruction"] for one in code), code)
        self.assertEqual((code[0]["line"], code[1]["address"], code[1]["line"]), (21, at, 22))
        far = self.child.body("disassemble", {"memoryReference": at, "instructionOffset": 1 << 30,
                                              "instructionCount": 2})["instructions"]
        self.assertEqual([one["presentationHint"] for one in far], ["invalid"] * 2)
        self.assertFalse(self.child.ask("disassemble", {"memoryReference": "x", "instructionCount": 1})["success"])

    def test_ptx_is_shown_or_it_is_said_what_is_missing(self):
        self.start(defines=SMALL, code="ptx")
        self.child.body("setFunctionBreakpoints", {"breakpoints": [{"name": "Dot"}]})
        self.child.stop_of("continue")
        frame_of_dot = self.trace()[0]
        if "instructionPointerReference" not in frame_of_dot:  # no NVRTC and no nvcc here
            answer = self.child.ask("disassemble", {"memoryReference": "0x0", "instructionCount": 1})
            self.assertFalse(answer["success"])
            self.assertRegex(answer["message"], "nvcc|NVRTC|nvrtc")
            return
        code = self.child.body("disassemble", {"memoryReference": frame_of_dot["instructionPointerReference"],
                                               "instructionCount": 40})["instructions"]
        self.assertTrue(any(one["instruction"].strip().startswith("mma.sync") and one.get("line") == 22
                            for one in code), code)

    def test_exact_inputs_and_notes_on_rounding(self):
        numbers = str(pathlib.Path(self.folder.name) / "x.npy")
        header = "{'descr': '<f8', 'fortran_order': False, 'shape': (16, 32), }"
        header += " " * (64 - (10 + len(header) + 1) % 64) + "\n"
        import struct
        pathlib.Path(numbers).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                                          struct.pack("<512d", *([0.1] * 512)))
        self.child.body("initialize", EDITOR)
        refused = self.child.ask("launch", {"program": FIGURE2, "defines": SMALL, "inputs": {"a_ptr": numbers},
                                            "exact": True})
        self.assertFalse(refused["success"])
        self.assertIn("0.1", refused["message"])
        self.child.body("launch", {"program": FIGURE2, "defines": SMALL, "inputs": {"a_ptr": numbers}})
        self.assertIn("rounded", self.child.event("output")["output"])

    # ---- abilities that a client does not have

    def test_a_plain_client_is_told_nothing_that_it_does_not_know(self):
        program = self.write("wide.tile", MAIN.replace("[64]", "[4096]").replace("spatial(64)", "local(64).spatial(64)"))
        self.write("lib.tile", LIBRARY)
        self.start(program, editor={"adapterID": "tilevm"})
        self.child.events.clear()
        self.say("set $a_ptr[1] = 3")
        self.assertEqual([e for e in self.child.events if e["type"] == "event"], [])
        tensors = self.scope("Global memory")
        for one in tensors:
            self.assertEqual({"type", "memoryReference", "indexedVariables"} & set(one), set())
        elements = self.variables(tensors[0]["variablesReference"])
        self.assertEqual(len(elements), 1001)
        self.assertIn("3096 more", elements[-1]["value"])
        self.assertNotIn("\x1b", self.say("where"))

    def test_the_console_takes_every_word_and_styles_it(self):
        self.start(defines=SMALL, inputs={"a_ptr": "full:1", "transformed_b_ptr": "full:1"})
        self.assertIn("\x1b[", self.say("where"))
        self.assertIn("step [N]", self.say("help"))
        self.assertIn("for bk in range", self.say("list 17"))
        self.assertIn("mma_m16n8k16", self.say("disassemble 22"))
        self.say("break 24")
        self.say("continue")
        self.assertIn("by line 22", self.say("why acc[3, 5]"))
        self.assertIn("by line 18", self.say("why 2.2"))
        self.say("goto 1")
        self.assertEqual(self.line(), 18)
        answer = self.child.ask("evaluate", {"expression": "fly", "context": "repl"})
        self.assertIn("not a command", answer["message"])

    # ---- long runs

    def test_progress_is_told_and_cancel_stops_the_run(self):
        self.start(self.write("long.tile", LONG))
        self.child.events.clear()
        self.child.body("continue", {"threadId": 1})
        begun = self.child.event("progressStart")
        self.assertTrue(begun["cancellable"])
        self.child.event("progressUpdate")
        self.child.post("cancel", {"progressId": begun["progressId"]})
        self.assertEqual(self.child.event("stopped")["reason"], "pause")
        self.assertEqual(self.child.event("progressEnd")["progressId"], begun["progressId"])
        self.child.post("continue", {"threadId": 1})
        time.sleep(0.2)
        self.child.body("pause", {"threadId": 1})
        self.child.events.clear()
        self.child.post("continue", {"threadId": 1})
        time.sleep(0.2)
        self.child.body("disconnect")  # ends although the run goes on
        self.assertEqual(self.child.process.wait(DEADLINE), 0)

    # ---- what no client should do

    def test_wrong_messages_get_an_answer(self):
        self.assertFalse(self.child.ask("next", {"threadId": 1})["success"])
        self.assertFalse(self.child.ask("launch", {"program": "/no/such.tile"})["success"])
        self.assertFalse(self.child.ask("launch", {"program": self.write("bad.tile", "def (")})["success"])
        self.assertIn("fly", self.child.ask("fly")["message"])
        self.start(defines=SMALL)
        self.assertFalse(self.child.ask("launch", {"program": FIGURE2})["success"])
        for wrong in ({}, {"breakpoints": 3, "variablesReference": -9, "line": "x", "column": 1e300, "threadId": 1e18},
                      {"source": 7, "breakpoints": [1, {}, {"line": -4}], "memoryReference": {}, "frameId": 1 << 60}):
            for command in ("setBreakpoints", "setFunctionBreakpoints", "setDataBreakpoints", "variables",
                            "setVariable", "setExpression", "goto", "gotoTargets", "readMemory", "writeMemory",
                            "completions", "exceptionInfo", "stackTrace", "dataBreakpointInfo", "scopes", "threads",
                            "breakpointLocations", "disassemble", "source", "evaluate", "cancel"):
                self.child.ask(command, wrong, valid=False)
        self.child.raw(b"Content-Length: 9\r\n\r\nnot json!" + b"Content-Length: 2\r\n\r\n[]")
        self.assertTrue(self.child.ask("threads")["success"])

    def test_bytes_that_are_no_protocol_end_it(self):
        self.child.raw(b"hello" * 2000)
        self.assertEqual(self.child.process.wait(DEADLINE), 0)

    def test_a_client_that_goes_away(self):
        self.start(self.write("long.tile", LONG))
        self.child.post("continue", {"threadId": 1})
        self.child.process.stdin.close()
        self.child.process.stdout.close()
        self.assertEqual(self.child.process.wait(DEADLINE), 0)

    def test_a_client_that_never_reads(self):
        self.start(defines=SMALL)
        message = frame({"seq": 10 ** 6, "type": "request", "command": "source", "arguments": {"sourceReference": 0}})
        self.child.process.stdin.write(message * 2000)  # answers of megabytes
        self.child.process.stdin.flush()
        begin = time.monotonic()
        self.child.process.wait(DEADLINE)
        self.assertLess(time.monotonic() - begin, 40)


class Socket(unittest.TestCase):
    def test_a_session_over_a_port(self):
        server = subprocess.Popen([TILEVM, "dap", "--port", "0"], stderr=subprocess.PIPE, text=True)
        port = int(server.stderr.readline().rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as client:
            client.sendall(frame({"seq": 1, "type": "request", "command": "initialize",
                                  "arguments": {"adapterID": "tilevm"}}))
            self.assertIn(b'"success": true', client.recv(1 << 16))
            client.sendall(frame({"seq": 2, "type": "request", "command": "disconnect"}))
            self.assertEqual(server.wait(DEADLINE), 0)
        server.stderr.close()


@unittest.skipUnless(importlib.util.find_spec("dap"), "dap-python is not installed")
class DapPython(unittest.TestCase):
    """PyPI's dap-python: it makes the requests, and reads every answer into its own types."""

    def test_a_session(self):
        import dap
        # Version 0.5.0 looks for a whole response in the body of responses that need no body, reads the list
        # `appliesTo` of a breakpoint mode as one word, and numbers of breakpoints as words.
        for kind in vars(dap.responses).values():
            if isinstance(kind, type) and issubclass(kind, dap.base.Response) and kind is not dap.base.Response:
                kind.model_validate = classmethod(lambda cls, _body: cls.model_construct())
        dap.types.BreakpointMode.model_fields["appliesTo"].annotation = list[str]
        dap.events.StoppedEvent.model_fields["hitBreakpointIds"].annotation = list[int]
        for model in (dap.types.BreakpointMode, dap.types.Capabilities, dap.responses.Initialized,
                      dap.events.StoppedEvent):
            model.model_rebuild(force=True)
        child = Child(TILEVM)
        self.addCleanup(child.close)
        client = dap.Client("tilevm", lines_start_at1=True, columns_start_at1=True)
        got = []

        def until(kind):
            while not any(isinstance(one, kind) for one in got):
                child.raw(client.send())
                data = child.read_some()
                self.assertTrue(data, f"no {kind.__name__}")
                got.extend(client.receive(data))
            found = next(one for one in got if isinstance(one, kind))
            got.clear()
            return found

        until(dap.responses.Initialized)
        client.send_request("launch", {"program": FIGURE2, "defines": SMALL})
        until(dap.events.InitializedEvent)
        client.set_breakpoints(source={"path": FIGURE2}, breakpoints=[{"line": 22}])
        self.assertTrue(until(dap.responses.SetBreakpointsResponse).breakpoints[0].verified)
        client.configuration_done()  # without stopOnEntry the run goes on to the first breakpoint
        self.assertEqual(until(dap.events.StoppedEvent).reason, "breakpoint")
        client.stack_trace(1)
        self.assertEqual(until(dap.responses.StackTraceResponse).stackFrames[0].line, 22)
        client.step_back(1)
        until(dap.events.StoppedEvent)
        client.disconnect()
        child.raw(client.send())
        self.assertEqual(child.process.wait(DEADLINE), 0)


@unittest.skipUnless(UNIT_TESTS and published_schema(), "no unit tests named, or no schema installed")
class UnitTests(unittest.TestCase):
    def test_the_messages_of_the_unit_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            record = pathlib.Path(folder) / "messages.jsonl"
            done = subprocess.run([UNIT_TESTS, "-tc=dap:*"], env={**os.environ, "TILEVM_DAP_RECORD": str(record)},
                                  capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout[-2000:])
            said = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertGreater(len(said), 100)
        protocol = Protocol()
        for entry in said:
            if entry["from"] == "adapter" or entry["valid"]:
                found = protocol.faults(entry["message"], ours=entry["from"] == "adapter")
                self.assertEqual(found, [], json.dumps(entry["message"])[:2000])


if __name__ == "__main__":
    if published_schema() is None:
        print("note: no schema of the protocol is installed (tests/editors/requirements.txt); messages are not judged")
    unittest.main()
