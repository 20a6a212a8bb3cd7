"""Random programs whose blocks order themselves, and an oracle that tries every interleaving.

A block's work is a list of operations on elements of memory (`data`) and on semaphores:

    ("write", x)  ("read", x)       an element of data
    ("release", s, v)               ReleaseSemaphore(sem, v, offset=[s])
    ("lock", s, v)                  LockSemaphore(sem, v, offset=[s])
    ("add", c)                      n = AtomicAdd(sem, 1, offset=[c])
    ("last", n, [..])               the operations if the last `add` gave n

A program is faulty if in some interleaving two accesses race, or a wait never ends.
"""

DATA, SEMAPHORES = 3, 3


def text_of(blocks):
    """The program's text. Every statement of a block stands on its own line."""
    lines = ["@threads(1)", f"def f<{len(blocks)}>(i32* y_ptr):", "    b = BlockIndices()",
             f"    data = AllocateGlobal(i32, shape=[{DATA}], init=0)",
             f"    sem = AllocateGlobal(i32, shape=[{SEMAPHORES}], init=0)",
             f"    y = ViewGlobal(y_ptr, shape=[{len(blocks)}, 16])",
             "    one = AllocateRegister(i32, layout=local(1), init=1)"]
    reads = 0

    def add(operation, block, indent):
        nonlocal reads
        pad = " " * indent
        match operation:
            case ("write", x):
                lines.append(f"{pad}StoreGlobal(one, data, offset=[{x}:])")
            case ("read", x):
                lines.append(f"{pad}StoreGlobal(LoadGlobal(data, layout=local(1), offset=[{x}:]), y, "
                             f"offset=[{block}, {reads % 16}:])")
                reads += 1
            case ("release", s, v):
                lines.append(f"{pad}ReleaseSemaphore(sem, {v}, offset=[{s}])")
            case ("lock", s, v):
                lines.append(f"{pad}LockSemaphore(sem, {v}, offset=[{s}])")
            case ("add", c):
                lines.append(f"{pad}n = AtomicAdd(sem, 1, offset=[{c}])")
            case ("last", n, operations):
                lines.append(f"{pad}if n == {n}:")
                for each in operations:
                    add(each, block, indent + 4)

    for number, operations in enumerate(blocks):
        lines.append(f"    if b == {number}:")
        reads = 0
        for operation in operations or [("pass",)]:
            add(operation, number, 8)
        if not operations:
            lines.append("        pass")
    return "\n".join(lines) + "\n"


class Oracle:
    """Tries all interleavings; the same state is looked at once."""

    def __init__(self, blocks, most=400_000):
        self.blocks, self.most, self.seen = blocks, most, set()
        self.fault = None

    def run(self):
        """"race", "deadlock" or None; raises OverflowError if there are too many states."""
        n = len(self.blocks)
        clock = tuple(tuple(0 for _ in range(n)) for _ in range(n))
        start = (tuple(tuple(b) for b in self.blocks), clock,
                 tuple((0, None) for _ in range(SEMAPHORES)), (), tuple(None for _ in range(n)))
        stack = [start]
        while stack and not self.fault:
            state = stack.pop()
            if state in self.seen:
                continue
            self.seen.add(state)
            if len(self.seen) > self.most:
                raise OverflowError
            self.expand(state, stack)
        return self.fault

    def expand(self, state, stack):
        rest, clocks, semaphores, accesses, got = state
        if not any(rest):
            return
        moved = False
        for b, operations in enumerate(rest):
            if not operations:
                continue
            if operations[0][0] == "lock" and semaphores[operations[0][1]][0] != operations[0][2]:
                continue
            moved = True
            following = self.step(state, b)
            if following is None:
                return
            stack.append(following)
        if not moved:
            self.fault = "deadlock"

    def step(self, state, b):
        rest, clocks, semaphores, accesses, got = state
        operation, following = rest[b][0], rest[b][1:]
        clock = list(clocks[b])
        clock[b] += 1
        semaphores, accesses, got = list(semaphores), accesses, list(got)
        match operation:
            case ("write", x) | ("read", x):
                is_write = operation[0] == "write"
                for other, time, element, wrote in accesses:
                    if element == x and other != b and (wrote or is_write) and clocks[b][other] < time:
                        self.fault = "race"
                        return None
                kept = [a for a in accesses if not (a[0] == b and a[2] == x and a[3] == is_write)]
                accesses = tuple(sorted(kept + [(b, clock[b], x, is_write)]))
            case ("release", s, v):
                semaphores[s] = (v, tuple(clock))
            case ("lock", s, _):
                clock = join(clock, semaphores[s][1])
            case ("add", c):
                value, left = semaphores[c]
                clock = join(clock, left)
                semaphores[c] = (value + 1, tuple(clock))
                got[b] = value
            case ("last", n, operations):
                if got[b] == n:
                    following = tuple(operations) + following
        rest = rest[:b] + (following,) + rest[b + 1:]
        clocks = clocks[:b] + (tuple(clock),) + clocks[b + 1:]
        return rest, clocks, tuple(semaphores), accesses, tuple(got)


def join(clock, other):
    return clock if other is None else [max(a, c) for a, c in zip(clock, other)]


def freeze(operations):
    """Operations as tuples, so that states can be compared."""
    return tuple(("last", o[1], freeze(o[2])) if o[0] == "last" else tuple(o) for o in operations)


# ---- Patterns that are right, and all programs that differ from one of them by one change

def patterns():
    """Names and blocks of ordering patterns."""
    yield "chain", [[("write", 0), ("release", 0, 1)],
                    [("lock", 0, 1), ("read", 0), ("write", 1), ("release", 1, 1)],
                    [("lock", 1, 1), ("read", 1), ("read", 0)]]
    yield "turns", [[("lock", 0, 0), ("read", 0), ("write", 0), ("release", 0, 1)],
                    [("lock", 0, 1), ("read", 0), ("write", 0), ("release", 0, 2)],
                    [("lock", 0, 2), ("read", 0), ("write", 0)]]
    yield "broadcast", [[("write", 0), ("release", 0, 1)], [("lock", 0, 1), ("read", 0)],
                        [("lock", 0, 1), ("read", 0)]]
    yield "gather", [[("write", 0), ("release", 0, 1)], [("write", 1), ("release", 1, 1)],
                     [("lock", 0, 1), ("lock", 1, 1), ("read", 0), ("read", 1)]]
    yield "last block", [[("write", b), ("add", 0), ("last", 2, [("read", 0), ("read", 1), ("read", 2)])]
                         for b in range(3)]
    yield "count and wait", [[("write", 0), ("add", 0)], [("write", 1), ("add", 0)],
                             [("lock", 0, 2), ("read", 0), ("read", 1)]]
    yield "flag and answer", [[("write", 0), ("release", 0, 1), ("lock", 1, 1), ("write", 0)],
                              [("lock", 0, 1), ("read", 0), ("release", 1, 1)]]
    yield "reset", [[("write", 0), ("release", 0, 1), ("lock", 0, 0), ("write", 0), ("release", 0, 2)],
                    [("lock", 0, 1), ("read", 0), ("release", 0, 0), ("lock", 0, 2), ("read", 0)]]
    yield "look back", [[("write", 0), ("release", 0, 1)],
                        [("lock", 0, 1), ("read", 0), ("write", 1), ("release", 1, 1)],
                        [("lock", 1, 1), ("read", 1), ("write", 2), ("release", 2, 1)]]
    yield "all meet", [[("write", b), ("add", 0), ("lock", 0, 3), ("read", (b + 1) % 3),
                        ("read", (b + 2) % 3)] for b in range(3)]
    yield "two buffers", [[("write", 0), ("release", 0, 1), ("write", 1), ("release", 1, 1),
                           ("lock", 2, 1), ("write", 0), ("release", 0, 2)],
                          [("lock", 0, 1), ("read", 0), ("release", 2, 1), ("lock", 1, 1), ("read", 1),
                           ("lock", 0, 2), ("read", 0)]]
    yield "persistent", [[("add", 0), ("last", 0, [("write", 0)]), ("last", 1, [("write", 1)]),
                          ("add", 0), ("last", 2, [("write", 2)]), ("last", 1, [("write", 1)])]
                         for _ in range(2)]
    yield "tree", [[("write", 0), ("release", 0, 1)],
                   [("lock", 0, 1), ("read", 0), ("write", 1), ("release", 1, 1)],
                   [("lock", 0, 1), ("read", 0), ("write", 2), ("release", 2, 1)],
                   [("lock", 1, 1), ("lock", 2, 1), ("read", 1), ("read", 2), ("write", 0)]]
    yield "tickets", [[("add", 0), ("last", 0, [("write", 0), ("release", 1, 1)]),
                       ("last", 1, [("lock", 1, 1), ("write", 0)])] for _ in range(2)]


def is_valid(blocks):
    """Whether each `last` has an `add` before it, which gives the number."""
    for operations in blocks:
        kinds = [operation[0] for operation in operations]
        if "last" in kinds and "add" not in kinds[:kinds.index("last")]:
            return False
    return True


def changes(blocks):
    """Every program without one operation, with one twice or earlier, or with another number."""
    return ((name, changed) for name, changed in all_changes(blocks) if is_valid(changed))


def all_changes(blocks):
    for b, operations in enumerate(blocks):
        for i, operation in enumerate(operations):
            def changed(new):
                return [list(o) for o in blocks[:b]] + [new] + [list(o) for o in blocks[b + 1:]]
            before, after = list(operations[:i]), list(operations[i + 1:])
            yield f"{b}.{i} missing", changed(before + after)
            yield f"{b}.{i} twice", changed(before + [operation, operation] + after)
            if i > 0:
                yield f"{b}.{i} earlier", changed(before[:-1] + [operation, before[-1]] + after)
            if operation[0] in ("release", "lock"):
                for value in range(4):
                    if value != operation[2]:
                        yield (f"{b}.{i} value {value}",
                               changed(before + [(operation[0], operation[1], value)] + after))
                for place in range(SEMAPHORES):
                    if place != operation[1]:
                        yield (f"{b}.{i} semaphore {place}",
                               changed(before + [(operation[0], place, operation[2])] + after))
            if operation[0] in ("read", "write", "add"):
                for place in range(DATA):
                    if place != operation[1]:
                        yield f"{b}.{i} place {place}", changed(before + [(operation[0], place)] + after)
            if operation[0] == "last":
                for n in range(4):
                    if n != operation[1]:
                        yield f"{b}.{i} number {n}", changed(before + [("last", n, operation[2])] + after)


def random_program(random):
    """Blocks of random operations."""
    def operation(depth=0):
        kind = random.choices(["write", "read", "release", "lock", "add", "last"],
                              [3, 3, 4, 4, 2, 1 if depth == 0 else 0])[0]
        if kind in ("write", "read"):
            return (kind, random.randrange(2))
        if kind in ("release", "lock"):
            return (kind, random.randrange(2), random.choice([0, 1, 1, 1, 2]))
        if kind == "add":
            return (kind, random.choice([0, 2]))
        return ("last", random.randrange(3), [operation(1) for _ in range(random.randrange(1, 3))])

    def block():
        operations = [operation() for _ in range(random.randrange(1, 5))]
        # A `last` needs an `add` before it.
        has_add = False
        kept = []
        for each in operations:
            has_add = has_add or each[0] == "add"
            if each[0] != "last" or has_add:
                kept.append(each)
        return kept

    return [block() for _ in range(random.choice([2, 2, 3]))]
