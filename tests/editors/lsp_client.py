"""A language server's client for tests: requests, notifications, raw bytes, with a deadline on every answer."""

import json
import os
import select
import subprocess
import time

DEADLINE = 60  # seconds; a loaded machine is slow, a hang is for ever


class Client:
    """`tilevm lsp` as a child; what it sends is kept until it is asked for."""

    def __init__(self, tilevm, initialize=True, options=None, encodings=("utf-16",), snippets=True):
        self.server = subprocess.Popen([tilevm, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.buffer = b""
        self.next_id = 1
        self.notifications = []
        self.capabilities = None
        if initialize:
            result = self.request("initialize", {
                "processId": None, "rootUri": None, "initializationOptions": options or {},
                "capabilities": {
                    "general": {"positionEncodings": list(encodings)},
                    "textDocument": {"completion": {"completionItem": {"snippetSupport": snippets}}}}})
            self.capabilities = result["capabilities"]
            self.notify("initialized", {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server.poll() is None:
            self.server.kill()
        self.server.wait()
        self.server.stdin.close() if not self.server.stdin.closed else None
        self.server.stdout.close()

    # ---- the wire

    def raw(self, data):
        self.server.stdin.write(data)
        self.server.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self):
        """The next message; None at the end of the stream."""
        end = time.monotonic() + DEADLINE
        while True:
            header, separator, rest = self.buffer.partition(b"\r\n\r\n")
            if separator:
                length = int(header.decode().split(":")[1])
                if len(rest) >= length:
                    self.buffer = rest[length:]
                    return json.loads(rest[:length].decode())
            ready, _, _ = select.select([self.server.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the server does not answer")
            chunk = os.read(self.server.stdout.fileno(), 1 << 16)
            if not chunk:
                return None
            self.buffer += chunk

    # ---- messages

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, params, request_id=None):
        """The whole answer, an error or not."""
        if request_id is None:
            request_id, self.next_id = self.next_id, self.next_id + 1
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return self.answer_of(request_id)

    def answer_of(self, request_id):
        while True:
            message = self.receive()
            if message is None:
                raise EOFError("the server ended")
            if message.get("id") == request_id and "method" not in message:
                return message
            self.notifications.append(message)

    def request(self, method, params):
        answer = self.ask(method, params)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    # ---- documents

    def open(self, uri, text):
        self.notify("textDocument/didOpen", {"textDocument": {
            "uri": uri, "languageId": "tilevm", "version": 1, "text": text}})

    def diagnostics(self, uri, version=None):
        """The diagnostics that the server publishes next for a document (of a version)."""
        while True:
            for i, message in enumerate(self.notifications):
                params = message.get("params", {})
                if message.get("method") != "textDocument/publishDiagnostics" or params["uri"] != uri:
                    continue
                if version is None or params.get("version") == version:
                    del self.notifications[i]
                    return params["diagnostics"]
            message = self.receive()
            if message is None:
                raise EOFError("the server ended")
            self.notifications.append(message)

    def diagnostics_when(self, uri, told):
        """The first that the server publishes for a document and of which `told` holds. A change in an
        included file is judged with the next change of its users, or before it, as time allows."""
        while True:
            found = self.diagnostics(uri)
            if told(found):
                return found

    def at(self, method, uri, line, character, **more):
        return self.request(method, {"textDocument": {"uri": uri},
                                     "position": {"line": line, "character": character}, **more})

    def of(self, method, uri, **more):
        return self.request(method, {"textDocument": {"uri": uri}, **more})

    def shut_down(self):
        """The exit status of a server that is asked to end."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.server.wait(DEADLINE)
