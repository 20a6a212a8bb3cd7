"""The pages of docs/: links lead somewhere, files that are named exist, pictures are not stale."""

import hashlib
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("tests/**/README.md"))]
FOLDERS = "isa|frontend|sim|backend|vm|programs|std|tests|docs|experiments"


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
            if page.name == "CHANGELOG.md" or "changes_" in page.name:  # they name files of their time
                continue
            for path in re.findall(rf"`((?:{FOLDERS})/[\w./*-]+)`", words_of(page)):
                with self.subTest(page=page.name, path=path):
                    self.assertTrue(list(ROOT.glob(path.rstrip("/"))), "no such file or folder")

    def test_pictures_are_those_of_their_sources(self):
        sources = sorted(ROOT.glob("docs/**/*.dot"))
        self.assertTrue(sources)
        for source in sources:
            digest = hashlib.sha256(source.read_bytes()).hexdigest()
            with self.subTest(picture=source.stem):
                self.assertIn(f"source: {source.name} sha256:{digest}", source.with_suffix(".svg").read_text(),
                              "run: ./dev docs")


class TestCommand(unittest.TestCase):
    def test_ci_runs_the_command_of_the_readme(self):
        self.assertRegex((ROOT / ".ci/run").read_text(), r"(?m)^step \./dev test$")
        self.assertIn("`./dev test`", (ROOT / "README.md").read_text())


class Versions(unittest.TestCase):
    """One version in all that a release has; `./dev release` asks, too."""

    def test_versions_agree(self):
        version = re.search(r"^project\(tilevm VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        released = re.findall(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
        self.assertEqual(released[0], version)
        self.assertIn(f'"version": "{version}"', (ROOT / "editors/vscode/package.json").read_text())
        self.assertIn(f"Version {version.rpartition('.')[0]}.", (ROOT / "README.md").read_text())


class Folders(unittest.TestCase):
    """The index of a folder lists its pages; the site's navigation is made of it."""

    def test_each_page_is_in_the_index_of_its_folder(self):
        folders = sorted({page.parent for page in ROOT.glob("docs/*/*.md")})
        self.assertGreater(len(folders), 4)
        for folder in folders:
            linked = re.findall(r"^\| \[[^\]]+\]\((\w+\.md)\) \|", (folder / "index.md").read_text(), re.MULTILINE)
            pages = {page.name for page in folder.glob("*.md")} - {"index.md"}
            with self.subTest(folder=folder.name):
                self.assertEqual(sorted(linked), sorted(pages))

    def test_no_page_is_outside_of_a_folder(self):
        self.assertEqual(list(ROOT.glob("docs/*.md")), [])

    def test_the_readme_opens_every_folder(self):
        text = (ROOT / "README.md").read_text()
        for index in ROOT.glob("docs/*/index.md"):
            self.assertIn(f"(docs/{index.parent.name}/index.md)", text)


class Questions(unittest.TestCase):
    """A stranger's questions: the page that the README's folders lead to names the file, which has the words."""

    PAGE = ROOT / "docs/inside/questions.md"

    def test_every_way_leads_to_its_words(self):
        rows = re.findall(r"^\| (.+\?) \| \[[^\]]+\]\(([^)#]+)(?:#[^)]*)?\) \| `([^`]+)`: `([^`]+)` \|$", self.PAGE.read_text(),
                          re.MULTILINE)
        self.assertEqual(len(rows), len(re.findall(r"^\| .*\?", self.PAGE.read_text(), re.MULTILINE)))
        self.assertGreaterEqual(len(rows), 16)
        for question, link, file, words in rows:
            page = (self.PAGE.parent / link).resolve()
            with self.subTest(question=question):
                self.assertTrue(words in (ROOT / file).read_text(), f"{file} does not have `{words}`")
                if page != ROOT / file:
                    self.assertTrue(file in page.read_text(), f"{page.name} does not name {file}")

    def test_readers_can_finish_a_page(self):
        for page in sorted(ROOT.glob("docs/*/*.md")):
            if page.name != "isa.md":  # generated; the site has a page for each instruction
                with self.subTest(page=page.name):
                    self.assertLess(len(page.read_text().split()), 4001)


class QuantizedMatmul(unittest.TestCase):
    """A reader can change the quantised product: small files, few tunables, each explained in its page."""

    PAGE = ROOT / "docs/kernels/quantized_matmul.md"
    FILES = sorted(ROOT.glob("programs/quantized_matmul/*.tile"))

    def test_files_are_small_and_in_the_page(self):
        named = set(re.findall(r"^\| `programs/quantized_matmul/(\w+\.tile)` \|", self.PAGE.read_text(), re.MULTILINE))
        self.assertEqual(named, {file.name for file in self.FILES})
        for file in self.FILES:
            with self.subTest(file=file.name):
                self.assertLess(len(file.read_text().splitlines()), 200)

    def test_tunables_are_few_and_explained(self):
        rows = "\n".join(re.findall(r"^\| ([A-Z_, ]+) \|", self.PAGE.read_text(), re.MULTILINE))
        explained = set(re.findall(r"\w+", rows))
        for file in self.FILES:
            tunables = re.findall(r"^const (\w+)(?:: *\w+)? in \[", file.read_text(), re.MULTILINE)
            with self.subTest(file=file.name):
                self.assertLess(len(tunables), 10)
                self.assertEqual(set(tunables) - explained, set())
                self.assertEqual(len(tunables) >= 8, file.stem.endswith("_rows"))


if __name__ == "__main__":
    unittest.main()
