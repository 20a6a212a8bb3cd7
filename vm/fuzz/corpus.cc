#include "vm/fuzz/corpus.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/text/file.h"

namespace tilevm::vm::fuzz {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28,
                        most_case_bytes = std::uint64_t{1} << 22;

std::string progress_line(const Progress& progress) {
  const SeedRange& seeds = progress.seeds;
  return fmt::format("seeds {} {} shard {} {} programs {} seconds {:.3f}\n", seeds.first,
                     seeds.last, seeds.index, seeds.count, progress.programs, progress.seconds);
}

/// Nothing for a line that is no progress.
std::optional<Progress> parse_progress(const std::string& line) {
  std::istringstream words(line);
  std::string seeds, shard, programs, seconds;
  Progress progress;
  words >> seeds >> progress.seeds.first >> progress.seeds.last >> shard >> progress.seeds.index >>
      progress.seeds.count >> programs >> progress.programs >> seconds >> progress.seconds;
  const bool good = !words.fail() && seeds == "seeds" && shard == "shard" &&
                    programs == "programs" && seconds == "seconds" && progress.seeds.count > 0;
  return good ? std::optional(progress) : std::nullopt;
}

/// The lines of a file; none if there is no file.
Result<std::vector<std::string>> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  if (!std::filesystem::exists(path)) return lines;
  const Result<std::vector<std::uint8_t>> bytes = read_file(path, most_bytes);
  if (!bytes) return bytes.error();
  std::istringstream text(std::string(bytes->begin(), bytes->end()));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Status write_text(const std::string& path, const std::string& text) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(text.data());
  return write_file_atomic(path, {data, text.size()});
}

/// A signature as a file's name.
std::string slug(const std::string& signature) {
  std::string result;
  for (const char c : signature) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) result += c;
    if (!plain && !result.empty() && result.back() != '_') result += '_';
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result.substr(0, 80);
}

/// Every line of a text after "# ".
std::string commented(const std::string& name, const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    result += fmt::format("# {}: {}\n", name, line);
  }
  return result;
}

std::string replay_command(const FuzzCase& each, const Finding& finding) {
  std::string command = finding.backends.empty()
                            ? "tilevm fuzz --judge FILE"
                            : "tilevm fuzz --judge FILE --backends " + finding.backends;
  return command + " --target " + isa::to_string(each.target);
}

}  // namespace

std::string case_text(const FuzzCase& each, const Finding& finding) {
  std::string text =
      fmt::format("# seed: {}\n# target: {}\n", each.seed, isa::to_string(each.target));
  for (const std::string& input : each.inputs) text += fmt::format("# in: {}\n", input);
  text += commented("signature", finding.signature);
  text += commented("detail", finding.detail.substr(0, 2000));
  text += commented("command", replay_command(each, finding));
  return text + each.text;
}

Result<FuzzCase> read_case(const std::string& path) {
  const Result<std::vector<std::uint8_t>> bytes = read_file(path, most_case_bytes);
  if (!bytes) return bytes.error();
  FuzzCase each;
  each.text.assign(bytes->begin(), bytes->end());
  std::istringstream lines(each.text);
  bool has_target = false;
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    const auto value = [&](std::string_view name) {
      const std::string head = fmt::format("# {}: ", name);
      return line.starts_with(head) ? std::optional(line.substr(head.size())) : std::nullopt;
    };
    if (const auto input = value("in")) each.inputs.push_back(*input);
    if (const auto seed = value("seed")) std::istringstream(*seed) >> each.seed;
    if (const auto name = value("target")) {
      const Result<isa::Target> target = isa::parse_target(*name);
      if (!target) return target.error();
      each.target = *target;
      has_target = true;
    }
  }
  if (has_target) return each;
  return Error{ErrorKind::program, fmt::format("`{}` is no fuzz case: it begins with no comment "
                                               "`# target: ..`",
                                               path)};
}

Result<Corpus> Corpus::open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Error{ErrorKind::usage,
                 fmt::format("cannot make the folder `{}`: {}", folder, error.message())};
  }
  Corpus corpus(folder);
  if (Status status = corpus.read(); !status) return status.error();
  return corpus;
}

Status Corpus::read() {
  const Result<std::vector<std::string>> lines = read_lines(folder_ + "/progress.txt");
  if (!lines) return lines.error();
  for (const std::string& line : *lines) {
    if (const auto progress = parse_progress(line)) progress_.push_back(*progress);
  }
  const Result<std::vector<std::string>> items = read_lines(folder_ + "/coverage.txt");
  if (!items) return items.error();
  coverage_.insert(items->begin(), items->end());
  return Done{};
}

bool Corpus::has(std::uint64_t seed) const {
  return std::any_of(progress_.begin(), progress_.end(), [&](const Progress& each) {
    const SeedRange& seeds = each.seeds;
    return seed >= seeds.first && seed <= seeds.last && seed % seeds.count == seeds.index;
  });
}

Status Corpus::add_progress(const Progress& progress) {
  progress_.push_back(progress);
  return append_line(folder_ + "/progress.txt", progress_line(progress));
}

Status Corpus::add_coverage(const Coverage& coverage) {
  const std::size_t before = coverage_.size();
  coverage_.insert(coverage.begin(), coverage.end());
  if (coverage_.size() == before) return Done{};
  return write_text(folder_ + "/coverage.txt", fmt::format("{}\n", fmt::join(coverage_, "\n")));
}

Result<std::string> Corpus::add_case(const FuzzCase& each, const Finding& finding) const {
  const std::string path =
      fmt::format("{}/{}-{}.tile", folder_, slug(finding.signature), each.seed);
  if (Status status = write_text(path, case_text(each, finding)); !status) return status.error();
  return path;
}

std::vector<std::string> Corpus::case_files() const {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() == ".tile") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status Corpus::merge(const Corpus& other) {
  for (const Progress& each : other.progress_) {
    const bool known = std::any_of(progress_.begin(), progress_.end(), [&](const Progress& own) {
      return progress_line(own) == progress_line(each);
    });
    if (known) continue;
    if (Status status = add_progress(each); !status) return status;
  }
  if (Status status = add_coverage(other.coverage_); !status) return status;
  for (const std::string& file : other.case_files()) {
    const std::string name = std::filesystem::path(file).filename().string();
    std::error_code error;
    std::filesystem::copy_file(file, folder_ + "/" + name,
                               std::filesystem::copy_options::overwrite_existing, error);
    if (error) {
      return Error{ErrorKind::usage, fmt::format("cannot copy `{}`: {}", file, error.message())};
    }
  }
  return Done{};
}

}  // namespace tilevm::vm::fuzz
