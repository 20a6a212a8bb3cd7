"""A quantised weight as tilevm keeps it: codes in plain order, and what its format says of their meaning, in the format's
own numbers, so that the dequantised weight is that of the format's reference to the bit and the way back loses nothing.

The weight of code q at input i and output o, with the group g of the input, is

    round(s[g, o] * v(q) - m[g, o])        in float32, each operation rounded, then rounded to `dtype`

v(q) is the number that a code means: of a table, or of the type, less the zero point where there is one (of unsigned codes
without zero points less 2^(bits - 1)). `form` says how s is made, and `min` whether there is an m.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

from ._errors import CheckpointError
from ._numbers import of_bf16, rounded_to, values_of_codes
from ._packed_rows import unpack_rows

# The arrays of which each form makes s.
FORMS = {"plain": ("scale",), "super": ("scale", "subscale"), "global": ("scale", "subscale"),
         "nested": ("scale", "subscale", "scale_table", "offset"), "e8m0": ("scale",), "e8m0_half": ("scale",)}
ARRAYS = ("scale", "subscale", "scale_table", "offset", "zero", "min", "submin", "table", "perm", "g_idx")


def bits_of_type(type_: str) -> int:
    """The number of bits of a type of codes."""
    return int(type_[1])


@dataclasses.dataclass
class PackedWeight:
    """A weight [outputs, inputs]. `codes` are the packed bytes of [inputs, outputs]; `group` inputs share a row of the
    arrays. With `perm`, an array of inputs, row r of codes is that of input perm[r]; with `g_idx`, an array of the groups of
    rows, groups have any sizes; with `flat` groups count elements of the flat [outputs, inputs]. `types` are those of
    the arrays in safetensors' words where NumPy does not have them.
    """

    name: str
    format: str
    type: str
    inputs: int
    outputs: int
    group: int
    dtype: str
    codes: Any
    arrays: dict[str, Any]
    form: str = "plain"
    flat: bool = False
    types: dict[str, str] = dataclasses.field(default_factory=dict)
    notes: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def bits(self) -> int:
        return bits_of_type(self.type)

    @property
    def shape(self) -> tuple[int, int]:
        return self.outputs, self.inputs

    @property
    def groups(self) -> int:
        return -(-self.inputs // self.group)

    def _f32(self, name: str) -> Any:
        array = self.arrays[name]
        type_ = self.types.get(name, "")
        if type_ == "BF16":
            return of_bf16(array)
        if type_ == "F8_E4M3":
            return values_of_codes("f8e4m3")[array]
        return array.astype("float32")

    def scales(self) -> Any:
        """s as float32: [groups, outputs], or of flat groups one dimension."""
        import numpy

        with numpy.errstate(all="ignore"):
            if self.form == "plain":
                return self._f32("scale")
            if self.form == "e8m0":  # 2 to the power e - 127
                return _power_of_two(self.arrays["scale"], 127)
            if self.form == "e8m0_half":
                return _power_of_two(self.arrays["scale"], 128)
            sub = self._f32("subscale")
            if self.form == "super":
                return _repeated(self._f32("scale"), len(sub)) * sub
            if self.form == "global":
                return sub / self._f32("scale").reshape(())
            block = int(self.notes["nested_block"])
            wide = numpy.repeat(self._f32("scale"), block)[:sub.size]
            flat = self.arrays["scale_table"].astype("float32")[self.arrays["subscale"].reshape(-1)] * wide
            found = flat + self.arrays["offset"].astype("float32")
            return found if self.flat else found.reshape(self.outputs, -1).T

    def offsets(self) -> Optional[Any]:
        """m as float32, [groups, outputs]; None where there is none."""
        import numpy

        if "min" not in self.arrays:
            return None
        low = self._f32("min")
        if "submin" not in self.arrays:
            return -low
        sub = self._f32("submin")
        with numpy.errstate(all="ignore"):
            return _repeated(low, len(sub)) * sub

    def values(self) -> Any:
        """v of each code without a zero point, float32."""
        if "table" in self.arrays:
            return self.arrays["table"].astype("float32")
        values = values_of_codes(self.type)
        return values if "zero" in self.arrays or self.type[0] != "u" or "min" in self.arrays else \
            values - (1 << self.bits - 1)

    def group_of_rows(self) -> Any:
        """The row of `scale` for each row of codes."""
        import numpy

        return self.arrays["g_idx"] if "g_idx" in self.arrays else numpy.arange(self.inputs) // self.group

    def rows(self) -> Any:
        """The codes as uint8, [inputs, outputs], in the order of `codes`."""
        return unpack_rows(self.codes, self.bits, self.inputs * self.outputs).reshape(self.inputs, self.outputs)

    def dequantized(self) -> Any:
        """The weight, [outputs, inputs] of float32: numbers of `dtype`, those of the format's reference to the bit."""
        import numpy

        codes, values, s, m = self.rows(), self.values(), self.scales(), self.offsets()
        out = numpy.empty((self.inputs, self.outputs), "float32")
        if self.flat:
            index = numpy.arange(self.inputs * self.outputs).reshape(self.outputs, self.inputs) // self.group
            with numpy.errstate(all="ignore"):
                out = rounded_to(values[codes].T * s[index], self.dtype)
            return out
        groups = self.group_of_rows()
        zero = self.arrays.get("zero")
        step = max(1, (1 << 20) // self.outputs)
        with numpy.errstate(all="ignore"):
            for begin in range(0, self.inputs, step):
                g = groups[begin:begin + step]
                w = values[codes[begin:begin + step]]
                if zero is not None:
                    w -= zero[g]
                w *= s[g]
                if m is not None:
                    w -= m[g]
                out[begin:begin + step] = rounded_to(w, self.dtype)
        perm = self.arrays.get("perm")
        if perm is not None:
            plain = numpy.empty_like(out)
            plain[perm] = out
            out = plain
        return out.T

    def check(self, file: Any = "") -> None:
        """CheckpointError: arrays that do not fit the weight."""
        count = (self.inputs * self.outputs * self.bits + 7) // 8
        if self.codes.size != count:
            raise CheckpointError(f"its codes have {self.codes.size} bytes; {self.type}[{self.inputs}, {self.outputs}] takes {count}",
                                  file, self.name)
        self._check_arrays(file)
        perm = self.arrays.get("perm")
        if perm is not None and not _is_permutation(perm, self.inputs):
            raise CheckpointError("its `perm` is no permutation of the inputs", file, self.name)
        g_idx = self.arrays.get("g_idx")
        if g_idx is not None and (g_idx.shape != (self.inputs,) or g_idx.min() < 0 or
                                  g_idx.max() >= self.arrays["scale"].shape[0]):
            raise CheckpointError("its `g_idx` names groups that are not there", file, self.name)


    def _check_arrays(self, file: Any) -> None:
        """Shapes of what the form takes."""
        if self.flat:
            blocks = -(-self.inputs * self.outputs // self.group)
            wanted: dict[str, Any] = {"scale": (blocks,)} if self.form == "plain" else {"subscale": (blocks,)}
        elif self.form == "nested":
            wanted = {"subscale": (self.groups * self.outputs,)}
        elif self.form == "super":
            wanted = {"subscale": (self.groups, self.outputs), "submin": (self.groups, self.outputs)}
        elif self.form == "global":
            wanted = {"subscale": (self.groups, self.outputs), "scale": (1,)}
        else:
            wanted = {"scale": (self.groups, self.outputs), "min": (self.groups, self.outputs)}
        wanted.update(zero=(self.groups, self.outputs), table=(1 << self.bits,), scale_table=(256,), offset=(1,))
        for each in FORMS[self.form]:
            if each not in self.arrays:
                raise CheckpointError(f"it has no `{each}`", file, self.name)
        for key, array in self.arrays.items():
            if key in wanted and tuple(array.shape) != wanted[key]:
                raise CheckpointError(f"its `{key}` has the shape {list(array.shape)}; it is {list(wanted[key])}", file, self.name)
        if self.form == "super":
            shape = self.arrays["scale"].shape
            if len(shape) != 2 or shape[1] != self.outputs or not shape[0] or self.groups % shape[0] or \
                    self.arrays.get("min", self.arrays["scale"]).shape != shape:
                raise CheckpointError(f"its `scale` has the shape {list(shape)}, which does not fit", file, self.name)
        if self.form == "nested":
            block = self.notes.get("nested_block")
            count = self.arrays["subscale"].size
            if type(block) is not int or block < 1 or self.arrays["scale"].shape != (-(-count // block),):
                raise CheckpointError("its `scale` does not fit its blocks", file, self.name)


def _is_permutation(perm: Any, count: int) -> bool:
    import numpy

    if perm.shape != (count,) or perm.size and (perm.min() < 0 or perm.max() >= count):
        return False
    seen = numpy.zeros(count, bool)
    seen[perm] = True
    return bool(seen.all())


def _repeated(array: Any, rows: int) -> Any:
    """Rows of super-blocks, each for as many groups."""
    import numpy

    return numpy.repeat(array, rows // len(array), axis=0)


def _power_of_two(codes: Any, bias: int) -> Any:
    """2 to the power code - bias as float32; beyond the largest number infinity."""
    import numpy

    return numpy.ldexp(numpy.float32(1), codes.astype("int32") - bias).astype("float32")
