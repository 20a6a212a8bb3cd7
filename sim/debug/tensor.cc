#include "sim/debug/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "isa/base/suggest.h"
#include "isa/type/bits.h"

namespace tilevm::sim::debug {
namespace {

__extension__ using Wide = __int128;

std::optional<std::uint64_t> find_bit(const RegisterPlace&, const isa::DType&, const isa::Index&) {
  return std::nullopt;
}

std::optional<std::uint64_t> find_bit(const SharedPlace& place, const isa::DType& dtype,
                                      const isa::Index& index) {
  const auto offset = static_cast<std::uint64_t>(place.type->layout.offset(index));
  return place.first_bit + offset * dtype.bits;
}

std::optional<std::uint64_t> find_bit(const GlobalPlace& place, const isa::DType& dtype,
                                      const isa::Index& index) {
  Wide offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    offset += static_cast<Wide>(index[d]) * place.view.strides[d];
  }
  if (place.view.layout != nullptr) offset = place.view.layout->offset(index);
  const Wide bit = offset * dtype.bits;
  if (bit < 0 || bit + dtype.bits > static_cast<Wide>(place.buffer.bytes) * 8) return std::nullopt;
  return static_cast<std::uint64_t>(bit);
}

/// The mask of shared memory or of a buffer says that a bit of the element is undefined.
bool is_undefined(const std::uint8_t* mask, std::uint64_t bit, unsigned bits) {
  return mask != nullptr && isa::get_bits(mask, bit, bits) != 0;
}

}  // namespace

std::optional<std::uint64_t> Tensor::bit_of(const isa::Index& index) const {
  return std::visit([&](const auto& where) { return find_bit(where, dtype, index); }, place);
}

Element Tensor::read(const BlockState& block, std::size_t thread, std::size_t at) const {
  const Tile& tile = std::get_if<RegisterPlace>(&place)->tile;
  const std::uint8_t* registers = block.registers.at(tile.offset) + thread * tile.thread_bytes;
  return {isa::get_bits(registers, at * tile.bits, tile.bits),
          block.undefined.marked(tile) && block.undefined.element(tile, thread, at)};
}

Element Tensor::read(const BlockState* block, const isa::Index& index) const {
  if (const auto* registers = std::get_if<RegisterPlace>(&place)) {
    const isa::RegisterLayout& layout = registers->type->layout;
    return read(*block, static_cast<std::size_t>(layout.first_thread_of(index)),
                static_cast<std::size_t>(layout.local_of(index)));
  }
  const std::optional<std::uint64_t> bit = bit_of(index);
  if (!bit) return {0, true};
  if (const auto* global = std::get_if<GlobalPlace>(&place)) {
    return {isa::get_bits(global->buffer.data, *bit, dtype.bits),
            is_undefined(global->buffer.undefined, *bit, dtype.bits)};
  }
  const SharedMemory& shared = block->shared;
  return {isa::get_bits(shared.bytes.data(), *bit, dtype.bits),
          !shared.undefined.empty() && is_undefined(shared.undefined.data(), *bit, dtype.bits)};
}

void Tensor::write(BlockState* block, WriteLog& log, const isa::Index& index,
                   std::uint64_t code) const {
  if (const auto* registers = std::get_if<RegisterPlace>(&place)) {
    const isa::RegisterLayout& layout = registers->type->layout;
    const Tile& tile = registers->tile;
    const auto local = static_cast<std::size_t>(layout.local_of(index));
    for (const std::int64_t thread : layout.threads_of(index)) {
      const std::size_t at = tile.offset + static_cast<std::size_t>(thread) * tile.thread_bytes;
      isa::put_bits(block->registers.at(at), local * tile.bits, tile.bits, code);
      if (!block->undefined.marked(tile)) continue;
      isa::put_bits(block->undefined.at(at), local * tile.bits, tile.bits, 0);
    }
    if (block->undefined.marked(tile)) {
      block->undefined.update(tile, Origin(block->undefined.origin(tile)));
    }
    return;
  }
  const std::optional<std::uint64_t> bit = bit_of(index);
  if (!bit) return;
  if (const auto* global = std::get_if<GlobalPlace>(&place)) {
    const MemoryBuffer& buffer = global->buffer;
    const std::size_t begin = *bit / 8, end = (*bit + dtype.bits + 7) / 8;
    save_pages(buffer.data, buffer.bytes, begin, end, log.pages);
    isa::put_bits(buffer.data, *bit, dtype.bits, code);
    if (buffer.undefined == nullptr) return;
    save_pages(buffer.undefined, buffer.bytes, begin, end, log.pages);
    isa::put_bits(buffer.undefined, *bit, dtype.bits, 0);
    return;
  }
  isa::put_bits(block->shared.bytes.data(), *bit, dtype.bits, code);
  if (block->shared.undefined.empty()) return;
  isa::put_bits(block->shared.undefined.data(), *bit, dtype.bits, 0);
}

const BlockState* Names::block() const {
  return resident_ ? &machine_.state().residents[*resident_]->state : nullptr;
}

Moment Names::last_written(isa::VarId var) const {
  const Resident& resident = *machine_.state().residents[*resident_];
  Moment last = 0;
  for (const std::size_t record : machine_.launch().records().writers_of(var)) {
    last = std::max(last, resident.last_run[record]);
  }
  return last;
}

std::string Names::name_of(isa::VarId var) const {
  const std::string& given = machine_.launch().kernel().variable(var).name;
  if (!given.starts_with('(')) return given;
  return given.substr(1, given.find(' ') - 1) + "(..)";
}

std::optional<Tensor> Names::tensor_of(isa::VarId var) const {
  const PreparedLaunch& launch = machine_.launch();
  const isa::Variable& variable = launch.kernel().variable(var);
  if (const auto* type = std::get_if<isa::RegisterType>(&variable.type)) {
    return Tensor{name_of(var), var, type->dtype, type->shape(),
                  RegisterPlace{type, make_tile(*type, launch.registers().offset(var))}};
  }
  if (const auto* type = std::get_if<isa::SharedType>(&variable.type)) {
    const auto offset = static_cast<std::uint64_t>(launch.info().shared_tile(var).offset);
    return Tensor{name_of(var), var, type->dtype, type->shape(), SharedPlace{type, offset * 8}};
  }
  if (const auto* type = std::get_if<isa::GlobalType>(&variable.type)) {
    const GlobalView& view = block()->views[static_cast<std::size_t>(var.index)];
    if (view.buffer < 0) return std::nullopt;
    const isa::Shape shape(view.extents.begin(), view.extents.begin() + view.rank);
    return Tensor{name_of(var), var, type->dtype, shape,
                  GlobalPlace{view, launch.memory()[static_cast<std::size_t>(view.buffer)]}};
  }
  return std::nullopt;
}

std::optional<Tensor> Names::run_tensor(const std::string& name) const {
  const PreparedLaunch& launch =
      machine_.finished() ? *machine_.launches().back() : machine_.launch();
  const Memory& memory = launch.memory();
  for (std::size_t i = launch.workspaces(); i < memory.size(); ++i) {
    if (memory[i].name != name) continue;
    const std::size_t k = i - launch.workspaces();
    GlobalView view;
    view.buffer = static_cast<int>(i);
    view.rank = static_cast<int>(shapes_[k].size());
    std::int64_t stride = 1;
    for (std::size_t d = shapes_[k].size(); d-- > 0;) {
      view.extents[d] = shapes_[k][d];
      view.strides[d] = stride;
      stride *= shapes_[k][d];
    }
    return Tensor{name, {}, dtypes_[k], shapes_[k], GlobalPlace{view, memory[i]}};
  }
  return std::nullopt;
}

bool Names::has_value(isa::VarId var) const {
  const std::vector<isa::VarId>& parameters = machine_.launch().kernel().parameters;
  return last_written(var) > 0 ||
         std::find(parameters.begin(), parameters.end(), var) != parameters.end();
}

std::vector<isa::VarId> Names::live() const {
  std::vector<isa::VarId> found;
  if (!resident_) return found;
  const isa::Kernel& kernel = machine_.launch().kernel();
  for (std::size_t i = 0; i < kernel.variables.size(); ++i) {
    const isa::VarId var{static_cast<std::int32_t>(i)};
    if (has_value(var)) found.push_back(var);
  }
  return found;
}

/// The variable of a name that was written last.
std::optional<isa::VarId> Names::variable(const std::string& name) const {
  std::optional<isa::VarId> best;
  if (!resident_) return best;
  const isa::Kernel& kernel = machine_.launch().kernel();
  for (std::size_t i = 0; i < kernel.variables.size(); ++i) {
    if (kernel.variables[i].name != name) continue;
    const isa::VarId var{static_cast<std::int32_t>(i)};
    if (!best || last_written(var) > last_written(*best)) best = var;
  }
  return best;
}

std::size_t Names::slot_of(const std::string& name) const {
  return static_cast<std::size_t>(variable(name)->index);
}

Error Names::unknown(const std::string& name) const {
  std::vector<std::string> names;
  if (resident_) {
    for (const isa::Variable& known : machine_.launch().kernel().variables) {
      names.push_back(known.name);
    }
  }
  for (const MemoryBuffer& buffer : machine_.launches().back()->memory()) {
    names.emplace_back(buffer.name);
  }
  const std::string near = nearest(name, names);
  return Error{ErrorKind::usage,
               fmt::format("nothing here is called `{}`{}", name,
                           near.empty() ? "" : fmt::format("; did you mean `{}`?", near))};
}

Result<Named> Names::find(const std::string& name) const {
  if (name.starts_with('$')) {
    if (auto tensor = run_tensor(name.substr(1))) return Named(*std::move(tensor));
    return unknown(name);
  }
  const std::optional<isa::VarId> var = variable(name);
  const bool is_pointer = var && std::holds_alternative<isa::PointerType>(
                                     machine_.launch().kernel().variable(*var).type);
  if (var && has_value(*var) && !is_pointer) return value_of(*var, name);
  if (auto tensor = run_tensor(name)) return Named(*std::move(tensor));
  if (is_pointer) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` is a pointer; look at a view of it, or at the tensor", name)};
  }
  if (var) {
    return Error{ErrorKind::usage, fmt::format("`{}` has no value yet in this block", name)};
  }
  return unknown(name);
}

/// What a variable that has a value stands for.
Named Names::value_of(isa::VarId var, const std::string& name) const {
  const isa::Type& type = machine_.launch().kernel().variable(var).type;
  if (const auto* scalar = std::get_if<isa::ScalarType>(&type)) {
    return ScalarVariable{name,
                          {scalar->kind, block()->scalars[static_cast<std::size_t>(var.index)]}};
  }
  return *tensor_of(var);
}

Result<Tensor> Names::tensor(const std::string& name) const {
  Result<Named> found = find(name);
  if (!found) return found.error();
  if (auto* tensor = std::get_if<Tensor>(&*found)) return std::move(*tensor);
  return Error{ErrorKind::usage, fmt::format("`{}` is a scalar, not a tensor", name)};
}

}  // namespace tilevm::sim::debug
