"""Random programs of groups of warps, and an oracle that runs them in every order.

A group is one warp, or four that multiply. The oracle has two or three threads for each: the elected one, another of its warp, and
one of other warps, which stand for the rest: each knows what it did itself and what it acquired. It executes all interleavings of the threads and of the copies under way, and
compares every access with every earlier one of the same element. It knows PTX's rules of mbarriers and proxies, and nothing
of the simulator: whether a phase that an arrival or a wait means depends on the order follows from running all orders.
"""
from dataclasses import dataclass, replace

ELECTED, REST, OTHERS = 0, 1, 2
WEIGHTS = (1, 31, 96)
EVERYWHERE = (ELECTED, REST, OTHERS)
MOST_STATES = 30000


@dataclass(frozen=True)
class Op:
    """store, load, copy, tensor, product: of a row. wait, arrive, elected: of a barrier. sync, fence, wait_copies, named;
    wait_products, where `row` products may go on."""
    kind: str
    row: int = 0
    barrier: int = 0
    parity: int = 0


@dataclass
class Program:
    groups: list     # of lists of Op
    arrivals: list   # by barrier
    rows: int
    multiplies: bool = False   # whether rows are matrices, and the groups but the first multiply by them

    def warps(self, g):
        return 4 if self.multiplies and g > 0 else 1

    def threads(self, g):
        """The threads of the oracle for a group."""
        return range(2 if self.warps(g) == 1 else 3)

    def text(self):
        return self.text_of_products() if self.multiplies else self.text_of_rows()

    def text_of_products(self):
        """Rows are left matrices of 64 x 64; the first group is warp 0 of a block whose other groups begin at warp 4."""
        last = 4 * len(self.groups)
        text = ['include "std/warp_groups.tile"', "def f<1>(f16* x_ptr):", "    x = ViewGlobal(x_ptr, shape=[1, 64, 64])",
                f"    s = AllocateShared(f16, shape=[{self.rows}, 64, 64], layout=a_k_major(f16, 64, 64, stages={self.rows}))",
                "    b = AllocateShared(f16, shape=[1, 64, 64], layout=b_k_major(f16, 64, 64))"]
        for n, count in enumerate(self.arrivals):
            text.append(f"    b{n} = AllocateBarrier(arrivals={count})")
        tile = f"replicated({last * 32 // 64}).spatial(1, 64, 1).local({{}}, 1, 64)"
        text += [f"    StoreShared(AllocateRegister(f16, layout={tile.format(self.rows)}, init=0.0), s)",
                 f"    StoreShared(AllocateRegister(f16, layout={tile.format(1)}, init=0.0), b)", "    FenceProxy()", "    Synchronize()"]
        for g, ops in enumerate(self.groups):
            text.append(f"    with warps({4 * g}, {4 * g + self.warps(g)}):")
            if g == 0:
                text.append("        t = AllocateRegister(f16, layout=spatial(1, 32, 1).local(1, 2, 64), init=1.0)")
            else:
                text.append("        acc = AllocateRegister(f32, layout=group_c(64), init=0.0)")
            for op in ops:
                text += ["        " + line for line in lines_of_product(op)]
        return "\n".join(text) + "\n"

    def text_of_rows(self):
        text = ["def f<1>(i32* x_ptr):", "    x = ViewGlobal(x_ptr, shape=[1, 32])",
                f"    s = AllocateShared(i32, shape=[{self.rows}, 32])"]
        for b, count in enumerate(self.arrivals):
            text.append(f"    b{b} = AllocateBarrier(arrivals={count})")
        count = len(self.groups)
        layout = f"replicated({count}).local({self.rows}, 1).spatial(1, 32)"
        text += [f"    StoreShared(AllocateRegister(i32, layout={layout}, init=0), s)", "    FenceProxy()",
                 "    Synchronize()"]
        for g, ops in enumerate(self.groups):
            text.append(f"    with warps({g}, {g + 1}):")
            text.append("        t = AllocateRegister(i32, layout=spatial(1, 32), init=1)")
            for op in ops:
                text += ["        " + line for line in lines_of(op, count)]
        return "\n".join(text) + "\n"


def lines_of(op, groups):
    if op.kind == "store":
        return [f"StoreShared(t, s, offset=[{op.row}:, 0:])"]
    if op.kind == "load":
        return [f"t = LoadShared(s, layout=spatial(1, 32), offset=[{op.row}:, 0:])"]
    if op.kind == "copy":
        return [f"CopyAsync(s, x, offset=[0:, 0:], shared_offset=[{op.row}, 0:])".replace("offset=[0:, 0:]", "offset=[0, 0:]"),
                "CopyAsyncCommitGroup()"]
    if op.kind == "tensor":
        return ["with single_thread():", f"    ArriveExpect(b{op.barrier}, bytes=128)",
                f"    CopyAsyncTensorGlobalToShared(s, x, barrier=b{op.barrier}, offset=[0, 0:], shared_offset=[{op.row}, 0:])"]
    if op.kind == "wait":
        return [f"WaitBarrier(b{op.barrier}, parity={op.parity})"]
    if op.kind == "arrive":
        return [f"Arrive(b{op.barrier})"]
    if op.kind == "elected":
        return ["with single_thread():", f"    Arrive(b{op.barrier})"]
    if op.kind == "named":
        return [f"SyncNamedBarrier({op.barrier + 1}, warps={groups})"]
    return {"sync": ["Synchronize()"], "fence": ["FenceProxy()"], "wait_copies": ["CopyAsyncWaitGroup(0)"]}[op.kind]


def lines_of_product(op):
    if op.kind == "store":
        return [f"StoreShared(t, s, offset=[{op.row}:, 0:, 0:])"]
    if op.kind == "copy":
        return [f"CopyAsync(s, x, offset=[0, 0:, 0:], shared_offset=[{op.row}, 0:, 0:])", "CopyAsyncCommitGroup()"]
    if op.kind == "tensor":
        return ["with single_thread():", f"    ArriveExpect(b{op.barrier}, bytes=8192)",
                f"    CopyAsyncTensorGlobalToShared(s, x, barrier=b{op.barrier}, offset=[0, 0:, 0:], shared_offset=[{op.row}, 0:, 0:])"]
    if op.kind == "product":
        return [f"DotAsync(s, b, acc, a_offset=[{op.row}, 0:, 0:], b_offset=[0, 0:, 0:], out=acc)", "DotAsyncCommitGroup()"]
    if op.kind == "wait_products":
        return [f"DotAsyncWaitGroup({op.row})"]
    return lines_of(op, 0)


# --- The oracle -----------------------------------------------------------------------------------
#
# Knowledge is a pair of sets of events: those that happened before, and those of them that a proxy fence followed. An event is
# (group, place, thread); that of a copy by a tensor map has "map" for the thread. Accesses and fences are executed at once, since
# races are found by knowledge, whatever the order; all orders of what barriers see are gone through.

NOTHING = (frozenset(), frozenset())
AT_ONCE = ("store", "load", "copy", "wait_copies", "fence", "product", "wait_products")
BY_ONE = ("elected", "tensor")   # the threads of the warp come together (elect.sync), and one of them goes on with it


def join(a, b):
    return (a[0] | b[0], a[1] | b[1])


@dataclass(frozen=True)
class Barrier:
    phase: int
    pending: int
    bytes: int
    left: tuple
    done: tuple


@dataclass(frozen=True)
class State:
    places: tuple      # by group: of its threads
    threads: tuple     # by group: what its threads know
    barriers: tuple
    named: frozenset   # groups that stand at a named barrier
    events: frozenset  # accesses so far: (event, row, threads whose elements, writes, generic)
    flying: frozenset  # copies by tensor maps under way: (barrier, event)
    waited: frozenset = frozenset()  # ((group, thread, barrier), the last phase for which it waited)


def replaced(values, i, value):
    return values[:i] + (value,) + values[i + 1:]


class Oracle:
    def __init__(self, program):
        self.program = program
        self.faults = set()
        self.phases = {}

    def judge(self):
        """The kinds of fault of some order; None if there are too many orders."""
        sizes = [len(self.program.threads(g)) for g in range(len(self.program.groups))]
        barriers = tuple(Barrier(0, n, 0, NOTHING, NOTHING) for n in self.program.arrivals)
        todo = [State(tuple((0,) * n for n in sizes), tuple((NOTHING,) * n for n in sizes), barriers, frozenset(), frozenset(),
                      frozenset())]
        seen = set(todo)
        while todo:
            for follower in self.followers(todo.pop()):
                if follower not in seen:
                    seen.add(follower)
                    todo.append(follower)
            if len(seen) > MOST_STATES:
                return None
        if any(len(phases) > 1 for phases in self.phases.values()):
            self.faults.add("phase")
        return self.faults

    def next_op(self, state, g, t):
        ops = self.program.groups[g]
        return ops[state.places[g][t]] if state.places[g][t] < len(ops) else None

    def followers(self, state):
        choices = []
        for g in range(len(self.program.groups)):
            for t in self.program.threads(g):
                op = self.next_op(state, g, t)
                if op is not None and op.kind in AT_ONCE:
                    after = getattr(self, "do_" + op.kind)(state, g, t, op)
                    return [after] if after is not None else []
            op = self.next_op(state, g, ELECTED)
            if op is not None and op.kind == "sync" and len(set(state.places[g])) == 1:
                return [self.do_sync(state, g)]
            if op is not None and op.kind in BY_ONE and state.places[g][ELECTED] == state.places[g][REST]:
                return [self.moved(state, g, [REST])]
            if (op := self.next_op(state, g, self.program.threads(g)[-1])) and op.kind in BY_ONE and self.program.warps(g) > 1:
                return [self.moved(state, g, [OTHERS])]
        for g in range(len(self.program.groups)):
            if g in state.named:
                continue
            for t in self.program.threads(g):
                op = self.next_op(state, g, t)
                if op is None or op.kind == "sync" or (op.kind == "named" and (t > 0 or len(set(state.places[g])) > 1)):
                    continue
                if op.kind in BY_ONE and (t > 0 or state.places[g][ELECTED] >= state.places[g][REST]):
                    continue
                after = getattr(self, "do_" + op.kind)(state, g, t, op)
                if after != "blocked":
                    choices.append(after)
        for barrier, event in state.flying:
            choices.append(self.complete_bytes(state, barrier, event))
        ended = all(self.next_op(state, g, t) is None for g in range(len(self.program.groups)) for t in self.program.threads(g))
        if not choices and not ended:
            self.faults.add("deadlock")
        if ended and state.flying:
            self.faults.add("exit")
        return [after for after in choices if after is not None]

    # A step gives the next state, "blocked", or None after a fault.

    @staticmethod
    def moved(state, g, whose, knowledge=None, **changes):
        places = list(state.places[g])
        for t in whose:
            places[t] += 1
        values = dict(places=replaced(state.places, g, tuple(places)), threads=state.threads, barriers=state.barriers,
                      named=state.named, events=state.events, flying=state.flying, waited=state.waited)
        if knowledge is not None:
            values["threads"] = replaced(state.threads, g, tuple(knowledge))
        values.update(changes)
        return State(**values)

    def compare(self, state, row, columns, writes, knowledge, by_proxy=False):
        """Compares an access of columns of a row, by a thread that knows this, with those before."""
        for event, other_row, other_columns, other_writes, generic in state.events:
            if other_row != row or not (writes or other_writes) or not set(columns) & set(other_columns):
                continue
            if event not in knowledge[0]:
                self.faults.add("race")
            elif by_proxy and generic and other_writes and event not in knowledge[1]:
                self.faults.add("fence")

    def access(self, state, g, t, op, columns, writes):
        self.compare(state, op.row, columns, writes, state.threads[g][t])
        event = (g, state.places[g][t], t)
        knows = list(state.threads[g])
        if op.kind != "copy":
            knows[t] = join(knows[t], (frozenset([event]), frozenset()))
        return self.moved(state, g, [t], knows, events=state.events | {(event, op.row, columns, writes, True)})

    def do_store(self, state, g, t, op):
        return self.access(state, g, t, op, (t,), True)

    def do_load(self, state, g, t, op):
        return self.access(state, g, t, op, (t,), False)

    def do_copy(self, state, g, t, op):
        """Which thread copies which element is not said, but the shares of one copy do not meet."""
        others = frozenset(e for e in state.events if e[0] != (g, state.places[g][t], 1 - t))
        after = self.access(replace(state, events=others), g, t, op, EVERYWHERE, True)
        return replace(after, events=after.events | state.events)

    def do_wait_copies(self, state, g, t, op):
        own = [(g, place, t) for place in range(state.places[g][t]) if self.program.groups[g][place].kind == "copy"]
        knows = list(state.threads[g])
        knows[t] = join(knows[t], (frozenset(own), frozenset()))
        return self.moved(state, g, [t], knows)

    def do_fence(self, state, g, t, op):
        seen, fenced = state.threads[g][t]
        return self.moved(state, g, [t], replaced(state.threads[g], t, (seen, fenced | seen)))

    def do_product(self, state, g, t, op):
        """Tensor cores read all of a row, for each warp; what CopyAsync brought needs no fence."""
        place, warp = state.places[g][t], "warp 0" if t < OTHERS else "others"
        events = frozenset(e[:4] + (e[4] and self.op_of(e).kind != "copy",) for e in state.events)
        self.compare(replace(state, events=events), op.row, EVERYWHERE, False, state.threads[g][t], by_proxy=True)
        return self.moved(state, g, [t], events=state.events | {((g, place, warp), op.row, EVERYWHERE, False, False)})

    def op_of(self, access):
        (g, place, _), *_ = access
        return self.program.groups[g][place]

    def do_wait_products(self, state, g, t, op):
        begun = [place for place in range(state.places[g][t]) if self.program.groups[g][place].kind == "product"]
        done = begun[:len(begun) - op.row] if op.row else begun
        own = frozenset((g, place, "warp 0" if t < OTHERS else "others") for place in done)
        return self.moved(state, g, [t], replaced(state.threads[g], t, join(state.threads[g][t], (own, frozenset()))))

    def do_sync(self, state, g):
        all_of = NOTHING
        for each in state.threads[g]:
            all_of = join(all_of, each)
        return self.moved(state, g, self.program.threads(g), (all_of,) * len(state.threads[g]))

    def do_tensor(self, state, g, t, op):
        after = self.arrive(state, g, [ELECTED], op, 1, 128)
        if after is None:
            return None
        self.compare(state, op.row, EVERYWHERE, True, state.threads[g][ELECTED], by_proxy=True)
        event = (g, state.places[g][ELECTED], "map")
        return replace(after, events=after.events | {(event, op.row, EVERYWHERE, True, False)},
                       flying=after.flying | {(op.barrier, event)})

    def do_arrive(self, state, g, t, op):
        return self.arrive(state, g, [t], op, WEIGHTS[t])

    def do_elected(self, state, g, t, op):
        return self.arrive(state, g, [ELECTED], op, 1)

    def arrive(self, state, g, whose, op, weight, expected=0):
        barrier = state.barriers[op.barrier]
        if weight > barrier.pending:
            self.faults.add("phase")
            return None
        place = state.places[g][whose[0]]
        self.phases.setdefault((g, place), set()).add(barrier.phase)
        if op.kind in BY_ONE:
            self.compare_with_arrivals_of_all(g, place, op.barrier, barrier.phase)
        left = join(barrier.left, state.threads[g][whose[0]])
        changed = self.ended(Barrier(barrier.phase, barrier.pending - weight, barrier.bytes + expected, left, barrier.done),
                             op.barrier)
        return self.moved(state, g, whose, barriers=replaced(state.barriers, op.barrier, changed))

    def compare_with_arrivals_of_all(self, g, place, barrier, phase):
        """elect.sync lets the other threads come first, but puts no arrival of theirs in order with that of the elected one."""
        for before in range(place - 1, -1, -1):
            op = self.program.groups[g][before]
            if op.kind in ("sync", "named") or (op.kind == "wait" and op.barrier == barrier):
                return
            if op.kind == "arrive" and op.barrier == barrier and self.phases[g, before] != {phase}:
                self.faults.add("phase")

    def ended(self, barrier, number):
        if barrier.pending > 0 or barrier.bytes != 0:
            return barrier
        return Barrier(barrier.phase + 1, self.program.arrivals[number], 0, barrier.left, barrier.left)

    def complete_bytes(self, state, number, event):
        barrier = state.barriers[number]
        left = join(barrier.left, (frozenset([event]), frozenset([event])))
        changed = self.ended(Barrier(barrier.phase, barrier.pending, barrier.bytes - 128, left, barrier.done), number)
        return replace(state, barriers=replaced(state.barriers, number, changed), flying=state.flying - {(number, event)})

    def do_wait(self, state, g, t, op):
        barrier = state.barriers[op.barrier]
        if barrier.phase % 2 == op.parity:
            return "blocked"
        phase, who = barrier.phase - 1, (g, t, op.barrier)
        self.phases.setdefault((g, state.places[g][t]), set()).add(phase)
        waited = dict(state.waited)
        if waited.get(who, -2) >= phase:
            self.faults.add("phase")
        waited[who] = phase
        return self.moved(state, g, [t], replaced(state.threads[g], t, join(state.threads[g][t], barrier.done)),
                          waited=frozenset(waited.items()))

    def do_named(self, state, g, t, op):
        named = state.named | {g}
        count = len(self.program.groups)
        if len(named) < count:
            return replace(state, named=named)
        if any(self.next_op(state, each, ELECTED) != op for each in named):
            return "blocked"
        known = NOTHING
        for each in (each for group in state.threads for each in group):
            known = join(known, each)
        places = tuple(tuple(place + 1 for place in group) for group in state.places)
        return replace(state, places=places, threads=tuple((known,) * len(group) for group in state.threads), named=frozenset())


# --- Programs -------------------------------------------------------------------------------------


def ring(random):
    """A group fills stages, one or two others use them; each arrival is of all threads or of an elected one."""
    stages, steps = random.choice([1, 2]), random.choice([1, 2, 2, 3])
    users = random.choice([1, 1, 2])
    how = random.choice(["store", "copy", "tensor"])
    elects = random.random() < 0.4
    stores_back = random.random() < 0.3
    full, empty = list(range(stages)), list(range(stages, 2 * stages))
    fill, use = [], [[] for _ in range(users)]

    def say(barrier):
        return [Op("sync"), Op("elected", barrier=barrier)] if elects else [Op("arrive", barrier=barrier)]

    for k in range(steps):
        s, turn = k % stages, k // stages
        if k >= stages or random.random() < 0.5:
            fill.append(Op("wait", barrier=empty[s], parity=(turn + 1) % 2))
        if how == "tensor":
            fill.append(Op("tensor", row=s, barrier=full[s]))
        elif how == "copy":
            fill += [Op("copy", row=s), Op("wait_copies")] + say(full[s])
        else:
            fill += [Op("store", row=s)] + say(full[s])
        for u in range(users):
            use[u] += [Op("wait", barrier=full[s], parity=turn % 2), Op("load", row=s)]
            if stores_back and users == 1:
                use[u].append(Op("store", row=s))
                if how == "tensor":
                    use[u].append(Op("fence"))
            if k + stages < steps or random.random() < 0.3:
                use[u] += say(empty[s])
    filled = 1 if how == "tensor" or elects else 32
    used = users * (1 if elects else 32)
    return Program([fill] + use, [filled] * stages + [used] * stages, stages)


def pipeline(random):
    """A warp fills stages, one or two groups of four multiply by them and wait for a product when the next one has begun."""
    stages, steps = random.choice([1, 2, 2]), random.choice([1, 2, 2, 3])
    users = random.choice([1, 1, 2])
    how = random.choice(["store", "copy", "tensor"])
    elects, ahead = random.random() < 0.6, random.choice([0, 1]) if stages > 1 else 0
    full, empty = list(range(stages)), list(range(stages, 2 * stages))
    fill, use = [], [[] for _ in range(users)]
    for k in range(steps):
        s, turn = k % stages, k // stages
        if k >= stages:
            fill.append(Op("wait", barrier=empty[s], parity=(turn + 1) % 2))
        if how == "tensor":
            fill.append(Op("tensor", row=s, barrier=full[s]))
        elif how == "copy":
            fill += [Op("copy", row=s), Op("wait_copies"), Op("arrive", barrier=full[s])]
        else:
            fill += [Op("store", row=s), Op("fence"), Op("arrive", barrier=full[s])]
        for ops in use:
            ops += [Op("wait", barrier=full[s], parity=turn % 2), Op("product", row=s), Op("wait_products", row=ahead)]
            done = k - ahead
            if done >= 0 and done + stages < steps:
                ops += [Op("sync"), Op("elected", barrier=empty[done % stages])] if elects else [Op("arrive", barrier=empty[done % stages])]
    for ops in use:
        ops.append(Op("wait_products"))
    return Program([fill] + use, [1 if how == "tensor" else 32] * stages + [users * (1 if elects else 128)] * stages, stages, True)


def meeting(random):
    """Groups meet at a named barrier between what they store and load."""
    count = random.choice([2, 3])
    groups = []
    for g in range(count):
        ops = [Op("store", row=g), Op("named", barrier=0), Op("load", row=(g + 1) % count)]
        if random.random() < 0.5:
            ops += [Op("named", barrier=1), Op("store", row=random.choice([g, (g + 1) % count]))]
        groups.append(ops)
    if len({sum(op.kind == "named" for op in ops) for ops in groups}) > 1:
        for ops in groups:
            del ops[3:]
    return Program(groups, [32], count)


def change(program, random):
    """One thing that is left out, said twice, said elsewhere or otherwise."""
    g = random.randrange(len(program.groups))
    ops = program.groups[g]
    if not ops:
        return
    i = random.randrange(len(ops))
    op = ops[i]
    what = random.choice(["drop", "twice", "swap", "parity", "row", "barrier", "who"])
    if what == "drop":
        del ops[i]
    elif what == "twice":
        ops.insert(i, op)
    elif what == "swap" and i + 1 < len(ops):
        ops[i], ops[i + 1] = ops[i + 1], op
    elif what == "parity" and op.kind == "wait":
        ops[i] = Op("wait", barrier=op.barrier, parity=1 - op.parity)
    elif what == "row" and op.kind == "wait_products":
        ops[i] = Op("wait_products", row=1 - op.row)
    elif what == "row" and op.kind in ("store", "load", "copy", "tensor", "product"):
        ops[i] = Op(op.kind, row=random.randrange(program.rows), barrier=op.barrier)
    elif what == "barrier" and op.kind in ("wait", "arrive", "elected", "tensor"):
        ops[i] = Op(op.kind, op.row, random.randrange(len(program.arrivals)), op.parity)
    elif what == "who" and op.kind in ("arrive", "elected"):
        ops[i] = Op("elected" if op.kind == "arrive" else "arrive", barrier=op.barrier)


def random_program(random):
    program = random.choices([ring, pipeline, meeting], [50, 35, 15])[0](random)
    for _ in range(random.choice([0, 0, 1, 1, 1, 2])):
        change(program, random)
    for ops in program.groups:
        if any(op.kind == "copy" for op in ops):
            ops.append(Op("wait_copies"))
        if any(op.kind == "product" for op in ops):
            ops.append(Op("wait_products"))
    return program
