"""The generic form of an MLIR module, read into operations.

Only the generic form is read (`"dialect.name"(operands) <{properties}> ({regions}) {attributes} : types loc(..)`), whose
grammar is one for all operations; no operation's own syntax is known here.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

MOST_DEPTH = 200


class Origin(NamedTuple):
    """Where a user's source has what an operation computes. `name` is the variable, or empty."""

    file: str
    line: int
    name: str = ""


class Operation:
    """One operation; `types_in` and `types_out` are texts in which aliases are expanded and blanks removed."""

    __slots__ = ("attributes", "name", "operands", "origin", "regions", "results", "successors", "types_in", "types_out")

    def __init__(self, name: str) -> None:
        self.name = name
        self.results: list[str] = []
        self.operands: list[str] = []
        self.successors: list[tuple[str, list[str]]] = []
        self.attributes: dict[str, str] = {}
        self.regions: list[list[Block]] = []
        self.types_in: list[str] = []
        self.types_out: list[str] = []
        self.origin: Origin | None = None

    def integer(self, name: str) -> int:
        """An integer attribute, such as `axis = 0 : i32`."""
        return int(self.attributes[name].split(":")[0])

    def integers(self, name: str) -> list[int]:
        """A dense array attribute, such as `array<i32: 1, 1, 0>`."""
        found = re.search(r"array<\w+(?::(.*))?>$", self.attributes[name])
        if not found:
            raise SyntaxError(f"`{name}` of `{self.name}` is not an array of integers: {self.attributes[name]}")
        return [int(each) for each in (found[1] or "").split(",") if each.strip()]

    def walk(self) -> Iterator[Operation]:
        """The operation and all inside of it."""
        yield self
        for region in self.regions:
            for block in region:
                for each in block.operations:
                    yield from each.walk()


class Block:
    """A block of a region: its label, its arguments with their types and names, its operations."""

    def __init__(self, label: str = "") -> None:
        self.label = label
        self.arguments: list[tuple[str, str, Origin | None]] = []
        self.operations: list[Operation] = []

    def defines(self) -> Iterator[str]:
        """The names of its arguments and of its operations' results."""
        for name, _, _ in self.arguments:
            yield name
        for each in self.operations:
            yield from each.results


class Reader:
    """Reads one module. SyntaxError: the text is not a generic form; the message has the text at the fault."""

    _blank = re.compile(r"\s*(//[^\n]*)?")
    _value = re.compile(r"%[\w$.\-]+(#\d+)?")
    _word = re.compile(r'"[^"]*"|[\w$.\-]+')

    def __init__(self, text: str) -> None:
        self._aliases: dict[str, str] = {}
        self._locations: dict[str, str] = {}
        body = []
        for line in text.split("\n"):
            alias = re.match(r"([#!][\w.]+) = (.*)$", line)
            if not alias:
                body.append(line)
            elif alias[2].startswith("loc("):
                self._locations[alias[1]] = alias[2][4:-1]
            else:
                self._aliases[alias[1]] = alias[2]
        self._text = "\n".join(body)
        self._at = 0
        self._depth = 0
        self._expanded: dict[str, str] = {}
        self._origins: dict[str, Origin | None] = {}

    def module(self) -> Operation:
        operation = self._operation()
        self._skip()
        if operation.name != "builtin.module" or self._at != len(self._text):
            raise self._fault("the end of the module")
        return operation

    # Characters.

    def _fault(self, wanted: str) -> SyntaxError:
        return SyntaxError(f"expected {wanted} at {self._text[self._at:self._at + 60]!r}")

    def _skip(self) -> None:
        while (found := self._blank.match(self._text, self._at)) and found.end() > self._at:
            self._at = found.end()

    def _peek(self, token: str) -> bool:
        self._skip()
        return self._text.startswith(token, self._at)

    def _eat(self, token: str) -> bool:
        if not self._peek(token):
            return False
        self._at += len(token)
        return True

    def _need(self, token: str) -> None:
        if not self._eat(token):
            raise self._fault(repr(token))

    def _take(self, pattern: re.Pattern[str], wanted: str) -> str:
        self._skip()
        found = pattern.match(self._text, self._at)
        if not found:
            raise self._fault(wanted)
        self._at = found.end()
        return found[0]

    _interesting = re.compile(r'["<>()\[\]{},]|->| loc\(|\n')

    def _balanced(self, stops: str) -> str:
        """The text up to one of `stops` outside of brackets; ` loc(`, `->` and a line's end stop as well."""
        self._skip()
        begin, depth = self._at, 0
        while found := self._interesting.search(self._text, self._at):
            token = found[0]
            if depth == 0 and (token in stops or token in (" loc(", "->", "\n")):
                self._at = found.start()
                return self._text[begin:self._at].strip()
            self._at = found.end()
            if token == '"':
                self._at = self._string_end(self._at)
            elif token in ("<", "(", "[", "{", " loc("):
                depth += 1
            elif token in (">", ")", "]", "}"):
                depth -= 1
                if depth < 0:
                    break
        raise self._fault(f"one of {stops!r}")

    def _string_end(self, begin: int) -> int:
        while self._text[begin:begin + 1] not in ('"', ""):
            begin += 2 if self._text[begin] == "\\" else 1
        return begin + 1

    # Types and locations.

    def _type(self, text: str) -> str:
        if text not in self._expanded:
            new, rounds = text, 0
            while rounds < 20 and (old := new) is not None:
                new = re.sub(r"[#!][A-Za-z_][\w]*(?![\w.])", lambda m: self._aliases.get(m[0], m[0]), old)
                rounds += 1
                if new == old:
                    break
            self._expanded[text] = new.replace(" ", "")
        return self._expanded[text]

    def _types(self) -> list[str]:
        self._need("(")
        found = []
        while not self._eat(")"):
            found.append(self._type(self._balanced(",)")))
            self._eat(",")
        return found

    def _location(self) -> Origin | None:
        if not self._eat("loc("):
            return None
        begin, depth = self._at, 1
        while depth:
            c = self._text[self._at:self._at + 1]
            if not c:
                raise self._fault("the end of a location")
            self._at += 1
            if c == '"':
                self._at = self._string_end(self._at)
            depth += (c == "(") - (c == ")")
        return self._origin(self._text[begin:self._at - 1])

    def _origin(self, text: str) -> Origin | None:
        """The innermost place in the user's file: the last one of a chain of calls."""
        if text not in self._origins:
            full, rounds = text, 0
            while "#loc" in full and rounds < 40 and len(full) < 20000:
                full = re.sub(r"#loc\d*", lambda m: self._locations.get(m[0], "unknown"), full)
                rounds += 1
            places = [m for m in re.findall(r'"([^"]*)":(\d+):\d+', full) if not m[0].endswith(("ttgir", "<stdin>"))]
            names = re.findall(r'"([A-Za-z_]\w*)"\(', full)
            self._origins[text] = Origin(places[-1][0], int(places[-1][1]), names[0] if names else "") if places else None
        return self._origins[text]

    # Operations.

    def _attributes(self, close: str) -> dict[str, str]:
        found = {}
        while not self._eat(close):
            name = self._take(self._word, "an attribute's name").strip('"')
            found[name] = self._value_of_attribute() if self._eat("=") else "unit"
            self._eat(",")
        return found

    def _value_of_attribute(self) -> str:
        """As _balanced(), without its stops at arrows and line ends: a function's type has an arrow."""
        self._skip()
        begin, depth = self._at, 0
        while found := re.compile(r'->|["<>()\[\]{},]').search(self._text, self._at):
            token = found[0]
            if depth == 0 and (token in (",", "}") or self._text.startswith("}>", found.start())):
                self._at = found.start()
                return self._text[begin:self._at].strip()
            self._at = found.end()
            if token == '"':
                self._at = self._string_end(self._at)
            elif token != "->":
                depth += (token in "<([{") - (token in ">)]}")
        raise self._fault("the end of an attribute")

    def _values(self, close: str) -> list[str]:
        found = []
        while not self._eat(close):
            found.append(self._take(self._value, "a value"))
            self._eat(",")
        return found

    def _operation(self) -> Operation:
        results: list[str] = []
        while self._peek("%"):
            name = self._take(self._value, "a result")
            count = int(self._take(re.compile(r"\d+"), "a number")) if self._eat(":") else 0
            results += [f"{name}#{k}" for k in range(count)] if count else [name]
            self._eat(",")
        if results:
            self._need("=")
        operation = Operation(self._take(re.compile(r'"[^"]+"'), "an operation's name").strip('"'))
        operation.results = results
        self._need("(")
        operation.operands = self._values(")")
        if self._eat("["):
            self._successors(operation)
        if self._eat("<{"):
            operation.attributes.update(self._attributes("}>"))
        if self._eat("("):
            while not self._eat(")"):
                self._need("{")
                operation.regions.append(self._region())
                self._eat(",")
        if self._eat("{"):
            operation.attributes.update(self._attributes("}"))
        self._need(":")
        operation.types_in = self._types()
        self._need("->")
        operation.types_out = self._types() if self._peek("(") else [self._type(self._balanced(",)"))]
        operation.origin = self._location()
        return operation

    def _successors(self, operation: Operation) -> None:
        while not self._eat("]"):
            label = self._take(re.compile(r"\^\w+"), "a block's label")
            operation.successors.append((label, []))
            self._eat(",")

    def _region(self) -> list[Block]:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise SyntaxError(f"regions nest more than {MOST_DEPTH} deep")
        blocks = [Block()]
        while not self._eat("}"):
            if self._peek("^"):
                block = Block(self._take(re.compile(r"\^\w+"), "a block's label"))
                if self._eat("("):
                    while not self._eat(")"):
                        name = self._take(self._value, "an argument")
                        self._need(":")
                        kind = self._type(self._balanced(",)"))
                        block.arguments.append((name, kind, self._location()))
                        self._eat(",")
                self._need(":")
                if not blocks[-1].operations and not blocks[-1].label:
                    blocks.pop()
                blocks.append(block)
            else:
                blocks[-1].operations.append(self._operation())
        self._depth -= 1
        return blocks


def read(text: str) -> Operation:
    """The module of a text in generic form. SyntaxError: it is none."""
    return Reader(text).module()
