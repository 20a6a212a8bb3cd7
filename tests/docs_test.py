"""The pages of docs/: links lead somewhere, files that are named exist, pictures are not stale."""

import hashlib
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("tests/**/README.md"))]
FOLDERS = "isa|frontend|sim|backend|vm|programs|std|tests|docs"


def words_of(page):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors_of(page):
    """The anchors that GitHub makes of headings."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)\s]+)\)", words_of(page)):
                if re.match(r"https?:", link):
                    continue
                file, _, anchor = link.partition("#")
                target = (page.parent / file).resolve() if file else page
                with self.subTest(page=page.name, link=link):
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors_of(target))

    def test_files_that_are_named_exist(self):
        for page in PAGES:
            for path in re.findall(rf"`((?:{FOLDERS})/[\w./*-]+)`", words_of(page)):
                with self.subTest(page=page.name, path=path):
                    self.assertTrue(list(ROOT.glob(path.rstrip("/"))), "no such file or folder")

    def test_pictures_are_those_of_their_sources(self):
        sources = sorted(ROOT.glob("docs/*.dot"))
        self.assertTrue(sources)
        for source in sources:
            digest = hashlib.sha256(source.read_bytes()).hexdigest()
            with self.subTest(picture=source.stem):
                self.assertIn(f"source: {source.name} sha256:{digest}", source.with_suffix(".svg").read_text(),
                              "run: ./dev docs")


if __name__ == "__main__":
    unittest.main()
