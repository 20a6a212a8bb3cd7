"""Messages of the Debug Adapter Protocol for tests: a child that speaks it, and what the protocol's schema says.

The published JSON schema comes with the package debugpy (version 1.59), and the package dap-types has classes that
are made from version 1.70; neither is part of this repository. A newer schema can be given by the environment:
TILEVM_DAP_SCHEMA=debugAdapterProtocol.json.
"""

import importlib.util
import json
import os
import pathlib
import select
import subprocess
import time

DEADLINE = 60  # seconds; a loaded machine is slow, a hang is for ever


def frame(message):
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Child:
    """`tilevm dap` as a child, or a socket: bytes, and whole messages. Keeps all that is said."""

    def __init__(self, tilevm, *arguments):
        self.process = subprocess.Popen([tilevm, "dap", *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.buffer = b""
        self.sequence = 0
        self.said = []    # {"from": "client" or "adapter", "message": ..}
        self.events = []  # not yet asked for

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read_some(self):
        """Bytes that have arrived; b"" at the end."""
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        if not ready:
            raise TimeoutError("the adapter does not answer")
        return os.read(self.process.stdout.fileno(), 1 << 16)

    def receive(self):
        """The next message; None at the end of the stream."""
        while True:
            header, separator, rest = self.buffer.partition(b"\r\n\r\n")
            if separator:
                length = int(header.decode().split(":")[1])
                if len(rest) >= length:
                    self.buffer = rest[length:]
                    message = json.loads(rest[:length].decode())
                    self.said.append({"from": "adapter", "message": message})
                    return message
            chunk = self.read_some()
            if not chunk:
                return None
            self.buffer += chunk

    def post(self, command, arguments=None, valid=True):
        """Sends a request; gives its number."""
        self.sequence += 1
        message = {"seq": self.sequence, "type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = arguments
        self.said.append({"from": "client", "message": message, "valid": valid})
        self.raw(frame(message))
        return self.sequence

    def answer_to(self, sequence):
        while True:
            message = self.receive()
            if message is None:
                raise EOFError("the adapter ended")
            if message["type"] == "response" and message["request_seq"] == sequence:
                return message
            self.events.append(message)

    def ask(self, command, arguments=None, valid=True):
        """The whole response, a failure or not."""
        return self.answer_to(self.post(command, arguments, valid))

    def body(self, command, arguments=None):
        response = self.ask(command, arguments)
        if not response["success"]:
            raise AssertionError(f"{command}: {response['message']}")
        return response.get("body", {})

    def event(self, name):
        """The body of the next event of a kind; what comes before it is dropped."""
        while True:
            while self.events:
                message = self.events.pop(0)
                if message["type"] == "event" and message["event"] == name:
                    return message.get("body", {})
            message = self.receive()
            if message is None:
                raise EOFError("the adapter ended")
            self.events.append(message)

    def stop_of(self, command, arguments=None):
        """Sends a request that moves; the body of the stop that follows."""
        self.events.clear()
        self.body(command, arguments if arguments is not None else {"threadId": 1})
        return self.event("stopped")


def name_of(message):
    """What the schema calls a message: "StepInRequest"; nothing for a request of our own."""
    if message["type"] == "event":
        word, kind = message["event"], "Event"
    else:
        word, kind = message["command"], "Request" if message["type"] == "request" else "Response"
        if kind == "Response" and not message.get("success"):
            return "ErrorResponse"
    return None if "/" in word else word[0].upper() + word[1:] + kind


def published_schema():
    """The path of a published schema, or None."""
    given = os.environ.get("TILEVM_DAP_SCHEMA")
    if given:
        return pathlib.Path(given)
    found = importlib.util.find_spec("debugpy")
    if found is None or importlib.util.find_spec("jsonschema") is None:
        return None
    path = pathlib.Path(found.origin).parent.joinpath(
        "_vendored", "pydevd", "_pydevd_bundle", "_debug_adapter", "debugProtocol.json")
    return path if path.exists() else None


class Protocol:
    """The faults of messages: against the published schema, and against classes made from a newer one."""

    def __init__(self):
        import jsonschema
        self.schema = json.loads(published_schema().read_text())
        self.jsonschema = jsonschema
        self.validators = {}
        try:
            import dap_types
            self.classes = vars(dap_types)
        except ImportError:
            self.classes = {}

    def faults(self, message, ours=True):
        """`ours`: a message of the adapter, which has no members that the protocol does not know."""
        name = name_of(message)
        generic = message["type"].capitalize()
        found = []
        known = name if name in self.schema["definitions"] else generic
        if known not in self.validators:
            self.validators[known] = self.jsonschema.Draft4Validator(
                {"allOf": [{"$ref": f"#/definitions/{known}"}], "definitions": self.schema["definitions"]})
        for fault in self.validators[known].iter_errors(message):
            found.append(f"{known}: {'.'.join(map(str, fault.path))}: {fault.message[:200]}")
        model = self.classes.get(name or generic)
        if model is not None:
            try:
                parsed = model.model_validate(message)
            except ValueError as error:
                found.append(f"{name}: {error}")
            else:
                if ours:
                    found += [f"{name}: the protocol knows no `{member}`" for member in unknown_members(parsed)]
        return found


def unknown_members(model, path=""):
    """The members of a message that its class does not know."""
    found = []
    for name in model.model_extra or {}:
        found.append(path + name)
    for name in type(model).model_fields:
        value = getattr(model, name)
        for item in value if isinstance(value, list) else [value]:
            if hasattr(item, "model_extra"):
                found += unknown_members(item, f"{path}{name}.")
    return found


def check_order(said):
    """What a schema cannot say: numbers of messages ascend, and every response answers a request once."""
    faults, open_requests, last = [], {}, 0
    for entry in said:
        message = entry["message"]
        if entry["from"] == "client":
            if message.get("type") == "request":
                open_requests[message["seq"]] = message["command"]
            continue
        if message["seq"] <= last:
            faults.append(f"message {message['seq']} after message {last}")
        last = message["seq"]
        if message["type"] == "response":
            command = open_requests.pop(message["request_seq"], None)
            if command != message["command"]:
                faults.append(f"a response to {message['command']} answers {command}")
    return faults


def wait_for(predicate, what):
    end = time.monotonic() + DEADLINE
    while not predicate():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)
