"""tilevm.vllm_plugin without vLLM: a stand-in has the five names of vLLM that the plugin takes, and loads a layer as vLLM does.
tests/checkpoints/vllm_interface.py compares the plugin with the signatures of vLLM itself. 77 where there is no torch.
"""

import json
import pathlib
import sys
import tempfile
import types
import unittest

import package

try:
    import torch
except ImportError:
    print("SKIP: there is no torch")
    sys.exit(77)

import numpy

import tilevm
from tilevm import vllm_plugin
from tilevm.checkpoints import load_checkpoint, pack_checkpoint

KEPT = package.ROOT / "tests" / "data" / "checkpoints"
HASHES = json.loads((KEPT / "hashes.json").read_text())
CONFIGS = {}


class LinearBase(torch.nn.Module):
    """A layer: its sizes, and this rank's."""

    def __init__(self, inputs, outputs, rank=0, world=1):
        super().__init__()
        self.input_size, self.output_sizes, self.tp_rank, self.tp_size = inputs, outputs, rank, world


class UnquantizedLinearMethod:
    pass


class QuantizationConfig:
    def __init__(self):
        self.packed_modules_mapping = {}


def stand_in():
    """The modules of vLLM that the plugin imports."""
    def register_quantization_config(name):
        def keep(cls):
            CONFIGS[name] = cls
            return cls
        return keep
    names = {"vllm.model_executor.layers.linear": {"LinearBase": LinearBase, "LinearMethodBase": object,
                                                   "UnquantizedLinearMethod": UnquantizedLinearMethod},
             "vllm.model_executor.layers.quantization": {"register_quantization_config": register_quantization_config},
             "vllm.model_executor.layers.quantization.base_config": {"QuantizationConfig": QuantizationConfig}}
    for path in ("vllm", "vllm.model_executor", "vllm.model_executor.layers", *names):
        module = types.ModuleType(path)
        module.__path__ = []
        module.__dict__.update(names.get(path, {}))
        sys.modules[path] = module


class Plugin(unittest.TestCase):
    def setUp(self):
        stand_in()
        vllm_plugin.register()
        vllm_plugin.register()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        source = folder / "source"
        source.mkdir()
        from safetensors.torch import load_file, save_file

        own = load_file(KEPT / "awq_32.safetensors")
        save_file({f"model.layers.0.self_attn.{n}.{k.rpartition('.')[2]}": v.roll(i, 0).contiguous() for i, n in enumerate(("q_proj", "k_proj", "v_proj", "o_proj"))
                   for k, v in own.items()}, source / "model.safetensors")
        (source / "config.json").write_text(json.dumps({"quantization_config": HASHES["awq_32"]["config"]}))
        self.packed = pack_checkpoint(source, folder / "packed")
        self.config = CONFIGS["tilevm"].from_config(json.loads((self.packed / "config.json").read_text())["quantization_config"])
        self.config.packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}
        with load_checkpoint(self.packed) as checkpoint:
            self.weights = {w.name.rpartition(".")[2]: torch.from_numpy(numpy.array(w.dequantized())) for w in checkpoint}

    def loaded(self, prefix, layer, partition, outputs, ids):
        """The layer as vLLM makes, loads and calls it."""
        method = self.config.get_quant_method(layer, prefix)
        method.create_weights(layer, partition, outputs, layer.input_size, sum(layer.output_sizes), torch.float16, weight_loader=None)
        parameters = dict(layer.named_parameters())
        for part, shard_id in ids:
            with load_checkpoint(self.packed) as checkpoint:
                for full in checkpoint.parts(f"model.layers.0.self_attn.{part}"):
                    tensor = torch.from_numpy(checkpoint.tensor(full))
                    parameter = parameters[full.rpartition(".")[2]]
                    parameter.weight_loader(parameter, tensor, *([] if shard_id is None else [shard_id]))
        method.process_weights_after_loading(layer)
        self.assertEqual(dict(layer.named_parameters(recurse=False)), {})
        return method

    def test_fused_and_single_layers(self):
        x = torch.randn(3, 256).half()
        layer = LinearBase(256, [64, 64, 64])
        method = self.loaded("model.layers.0.self_attn.qkv_proj", layer, 256, [64, 64, 64], (("q_proj", "q"), ("k_proj", "k"), ("v_proj", "v")))
        bias = torch.randn(192).half()
        wanted = x.float() @ torch.cat([self.weights[n] for n in ("q_proj", "k_proj", "v_proj")]).T + bias.float()
        self.assertTrue(torch.allclose(method.apply(layer, x, bias).float(), wanted, rtol=4e-3, atol=4e-3))
        self.assertEqual(method.apply(layer, x.bfloat16()).dtype, torch.bfloat16)

    def test_ranks(self):
        x = torch.randn(3, 256).half()
        sums = []
        for rank in range(2):
            layer = LinearBase(256, [64], rank, 2)
            method = self.loaded("model.layers.0.self_attn.o_proj", layer, 128, [64], (("o_proj", None),))
            sums.append(method.apply(layer, x[:, 128 * rank:128 * rank + 128]).float())
        self.assertTrue(torch.allclose(sum(sums), x.float() @ self.weights["o_proj"].T, rtol=4e-3, atol=8e-3))
        columns = []
        for rank in range(2):
            layer = LinearBase(256, [64], rank, 2)
            columns.append(self.loaded("model.layers.0.self_attn.q_proj", layer, 256, [32], (("q_proj", None),)).apply(layer, x).float())
        self.assertTrue(torch.allclose(torch.cat(columns, 1), x.float() @ self.weights["q_proj"].T, rtol=4e-3, atol=4e-3))

    def test_what_is_refused(self):
        self.assertIsNone(self.config.get_quant_method(torch.nn.ReLU(), "x"))
        self.assertIsInstance(self.config.get_quant_method(LinearBase(1, [1]), "lm_head"), UnquantizedLinearMethod)
        self.config.packed_modules_mapping = {"gate": ["q_proj", "lm_head"]}
        with self.assertRaisesRegex(tilevm.UsageError, "only .* are quantised"):
            self.config.get_quant_method(LinearBase(1, [1]), "model.layers.0.self_attn.gate")
        with self.assertRaisesRegex(tilevm.UsageError, "was not loaded"):
            self.loaded("model.layers.0.self_attn.o_proj", LinearBase(256, [64]), 256, [64], ())
        with self.assertRaisesRegex(tilevm.UsageError, "vLLM asks for"):
            self.loaded("model.layers.0.self_attn.o_proj", LinearBase(256, [63], 0, 1), 256, [63], (("o_proj", None),))
        with self.assertRaisesRegex(tilevm.UsageError, "pack the folder again"):
            CONFIGS["tilevm"].from_config({})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
