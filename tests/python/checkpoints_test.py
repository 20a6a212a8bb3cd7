"""tilevm.checkpoints: small checkpoints that the formats' own packages made (tests/checkpoints), their weights by hash, the
way to packed folders and back, interrupted runs, and files of strangers. package.py has the usage.
"""

import hashlib
import itertools
import json
import os
import pathlib
import struct
import sys
import tempfile
import unittest

import package
import numpy

import tilevm
from tilevm.checkpoints import CheckpointError, load_checkpoint, pack_checkpoint, unpacked
from tilevm.checkpoints._bits import pack_rows, repacked, stream, unpack_rows, whole_stream, words_by_column, words_by_row
from tilevm.checkpoints._gguf import BLOCKS
from tilevm.checkpoints._numbers import of_bf16, to_bf16

KEPT = package.ROOT / "tests" / "data" / "checkpoints"
HASHES = json.loads((KEPT / "hashes.json").read_text())


def digest(weight):
    canonical = numpy.where(numpy.isnan(weight), numpy.float32(numpy.nan), weight).astype("<f4")
    return hashlib.sha256(numpy.ascontiguousarray(canonical).tobytes()).hexdigest()[:32]


def tensors_of(path):
    """The tensors of a file by name: type, shape, bytes."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], data[8 + length + v["data_offsets"][0]:8 + length + v["data_offsets"][1]]) for k, v in header.items()}


def write_file(path, tensors, spoil=None):
    """A safetensors file; `spoil` changes the header's object or gives the header's text."""
    header, end = {}, 0
    for name, (type_, shape, data) in tensors.items():
        header[name] = {"dtype": type_, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = spoil(header) if spoil is not None else None
    text = json.dumps(header) if text is None else text
    path.write_bytes(len(text).to_bytes(8, "little") + text.encode() + b"".join(t[2] for t in tensors.values()))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def case(self, name, tensors=None, spoil=None):
        """A kept checkpoint as a folder, with other tensors."""
        folder = self.folder / f"{name}.{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        write_file(folder / "model.safetensors", tensors or tensors_of(KEPT / f"{name}.safetensors"), spoil)
        (folder / "config.json").write_text(json.dumps({"model_type": "llama", "quantization_config": HASHES[name]["config"]}))
        return folder


class Weights(Folder):
    def test_dequantized_weights_are_those_of_the_references(self):
        for name, kept in HASHES.items():
            if name == "blocks":
                continue
            with self.subTest(name), tilevm.load_checkpoint(self.case(name)) as checkpoint:
                self.assertEqual(checkpoint.modules, ["layer"])
                self.assertEqual(digest(checkpoint.weight("layer").dequantized()), kept["hash"])

    def test_blocks_of_gguf(self):
        with load_checkpoint(KEPT / "blocks.gguf") as checkpoint:
            self.assertEqual((checkpoint.method, len(checkpoint)), ("gguf", 11))
            for weight in checkpoint:
                self.assertEqual(digest(weight.dequantized()), HASHES["blocks"]["hashes"][weight.name], weight.name)

    def test_the_way_to_packed_folders_and_back(self):
        sources = [self.case(name) for name in HASHES if name != "blocks"] + [KEPT / "blocks.gguf"]
        for source in sources:
            with self.subTest(source.name):
                target = pack_checkpoint(source, self.folder / f"{source.name}.out")
                with load_checkpoint(source) as before, load_checkpoint(target) as after:
                    self.assertEqual(before.modules, sorted(after.modules, key=before.modules.index))
                    for name in before.modules:
                        a, b = before.weight(name), after.weight(name)
                        self.assertEqual(digest(a.dequantized()), digest(b.dequantized()))
                        for (key, (one, _)), (other, _) in zip(unpacked(a).items(), unpacked(b).values()):
                            self.assertEqual(one.tobytes(), other.tobytes(), key)
                            full = f"{name}.{key}" if key else name
                            if "quant_state" not in key:
                                self.assertEqual(b"".join(before.pieces(full)), numpy.ascontiguousarray(one).tobytes(), key)

    def test_layouts_of_the_standard_library(self):
        """std/checkpoints.tile reads the files' own words."""
        for name, key, layout in (("gptq_v1_4_act-order", "qweight", "gptq_codes(K, N, W)"), ("gptq_v1_2_act-order", "qweight", "gptq_codes(K, N, W)"),
                                  ("gptq_v1_8_act-order", "qweight", "gptq_codes(K, N, W)"), ("awq_32", "qweight", "awq_codes(K, N)"),
                                  ("pack_4_asym_bf16", "weight_packed", "packed_rows(K, N)"), ("nvfp4", "weight_packed", "packed_rows(K, N)")):
            with self.subTest(name), load_checkpoint(self.case(name)) as checkpoint:
                weight = checkpoint.weight("layer")
                rows = weight.rows()
                if "perm" in weight.arrays:
                    plain = numpy.empty_like(rows)
                    plain[weight.arrays["perm"]] = rows
                    rows = plain
                words = b"".join(checkpoint.pieces(f"layer.{key}"))
                k = tilevm.loads(f"""
                    include "std/checkpoints.tile"
                    const K, N, W = {weight.inputs}, {weight.outputs}, {weight.bits}
                    def read<K>(u8* words_ptr, u8* codes_ptr):
                        k = BlockIndices()
                        g = ViewGlobal(words_ptr, dtype=u{weight.bits}, shape=[K, N], layout={layout})
                        q = LoadGlobal(g, layout=spatial(1, 32).local(1, N / 32), offset=[k:, 0:])
                        StoreGlobal(Cast(q, u8), ViewGlobal(codes_ptr, shape=[K, N]), offset=[k:, 0:])
                    pipeline main(words: u8[{len(words)}]) -> (codes: u8[K, N]):
                        read(words, codes)
                """)
                self.assertEqual(k(numpy.frombuffer(words, "uint8").copy()).tolist(), rows.tolist())

    def test_codes_of_any_number_of_bits(self):
        codes = numpy.arange(24, dtype="uint8")
        for bits in range(1, 9):
            masked = codes & ((1 << bits) - 1)
            packed = pack_rows(masked, bits)
            self.assertEqual(packed.tolist(), tilevm.pack(masked, f"u{bits}").tolist())
            self.assertEqual(unpack_rows(packed, bits, 21).tolist(), masked[:21].tolist())

    def test_units_of_many_shapes(self):
        """Codes by the definition, field by field, against tiles of units and outputs, in files' rows and columns."""
        rng = numpy.random.default_rng(0)
        cases = [(bits, unit) for bits in range(1, 9) for unit in (whole_stream(bits), stream(bits, 1, 32 // bits))]
        cases += [(int(block.type[1]), block.unit) for block in BLOCKS.values()]
        for (bits, unit), outputs, count in itertools.product(cases, (8, 13, 2056), (1, 3)):
            words = rng.integers(0, 1 << 32, (count, unit.words, outputs), dtype="uint32")
            inputs = max(1, count * len(unit.codes) - 3)
            codes = numpy.zeros((count, len(unit.codes), outputs), "uint32")
            for place, fields in enumerate(unit.codes):
                for field in fields:
                    codes[:, place] |= (words[:, field.word] >> field.shift & (1 << field.width) - 1) << field.at
            wanted = tilevm.pack(codes.reshape(-1, outputs)[:inputs].astype("uint8"), f"u{bits}").tobytes()
            columns = words_by_column(words.reshape(-1, outputs), unit)
            rows = words_by_row(numpy.ascontiguousarray(words.transpose(2, 0, 1)).view("uint8").reshape(-1), unit, 4 * count * unit.words,
                                0, 4 * unit.words)
            for units in (columns, rows):
                self.assertEqual(repacked(units, unit, count, inputs, outputs, bits).tobytes(), wanted, (bits, unit.words, outputs, count))

    def test_bf16_is_rounded_to_the_nearest(self):
        given = numpy.array([1.0, 1.00390625, 1.01171875, -1e-45, numpy.inf, 3.4e38, -0.0], "float32")
        self.assertEqual(of_bf16(to_bf16(given)).tolist(), [1.0, 1.0, 1.015625, -0.0, numpy.inf, numpy.inf, -0.0])
        self.assertTrue(numpy.isnan(of_bf16(to_bf16(numpy.array([numpy.nan], "float32"))))[0])

    def test_codes_with_free_bits_between_words(self):
        """As compressed-tensors wrote 3 bits before 0.18: ten in a word."""
        codes = numpy.random.default_rng(0).integers(0, 8, (4, 64), dtype="uint32")
        wide = numpy.concatenate([codes, numpy.zeros((4, 6), "uint32")], axis=1).reshape(4, 7, 10)
        words = numpy.bitwise_or.reduce(wide << numpy.arange(10, dtype="uint32") * numpy.uint32(3), axis=2)
        folder = self.case("pack_3_asym_bf16", {"a.weight_packed": ("I32", [4, 7], words.astype("<u4").tobytes()),
                                                "a.weight_scale": ("F16", [4, 2], numpy.ones((4, 2), "<f2").tobytes()),
                                                "a.weight_shape": ("I64", [2], numpy.array([4, 64], "<i8").tobytes())})
        with load_checkpoint(folder) as checkpoint:
            self.assertEqual(checkpoint.weight("a").dequantized().tolist(), (codes.astype(int) - 4).tolist())

    def test_shapes_that_are_no_multiples(self):
        """Codes of 3 bits and 5 outputs, whose rows do not end with bytes."""
        rows = numpy.random.default_rng(0).integers(0, 8, (96, 5), dtype="uint8")
        stream = numpy.unpackbits(rows.T[..., None], axis=2, bitorder="little")[..., :3].reshape(5, -1)
        words = numpy.packbits(stream, axis=1, bitorder="little").view("<i4").T
        zeros = numpy.zeros((3, 1), "<i4")
        folder = self.case("gptq_v1_3_act-order", {
            "a.qweight": ("I32", [9, 5], words.tobytes()), "a.qzeros": ("I32", [3, 1], zeros.tobytes()),
            "a.scales": ("F16", [3, 5], numpy.ones((3, 5), "<f2").tobytes())})
        with load_checkpoint(folder) as checkpoint:
            self.assertEqual(checkpoint.weight("a").dequantized().T.tolist(), (rows.astype(int) - 1).tolist())


class Packing(Folder):
    def model(self):
        """Two layers and what is not quantised."""
        own = tensors_of(KEPT / "gptq_v2_3_bf16.safetensors")
        tensors = {}
        for i in range(2):
            tensors.update({k.replace("layer.", f"model.layers.{i}.mlp.up_proj."): v for k, v in own.items()})
            tensors[f"model.layers.{i}.norm.weight"] = ("BF16", [4], bytes(range(8)))
        tensors["model.embed_tokens.weight"] = ("F16", [2, 2], bytes(8))
        return self.case("gptq_v2_3_bf16", tensors)

    def test_progress_and_parts(self):
        seen = []
        target = pack_checkpoint(self.model(), self.folder / "out", lambda *words: seen.append(words))
        self.assertEqual(sorted(p.name for p in target.iterdir()),
                         ["config.json", "model.embed_tokens.safetensors", "model.layers.0.safetensors", "model.layers.1.safetensors",
                          "model.safetensors.index.json"])
        self.assertEqual(seen[-1][0], seen[-1][1])
        with load_checkpoint(target) as packed:
            self.assertEqual(packed.modules, ["model.layers.0.mlp.up_proj", "model.layers.1.mlp.up_proj"])
            self.assertEqual(packed.tensor("model.layers.1.norm.weight").tobytes(), bytes(range(8)))

    def test_an_interrupted_run_goes_on(self):
        source, out = self.model(), self.folder / "out"

        def interrupt(done, total, name):
            if "layers.1" in name:
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            pack_checkpoint(source, out, interrupt)
        self.assertEqual([p.name for p in out.iterdir()], ["model.layers.0.safetensors"])
        before = os.stat(out / "model.layers.0.safetensors").st_mtime_ns
        (out / ".model.layers.1.safetensors.partial").write_bytes(b"what a killed run left")
        pack_checkpoint(source, out)
        self.assertEqual(os.stat(out / "model.layers.0.safetensors").st_mtime_ns, before)
        pack_checkpoint(source, out)  # nothing is left to do
        with load_checkpoint(out) as packed:
            self.assertEqual(len(packed), 2)

    def test_nothing_is_written_over(self):
        source, out = self.model(), self.folder / "out"
        out.mkdir()
        for name in ("model.layers.1.safetensors", "config.json"):
            other = out / name
            write_file(other, {"x": ("U8", [1], b"a")})
            data = other.read_bytes()
            with self.assertRaisesRegex(CheckpointError, "nothing (of it )?is written over"):
                pack_checkpoint(source, out)
            self.assertEqual(other.read_bytes(), data)
            other.unlink()
        with self.assertRaisesRegex(CheckpointError, "packed already"):
            pack_checkpoint(pack_checkpoint(source, out), self.folder / "again")


class Strangers(Folder):
    """Each error names the tensor and the byte, and none is another exception."""

    def refused(self, words, path):
        with self.assertRaisesRegex(CheckpointError, words) as raised:
            with load_checkpoint(path) as checkpoint:
                for _ in checkpoint:
                    pass
        return raised.exception

    def test_headers(self):
        def entry(**changes):
            return lambda h: h["layer.scales"].update(changes)
        for spoil, words in (
                (entry(shape=[4, 65]), "`layer.scales`, byte 8: F16.* takes 520 bytes"), (entry(shape=[-1, 64]), "natural numbers"),
                (entry(shape=[1] * 40), "40 dimensions"), (entry(data_offsets=[9, 1]), "end before they begin"),
                (entry(data_offsets=[0, 1024]), "lies in the data of another tensor"), (entry(dtype=7), "needs `dtype`"),
                (lambda h: '{"a":{},"a":{}}', "`a` occurs twice"), (lambda h: "[" * 100000, "nests too deeply|bad header"),
                (lambda h: "[]", "no object"), (lambda h: '{"a":', "byte"), (lambda h: json.dumps({}), "bytes follow the data")):
            with self.subTest(words):
                self.refused(words, self.case("awq_32", None, spoil))
        for data, words in ((b"", "byte 0"), (b"\xff" * 8, "longer than"), (b"\x10" + bytes(7), "ends inside its header")):
            path = self.folder / "bad.safetensors"
            path.write_bytes(data)
            self.refused(words, path)

    def test_every_prefix_of_a_file_is_refused(self):
        for name in ("awq_32.safetensors", "blocks.gguf"):
            whole = (KEPT / name).read_bytes()
            path = self.folder / name
            for length in [*range(0, 64), *range(64, len(whole), 997), len(whole) - 1]:
                path.write_bytes(whole[:length])
                error = self.refused("", path)
                self.assertIn("byte", str(error) + " byte" * (error.byte is not None))

    def test_changed_bytes_are_refused_or_read(self):
        """Headers of GGUF: whatever a byte becomes, no other exception, and no large memory."""
        whole = (KEPT / "blocks.gguf").read_bytes()
        path, rng = self.folder / "x.gguf", numpy.random.default_rng(0)
        for at in [*range(0, 40), *rng.integers(40, 3000, 120).tolist()]:
            for value in (0xff, 0x80):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ value]) + whole[at + 1:])
                try:
                    with load_checkpoint(path) as checkpoint:
                        checkpoint.modules
                except CheckpointError:
                    pass

    def test_modules(self):
        own = tensors_of(KEPT / "gptq_v1_4_act-order.safetensors")
        bad_groups = numpy.full(128, 9, "<i4").tobytes()
        for key, value, words in (
                ("layer.g_idx", ("I32", [128], bad_groups), r"`layer.g_idx`, byte \d+: `g_idx`\[0\] is 9, and there are 4 groups"),
                ("layer.scales", ("F16", [2, 64], own["layer.scales"][2][:256]), r"`layer.g_idx`, byte \d+: `g_idx`\[\d+\] is \d, and there are 2 groups"),
                ("layer.qzeros", ("I32", [4, 4], own["layer.qzeros"][2][:64]), r"`layer.qzeros`, byte \d+: `qzeros` has the shape"),
                ("layer.qweight", ("F32", own["layer.qweight"][1], own["layer.qweight"][2]), r"`layer.qweight`, byte \d+: `qweight` is F32"),
                ("layer.qzeros", None, "there is no `layer.qzeros`")):
            tensors = {k: v for k, v in {**own, key: value}.items() if v is not None}
            with self.subTest(words):
                self.refused(words, self.case("gptq_v1_4_act-order", tensors))
        own = tensors_of(KEPT / "nf4_bf16_nested_96.safetensors")
        state = "layer.weight.quant_state.bitsandbytes__nf4"
        for text in (b"{", b"[]", b'{"shape":[1e9,1],"blocksize":64,"dtype":"float16"}', b'{"shape":[48,96],"blocksize":0,"dtype":"float16"}',
                     b"[" * 60000, b'{"shape":[48,97],"blocksize":64,"dtype":"float16"}'):
            self.refused("layer", self.case("nf4_bf16_nested_96", {**own, state: ("U8", [len(text)], text)}))

    def test_configs(self):
        for config, words in (({"quant_method": "magic"}, "'magic'; gptq"), ({"quant_method": "gptq", "bits": "4"}, "whole number"),
                              ({"quant_method": "gptq", "bits": 5}, "2, 3, 4 and 8"), ({"quant_method": "awq", "version": "gemv"}, "gemv"),
                              ({"quant_method": "compressed-tensors"}, "config_groups"),
                              ({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}, "gptq_v2")):
            folder = self.case("gptq_v1_4_act-order")
            (folder / "config.json").write_text(json.dumps({"quantization_config": config}))
            self.refused(words, folder)

    def test_an_index_names_files_of_its_folder(self):
        for name in ("../model.safetensors", "/etc/passwd", "a/b.safetensors", ".hidden", "missing.safetensors"):
            folder = self.case("awq_32")
            (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": name}}))
            self.refused("no name of a file|cannot be opened", folder)

    def test_texts_of_gguf(self):
        head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
        for data, words in ((head + struct.pack("<Q", 1 << 40), "longer than"), (head + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 4, 1 << 60), "longer than the file"),
                            (head + struct.pack("<Q", 1) + b"a" + struct.pack("<I", 99), "type 99"), (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version 9"),
                            (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "more than")):
            path = self.folder / "x.gguf"
            path.write_bytes(data)
            self.refused(words, path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
