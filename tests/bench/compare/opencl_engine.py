"""The cases in OpenCL, for Oclgrind: oclgrind [--data-races ..] python opencl_engine.py .. ."""

import pathlib

import numpy as np

import cases
import opencl_host


def main():
    kind, tile, size, inputs, folder, repeats = cases.arguments()
    device = opencl_host.Device()
    source = pathlib.Path(__file__).with_name("kernels.cl").read_text(encoding="utf-8")
    b = np.append(inputs["b"], np.uint8(0)) if kind == "a16w6" else inputs["b"]
    output = cases.output_like(kind, size)
    buffers = [device.buffer(array) for array in (inputs["a"], b, output)]
    if kind == "vadd":
        kernel, block = device.kernel(source, "vadd"), (128,)
        grid = (-(-size[0] // 128),)
    else:
        block = (16, 8) if tile[1] == 8 else (16, 16)
        flags = dict(zip(("BM", "BN", "BK", "TY", "TX"), (*tile, *block)))
        options = " ".join(f"-D{key}={value}" for key, value in flags.items())
        options += " -DQUANTIZED" if kind == "a16w6" else ""
        kernel = device.kernel(source, "matmul", options)
        grid = tuple(-(-extent // step) for extent, step in zip(size[:2], tile[:2]))
    everything = tuple(g * b for g, b in zip(grid, block))
    seconds = cases.time_kernel(
        lambda: device.launch(kernel, [*buffers, *size], everything, block), repeats)
    np.save(f"{folder}/c.npy", device.read(buffers[2], output))
    cases.report(seconds)


if __name__ == "__main__":
    main()
