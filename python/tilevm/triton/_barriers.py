"""Barriers for versions of Triton whose own pass for them cannot be called (before 3.9).

A barrier is placed before an operation that touches shared memory in a way that conflicts with what happened since the
last one, allocation by allocation, as Triton's analysis does. A wait for copies makes what they wrote new.
"""

from __future__ import annotations

from typing import Optional

from ._mlir import Block, Operation

READS = {"ttg.local_load": [0], "ttng.warp_group_dot": [0, 1], "ttng.async_tma_copy_local_to_global": [-1],
         "ttng.inval_barrier": [0]}
WRITES = {"ttg.local_store": [1], "ttg.async_copy_global_to_local": [1], "ttng.async_tma_copy_global_to_local": [-3, -2],
          "ttng.barrier_expect": [0]}
# What conflicts with writes before it as well as with reads; copies of one group go on beside one another.
ORDERED = {"ttg.local_store", "ttng.async_tma_copy_global_to_local", "ttng.barrier_expect"}
PASSES = {"ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_subview", "ttg.memdesc_trans", "ttg.memdesc_reshape",
          "ttg.memdesc_reinterpret"}


class Pending:
    """Allocations that were read and written since the last barrier."""

    def __init__(self, reads: frozenset[str] = frozenset(), writes: frozenset[str] = frozenset()) -> None:
        self.reads, self.writes = reads, writes

    def join(self, other: Pending) -> Pending:
        return Pending(self.reads | other.reads, self.writes | other.writes)


class Placement:
    def __init__(self, expects_behind_barrier: bool) -> None:
        self.behind = {"ttng.arrive_barrier"} | ({"ttng.barrier_expect"} if expects_behind_barrier else set())
        self.of: dict[str, str] = {}        # a value: its allocation
        self.captured: list[str] = []       # operands of the warp_specialize around
        self.copied: set[str] = set()       # allocations that asynchronous copies fill

    def block(self, block: Block, before: Pending) -> Pending:
        now = before
        placed: list[Operation] = []
        for operation in block.operations:
            now = self.operation(operation, now, placed)
            if not any(each is operation for each in placed[-2:]):
                placed.append(operation)
        block.operations = placed
        return now

    def operation(self, operation: Operation, now: Pending, placed: list[Operation]) -> Pending:
        name = operation.name
        if name == "ttg.local_alloc":
            self.of[operation.results[0]] = operation.results[0]
            if not operation.operands:
                return now
            own = frozenset(operation.results)
            if own & (now.reads | now.writes):  # of an earlier iteration
                placed.append(barrier(operation))
                now = Pending()
            return Pending(now.reads, now.writes | own)
        if name in PASSES and operation.operands[0] in self.of:
            self.of[operation.results[0]] = self.of[operation.operands[0]]
            return now
        if name == "ttg.async_wait":
            return Pending(now.reads, now.writes | self.copied)
        if name in ("ttg.barrier", "gpu.barrier", "ttg.local_barrier"):
            return Pending()
        if name in ("ttng.async_tma_store_wait", "ttng.async_tma_store_token_wait"):
            placed.append(operation)
            placed.append(barrier(operation))
            return Pending()
        if name in self.behind:  # its code begins with a barrier
            now = Pending()
        if operation.regions:
            return self.regions(operation, now)
        reads = {self.of[operation.operands[k]] for k in READS.get(name, ()) if operation.operands[k] in self.of}
        writes = {self.of[operation.operands[k]] for k in WRITES.get(name, ()) if operation.operands[k] in self.of}
        if name == "ttg.async_copy_global_to_local":
            self.copied |= writes
        if reads & now.writes or writes & (now.reads | now.writes if name in ORDERED else now.reads):
            placed.append(barrier(operation))
            now = Pending()
        return Pending(now.reads | reads, now.writes | writes)

    def regions(self, operation: Operation, now: Pending) -> Pending:
        """A loop's body begins as well with what its end leaves; branches join."""
        loops = operation.name in ("scf.for", "scf.while")
        inits = operation.operands[3:] if operation.name == "scf.for" else operation.operands
        if operation.name == "ttg.warp_specialize.partitions":
            inits, now = inits or self.captured, Pending()
        self.captured = operation.operands if operation.name == "ttg.warp_specialize" else []
        for region in operation.regions:
            for block in region:
                values = block.arguments[1:] if operation.name == "scf.for" else block.arguments
                for (argument, _, _), init in zip(values, inits):
                    if init in self.of:
                        self.of[argument] = self.of[init]
        for result, init in zip(operation.results, inits):
            if loops and init in self.of:
                self.of[result] = self.of[init]
        after: Optional[Pending] = now if not loops else None
        rounds = 2 if loops else 1
        for _ in range(rounds):
            begin = now
            for region in operation.regions:
                for block in region:
                    end = self.block(block, begin)
                    if loops:
                        begin = end
                    else:
                        after = end if after is None else after.join(end)
            if loops:
                now = now.join(begin)
        return now if loops else after or now


def barrier(before: Operation) -> Operation:
    made = Operation("ttg.barrier")
    made.origin = before.origin
    return made


def place(root: Operation, expects_behind_barrier: bool = True) -> None:
    """Puts `ttg.barrier` into every function."""
    for function in root.walk():
        if function.name == "tt.func":
            placement, now = Placement(expects_behind_barrier), Pending()
            for region in function.regions:
                for block in region:
                    now = placement.block(block, now)
