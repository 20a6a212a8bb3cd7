"""Packs the VS Code extension: build_vsix.py OUT.vsix.

The package is a zip of the files of editors/vscode with the manifest that VS Code reads. The extension needs no other
package, so that nothing is fetched. Equal files give equal bytes.
"""

import json
import pathlib
import sys
import zipfile
from xml.sax.saxutils import escape, quoteattr

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "editors" / "vscode"
EPOCH = (1980, 1, 1, 0, 0, 0)

TYPES = {".json": "application/json", ".js": "application/javascript", ".vsixmanifest": "text/xml",
         ".md": "text/markdown", ".txt": "text/plain"}


def manifest(package):
    """extension.vsixmanifest, as VS Code's packaging tool writes it."""
    engine = package["engines"]["vscode"]
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={quoteattr(package["name"])} Version={quoteattr(package["version"])} \
Publisher={quoteattr(package["publisher"])}/>
    <DisplayName>{escape(package["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(package["description"])}</Description>
    <Categories>{escape(",".join(package["categories"]))}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(engine)}/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def content_types():
    rows = "".join(f'<Default Extension="{suffix}" ContentType="{kind}"/>' for suffix, kind in TYPES.items())
    return ('<?xml version="1.0" encoding="utf-8"?>\n'
            f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{rows}</Types>\n')


def make_package(out):
    package = json.loads((SOURCE / "package.json").read_text())
    files = {"[Content_Types].xml": content_types(), "extension.vsixmanifest": manifest(package),
             "extension/LICENSE.txt": (ROOT / "LICENSE").read_text()}
    for file in sorted(SOURCE.rglob("*")):
        inside = file.relative_to(SOURCE)
        if file.is_file() and "node_modules" not in inside.parts and inside.name != "package-lock.json":
            files[f"extension/{inside.as_posix()}"] = file.read_text()
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), text, zipfile.ZIP_DEFLATED)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    make_package(pathlib.Path(sys.argv[1]))
    print(sys.argv[1])


if __name__ == "__main__":
    main()
