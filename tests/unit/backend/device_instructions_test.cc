// What each function of the device prelude asks of a GPU: no CPU runs its PTX, so that a changed
// word (a width, a sign, an order of memory, a barrier left out) would show on a GPU alone, and
// some of them only at times. TILEVM_BLESS=1 rewrites the expected text.
#include <doctest/doctest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "backend/emit/prelude.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The end of the parenthesis or brace that begins at `begin`; texts in quotes are passed over.
std::size_t end_of(std::string_view text, std::size_t begin) {
  const char open = text[begin], close = open == '(' ? ')' : '}';
  int depth = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    if (text[at] == '"') at = text.find('"', at + 1);
    depth += text[at] == open ? 1 : text[at] == close ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.size();
}

/// An assembly statement: its text, and "volatile" and "memory" where it has them.
std::string assembly(std::string_view statement) {
  std::string text;
  std::size_t at = statement.find('"');
  // Neighbouring literals are one text.
  while (at != std::string_view::npos) {
    const std::size_t end = statement.find('"', at + 1);
    text += statement.substr(at + 1, end - at - 1);
    at = statement.find_first_not_of(" \n", end + 1);
    if (at == std::string_view::npos || statement[at] != '"') break;
  }
  if (statement.starts_with("asm volatile")) text = "volatile " + text;
  if (statement.find("\"memory\"") != std::string_view::npos) text += " memory";
  return text;
}

/// What the body of a function asks of the machine, in its order: assembly, CUDA's own functions,
/// and the conditions around them.
std::vector<std::string> instructions_of(std::string_view body) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < body.size(); ++at) {
    if (!is_word(body[at]) || (at > 0 && is_word(body[at - 1]))) continue;
    std::size_t end = at;
    while (end < body.size() && is_word(body[end])) ++end;
    const std::string_view word = body.substr(at, end - at);
    const std::size_t open = body.find('(', end);
    if (open == std::string_view::npos) break;
    if (word == "asm") {
      const std::size_t close = end_of(body, open);
      found.push_back(assembly(body.substr(at, close - at)));
      at = close;
    } else if (word == "if") {
      found.push_back("if " + std::string(body.substr(open, end_of(body, open) + 1 - open)));
    } else if ((word.starts_with("__") || word.starts_with("atomic")) && body[end] == '(') {
      found.push_back(std::string(body.substr(at, end_of(body, open) + 1 - at)));
    }
  }
  return found;
}

/// "name:" and a line for each instruction, for every function that has one.
std::string describe_functions(std::string_view text) {
  std::string described;
  for (std::size_t at = text.find("TV_FN "); at != std::string_view::npos;
       at = text.find("TV_FN ", at + 1)) {
    if (text.substr(0, at).ends_with("#define ")) continue;
    const std::size_t open = text.find('(', at), body = text.find('{', end_of(text, open));
    std::size_t name = open;
    while (is_word(text[name - 1])) --name;
    const auto found = instructions_of(text.substr(body, end_of(text, body) - body));
    if (found.empty()) continue;
    described += std::string(text.substr(name, open - name)) + ":\n";
    for (const std::string& each : found) described += "  " + each + "\n";
  }
  return described;
}

}  // namespace

TEST_CASE("the functions of the device prelude ask for the instructions that were reviewed") {
  const std::string path =
      std::string(TILEVM_SOURCE_DIR) + "/tests/unit/backend/golden/device_instructions.txt";
  const std::string text = describe_functions(prelude_device);
  if (std::getenv("TILEVM_BLESS") != nullptr) std::ofstream(path, std::ios::binary) << text;
  CHECK(text == read_text(path));
}

TEST_CASE("an instruction of the device prelude is seen with what orders it") {
  CHECK(describe_functions("TV_FN u32 f(u8* a) {\n  __syncthreads();\n  if (threadIdx.x == 0) {\n"
                           "    asm volatile(\"one {%0}, \"\n \"two\" : \"=r\"(a) :: \"memory\");\n"
                           "  }\n  atomicAdd(a, 1);\n}\nTV_FN void g() { h(); }\n") ==
        "f:\n  __syncthreads()\n  if (threadIdx.x == 0)\n  volatile one {%0}, two memory\n"
        "  atomicAdd(a, 1)\n");
}

}  // namespace tilevm::backend
