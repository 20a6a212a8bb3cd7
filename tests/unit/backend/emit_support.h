// Programs for tests of the emitter, from text.
#pragma once

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "frontend/bind/frontend.h"
#include "isa/base/render.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// The verified program of a text; a fault of the text fails the test.
inline isa::VerifiedProgram make_program(std::string text, const isa::Target& target = {},
                                         std::string name = "test.tile",
                                         std::vector<frontend::Define> defines = {}) {
  auto source = std::make_shared<const SourceFile>(std::move(name), std::move(text));
  Diagnostics diagnostics;
  auto program = frontend::load(source, {std::move(defines), target}, diagnostics);
  std::optional<isa::VerifiedProgram> verified;
  if (program) verified = isa::verify(*std::move(program), target, diagnostics);
  const std::string messages = render(diagnostics, *source, false);
  INFO(messages);
  REQUIRE(verified.has_value());
  return *verified;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// One of the programs that ship with the project.
inline isa::VerifiedProgram load_program(const std::string& name, const isa::Target& target = {},
                                         std::vector<frontend::Define> defines = {}) {
  const std::string text = read_text(std::string(TILEVM_SOURCE_DIR) + "/programs/" + name);
  REQUIRE_FALSE(text.empty());
  return make_program(text, target, name, std::move(defines));
}

}  // namespace tilevm::backend
