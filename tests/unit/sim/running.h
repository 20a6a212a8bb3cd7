// Programs as text, run by the simulator.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "frontend/bind/frontend.h"
#include "isa/base/render.h"
#include "isa/verify/verify.h"
#include "sim/api/sim.h"

namespace tilevm::sim::testing {

inline isa::VerifiedProgram load(const std::string& text,
                                 const std::vector<frontend::Define>& defines = {},
                                 const isa::Target& target = {}) {
  const auto source = std::make_shared<const SourceFile>("test.tile", text);
  Diagnostics diagnostics;
  std::optional<isa::VerifiedProgram> verified;
  if (auto program = frontend::load(source, {defines, target}, diagnostics)) {
    verified = isa::verify(*std::move(program), target, diagnostics);
  }
  INFO(render(diagnostics, *source, false));
  REQUIRE(verified.has_value());
  return *std::move(verified);
}

template <class T>
Buffer buffer(std::string name, const std::vector<T>& values) {
  Buffer result{std::move(name), std::vector<std::uint8_t>(values.size() * sizeof(T))};
  std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

template <class T>
std::vector<T> values(const Buffer& buffer) {
  std::vector<T> result(buffer.bytes.size() / sizeof(T));
  std::memcpy(result.data(), buffer.bytes.data(), result.size() * sizeof(T));
  return result;
}

/// Runs kernel 0; the launch itself must succeed.
inline Report run(const isa::VerifiedProgram& program, const std::vector<Argument>& arguments,
                  std::vector<Buffer>& memory, const Options& options = {.threads = 1}) {
  auto report = run_kernel(program, 0, arguments, memory, options);
  REQUIRE(report.ok());
  return *std::move(report);
}

/// A run that must not fault.
inline Counters run_well(const isa::VerifiedProgram& program,
                         const std::vector<Argument>& arguments, std::vector<Buffer>& memory,
                         const Options& options = {.threads = 1}) {
  const Report report = run(program, arguments, memory, options);
  if (report.fault) FAIL(render(report.fault->diagnostic, program.source(), false));
  return report.counters;
}

/// The text that a place of a program covers.
inline std::string text_at(const isa::VerifiedProgram& program, Span span) {
  return std::string(program.source().text(span));
}

}  // namespace tilevm::sim::testing
