"""What `cmake --install` and CPack give: packages_test.py CMAKE BUILD. The command, its manual and completion, the list
of what is linked beside what the files say, and a .deb whose contents run."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD = sys.argv[1], pathlib.Path(sys.argv[2])


def output_of(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def needed_by(file):
    """The shared libraries that a file names."""
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", str(file))))


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name) / "usr"
        output_of(CMAKE, "--install", str(BUILD), "--prefix", str(cls.prefix))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_command_and_its_programs(self):
        command = self.prefix / "bin" / "tilevm"
        self.assertRegex(output_of(command, "--version"), r"^tilevm \d")
        program = self.prefix / "share" / "tilevm" / "programs" / "vector_add.tile"
        self.assertIn("c: f32[5]", output_of(command, "run", program, "-D", "N=5", cwd="/"))

    def test_documents(self):
        doc = self.prefix / "share" / "doc" / "tilevm"
        for name in ("README.md", "CHANGELOG.md", "LICENSE", "copyright", "docs/reference/language.md", "docs/inside/phases.svg"):
            self.assertTrue((doc / name).is_file(), name)

    def test_man_pages_and_completion_are_what_the_command_prints(self):
        command, share = self.prefix / "bin" / "tilevm", self.prefix / "share"
        self.assertEqual((share / "man/man1/tilevm-run.1").read_text(), output_of(command, "man", "run"))
        self.assertEqual((share / "man/man1/tilevm.1").read_text(), output_of(command, "man"))
        for shell, path in (("bash", "bash-completion/completions/tilevm"), ("zsh", "zsh/site-functions/_tilevm"),
                            ("fish", "fish/vendor_completions.d/tilevm.fish")):
            self.assertEqual((share / path).read_text(), output_of(command, "completion", shell))

    def test_the_list_of_what_is_linked(self):
        listed = json.loads((self.prefix / "share/doc/tilevm/linked.cdx.json").read_text())
        components = {each["name"]: each for each in listed["components"]}
        files = {"tilevm": self.prefix / "bin/tilevm", "libtilevm": next(self.prefix.glob("lib/**/libtilevm.so"), None)}
        for each in components.values():
            self.assertRegex(each["version"], r"^\d+(\.\d+)*", each["name"])
            self.assertTrue(each["licenses"][0]["expression"], each["name"])
        for subject in listed["dependencies"]:
            file = files[subject["ref"]]
            if file is None:
                continue
            properties = [{p["name"]: p["value"] for p in components[name]["properties"]} for name in subject["dependsOn"]]
            shared = {p["tilevm:file"] for p in properties if p["tilevm:linkage"] == "shared"}
            self.assertEqual(shared, needed_by(file), subject["ref"])
            text = output_of("strings", "-a", str(file)) if shutil.which("strings") else ""
            if "libstdc++" in subject["dependsOn"]:
                self.assertNotIn("libstdc++.so", text)


@unittest.skipUnless(shutil.which("dpkg-deb"), "there is no dpkg-deb")
class Package(unittest.TestCase):
    def test_the_deb(self):
        with tempfile.TemporaryDirectory() as folder:
            cpack = pathlib.Path(CMAKE).with_name("cpack")
            output_of(cpack, "--config", str(BUILD / "CPackConfig.cmake"), "-G", "DEB", "-B", folder,
                      "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
            [deb] = pathlib.Path(folder).glob("*.deb")
            self.assertRegex(deb.name, r"^tilevm_[\d.]+_amd64\.deb$")
            facts = output_of("dpkg-deb", "-f", str(deb))
            self.assertIn("libc6", facts)
            root = pathlib.Path(folder) / "root"
            output_of("dpkg-deb", "-x", str(deb), str(root))
            for path in ("usr/bin/tilevm", "usr/share/man/man1/tilevm.1", "usr/share/doc/tilevm/copyright",
                         "usr/share/bash-completion/completions/tilevm", "usr/share/doc/tilevm/linked.cdx.json"):
                self.assertTrue((root / path).is_file(), path)
            self.assertIn("try next", output_of(root / "usr/bin/tilevm", "demo", "--threads", "2", cwd="/"))
            print(f"{deb.name}: {deb.stat().st_size} bytes")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
