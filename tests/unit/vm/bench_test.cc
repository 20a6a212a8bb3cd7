#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/vm/commands_support.h"
#include "vm/bench/bench_report.h"
#include "vm/cli/cmd_support.h"
#include "vm/data/compare.h"

namespace tilevm::vm {
namespace {

/// A small product with a plainer pipeline beside it.
const std::string matmul_program = R"(const M, N, K = 16, 8, 32
const A: layout = column_local(2, 2).spatial(8, 4).local(1, 2)
const B: layout = local(2, 1).column_spatial(4, 8).local(2, 1)
const C: layout = local(2, 1).spatial(8, 4).local(1, 2)

def copy<1>(f16* x_ptr, f16* y_ptr):
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[M, K]), layout=spatial(1, 32).local(M, K / 32))
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[M, K]))

def matmul<1>(f16* a_ptr, f4e2m1* b_ptr, f16* c_ptr):
    ga = ViewGlobal(a_ptr, shape=[M, K])
    gb = ViewGlobal(b_ptr, shape=[K, N])
    acc = AllocateRegister(f32, layout=C, init=0.0)
    for k in range(K / 16):
        a = LoadGlobal(ga, layout=A, offset=[0:, k * 16:])
        b = LoadGlobal(gb, layout=B, offset=[k * 16:, 0:])
        Dot(a, Cast(b, f16), acc, out=acc)
    StoreGlobal(Cast(acc, f16), ViewGlobal(c_ptr, shape=[M, N]))

pipeline main(a: f16[M, K], b: f4e2m1[K, N]) -> (c: f16[M, N]):
    t = AllocateGlobal(f16, shape=[M, K])
    copy(a, t)
    copy(t, t)
    matmul(t, b, c)

pipeline plain(a: f16[M, K], b: f4e2m1[K, N]) -> (c: f16[M, N]):
    matmul(a, b, c)

pipeline other(a: f16[M, K]) -> (c: f16[M, K]):
    copy(a, c)
)";

isa::VerifiedProgram verified_program(const std::string& text,
                                      std::string_view target = default_target) {
  const Loaded loaded = load(std::make_shared<SourceFile>("bench.tile", text), {},
                             *isa::parse_target(std::string(target)));
  REQUIRE(loaded.program);
  return *loaded.program;
}

Entry entry_of(const isa::VerifiedProgram& program, const std::string& name) {
  const Result<Entry> entry = resolve_entry(program, name, {});
  REQUIRE_MESSAGE(entry, entry.error().message);
  return *entry;
}

backend::Spread around(double median) {
  return {median - 2, median - 1, median, median + 1, median + 2};
}

/// Round numbers: 1 MB in 10 us are 0.1 TB/s.
BenchReport sample_report() {
  BenchReport report;
  report.environment = {"Some GPU", "sm_90a", "580.1 (CUDA 13.0)", "NVRTC 13.0"};
  report.entry = "main";
  KernelTime kernel;
  kernel.name = "matmul";
  kernel.time = around(10);
  kernel.bytes = 1'000'000;
  kernel.read = around(4);
  kernel.operations = 2e9;
  kernel.cublas = CublasTime{around(30), around(20), around(25)};
  kernel.properties.registers_per_thread = 96;
  kernel.properties.local_bytes_per_thread = 8;
  kernel.shared_bytes = 4096;
  kernel.threads = 128;
  report.kernels = {kernel, KernelTime{}};
  report.kernels[1].name = "transform";
  report.whole = EntryTime{around(12), around(11)};
  report.kernels[1].time = report.kernels[1].read = around(5);
  report.peak_bytes = std::uint64_t{1} << 30;
  report.peak = around(5368.70912);  // 0.2 TB/s
  report.cublas = "cuBLAS 13.1.0 (/lib)";
  report.reference = "plain";
  report.errors = {{"c", 0.00012}};
  report.checked = true;
  return report;
}

/// The line that begins so, with single spaces.
std::string words_of(const std::string& text, const std::string& begin) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(begin)) continue;
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    return joined;
  }
  return {};
}

TEST_CASE("a launch has the bytes of its tensors, each once") {
  const isa::VerifiedProgram program = verified_program(matmul_program);
  const Entry entry = entry_of(program, "main");
  CHECK(launch_bytes(entry, entry.launches[0]) == 2 * 16 * 32 * 2);
  CHECK(launch_bytes(entry, entry.launches[1]) == 16 * 32 * 2);
  CHECK(launch_bytes(entry, entry.launches[2]) == 16 * 32 * 2 + 32 * 8 / 2 + 16 * 8 * 2);
  CHECK(entry_bytes(entry) == 2 * 16 * 32 * 2 + 32 * 8 / 2 + 16 * 8 * 2);
}

TEST_CASE("kernels with a matrix product are known, also where it stands in a loop") {
  const isa::VerifiedProgram program = verified_program(matmul_program);
  CHECK_FALSE(has_product(program.kernel(0)));
  CHECK(has_product(program.kernel(1)));
}

TEST_CASE("sparse and block-scaled products are products") {
  const isa::VerifiedProgram sparse = verified_program(R"(def sparse<1>(f32* d_ptr):
    a = AllocateRegister(f16, layout=column_local(2, 2).spatial(8, 4).local(1, 2), init=1.0)
    p = AllocateRegister(u2, layout=local(2, 1).spatial(8, 1).replicated(2).spatial(1, 2).local(1, 8), init=[0, 3])
    b = AllocateRegister(f16, layout=local(4, 1).column_spatial(4, 8).local(2, 1), init=1.0)
    c = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0.0)
    StoreGlobal(DotSparse(a, p, b, c), ViewGlobal(d_ptr, shape=[16, 8]))
)");
  CHECK(has_product(sparse.kernel(0)));
  const isa::VerifiedProgram scaled = verified_program(R"(def scaled<1>(f32* d_ptr):
    a = AllocateRegister(f4e2m1, layout=column_local(2, 2).spatial(8, 4).local(1, 8), init=1.0)
    b = AllocateRegister(f4e2m1, layout=local(2, 1).column_spatial(4, 8).local(8, 1), init=1.0)
    sa = AllocateRegister(f8e8m0, layout=layout([16, 2], [2, 8, 2], [1, -2, 0], [2]), init=2.0)
    sb = AllocateRegister(f8e8m0, layout=local(2, 1).spatial(1, 8).replicated(4), init=2.0)
    c = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0.0)
    StoreGlobal(DotScaled(a, sa, b, sb, c), ViewGlobal(d_ptr, shape=[16, 8]))
)",
                                                       "sm_120a");
  CHECK(has_product(scaled.kernel(0)));
}

TEST_CASE("the sizes of a product are the constants M, N and K, as -D gives them") {
  const SourceFile source("bench.tile", matmul_program);
  const auto size = matmul_size(source, {{"K", "64"}});
  REQUIRE(size);
  CHECK(size->m == 16);
  CHECK(size->n == 8);
  CHECK(size->k == 64);
  CHECK(size->operations() == 2.0 * 16 * 8 * 64);
  CHECK_FALSE(matmul_size(source, {{"K", "0"}}));
  CHECK_FALSE(matmul_size(source, {{"K", "5000000000"}}));
  CHECK_FALSE(matmul_size(SourceFile("shift.tile", shift_program), {}));
}

TEST_CASE("narrow floats are filled with random codes, and what is given stays") {
  DataReader reader;
  const isa::VerifiedProgram program = verified_program(matmul_program);
  const Result<EntryData> data = make_entry_data(entry_of(program, "main"), {3, false}, reader);
  REQUIRE(data);
  CHECK(data->entry.tensors[0].spec.kind == SourceKind::rand);
  CHECK(data->entry.tensors[1].spec.kind == SourceKind::wild);
  CHECK(data->buffers[1].size() == 32 * 8 / 2);
  const Result<Entry> given = resolve_entry(program, "main", {{"b=zeros"}, {}});
  REQUIRE(given);
  const Result<EntryData> zeros = make_entry_data(*given, {3, false}, reader);
  REQUIRE(zeros);
  CHECK(zeros->buffers[1] == std::vector<std::uint8_t>(128, 0));
}

TEST_CASE("a reference takes the inputs by name; one that does not fit is refused") {
  DataReader reader;
  const isa::VerifiedProgram program = verified_program(matmul_program);
  const Result<EntryData> data = make_entry_data(entry_of(program, "main"), {3, false}, reader);
  REQUIRE(data);
  const Result<EntryData> plain = make_reference_data(entry_of(program, "plain"), *data);
  REQUIRE_MESSAGE(plain, plain.error().message);
  CHECK(plain->buffers[0] == data->buffers[0]);
  CHECK(plain->buffers[1] == data->buffers[1]);
  CHECK(plain->buffers[2].size() == 16 * 8 * 2);
  const Result<EntryData> other = make_reference_data(entry_of(program, "other"), *data);
  REQUIRE_FALSE(other);
  CHECK(other.error().kind == ErrorKind::usage);
  CHECK(contains(other.error().message, "`other` cannot verify `main`: it has no input `b`"));
  const Result<EntryData> few = make_entry_data(entry_of(program, "other"), {}, reader);
  REQUIRE(few);
  CHECK_FALSE(make_reference_data(entry_of(program, "plain"), *few));
}

TEST_CASE("the relative error is that of the Frobenius norm, across types") {
  HostTensor a{isa::f16, {2}, {}}, b{isa::f32, {2}, {}};
  a.data.resize(4);
  b.data.resize(8);
  a.set_code(0, 0x4200);      // 3
  a.set_code(1, 0x4500);      // 5
  b.set_code(0, 0x40400000);  // 3
  b.set_code(1, 0x40800000);  // 4
  CHECK(relative_error(a, b) == doctest::Approx(0.2));
  CHECK(relative_error(a, a) == 0);
  HostTensor zero = b;
  zero.set_code(0, 0);
  zero.set_code(1, 0);
  CHECK(relative_error(zero, zero) == 0);
  CHECK(std::isinf(relative_error(b, zero)));
}

TEST_CASE("the table shows times, rates, shares, the ratio and resources") {
  const std::string text = format_bench(sample_report());
  CHECK(words_of(text, "all launches") ==
        "all launches together: 12.00 us one by one, 11.00 us as a CUDA graph");
  CHECK(contains(text, "Some GPU\ndriver 580.1 (CUDA 13.0), NVRTC 13.0\n"));
  CHECK(contains(text,
                 "30 launches each, timed one by one with events, in turns; before each, L2 "
                 "is evicted by reading 512 MiB"));
  CHECK(words_of(text, "matmul ") ==
        "matmul 10.00 9.00..11.00 1.0 0.10 40 % 50 % 200.0 T 2.50 x 96 8 4096 128");
  CHECK(words_of(text, "transform ") == "transform 5.00 4.00..6.00 0.0 0.00 100 % - - - 0 0 0 0");
  CHECK(contains(text,
                 "matmul: reading as many bytes takes 4.00 us, cuBLAS 25.00 us (30.00 us (nn) and "
                 "20.00 us (tn) by themselves)\n"));
  CHECK(contains(text, "peak: reading 1024 MiB takes 5368.7 us, 0.20 TB/s\n"));
  CHECK(contains(text, "c: relative error 1.20e-04 against `plain`\n"));
  CHECK(contains(text, "a second run gave the same bits\n"));
}

TEST_CASE("what was not measured is a dash in the table and null in JSON") {
  BenchReport report = sample_report();
  report.peak_bytes = 0;
  report.cublas.clear();
  report.cublas_why = "no kernel has a matrix product";
  report.kernels[0].cublas.reset();
  report.kernels[0].operations = 0;
  report.timing.warm = true;
  const std::string text = format_bench(report);
  CHECK(contains(text, "; L2 warm;"));
  CHECK(contains(text, "without cuBLAS: no kernel has a matrix product\n"));
  CHECK_FALSE(contains(text, "peak: "));
  Json object = Json::object();
  for (auto& [key, value] : bench_members(report)) object.set(key, value);
  const std::string json = object.text();
  CHECK(contains(json, "\"cublas\": null, \"cublas_why\": \"no kernel has a matrix product\""));
  CHECK(contains(json, "\"tflop_per_s\": null"));
  CHECK(contains(json, "\"share_of_peak\": null"));
  CHECK(contains(json, "\"l2\": \"warm\""));
}

TEST_CASE("bench runs a program on the GPU, or says in one line what is missing") {
  const ScratchFolder folder;
  BenchOptions options;
  options.program.file = write_text(folder / "matmul.tile", matmul_program);
  options.rounds = 3;
  options.baseline = "cublas";
  options.reference = "plain";
  options.output = folder / "results.jsonl";
  Streams streams;
  const Exit status = bench(options, streams.io);
  INFO(streams.err.str());
  if (!open_cuda()) {
    CHECK(status == Exit::unavailable);
    const std::string message = streams.err.str();
    CHECK(message.find('\n') == message.size() - 1);
    return;
  }
  REQUIRE(status == Exit::ok);
  CHECK(contains(streams.out.str(), "copy#2"));
  CHECK(contains(streams.out.str(), "c: relative error 0.00e+00 against `plain`"));
  CHECK(contains(read_text(options.output), "\"checked\": true"));
  options.kernel = "matmull";
  Streams wrong;
  CHECK(bench(options, wrong.io) == Exit::usage);
  CHECK(contains(wrong.err.str(), "did you mean `matmul`?"));
}

TEST_CASE("an unknown baseline is an error of usage") {
  BenchOptions options;
  options.program.file = "-";
  options.baseline = "cubblas";
  Streams streams(matmul_program);
  CHECK(bench(options, streams.io) == Exit::usage);
  CHECK(contains(streams.err.str(), "did you mean `cublas`?"));
}

}  // namespace
}  // namespace tilevm::vm
