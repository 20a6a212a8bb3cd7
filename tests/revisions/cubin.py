"""What a cubin (an ELF file) makes a GPU do: machine code, registers, memory, constants.

Left out is what tells of the source only: names, line numbers, notes and debug sections.
"""

import hashlib
import struct

NOBITS = 8
RELA = 4
# Attributes of .nv.info, each about one function: the number of its symbol, and a value.
REGISTERS = 0x2F
STACK = 0x11
HAS_PAYLOAD = 0x04
# What the hardware is given: constant banks and initial values of variables.
DATA = (".nv.constant", ".nv.global")


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


class Elf:
    """The sections and symbols of a little-endian ELF file of 64 bits."""

    def __init__(self, image):
        if image[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not an ELF file of 64 bits")
        self.image = image
        start, = struct.unpack_from("<Q", image, 0x28)
        size, count, names = struct.unpack_from("<HHH", image, 0x3A)
        fields = ("name", "type", "flags", "address", "offset", "size", "link", "info", "align", "entry")
        self.sections = [dict(zip(fields, struct.unpack_from("<IIQQQQIIQQ", image, start + i * size)))
                         for i in range(count)]
        strings = self.data(self.sections[names])
        for section in self.sections:
            section["name"] = text_at(strings, section["name"])
        self.symbols = self.read_symbols()

    def data(self, section):
        if section["type"] == NOBITS:
            return b""
        return self.image[section["offset"]:section["offset"] + section["size"]]

    def section(self, name):
        return next((s for s in self.sections if s["name"] == name), None)

    def read_symbols(self):
        table = self.section(".symtab")
        if table is None:
            return []
        strings = self.data(self.sections[table["link"]])
        symbols = []
        for name, _, _, index, value, _ in struct.iter_unpack("<IBBHQQ", self.data(table)):
            inside = self.sections[index]["name"] if index < len(self.sections) else ""
            symbols.append({"name": text_at(strings, name), "section": inside, "value": value})
        return symbols

    def relocations(self, section):
        """Relocations with the place of each symbol instead of its number and name."""
        lines = []
        for offset, info, addend in struct.iter_unpack("<QQq", self.data(section)):
            symbol = self.symbols[info >> 32]
            lines.append((offset, info & 0xFFFFFFFF, symbol["section"], symbol["value"], addend))
        return repr(sorted(lines)).encode()

    def attribute(self, wanted):
        """The values of one attribute of .nv.info, by the function's name."""
        section = self.section(".nv.info")
        data = self.data(section) if section else b""
        values = {}
        at = 0
        while at + 4 <= len(data):
            form, attribute, size = struct.unpack_from("<BBH", data, at)
            at += 4
            if form != HAS_PAYLOAD:
                continue
            if attribute == wanted:
                symbol, value = struct.unpack_from("<II", data, at)
                values[self.symbols[symbol]["name"]] = value
            at += size
        return values


def text_at(strings, offset):
    return strings[offset:strings.index(b"\0", offset)].decode()


def contents(elf, section):
    """The bytes of a section that a GPU sees, or None if it sees none of them."""
    name = section["name"]
    if section["type"] == RELA:
        return elf.relocations(section) if name.startswith((".rela.text.", ".rela.nv.")) else None
    return elf.data(section) if name.startswith((".text.", ".nv.info.") + DATA) else None


def read(image):
    """Per function its facts and, under the name "", what belongs to the whole cubin.

    The first four are numbers to show: bytes of code, registers, bytes of stack (what a thread
    spills, and arrays indexed at run time) and bytes of shared memory known to the compiler. The
    others are sections by name, each with its size and a hash of its bytes.
    """
    elf = Elf(image)
    registers = elf.attribute(REGISTERS)
    stack = elf.attribute(STACK)
    functions = {name: {"code": 0, "registers": registers[name], "stack": stack.get(name, 0), "shared": 0}
                 for name in registers}
    functions[""] = {}
    for section in elf.sections:
        name, size = section["name"], section["size"]
        function = next((f for f in functions if f and name.endswith(f".{f}")), "")
        facts = functions[function]
        kind = name.removesuffix(f".{function}")
        if kind in (".text", ".nv.shared"):
            facts["code" if kind == ".text" else "shared"] = size
        data = contents(elf, section)
        if data is not None:
            facts[kind] = f"{size} {digest(data)}"
    return functions
