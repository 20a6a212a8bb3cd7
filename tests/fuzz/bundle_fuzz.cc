// Manifests of replay bundles: a whole bundle of a small program, with any bytes for a manifest.
#include <string>

#include "backend/host/subprocess.h"
#include "isa/base/hash.h"
#include "tests/fuzz/target.h"
#include "vm/data/hash.h"
#include "vm/diff/bundle.h"

namespace tilevm::fuzz {
namespace {

using vm::Bundle;
using vm::HostTensor;

constexpr const char* program =
    "def k<1>(u8* a, u8* b):\n"
    "    v = LoadGlobal(ViewGlobal(a, shape=[4]), layout=spatial(4))\n"
    "    StoreGlobal(v, ViewGlobal(b, shape=[4]))\n"
    "\n"
    "pipeline main(a: u8[4]) -> (b: u8[4]):\n"
    "    k(a, b)\n";

HostTensor four_bytes(std::uint8_t first) {
  return {*isa::parse_dtype("u8"), {4}, {first, 2, 3, 4}};
}

/// What the corpus has the manifest of.
Bundle small_bundle() {
  Bundle bundle;
  bundle.version = "0";
  bundle.file = "small.tile";
  bundle.program = program;
  bundle.emitted = "// none\n";
  bundle.entry = "main";
  bundle.target = "sm_90a";
  bundle.verdict = "different";
  bundle.names = {"a", "b"};
  bundle.tensors = {four_bytes(1), four_bytes(0)};
  for (const std::uint8_t first : {std::uint8_t{1}, std::uint8_t{9}}) {
    const HostTensor result = four_bytes(first);
    bundle.engines.push_back({first == 1 ? "sim" : "emu",
                              "cpu",
                              "",
                              "",
                              "finished",
                              {"", format_hash(vm::content_hash(result))},
                              {std::nullopt, result}});
  }
  return bundle;
}

/// Two folders for the whole process: one that is read, one that is written.
struct Folders {
  Folders() { require(vm::write_bundle(in, small_bundle()).ok(), "a bundle can be written"); }
  backend::TemporaryFolder base = *backend::TemporaryFolder::make();
  std::string in = base.path() + "/in", out = base.path() + "/out";
};

void fuzz_bundle(std::string_view bytes) {
  static const Folders folders;
  const std::string manifest = folders.in + "/bundle.json";
  require(backend::write_whole_file(manifest, std::string(bytes)).ok(), "a file can be written");
  const Result<Bundle> bundle = vm::read_bundle(folders.in);
  if (!bundle) {
    require(!bundle.error().message.empty(), "a refusal has words");
    return;
  }
  const Result<vm::DiffCase> loaded = vm::load_bundle(*bundle);
  require(loaded.ok() || !loaded.error().message.empty(), "a refusal has words");
  require(vm::write_bundle(folders.out, *bundle).ok(), "what was read can be written");
  const Result<Bundle> again = vm::read_bundle(folders.out);
  require(again.ok() && again->names == bundle->names && again->seed == bundle->seed &&
              again->backends() == bundle->backends() && again->verdict == bundle->verdict,
          "a written bundle reads back the same");
}

TILEVM_FUZZ_TARGET(bundle, fuzz_bundle);

}  // namespace
}  // namespace tilevm::fuzz
