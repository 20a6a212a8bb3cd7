#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"
#include "tests/unit/vm/scratch_folder.h"
#include "tests/unit/vm/tensor_of.h"
#include "vm/data/npy.h"
#include "vm/run/vm.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

isa::VerifiedProgram verified(const std::string& text) {
  Loaded loaded = load(std::make_shared<const SourceFile>("t.tile", text), {}, isa::Target{});
  REQUIRE(loaded.program);
  return *loaded.program;
}

std::string error_of(const Result<Entry>& entry) { return entry ? "" : entry.error().message; }

}  // namespace

TEST_CASE("the only kernel is the entry, and its tensors follow from its views") {
  const Result<Entry> entry = resolve_entry(verified(shift_program), "", {});
  REQUIRE(entry);
  CHECK(entry->name == "shift");
  CHECK_FALSE(entry->is_pipeline);
  REQUIRE(entry->tensors.size() == 2);
  CHECK(entry->tensors[0].input);
  CHECK_FALSE(entry->tensors[0].output);
  CHECK_FALSE(entry->tensors[1].input);
  CHECK(entry->tensors[1].output);
  CHECK(entry->tensors[1].shape == isa::Shape{6});
  CHECK(entry->launches.size() == 1);
}

TEST_CASE("several entries without a main need a name, and a wrong name gets a suggestion") {
  const isa::VerifiedProgram program = verified(two_kernels);
  CHECK(contains(error_of(resolve_entry(program, "", {})), "--entry NAME"));
  CHECK(contains(error_of(resolve_entry(program, "", {})), "`first`, `second`, `dynamic`"));
  CHECK(contains(error_of(resolve_entry(program, "frist", {})), "did you mean `first`?"));
  CHECK(resolve_entry(program, "first", {}));
}

TEST_CASE("scalar parameters take their values from --in and say so when one is missing") {
  const isa::VerifiedProgram program = verified(two_kernels);
  CHECK(contains(error_of(resolve_entry(program, "second", {})), "--in n=VALUE"));
  CHECK(contains(error_of(resolve_entry(program, "second", {{"n=x"}, {}})),
                 "`x` is not a value of i32"));
  CHECK(contains(error_of(resolve_entry(program, "second", {{"n=2147483648"}, {}})),
                 "is not a value of i32"));
  const Result<Entry> entry = resolve_entry(program, "second", {{"n=-5"}, {}});
  REQUIRE(entry);
  CHECK(std::get<isa::Scalar>(entry->launches[0].arguments[1]).as_int() == -5);
}

TEST_CASE("a scalar's value may be the one number of a file") {
  const isa::VerifiedProgram program = verified(two_kernels);
  const ScratchFolder folder;
  const auto value_in = [&](const HostTensor& tensor) {
    REQUIRE(write_npy(folder / "n.npy", tensor).ok());
    return resolve_entry(program, "second", {{"n=" + folder / "n.npy"}, {}});
  };
  for (const isa::Shape& shape : {isa::Shape{}, isa::Shape{1}, isa::Shape{1, 1}}) {
    for (const isa::DType& dtype : {isa::i64, isa::f32, isa::f64}) {
      const Result<Entry> entry = value_in(tensor_of(dtype, shape, {-5}));
      REQUIRE_MESSAGE(entry, entry.error().message);
      CHECK(std::get<isa::Scalar>(entry->launches[0].arguments[1]).as_int() == -5);
    }
  }
  CHECK(contains(error_of(value_in(tensor_of(isa::i32, {2}, {1, 2}))),
                 "holds i32[2], but `n` is one number, i32; give an array of no dimensions"));
  CHECK(contains(error_of(value_in(tensor_of(isa::f32, {}, {0.5}))), "`n` = 0.5 is not an i32"));
  CHECK(contains(error_of(value_in(tensor_of(isa::i64, {}, {0x1p31}))), "is not an i32"));
  CHECK(contains(error_of(resolve_entry(program, "second", {{"n=none.npy"}, {}})), "none.npy"));
}

TEST_CASE("a tensor whose view is not constant is given by the user") {
  const isa::VerifiedProgram program = verified(two_kernels);
  const std::string error = error_of(resolve_entry(program, "dynamic", {{"n=4"}, {}}));
  CHECK(contains(error, "TV0507"));
  CHECK(contains(error, "--out 'x_ptr="));
  const Result<Entry> entry = resolve_entry(program, "dynamic", {{"n=4"}, {"x_ptr=i32[9]=x.npy"}});
  REQUIRE(entry);
  CHECK(entry->tensors[0].shape == isa::Shape{9});
}

TEST_CASE("what the options name must exist") {
  const isa::VerifiedProgram program = verified(shift_program);
  const auto in = [&](const char* text) {
    return error_of(resolve_entry(program, "", {{text}, {}}));
  };
  const auto out = [&](const char* text) {
    return error_of(resolve_entry(program, "", {{}, {text}}));
  };
  CHECK(contains(in("a_pt=rand"), "did you mean `a_ptr`?"));
  CHECK(contains(in("a_ptr"), "NAME=VALUE"));
  CHECK(contains(in("=rand"), "NAME=VALUE"));
  CHECK(contains(in("a_ptr=rnad"), "rand"));
  CHECK(contains(out("a_ptr=a.npy"), "no output `a_ptr`"));
  CHECK(
      contains(error_of(resolve_entry(program, "", {{"a_ptr=rand", "a_ptr=zeros"}, {}})), "twice"));
}

TEST_CASE("random inputs take the run's seed unless they name one") {
  const isa::VerifiedProgram program = verified(shift_program);
  const auto data = [&](const std::vector<std::string>& in, Seeding seeding) {
    return (*make_tensors(*resolve_entry(program, "", {in, {}}), seeding))[0];
  };
  CHECK(data({}, {3, false}) == data({"a_ptr=rand:3"}, {}));
  CHECK(data({"a_ptr=rand"}, {3, false}) == data({"a_ptr=rand:3"}, {}));
  CHECK(data({"a_ptr=rand:3"}, {9, false}) == data({"a_ptr=rand:3"}, {}));
  CHECK(data({}, {3, true}) == data({"a_ptr=wild:3"}, {}));
  CHECK_FALSE(data({}, {3, false}) == data({}, {4, false}));
}

TEST_CASE("a tensor's type in an option must agree with a pipeline's") {
  const std::string text =
      shift_program + "\npipeline main(a: f32[N]) -> (c: f32[N]):\n    shift(a, c)\n";
  const isa::VerifiedProgram program = verified(text);
  CHECK(contains(error_of(resolve_entry(program, "", {{"a=f16[6]=rand"}, {}})), "contradicts"));
  CHECK(resolve_entry(program, "", {{"a=f32[6]=rand"}, {}}));
  CHECK(contains(error_of(resolve_entry(program, "", {{"c=rand"}, {}})), "no input `c`"));
}

TEST_CASE("sizes of a pipeline follow from the shapes of its data") {
  const isa::VerifiedProgram program = verified(
      "def f<n>(f32* x, f32* y, i32 n, i64 m, f32 factor):\n"
      "    b = BlockIndices()\n"
      "    row = AllocateRegister(f32, layout=spatial(1, 32), init=factor)\n"
      "    StoreGlobal(row, ViewGlobal(y, shape=[n, m - 3]), offset=[b:, 0:])\n"
      "pipeline main(n: i32, m: i64, factor: f32, x: f32[2 * n, m + 1]) -> (y: f32[n, m - 3]):\n"
      "    f(x, y, n, m, factor)\n");
  const auto shapes = [&](const DataOptions& data) {
    const Result<Entry> entry = resolve_entry(program, "", data);
    INFO(error_of(entry));
    REQUIRE(entry);
    return std::pair{entry->tensors[0].shape, entry->tensors[1].shape};
  };
  const std::pair<isa::Shape, isa::Shape> wanted{{10, 8}, {5, 4}};
  const ScratchFolder folder;
  const std::string file = folder / "x.npy";
  REQUIRE(write_npy(file, *make_tensor(isa::f32, {10, 8}, "x")));
  CHECK(shapes({{"x=" + file, "factor=2"}, {}}) == wanted);
  CHECK(shapes({{"x=f32[10,8]=rand", "factor=2"}, {}}) == wanted);
  CHECK(shapes({{"n=5", "factor=2"}, {"y=f32[5,4]=" + (folder / "y.npy")}}) == wanted);
  CHECK(shapes({{"n=5", "m=7", "factor=2"}, {}}) == wanted);

  const auto error = [&](const DataOptions& data) {
    return error_of(resolve_entry(program, "", data));
  };
  // No shape tells a factor, none is known of random data, and half of an odd extent is not a size.
  CHECK(error({{"x=" + file}, {}}).ends_with("give it with --in factor=VALUE"));
  CHECK(contains(error({{"x=rand", "factor=2"}, {}}),
                 "give it with --in n=VALUE, or a file for `x`, whose shape tells it"));
  CHECK(contains(error({{"x=f32[9,8]=rand", "factor=2"}, {}}), "--in n=VALUE"));
  CHECK(contains(error({{"x=" + (folder / "none.npy"), "factor=2"}, {}}), "none.npy"));
  CHECK(contains(error({{"x=" + file, "factor=2"}, {"y=f32[6,4]=y.npy"}}),
                 "`n` is 5 by dimension 0 of `x`, but 6 by dimension 0 of `y`"));
  // What is given holds, and the data must fit it.
  CHECK(contains(error({{"x=f32[10,8]=rand", "n=4", "factor=2"}, {}}),
                 "which the option contradicts"));
}
