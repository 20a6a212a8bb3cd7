"""The table "Casts of others" of docs/reference/arithmetic.md: each cell is what the library or tilevm gives.

    casts_of_others.py TILEVM FOLDER

Exits with 77 where NumPy and ml_dtypes are not installed. The column of torch is compared where torch is.
"""

import pathlib
import re
import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"SKIP: {error} (tests/oracles/requirements.txt; ./dev test installs it)")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/arithmetic.md"
TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu", "f6e2m3": "float6_e2m3fn", "f6e3m2": "float6_e3m2fn",
         "f4e2m1": "float4_e2m1fn", "i4": "int4", "i8": "int8", "i32": "int32"}


def rows():
    """(value, source, target, codes by column) of each line of the table; the columns' titles."""
    text = PAGE.read_text()
    begin = text.index("### Casts of others")
    section = text[begin:(text + "\n## ").index("\n## ", begin)]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    table = []
    for value, source, target, *cells in lines[2:]:
        number = eval(value.strip("`").replace("^", "**"), {"inf": float("inf"), "nan": float("nan")})
        codes = [None if cell == "-" else int(re.match(r"0x[0-9a-f]+", cell)[0], 16) for cell in cells]
        table.append((value, number, source.strip("`"), target.strip("`"), codes))
    return table, lines[0][3:]


def by_numpy(number, source, target):
    def dtype(name):
        return np.dtype(getattr(ml_dtypes, TYPES[name], None) or TYPES[name])

    result = np.array([number], dtype(source)).astype(dtype(target))
    return int(result.view(f"u{result.itemsize}")[0]) & code_mask(target)


def by_torch(number, source, target):
    kind = getattr(torch, TYPES[target])
    result = torch.tensor([number], dtype=getattr(torch, TYPES[source])).to(kind)
    return int(result.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[kind.itemsize])[0]) & code_mask(target)


def by_tilevm(tilevm, folder, number, source, target):
    text = folder / "cast.tile"
    text.write_text(f"def f<1>({source}* x, {target}* y):\n    x = LoadGlobal(ViewGlobal(x, shape=[1]), layout=local(1))\n"
                    f"    StoreGlobal(Cast(x, {target}), ViewGlobal(y, shape=[1]))\n")
    np.save(folder / "x.npy", np.array([number], TYPES[source]))
    subprocess.run([tilevm, "run", text, "--in", f"x={folder / 'x.npy'}", "--out", f"y=codes:{folder / 'y.npy'}"], check=True,
                   stdout=subprocess.DEVNULL)
    return int(np.load(folder / "y.npy")[0])


def code_mask(target):
    return (1 << int(re.match(r"[a-z]+(\d+)", target)[1])) - 1


def main():
    np.seterr(all="ignore")
    tilevm, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    table, titles = rows()
    assert titles == [f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}", titles[1], "tilevm"], titles
    has_torch = torch is not None and titles[1] == f"torch {torch.__version__.split('+')[0]}, CPU"
    wrong = compared = 0
    for value, number, source, target, codes in table:
        found = [by_numpy(number, source, target), by_torch(number, source, target) if has_torch and codes[1] is not None
                 else codes[1], by_tilevm(tilevm, folder, number, source, target)]
        compared += len(found) - (not has_torch)
        for title, wanted, got in zip(titles, codes, found):
            if wanted != got:
                wrong += 1
                print(f"{value} of {source} as {target}, {title}: {got:#x}, the page has {wanted:#x}")
    print(f"{len(table)} casts, {compared} cells compared{'' if has_torch else ', none of torch'}, {wrong} wrong")
    sys.exit(1 if wrong or len(table) < 20 else 0)


if __name__ == "__main__":
    main()
