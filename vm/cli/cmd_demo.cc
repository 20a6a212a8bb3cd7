// Beginnings: `tilevm demo`, `tilevm examples`, `tilevm new`.
#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "isa/base/suggest.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/data/compare.h"
#include "vm/data/hash.h"
#include "vm/data/reference.h"
#include "vm/run/load.h"
#include "vm/run/shipped.h"

namespace tilevm::vm {

namespace {

constexpr std::string_view demo_program = "matmul_f16_i6.tile";

/// Where the shipped programs are: beside the executable (built or installed), in the current
/// folder, in the folder of the sources.
std::optional<std::string> find_program(const DemoOptions& options) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path executable = fs::read_symlink("/proc/self/exe", none).parent_path();
  std::vector<fs::path> folders;
  if (!options.program_folder.empty()) {
    folders = {options.program_folder};
  } else {
    folders = {fs::path("programs"), executable / "../programs", executable / "programs",
               executable / "../share/tilevm/programs",
               fs::path(options.source_folder) / "programs"};
  }
  for (const fs::path& folder : folders) {
    const fs::path file = (folder / demo_program).lexically_normal();
    if (fs::is_regular_file(file, none)) return file.string();
  }
  return std::nullopt;
}

/// The tensors of a matrix product c = a b.
struct Product {
  std::size_t a = 0, b = 0, c = 0;
};

/// Takes an entry for what the demo expects: two matrices in, their product out.
std::optional<Product> as_product(const Entry& entry) {
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < entry.tensors.size(); ++i) {
    const Entry::Tensor& tensor = entry.tensors[i];
    if ((tensor.input || tensor.output) && tensor.shape.size() != 2) return std::nullopt;
    if (tensor.input) inputs.push_back(i);
    if (tensor.output) outputs.push_back(i);
  }
  if (inputs.size() != 2 || outputs.size() != 1) return std::nullopt;
  const isa::Shape& a = entry.tensors[inputs[0]].shape;
  const isa::Shape& b = entry.tensors[inputs[1]].shape;
  const isa::Shape& c = entry.tensors[outputs[0]].shape;
  if (a[1] != b[0] || c[0] != a[0] || c[1] != b[1]) return std::nullopt;
  return Product{inputs[0], inputs[1], outputs[0]};
}

class Demo {
 public:
  Demo(const DemoOptions& options, Io& io) : options_(options), io_(io) {}

  Exit run() {
    const std::optional<std::string> file = find_program(options_);
    if (!file) {
      return fail(io_, {ErrorKind::usage, fmt::format("cannot find programs/{}; run this in the "
                                                      "folder of the sources",
                                                      demo_program)});
    }
    file_ = *file;
    io_.out << paint("f16 activations times 6-bit integer weights", Style::bold, io_.color_out)
            << "  (" << file_ << ")\n\n";
    for (const auto step : {&Demo::check_program, &Demo::make_input, &Demo::simulate,
                            &Demo::compare_with_doubles, &Demo::compare_with_gpu}) {
      const Exit status = (this->*step)();
      io_.out.flush();
      if (status != Exit::ok) return status;
    }
    show_result();
    return Exit::ok;
  }

 private:
  void say(std::string_view step, const std::string& text) {
    io_.out << "  " << paint(fmt::format("{:<9}", step), Style::bold, io_.color_out) << ' ' << text
            << '\n';
  }

  Exit check_program() {
    ProgramOptions program;
    program.file = file_;
    for (const char* name : {"M", "N", "K"}) {
      program.defines.push_back(fmt::format("{}={}", name, options_.size));
    }
    Result<Loaded> loaded = load_program(program, default_target, io_);
    if (!loaded) return fail(io_, loaded.error());
    show(io_, loaded->diagnostics, *loaded->source);
    if (!loaded->program) return exit_of(loaded->diagnostics);
    program_ = *loaded->program;
    Result<Entry> entry = resolve_entry(*program_, "", {});
    if (!entry) return fail(io_, entry.error());
    entry_ = *std::move(entry);
    const std::optional<Product> product = as_product(entry_);
    if (!product) return fail(io_, {ErrorKind::program, file_ + " is not a matrix product"});
    product_ = *product;
    say("check",
        fmt::format("{} kernels, {} launches, verified for {}", program_->program().kernels.size(),
                    entry_.launches.size(), isa::to_string(program_->target())));
    return Exit::ok;
  }

  Exit make_input() {
    Result<std::vector<HostTensor>> tensors = make_tensors(entry_, {});
    if (!tensors) return fail(io_, tensors.error());
    input_ = *std::move(tensors);
    for (const std::size_t i : {product_.a, product_.b}) {
      const HostTensor& tensor = input_[i];
      say(i == product_.a ? "input" : "",
          fmt::format("{}: {}, {} bytes, {} bits an element, {}", entry_.tensors[i].name,
                      format_type(tensor.dtype, tensor.shape), tensor.data.size(),
                      tensor.dtype.bits,
                      tensor.dtype.is_float() ? "uniform in [-1, 1)" : "every code"));
    }
    return Exit::ok;
  }

  Exit simulate() {
    const std::unique_ptr<Engine> engine = *make_engine("sim", {options_.threads});
    result_ = input_;
    RunReport report;
    if (const auto failure = engine->run(*program_, entry_, result_, report)) {
      Reporter(io_, "demo", false).fail(*failure, program_->source());
      return exit_of(*failure);
    }
    const double macs = std::pow(static_cast<double>(options_.size), 3);
    const double seconds = std::max(report.milliseconds, 1e-3) / 1e3;
    say("simulate", fmt::format("{} blocks, every thread, in the tensor core's own order of sums",
                                report.blocks));
    say("", fmt::format("{:.2f} s, {:.2f} billion multiply-adds a second", seconds,
                        macs / seconds / 1e9));
    return Exit::ok;
  }

  Exit compare_with_doubles() {
    const HostTensor& c = result_[product_.c];
    const ProductError error = compare_product(result_[product_.a], result_[product_.b], c);
    say("compare", fmt::format("with the product in double precision: largest error {:.3g} (values "
                               "up to {:.0f})",
                               error.largest_error, error.largest_value));
    say("", fmt::format("{} of {} elements within the rounding of {} and f32, {} the nearest {}",
                        error.within == error.elements ? "all" : std::to_string(error.within),
                        error.elements, isa::to_string(c.dtype), error.nearest,
                        isa::to_string(c.dtype)));
    if (error.within == error.elements) return Exit::ok;
    return fail(io_, {ErrorKind::program, "the simulated product is wrong; please report this"});
  }

  /// Runs on the GPU if there is one; without one says why not, which is not a failure.
  Exit compare_with_gpu() {
    Result<std::unique_ptr<Engine>> engine = make_engine("cuda", {});
    if (!engine) {
      std::string why = engine.error().message;
      why.resize(std::min(why.find_first_of(";\n"), why.size()));
      say("cuda", fmt::format("{}: {}", paint("skipped", Style::yellow, io_.color_out), why));
      return Exit::ok;
    }
    if ((*engine)->target()->sm != program_->target().sm) {
      say("cuda", fmt::format("{}: the demo is simulated for {}, {} is another architecture",
                              paint("skipped", Style::yellow, io_.color_out),
                              isa::to_string(program_->target()), (*engine)->device()));
      return Exit::ok;
    }
    say("cuda", (*engine)->device());
    std::vector<HostTensor> tensors = input_;
    RunReport report;
    if (const auto failure = (*engine)->run(*program_, entry_, tensors, report)) {
      Reporter(io_, "demo", false).fail(*failure, program_->source());
      return exit_of(*failure);
    }
    const HostTensor& ours = result_[product_.c];
    const Comparison comparison = compare(ours, tensors[product_.c]);
    say("", fmt::format("compiled in {:.0f} ms, ran in {:.3f} ms", report.prepare_milliseconds,
                        report.milliseconds));
    if (comparison.different > 0) {
      say("", "sim against cuda: " + format_difference(ours, *comparison.first));
      return fail(io_,
                  {ErrorKind::program, fmt::format("sim and cuda differ in {} of {} elements",
                                                   comparison.different, comparison.elements)});
    }
    say("", fmt::format("sim == cuda: {} ({} elements, hash {})",
                        paint("exact", Style::green, io_.color_out), comparison.elements,
                        format_hash(content_hash(ours))));
    return Exit::ok;
  }

  void show_result() {
    io_.out << '\n'
            << output_line(entry_.tensors[product_.c].name, result_[product_.c], {}) << '\n';
    std::istringstream corner(format_corner(result_[product_.c]));
    for (std::string line; std::getline(corner, line);) io_.out << "  " << line << '\n';
    io_.out << '\n'
            << paint("try next", Style::bold, io_.color_out) << '\n'
            << fmt::format("  tilevm run {} -D M=64 --in a=rand:7 --stats\n", file_)
            << fmt::format("  tilevm compile {} --emit cuda\n", file_)
            << "  tilevm layout 'local(2, 1).spatial(8, 4).local(1, 2)'\n";
  }

  const DemoOptions& options_;
  Io& io_;
  std::string file_;
  std::optional<isa::VerifiedProgram> program_;
  Entry entry_;
  Product product_;
  std::vector<HostTensor> input_, result_;
};

}  // namespace

Exit demo(const DemoOptions& options, Io& io) { return Demo(options, io).run(); }

// ---------------------------------------------------------------------------------------------
// `tilevm examples` and `tilevm new`: programs to read and to begin with.

namespace {

constexpr std::string_view first_program =
    R"(# Scales a vector: each block of 32 threads takes 32 elements.
#
#     tilevm run {0}                                     random input, in the simulator
#     tilevm run {0} -D FACTOR=2.0 --in x=iota --out y=y.npy
#     tilevm debug {0}                                   step by step
const N = 128
const FACTOR = 0.5

def scale<cdiv(N, 32)>(f32* x_ptr, f32* y_ptr):
    i = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=spatial(32), offset=[i * 32:])
    StoreGlobal(x * FACTOR, ViewGlobal(y_ptr, shape=[N]), offset=[i * 32:])

pipeline main(x: f32[N]) -> (y: f32[N]):
    scale(x, y)
)";

Error no_programs() {
  return {ErrorKind::usage,
          "the programs are not installed beside this executable; they are in the folder "
          "`programs` of tilevm's sources"};
}

Error no_such_program(const std::string& name, const std::vector<ShippedProgram>& programs) {
  std::vector<std::string> names;
  for (const ShippedProgram& each : programs) names.push_back(each.path);
  const std::string near = nearest(name, names);
  return {ErrorKind::usage, fmt::format("there is no program `{}`; {}", name,
                                        near.empty() ? "`tilevm examples` lists them"
                                                     : fmt::format("did you mean `{}`?", near))};
}

/// The file of a shipped program, by the path that the list gives or by its name alone.
Result<std::string> file_of(const std::string& name) {
  const auto folder = shipped_programs();
  if (!folder) return no_programs();
  const std::vector<ShippedProgram> programs = list_shipped(*folder);
  for (const ShippedProgram& each : programs) {
    const bool is_it = each.path == name || each.path == "programs/" + name ||
                       each.path == "programs/" + name + ".tile";
    if (is_it) return (folder->parent_path() / each.path).string();
  }
  return no_such_program(name, programs);
}

Exit show_program(const std::string& name, Reporter& reporter) {
  const Result<std::string> file = file_of(name);
  if (!file) return reporter.fail(file.error());
  const auto source = read_source(*file, reporter.io().in);
  if (!source) return reporter.fail(source.error());
  reporter.set("file", *file);
  reporter.set("text", (*source)->text());
  if (!reporter.json()) reporter.io().out << (*source)->text();
  return reporter.finish(Exit::ok);
}

}  // namespace

Exit examples(const ExamplesOptions& options, Io& io) {
  Reporter reporter(io, "examples", options.json);
  if (!options.name.empty()) return show_program(options.name, reporter);
  const auto folder = shipped_programs();
  if (!folder) return reporter.fail(no_programs());
  Json list = Json::array();
  for (const ShippedProgram& each : list_shipped(*folder)) {
    Json item = Json::object();
    item.set("program", each.path).set("what", each.what);
    list.push(std::move(item));
    if (!options.json) io.out << fmt::format("{:<44} {}\n", each.path, each.what);
  }
  reporter.set("folder", folder->string());
  reporter.set("programs", std::move(list));
  return reporter.finish(Exit::ok);
}

Exit new_program(const NewOptions& options, Io& io) {
  Reporter reporter(io, "new", false);
  std::error_code none;
  if (options.file != "-" && std::filesystem::exists(options.file, none)) {
    return reporter.fail(
        {ErrorKind::usage, fmt::format("`{}` exists already; name a new file", options.file)});
  }
  std::string text = fmt::format(fmt::runtime(first_program), options.file);
  if (!options.from.empty()) {
    std::string from = options.from;
    if (!std::filesystem::exists(from, none)) {
      const Result<std::string> file = file_of(from);
      if (!file) return reporter.fail(file.error());
      from = *file;
    }
    const auto source = read_source(from, io.in);
    if (!source) return reporter.fail(source.error());
    text = (*source)->text();
  }
  const Status written = write_result(io, options.file, text);
  if (!written) return reporter.fail(written.error());
  if (options.file != "-") {
    io.err << fmt::format("wrote `{0}`; run it: tilevm run {0}\n", printable(options.file));
  }
  return reporter.finish(Exit::ok);
}

}  // namespace tilevm::vm
