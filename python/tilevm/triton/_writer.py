"""The program that is written: its names, its lines, and values that become operands of the language."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable, Optional, Sequence

from ._errors import NotImported
from ._layouts import Layout
from ._mlir import Operation, Origin
from ._module import Module
from ._values import NATIVE, Type, Value, type_of

RESERVED = frozenset("""and or not if elif else for in range while break continue pass def const require return pipeline include
    min max abs len bits inf nan true false local spatial layout row_major column_major strides replicated memory_layout tile
    scalar shared view pointer dtype list broadcast cdiv grid_x grid_y grid_z layout_of inout f32 f16 f64 bf16 i8 i16 i32 i64
    u1 u8 u16 u32 u64 bool""".split())


class Writer:
    """Writes the body of a kernel. Lowerings (the other modules) define names through it."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.threads = module.threads
        self.lines: list[str] = []
        self.shared: list[str] = []
        self.environment: dict[str, Value] = {}
        self.notes: dict[str, set[Optional[Origin]]] = {}
        self._indent = 1
        self._used: set[str] = set()
        self._layouts: dict[Layout, str] = {}
        self._views: dict[tuple[str, str], str] = {}
        self.descriptors: dict[str, list[str]] = {}  # extents and strides of arguments
        self.maps: list[str] = []           # views of which launches make tensor maps
        self.parameters: set[str] = set()   # scalars that a launch knows
        self.slots: dict[int, list[str]] = {}  # the variables that carry the values of a loop's block; an empty name carries none
        self.parities: dict[str, Any] = {}  # the parities of barriers that a loop initialises, by name
        self.loops = 0                      # how many are around what is written
        self.alone: set[str] = set()        # variables of the first group of warps
        self._origin: Optional[Origin] = None
        self._written: Optional[tuple[str, int]] = None
        self.current: Optional[Operation] = None

    # Lines and names.

    def begin(self, operation: Operation) -> None:
        """Lines that follow are those of an operation."""
        self.current = operation
        if operation.origin:
            self._origin = operation.origin

    def line(self, text: str) -> None:
        if self._origin and (self._origin.file, self._origin.line) != self._written:
            self._written = (self._origin.file, self._origin.line)
            source = self.module.source_line(self._origin)
            self.lines.append("    " * self._indent + f'#line {self._origin.line} "{self._origin.file}"'
                              + (f" {source}" if source else ""))
        self.lines.append("    " * self._indent + text)

    def forget_line(self) -> None:
        """The next line says where it comes from, whatever was written before."""
        self._written = None

    def indented(self, body: Callable[[], None]) -> None:
        self._indent += 1
        count = len(self.lines)
        body()
        if all(each.lstrip().startswith("#") for each in self.lines[count:]):
            self.line("pass")
        self._indent -= 1

    def under(self, condition: Optional[Value], lines: Sequence[str]) -> None:
        """Lines under a condition, where it is not always true."""
        text = "true" if condition is None else self.native(condition).text
        if text == "true":
            for each in lines:
                self.line(each)
            return
        self.line(f"if {text}:")
        self.indented(lambda: self.under(None, lines))

    def one_thread(self, condition: Optional[Value], lines: Sequence[str]) -> None:
        """Lines that one thread of the group executes, under a condition."""
        self.under(condition, ["with single_thread():", *(f"    {each}" for each in lines)])

    def barrier(self) -> None:
        """A barrier of the group, unless one is there already."""
        written = [each for each in self.lines if not each.lstrip().startswith("#line")]
        if not written or written[-1] != "    " * self._indent + "Synchronize()":
            self.line("Synchronize()")

    def fresh(self, hint: str = "") -> str:
        """A name that is not used yet, after the variable of the user's source."""
        base = re.sub(r"(_\d+)+$", "", hint) or (self.current.origin.name if self.current and self.current.origin else "") or "t"
        if base in RESERVED or not re.fullmatch(r"[A-Za-z_]\w*", base):
            base = f"{re.sub(r'[^0-9A-Za-z_]', '_', base)}_"
        name, number = base, 0
        while name in self._used:
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        return name

    def note(self, text: str) -> None:
        """Something that is not as Triton computes it, for the report."""
        self.notes.setdefault(text, set()).add(self._origin)

    def layout(self, layout: Layout) -> str:
        """The constant that names a layout."""
        if layout not in self._layouts:
            self._layouts[layout] = f"L{len(self._layouts)}"
        return self._layouts[layout]

    def layout_constants(self) -> list[str]:
        return [f"const {name}: layout = {layout.text()}" for layout, name in self._layouts.items()]

    def view(self, base: str, element: str) -> str:
        """The view of all that a parameter points to, as elements of a type."""
        if (base, element) not in self._views:
            self._views[base, element] = self.fresh(f"all_{base}" if not self._views_of(base) else f"all_{base}_{element}")
        return self._views[base, element]

    def _views_of(self, base: str) -> list[str]:
        return [name for (own, _), name in self._views.items() if own == base]

    def view_lines(self, types: dict[str, str]) -> list[str]:
        return [f"{name} = ViewGlobal({base}, {'' if types[base] == element else f'dtype={element}, '}shape=[unbounded])"
                for (base, element), name in self._views.items()]

    # Values of the module.

    def get(self, name: str) -> Value:
        return self.environment[name]

    def operands(self, operation: Operation) -> list[Value]:
        return [self.environment[name] for name in operation.operands]

    def set(self, operation: Operation, value: Value, number: int = 0) -> None:
        self.environment[operation.results[number]] = value

    def layout_of(self, type_: Type) -> Layout:
        if type_.shape is None:
            return Layout.scalar(self.threads)
        return self.module.layout(type_.text)

    # Values of the program.

    def define(self, text: str, element: str, shape: Optional[tuple[int, ...]], layout: Optional[Layout],
               hint: str = "") -> Value:
        """Names a tile."""
        name = self.fresh(hint)
        self.line(f"{name} = {text}")
        return Value("tile", name, element, shape, layout)

    def scalar(self, text: str, element: str, hint: str = "") -> Value:
        """Names a scalar of the language."""
        name = self.fresh(hint)
        self.line(f"{name} = {text}")
        return Value("scalar", name, element)

    def filled(self, text: str, element: str, shape: Optional[tuple[int, ...]], layout: Layout, hint: str = "") -> Value:
        """A tile of which every element is a scalar."""
        return self.define(f"AllocateRegister({element}, layout={self.layout(layout)}, init={text})", element, shape, layout,
                           hint)

    def tile(self, value: Value, layout: Layout) -> Value:
        """The value as a tile of a layout, whose shape is that of the value."""
        shape = value.shape
        if value.kind == "tile":
            if value.layout == layout:
                return value
            return self.define(f"ConvertLayout({value.text}, layout={self.layout(layout)})", value.element, shape, layout,
                               value.text)
        if value.kind in ("splat", "scalar"):
            return self.filled(number(value), value.element, shape, layout)
        if value.kind == "spread":
            return self.define(f"broadcast({value.text}, {self.layout(layout)})", value.element, shape, layout, value.text)
        raise NotImported(f"a value of kind {value.kind} as a tile")

    def native(self, value: Value) -> Value:
        """A scalar value as a scalar of the language."""
        if value.kind in ("scalar", "splat"):
            return value
        if value.element not in NATIVE:
            raise NotImported(f"a scalar of {value.element} where control flow or an index needs it")
        if value.element == "u1":
            read = self.scalar(f"LoadScalar(Cast({value.text}, i32))", "i32", value.text)
            return self.scalar(f"{read.text} != 0", "u1", value.text)
        return self.scalar(f"LoadScalar({value.text})", value.element, value.text)

    def elementwise(self, operation: Operation, write: Callable[..., str], values: Sequence[Value],
                    element: str = "", native: bool = True) -> Value:
        """An operation on the elements of tiles; `write` makes its text from those of its operands. With `native` it
        is one on scalars of the language as well."""
        type_ = type_of(operation.types_out[0])
        element = element or type_.element
        alike = [v for v in values if v.kind == "tile" and (type_.shape is None or v.shape == type_.shape)]
        if all(v.kind in ("scalar", "splat") for v in values):
            if native and element in NATIVE and all(v.element in NATIVE for v in values):
                made = self.scalar(write(*(v.text for v in values)), element)
                return made if type_.shape is None else Value("splat", made.text, element, type_.shape)
            # One element is computed, which all elements of the result are.
            values = [self.filled(number(values[0]), values[0].element, (), Layout.scalar(self.threads)), *values[1:]]
            made = self.define(write(*(number(v) for v in values)), element, (), values[0].layout)
            return made if type_.shape is None else self.spread(made, type_.shape)
        if alike:
            layout = alike[0].layout
            values = [v if v.kind != "tile" or v.layout == layout or v.shape != alike[0].shape else self.tile(v, layout)
                      for v in values] if layout else list(values)
            return self.define(write(*(number(v) for v in values)), element, type_.shape if type_.shape is not None else (),
                               layout)
        small = [v.small for v in values if v.kind == "spread" and v.small is not None]
        first = small[0]
        if all(each.shape == first.shape and each.layout == first.layout for each in small):
            made = self.define(write(*(number(v) for v in values)), element, first.shape, first.layout)
            assert type_.shape is not None
            return self.spread(made, type_.shape)
        widest = max((v for v in values if v.kind == "spread"), key=lambda v: len(v.text and v.small.shape or ()))  # type: ignore
        full = self.tile(widest, self.layout_of(type_))
        return self.elementwise(operation, write, [full if v is widest else v for v in values], element, native)

    def spread(self, small: Value, shape: tuple[int, ...]) -> Value:
        """A tile of fewer elements that counts as one of `shape`."""
        if small.shape == shape:
            return small
        return Value("spread", small.text, small.element, shape, small=small)


def number(value: Value) -> str:
    """The text of a value beside tiles."""
    if value.kind in ("scalar", "splat") and value.element == "u1":
        return {"true": "1", "false": "0"}.get(value.text, f"(1 if {value.text} else 0)")
    if value.kind in ("scalar", "splat", "tile", "spread"):
        return value.text
    raise NotImported(f"a value of kind {value.kind} as an operand")


Lowering = Callable[[Writer, Operation], None]
LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Registers the lowering of operations."""
    def register(function: Lowering) -> Lowering:
        for name in names:
            LOWERINGS[name] = function
        return function

    return register


def lower_all(writer: Writer, operations: Iterable[Operation]) -> None:
    for operation in operations:
        writer.begin(operation)
        lowering = LOWERINGS.get(operation.name)
        if lowering is None:
            raise NotImported("this operation", _instead(operation.name), operation.origin, operation.name)
        try:
            lowering(writer, operation)
        except NotImported as error:
            raise error.at(operation.origin, operation.name) from None
        except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise NotImported(f"an operation of this form ({type(error).__name__}: {error})",
                              "give the kernel to the makers of tilevm", operation.origin, operation.name) from error


def _instead(name: str) -> str:
    """What a user can do about an operation without a lowering."""
    if name.startswith("ttng.tc_gen5") or name.startswith("ttng.tmem"):
        return "Blackwell's tensor memory is not modelled: compile for sm_80 or sm_90"
    if re.match(r"ttng\.|tt\.(descriptor|make_tensor_desc)", name):
        return "compile for sm_80, where descriptors become pointers and products are tl.dot of registers"
    return "rewrite it with operations of docs/guides/triton_guest.md, or cut it out and import the rest"
