"""The site, built as `./dev site` builds it: site_test.py TILEVM. Every link and anchor leads somewhere inside, nothing
is fetched from elsewhere, every program is in the gallery, every instruction has a page, and the search knows the pages.
77: no MkDocs or no Pygments."""

import html.parser
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TILEVM = sys.argv[1]

for module in ("mkdocs", "pygments"):
    if importlib.util.find_spec(module) is None:
        print(f"SKIP: there is no {module} (Debian: mkdocs, python3-pygments)")
        sys.exit(77)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        if "href" in given and tag == "a":
            self.links.append(given["href"])
        self.loads += [given[name] for name in ("src", "href") if name in given and tag in ("script", "link", "img")]


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([sys.executable, "-B", str(ROOT / "docs/site/build_site.py"), TILEVM, cls.folder.name], check=True)
        cls.html = pathlib.Path(cls.folder.name) / "html"
        # Reports are pages of another kind; 404.html has addresses from a server's root.
        cls.pages = {file: Page(file.read_text()) for file in cls.html.rglob("*.html")
                     if file.parent.name != "reports" and file.name != "404.html"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_blocks_of_code_are_blocks(self):
        for file in self.pages:
            self.assertNotRegex(re.sub(r"<(pre|code).*?</\1>", "", file.read_text(), flags=re.DOTALL), "```", file.name)

    def test_links_have_titles(self):
        home = (self.html / "index.html").read_text()
        self.assertIn('<a href="start/index.html">start</a>', home)
        start = (self.html / "start/index.html").read_text()
        self.assertIn('<a href="first_kernel.html">A first kernel</a>', start)
        self.assertNotRegex(home + start, r'<a href="[\w/]+\.html">[^<]*\.md</a>')

    def test_links_and_anchors_lead_somewhere(self):
        count = 0
        for file, page in self.pages.items():
            for link in [*page.links, *page.loads]:
                if re.match(r"(https?|mailto|data|javascript):", link):
                    continue
                target, _, anchor = link.partition("#")
                found = (file.parent / target).resolve() if target else file
                with self.subTest(page=file.name, link=link):
                    self.assertTrue(found.exists())
                    if anchor and found in self.pages:
                        self.assertIn(anchor, self.pages[found].anchors)
                count += 1
        self.assertGreater(count, 1000)

    def test_nothing_comes_from_elsewhere(self):
        for file, page in self.pages.items():
            for each in page.loads:
                self.assertNotRegex(each, r"^(https?:)?//", file.name)

    def test_every_program_is_in_the_gallery(self):
        text = (self.html / "gallery.html").read_text()
        for program in ROOT.glob("programs/**/*.tile"):
            title = program.relative_to(ROOT / "programs").as_posix().removesuffix(".tile")
            self.assertRegex(text, rf"<h2 id=\"[^\"]*\">{re.escape(title)}<")
        reports = re.findall(r'href="(reports/[^"]*)"', text)
        self.assertGreater(len(reports), 20)
        for report in reports:
            if report.endswith(".html"):
                self.assertIn(f'src="{report[:-5]}.svg"', text)
            self.assertIn("<svg", (self.html / report).read_text(), report)

    def test_every_instruction_has_a_page_with_its_tests(self):
        mnemonics = re.findall(r"^### (\w+)$", (ROOT / "docs/reference/isa.md").read_text(), re.MULTILINE)
        self.assertGreater(len(mnemonics), 90)
        table = self.pages[self.html / "reference/isa.html"]
        for mnemonic in mnemonics:
            with self.subTest(mnemonic=mnemonic):
                self.assertIn(f"instructions/{mnemonic}.html", table.links)
                self.assertIn(mnemonic.lower(), table.anchors)  # as in the page that holds all of them
                own = (self.html / f"reference/instructions/{mnemonic}.html").read_text()
                self.assertIn(f"<code>{mnemonic}(", own)
                self.assertIn("tests-and-programs", own)

    def test_code_has_the_colours_of_the_own_lexer_on_light_and_dark_screens(self):
        home = (self.html / "index.html").read_text()
        self.assertIn('<span class="nb">LoadShared</span>', home)
        self.assertIn('<span class="report-error">error</span>: `LoadShared` races', home)
        light, _, dark = (self.html / "site.css").read_text().rpartition("@media (prefers-color-scheme: dark)")
        for style in (light, dark):
            self.assertRegex(style, r"\.highlight \.nb \{ color: #\w+")

    def test_the_front_page_has_a_picture_and_the_playground(self):
        home = (self.html / "index.html").read_text()
        self.assertRegex(home, r'<img [^>]*src="front\.svg"')
        self.assertRegex(home, r'<a class="way" href="(playground/index|start/playground)\.html">Playground</a>')
        self.assertIn("<svg", (self.html / "front.svg").read_text())

    def test_commands_and_codes_are_the_commands_own(self):
        commands = self.pages[self.html / "commands.html"].anchors
        self.assertTrue({"tilevm-run", "tilevm-diff", "tilevm-completion"} <= commands, commands)
        self.assertIn("tv0104", self.pages[self.html / "codes.html"].anchors)

    def test_the_search_knows_the_pages(self):
        index = json.loads((self.html / "search/search_index.json").read_text())
        found = {each["location"].split("#")[0] for each in index["docs"] if "bank conflict" in each["text"]}
        self.assertIn("guides/pictures.html", found)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
