"""tilevm.nn.convert, layers of checkpoints, and models of transformers: small random ones made of configs. Where torch is not
installed, a skip; what needs transformers is left out without it. package.py has the usage.
"""

import json
import pathlib
import sys
import tempfile
import unittest

import package

try:
    import torch
except ImportError:
    print("SKIP: there is no torch")
    sys.exit(77)
try:
    import transformers
except ImportError:
    transformers = None

import numpy

import tilevm
import tilevm.nn
from tilevm.checkpoints import load_checkpoint, pack_checkpoint
from tilevm.nn import GroupedLinear, HalfLinear, PackedLinear, QuantizedLinear, Recipe

KEPT = package.ROOT / "tests" / "data" / "checkpoints"
HASHES = json.loads((KEPT / "hashes.json").read_text())
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def kept(name, folder):
    """The weight of a kept checkpoint."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
    (folder / "model.safetensors").write_bytes((KEPT / f"{name}.safetensors").read_bytes())
    (folder / "config.json").write_text(json.dumps({"quantization_config": HASHES[name]["config"]}))
    with load_checkpoint(folder) as checkpoint:
        return checkpoint.weight("layer")


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_the_weights_are_the_formats_to_the_bit(self):
        for name in HASHES:
            if name == "blocks":
                continue
            with self.subTest(name):
                weight = kept(name, self.folder)
                wanted = torch.from_numpy(numpy.ascontiguousarray(weight.dequantized()))
                layer = PackedLinear(weight)
                self.assertTrue(torch.equal(layer.dequantized(DTYPES[weight.dtype]).float(), wanted))
                x = torch.randn(3, weight.inputs).to(DTYPES[weight.dtype])
                exact = torch.matmul(x.double(), wanted.double().T)
                most = torch.matmul(x.double().abs(), wanted.double().abs().T)
                eps = torch.finfo(x.dtype).eps
                bound = most * weight.inputs * 2.0 ** -24 + (exact.abs() + 1e-6) * eps
                self.assertTrue(((PackedLinear(weight, few_rows=0)(x).double() - exact).abs() <= bound).all())
                # few_rows.tile does not round weights.
                self.assertTrue(((layer(x).double() - exact).abs() <= bound + most * eps / 2).all())

    def test_which_formats_are_multiplied_without_the_whole_weight(self):
        few = {name for name in HASHES if name != "blocks" and getattr(PackedLinear(kept(name, self.folder)), "_plan", "")}
        self.assertLessEqual({"awq_32", "gptq_v1_2_act-order", "gptq_v1_3_act-order", "gptq_v1_4_act-order", "gptq_v1_8_act-order"}, few)
        weight = kept("gptq_v1_4_act-order", self.folder)
        layer = PackedLinear(weight)
        x = torch.randn(2, weight.inputs).half()
        calls = []
        layer._of_few_rows = lambda given, real=layer._of_few_rows: calls.append(len(given)) or real(given)
        layer(x)
        layer(x.float())
        layer(torch.randn(65, weight.inputs).half())
        layer(x.clone().requires_grad_())
        self.assertEqual(calls, [2])

    def test_groups_of_16(self):
        """As NVFP4 has: of integers few_rows.tile takes them, too."""
        with load_checkpoint(KEPT / "blocks.gguf") as checkpoint:
            weight = checkpoint.weight("Q6_K")
        weight.arrays["scale"] = numpy.full_like(weight.arrays["scale"], 2.0 ** -9)
        layer = PackedLinear(weight)
        self.assertTrue(layer._plan)
        x = torch.randn(3, weight.inputs).half()
        exact = torch.matmul(x.double(), torch.from_numpy(numpy.array(weight.dequantized())).double().T)
        self.assertTrue(torch.allclose(layer(x).double(), exact, rtol=2e-3, atol=2e-2))

    def test_blocks_of_gguf(self):
        with load_checkpoint(KEPT / "blocks.gguf") as checkpoint:
            for weight in checkpoint:
                wanted = torch.from_numpy(numpy.ascontiguousarray(weight.dequantized()))
                got = PackedLinear(weight).dequantized()
                self.assertTrue(torch.equal(got.nan_to_num(), wanted.nan_to_num()), weight.name)
                self.assertTrue(torch.equal(got.isnan(), wanted.isnan()), weight.name)

    def test_gradients_autocast_and_zero_rows(self):
        for name in ("gptq_v1_4_act-order", "nf4_bf16_nested_96", "gptq_v1_4_irregular", "nvfp4"):
            layer = PackedLinear(kept(name, self.folder))
            x = torch.randn(2, 3, layer.in_features, requires_grad=True)
            toward = torch.randn(2, 3, layer.out_features)
            layer(x).backward(toward)
            self.assertTrue(torch.allclose(x.grad, torch.matmul(toward, layer.dequantized()), rtol=1e-5, atol=1e-5), name)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                self.assertEqual(layer(x.detach()).dtype, torch.bfloat16)
            self.assertEqual(layer(torch.zeros(0, layer.in_features)).shape, (0, layer.out_features))
            for bad in (torch.zeros(2, layer.in_features + 1), torch.zeros(())):
                with self.assertRaisesRegex(tilevm.UsageError, f"{layer.in_features} numbers"):
                    layer(bad)
            with self.assertRaisesRegex(tilevm.UsageError, "float64"):
                layer(torch.zeros(2, layer.in_features, dtype=torch.float64))

    def test_a_trace_has_no_breaks(self):
        layer = PackedLinear(kept("gptq_v1_4_act-order", self.folder))
        x = torch.randn(2, layer.in_features, dtype=torch.float16)
        torch._dynamo.reset()
        self.assertTrue(torch.equal(torch.compile(layer, fullgraph=True, backend="aot_eager")(x), layer(x)))

    def test_which_layer_a_weight_gets(self):
        self.assertIsInstance(tilevm.nn.layer_of(kept("pack_8_sym_f16", self.folder)), QuantizedLinear)
        self.assertIsInstance(tilevm.nn.layer_of(kept("awq_32", self.folder)), PackedLinear)
        weight = kept("fp8_block_bf16", self.folder)
        layer = tilevm.nn.layer_of(weight)
        codes = torch.from_numpy(weight.scales()).half()
        self.assertTrue(torch.equal(layer.scale, codes))

    def test_experts(self):
        torch.manual_seed(0)
        weights = torch.randn(4, 40, 64) / 8
        layer = GroupedLinear(weights, "u4", 32)
        x = torch.randn(9, 64, dtype=torch.float16)
        counts = torch.tensor([3, 0, 5, 1])
        y = layer(x, counts)
        begin = 0
        for expert, count in enumerate(counts.tolist()):
            one = torch.nn.Linear(64, 40, bias=False)
            one.weight.data = weights[expert]
            alone = QuantizedLinear.from_linear(one, "u4", 32)
            with torch.no_grad():
                self.assertTrue(torch.equal(y[begin:begin + count], alone(x[begin:begin + count])) or not count)
            begin += count
        x.requires_grad_()
        layer(x, counts).sum().backward()
        self.assertEqual(x.grad.shape, x.shape)
        fewer = torch.tensor([3, 0, 4, 0])  # the last two rows have no expert
        x.grad = None
        y_of_fewer = layer(x, fewer)
        y_of_fewer.sum().backward()
        self.assertFalse(y_of_fewer[7:].any() or x.grad[7:].any())
        self.assertEqual(layer(torch.zeros(0, 64, dtype=torch.float16), torch.zeros(4, dtype=torch.int64)).shape, (0, 40))
        torch._dynamo.reset()
        with torch.no_grad():
            self.assertTrue(torch.equal(torch.compile(layer, fullgraph=True, backend="aot_eager")(x, counts), y))


@unittest.skipUnless(transformers, "there is no transformers")
class Models(unittest.TestCase):
    def model(self, kind, **more):
        torch.manual_seed(0)
        sizes = dict(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, max_position_embeddings=64, **more)
        config = getattr(transformers, kind + "Config")(**sizes)
        return getattr(transformers, kind + "ForCausalLM")(config).eval()

    def test_a_converted_model_is_near_that_of_its_dequantized_weights(self):
        for kind, more in (("Llama", {}), ("Qwen2", {}), ("Qwen3", {"head_dim": 16}), ("Mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2})):
            with self.subTest(kind):
                model, plain = self.model(kind, **more), self.model(kind, **more)
                tilevm.nn.convert(model, Recipe("i8", 32))
                replaced = 0
                for name, module in list(model.named_modules()):
                    if isinstance(module, HalfLinear):
                        plain.get_submodule(name).weight.data = module.layer.dequantized()
                        replaced += 1
                    elif isinstance(module, GroupedLinear):
                        path, part = name.rpartition(".")[0], "gate_up_proj" if name.endswith("gate_up") else "down_proj"
                        experts = plain.get_submodule(path)
                        getattr(experts, part).data = torch.stack([
                            tilevm.nn.dequantize(module.weight_q[e], module.scale[e], module.in_features, "i8", 32).T.float()
                            for e in range(module.experts)])
                        replaced += 1
                self.assertEqual(replaced, 14 if kind != "Mixtral" else 12)
                ids = torch.arange(12)[None] % 64
                with torch.no_grad():
                    got, wanted = model(ids).logits, plain(ids).logits
                    # Each of 14 products rounds its x and y to float16, 2^-11 of their size each; norms and residuals keep
                    # relative errors, so that 2 x 14 x 2^-11 of the largest logit bounds what is left.
                    self.assertLessEqual((got - wanted).abs().max(), 28 * 2.0 ** -11 * wanted.abs().max())
                    self.assertEqual(got.dtype, torch.float32)

    def test_recipes(self):
        model = tilevm.nn.convert(self.model("Llama"), Recipe("u4", 32, rules=(("down_proj", ("i8", 32)), ("q_proj", None))))
        layers = {n.rpartition(".")[2]: m for n, m in model.named_modules() if isinstance(m, HalfLinear)}
        self.assertEqual(layers["down_proj"].layer.weight_type, "i8")
        self.assertEqual(layers["up_proj"].layer.weight_type, "u4")
        self.assertNotIn("q_proj", layers)
        self.assertIsInstance(model.lm_head, torch.nn.Linear)
        with self.assertRaisesRegex(tilevm.UsageError, "no linear layer"):
            tilevm.nn.convert(torch.nn.Sequential(torch.nn.ReLU()))

    def test_gradients_and_traces(self):
        model = tilevm.nn.convert(self.model("Llama"), Recipe("u4", 32))
        x = model.get_input_embeddings()(torch.arange(5)[None]).detach().requires_grad_()
        model(inputs_embeds=x).logits.sum().backward()
        self.assertGreater(x.grad.abs().sum(), 0)
        torch._dynamo.reset()
        with torch.no_grad():
            wanted = model(torch.arange(5)[None], use_cache=False).logits
            traced = torch.compile(model, fullgraph=True, backend="aot_eager")(torch.arange(5)[None], use_cache=False).logits
            self.assertTrue(torch.allclose(traced, wanted, rtol=1e-3, atol=1e-3))
            with torch.autocast("cpu", dtype=torch.bfloat16):
                self.assertTrue(torch.isfinite(model(torch.arange(5)[None]).logits).all())


@unittest.skipUnless(transformers, "there is no transformers")
class Folders(unittest.TestCase):
    """A model whose linear layers are of GPTQ's format, of random codes."""

    def setUp(self):
        from safetensors.torch import save_file

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "gptq"
        self.folder.mkdir()
        model = Models.model(self, "Llama").half()
        tensors = {}
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.Linear) and name != "lm_head":
                k, n = module.in_features, module.out_features
                tensors.update({f"{name}.qweight": torch.randint(-2 ** 31, 2 ** 31, (k // 8, n), dtype=torch.int32),
                                f"{name}.qzeros": torch.randint(-2 ** 31, 2 ** 31, (k // 32, n // 8), dtype=torch.int32),
                                f"{name}.scales": (torch.rand(k // 32, n) / 100).half(),
                                f"{name}.g_idx": (torch.randperm(k) // 32).to(torch.int32)})
        own = {n: p for n, p in model.state_dict().items() if f"{n.rpartition('.')[0]}.qweight" not in tensors}
        save_file({**{k: v.contiguous() for k, v in own.items()}, **tensors}, self.folder / "model.safetensors")
        config = {**json.loads(model.config.to_json_string()), "quantization_config": {
            "quant_method": "gptq", "bits": 4, "group_size": 32, "checkpoint_format": "gptq_v2"}}
        (self.folder / "config.json").write_text(json.dumps(config))
        with load_checkpoint(self.folder) as checkpoint:
            for weight in checkpoint:
                model.get_submodule(weight.name).weight.data = torch.from_numpy(numpy.array(weight.dequantized())).half()
        self.ids = torch.arange(9)[None]
        with torch.no_grad():
            self.wanted = model(self.ids).logits

    def near(self, model):
        with torch.no_grad():
            got = model(self.ids).logits
        self.assertLessEqual((got.float() - self.wanted.float()).abs().max(), 28 * 2.0 ** -11 * self.wanted.float().abs().max())

    def test_from_the_folder_as_it_is(self):
        model = tilevm.nn.from_pretrained(self.folder, torch.float16)
        self.assertEqual(sum(isinstance(m, PackedLinear) for m in model.modules()), 14)
        self.near(model)

    def test_from_pretrained_of_transformers(self):
        from tilevm._transformers import register

        register()
        register()
        target = pack_checkpoint(self.folder, self.folder.parent / "packed")
        self.near(tilevm.nn.from_pretrained(target, torch.float16))
        model = transformers.AutoModelForCausalLM.from_pretrained(target, dtype=torch.float16)
        self.assertEqual(sum(isinstance(m, PackedLinear) for m in model.modules()), 14)
        self.near(model.eval())

    def test_what_does_not_fit(self):
        config = json.loads((self.folder / "config.json").read_text())
        (self.folder / "config.json").write_text(json.dumps({**config, "hidden_size": 32}))
        with self.assertRaisesRegex(tilevm.UsageError, "in the checkpoint and"):
            tilevm.nn.from_pretrained(self.folder)
        (self.folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
        with self.assertRaisesRegex(tilevm.UsageError, "which the model does not have"):
            tilevm.nn.from_pretrained(self.folder)
        (self.folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
        with self.assertRaisesRegex(tilevm.UsageError, "the folder has no"):
            tilevm.nn.from_pretrained(self.folder)


def random_gptq(k, n):
    """The tensors of a GPTQ weight [n, k] of 4 bits in groups of 32, of random codes."""
    return {"qweight": torch.randint(-2 ** 31, 2 ** 31, (k // 8, n), dtype=torch.int32), "scales": (torch.rand(k // 32, n) / 100).half(),
            "qzeros": torch.randint(-2 ** 31, 2 ** 31, (k // 32, n // 8), dtype=torch.int32), "g_idx": (torch.randperm(k) // 32).to(torch.int32)}


@unittest.skipUnless(transformers, "there is no transformers")
class Mixtures(unittest.TestCase):
    """Folders of Mixtral's and Qwen's shape, which have a GPTQ weight for each projection of each expert."""

    def folder_of(self, kind, more, block, parts, drop=""):
        """The folder, and its model with the dequantised weights."""
        from safetensors.torch import save_file

        model = Models.model(self, kind, **more).half()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        tensors, own = {}, {n: p.contiguous() for n, p in model.state_dict().items() if ".experts." not in n}
        own = {n.replace(".mlp.", f".{block}."): p for n, p in own.items()}
        for layer, block_of_model in enumerate(model.model.layers):
            experts = block_of_model.mlp.experts
            for expert in range(experts.gate_up_proj.shape[0]):
                for part in parts:
                    k, n = experts.gate_up_proj.shape[2], experts.down_proj.shape[2]
                    k, n = (n, k) if part in ("down_proj", "w2") else (k, n)
                    name = f"model.layers.{layer}.{block}.experts.{expert}.{part}"
                    tensors.update({f"{name}.{key}": each for key, each in random_gptq(k, n).items() if name != drop})
        save_file({**own, **tensors}, folder / "model.safetensors")
        config = {**json.loads(model.config.to_json_string()), "quantization_config": {
            "quant_method": "gptq", "bits": 4, "group_size": 32, "checkpoint_format": "gptq_v2"}}
        (folder / "config.json").write_text(json.dumps(config))
        with load_checkpoint(folder) as checkpoint:
            for layer, block_of_model in enumerate(model.model.layers):
                experts = block_of_model.mlp.experts
                for expert in range(experts.gate_up_proj.shape[0]):
                    names = [f"model.layers.{layer}.{block}.experts.{expert}.{part}" for part in parts]
                    if drop in names:
                        continue
                    gate, up, down = (torch.from_numpy(numpy.array(checkpoint.weight(name).dequantized())).half() for name in names)
                    experts.gate_up_proj.data[expert], experts.down_proj.data[expert] = torch.cat([gate, up]), down
        return folder, model

    MIXTRAL = "Mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}, "block_sparse_moe", ("w1", "w3", "w2")
    QWEN = "Qwen3Moe", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "head_dim": 16}, "mlp", \
        ("gate_proj", "up_proj", "down_proj")

    def near(self, got, wanted):
        self.assertLessEqual((got.float() - wanted.float()).abs().max(), 28 * 2.0 ** -11 * wanted.float().abs().max())

    def test_from_the_folder_as_it_is(self):
        ids = torch.arange(9)[None]
        for case in (self.MIXTRAL, self.QWEN):
            folder, model = self.folder_of(*case)
            with self.subTest(case[0]), torch.no_grad():
                wanted = model(ids).logits
                for source in (folder, pack_checkpoint(folder, folder / "packed")):
                    made = tilevm.nn.from_pretrained(source, torch.float16)
                    self.assertEqual(sum(isinstance(m, PackedLinear) for m in made.modules()), 2 * 4 * 3)
                    self.near(made(ids).logits, wanted)

    def test_from_pretrained_of_transformers(self):
        from tilevm._transformers import register

        register()
        for case in (self.MIXTRAL, self.QWEN):
            folder, model = self.folder_of(*case)
            target = pack_checkpoint(folder, folder / "packed")
            with self.subTest(case[0]), torch.no_grad():
                made = transformers.AutoModelForCausalLM.from_pretrained(target, dtype=torch.float16).eval()
                self.assertEqual(sum(isinstance(m, PackedLinear) for m in made.modules()), 2 * 4 * 3)
                self.near(made(torch.arange(9)[None]).logits, model(torch.arange(9)[None]).logits)

    def test_gradients_traces_and_rows_without_an_expert(self):
        folder, model = self.folder_of(*self.QWEN)
        made = tilevm.nn.from_pretrained(folder, torch.float16).float()
        plain, experts = model.float().model.layers[0].mlp.experts, made.model.layers[0].mlp.experts
        x, index, weights = torch.randn(5, 64), torch.tensor([[0, 1], [3, 2], [1, 3], [4, 0], [2, 4]]), torch.rand(5, 2)
        x.requires_grad_()
        toward = torch.randn(5, 64)
        gradients = []
        # Another expert of weight zero gives what none gives; of rows without one transformers 5.24 leaves gradients undefined.
        for each, *given in ((experts, index, weights), (plain, index.clamp(max=3), torch.where(index < 4, weights, 0.0))):
            x.grad = None
            y = each(x, *given)
            y.backward(toward)
            gradients.append((y.detach(), x.grad))
        for got, wanted in zip(*gradients):
            self.assertTrue(torch.allclose(got, wanted, rtol=1e-4, atol=1e-4))
        torch._dynamo.reset()
        with torch.no_grad():
            traced = torch.compile(experts, fullgraph=True, backend="aot_eager")(x, index, weights)
            self.assertTrue(torch.equal(traced, experts(x, index, weights)))
            self.assertEqual(experts(x[:0], index[:0], weights[:0]).shape, (0, 64))

    def test_what_does_not_fit(self):
        folder, _ = self.folder_of(*self.QWEN, drop="model.layers.1.mlp.experts.2.up_proj")
        with self.assertRaisesRegex(tilevm.UsageError, r"no `model.layers.1.mlp.experts.2.up_proj`"):
            tilevm.nn.from_pretrained(folder)
        folder, _ = self.folder_of(*self.QWEN)
        config = json.loads((folder / "config.json").read_text())
        for change, words in (({"num_local_experts": 3}, "has 3 experts"), ({"moe_intermediate_size": 64}, r"\[64, 32\] in the checkpoint and \[64, 64\]")):
            (folder / "config.json").write_text(json.dumps({**config, **change}))
            with self.assertRaisesRegex(tilevm.UsageError, words):
                tilevm.nn.from_pretrained(folder)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
