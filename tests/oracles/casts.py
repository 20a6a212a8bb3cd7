"""Casts of the simulator against NumPy and ml_dtypes.

    casts.py TILEVM FOLDER

For each source type one kernel casts to all types that the libraries have: every code of 16 bits and
fewer; of wider types, every exponent (or length) with its corners, and noise. The libraries are held
to the rules of docs/reference/arithmetic.md where they have the same; where they have others, `agreement` says
so, and the rule of ours is checked in their place. Exits with 77 where they are not installed.
"""

import dataclasses
import pathlib
import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"SKIP: {error} (tests/oracles/requirements.txt; ./dev test installs it)")
    sys.exit(77)


@dataclasses.dataclass(frozen=True)
class Type:
    """An element type: its name in tilevm, the library's type, and its width."""

    name: str
    native: np.dtype
    bits: int

    @property
    def info(self):
        return (ml_dtypes.finfo if self.is_float else ml_dtypes.iinfo)(self.native)

    @property
    def is_float(self):
        return "f" in self.name

    @property
    def storage(self):
        """The unsigned type of codes, as tilevm and the library store them."""
        return np.dtype(f"u{self.native.itemsize}")

    @property
    def mask(self):
        return self.storage.type((1 << self.bits) - 1)

    @property
    def saturates(self):
        return self.is_float and self.bits <= 8

    @property
    def is_power(self):
        """Powers of two: no sign, no zero."""
        return self.name == "f8e8m0"

    @property
    def has_nan(self):
        return self.is_float and (self.bits >= 8)

    def codes_of(self, values):
        return values.view(self.storage) & self.mask


def type_of(name, native, bits=None):
    native = np.dtype(native)
    return Type(name, native, bits or 8 * native.itemsize)


TYPES = [
    type_of("f64", np.float64),
    type_of("f32", np.float32),
    type_of("f16", np.float16),
    type_of("bf16", ml_dtypes.bfloat16),
    type_of("f8e4m3", ml_dtypes.float8_e4m3fn),
    type_of("f8e5m2", ml_dtypes.float8_e5m2),
    type_of("f8e8m0", ml_dtypes.float8_e8m0fnu),
    type_of("f6e3m2", ml_dtypes.float6_e3m2fn, 6),
    type_of("f6e2m3", ml_dtypes.float6_e2m3fn, 6),
    type_of("f4e2m1", ml_dtypes.float4_e2m1fn, 4),
    *(type_of(f"{kind[0]}{n}", f"{kind}{n}") for kind in ("int", "uint") for n in (8, 16, 32, 64)),
    *(
        type_of(f"{kind[0]}{n}", getattr(ml_dtypes, f"{kind}{n}"), n)
        for kind in ("int", "uint")
        for n in (1, 2, 4)
    ),
]


def source_codes(source):
    """All codes, or of wide types a sample."""
    if source.bits <= 16:
        return np.arange(1 << source.bits, dtype=source.storage)
    random = np.random.default_rng(source.bits)
    noise = random.integers(0, 1 << 64, size=1 << 18, dtype=np.uint64)
    if source.is_float:
        mantissa = np.uint64(source.info.nmant)
        # In turn every sign and exponent; below a random place all zeros, all ones, or a half.
        tops = np.arange(noise.size, dtype=np.uint64) << mantissa
        noise = tops | place_low_bits(random, noise & ((np.uint64(1) << mantissa) - np.uint64(1)), mantissa)
    else:
        noise >>= random.integers(0, 64, size=noise.size, dtype=np.uint64)
        negative = random.integers(0, 2, size=noise.size, dtype=np.uint64)
        noise ^= np.uint64(0) - negative
    codes = (noise & np.uint64((1 << source.bits) - 1)).astype(source.storage)
    if source.name != "f64":
        return codes
    # Most of these lie beyond every other type; add the sample of f32.
    narrow = source_codes(TYPES[1]).view(np.float32)
    return np.concatenate([codes, narrow.astype(np.float64).view(source.storage)])


def place_low_bits(random, values, width):
    one = np.uint64(1)
    cut = random.integers(0, int(width) + 1, size=values.size, dtype=np.uint64)
    low = (one << cut) - one
    half = (low >> one) + np.where(cut > 0, one, np.uint64(0))
    place = random.integers(0, 6, size=values.size)
    chosen = np.choose(place, [np.zeros_like(low), low, half, half ^ low, half | (low & one), values & low])
    return (values & ~low) | chosen


def agreement(source, target, values):
    """Where the library has our rule: a mask of the values."""
    agrees = np.ones(values.shape, bool)
    if source.is_float:
        agrees &= ~np.isnan(values)
        if not target.is_float:
            # Out of range, the library wraps or is undefined; Cast saturates.
            wide = np.trunc(values.astype(np.float64))
            agrees &= (wide >= float(target.info.min)) & (wide < float(target.info.max) + 1)
    elif not target.is_float:
        return agrees
    if target.native.type.__module__.startswith("ml_dtypes") and source.bits >= 32:
        # ml_dtypes goes by way of float32, so values that are not float32 round twice.
        agrees &= values.astype(np.float32).astype(np.float64) == values.astype(np.float64)
        if source.bits == 64 and not source.is_float:
            agrees &= np.abs(values.astype(np.float64)) <= 2.0**53
    return agrees


def library_cast(values, native):
    try:
        return values.astype(native)
    except TypeError:  # between two types of ml_dtypes there may be no cast; float64 holds both
        return values.astype(np.float64).astype(native)


def expected_codes(source, target, values):
    """What Cast gives, by the library or, where its rule is another, by ours; and by the library
    alone: how many."""
    agrees = agreement(source, target, values)
    safe = np.where(agrees, values, np.zeros(1, source.native))
    result = target.codes_of(library_cast(safe, target.native))
    known = agrees.copy()
    if source.is_float:
        nan = np.isnan(values)
        result[nan] = nan_code(target)
        known |= nan
    if target.is_power:
        # The library has NaN where a value is 0, negative or too large; Cast takes the nearest power.
        wide = values.astype(np.float64)
        # Between 2^-127 and 2^-126 it takes the greater one, wherever the value is.
        least = 2.0**-127
        between = (wide > least) & (wide < 2 * least)
        rules = ((wide <= 0, 0), (wide > float(target.info.max), 0xFE), (between & (wide < 1.5 * least), 0),
                 (between & (wide >= 1.5 * least), 1))
        for far, code in rules:
            result[far] = code
            known |= far
    elif target.saturates:
        wide = values.astype(np.float64)
        largest = target.codes_of(np.array([target.info.max, -target.info.max], target.native))
        for over, code in ((wide > float(target.info.max), largest[0]), (wide < -float(target.info.max), largest[1])):
            result[over] = code
            known |= over
    return result, known, int(agrees.sum())


def nan_code(target):
    if not target.is_float:
        return 0
    if target.is_power:
        return target.mask
    if target.has_nan:
        return target.mask >> target.storage.type(1)
    return target.codes_of(np.array([target.info.max], target.native))[0]


def program(source, count):
    """A kernel that casts `count` elements to every type."""
    outputs = ", ".join(f"{t.name}* to_{t.name}" for t in TYPES)
    stores = "".join(
        f"    StoreGlobal(Cast(x, {t.name}), ViewGlobal(to_{t.name}, shape=[{count}]), offset=[1024 * i:])\n"
        for t in TYPES
    )
    return (
        f"def casts<{(count + 1023) // 1024}>({source.name}* x_ptr, {outputs}):\n"
        "    i = BlockIndices()\n"
        f"    gx = ViewGlobal(x_ptr, shape=[{count}])\n"
        "    x = LoadGlobal(gx, layout=spatial(32).local(32), offset=[1024 * i:])\n" + stores
    )


def simulate(tilevm, folder, source, codes):
    """The codes of every target type, by its name."""
    text = folder / f"from_{source.name}.tile"
    text.write_text(program(source, codes.size))
    np.save(folder / "x.npy", codes)
    command = [tilevm, "run", text, "--in", f"x_ptr=codes:{folder / 'x.npy'}"]
    for target in TYPES:
        command += ["--out", f"to_{target.name}=codes:{folder / target.name}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {t.name: np.load(folder / f"{t.name}.npy") for t in TYPES}


def compare(source, target, codes, got):
    """Prints the first difference; returns (differences, values that the library decided)."""
    values = codes.view(source.native)
    expected, known, by_library = expected_codes(source, target, values)
    wrong = np.flatnonzero(known & (got != expected))
    if wrong.size:
        i = wrong[0]
        print(
            f"{source.name} -> {target.name}: {wrong.size} differ, the first of {codes[i]:#x} "
            f"({values[i]}): tilevm {got[i]:#x}, expected {expected[i]:#x}"
        )
    return wrong.size, by_library


def main():
    np.seterr(all="ignore")
    tilevm, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    differences = decided = pairs = 0
    for source in TYPES:
        codes = source_codes(source)
        got = simulate(tilevm, folder, source, codes)
        for target in TYPES:
            wrong, by_library = compare(source, target, codes, got[target.name])
            differences += wrong
            decided += by_library
            pairs += 1
    print(f"{pairs} pairs of types, {decided} casts decided by the libraries, {differences} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
