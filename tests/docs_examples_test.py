"""The examples of docs/: each block of code that begins with ```tile is a program that runs, with the options
that its first line may name: `# args: --in n=100`."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TILEVM = sys.argv.pop(1)


class Examples(unittest.TestCase):
    def test_examples_run(self):
        count = 0
        for page in sorted(ROOT.glob("docs/**/*.md")):
            text = page.read_text()
            for block in re.finditer(r"^```tile\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
                line = text.count("\n", 0, block.start()) + 1
                given = re.match(r"# args: (.*)\n", block[1])
                args = given[1].split() if given else []
                run = subprocess.run([TILEVM, "run", "-", *args], input=block[1], capture_output=True, text=True, timeout=60)
                with self.subTest(page=page.name, line=line):
                    self.assertEqual(run.returncode, 0, run.stderr)
                count += 1
        self.assertGreater(count, 5)


if __name__ == "__main__":
    unittest.main()
