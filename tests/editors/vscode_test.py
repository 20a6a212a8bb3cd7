"""The VS Code extension as `./dev vsix` packs it, unpacked and run: vscode_test.py TILEVM. Needs Node."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check_package(folder):
    """Every file that the manifest and package.json name is there; no file asks for a package from elsewhere."""
    schema = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
    manifest = ElementTree.parse(folder / "extension.vsixmanifest").getroot()
    package = json.loads((folder / "extension/package.json").read_text())
    identity = manifest.find(f"{schema}Metadata/{schema}Identity").attrib
    assert (identity["Id"], identity["Version"]) == (package["name"], package["version"]), identity
    for asset in manifest.iter(f"{schema}Asset"):
        assert (folder / asset.attrib["Path"]).is_file(), asset.attrib
    contributes = package["contributes"]
    named = [package["main"], *(one["path"] for one in contributes["grammars"] + contributes["snippets"]),
             *(one["configuration"] for one in contributes["languages"])]
    for name in named:
        assert (folder / "extension" / name).is_file(), name
    assert "dependencies" not in package
    types = ElementTree.parse(folder / "[Content_Types].xml").getroot()
    known = {one.attrib["Extension"] for one in types}
    for file in folder.rglob("*"):
        assert file.is_dir() or file.suffix in known or file.name == "[Content_Types].xml", file
        if file.suffix == ".js":
            for name in re.findall(r'require\("([^"]+)"\)', file.read_text()):
                assert name in ("vscode", "child_process") or (file.parent / f"{name}.js").is_file(), name


def main():
    tilevm = sys.argv[1]
    if not shutil.which("node"):
        print("there is no node")
        raise SystemExit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        packages = [folder / "one.vsix", folder / "two.vsix"]
        for package in packages:
            subprocess.run([sys.executable, "-B", ROOT / "editors/build_vsix.py", package], check=True)
        assert packages[0].read_bytes() == packages[1].read_bytes()
        with zipfile.ZipFile(packages[0]) as archive:
            archive.extractall(folder / "unpacked")
        check_package(folder / "unpacked")
        program = folder / "vector_add.tile"
        shutil.copy(ROOT / "programs/vector_add.tile", program)
        test = [shutil.which("node"), ROOT / "tests/editors/vscode_test.js", folder / "unpacked", tilevm, program]
        raise SystemExit(subprocess.run(test, check=False, timeout=120).returncode)


if __name__ == "__main__":
    main()
