#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "frontend/bind/constants.h"
#include "frontend/syntax/grammar.h"
#include "isa/analysis/statements.h"
#include "isa/inst/product.h"
#include "vm/bench/bench.h"

namespace tilevm::vm {

namespace {

std::uint64_t bytes_of(const Entry::Tensor& tensor) {
  const std::uint64_t count = checked_count(tensor.shape).value_or(0);
  return (count * tensor.dtype.bits + 7) / 8;
}

/// The tensor of an entry that corresponds to one of another entry; types of outputs may differ.
const Entry::Tensor* find_tensor(const Entry& entry, const Entry::Tensor& like) {
  const auto same = [&](const Entry::Tensor& tensor) {
    return tensor.name == like.name && tensor.input == like.input && tensor.output == like.output &&
           tensor.shape == like.shape && (!like.input || tensor.dtype == like.dtype);
  };
  const auto found = std::find_if(entry.tensors.begin(), entry.tensors.end(), same);
  return found == entry.tensors.end() ? nullptr : &*found;
}

}  // namespace

std::optional<MatmulSize> matmul_size(const SourceFile& source,
                                      const std::vector<frontend::Define>& defines) {
  Diagnostics diagnostics;
  const auto tree = frontend::parse(source, diagnostics);
  if (!tree) return std::nullopt;
  const auto constants = frontend::evaluate_constants(*tree, source, defines, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  const auto extent = [&](std::string_view name) {
    const auto found = constants.integers.find(name);
    return found == constants.integers.end() ? 0 : found->second;
  };
  const MatmulSize size{extent("M"), extent("N"), extent("K")};
  const auto fits = [](std::int64_t n) { return n >= 1 && n <= 0x7fffffff; };
  if (!fits(size.m) || !fits(size.n) || !fits(size.k)) return std::nullopt;
  return size;
}

std::uint64_t entry_bytes(const Entry& entry) {
  std::uint64_t bytes = 0;
  for (const Entry::Tensor& tensor : entry.tensors) bytes += bytes_of(tensor);
  return bytes;
}

std::uint64_t launch_bytes(const Entry& entry, const isa::Launch& launch) {
  std::set<int> tensors;
  for (const auto& argument : launch.arguments) {
    if (const int* index = std::get_if<int>(&argument)) tensors.insert(*index);
  }
  std::uint64_t bytes = 0;
  for (const int index : tensors) bytes += bytes_of(entry.tensors[static_cast<std::size_t>(index)]);
  return bytes;
}

bool has_product(const isa::Kernel& kernel) {
  bool found = false;
  isa::Statements(kernel).for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
    found = found || isa::product_operands(stmt.inst).has_value();
  });
  return found;
}

Result<EntryData> make_entry_data(Entry entry, const Seeding& seeding, DataReader& reader) {
  for (Entry::Tensor& tensor : entry.tensors) {
    // Codes are what a narrow float is about; numbers in [-1, 1) would use few of them.
    const bool narrow_float = tensor.dtype.is_float() && tensor.dtype.bits <= 8;
    if (tensor.spec.text.empty() && narrow_float) tensor.spec.kind = SourceKind::wild;
  }
  Result<std::vector<HostTensor>> tensors = make_tensors(entry, seeding, reader);
  if (!tensors) return tensors.error();
  EntryData data{std::move(entry), {}};
  for (HostTensor& tensor : *tensors) data.buffers.push_back(std::move(tensor.data));
  return data;
}

Result<EntryData> make_reference_data(Entry reference, const EntryData& data) {
  EntryData result{std::move(reference), {}};
  for (const Entry::Tensor& tensor : data.entry.tensors) {
    if (!tensor.input && !tensor.output) continue;
    if (find_tensor(result.entry, tensor) != nullptr) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("`{}` cannot verify `{}`: it has no {} `{}` of the same type and shape",
                    result.entry.name, data.entry.name, tensor.input ? "input" : "output",
                    tensor.name)};
  }
  for (const Entry::Tensor& tensor : result.entry.tensors) {
    const Entry::Tensor* same = find_tensor(data.entry, tensor);
    if (tensor.input && same == nullptr) {
      return Error{ErrorKind::usage,
                   fmt::format("`{}` cannot verify `{}`, which has no input `{}` of that type and "
                               "shape",
                               result.entry.name, data.entry.name, tensor.name)};
    }
    const auto bytes = static_cast<std::size_t>(bytes_of(tensor));
    result.buffers.push_back(
        tensor.input ? data.buffers[static_cast<std::size_t>(same - data.entry.tensors.data())]
                     : std::vector<std::uint8_t>(bytes));
  }
  return result;
}

}  // namespace tilevm::vm
