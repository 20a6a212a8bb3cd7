"""Each format's dequantised weights against the format's own reference implementation, bit for bit, on a CPU. Outside of CI;
prove.sh installs the packages of requirements.txt and runs this.

    references.py FOLDER            proves
    references.py FOLDER --keep     also writes small files and the hashes of their weights to tests/data/checkpoints

Every case is a checkpoint that the reference's own code made or takes, read from disk by tilevm.load_checkpoint.
"""

import hashlib
import importlib.metadata
import json
import pathlib
import re
import sys
import types

import numpy
import safetensors.torch
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests" / "data" / "checkpoints"
if "tilevm" not in sys.modules:  # the readers need no library
    package = types.ModuleType("tilevm")
    package.__path__ = [str(ROOT / "python" / "tilevm")]
    sys.modules["tilevm"] = package
from tilevm.checkpoints import load_checkpoint, pack_checkpoint, unpacked  # noqa: E402

KEEP = re.compile(r"gptq_v1_\d_act-order|gptq_v1_4_irregular|gptq_v2_3_bf16|awq_32|pack_[34]_asym_bf16|pack_8_sym_f16|pack_channel_f32|"
                  r"fp8_(tensor|channel|block)_bf16|int8_channel_f32|nvfp4|mxfp4|fp8_deepseek|nf4_bf16_nested_96|fp4_f16_256")
DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}


class Case:
    """A module `layer` of a checkpoint: its tensors, the quantisation's config, and the reference's weight [out, in]."""

    def __init__(self, name, package, config, tensors, weight):
        self.name, self.package, self.config, self.tensors, self.weight = name, package, config, tensors, weight


def random_words(*shape):
    return torch.from_numpy(numpy.random.default_rng(sum(shape)).integers(-1 << 31, 1 << 31, shape).astype("int32"))


def stored_zeros(rows, words, bits):
    """Zero points less 1 of 0 to 2^bits - 2: what qlinear_cuda makes 2^bits of the largest, qlinear_cuda_old makes 0."""
    codes = numpy.random.default_rng(bits).integers(0, (1 << bits) - 1, (rows, 32 * words // bits), dtype=numpy.uint8)
    stream = numpy.unpackbits(codes[..., None], axis=2, bitorder="little")[..., :bits]
    return torch.from_numpy(numpy.packbits(stream.reshape(rows, -1), axis=1, bitorder="little").view("int32").copy())


def gptq_cases():
    """AutoGPTQ's qlinear_cuda, version 1, with and without act-order."""
    from auto_gptq.nn_modules.qlinear.qlinear_cuda import QuantLinear

    for bits in (2, 3, 4, 8):
        for order in ("plain", "act-order", "irregular"):
            inputs, outputs, group = 128, 64, 32
            layer = QuantLinear(bits, group, inputs, outputs, False)
            layer.qweight.copy_(random_words(*layer.qweight.shape))
            layer.qzeros.copy_(stored_zeros(*layer.qzeros.shape, bits))
            layer.scales.copy_(torch.rand(layer.scales.shape) / 64)
            if order == "act-order":
                layer.g_idx = layer.g_idx[torch.randperm(inputs)]
            elif order == "irregular":
                layer.g_idx = torch.randint(0, inputs // group, (inputs,), dtype=torch.int32)
            eye = torch.eye(inputs, dtype=torch.float32)
            layer.scales = layer.scales.float()
            weight = layer(eye).half()  # a product with one of each weight, exact
            layer.scales = layer.scales.half()
            tensors = {k: v.contiguous() for k, v in (("qweight", layer.qweight), ("qzeros", layer.qzeros), ("scales", layer.scales),
                                                      ("g_idx", layer.g_idx))}
            config = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": order != "plain"}
            yield Case(f"gptq_v1_{bits}_{order}", "auto-gptq", config, tensors, weight.T)


def gptq_v2_cases():
    """GPTQModel's TorchLinear, version 2, in f16 and bf16."""
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear

    for bits in (2, 3, 4, 8):
        for dtype in (torch.float16, torch.bfloat16):
            layer = TorchLinear(bits=bits, group_size=32, sym=False, desc_act=True, in_features=128, out_features=64, bias=False)
            layer.qweight.copy_(random_words(*layer.qweight.shape))
            layer.qzeros.copy_(random_words(*layer.qzeros.shape))
            layer.scales = (torch.rand(layer.scales.shape) / 64).to(dtype)
            layer.g_idx = layer.g_idx[torch.randperm(128)].to(torch.int32)
            layer._init_wf_unsqueeze_buffers()
            weight = super(TorchLinear, layer).dequantize_weight()
            tensors = {name: getattr(layer, name).contiguous() for name in ("qweight", "qzeros", "scales", "g_idx")}
            yield Case(f"gptq_v2_{bits}_{DTYPES[dtype]}", "gptqmodel",
                       {"quant_method": "gptq", "bits": bits, "group_size": 32, "checkpoint_format": "gptq_v2"}, tensors, weight.T)


def awq_cases():
    from awq.utils.packing_utils import dequantize_gemm

    for group in (32, 128):
        inputs, outputs = 256, 64
        qweight, qzeros = random_words(inputs, outputs // 8), random_words(inputs // group, outputs // 8)
        scales = (torch.rand(inputs // group, outputs) / 64).half()
        weight = dequantize_gemm(qweight, qzeros, scales, 4, group)
        yield Case(f"awq_{group}", "autoawq", {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm"},
                   {"qweight": qweight, "qzeros": qzeros, "scales": scales}, weight.T)


def compressed_cases():
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    def case(name, form, args, tensors):
        scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**args))
        made = BaseCompressor.get_value_from_registry(form).compress(dict(tensors), scheme)
        back = BaseCompressor.get_value_from_registry(form).decompress(dict(made), scheme)
        config = {"quant_method": "compressed-tensors", "format": form, "config_groups": {
            "group_0": {"targets": ["Linear"], "format": form, "weights": json.loads(scheme.weights.model_dump_json())}}}
        made = {k: v.data.contiguous() for k, v in made.items()}
        return Case(name, "compressed-tensors", config, made, back["weight"])

    outputs, inputs = 64, 256
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        weight = torch.randn(outputs, inputs).to(dtype)
        for bits in (2, 3, 4, 5, 6, 7, 8):
            for symmetric in (True, False):
                zero = torch.randint(-(1 << bits - 1), 1 << bits - 1, (outputs, inputs // 32), dtype=torch.int8)
                tensors = {"weight": weight, "weight_scale": (torch.rand(outputs, inputs // 32) / 8 + 0.1).to(dtype),
                           "weight_zero_point": zero * (not symmetric)}
                yield case(f"pack_{bits}_{'sym' if symmetric else 'asym'}_{DTYPES[dtype]}", "pack-quantized",
                           dict(num_bits=bits, type="int", strategy="group", group_size=32, symmetric=symmetric), tensors)
        yield case(f"pack_channel_{DTYPES[dtype]}", "pack-quantized", dict(num_bits=4, type="int", strategy="channel", symmetric=True),
                   {"weight": weight, "weight_scale": (torch.rand(outputs, 1) / 8 + 0.1).to(dtype)})
        for strategy, shape in (("tensor", (1,)), ("channel", (outputs, 1)), ("block", (-(-outputs // 48), inputs // 128))):
            args = dict(num_bits=8, type="float", strategy=strategy, symmetric=True)
            if strategy == "block":
                args["block_structure"] = [48, 128]
            yield case(f"fp8_{strategy}_{DTYPES[dtype]}", "float-quantized", args,
                       {"weight": weight, "weight_scale": (torch.rand(shape) / 64 + 0.001).to(dtype)})
        yield case(f"int8_channel_{DTYPES[dtype]}", "int-quantized", dict(num_bits=8, type="int", strategy="channel", symmetric=True),
                   {"weight": weight, "weight_scale": (torch.rand(outputs, 1) / 64 + 0.01).to(dtype)})
    weight = torch.randn(outputs, inputs).bfloat16()
    yield case("nvfp4", "nvfp4-pack-quantized", dict(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True),
               {"weight": weight, "weight_scale": (torch.rand(outputs, inputs // 16) * 400 + 1).float(),
                "weight_global_scale": torch.tensor([1234.5])})
    exponents = torch.randint(-100, 100, (outputs, inputs // 32))
    yield case("mxfp4", "mxfp4-pack-quantized", dict(num_bits=4, type="float", strategy="group", group_size=32, symmetric=True),
               {"weight": weight * torch.repeat_interleave(2.0 ** exponents, 32, 1).bfloat16(), "weight_scale": 2.0 ** exponents})


def fp8_block_cases():
    """DeepSeek's blocks of 128 x 128, as transformers dequantises them."""
    weight = torch.randn(192, 320).to(torch.float8_e4m3fn)
    scale = torch.rand(2, 3) / 64
    wide = scale.repeat_interleave(128, 0)[:192].repeat_interleave(128, 1)[:, :320]
    yield Case("fp8_deepseek", "torch", {"quant_method": "fp8", "weight_block_size": [128, 128]},
               {"weight": weight, "weight_scale_inv": scale}, weight.float() * wide)


def plain_4bit(data, state):
    """The reference's weight. Where blocks go over the ends of rows, that of its code for all devices: its code for CPUs
    takes the scale of another block there (findings/bitsandbytes_cpu_rows.sh)."""
    import bitsandbytes.functional as bnb
    from bitsandbytes.backends.default import ops
    from bitsandbytes.backends.utils import _get_4bit_code

    if state.shape[1] % state.blocksize == 0:
        return bnb.dequantize_4bit(data, state)
    absmax = state.absmax
    if state.nested:
        absmax = bnb.dequantize_blockwise(absmax, state.state2) + state.offset
    return ops._dequantize_4bit_compute(data.reshape(-1), absmax.float(), _get_4bit_code(state.quant_type, data.device), state.blocksize,
                                        state.shape, state.dtype)


def bitsandbytes_cases():
    import bitsandbytes.functional as bnb

    for kind in ("nf4", "fp4"):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for nested in (False, True):
                for shape in ((64, 256), (48, 96)):
                    weight = torch.randn(shape).to(dtype)
                    data, state = bnb.quantize_4bit(weight, blocksize=64, quant_type=kind, compress_statistics=nested)
                    tensors = {"weight": data, **{f"weight.{k}": v for k, v in state.as_dict(packed=True).items()}}
                    yield Case(f"{kind}_{DTYPES[dtype]}_{'nested_' if nested else ''}{shape[1]}", "bitsandbytes",
                               {"quant_method": "bitsandbytes", "load_in_4bit": True}, tensors, plain_4bit(data, state))


FORMATS = (gptq_cases, gptq_v2_cases, awq_cases, compressed_cases, fp8_block_cases, bitsandbytes_cases)


def digest(weight):
    """The hash of a weight [out, in] of float32: a NaN is a NaN."""
    canonical = numpy.where(numpy.isnan(weight), numpy.float32(numpy.nan), weight).astype("<f4")
    return hashlib.sha256(numpy.ascontiguousarray(canonical).tobytes()).hexdigest()[:32]


def prove(case, folder, kept):
    """Saves the case, reads it, compares bits."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{case.name}.safetensors"
    tensors = {f"layer.{k}" if k else "layer": v for k, v in case.tensors.items()}
    safetensors.torch.save_file(tensors, file)
    (folder / "config.json").write_text(json.dumps({"quantization_config": case.config}))
    with load_checkpoint(file) as checkpoint:
        weight = checkpoint.weight("layer")
        got = weight.dequantized()
    wanted = case.weight.float().numpy()
    assert weight.dtype == DTYPES[case.weight.dtype], (case.name, weight.dtype, case.weight.dtype)
    assert digest(got) == digest(wanted), (case.name, numpy.argwhere(~((got == wanted) | (numpy.isnan(got) & numpy.isnan(wanted))))[:5])
    tensors = {k: v.contiguous().view(-1).view(torch.uint8).numpy().tobytes() for k, v in case.tensors.items()}
    check_ways(weight, tensors, got, pack_checkpoint(file, folder / f"{case.name}.packed"), "layer")
    if kept is not None and KEEP.fullmatch(case.name):
        kept[case.name] = {"hash": digest(wanted), "config": case.config, "reference": case.package}
        (KEPT / file.name).write_bytes(file.read_bytes())


def check_ways(weight, tensors, dequantized, packed, name):
    """The packed folder gives the same weight, and the way back the tensors, where the format is written."""
    with load_checkpoint(packed) as checkpoint:
        again = checkpoint.weight(name)
    assert digest(again.dequantized()) == digest(dequantized), name
    for each in (weight, again):
        back = unpacked(each)
        for key, (array, _) in back.items():
            if "quant_state" not in key:
                assert numpy.ascontiguousarray(array).tobytes() == tensors[key], (weight.format, name, key)
        lost = {k for k in set(tensors) - set(back) if not k.endswith("zero_point")}
        assert not lost, (weight.format, name, lost)


def prove_gguf(folder, kept):
    """Random bytes as every block format, in a file that the package's writer made; NaN and Inf among the scales."""
    import gguf
    from tilevm.checkpoints._gguf import BLOCKS

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "blocks.gguf"
    writer = gguf.GGUFWriter(file, "llama")
    rng = numpy.random.default_rng(1)
    wanted, data_of = {}, {}
    for name, block in BLOCKS.items():
        data = rng.integers(0, 256, (24, 512 // block.weights * block.bytes), dtype=numpy.uint8)
        data_of[name] = data
        kind = gguf.GGMLQuantizationType[name]
        writer.add_tensor(name, data, raw_dtype=kind)
        with numpy.errstate(all="ignore"):
            wanted[name] = gguf.quants.dequantize(data, kind)
    writer.add_array("tokenizer.ggml.tokens", [f"t{i}" for i in range(100)])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    packed = pack_checkpoint(file, folder / "blocks.packed")
    with load_checkpoint(file) as checkpoint:
        for weight in checkpoint:
            assert digest(weight.dequantized()) == digest(wanted[weight.name]), weight.name
            check_ways(weight, {"": data_of[weight.name].tobytes()}, wanted[weight.name], packed, weight.name)
        assert sorted(checkpoint.modules) == sorted(wanted)
    if kept is not None:
        kept["blocks"] = {"hashes": {name: digest(each) for name, each in wanted.items()}, "reference": "gguf"}
        (KEPT / file.name).write_bytes(file.read_bytes())
    return len(wanted)


def main():
    folder, keep = pathlib.Path(sys.argv[1]), "--keep" in sys.argv
    kept = {} if keep else None
    if keep:
        KEPT.mkdir(parents=True, exist_ok=True)
    counts = {}
    for cases in FORMATS:
        torch.manual_seed(0)
        try:
            for case in cases():
                prove(case, folder, kept)
                counts[case.package] = counts.get(case.package, 0) + 1
        except ImportError as error:
            print(f"not installed, so {cases.__name__} is left out: {error}")
    counts["gguf"] = prove_gguf(folder, kept)
    for package, count in counts.items():
        version = importlib.metadata.version(package) if package not in ("auto-gptq", "autoawq", "gptqmodel") else \
            (pathlib.Path(__file__).parent / "requirements.txt").read_text().split(package + "==")[1].split()[0]
        print(f"{package} {version}: {count} checkpoints, equal to the bit")
    if keep:
        (KEPT / "hashes.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    print(f"{sum(counts.values())} passed, 0 failed")


if __name__ == "__main__":
    main()
