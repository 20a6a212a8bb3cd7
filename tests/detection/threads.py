"""Random programs of one block, and an oracle for races, copies and needless barriers.

The oracle knows the rules of docs/reference/semantics.md and nothing of the simulator: it keeps every access
since the last barrier, element by element and byte by byte, and compares each pair.
"""
from dataclasses import dataclass, field

THREADS = 4


@dataclass(frozen=True)
class Layout:
    """A one-dimensional register layout: its text, and which threads hold each element."""
    text: str
    holders: tuple  # by element


def layouts(elements):
    """The layouts of a tile of so many elements over THREADS threads."""
    found = []

    def add(text, holders):
        found.append(Layout(text, tuple(tuple(h) for h in holders)))

    everyone = range(THREADS)
    add(f"replicated({THREADS}).local({elements})", [everyone] * elements)
    for copies in (1, 2):
        ways = THREADS // copies
        if elements % ways:
            continue
        each = elements // ways
        blocked = [[p + r * ways for r in range(copies)] for p in range(ways)]
        nearby = [[p * copies + r for r in range(copies)] for p in range(ways)]
        prefix = f"replicated({copies})." if copies > 1 else ""
        suffix = f".replicated({copies})" if copies > 1 else ""
        add(f"{prefix}spatial({ways}).local({each})", [blocked[e // each] for e in range(elements)])
        add(f"local({each}).{prefix}spatial({ways})", [blocked[e % ways] for e in range(elements)])
        if copies > 1:
            add(f"spatial({ways}){suffix}.local({each})",
                [nearby[e // each] for e in range(elements)])
    return found


@dataclass
class Statement:
    """A statement: store, load, copy, commit, wait, barrier. `row` may depend on the loop variable."""
    kind: str
    layout: Layout = None
    row: tuple = (0, 0)  # row = (first + step * k) % rows
    pending: int = 0
    line: int = 0


@dataclass
class Program:
    bits: int
    rows: int
    columns: int
    strides: tuple
    before: list
    body: list
    iterations: int
    after: list
    text: str = ""
    steps: list = field(default_factory=list)

    def offset(self, row, column):
        return row * self.strides[0] + column * self.strides[1]

    def statements(self):
        return self.before + self.body + self.after

    def executed(self):
        """Pairs of statement and loop variable, in order."""
        yield from ((s, 0) for s in self.before)
        for k in range(self.iterations):
            yield from ((s, k) for s in self.body)
        yield from ((s, 0) for s in self.after)


def write(program):
    """Makes the program's text, and sets the lines of its statements."""
    p = program
    dtype = {4: "u4", 3: "u3", 8: "u8", 16: "u16", 32: "i32"}[p.bits]
    strides = "" if p.strides == (p.columns, 1) else f", layout=strides({p.strides[0]}, {p.strides[1]})"
    lines = [f"@threads({THREADS})",
             f"def f<1>({dtype}* x_ptr, {dtype}* y_ptr):",
             f"    x = ViewGlobal(x_ptr, shape=[{p.rows}, {p.columns}])",
             f"    y = ViewGlobal(y_ptr, shape=[64, {p.columns}])",
             f"    s = AllocateShared({dtype}, shape=[{p.rows}, {p.columns}]{strides})"]
    count = 0

    def row_text(row):
        first, step = row
        return f"{first}" if step == 0 else f"({first} + {step} * k) % {p.rows}"

    def add(statement, indent):
        nonlocal count
        s, pad = statement, " " * indent
        s.line = len(lines) + 1
        if s.kind == "fill":
            lines.append(f"{pad}StoreShared(LoadGlobal(x, layout=replicated({THREADS}).local({p.rows}, "
                         f"{p.columns})), s)")
        elif s.kind == "store":
            lines.append(f"{pad}StoreShared(AllocateRegister({dtype}, layout={s.layout.text}, init=1), s, "
                         f"offset=[{row_text(s.row)}, 0:])")
        elif s.kind == "load":
            lines.append(f"{pad}StoreGlobal(LoadShared(s, layout={s.layout.text}, "
                         f"offset=[{row_text(s.row)}, 0:]), y, offset=[{count}, 0:])"
                         if indent == 4 else
                         f"{pad}StoreGlobal(LoadShared(s, layout={s.layout.text}, "
                         f"offset=[{row_text(s.row)}, 0:]), y, offset=[{count} + 16 * k, 0:])")
            count += 1
        elif s.kind == "copy":
            lines.append(f"{pad}CopyAsync(s, x, offset=[{row_text(s.row)}, 0:], "
                         f"shared_offset=[{row_text(s.row)}, 0:])")
        elif s.kind == "commit":
            lines.append(f"{pad}CopyAsyncCommitGroup()")
        elif s.kind == "wait":
            lines.append(f"{pad}CopyAsyncWaitGroup({s.pending})")
        elif s.kind == "barrier":
            lines.append(f"{pad}Synchronize()")

    for s in p.before:
        add(s, 4)
    if p.body:
        lines.append(f"    for k in range({p.iterations}):")
        for s in p.body:
            add(s, 8)
    for s in p.after:
        add(s, 4)
    p.text = "\n".join(lines) + "\n"
    return p


class Copy:
    def __init__(self, bytes_):
        self.bytes, self.group, self.retired = bytes_, None, False


class Machine:
    """The rules, for one run: `fault` is the first (code, line), or None."""

    def __init__(self, program, without=None):
        self.program, self.without = program, without
        self.accesses = []  # since the last barrier: (execution, {element offset: threads}, is write)
        self.copies, self.groups, self.fault = [], 0, None
        for execution, (statement, k) in enumerate(program.executed()):
            if statement is without:
                continue
            self.step(execution, statement, k)
            if self.fault:
                return

    def bytes_of(self, offset):
        bits = self.program.bits
        return range(offset * bits // 8, (offset * bits + bits - 1) // 8 + 1)

    def elements(self, statement, k):
        """(offset, threads) of each element of the statement's tile."""
        p = self.program
        if statement.kind == "fill":
            return [(p.offset(r, c), tuple(range(THREADS))) for r in range(p.rows)
                    for c in range(p.columns)]
        row = (statement.row[0] + statement.row[1] * k) % p.rows
        holders = statement.layout.holders if statement.layout else [()] * p.columns
        return [(p.offset(row, c), holders[c]) for c in range(p.columns)]

    def step(self, execution, s, k):
        if s.kind in ("fill", "store", "load"):
            self.access(execution, s, self.elements(s, k), s.kind != "load")
        elif s.kind == "copy":
            self.copy(s, self.elements(s, k))
        elif s.kind == "commit":
            self.groups += 1
            for copy in self.copies:
                copy.group = copy.group or self.groups
        elif s.kind == "wait":
            for copy in self.copies:
                if copy.group and copy.group <= self.groups - s.pending:
                    copy.retired = True
        elif s.kind == "barrier":
            self.accesses = []
            self.copies = [copy for copy in self.copies if not copy.retired]

    def in_flight(self, elements):
        flying = {b for copy in self.copies for b in copy.bytes}
        return any(b in flying for offset, _ in elements for b in self.bytes_of(offset))

    def access(self, execution, s, elements, is_write):
        if self.in_flight(elements):
            self.fault = ("TV0405", s.line)
            return
        if is_write and self.overlaps(elements):
            self.fault = ("TV0406", s.line)
            return
        mine = {}  # byte -> {thread: offsets}
        for offset, threads in elements:
            for b in self.bytes_of(offset):
                for t in threads:
                    mine.setdefault(b, {}).setdefault(t, set()).add(offset)
        for theirs, their_write in self.accesses:
            if not (is_write or their_write):
                continue
            for b, threads in mine.items():
                for t, offsets in threads.items():
                    others = [u for u in theirs.get(b, {}) if u != t]
                    if not others:
                        continue
                    own = theirs[b].get(t, set())
                    # What a thread stored itself, with others, it may load back.
                    if not is_write and offsets <= own:
                        continue
                    self.fault = ("TV0406", s.line)
                    return
        self.accesses.append((mine, is_write))

    def overlaps(self, elements):
        """Different elements of one store on one address: one of them is lost, whichever threads store them."""
        return len({offset for offset, _ in elements}) < len(elements)

    def copy(self, s, elements):
        if self.in_flight(elements):
            self.fault = ("TV0405", s.line)
            return
        if self.overlaps(elements):
            self.fault = ("TV0406", s.line)
            return
        touched = {b for theirs, _ in self.accesses for b in theirs}
        bytes_ = {b for offset, _ in elements for b in self.bytes_of(offset)}
        if bytes_ & touched:
            self.fault = ("TV0406", s.line)
            return
        self.copies.append(Copy(bytes_))


def expected(program):
    """The fault as (code, line), or None and the lines of the needless barriers and waits."""
    fault = Machine(program).fault
    if fault:
        return fault, set()
    needless = {s.line for s in program.statements() if s.kind in ("wait", "barrier")
                and (program.iterations or s not in program.body)
                and Machine(program, s).fault is None}
    return None, needless


def random_program(random):
    bits = random.choice([32, 32, 16, 8, 4, 3])
    rows, columns = random.choice([2, 3, 4]), random.choice([4, 8])
    strides = (columns, 1)
    if random.random() < 0.15:
        strides = random.choice([(1, rows), (columns - 1, 1), (0, 1), (columns + 1, 1), (1, 1)])
    choices = layouts(columns)
    store_first = random.random() < 0.5

    def statement(in_loop):
        kind = random.choices(["store", "load", "barrier", "copy", "commit", "wait"],
                              [3, 4, 5, 2, 2, 2])[0]
        row = (random.randrange(rows), random.choice([0, 1]) if in_loop else 0)
        layout = random.choice(choices) if kind in ("store", "load") else None
        return Statement(kind, layout, row, random.choice([0, 0, 1, 2]))

    before = [Statement("fill"), Statement("barrier")]
    before += [statement(False) for _ in range(random.randrange(0, 4))]
    body = [statement(True) for _ in range(random.choice([0, 2, 4, 6, 8]))]
    after = [statement(False) for _ in range(random.randrange(0, 4))]
    if random.random() < 0.5:
        body = ordered_stage(random, rows, choices, store_first) + body[:2]
    return write(Program(bits, rows, columns, strides, before, body, random.choice([1, 2, 3]) if body
                         else 0, after))


def ordered_stage(random, rows, choices, store_first):
    """A loop body that is right as it stands, or with one statement less."""
    row = (0, 1)
    if store_first:
        body = [Statement("store", random.choice(choices), row), Statement("barrier"),
                Statement("load", random.choice(choices), row), Statement("barrier")]
    else:
        body = [Statement("copy", None, row), Statement("commit"), Statement("wait"),
                Statement("barrier"), Statement("load", random.choice(choices), row),
                Statement("barrier")]
    if random.random() < 0.4:
        del body[random.randrange(len(body))]
    return body
