#include "backend/select/names.h"

#include <algorithm>
#include <array>

namespace tilevm::backend {
namespace {

constexpr std::size_t max_length = 60;

/// Words of C++, macros with lower-case names, and what CUDA, the prelude and the emitter declare.
constexpr auto reserved =
    std::to_array<std::string_view>({"alignas",     "alignof",    "and",
                                     "and_eq",      "asm",        "auto",
                                     "bitand",      "bitor",      "blockDim",
                                     "blockIdx",    "bool",       "break",
                                     "case",        "catch",      "char",
                                     "char16_t",    "char32_t",   "char8_t",
                                     "class",       "co_await",   "co_return",
                                     "co_yield",    "compl",      "concept",
                                     "const",       "const_cast", "consteval",
                                     "constexpr",   "constinit",  "continue",
                                     "decltype",    "default",    "delete",
                                     "do",          "double",     "dynamic_cast",
                                     "else",        "enum",       "errno",
                                     "explicit",    "export",     "extern",
                                     "false",       "float",      "for",
                                     "friend",      "goto",       "gridDim",
                                     "if",          "inline",     "int",
                                     "linux",       "long",       "mutable",
                                     "namespace",   "new",        "noexcept",
                                     "not",         "not_eq",     "nullptr",
                                     "operator",    "or",         "or_eq",
                                     "private",     "protected",  "public",
                                     "register",    "requires",   "reinterpret_cast",
                                     "return",      "short",      "signed",
                                     "sizeof",      "static",     "static_assert",
                                     "static_cast", "stderr",     "stdin",
                                     "stdout",      "struct",     "switch",
                                     "template",    "this",       "thread_local",
                                     "threadIdx",   "throw",      "tile",
                                     "true",        "try",        "tv",
                                     "typedef",     "typeid",     "typename",
                                     "union",       "unix",       "unsigned",
                                     "using",       "virtual",    "void",
                                     "volatile",    "warpSize",   "wchar_t",
                                     "while",       "xor",        "xor_eq",
                                     "restrict",    "environ",    "typeof",
                                     "i386",        "assert"});

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Letters, digits and single underscores; begins with a letter, does not end in an underscore.
std::string clean(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, max_length)) {
    const bool plain = is_lower(c) || is_upper(c) || is_digit(c);
    if (plain) name += c;
    if (!plain && !name.ends_with('_')) name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  if (name.empty() || !(is_lower(name[0]) || is_upper(name[0]))) name = "v" + name;
  return name;
}

/// A name of capitals only may be a macro of a header that the compiler includes by itself.
bool may_be_macro(std::string_view name) {
  return name.size() > 1 && std::none_of(name.begin(), name.end(), is_lower);
}

bool is_reserved(std::string_view name) {
  return std::find(reserved.begin(), reserved.end(), name) != reserved.end() || may_be_macro(name);
}

}  // namespace

std::string NameTable::unique(std::string_view wanted) {
  std::string name = clean(wanted);
  if (is_reserved(name)) name += "_v";
  std::string candidate = name;
  for (int i = 2; !taken_.insert(candidate).second; ++i) candidate = name + "_" + std::to_string(i);
  return candidate;
}

}  // namespace tilevm::backend
