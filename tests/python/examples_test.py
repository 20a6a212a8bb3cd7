"""The examples of python/examples run, each to its end. package.py has the usage."""

import subprocess
import sys
import unittest

from package import ROOT

EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))
SAYS = {"first_kernel.py": "did you mean `spatial`", "quantized_matmul.py": "largest error beside float64",
        "layouts.py": "bytes of SVG", "on_a_gpu.py": ""}


class Examples(unittest.TestCase):
    def test_every_example_runs(self):
        self.assertEqual([each.name for each in EXAMPLES], sorted(SAYS))
        for example in EXAMPLES:
            with self.subTest(example.name):
                done = subprocess.run([sys.executable, "-B", str(example)], capture_output=True, text=True, check=False,
                                      cwd="/", timeout=60)
                print(f"--- {example.name}\n{done.stdout}")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(SAYS[example.name], done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
