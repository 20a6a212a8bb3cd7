"""The files of editors/ agree with the language. Usage: editors_test.py TILEVM."""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

from lsp_client import Client

ROOT = pathlib.Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"
TILEVM = sys.argv.pop(1) if len(sys.argv) > 1 else "tilevm"

# What the server calls a token, by what a highlighter calls it. A highlighter cannot know what a name
# stands for, so all of these are names to it.
NAMES = {"enumMember", "parameter", "variable", "method", "interface"}
KINDS = {"keyword": "keyword", "instruction": "function", "layout": "macro", "type": "type", "operand": "property",
         "decorator": "decorator", "number": "number", "string": "string", "comment": "comment"}
FILES = [file for files in ("programs/*.tile", "programs/quantized_matmul/*.tile", "tests/filetests/run/*.tile")
         for file in sorted(ROOT.glob(files))]


def parser_tokens(client, file):
    """{(line, begin, length): kind} as the parser sees the file; names are "name"."""
    uri = file.as_uri()
    client.open(uri, file.read_text())
    data = client.of("textDocument/semanticTokens/full", uri)["data"]
    legend = client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    tokens, line, begin = {}, 0, 0
    for i in range(0, len(data), 5):
        begin = data[i + 1] if data[i] else begin + data[i + 1]
        line += data[i]
        kind = legend[data[i + 3]]
        tokens[(line, begin, data[i + 2])] = "name" if kind in NAMES else kind
    return tokens


def name_if_unknown(kind):
    return KINDS.get(kind, "name")


def textmate_tokens(grammar, text):
    """The line as the grammar sees it: on each line, at each place the first pattern that matches."""
    kinds = {scope: kind for kind, scope in generate().TEXTMATE.items()}
    rules = [(kinds[rule["name"].removesuffix(".tilevm")], re.compile(rule["match"])) for rule in grammar["patterns"]]
    tokens = {}
    for number, line in enumerate(text.split("\n")):
        at = 0
        while at < len(line):
            found = [(match.start(), i, match) for i, (_, rule) in enumerate(rules) if (match := rule.search(line, at))]
            if not found:
                break
            _, i, match = min(found, key=lambda one: one[:2])
            tokens[(number, match.start(), match.end() - match.start())] = name_if_unknown(rules[i][0])
            at = max(match.end(), at + 1)
    return tokens


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generate():
    return load(EDITORS / "generate.py")


def lexer_tokens(text):
    """The line as the Pygments lexer sees it; without Pygments its rules are run as Pygments would."""
    try:
        from pygments.lexer import RegexLexer  # noqa: F401
        module = load(EDITORS / "pygments/tilevm_lexer.py")
        found = module.TilevmLexer(ensurenl=False, stripnl=False).get_tokens_unprocessed(text)
        pairs = [(at, str(kind).removeprefix("Token.").replace("Literal.", ""), value) for at, kind, value in found]
    except ImportError:
        pairs = run_rules(text)
    kinds = {scope: kind for kind, scope in generate().PYGMENTS.items()}
    tokens = {}
    for at, kind, value in pairs:
        if kind == "Text" or kind.startswith("Text."):
            continue
        line = text.count("\n", 0, at)
        begin = at - (text.rfind("\n", 0, at) + 1)
        tokens[(line, begin, len(value))] = name_if_unknown(kinds[kind])
    return tokens


class Scopes:
    def __init__(self, name=""):
        self.name = name

    def __getattr__(self, name):
        return Scopes(f"{self.name}.{name}".lstrip("."))


def run_rules(text):
    lexer, token = types.ModuleType("pygments.lexer"), types.ModuleType("pygments.token")
    lexer.RegexLexer = object
    for name in ("Comment", "Keyword", "Name", "Number", "String", "Text"):
        setattr(token, name, Scopes(name))
    sys.modules.update({"pygments": types.ModuleType("pygments"), "pygments.lexer": lexer, "pygments.token": token})
    try:
        rules = load(EDITORS / "pygments/tilevm_lexer.py").TilevmLexer
    finally:
        for name in ("pygments", "pygments.lexer", "pygments.token"):
            del sys.modules[name]
    compiled = [(re.compile(rule, rules.flags), kind.name) for rule, kind in rules.tokens["root"]]
    at, pairs = 0, []
    while at < len(text):
        for rule, kind in compiled:
            if match := rule.match(text, at):
                pairs.append((at, kind, match.group()))
                break
        at = max(match.end(), at + 1)
    return pairs


def without_defaults(tokens, text):
    """A parameter with a default looks like an operand, `name=`, to highlighters."""
    lines = text.split("\n")
    return {place: "name" if kind == "property" and lines[place[0]].startswith("def ") else kind
            for place, kind in tokens.items()}


class Highlighters(unittest.TestCase):
    def compare(self, tokens_of):
        with Client(TILEVM) as client:
            for file in FILES:
                wanted = parser_tokens(client, file)
                given = without_defaults(tokens_of(file.read_text()), file.read_text())
                # Names that the parser does not resolve (in a faulty statement) have no token there.
                given = {place: kind for place, kind in given.items() if place in wanted or kind != "name"}
                differences = sorted((place, wanted.get(place), given.get(place))
                                     for place in set(wanted) | set(given) if wanted.get(place) != given.get(place))
                self.assertEqual(differences[:5], [], file.name)

    def test_the_textmate_grammar_agrees_with_the_parser(self):
        grammar = json.loads((EDITORS / "vscode/syntaxes/tilevm.tmLanguage.json").read_text())
        self.compare(lambda text: textmate_tokens(grammar, text))

    def test_the_pygments_lexer_agrees_with_the_parser(self):
        self.compare(lexer_tokens)

    def test_inout_is_a_keyword_to_all(self):
        file = ROOT / "tests/filetests/run/pipeline_parameters.tile"
        text = file.read_text()
        grammar = json.loads((EDITORS / "vscode/syntaxes/tilevm.tmLanguage.json").read_text())
        with Client(TILEVM) as client:
            found = [parser_tokens(client, file), textmate_tokens(grammar, text), lexer_tokens(text)]
        lines = text.split("\n")
        places = [(i, line.index("inout"), 5) for i, line in enumerate(lines) if re.search(r"\binout \w+:", line)]
        self.assertTrue(places)
        for tokens in found:
            self.assertEqual({tokens[place] for place in places}, {"keyword"})

    def test_a_wrong_grammar_would_be_found(self):
        grammar = json.loads((EDITORS / "vscode/syntaxes/tilevm.tmLanguage.json").read_text())
        grammar["patterns"] = [rule for rule in grammar["patterns"] if "support.type" not in rule["name"]]
        with self.assertRaises(AssertionError):
            self.compare(lambda text: textmate_tokens(grammar, text))

    def test_word_lists_are_those_of_the_language(self):
        subprocess.run([sys.executable, "-B", EDITORS / "generate.py", TILEVM, "--check"], check=True)


class Extension(unittest.TestCase):
    def test_its_files_exist_and_its_commands_are_those_of_the_server(self):
        manifest = json.loads((EDITORS / "vscode/package.json").read_text())
        contributes = manifest["contributes"]
        files = [manifest["main"]] + [one["path"] for one in contributes["grammars"] + contributes["snippets"]]
        files += [one["configuration"] for one in contributes["languages"]]
        for file in files:
            self.assertTrue((EDITORS / "vscode" / file).exists(), file)
        with Client(TILEVM) as client:
            program = ROOT / "programs/vector_add.tile"
            client.open(program.as_uri(), program.read_text())
            lenses = client.of("textDocument/codeLens", program.as_uri())
        of_server = {lens["command"]["command"] for lens in lenses} - {""}
        of_extension = {one["command"] for one in contributes["commands"]}
        self.assertLessEqual(of_server, of_extension)
        source = (EDITORS / "vscode/extension.js").read_text()
        for command in of_extension:
            self.assertIn(f'"{command}"', source)
        neovim = (EDITORS / "nvim/lua/tilevm.lua").read_text()
        for command in of_server:
            self.assertIn(f'"{command}"', neovim)

    def test_snippets_are_valid_programs(self):
        snippets = json.loads((EDITORS / "vscode/snippets/tilevm.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            for name, snippet in snippets.items():
                text = "\n".join(snippet["body"]) + "\n"
                defaults = dict(re.findall(r"\$\{(\d+):([^}]*)\}", text))
                text = re.sub(r"\$\{(\d+):[^}]*\}", lambda match: defaults[match.group(1)], text).replace("$0", "")
                if "def " not in text:
                    text += "def empty<1>():\n    pass\n"
                program = pathlib.Path(folder) / "snippet.tile"
                program.write_text(text)
                done = subprocess.run([TILEVM, "check", program], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
