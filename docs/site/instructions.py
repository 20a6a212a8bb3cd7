"""Pages of the site for instructions, one each, made of the generated reference and the index of tests."""

import re

REFERENCE = "reference/isa.md"


def name_of(mnemonic):
    return f"reference/instructions/{mnemonic}.md"


def entries(reference):
    """(category, mnemonic, text) of each instruction of docs/reference/isa.md, in its order."""
    found, category = [], ""
    for part in re.split(r"^(?=##)", reference, flags=re.MULTILINE):
        title, _, text = part.partition("\n")
        if title.startswith("### "):
            found.append((category, title[4:].strip(), text.strip()))
        elif title.startswith("## "):
            category = title[3:].strip()
    return found


def summary_of(text):
    """The sentence under the form of the call."""
    paragraphs = text.split("\n\n")
    return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""


def index_page(reference):
    """The reference as a table for each category, with the anchors that the whole page has."""
    text, last = reference.split("\n## ")[0].rstrip() + "\n", ""
    for category, mnemonic, about in entries(reference):
        if category != last:
            text += f"\n## {category}\n\n| instruction | what it does |\n|---|---|\n"
            last = category
        text += f'| <a id="{mnemonic.lower()}"></a>[`{mnemonic}`](instructions/{mnemonic}.md) | {summary_of(about)} |\n'
    return text


def tests_of(index, mnemonic):
    """The row of an instruction in tests/filetests/README.md: kind of test, links."""
    row = re.search(rf"^\| `{mnemonic}` \|(.*)\|$", index, re.MULTILINE)
    kinds = ("results", "faults", "checks", "code")
    return list(zip(kinds, (cell.strip() for cell in row[1].split("|")))) if row else []


def page(category, mnemonic, text, index):
    """The page of an instruction, whose links are those of the two sources' folders: (text, text of tests)."""
    tests = "".join(f"| {kind} | {links} |\n" for kind, links in tests_of(index, mnemonic) if links)
    table = f"\n## Tests and programs\n\n| what it shows | files |\n|---|---|\n{tests}" if tests else ""
    return f"# {mnemonic}\n\n[{category}](../isa.md#{category.lower().replace(' ', '-')})\n\n{text}\n", table
