#include "tests/filetest/levels.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "backend/compile/toolchain.h"
#include "backend/emit/emit.h"
#include "tests/filetest/arguments.h"
#include "tests/filetest/test_source.h"

namespace tilevm::filetest {

namespace {

/// The machine code of each kernel, by the name of its section.
using KernelCode = std::map<std::string, std::string>;

// What of the ELF format is read here (System V ABI): where the table of sections is, and in an
// entry of the table, where the section is.
constexpr std::size_t table_field = 0x28, count_field = 0x3c, names_field = 0x3e;
constexpr std::size_t entry_bytes = 64, offset_field = 24, size_field = 32;

template <class T>
T load_at(std::string_view image, std::size_t at) {
  T value{};
  if (at <= image.size() && image.size() - at >= sizeof value) {
    std::memcpy(&value, image.data() + at, sizeof value);
  }
  return value;
}

std::string_view section(std::string_view image, std::size_t entry) {
  const auto offset = load_at<std::uint64_t>(image, entry + offset_field);
  const auto size = load_at<std::uint64_t>(image, entry + size_field);
  return offset < image.size() ? image.substr(offset, size) : std::string_view();
}

KernelCode code_of(std::string_view image) {
  KernelCode code;
  const auto table = load_at<std::uint64_t>(image, table_field);
  const auto entry = [&](std::size_t number) { return table + number * entry_bytes; };
  const std::string_view names = section(image, entry(load_at<std::uint16_t>(image, names_field)));
  for (std::size_t i = 0; i < load_at<std::uint16_t>(image, count_field); ++i) {
    const auto begin = load_at<std::uint32_t>(image, entry(i));
    if (begin >= names.size()) continue;
    const std::string name(names.substr(begin, names.find('\0', begin) - begin));
    if (name.starts_with(".text.")) code[name.substr(6)] = section(image, entry(i));
  }
  return code;
}

Result<KernelCode> compile_at(const isa::VerifiedProgram& program, std::optional<int> level) {
  backend::CompileRequest request;
  request.source = backend::emit_cuda(program).text;
  request.name = program.source().name() + ".cu";
  request.target = isa::to_string(isa::compile_target(program.target()));
  request.level = level;
  Result<backend::Compiled> compiled = backend::compile_cuda(request);
  if (!compiled) return compiled.error();
  KernelCode code = code_of(compiled->image);
  if (code.size() == program.program().kernels.size()) return code;
  return Error{ErrorKind::program, fmt::format("{} kernels gave {} pieces of code",
                                               program.program().kernels.size(), code.size())};
}

std::size_t bytes_of(const KernelCode& code) {
  std::size_t bytes = 0;
  for (const auto& [name, text] : code) bytes += text.size();
  return bytes;
}

}  // namespace

Result<std::string> compile_at_levels(const std::string& path) {
  const Result<TestSource> test = read_test_source(path);
  if (!test) return test.error();
  const Result<Arguments> arguments = parse_arguments(test->file.cases.front());
  if (!arguments) return arguments.error();
  const Result<vm::Loaded> loaded = load_case(*arguments, test->program);
  if (!loaded) return loaded.error();
  if (!loaded->program) return Error{ErrorKind::program, "the program is not valid"};
  const Result<KernelCode> optimised = compile_at(*loaded->program, std::nullopt);
  if (!optimised) return optimised.error();
  const Result<KernelCode> plain = compile_at(*loaded->program, 0);
  if (!plain) return plain.error();
  for (const auto& [name, code] : *optimised) {
    const auto other = plain->find(name);
    if (other == plain->end() || code.empty() || other->second.empty()) {
      return Error{ErrorKind::program, "no code of `" + name + "` at one of the levels"};
    }
    if (other->second == code) {
      return Error{ErrorKind::program, "the same code of `" + name + "` at both levels"};
    }
  }
  return fmt::format("{} bytes of code, {} at O0", bytes_of(*optimised), bytes_of(*plain));
}

}  // namespace tilevm::filetest
