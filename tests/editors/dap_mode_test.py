"""Emacs's dap-mode drives `tilevm dap`; all that both say is held against the protocol's schema.

Usage: dap_mode_test.py EMACS TILEVM. Exit status 77: this Emacs has no dap-mode.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading

from dap_wire import Protocol, check_order, published_schema

HERE = pathlib.Path(__file__).resolve()


def messages(data):
    """The messages of a stream of bytes."""
    found = []
    while data:
        header, _, rest = data.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in header.split(b"\r\n") if line.lower().startswith(b"content-length"))
        found.append(json.loads(rest[:length]))
        data = rest[length:]
    return found


def tap(log, command):
    """Stands between a client and its adapter: what passes is written to LOG.client and LOG.adapter."""
    adapter = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def pump(source, target, path):
        with open(path, "wb") as copy:
            while chunk := os.read(source, 1 << 16):
                copy.write(chunk)
                copy.flush()
                os.write(target, chunk)
        os.close(target)

    threading.Thread(target=pump, args=(0, adapter.stdin.fileno(), log + ".client"), daemon=True).start()
    pump(adapter.stdout.fileno(), 1, log + ".adapter")
    return adapter.wait()


def main(emacs, tilevm):
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log"
        between = pathlib.Path(folder) / "tilevm"
        between.write_text("#!/bin/sh\nexec " + shlex.join([sys.executable, "-B", str(HERE), "--tap", log,
                                                             os.path.abspath(tilevm)]) + ' "$@"\n')
        between.chmod(0o755)
        status = subprocess.run([emacs, "--batch", "-l", str(HERE.with_suffix(".el")), str(between), folder],
                                env={**os.environ, "HOME": folder}, timeout=240).returncode
        if status != 0:
            return status
        said = {who: messages(pathlib.Path(f"{log}.{who}").read_bytes()) for who in ("client", "adapter")}
    said["client"] = [one for one in said["client"] if one["type"] == "request"]
    if len(said["client"]) < 10 or len(said["adapter"]) < 20:
        print("FAILED: messages are missing")
        return 1
    faults = check_order([{"from": "client", "message": one} for one in said["client"]] +
                         [{"from": "adapter", "message": one} for one in said["adapter"]])
    if published_schema() is None:
        print("note: no schema of the protocol is installed (tests/editors/requirements.txt)")
    else:
        protocol = Protocol()
        faults += [fault for one in said["adapter"] for fault in protocol.faults(one)]
    for fault in faults:
        print("FAILED:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    if sys.argv[1] == "--tap":
        sys.exit(tap(sys.argv[2], sys.argv[3:]))
    sys.exit(main(*sys.argv[1:3]))
