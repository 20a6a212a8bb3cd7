// One value for each statement of a kernel: vectors by statement number (program.h, StmtId).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "isa/base/check.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// One value for each statement of a kernel.
template <class T>
class StmtMap {
 public:
  StmtMap() = default;
  explicit StmtMap(std::size_t statements, T value = T{})
      : values_(statements, Box{std::move(value)}) {}

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] T& operator[](StmtId id) { return values_[at(id)].value; }
  [[nodiscard]] const T& operator[](StmtId id) const { return values_[at(id)].value; }

 private:
  struct Box {  // std::vector<bool> has no elements to refer to
    T value;
  };
  [[nodiscard]] std::size_t at(StmtId id) const {
    const auto index = static_cast<std::size_t>(id.index);
    TILEVM_CHECK(id.valid() && index < values_.size(), "a statement of another kernel");
    return index;
  }
  std::vector<Box> values_;
};

/// A set of statements of a kernel.
class StmtSet {
 public:
  StmtSet() = default;
  explicit StmtSet(std::size_t statements) : members_(statements, false) {}

  void insert(StmtId id) {
    count_ += members_[id] ? 0 : 1;
    members_[id] = true;
  }
  [[nodiscard]] bool contains(StmtId id) const { return members_[id]; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  StmtMap<bool> members_;
  std::size_t count_ = 0;
};

}  // namespace tilevm::isa
