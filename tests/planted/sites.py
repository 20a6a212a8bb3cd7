"""Where a single change can be planted, found in the syntax tree that clang makes of a source.

A site is an expression or a statement, what it becomes, and how both can be in one build:

  choice     (::planted::is(7) ? (a <= b) : (a < b))
  negation   ::planted::is(7) != static_cast<bool>(a < b)
  guard      if (!::planted::is(7)) continue;
  inline     the new text itself has the choice, as the word PLANTED
  text       only a substitution, in text that a test reads at run time

Needs python3-clang-19. Text that clang cannot read (device code with PTX) has sites by pattern.
"""

import re

SWAPPED = {
    "LT": ("<", "<="), "LE": ("<=", "<"), "GT": (">", ">="), "GE": (">=", ">"),
    "EQ": ("==", "!="), "NE": ("!=", "=="), "LAnd": ("&&", "||"), "LOr": ("||", "&&"),
    "Shl": ("<<", ">>"), "Shr": (">>", "<<"), "And": ("&", "|"), "Or": ("|", "&"),
    "Add": ("+", "-"), "Sub": ("-", "+"), "Rem": ("%", "/"), "Div": ("/", "*"), "Mul": ("*", "+"),
}
KIND_OF = {
    "LT": "off by one", "LE": "off by one", "GT": "off by one", "GE": "off by one",
    "EQ": "negated comparison", "NE": "negated comparison", "LAnd": "wrong logic",
    "LOr": "wrong logic", "Shl": "wrong shift", "Shr": "wrong shift", "And": "wrong mask",
    "Or": "wrong mask", "Add": "wrong offset", "Sub": "wrong offset", "Rem": "wrong division",
    "Div": "wrong division", "Mul": "wrong scale",
}
# Words of emitted code; each is another valid word in its place, or none.
WORDS = [(".trans", ""), (" + ", " - "), (" < ", " <= "), (" && ", " || "), (" * ", " + "),
         (" & ", " | "), (" << ", " >> "), (" % ", " / "), ("true", "false"), (" == ", " != "),
         ("signed", "unsigned"), ("relaxed", "weak"), ("lane", "warp")]


class Site:
    """One change: `old` at `begin` of the file becomes `new`; `form` says how both are built."""

    def __init__(self, path, begin, old, new, kind, form):
        self.path, self.begin, self.old, self.new = path, begin, old, new
        self.kind, self.form, self.line = kind, form, 0

    @property
    def end(self):
        return self.begin + len(self.old)

    def as_dict(self):
        return dict(self.__dict__)


def instrumented(site, number):
    """The text in which the change is chosen at run time."""
    chosen = f"::planted::is({number})"
    if site["form"] == "inline":
        return site["new"].replace("PLANTED", chosen)
    if site["form"] == "negation":
        return f"({chosen} != static_cast<bool>({site['old']}))"
    if site["form"] == "guard":
        return f"if (!{chosen}) {site['old']}"
    return f"({chosen} ? ({site['new']}) : ({site['old']}))"


def with_number_changed(text):
    """The text with its first number one greater; None if it has none."""
    changed = re.sub(r"(?<![\w.{])\d+", lambda m: str(int(m.group()) + 1), text, count=1)
    return changed if changed != text else None


def changes_of_format(literal):
    """Other format strings with the same fields."""
    result = [literal.replace(old, new, 1) for old, new in WORDS if old in literal]
    number = with_number_changed(literal)
    return result + ([number] if number else [])


class Finder:
    """Walks one translation unit. `index` is clang.cindex; the text is that of the main file."""

    def __init__(self, index, path, text, wanted):
        self.c, self.path, self.text, self.wanted = index, path, text, wanted
        self.data = text.encode()
        self.sites = []

    def source(self, cursor):
        """The cursor's text and where it begins; None if it is not plainly in the file."""
        begin, end = cursor.extent.start, cursor.extent.end
        if not begin.file or begin.file.name != self.wanted or end.file.name != self.wanted:
            return None
        if begin.offset >= end.offset:
            return None
        return self.data[begin.offset:end.offset].decode(errors="replace"), begin.offset

    def add(self, cursor, new, kind, form):
        found = self.source(cursor)
        if found is None or new is None or "\n#" in found[0] or "TILEVM_" in found[0]:
            return
        if new != found[0] or form != "choice":
            self.sites.append(Site(self.path, found[1], found[0], new, kind, form))

    def walk(self, cursor, parent=None, constant=False):
        kind = cursor.kind
        K = self.c.CursorKind
        if kind in (K.ENUM_DECL, K.STATIC_ASSERT, K.CASE_STMT, K.TEMPLATE_NON_TYPE_PARAMETER,
                    K.TYPE_ALIAS_DECL, K.CXX_BASE_SPECIFIER, K.ANNOTATE_ATTR):
            if kind != K.CASE_STMT:
                return
        if kind == K.VAR_DECL:
            tokens = self.source(cursor)
            constant = constant or tokens is None or "constexpr" in tokens[0][:60]
        if not constant:
            self.visit(cursor, parent)
        children = list(cursor.get_children())
        for position, child in enumerate(children):
            if kind == K.CASE_STMT and position == 0:
                continue
            if child.kind in (K.TYPE_REF, K.TEMPLATE_REF):
                continue
            self.walk(child, cursor, constant)

    def visit(self, cursor, parent):
        K = self.c.CursorKind
        kind = cursor.kind
        if kind == K.BINARY_OPERATOR:
            self.visit_binary(cursor)
        elif kind == K.IF_STMT:
            self.visit_condition(cursor)
        elif kind == K.RETURN_STMT:
            self.visit_return(cursor)
        elif kind == K.CONTINUE_STMT:
            self.add(cursor, "", "dropped continue", "guard")
        elif kind == K.CALL_EXPR:
            self.visit_call(cursor, parent)
        elif kind == K.INTEGER_LITERAL:
            self.visit_literal(cursor, parent)

    def is_number(self, cursor):
        T = self.c.TypeKind
        numbers = (T.INT, T.UINT, T.LONG, T.ULONG, T.LONGLONG, T.ULONGLONG, T.SHORT, T.USHORT,
                   T.UCHAR, T.CHAR_S, T.SCHAR, T.INT128, T.UINT128, T.BOOL, T.FLOAT, T.DOUBLE)
        if self.path.endswith(".cuh"):
            numbers += (T.DEPENDENT, T.UNEXPOSED)
        return cursor.type.get_canonical().kind in numbers

    def visit_binary(self, cursor):
        name = cursor.binary_operator.name
        children = list(cursor.get_children())
        if name not in SWAPPED or len(children) != 2:
            return
        left, right = map(self.source, children)
        whole = self.source(cursor)
        if not left or not right or not whole or not self.is_number(cursor):
            return
        if name not in ("LAnd", "LOr", "EQ", "NE") and not all(map(self.is_number, children)):
            return
        begin, end = left[1] + len(left[0].encode()), right[1]
        between = self.data[begin:end].decode()
        old, new = SWAPPED[name]
        if between.count(old) != 1:
            return
        text = whole[0]
        at = begin - whole[1]
        changed = text[:at] + between.replace(old, new) + text[at + len(between):]
        if name == "Shl" or name == "Shr" or name == "And" or name == "Or":
            changed = text[:at] + between.replace(old, new) + "(" + text[at + len(between):] + ")"
        self.add(cursor, changed, KIND_OF[name], "choice")

    def visit_condition(self, cursor):
        K = self.c.CursorKind
        children = list(cursor.get_children())
        found = self.source(cursor)
        if not children or not found or re.match(r"if\s+constexpr", found[0]):
            return
        condition = children[0]
        place = self.source(condition)
        if not place or condition.kind in (K.DECL_STMT, K.VAR_DECL):
            return
        if not re.match(r"if\s*\($", found[0][:place[1] - found[1]]):
            return
        self.add(condition, f"!({place[0]})", "negated condition", "negation")

    def visit_return(self, cursor):
        children = list(cursor.get_children())
        if len(children) == 1 and children[0].type.get_canonical().kind == self.c.TypeKind.BOOL:
            found = self.source(children[0])
            if found and found[0] not in ("true", "false"):
                self.add(children[0], f"!({found[0]})", "negated result", "negation")

    def visit_call(self, cursor, parent):
        K = self.c.CursorKind
        found = self.source(cursor)
        if not found or cursor.spelling.startswith("operator"):
            return
        if parent is not None and parent.kind == K.COMPOUND_STMT and "(" in found[0]:
            if not found[0].startswith(("static_cast", "TILEVM")):
                self.add(cursor, "", "dropped call", "guard")
        arguments = [self.source(each) for each in cursor.get_arguments()]
        if any(each is None for each in arguments):
            return
        kinds = [each.type.get_canonical().spelling for each in cursor.get_arguments()]
        for i in range(len(arguments) - 1):
            a, b = arguments[i], arguments[i + 1]
            if kinds[i] != kinds[i + 1] or a[0] == b[0] or not kinds[i] or a[1] >= b[1]:
                continue
            if cursor.type.get_canonical().kind == self.c.TypeKind.VOID or "{" in found[0]:
                continue
            data = self.data[found[1]:found[1] + len(found[0].encode())]
            swapped = (data[:a[1] - found[1]] + b[0].encode() +
                       data[a[1] - found[1] + len(a[0].encode()):b[1] - found[1]] + a[0].encode() +
                       data[b[1] - found[1] + len(b[0].encode()):])
            self.add(cursor, swapped.decode(), "swapped operands", "choice")
            break
        if found[0].startswith("fmt::format(") and arguments:
            begin = found[0].index("(") + 1
            literal = re.match(r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', found[0][begin:])
            for changed in changes_of_format(literal.group(1)) if literal else []:
                rest = found[0][begin + literal.end():]
                self.add(cursor, found[0][:begin] + changed + rest, "wrong code", "choice")

    def visit_literal(self, cursor, parent):
        K = self.c.CursorKind
        found = self.source(cursor)
        if not found or not re.fullmatch(r"\d+[uU]?(?:ll|LL)?", found[0]):
            return
        if parent is None or parent.kind in (K.TEMPLATE_REF, K.DECL_REF_EXPR, K.FIELD_DECL,
                                             K.INIT_LIST_EXPR, K.ARRAY_SUBSCRIPT_EXPR,
                                             K.TYPE_REF, K.PARM_DECL, K.MEMBER_REF_EXPR):
            return
        digits = re.match(r"\d+", found[0]).group()
        self.add(cursor, str(int(digits) + 1) + found[0][len(digits):], "off by one", "choice")


def find(index, path, text, arguments, root, unit=None, unsaved=None):
    """The sites of a file, from the translation unit `unit` (the file itself if left out)."""
    tree = index.Index.create().parse(unit or f"{root}/{path}", args=arguments,
                                      unsaved_files=unsaved or [])
    finder = Finder(index, path, text, f"{root}/{path}")
    for cursor in tree.cursor.get_children():
        if cursor.location.file and cursor.location.file.name == f"{root}/{path}":
            finder.walk(cursor)
    return finder.sites


DEVICE_PATTERNS = [
    (r"(?<= )<<(?= )", ">>", "wrong shift"), (r"(?<= )>>(?= )", "<<", "wrong shift"),
    (r"(?<=\w) & (?=\w)", " | ", "wrong mask"), (r"(?<=\w) \+ (?=\w)", " - ", "wrong offset"),
    (r"(?<=\w) < (?=\w)", " <= ", "off by one"), (r"(?<=\w) == (?=\w)", " != ",
                                                  "negated comparison"),
    (r"(?<= )&&(?= )", "||", "wrong logic"),
    (r"^  (?:asm volatile|[a-z_]+)\([^;]*\);$", "", "dropped statement"),
    (r"\.aligned", "", "wrong mode"), (r"\.release", ".relaxed", "wrong mode"),
    (r"\.acquire", ".relaxed", "wrong mode"), (r"\.trans", "", "wrong mode"),
    (r"(?<=[ (])1(?=[ ),;])", "2", "off by one"), (r"(?<=[ (])31(?=[ ),;])", "30", "wrong mask"),
]


def find_by_pattern(path, text):
    """Sites of device code: each is a substitution in text that is compiled at run time."""
    sites = []
    for pattern, new, kind in DEVICE_PATTERNS:
        for match in re.finditer(pattern, text, re.MULTILINE):
            line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
            if "//" not in line and not line.startswith(("#", "template")):
                sites.append(Site(path, match.start(), match.group(), new, kind, "text"))
    return sites
