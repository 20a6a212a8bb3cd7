#include <doctest/doctest.h>

#include <filesystem>

#include "tests/unit/vm/commands_support.h"
#include "vm/diff/bundle.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

/// Adds n to i6 elements; a kernel alone with a scalar and a type that NumPy does not have.
constexpr const char* add_text = R"(const N = 8

def add<1>(i6* x_ptr, i6* y_ptr, i32 n):
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=local(8))
    StoreGlobal(Add(x, AllocateRegister(i6, layout=local(8), init=n)), ViewGlobal(y_ptr, shape=[N]))
)";

DiffOptions add_options(const ScratchFolder& folder) {
  DiffOptions options;
  options.program.file = write_text(folder / "add.tile", add_text);
  options.program.defines = {"N=8"};
  options.execution.data.inputs = {"n=3", "x_ptr=rand:7"};
  options.backends = "sim,sim";
  options.version = "1.2.3";
  options.bundle = folder / "case";
  return options;
}

struct BundleRun {
  Exit status;
  std::string out, err;
};
BundleRun run_diff(const DiffOptions& options) {
  Streams streams;
  const Exit status = diff(options, streams.io);
  return {status, streams.out.str(), streams.err.str()};
}
BundleRun repeat(const std::string& folder, bool json = false) {
  DiffOptions options;
  options.program.file = folder;
  options.json = json;
  return run_diff(options);
}

void replace_in(const std::string& path, const std::string& old, const std::string& by) {
  std::string text = read_text(path);
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  write_text(path, text.replace(at, old.size(), by));
}

}  // namespace

TEST_CASE("a bundle comes back as it was written") {
  const ScratchFolder folder;
  REQUIRE(run_diff(add_options(folder)).status == Exit::ok);
  const Result<Bundle> bundle = read_bundle(folder / "case");
  REQUIRE(bundle);
  CHECK(bundle->version == "1.2.3");
  CHECK(bundle->program == add_text);
  CHECK(bundle->entry == "add");
  CHECK(bundle->defines == std::vector<std::string>{"N=8"});
  CHECK(bundle->inputs == std::vector<std::string>{"n=3", "x_ptr=i6[8]=zeros"});
  CHECK(bundle->backends() == "sim,sim");
  CHECK(bundle->verdict == "exact");
  CHECK(contains(bundle->emitted, "__global__"));
  REQUIRE(bundle->tensors.size() == 2);
  CHECK(bundle->tensors[0].dtype == isa::signed_int(6));
  DataReader reader;
  CHECK(bundle->tensors[0] ==
        *load(*parse_spec("rand:7"), isa::signed_int(6), {8}, "x_ptr", reader));
  CHECK_FALSE(bundle->engines.at(0).tensors.at(0));
  REQUIRE(bundle->engines.at(0).tensors.at(1));
  for (std::size_t k = 0; k < 8; ++k) {
    CHECK(bundle->engines[0].tensors[1]->code(k) == (bundle->tensors[0].code(k) + 3) % 64);
  }
  const std::string second = folder / "second";
  REQUIRE(write_bundle(second, *bundle));
  CHECK(read_text(second + "/bundle.json") == read_text((folder / "case") + "/bundle.json"));
}

TEST_CASE("a bundle is repeated, and another outcome is reported") {
  const ScratchFolder folder;
  REQUIRE(run_diff(add_options(folder)).status == Exit::ok);
  const BundleRun same = repeat(folder / "case");
  CHECK(same.status == Exit::ok);
  CHECK(contains(same.out, "y_ptr: exact (8 elements"));
  CHECK(contains(same.out, "as in the bundle\n"));
  CHECK(contains(repeat(folder / "case", true).out, R"("reproduced": true)"));

  replace_in((folder / "case") + "/bundle.json", R"("verdict": "exact")",
             R"("verdict": "permuted")");
  const BundleRun other = repeat(folder / "case");
  CHECK(other.status == Exit::ok);
  CHECK(
      contains(other.out, "not as in the bundle:\nthe verdict was `permuted` and is `exact` now"));
}

TEST_CASE("other engines than the bundle's may repeat it") {
  const ScratchFolder folder;
  REQUIRE(run_diff(add_options(folder)).status == Exit::ok);
  DiffOptions options;
  options.program.file = folder / "case";
  options.backends = "sim,sim,sim";
  CHECK(contains(run_diff(options).out, "exact in sim and sim"));
  options.seeds = "0..3";
  const BundleRun wrong = run_diff(options);
  CHECK(wrong.status == Exit::usage);
  CHECK(contains(wrong.err, "--seeds does not go with a bundle"));
}

TEST_CASE("folders of somebody else are not written over") {
  const ScratchFolder folder;
  DiffOptions options = add_options(folder);
  options.bundle = folder / ".";  // has add.tile
  const BundleRun refused = run_diff(options);
  CHECK(refused.status == Exit::usage);
  CHECK(contains(refused.err, "has files and is not a bundle"));
  CHECK(read_text(folder / "add.tile") == add_text);

  options.bundle = folder / "case";
  REQUIRE(run_diff(options).status == Exit::ok);
  CHECK(run_diff(options).status == Exit::ok);  // a bundle is replaced
  std::filesystem::remove((folder / "case") + "/program.tile");
  CHECK(run_diff(options).status == Exit::usage);  // a damaged one may be something else

  options.bundle = folder / "add.tile";
  CHECK(contains(run_diff(options).err, "is not a folder"));
}

TEST_CASE("damaged and strange bundles are refused with their part") {
  const ScratchFolder folder;
  const auto broken = [&](const std::string& part, const std::string& old, const std::string& by) {
    REQUIRE(run_diff(add_options(folder)).status == Exit::ok);
    replace_in((folder / "case") + "/" + part, old, by);
    const BundleRun ran = repeat(folder / "case");
    CHECK(ran.status == Exit::fault);
    std::filesystem::remove_all(folder / "case");
    return ran.err;
  };
  CHECK(contains(broken("bundle.json", "{", "["), "no bundle of `tilevm diff`"));
  CHECK(contains(broken("bundle.json", R"("schema": 1)", R"("schema": 7)"), "schema 7"));
  CHECK(contains(broken("bundle.json", "tilevm diff\"", "other\""), "another kind"));
  CHECK(contains(broken("bundle.json", R"("entry": "add")", R"("entry": 4)"), "no bundle"));
  CHECK(contains(broken("bundle.json", R"("entry": "add")", R"("entry": "sub")"), "sub"));
  CHECK(contains(broken("bundle.json", R"("dtype": "i6")", R"("dtype": "i99")"),
                 "unknown type `i99`"));
  CHECK(contains(broken("bundle.json", R"("shape": [8])", R"("shape": [9])"), "0.npy"));
  CHECK(contains(broken("bundle.json", R"("shape": [8])", R"("shape": [-8])"), ""));
  CHECK(contains(broken("bundle.json", R"("target": "sm_90")", R"("target": "sm_1")"), "sm_1"));
  CHECK(contains(broken("program.tile", "const N = 8", "const N = 9"),
                 "program.tile` is not what was written"));
  CHECK(contains(broken("inputs/0.npy", "NUMPY", "NUMPI"), "0.npy"));
}

TEST_CASE("texts of a bundle reach a terminal without escape sequences, and in part") {
  const ScratchFolder folder;
  REQUIRE(run_diff(add_options(folder)).status == Exit::ok);
  const std::string manifest = folder / "case" + "/bundle.json";
  replace_in(manifest, R"("verdict": "exact")",
             R"("verdict": "\u001b]0;owned\u0007\n)" + std::string(10'000, 'x') + "\"");
  const BundleRun run = repeat(folder / "case");
  CHECK(contains(run.out, "the verdict was `?]0;owned??xxx"));
  CHECK(run.out.find('\x1b') == std::string::npos);
  CHECK(run.out.size() < 1000);
}

TEST_CASE("a manifest that nests too deep is refused in our words") {
  const ScratchFolder folder;
  REQUIRE(run_diff(add_options(folder)).status == Exit::ok);
  write_text(folder / "case" + "/bundle.json", std::string(100'000, '['));
  const BundleRun run = repeat(folder / "case");
  CHECK(run.status == Exit::fault);
  CHECK(contains(run.err, "bundle.json"));
  for (const char* leak : {"boost", "/usr", ".hpp", ".ipp"}) CHECK_FALSE(contains(run.err, leak));
  write_text(folder / "case" + "/bundle.json", R"({"schema": 1})");
  const BundleRun other = repeat(folder / "case");
  for (const char* leak : {"boost", "/usr", ".hpp", ".ipp"}) CHECK_FALSE(contains(other.err, leak));
}
