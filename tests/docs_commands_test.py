"""The console blocks of pages: what they show is what the commands print. Usage: docs_commands_test.py TILEVM PAGE...

    ```console
    $ tilevm layout 'spatial(2, 2)'
    what it prints, to both streams
    ```

A block that begins with "```tile NAME.tile" is a file that the commands of its page have.

Commands run in a folder of their own with `programs` in it; a line `...` stands for any lines. With
TILEVM_BLESS=1 pages are rewritten, but blocks with `...` are only compared.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TILEVM, PAGES = sys.argv[1], sys.argv[2:]
FILE = re.compile(r"^```tile (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command, folder):
    """What a command prints."""
    tools = pathlib.Path(folder) / "bin"
    if not tools.exists():
        tools.mkdir()
        (tools / "tilevm").symlink_to(pathlib.Path(TILEVM).resolve())
        (pathlib.Path(folder) / "programs").symlink_to(ROOT / "programs")
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout


def commands_of(block):
    """(command, expected output) of a block."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def matches(expected, given):
    pattern = "".join(r"(?:.*\n)*" if line == "...\n" else re.escape(line) for line in expected.splitlines(True))
    return re.fullmatch(pattern, given) is not None


class Blocks(unittest.TestCase):
    maxDiff = None

    def test_commands_print_what_pages_show(self):
        for page in map(pathlib.Path, PAGES):
            text = page.read_text()
            self.assertTrue(BLOCK.search(text), f"{page} has no console block")
            with tempfile.TemporaryDirectory() as folder:
                for file in FILE.finditer(text):
                    (pathlib.Path(folder) / file.group(1)).write_text(file.group(2))
                blessed = BLOCK.sub(lambda match: self.check(page, match.group(1), folder), text)
            if os.environ.get("TILEVM_BLESS") and blessed != text:
                page.write_text(blessed)

    def check(self, page, block, folder):
        shown = ""
        for command, expected in commands_of(block):
            given = run(command, folder)
            keep = "...\n" in expected or not os.environ.get("TILEVM_BLESS")
            if keep and not matches(expected, given):
                with self.subTest(page=page.name, command=command):
                    self.assertEqual(expected, given)
            shown += f"$ {command}\n{expected if keep else given}"
        return f"```console\n{shown}```"


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
