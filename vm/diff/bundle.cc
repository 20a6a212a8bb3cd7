// More than 400 lines: each part of a bundle is written and read back side by side.
#include "vm/diff/bundle.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit.h"
#include "frontend/syntax/includes.h"
#include "frontend/syntax/lines.h"
#include "isa/base/render.h"
#include "isa/base/shown.h"
#include "isa/type/dtype.h"
#include "vm/data/hash.h"
#include "vm/data/npy.h"
#include "vm/data/store.h"
#include "vm/run/load.h"
#include "vm/text/file.h"
#include "vm/text/json.h"
#include "vm/text/json_line.h"

namespace tilevm::vm {

namespace {

namespace files = std::filesystem;

constexpr std::uint64_t max_manifest_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t max_emitted_bytes = std::uint64_t{1} << 26;
constexpr std::size_t max_parts = 4096;  ///< tensors, engines, options
constexpr std::string_view no_bundle = "no bundle of `tilevm diff`";

std::string manifest_of(const std::string& folder) { return folder + "/bundle.json"; }
std::string input_file(const std::string& folder, std::size_t tensor) {
  return fmt::format("{}/inputs/{}.npy", folder, tensor);
}
std::string result_file(const std::string& folder, std::size_t engine, std::size_t tensor) {
  return fmt::format("{}/results/{}/{}.npy", folder, engine, tensor);
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push(text);
  return list;
}

Json manifest_json(const Bundle& bundle) {
  Json tensors = Json::array(), engines = Json::array();
  for (std::size_t i = 0; i < bundle.tensors.size(); ++i) {
    const HostTensor& tensor = bundle.tensors[i];
    Json shape = Json::array();
    for (const std::int64_t extent : tensor.shape) shape.push(extent);
    Json item = Json::object();
    item.set("name", bundle.names[i]).set("dtype", isa::to_string(tensor.dtype));
    item.set("shape", std::move(shape)).set("hash", format_hash(content_hash(tensor)));
    tensors.push(std::move(item));
  }
  for (const Bundle::EngineResult& engine : bundle.engines) {
    Json item = Json::object();
    item.set("backend", engine.backend).set("device", engine.device);
    item.set("driver", engine.driver).set("compiler", engine.compiler);
    item.set("outcome", engine.outcome).set("hashes", texts_json(engine.hashes));
    engines.push(std::move(item));
  }
  Json object = Json::object();
  object.set("schema", 1).set("kind", "tilevm diff").set("version", bundle.version);
  object.set("file", bundle.file).set("entry", bundle.entry).set("target", bundle.target);
  object.set("defines", texts_json(bundle.defines)).set("inputs", texts_json(bundle.inputs));
  object.set("outputs", texts_json(bundle.outputs)).set("seed", bundle.seed);
  object.set("verdict", bundle.verdict).set("suspect", bundle.suspect);
  object.set("program_hash", format_hash(xxh64(bundle.program)));
  object.set("command", fmt::format("tilevm diff DIR --engines {}", bundle.backends()));
  object.set("tensors", std::move(tensors));
  return object.set("engines", std::move(engines));
}

Status write_text_file(const std::string& path, const std::string& text) {
  return write_file_atomic(path, {reinterpret_cast<const std::uint8_t*>(text.data()),  // bytes
                                  text.size()});
}

Status write_codes(const std::string& path, const HostTensor& tensor) {
  const Result<HostTensor> codes = to_numpy(tensor, true);
  if (!codes) return codes.error();
  return write_npy(path, *codes);
}

Status make_folder(const std::string& path) {
  std::error_code error;
  files::create_directories(path, error);
  if (!error) return Done{};
  return Error{ErrorKind::usage, fmt::format("cannot make folder `{}`: {}", path, error.message())};
}

/// Makes the folder ready: it is new, empty, or a bundle, whose parts are removed.
Status prepare_folder(const std::string& folder) {
  std::error_code error;
  if (files::exists(folder, error)) {
    if (!files::is_directory(folder, error)) {
      return Error{ErrorKind::usage, fmt::format("`{}` is not a folder", folder)};
    }
    const bool empty = files::is_empty(folder, error);
    if (error) {
      return Error{ErrorKind::usage,
                   fmt::format("cannot read folder `{}`: {}", folder, error.message())};
    }
    if (!empty && !read_bundle(folder)) {
      return Error{
          ErrorKind::usage,
          fmt::format("folder `{}` has files and is not a bundle; name a new folder", folder)};
    }
    files::remove(manifest_of(folder), error);
    files::remove_all(folder + "/inputs", error);
    files::remove_all(folder + "/results", error);
  }
  return make_folder(folder + "/inputs");
}

// --- Reading -----------------------------------------------------------------------------------

std::vector<std::string> texts_member(const boost::json::object& object, const char* key) {
  std::vector<std::string> texts;
  for (const auto& item : object.at(key).as_array()) {
    if (texts.size() >= max_parts) throw std::length_error(std::string(key) + " is too long");
    texts.emplace_back(item.as_string());
  }
  return texts;
}

std::string text_member(const boost::json::object& object, const char* key) {
  return std::string(object.at(key).as_string());
}

/// A tensor as the manifest describes it, still without data.
struct DescribedTensor {
  std::string name, dtype, hash;
  isa::Shape shape;
};

struct Manifest {
  Bundle bundle;
  std::string program_hash;
  std::vector<DescribedTensor> tensors;
};

Manifest manifest_from(const boost::json::object& object) {
  if (text_member(object, "kind") != "tilevm diff") throw std::invalid_argument("another kind");
  Manifest manifest;
  Bundle& bundle = manifest.bundle;
  bundle.version = text_member(object, "version");
  bundle.file = text_member(object, "file");
  bundle.entry = text_member(object, "entry");
  bundle.target = text_member(object, "target");
  bundle.defines = texts_member(object, "defines");
  bundle.inputs = texts_member(object, "inputs");
  bundle.outputs = texts_member(object, "outputs");
  bundle.seed = object.at("seed").to_number<std::uint64_t>();
  bundle.verdict = text_member(object, "verdict");
  bundle.suspect = text_member(object, "suspect");
  manifest.program_hash = text_member(object, "program_hash");
  for (const auto& item : object.at("tensors").as_array()) {
    const auto& tensor = item.as_object();
    DescribedTensor described{
        text_member(tensor, "name"), text_member(tensor, "dtype"), text_member(tensor, "hash"), {}};
    for (const auto& extent : tensor.at("shape").as_array()) {
      if (described.shape.size() >= max_parts) throw std::length_error("a shape is too long");
      described.shape.push_back(extent.to_number<std::int64_t>());
    }
    if (manifest.tensors.size() >= max_parts) throw std::length_error("too many tensors");
    manifest.tensors.push_back(std::move(described));
  }
  for (const auto& item : object.at("engines").as_array()) {
    const auto& engine = item.as_object();
    if (bundle.engines.size() >= max_parts) throw std::length_error("too many engines");
    bundle.engines.push_back({text_member(engine, "backend"),
                              text_member(engine, "device"),
                              text_member(engine, "driver"),
                              text_member(engine, "compiler"),
                              text_member(engine, "outcome"),
                              texts_member(engine, "hashes"),
                              {}});
    if (bundle.engines.back().hashes.size() != manifest.tensors.size()) {
      throw std::invalid_argument("an engine has not one hash for each tensor");
    }
  }
  return manifest;
}

Error damaged_part(const std::string& path, std::string_view what) {
  return {ErrorKind::program, fmt::format("bundle: `{}` {}", path, what)};
}

Result<HostTensor> read_codes(const std::string& path, const DescribedTensor& described) {
  const std::optional<isa::DType> dtype = isa::parse_dtype(described.dtype);
  if (!dtype) {
    return Error{ErrorKind::program, fmt::format("bundle: tensor `{}` has the unknown type `{}`",
                                                 described.name, described.dtype)};
  }
  Spec spec;
  spec.kind = SourceKind::codes;
  spec.path = path;
  spec.text = "codes:" + path;
  DataReader reader(true);
  return load(spec, *dtype, described.shape, described.name, reader);
}

Result<std::string> read_bounded_text(const std::string& path, std::uint64_t limit) {
  const Result<std::vector<std::uint8_t>> bytes = read_file(path, limit);
  if (!bytes) return bytes.error();
  return std::string(bytes->begin(), bytes->end());
}

Result<Manifest> read_manifest(const std::string& folder) {
  const Result<std::string> text = read_bounded_text(manifest_of(folder), max_manifest_bytes);
  if (!text) {
    return Error{ErrorKind::program,
                 fmt::format("`{}` is {}: {}", folder, no_bundle, text.error().message)};
  }
  Result<Manifest> manifest = read_json_line(*text, no_bundle, manifest_from);
  if (!manifest) {
    return Error{ErrorKind::program,
                 fmt::format("`{}`: {}", manifest_of(folder), manifest.error().message)};
  }
  return manifest;
}

Status read_tensors(const std::string& folder, const std::vector<DescribedTensor>& tensors,
                    Bundle& bundle) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Result<HostTensor> tensor = read_codes(input_file(folder, i), tensors[i]);
    if (!tensor) return tensor.error();
    if (format_hash(content_hash(*tensor)) != tensors[i].hash) {
      return damaged_part(input_file(folder, i), "is not what was written: its hash differs");
    }
    bundle.names.push_back(tensors[i].name);
    bundle.tensors.push_back(*std::move(tensor));
  }
  for (std::size_t e = 0; e < bundle.engines.size(); ++e) {
    Bundle::EngineResult& engine = bundle.engines[e];
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      engine.tensors.emplace_back();
      if (engine.hashes[i].empty()) continue;
      Result<HostTensor> tensor = read_codes(result_file(folder, e, i), tensors[i]);
      if (!tensor) return tensor.error();
      if (format_hash(content_hash(*tensor)) != engine.hashes[i]) {
        return damaged_part(result_file(folder, e, i), "is not what was written: its hash differs");
      }
      engine.tensors.back() = *std::move(tensor);
    }
  }
  return Done{};
}

// --- Making and loading -------------------------------------------------------------------------

std::string_view outcome_name(const Outcome& outcome) {
  if (std::holds_alternative<Faulted>(outcome)) return "fault";
  if (std::holds_alternative<Stopped>(outcome)) return "stopped";
  return std::holds_alternative<Unstable>(outcome) ? "unstable" : "finished";
}

/// The user's choices without files and random data, which the bundle's own tensors replace: the
/// types of tensors and the values of scalars.
std::vector<std::string> choices_without_data(const std::vector<std::string>& choices,
                                              const Entry& entry, std::string_view data) {
  std::vector<std::string> kept;
  for (const std::string& choice : choices) {
    const std::size_t equals = choice.find('=');
    const std::string name = choice.substr(0, equals);
    const auto tensor = std::find_if(entry.tensors.begin(), entry.tensors.end(),
                                     [&](const Entry::Tensor& each) { return each.name == name; });
    if (equals == std::string::npos || tensor == entry.tensors.end()) {
      kept.push_back(choice);
    } else if (entry.is_pipeline) {
      kept.push_back(fmt::format("{}={}", name, data));
    } else {
      kept.push_back(fmt::format("{}={}[{}]={}", name, isa::to_string(tensor->dtype),
                                 fmt::join(tensor->shape, ","), data));
    }
  }
  return kept;
}

}  // namespace

namespace {

/// A text of the manifest on a terminal: whoever wrote it, on one line and without escape
/// sequences.
std::string said(const std::string& text) {
  std::string line = printable(shortened(text));
  std::ranges::replace(line, '\n', '?');
  return line;
}

}  // namespace

std::string Bundle::backends() const {
  std::string text;
  for (const EngineResult& engine : engines) text += (text.empty() ? "" : ",") + engine.backend;
  return text;
}

Bundle make_bundle(const DiffCase& what, const SeedRun& run, const Engines& engines,
                   const BundleSource& source) {
  Bundle bundle;
  bundle.version = source.version;
  bundle.file = what.program.source().name();
  bundle.program = frontend::flattened(what.program.source());
  bundle.emitted = backend::emit_cuda(what.program).text;
  bundle.defines = source.defines;
  bundle.inputs = choices_without_data(source.data.inputs, what.entry, "zeros");
  bundle.outputs = choices_without_data(source.data.outputs, what.entry, "codes:bundle.npy");
  bundle.entry = what.entry.name;
  bundle.target = isa::to_string(what.program.target());
  bundle.seed = run.verdict.seed;
  bundle.verdict = to_string(run.verdict.kind());
  bundle.suspect = run.verdict.agreement.suspect;
  for (const Entry::Tensor& tensor : what.entry.tensors) bundle.names.push_back(tensor.name);
  bundle.tensors = run.inputs;
  for (std::size_t e = 0; e < engines.size(); ++e) {
    Bundle::EngineResult result{std::string(engines[e]->name()),
                                engines[e]->device(),
                                engines[e]->driver(),
                                engines[e]->compiler(),
                                std::string(outcome_name(run.verdict.outcomes[e])),
                                {},
                                {}};
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      const bool has = what.entry.tensors[i].output && !run.runs[e].failure;
      result.hashes.push_back(has ? format_hash(content_hash(run.runs[e].tensors[i])) : "");
      result.tensors.push_back(has ? std::optional(run.runs[e].tensors[i]) : std::nullopt);
    }
    bundle.engines.push_back(std::move(result));
  }
  return bundle;
}

Status write_bundle(const std::string& folder, const Bundle& bundle) {
  if (Status ready = prepare_folder(folder); !ready) return ready;
  for (std::size_t i = 0; i < bundle.tensors.size(); ++i) {
    if (Status s = write_codes(input_file(folder, i), bundle.tensors[i]); !s) return s;
  }
  for (std::size_t e = 0; e < bundle.engines.size(); ++e) {
    if (Status s = make_folder(fmt::format("{}/results/{}", folder, e)); !s) return s;
    for (std::size_t i = 0; i < bundle.tensors.size(); ++i) {
      const auto& tensor = bundle.engines[e].tensors[i];
      if (!tensor) continue;
      if (Status s = write_codes(result_file(folder, e, i), *tensor); !s) return s;
    }
  }
  if (Status s = write_text_file(folder + "/program.tile", bundle.program); !s) return s;
  if (Status s = write_text_file(folder + "/emitted.cu", bundle.emitted); !s) return s;
  // The manifest comes last: what was begun only is not a bundle.
  return write_text_file(manifest_of(folder), manifest_json(bundle).text() + "\n");
}

bool is_bundle(const std::string& path) {
  std::error_code error;
  return files::is_directory(path, error) && files::exists(manifest_of(path), error);
}

Result<Bundle> read_bundle(const std::string& folder) {
  Result<Manifest> manifest = read_manifest(folder);
  if (!manifest) return manifest.error();
  Bundle bundle = std::move(manifest->bundle);
  Result<std::string> program =
      read_bounded_text(folder + "/program.tile", frontend::max_file_bytes);
  if (!program) return program.error();
  bundle.program = *std::move(program);
  if (format_hash(xxh64(bundle.program)) != manifest->program_hash) {
    return damaged_part(folder + "/program.tile", "is not what was written: its hash differs");
  }
  Result<std::string> emitted = read_bounded_text(folder + "/emitted.cu", max_emitted_bytes);
  if (emitted) bundle.emitted = *std::move(emitted);
  if (Status s = read_tensors(folder, manifest->tensors, bundle); !s) return s.error();
  return bundle;
}

Result<DiffCase> load_bundle(const Bundle& bundle) {
  const Result<isa::Target> target = isa::parse_target(bundle.target);
  if (!target) return Error{ErrorKind::program, "bundle: " + target.error().message};
  const Result<std::vector<frontend::Define>> defines = parse_defines(bundle.defines);
  if (!defines) return Error{ErrorKind::program, "bundle: " + defines.error().message};
  const auto source = frontend::with_standard_library(
      std::make_shared<const SourceFile>(bundle.file, bundle.program));
  const Loaded loaded = load(source, *defines, *target);
  if (!loaded.program) {
    return Error{ErrorKind::program, "bundle: its program is no longer valid:\n" +
                                         render(loaded.diagnostics, *loaded.source, false)};
  }
  Result<Entry> entry =
      resolve_entry(*loaded.program, bundle.entry, {bundle.inputs, bundle.outputs});
  if (!entry) return Error{ErrorKind::program, "bundle: " + entry.error().message};
  bool fits = entry->tensors.size() == bundle.tensors.size();
  for (std::size_t i = 0; fits && i < bundle.tensors.size(); ++i) {
    fits = entry->tensors[i].name == bundle.names[i] &&
           entry->tensors[i].dtype == bundle.tensors[i].dtype &&
           entry->tensors[i].shape == bundle.tensors[i].shape;
  }
  if (!fits) {
    return Error{ErrorKind::program,
                 fmt::format("bundle: `{}` takes other tensors than it has", bundle.entry)};
  }
  return DiffCase{*loaded.program, *std::move(entry)};
}

std::string compare_with_bundle(const Bundle& bundle, const DiffCase& what, const SeedRun& run) {
  std::string text;
  const std::string_view verdict = to_string(run.verdict.kind());
  if (bundle.verdict != verdict) {
    text += fmt::format("the verdict was `{}` and is `{}` now\n", said(bundle.verdict), verdict);
  }
  for (const Bundle::EngineResult& engine : bundle.engines) {
    const auto& names = run.verdict.engines;
    const auto found = std::find(names.begin(), names.end(), engine.backend);
    if (found == names.end()) continue;
    const EngineRun& now = run.runs[static_cast<std::size_t>(found - names.begin())];
    for (std::size_t i = 0; i < engine.hashes.size() && !now.failure; ++i) {
      if (!what.entry.tensors[i].output) continue;
      const std::string hash = format_hash(content_hash(now.tensors[i]));
      if (hash == engine.hashes[i]) continue;
      text += fmt::format("{} of {} had hash {} and has {} now\n", said(bundle.names[i]),
                          said(engine.backend),
                          engine.hashes[i].empty() ? "none" : said(engine.hashes[i]), hash);
    }
  }
  return text;
}

}  // namespace tilevm::vm
