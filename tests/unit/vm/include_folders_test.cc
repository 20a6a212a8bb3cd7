// Which files a program may include: those of its own folder and of `-I DIR`, since faults show
// lines of them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "isa/base/render.h"
#include "tests/unit/vm/scratch_folder.h"
#include "vm/run/include_folders.h"
#include "vm/run/load.h"

namespace tilevm::vm {
namespace {

namespace fs = std::filesystem;

const std::string kernel = "def f<1>(f32* p):\n    x = AllocateRegister(f32, layout=L, init=0)\n";

class Folder {
 public:
  /// A program in the folder `own`, beside the folder `other`.
  explicit Folder(const std::string& include) {
    fs::create_directories(root() / "own/parts");
    fs::create_directories(root() / "other");
    write("own/main.tile", "include \"" + include + "\"\n" + kernel);
  }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(root() / path) << text;
  }
  [[nodiscard]] fs::path root() const { return scratch_.path(); }

  /// What is said of the program, or "".
  [[nodiscard]] std::string said(const IncludeFolders& folders = {}) const {
    const auto source = read_program((root() / "own/main.tile").string(), folders);
    REQUIRE(source);
    const Loaded loaded = load(*source, {}, *isa::parse_target("sm_90"));
    return render(loaded.diagnostics, *loaded.source, false);
  }

 private:
  ScratchFolder scratch_;
};

const std::string layout = "const L: layout = spatial(32)\n";
constexpr const char* secret = "a line that nobody but its owner reads\n";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("files of the program's folder are included, also those of folders in it") {
  Folder folder("parts/layout.tile");
  folder.write("own/parts/layout.tile", "include \"../more.tile\"\n");
  folder.write("own/more.tile", layout);
  CHECK_EQ(folder.said(), "");
}

TEST_CASE(
    "a file outside of it is included from a folder that -I names, and shown to nobody else") {
  Folder folder("../other/layout.tile");
  folder.write("other/layout.tile", secret);
  const std::string said = folder.said();
  CHECK(
      has(said, "`../other/layout.tile` is outside of the program's own folder; `-I DIR` permits"));
  CHECK_FALSE(has(said, "nobody but its owner"));
  folder.write("other/layout.tile", layout);
  CHECK_EQ(folder.said({(folder.root() / "other").string()}), "");
}

TEST_CASE("a name is looked for beside the file, then in the folders of -I") {
  Folder folder("layout.tile");
  folder.write("other/layout.tile", layout);
  CHECK(has(folder.said(), "there is no file"));
  CHECK_EQ(folder.said({(folder.root() / "other").string()}), "");
}

TEST_CASE("a link does not lead out of the folder") {
  Folder folder("link.tile");
  folder.write("other/secret", secret);
  fs::create_symlink(folder.root() / "other/secret", folder.root() / "own/link.tile");
  const std::string said = folder.said();
  CHECK(has(said, "is outside of the program's own folder"));
  CHECK_FALSE(has(said, "nobody but its owner"));
}

TEST_CASE("absolute paths, devices and the system's files are not included, whatever -I says") {
  CHECK(has(Folder("/etc/passwd").said(), "is outside of the program's own folder"));
  CHECK(has(Folder("/proc/self/environ").said({"/"}), "is in /proc, whose files are not programs"));
  CHECK(has(Folder("/dev/zero").said({"/", "/dev"}), "is not a file"));
  CHECK(has(Folder("/sys/kernel/notes").said({"/"}), "`/sys/kernel/notes` is"));
}

TEST_CASE("a text that is not a file includes from the folders of -I alone") {
  Folder folder("unused.tile");
  folder.write("other/layout.tile", layout);
  const auto text =
      std::make_shared<const SourceFile>("<stdin>", "include \"layout.tile\"\n" + kernel);
  const auto said = [&](const IncludeFolders& folders) {
    const Loaded loaded = load(with_includes(text, "-", folders), {}, *isa::parse_target("sm_90"));
    return render(loaded.diagnostics, *loaded.source, false);
  };
  CHECK(has(said({}), "this text is not a file"));
  CHECK_EQ(said({(folder.root() / "other").string()}), "");
}

TEST_CASE("what -D says is echoed in part") {
  const std::string long_value(100'000, 'x');
  const auto source = std::make_shared<const SourceFile>("f.tile", "const N = 4\n" + kernel);
  const Loaded loaded = load(source, {{"N", long_value}}, *isa::parse_target("sm_90"));
  const std::string said = render(loaded.diagnostics, *loaded.source, false);
  CHECK(has(said, "-D N=xxxx"));
  CHECK(has(said, "(100000 bytes)"));
  CHECK(said.size() < 1000);
  const auto none = parse_defines({long_value});
  REQUIRE_FALSE(none);
  CHECK(none.error().message.size() < 300);
}

}  // namespace
}  // namespace tilevm::vm
