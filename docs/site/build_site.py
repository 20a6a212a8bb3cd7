"""Builds the site: build_site.py TILEVM OUT. OUT/html is the site, OUT/pages what MkDocs read.

Pages are those of docs/ and the README. The command makes the rest: a gallery with every program, its counters and a
report with pictures; the help of every command; the codes of messages; the picture of the front page. Each instruction
of the reference has a page, with the tests that show it. Files of the repository that pages link to become pages of
their own, so that no link leads out of the site. Code has the colours of the project's own lexer.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import highlight  # noqa: E402
import instructions  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)?(#[^)\s]*)?(\))")
# Faults are what it is for.
WRONG = {"programs/figure9_as_printed.tile"}
INCLUDED = {"programs/quantized_matmul/hopper_weights.tile"}  # kernels that another program launches
# Pages that the command writes, and the folder whose navigation has them.
GENERATED = {"kernels": ["gallery.md"], "reference": ["commands.md", "codes.md"]}
# The picture of the front page: the accumulator of mma.m16n8k16, element by element.
FRONT_LAYOUT = "local(2, 1).spatial(8, 4).local(1, 2)"
PROJECT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "SECURITY.md": "SECURITY.md",
                 "CHANGELOG.md": "CHANGELOG.md"}


def title_of(page):
    """The heading of a page."""
    return re.search(r"^# (.*)$", page.read_text(), re.MULTILINE)[1]


def name_of_page(path):
    """Whether a file of the repository is a page of docs/."""
    return path.suffix == ".md" and path.is_relative_to(ROOT / "docs")


def linked_pages(index):
    """The pages that the index of a folder lists, in its order."""
    return re.findall(r"^\| \[[^\]]+\]\((\w+\.md)\) \|", index.read_text(), re.MULTILINE)


def navigation():
    """The site's navigation: the README's folders in its order, each with the pages of its index."""
    entries = [{"Home": "index.md"}]
    for folder in re.findall(r"^\| \[\w+\]\(docs/(\w+)/index\.md\)", (ROOT / "README.md").read_text(), re.MULTILINE):
        index = ROOT / "docs" / folder / "index.md"
        pages = [f"{folder}/{name}" for name in ["index.md", *linked_pages(index)]] + GENERATED.get(folder, [])
        entries.append({title_of(index): pages})
    return [*entries, {"Project": ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]}]


class Site:
    def __init__(self, tilevm, out):
        self.tilevm = str(pathlib.Path(tilevm).resolve())
        self.pages = out / "pages"
        self.files = {}  # of the repository, that pages link to: the page of each
        shutil.rmtree(out, ignore_errors=True)
        self.pages.mkdir(parents=True)

    def run(self, *words, statuses=(0,)):
        done = subprocess.run([self.tilevm, *words], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode not in statuses:
            raise SystemExit(f"tilevm {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout

    def page_of(self, path):
        """The page that has a file or folder of the repository, from OUT/pages."""
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("docs/") and path.suffix in (".md", ".svg"):
            return name.removeprefix("docs/")
        if name in PROJECT_PAGES:
            return PROJECT_PAGES[name]
        if name == "programs" or (path.is_dir() and name.startswith("programs/")):
            return "gallery.md"
        if path.is_dir():
            return "inside/architecture.md"
        return self.files.setdefault(path, f"files/{name.replace('/', '_')}.md")

    def with_links(self, text, folder, name):
        """The text of page `name`, written in `folder`, with links of the site; blocks of code stay as they are."""
        def link(found):
            target, anchor = found[2], found[3] or ""
            if not target or re.match(r"[a-z]+:", target):
                return found[0]
            path = (folder / target).resolve()
            if not path.exists():
                raise SystemExit(f"{folder}: there is no {target}")
            opening = found[1]
            page = self.page_of(path)
            if name_of_page(path) and re.fullmatch(r"\[([\w./]*/)?\w+\.md\]\(", opening):
                opening = f"[{title_of(path)}]("  # the name of a file says nothing on the site
            target = os.path.relpath(page, pathlib.PurePosixPath(name).parent)
            return opening + target + (anchor if page != "gallery.md" else "") + found[4]

        parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
        return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)

    def write(self, name, text):
        file = self.pages / name
        file.parent.mkdir(parents=True, exist_ok=True)
        # MkDocs takes "```tile scale.tile" for text: the name of the file is for the tests of pages.
        file.write_text(highlight.with_colors(re.sub(r"^(```\w+) \S.*$", r"\1", text, flags=re.MULTILINE)))

    def stage(self):
        for page in sorted(ROOT.glob("docs/**/*.md")):
            name = self.page_of(page)
            self.write(name, self.with_links(page.read_text(), page.parent, name))
        for picture in ROOT.glob("docs/**/*.svg"):
            shutil.copy(picture, self.pages / self.page_of(picture))
        style = pathlib.Path(__file__).with_name("site.css").read_text()
        (self.pages / "site.css").write_text(style + highlight.styles())
        for file, name in PROJECT_PAGES.items():
            self.write(name, self.with_links((ROOT / file).read_text(), ROOT, name))
        self.add_instructions()
        self.add_front()
        self.write("gallery.md", self.gallery())
        self.write("commands.md", self.commands())
        self.write("codes.md", self.codes())
        self.add_playground()
        for path, page in self.files.items():
            if path.suffix == ".svg":
                shutil.copy(path, self.pages / pathlib.Path(page).parent)
            name = path.relative_to(ROOT).as_posix()
            text = path.read_text()
            if path.suffix == ".md":
                body = re.sub(LINK, lambda found: found[1].split("](")[0].lstrip("![") if found[2] else found[0], text)
            else:
                fence = "````" if "```" in text else "```"
                body = f"# {path.name}\n\n`{name}`\n\n{fence}\n{text}\n{fence}\n"
            self.write(page, body)

    def add_instructions(self):
        """A page for each instruction, and the reference as a table of them."""
        folder, tests = ROOT / "docs/reference", ROOT / "tests/filetests"
        reference, index = (folder / "isa.md").read_text(), (tests / "README.md").read_text()
        self.write(instructions.REFERENCE, instructions.index_page(reference))
        for category, mnemonic, text in instructions.entries(reference):
            name = instructions.name_of(mnemonic)
            about, shown = instructions.page(category, mnemonic, text, index)
            about = re.sub(r"\bdocs/(\w+)/(\w+)\.md\b", r"[\2](../../\1/\2.md)", about)
            self.write(name, about + self.with_links(shown, tests, name))

    def add_front(self):
        """The front page: the README, with a picture and the ways in after its first sentence."""
        self.run("layout", FRONT_LAYOUT, "-o", str(self.pages / "front.svg"))
        has_playground = (ROOT / ".cache/playground/index.html").exists()
        ways = [("start/first_kernel.md", "A first kernel"),
                ("playground/index.html", "Playground") if has_playground else ("start/playground.md", "Playground"),
                ("gallery.md", "Gallery"), ("reference/isa.md", "Instructions")]
        links = " ".join(f"[{title}]({page}){{.way}}" for page, title in ways)
        text = self.with_links((ROOT / "README.md").read_text(), ROOT, "index.md")
        title, sentence, rest = text.split("\n\n", 2)
        picture = f"![Which thread holds which element of the result of a tensor-core instruction: {FRONT_LAYOUT}](front.svg)"
        self.write("index.md", f"{title}\n\n{picture}{{.front}}\n\n{sentence}\n{{.lead}}\n\n{links}\n{{.ways}}\n\n{rest}")

    def add_playground(self):
        """The page that `./dev playground` built, if it did."""
        page = ROOT / ".cache/playground/index.html"
        if not page.exists():
            return
        (self.pages / "playground").mkdir()
        links = re.compile(r'(<nav id="links"[^>]*>)(?:<a [^>]*>Docs</a>)?')
        self.write("playground/index.html", links.sub(r'\1<a href="../index.html">Docs</a>', page.read_text(), 1))
        text = (self.pages / "start/playground.md").read_text()
        opened = "\n\n**[Open the playground](../playground/index.html)**\n\n"
        self.write("start/playground.md", text.replace("\n\n", opened, 1))

    def commands(self):
        text = "# Commands\n\nWhat `tilevm COMMAND --help` says.\n"
        names = ["", *re.findall(r"^  ([a-z]+) ", self.run("--help").split("Subcommands:")[1], re.MULTILINE)]
        for name in names:
            said = self.run(*([name] if name else []), "--help")
            text += f"\n## tilevm {name}\n\n```\n{said.strip()}\n```\n"
        return text

    def codes(self):
        text = "# Codes of messages\n\nWhat `tilevm explain CODE` says.\n"
        for code in json.loads(self.run("explain", "--json"))["codes"]:
            text += f"\n## {code['code']}\n\n**{code['title']}**\n\n```\n{code['explanation']}\n```\n"
        return text

    def gallery(self):
        programs = sorted(each.relative_to(ROOT).as_posix() for each in ROOT.glob("programs/**/*.tile"))
        with concurrent.futures.ThreadPoolExecutor(max(os.cpu_count() or 1, 1)) as pool:
            entries = list(pool.map(self.entry, programs))
        return "# Gallery\n\nEvery program: what it does, a command to copy, when a block of a small run executes what, what " \
            "the run counts, and a report of it with pictures.\n" + "".join(entries)

    def picture(self, report, title):
        """The timeline of a report: which instructions a block executes, and when; a link to the report."""
        part = (self.pages / report).read_text().partition("<h2>Timeline</h2>")[2]
        drawn = re.search(r"<svg.*?</svg>", part, re.DOTALL)
        if drawn is None:
            raise SystemExit(f"{report} has no timeline")
        picture = report.removesuffix(".html") + ".svg"
        (self.pages / picture).write_text(drawn[0])
        return f"[![Timeline of a block of {title}]({picture})]({report})\n\n"

    def entry(self, name):
        text = (ROOT / name).read_text()
        head = []
        for line in text.splitlines():
            if not line.startswith("#") or re.match(r"# (test|reduce|program):", line):
                break
            head.append(line[1:].removeprefix(" "))
        about = "\n".join(head).strip() or "A part that other programs include."
        title = name.removeprefix("programs/").removesuffix(".tile")
        section = f"\n## {title}\n\n```\n{about}\n```\n\n"
        cases = re.findall(r"^# args: (.*)$", text, re.MULTILINE)
        is_program = re.search(r"^(pipeline \w+|def \w+<)", text, re.MULTILINE) is not None
        if not is_program or name in INCLUDED:
            return section + f"`{name}` is included by others.\n"
        if name in WRONG:
            said = self.run("check", name, statuses=(1,))
            return section + f"```\ntilevm check {name}\n```\n\nIt has faults, which the command names. {said}\n"
        words = cases[0].split() if cases else []
        command = " ".join(["tilevm run", name, *(f"'{w}'" if re.search(r"[\[\]*$ ]", w) else w for w in words)])
        section += f"```\n{command}\n```\n\n"
        report = f"reports/{title.replace('/', '_')}.html"
        (self.pages / "reports").mkdir(exist_ok=True)
        done = subprocess.run([self.tilevm, "run", name, *words, "--stats", "--json", "--report", str(self.pages / report)],
                              cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
        try:
            stats = json.loads(done.stdout)["stats"]
        except (ValueError, KeyError):
            raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}") from None
        section += self.picture(report, title)
        section += "| kernel | blocks | threads | bytes loaded | stored | bank conflicts | tensor cores |\n" \
            "|---|---|---|---|---|---|---|\n"
        for kernel in stats["kernels"]:
            totals = kernel["totals"]
            loaded = totals["global_load"]["bytes"] + totals["global_copy"]["bytes"]
            conflicts = totals["shared_load"]["bank_conflicts"] + totals["shared_store"]["bank_conflicts"]
            mma = ", ".join(f"{count} {shape}" for shape, count in kernel["tensor_cores"].items()) or "-"
            section += f"| `{kernel['kernel']}` | {kernel['blocks']} | {kernel['threads']} | {loaded} | " \
                f"{totals['global_store']['bytes']} | {conflicts} | {mma} |\n"
        return section + f"\n[Report of this run]({report}): cost by line, outputs, bank conflicts, timeline.\n"


def main():
    out = pathlib.Path(sys.argv[2]).resolve()
    site = Site(sys.argv[1], out)
    site.stage()
    settings = pathlib.Path(__file__).with_name("mkdocs.yml").read_text()
    (out / "mkdocs.yml").write_text(f"{settings}nav: {json.dumps(navigation())}\n")  # JSON is YAML
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", str(out / "mkdocs.yml")], check=True)
    print(f"{out / 'html' / 'index.html'}: {len(list((out / 'html').rglob('*.html')))} pages")


if __name__ == "__main__":
    main()
