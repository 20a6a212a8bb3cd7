"""tilevm with torch: calls, the operator and tilevm.nn. Where torch is not installed, a skip; package.py has the usage.

On a development machine: a virtual environment with torch, safetensors and the wheel, and there
`python tests/python/torch_test.py installed`.
"""

import os
import sys
import tempfile
import unittest

import package  # noqa: F401  the package that is tested

try:
    import torch
except ImportError:
    print("SKIP: there is no torch")
    sys.exit(77)

import tilevm
import tilevm.nn
from tilevm._operator import rows_of
from tilevm._tuned import PIPELINED, PROGRAMS, Plan, bits_of, zero_of

TYPES = ["u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "b1", "b4", "f3e1m1",
         "f4e2m1", "f5e2m2", "f6e3m2", "f7e3m3", "f8e4m3", "f8e5m2"]


def make_layer(type_="u4", inputs=96, outputs=40, group=64, **options):
    torch.manual_seed(0)
    linear = torch.nn.Linear(inputs, outputs, dtype=torch.float16)
    return linear, tilevm.nn.QuantizedLinear.from_linear(linear, type_, group, **options)


class Calls(unittest.TestCase):
    def setUp(self):
        self.kernel = tilevm.loads("""
            def double<1>(f32* a_ptr, f32* c_ptr):
                a = LoadGlobal(ViewGlobal(a_ptr, shape=[32]), layout=spatial(32))
                StoreGlobal(a + a, ViewGlobal(c_ptr, shape=[32]))
        """)

    def test_tensors_of_the_host(self):
        x, y = torch.arange(32, dtype=torch.float32), torch.zeros(32)
        self.assertIs(self.kernel(x, y), y)
        self.assertTrue(torch.equal(y, x * 2))
        with self.assertRaisesRegex(tilevm.UsageError, "detach"):
            self.kernel(x.clone().requires_grad_())

    @unittest.skipUnless(torch.cuda.is_available(), "there is no GPU")
    def test_tensors_of_a_gpu(self):
        x = torch.arange(32, dtype=torch.float32, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            y = self.kernel(x)
        side.synchronize()
        self.assertTrue(torch.equal(y, x * 2))
        launch, z = self.kernel.prepare(), torch.empty_like(x)
        launch(x, z)
        self.assertTrue(torch.equal(z, x * 2))


class Operator(unittest.TestCase):
    def arguments(self):
        _, layer = make_layer()
        return (torch.randn(3, 96, dtype=torch.float16), layer.tiles, layer.scales, layer.weight_q, layer.scale, "u4",
                64, 40, layer._plan, -1)

    def test_torch_finds_nothing_wrong(self):
        found = torch.library.opcheck(torch.ops.tilevm.quantized_linear.default, self.arguments(),
                                      test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"))
        self.assertEqual(set(found.values()), {"SUCCESS"})

    def test_it_traces_and_gives_the_same_bits(self):
        _, layer = make_layer()
        x = torch.randn(5, 96, dtype=torch.float16)
        with torch.no_grad():
            wanted = layer(x)
            for backend in ("aot_eager", "inductor"):
                torch._dynamo.reset()
                compiled = torch.compile(layer, fullgraph=True, backend=backend)
                self.assertTrue(torch.equal(compiled(x), wanted), backend)

    def test_another_type_says_what_to_do(self):
        with self.assertRaisesRegex(tilevm.UsageError, "x.half"):
            torch.ops.tilevm.quantized_linear(torch.zeros(1, 96), *self.arguments()[1:])


class Layers(unittest.TestCase):
    def test_the_bits_are_those_of_the_program_for_every_type(self):
        for type_ in TYPES:
            with self.subTest(type_):
                _, layer = make_layer(type_, plan=Plan())
                x = torch.randn(3, 96, dtype=torch.float16)
                k = tilevm.load(tilevm.programs() / PIPELINED, entry="main", M=3, N=40, K=96, Q=type_, W=bits_of(type_),
                                ZERO=zero_of(type_), GROUP=64)
                q = layer.weight_q.numpy()
                if k.parameters[1].bytes == q.size and type_ in ("u8", "i8", "f8e4m3", "f8e5m2"):
                    from tilevm._host import dtype_of
                    q = q.view(dtype_of(type_)).reshape(96, 40)
                wanted = torch.from_numpy(k(x.numpy(), q, layer.scale.numpy()))
                with torch.no_grad():
                    self.assertTrue(torch.equal(layer(x), wanted + layer.bias))
                    exact = x.float() @ layer.dequantized().T + layer.bias.float()
                    self.assertTrue(torch.allclose(layer(x).float(), exact, rtol=4e-3, atol=4e-3))

    def test_more_bits_are_nearer(self):
        errors = []
        for type_ in ("u2", "u3", "u4", "u6", "u8"):
            linear, layer = make_layer(type_)
            errors.append(float((layer.dequantized() - linear.weight.detach().float()).abs().mean()))
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertLess(errors[-1], 1e-3)

    def test_any_number_of_rows_and_dimensions(self):
        _, layer = make_layer()
        x = torch.randn(2, 7, 96, dtype=torch.float16)
        with torch.no_grad():
            y = layer(x)
            self.assertEqual(y.shape, (2, 7, 40))
            self.assertTrue(torch.equal(y[1, 3], layer(x[1, 3])))
            self.assertEqual(layer(x[:0]).shape, (0, 7, 40))

    def test_a_checkpoint_goes_round(self):
        try:
            from safetensors.torch import load_file, save_file
        except ImportError:
            self.skipTest("there is no safetensors")
        _, layer = make_layer("u3")
        other = tilevm.nn.QuantizedLinear(96, 40, "u3")
        with tempfile.TemporaryDirectory() as folder:
            save_file(layer.state_dict(), os.path.join(folder, "layer.safetensors"))
            other.load_state_dict(load_file(os.path.join(folder, "layer.safetensors")))
        x = torch.randn(4, 96, dtype=torch.float16)
        with torch.no_grad():
            self.assertTrue(torch.equal(other(x), layer(x)))
        self.assertEqual(sorted(layer.state_dict()), ["bias", "scale", "weight_q"])

    def test_every_program_multiplies_every_type(self):
        """The programs of quantized_matmul/ round elsewhere than the default one; signed types stand for a zero."""
        for program in PROGRAMS[1:]:
            for type_ in TYPES:
                with self.subTest(program=program, type=type_):
                    constants = {"BN": 64, "WARPS": 2, "BK": 32, "STAGES": 2}
                    _, layer = make_layer(type_, plan=Plan(program, constants))
                    x = torch.randn(3, 96, dtype=torch.float16)
                    with torch.no_grad():
                        exact = x.float() @ layer.dequantized().T + layer.bias.float()
                        self.assertTrue(torch.allclose(layer(x).float(), exact, rtol=4e-3, atol=4e-3))

    def test_codes_that_end_within_a_byte(self):
        _, layer = make_layer("u3", inputs=33, outputs=5, plan=Plan(PROGRAMS[1], {}))
        x = torch.randn(2, 33, dtype=torch.float16)
        with torch.no_grad():
            exact = x.float() @ layer.dequantized().T + layer.bias.float()
            self.assertTrue(torch.allclose(layer(x).float(), exact, rtol=4e-3, atol=4e-3))

    def test_constants_change_no_sum(self):
        x = torch.randn(4, 96, dtype=torch.float16)
        with torch.no_grad():  # another order of the weights, the same sums
            self.assertTrue(torch.equal(make_layer(plan=Plan(PIPELINED, {"BN": 32}))[1](x), make_layer(plan=Plan())[1](x)))

    def test_many_rows_go_to_torch(self):
        """From `many_rows` on the result is torch's, to the bit; below it is the kernel's."""
        for type_ in TYPES:
            with self.subTest(type_):
                _, layer = make_layer(type_, many_rows=6)
                _, never = make_layer(type_)
                self.assertIsNone(never.many_rows if not torch.cuda.is_available() else None)
                few, many = torch.randn(5, 96, dtype=torch.float16), torch.randn(2, 3, 96, dtype=torch.float16)
                with torch.no_grad():
                    self.assertTrue(torch.equal(layer(few), never(few)))
                    wanted = torch.matmul(many.reshape(6, 96), layer.dequantized().T.half()).reshape(2, 3, 40) + layer.bias
                    self.assertTrue(torch.equal(layer(many), wanted))
        torch._dynamo.reset()
        with torch.no_grad():
            compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
            self.assertTrue(torch.equal(compiled(many), wanted))
            self.assertTrue(torch.equal(compiled(few), layer(few)))

    def test_dequantized_weights_are_values_times_scales(self):
        from tilevm._operator import values_of
        from tilevm._packing import unpack_codes

        for type_ in TYPES:
            _, layer = make_layer(type_)
            codes = unpack_codes(layer.weight_q.numpy(), bits_of(type_), 96 * 40).reshape(96, 40)
            values = values_of(type_)[codes].astype("float16")
            scale = layer.scale.numpy().repeat(64, axis=0)[:96]
            self.assertTrue(torch.equal(layer.dequantized(), torch.from_numpy((values * scale).astype("float32").T.copy())), type_)

    def test_kernels_are_made_for_powers_of_two_of_rows(self):
        self.assertEqual([rows_of(rows) for rows in (1, 2, 3, 16, 17)], [1, 2, 4, 16, 32])

    @unittest.skipUnless(torch.cuda.is_available(), "there is no GPU")
    def test_a_gpu_gives_the_simulators_bits(self):
        for plan in (None, Plan(), Plan(PROGRAMS[1], {"BN": 64, "WARPS": 2}), Plan(PROGRAMS[2], {"BN": 64, "WARPS": 2})):
            _, layer = make_layer(plan=plan, many_rows=None)
            x = torch.randn(5, 96, dtype=torch.float16)
            with torch.no_grad():
                there = layer.to("cuda")(x.cuda()).cpu()
                weights = layer.dequantized().cpu()
                layer.order_weights()  # there, too
                self.assertTrue(torch.equal(layer(x.cuda()).cpu(), there))
                self.assertTrue(torch.equal(there, layer.to("cpu")(x)))
                self.assertTrue(torch.equal(weights, layer.dequantized()))

    def test_mistakes(self):
        for arguments, words in (((96, 40, "u9"), "1 to 8 bits"), ((96, 40, "u4", 64, True, None, 16, 0), "from 1 on"), ((0, 40), "features and rows are at least 1"),
                                 ((96, 40, "u4", 48), "multiples of 32")):
            with self.assertRaisesRegex(tilevm.UsageError, words):
                tilevm.nn.QuantizedLinear(*arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
