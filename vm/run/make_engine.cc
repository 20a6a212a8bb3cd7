#include "vm/run/make_engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/run/engine_cuda.h"
#include "vm/run/engine_emu.h"
#include "vm/run/engine_sim.h"
#include "vm/text/choice.h"

namespace tilevm::vm {

namespace {

/// An engine, and whether its compiler optimises.
struct KnownEngine {
  std::string name;
  bool has_levels;
  Result<std::unique_ptr<Engine>> (*make)(const EngineOptions& options);
};

const std::vector<KnownEngine>& known_engines() {
  static const std::vector<KnownEngine> engines = {
      {"sim", false,
       [](const EngineOptions& options) -> Result<std::unique_ptr<Engine>> {
         return make_sim_engine(options);
       }},
      {"emu", true, make_emu_engine},
      {"cuda", true, make_cuda_engine},
  };
  return engines;
}

const KnownEngine& known_engine(const std::string& name) {
  const auto& all = known_engines();
  return *std::find_if(all.begin(), all.end(),
                       [&](const KnownEngine& engine) { return engine.name == name; });
}

/// "O0" to "O3".
std::optional<int> parse_level(const std::string& text) {
  if (text.size() != 2 || text[0] != 'O' || text[1] < '0' || text[1] > '3') return std::nullopt;
  return text[1] - '0';
}

}  // namespace

std::string EngineName::text() const {
  return level ? fmt::format("{}:O{}", engine, *level) : engine;
}

const std::vector<std::string>& engine_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const KnownEngine& engine : known_engines()) all.push_back(engine.name);
    return all;
  }();
  return names;
}

Result<EngineName> parse_engine(const std::string& text) {
  const std::size_t colon = text.find(':');
  EngineName name{text.substr(0, colon), std::nullopt};
  if (Status known = check_choice("engine", name.engine, engine_names()); !known) {
    return known.error();
  }
  if (colon == std::string::npos) return name;
  name.level = parse_level(text.substr(colon + 1));
  if (!name.level) {
    return Error{ErrorKind::usage,
                 fmt::format("engine `{}`: a level of optimisation is O0, O1, O2 or O3, as in "
                             "`cuda:O0`",
                             text)};
  }
  if (!known_engine(name.engine).has_levels) {
    return Error{ErrorKind::usage,
                 fmt::format("engine `{}`: `{}` has no levels of optimisation; `cuda` and "
                             "`emu` have",
                             text, name.engine)};
  }
  return name;
}

Result<std::vector<EngineName>> parse_engines(const std::string& text) {
  std::vector<EngineName> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    Result<EngineName> name = parse_engine(text.substr(begin, end - begin));
    if (!name) return name.error();
    names.push_back(*std::move(name));
    begin = end + 1;
  }
  return names;
}

Result<std::unique_ptr<Engine>> make_engine(const EngineName& name, const EngineOptions& options) {
  EngineOptions own = options;
  own.level = name.level;
  return known_engine(name.engine).make(own);
}

Result<std::unique_ptr<Engine>> make_engine(const std::string& name, const EngineOptions& options) {
  const Result<EngineName> parsed = parse_engine(name);
  if (!parsed) return parsed.error();
  return make_engine(*parsed, options);
}

}  // namespace tilevm::vm
