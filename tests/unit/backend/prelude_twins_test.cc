// Every function of the device prelude has a twin for a CPU. A missing one that no test calls would
// else be seen first by a user's compiler.
#include <doctest/doctest.h>

#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include "backend/emit/prelude.h"

using namespace tilevm;

namespace {

/// The names of the functions that a text defines: "TV_FN u32 f32_add(" gives f32_add.
std::set<std::string> functions_of(std::string_view text) {
  std::set<std::string> names;
  for (std::size_t at = text.find("TV_FN "); at != std::string_view::npos;
       at = text.find("TV_FN ", at + 1)) {
    if (text.substr(0, at).ends_with("#define ")) continue;
    const std::size_t end = text.find('(', at);
    std::size_t begin = end;
    while (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 ||
           text[begin - 1] == '_') {
      --begin;
    }
    names.emplace(text.substr(begin, end - begin));
  }
  return names;
}

/// The names of the macros that a text defines.
std::set<std::string> macros_of(std::string_view text) {
  std::set<std::string> names;
  constexpr std::string_view define = "#define ";
  for (std::size_t at = text.find(define); at != std::string_view::npos;
       at = text.find(define, at + 1)) {
    const std::size_t begin = at + define.size();
    names.emplace(text.substr(begin, text.find_first_of(" (\n", begin) - begin));
  }
  return names;
}

}  // namespace

TEST_CASE("every function of the device prelude has a twin for a CPU") {
  const std::set<std::string> twins = functions_of(backend::prelude_emulated);
  const std::set<std::string> functions = functions_of(backend::prelude_device);
  for (const std::string& name : functions) {
    CHECK_MESSAGE(twins.contains(name), "backend/prelude/emulated.cuh has no ", name);
  }
  CHECK(functions.size() > 70);
  CHECK(functions.contains("ldmatrix"));
}

TEST_CASE("every macro of the device prelude has a twin for a CPU") {
  const std::set<std::string> twins = macros_of(backend::prelude_emulated);
  for (const std::string& name : macros_of(backend::prelude_device)) {
    if (name == "TV_PRAGMA") continue;  // serves TV_UNROLL_BY
    CHECK_MESSAGE(twins.contains(name), "backend/prelude/emulated.cuh has no ", name);
  }
}

TEST_CASE("the prelude asks for instructions of a GPU in device.cuh alone") {
  using namespace backend;
  for (const std::string_view part :
       {prelude_bulk, prelude_memory, prelude_element, prelude_arithmetic, prelude_sequences,
        prelude_function, prelude_dot, prelude_scalar, prelude_print}) {
    for (const std::string_view word : {"asm", "threadIdx", "__sync", "__shfl", "__cvta"}) {
      CHECK(part.find(word) == std::string_view::npos);
    }
  }
}
