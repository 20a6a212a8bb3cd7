"""tilevm with torch: calls, the operator and tilevm.nn. Where torch is not installed, a skip; package.py has the usage.

On a development machine: a virtual environment with torch, safetensors and the wheel, and there
`python tests/python/torch_test.py installed`.
"""

import itertools
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
from tilevm._tuned import HOPPER, PIPELINED, PROGRAMS, Plan, bits_of, zero_of
from tilevm._types import ML_NAMES

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

    def test_torch_in_torch_out(self):
        x = torch.arange(32, dtype=torch.float32)
        y = self.kernel(x)
        self.assertEqual((type(y), y.dtype, y.tolist()), (torch.Tensor, torch.float32, (x * 2).tolist()))
        self.assertEqual(self.kernel(torch.nn.Parameter(x, requires_grad=False)).tolist(), y.tolist())
        x = x.numpy()
        self.assertEqual(self.kernel(x, torch.zeros(32)).tolist(), y.tolist())

    def test_bf16_and_floats_of_8_bits(self):
        for type_, name in ML_NAMES.items():
            k = tilevm.loads("def f<1>(T* a, T* c):\n    a = LoadGlobal(ViewGlobal(a, shape=[8]), layout=local(8))\n"
                             "    StoreGlobal(a + a, ViewGlobal(c, shape=[8]))\n".replace("T*", type_ + "*"))
            dtype = getattr(torch, name)
            x, c = torch.ones(8).to(dtype), torch.zeros(8).to(dtype)
            y = k(x)
            self.assertEqual((y.dtype, y.float().tolist()), (dtype, [2] * 8))
            self.assertIs(k(x, c), c)
            self.assertEqual(c.float().tolist(), [2] * 8)
            codes = x.view(torch.uint16 if type_ == "bf16" else torch.uint8)
            self.assertEqual((k(codes).dtype, k(codes).tolist()), (codes.dtype, y.view(codes.dtype).tolist()))
            self.assertIs(k(c, c), c)  # in place
            self.assertEqual(c.float().tolist(), [4] * 8)
            with self.assertRaisesRegex(tilevm.UsageError, f"it was given torch.float64, pass x.to\\(torch.{name}\\)"):
                k(torch.ones(8, dtype=torch.float64))

    def test_packed_floats_of_4_bits(self):
        if not hasattr(torch, "float4_e2m1fn_x2"):
            self.skipTest("torch has no float4_e2m1fn_x2")
        k = tilevm.loads("def f<1>(f4e2m1* a, f32* c):\n    a = LoadGlobal(ViewGlobal(a, shape=[4]), layout=local(4))\n"
                         "    StoreGlobal(Cast(a, f32), ViewGlobal(c, shape=[4]))\n")
        packed = torch.from_numpy(tilevm.pack([2, 4, 5, 15], "f4e2m1"))
        self.assertEqual(k(packed.view(torch.float4_e2m1fn_x2)).tolist(), [1, 2, 3, -6])

    def test_what_torch_hides_is_refused(self):
        """In torch's words."""
        x = torch.ones(32)
        for given, words in ((x.double(), "it was given torch.float64, pass x.to(torch.float32)"),
                             (torch.ones(64)[::2], "pass x.contiguous()"), (x.to_sparse(), "pass x.to_dense()"),
                             (x.to("meta"), "is on `meta`"), (torch._neg_view(x), "pass x.resolve_neg()"),
                             (x[:8], "an array of shape [32]; it was given [8]"), (x.clone().requires_grad_(), "pass x.detach()"),
                             (torch.ones(32, dtype=torch.complex64), "x.real.to(torch.float32)")):
            with self.subTest(words), self.assertRaises(tilevm.UsageError) as raised:
                self.kernel(given)
            self.assertIn(words, str(raised.exception))
            self.assertNotIn("numpy", str(raised.exception).lower())
        with self.assertRaisesRegex(tilevm.UsageError, "x.view\\(torch.float16\\) if these are the bits"):
            tilevm.loads("def f<1>(f16* a):\n    StoreGlobal(LoadGlobal(ViewGlobal(a, shape=[4]), layout=local(4)), "
                         "ViewGlobal(a, shape=[4]))\n")(torch.ones(4, dtype=torch.int16))

    def test_pack_takes_tensors(self):
        codes = torch.arange(16)
        self.assertEqual(tilevm.pack(codes, "u4").tolist(), tilevm.pack(codes.numpy(), "u4").tolist())
        x = torch.tensor([1.0, -2.0, 448.0]).to(torch.float8_e4m3fn)
        self.assertEqual(tilevm.pack(x, "f8e4m3").tolist(), x.view(torch.uint8).tolist())
        with self.assertRaisesRegex(ValueError, "this is bfloat16"):
            tilevm.pack(torch.ones(2, dtype=torch.bfloat16), "u4")

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
        x, *others = self.arguments()
        utilities = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
        for operator, arguments, tests in (
                (torch.ops.tilevm.quantized_linear.default, (x, *others), utilities),
                (torch.ops.tilevm.differentiable_quantized_linear.default, (x.clone().requires_grad_(), *others),
                 (*utilities, "test_autograd_registration")),
                (torch.ops.tilevm.dequantized.default, (others[2], others[3], 96, "u4", 64), utilities)):
            found = torch.library.opcheck(operator, arguments, test_utils=tests)
            self.assertEqual(set(found.values()), {"SUCCESS"}, operator)

    def test_rows_of_another_length_are_refused(self):
        """By the operator, with the layer's number of inputs or with what the codes tell."""
        for inputs, outputs, type_ in ((95, 40, "u4"), (70, 40, "u4"), (33, 5, "u3"), (96, 8, "u1")):
            _, layer = make_layer(type_, inputs, outputs)
            arguments = (layer.tiles, layer.scales, layer.weight_q, layer.scale, type_, 64, outputs, layer._plan, -1)
            with torch.no_grad():
                for width in {96, 70, inputs - 1, inputs + 1, 1, 0} - {inputs}:
                    for call in (lambda x: torch.ops.tilevm.quantized_linear(x, *arguments), layer,
                                 lambda x: torch.ops.tilevm.quantized_linear(x, *arguments, inputs),
                                 lambda x: torch.ops.tilevm.differentiable_quantized_linear(x, *arguments, inputs)):
                        for shape in ((2, width), (0, width), (width,)):
                            with self.assertRaisesRegex(tilevm.UsageError, f"rows of {width} numbers.*{inputs} inputs"):
                                call(torch.zeros(shape, dtype=torch.float16))
                with self.assertRaisesRegex(tilevm.UsageError, "no dimensions"):
                    layer(torch.zeros((), dtype=torch.float16))
                self.assertEqual(layer(torch.zeros((0, inputs), dtype=torch.float16)).shape, (0, outputs))
                self.assertEqual(layer(torch.zeros(inputs, dtype=torch.float16)).shape, (outputs,))
        # One output of 4 bits: a byte has the last weight of 95 and of 96.
        _, layer = make_layer("u4", 95, 1)
        with torch.no_grad(), self.assertRaisesRegex(tilevm.UsageError, "rows of 96 numbers.*95 inputs"):
            layer(torch.zeros(2, 96, dtype=torch.float16))
        many = make_layer("u4", 95, 40, many_rows=1)[1]
        with torch.no_grad(), self.assertRaisesRegex(tilevm.UsageError, "rows of 96 numbers.*95 inputs"):
            many(torch.zeros(2, 96, dtype=torch.float16))

    def test_a_trace_refuses_them_as_well(self):
        _, layer = make_layer("u4", 95, 40)
        torch._dynamo.reset()
        with torch.no_grad(), self.assertRaisesRegex(Exception, "95 inputs"):
            torch.compile(layer, fullgraph=True, backend="aot_eager")(torch.zeros(2, 96, dtype=torch.float16))

    def test_a_gradient_is_not_lost(self):
        x, *others = self.arguments()
        x.requires_grad_()
        with self.assertRaisesRegex(tilevm.UsageError, "differentiable_quantized_linear"):
            torch.ops.tilevm.quantized_linear(x, *others)
        with torch.no_grad():
            torch.ops.tilevm.quantized_linear(x, *others)
        y = torch.ops.tilevm.differentiable_quantized_linear(x, *others)
        self.assertTrue(y.requires_grad)

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

    def test_gradients(self):
        """The gradient of x is that of a product with the dequantized weights, of the bias the sum over rows."""
        for shape, type_, many in (((3, 96), "u4", None), ((2, 5, 96), "f8e4m3", None), ((96,), "i6", None), ((4, 96), "u3", 2)):
            _, layer = make_layer(type_, many_rows=many)
            layer.bias.requires_grad_()
            weights = layer.dequantized().half()
            x = torch.randn(shape, dtype=torch.float16, requires_grad=True)
            toward = torch.randn((*shape[:-1], 40), dtype=torch.float16)
            y = layer(x)
            with torch.no_grad():
                self.assertTrue(torch.equal(y, layer(x)))  # the same bits
            y.backward(toward)
            self.assertTrue(torch.equal(x.grad, torch.matmul(toward, weights)), (shape, type_))
            self.assertTrue(torch.allclose(layer.bias.grad, toward.reshape(-1, 40).sum(0), rtol=2e-3, atol=2e-3))
        e = torch.randn(2, 96, requires_grad=True)  # through a cast
        (layer(e.half()).float().sum() + e.sum()).backward()
        self.assertTrue(torch.allclose(e.grad, 1 + weights.float().sum(0).half().float().expand(2, 96), rtol=2e-2, atol=2e-2))

    def test_gradients_of_a_trace(self):
        _, layer = make_layer()
        x, toward = torch.randn(3, 96, dtype=torch.float16, requires_grad=True), torch.randn(3, 40, dtype=torch.float16)
        layer(x).backward(toward)
        wanted, x.grad = x.grad, None
        torch._dynamo.reset()
        torch.compile(layer, fullgraph=True, backend="aot_eager")(x).backward(toward)
        self.assertTrue(torch.equal(x.grad, wanted))

    def test_weights_that_float16_does_not_hold(self):
        for dtype, value, words in ((torch.float16, float("nan"), r"weight\[3, 5\] is nan"), (torch.float16, float("-inf"), r"weight\[3, 5\] is -inf"),
                                    (torch.float32, 1e6, r"weight\[3, 5\] is 1e\+06"), (torch.float64, 1e300, r"weight\[3, 5\] is inf"),
                                    (torch.bfloat16, -7e4, r"weight\[3, 5\] is -70144")):
            linear = torch.nn.Linear(96, 4, dtype=dtype)
            linear.weight.data[3, 5] = value
            for type_ in ("u4", "f8e5m2"):
                with self.assertRaisesRegex(tilevm.UsageError, words):
                    tilevm.nn.QuantizedLinear.from_linear(linear, type_, 64)
        with self.assertRaisesRegex(tilevm.UsageError, r"weight\[5, 3\] is nan"):
            tilevm.nn.quantize(torch.full((96, 4), 1.0).index_put_((torch.tensor(5), torch.tensor(3)), torch.tensor(float("nan"))).numpy(), "u4", 64)
        linear = torch.nn.Linear(96, 4)
        linear.bias.data[1] = -1e6
        with self.assertRaisesRegex(tilevm.UsageError, r"bias\[1\] is -1e\+06"):
            tilevm.nn.QuantizedLinear.from_linear(linear)

    def test_the_largest_weights_stay_finite(self):
        """For a scale that is rounded up, the largest weight would be Inf."""
        for type_ in TYPES[1:]:  # u1 has no positive weight
            for value in (65504.0, -65504.0, 65472.0, 60000.0):
                linear = torch.nn.Linear(96, 4, bias=False, dtype=torch.float16)
                linear.weight.data[3, 5] = value
                layer = tilevm.nn.QuantizedLinear.from_linear(linear, type_, 64)
                weights = layer.dequantized()
                self.assertTrue(bool(weights.isfinite().all()), (type_, value))
                self.assertTrue(abs(float(weights[3, 5]) - value) <= 0.002 * abs(value), (type_, value, float(weights[3, 5])))
                with torch.no_grad():
                    one = torch.zeros(1, 96, dtype=torch.float16)
                    one[0, 5] = 1
                    self.assertTrue(bool(layer(one).isfinite().all()), (type_, value))

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
                    constants = {"BM": 32, "BLOCKS": 1} if program == HOPPER else {"BN": 64, "WARPS": 2, "BK": 32, "STAGES": 2}
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

    def test_many_rows_go_to_another_plan(self):
        """From `many_rows` on the result is that of a layer of `many_plan` alone, to the bit; below it is the first plan's."""
        other = Plan(HOPPER, {"BM": 32, "STAGES": 3, "BLOCKS": 2})
        for plan in (Plan(), Plan(PROGRAMS[1], {"BN": 64, "WARPS": 2})):
            _, both = make_layer("u4", plan=plan, many_rows=6, many_plan=other)
            few, many = torch.randn(5, 96, dtype=torch.float16), torch.randn(2, 3, 96, dtype=torch.float16)
            with torch.no_grad():
                self.assertTrue(torch.equal(both(few), make_layer("u4", plan=plan)[1](few)))
                self.assertTrue(torch.equal(both(many), make_layer("u4", plan=other)[1](many)))
                exact = torch.matmul(many.float(), both.dequantized().T) + both.bias.float()
                self.assertTrue(torch.allclose(both(many).float(), exact, rtol=4e-3, atol=4e-3))
        self.assertEqual(make_layer("u4", many_plan=other)[1].many_plan, other)
        self.assertIsNone(make_layer("u4")[1].many_plan)
        for wrong in (Plan(), 3):
            with self.assertRaisesRegex(tilevm.UsageError, "many_plan"):
                make_layer("u4", many_plan=wrong)

    def test_dequantized_weights_are_values_times_scales(self):
        from tilevm._operator import values_of
        from tilevm._packing import unpack_codes

        for type_ in TYPES:
            _, layer = make_layer(type_)
            codes = unpack_codes(layer.weight_q.numpy(), bits_of(type_), 96 * 40).reshape(96, 40)
            values = values_of(type_)[codes].astype("float16")
            scale = layer.scale.numpy().repeat(64, axis=0)[:96]
            self.assertTrue(torch.equal(layer.dequantized(), torch.from_numpy((values * scale).astype("float32").T.copy())), type_)

    def test_kernels_are_made_for_few_numbers_of_rows(self):
        self.assertEqual([rows_of(rows) for rows in (1, 2, 3, 16, 17, 129, 256, 257, 512, 1000, 1025)],
                         [1, 2, 4, 16, 32, 256, 256, 320, 512, 1024, 1280])

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

    def test_groups_of_16(self):
        """And others that are not multiples of 32, of every kind of type, on inputs that do not fill the last group."""
        torch.manual_seed(0)
        for type_, group, (inputs, outputs) in itertools.product(("u4", "i8", "u3", "b1", "f4e2m1", "f8e4m3"), (16, 48), ((128, 64), (200, 40))):
            linear = torch.nn.Linear(inputs, outputs)
            layer = tilevm.nn.QuantizedLinear.from_linear(linear, type_, group)
            self.assertEqual(list(layer.scale.shape), [-(-inputs // group), outputs])
            x = torch.randn(5, inputs, dtype=torch.float16)
            with torch.no_grad():
                exact = x.double() @ layer.dequantized().double().T + linear.bias.double()
                # y is rounded to float16; dequantized() rounds each weight so, and the kernel none.
                most = x.double().abs() @ layer.dequantized().double().abs().T
                self.assertTrue(((layer(x).double() - exact).abs() <= 2.0 ** -10 * exact.abs() + 2.0 ** -11 * most + 1e-4).all(), (type_, group))

    def test_mistakes(self):
        for arguments, words in (((96, 40, "u9"), "1 to 8 bits"), ((96, 40, "u4", 64, True, None, 16, 0), "from 1 on"), ((0, 40), "features and rows are at least 1"),
                                 ((96, 40, "u4", 40), "multiples of 16")):
            with self.assertRaisesRegex(tilevm.UsageError, words):
                tilevm.nn.QuantizedLinear(*arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
