#include "vm/run/shadow.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/data/tensor.h"
#include "vm/text/table.h"

namespace tilevm::vm {
namespace {

using sim::ErrorLocation;
using sim::ErrorStats;
using sim::StatementErrors;

/// As many indices of a block as its grid has extents.
std::span<const std::int64_t> block_of(const isa::VerifiedProgram& program, int kernel,
                                       const ErrorLocation& at) {
  return std::span(at.block).first(program.kernel(kernel).grid.size());
}

/// The numbers that all tables show of errors.
std::vector<std::string> cells(const ErrorStats& errors) {
  std::vector<std::string> cells{grouped(errors.elements)};
  for (const sim::ErrorSpread* spread : {&errors.ulp, &errors.relative}) {
    cells.push_back(fmt::format("{:.3g}", spread->max));
    cells.push_back(fmt::format("{:.3g}", spread->mean()));
  }
  cells.push_back(errors.not_finite == 0 ? "" : grouped(errors.not_finite));
  return cells;
}

/// A row or the head of a table: its own cells, the numbers, and where the worst element is.
std::vector<std::string> row(std::vector<std::string> row, const std::vector<std::string>& numbers,
                             std::string worst) {
  row.insert(row.end(), numbers.begin(), numbers.end());
  row.push_back(std::move(worst));
  return row;
}

const std::vector<std::string>& heads() {
  static const std::vector<std::string> all{"elements", "max ulp",   "mean ulp",
                                            "max rel.", "mean rel.", "not finite"};
  return all;
}

std::string output_table(const std::vector<OutputErrors>& outputs) {
  Table table;
  table.add(row({"output", "type"}, heads(), "most ulps at"));
  for (const OutputErrors& output : outputs) {
    std::string worst = output.errors.elements == 0 ? "no shadow values" : "";
    if (output.errors.ulp.max > 0) {
      worst = fmt::format("{}: {} instead of {}",
                          format_index(output.shape, output.errors.ulp.worst.element), output.worst,
                          output.worst_shadow);
    }
    table.add(
        row({output.name, isa::to_string(output.dtype)}, cells(output.errors), std::move(worst)));
  }
  return table.has_rows() ? table.text() : "";
}

bool is_exact(const StatementErrors& statement) {
  return statement.own.exact() && statement.accumulated.exact();
}

std::string kernel_table(const isa::VerifiedProgram& program, const KernelErrors& kernel) {
  Table table;
  table.add(row({"statement", "at", "type", "error"}, heads(), "most ulps at"));
  std::size_t exact = 0;
  const auto add = [&](const StatementErrors& statement, std::string_view name,
                       const ErrorStats& errors) {
    const ErrorLocation& at = errors.ulp.worst;
    std::string worst;
    if (errors.ulp.max > 0) {
      worst = fmt::format("block [{}] {}", fmt::join(block_of(program, kernel.kernel, at), ", "),
                          format_index(statement.shape, at.element));
    }
    table.add(
        row({std::string(mnemonic(statement.instruction)), location_of(program, statement.span),
             isa::to_string(statement.dtype), std::string(name)},
            cells(errors), std::move(worst)));
  };
  for (const StatementErrors& statement : kernel.statements) {
    if (is_exact(statement)) {
      ++exact;
      continue;
    }
    const bool same = statement.own == statement.accumulated;
    add(statement, same ? "both" : "own", statement.own);
    if (!same) add(statement, "accumulated", statement.accumulated);
  }
  std::string text = program.kernel(kernel.kernel).name + ":\n";
  if (table.has_rows()) text += table.text();
  if (exact > 0) {
    text += fmt::format("  {}{} statement{} exact\n", exact, table.has_rows() ? " more" : "",
                        exact == 1 ? " is" : "s are");
  }
  return text;
}

/// `block` is empty for a tensor.
Json location_json(const sim::ErrorSpread& spread, const isa::Shape& shape,
                   std::span<const std::int64_t> block) {
  if (spread.max == 0) return {};
  Json location = Json::object();
  Json index = Json::array(), indices = Json::array();
  for (const std::int64_t i :
       isa::unravel(static_cast<std::int64_t>(spread.worst.element), shape)) {
    index.push(i);
  }
  for (const std::int64_t i : block) indices.push(i);
  if (!block.empty()) location.set("block", std::move(indices));
  location.set("index", std::move(index));
  return location;
}

/// `block` gives the indices of an element's block that are shown.
template <class BlockOf>
Json errors_json(const ErrorStats& errors, const isa::Shape& shape, BlockOf&& block) {
  Json object = Json::object();
  object.set("elements", errors.elements).set("not_finite", errors.not_finite);
  for (const auto& [name, spread] :
       {std::pair{"ulp", &errors.ulp}, std::pair{"relative", &errors.relative}}) {
    Json part = Json::object();
    part.set("count", spread->count).set("max", spread->max).set("mean", spread->mean());
    part.set("at", location_json(*spread, shape, block(spread->worst)));
    object.set(name, std::move(part));
  }
  return object;
}

Json statement_json(const isa::VerifiedProgram& program, int kernel,
                    const StatementErrors& statement) {
  const LineColumn at = program.source().locate(statement.span.begin);
  const auto block = [&](const ErrorLocation& worst) { return block_of(program, kernel, worst); };
  Json object = Json::object();
  object.set("line", at.line).set("column", at.column);
  object.set("instruction", mnemonic(statement.instruction));
  object.set("dtype", isa::to_string(statement.dtype));
  object.set("own", errors_json(statement.own, statement.shape, block));
  object.set("accumulated", errors_json(statement.accumulated, statement.shape, block));
  return object;
}

}  // namespace

void add_launch(std::vector<KernelErrors>& kernels, int kernel,
                std::vector<StatementErrors> statements) {
  const auto known = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelErrors& all) { return all.kernel == kernel; });
  if (known == kernels.end()) {
    kernels.push_back({kernel, std::move(statements)});
    return;
  }
  for (std::size_t i = 0; i < statements.size(); ++i) {
    known->statements[i].own += statements[i].own;
    known->statements[i].accumulated += statements[i].accumulated;
  }
}

std::string shadow_table(const isa::VerifiedProgram& program, const RunReport& report) {
  std::string text = "shadow: errors against float64 without rounding to types\n";
  text += output_table(report.output_errors);
  for (const KernelErrors& kernel : report.kernel_errors) {
    if (!kernel.statements.empty()) text += kernel_table(program, kernel);
  }
  return text;
}

Json shadow_json(const isa::VerifiedProgram& program, const RunReport& report) {
  Json outputs = Json::array(), kernels = Json::array();
  for (const OutputErrors& output : report.output_errors) {
    Json object = Json::object();
    object.set("name", output.name).set("dtype", isa::to_string(output.dtype));
    object.set("errors", errors_json(output.errors, output.shape, [](const ErrorLocation&) {
                 return std::span<const std::int64_t>();
               }));
    outputs.push(std::move(object));
  }
  for (const KernelErrors& kernel : report.kernel_errors) {
    Json statements = Json::array();
    for (const StatementErrors& statement : kernel.statements) {
      statements.push(statement_json(program, kernel.kernel, statement));
    }
    Json object = Json::object();
    object.set("kernel", program.kernel(kernel.kernel).name);
    object.set("statements", std::move(statements));
    kernels.push(std::move(object));
  }
  Json shadow = Json::object();
  shadow.set("outputs", std::move(outputs)).set("kernels", std::move(kernels));
  return shadow;
}

}  // namespace tilevm::vm
