// Two groups of warps: one fills stages of shared memory, the other one uses them. They wait for
// one another by barriers with phases, or by named barriers.
#include <utility>

#include "vm/fuzz/random_layout.h"
#include "vm/fuzz/scenarios.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;
using isa::ScalarBinary;
using isa::VarId;

constexpr std::int64_t warp = 32, most_elements = 128;

isa::ScalarOperand integer(std::int64_t value) { return {Expr::constant(value)}; }

/// The two groups and what they share.
class Ring {
 public:
  explicit Ring(KernelBuilder& builder)
      : builder_(builder),
        draw_(builder.draw()),
        stages_(draw_.between(1, 3)),
        steps_(draw_.between(1, 6)),
        producers_(draw_.between(1, builder.threads() / warp - 1)),
        consumers_(builder.threads() / warp - producers_),
        producers_first_(draw_.chance(50)),
        named_(draw_.chance(25)),
        goes_on_(draw_.chance(50)),
        one_arrives_(draw_.chance(40)),
        fences_(builder.target().sm >= 90 && draw_.chance(30)),
        expects_(builder.target().sm >= 90 && draw_.chance(30)) {
    if (named_) stages_ = 1;
  }

  void make() {
    shape_ = random_shape(draw_, 2, most_elements);
    do {
      dtype_ = builder_.some_type();
    } while (!isa::is_defined(isa::BinaryOp::add, dtype_) || !has_whole_bytes());
    isa::Shape stages = shape_;
    stages.insert(stages.begin(), stages_);
    buffer_ = builder_.add_first(isa::AllocateShared{dtype_, {stages}, {}});
    output_ = builder_.output_view(dtype_, shape_);
    const std::int64_t threads_of_producers = one_arrives_ ? 1 : producers_ * warp,
                       threads_of_consumers = one_arrives_ ? 1 : consumers_ * warp;
    full_ = builder_.add_first(isa::AllocateBarrier{integer(threads_of_producers), stages_slot()});
    empty_ = builder_.add_first(isa::AllocateBarrier{integer(threads_of_consumers), stages_slot()});
    if (!buffer_.valid() || !output_.valid() || !full_.valid() || !empty_.valid()) return;
    builder_.add(isa::Synchronize{});
    builder_.note_barrier();
    isa::ForkStmt fork;
    fork.groups.push_back(group(true));
    fork.groups.push_back(group(false));
    builder_.add_statement(std::move(fork));
    builder_.add(isa::Synchronize{});
    builder_.note_barrier();
  }

 private:
  /// Stages of one tensor share no byte, which threads would store to with no order in between.
  [[nodiscard]] bool has_whole_bytes() const {
    std::int64_t bits = dtype_.bits;
    for (const std::int64_t extent : shape_) bits *= extent;
    return bits % 8 == 0;
  }
  std::optional<isa::ScalarOperand> stages_slot() const {
    return stages_ == 1 ? std::nullopt : std::optional(integer(stages_));
  }

  isa::WarpGroup group(bool produces) {
    isa::WarpGroup made;
    made.warps = produces ? producers_ : consumers_;
    if (produces != producers_first_) made.first_warp = produces ? consumers_ : producers_;
    const isa::RegisterLayout layout = random_layout(draw_, made.warps * warp, shape_);
    builder_.open();
    VarId sum;
    if (!produces) sum = builder_.constant(dtype_, layout, Expr::constant(0)).var;
    isa::ForStmt loop;
    loop.var = builder_.new_variable('k', isa::ScalarType{isa::ScalarKind::i32});
    loop.end = Expr::constant(steps_);
    loop.step = Expr::constant(1);
    const Expr k = builder_.use({loop.var, isa::ScalarKind::i32});
    builder_.open();
    produces ? fill(k, layout) : use(k, layout, sum);
    loop.body = builder_.close();
    builder_.add_statement(std::move(loop));
    if (!produces && sum.valid()) store(sum);
    made.body = builder_.close();
    return made;
  }

  static Expr mod(const Expr& a, std::int64_t b) {
    return Expr::binary(ScalarBinary::mod, a, Expr::constant(b));
  }
  Expr round_of(const Expr& k) const {
    return Expr::binary(ScalarBinary::div, k, Expr::constant(stages_));
  }
  std::optional<isa::ScalarOperand> stage_of(const Expr& k) const {
    return stages_ == 1 ? std::nullopt : std::optional(isa::ScalarOperand{mod(k, stages_)});
  }
  isa::OffsetList place_of(const Expr& k) const {
    isa::OffsetList offset;
    offset.entries.push_back({mod(k, stages_), false});
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      offset.entries.push_back({Expr::constant(0), true});
    }
    return offset;
  }

  void wait(VarId barrier, const Expr& k, std::int64_t first_parity) {
    const Expr parity =
        mod(Expr::binary(ScalarBinary::add, round_of(k), Expr::constant(first_parity)), 2);
    builder_.add(isa::WaitBarrier{{barrier}, {parity}, stage_of(k)});
  }

  void arrive(VarId barrier, const Expr& k) {
    if (!one_arrives_) return signal(barrier, k);
    builder_.add(isa::Synchronize{});
    builder_.open();
    signal(barrier, k);
    isa::ForkStmt fork;
    isa::WarpGroup one;
    one.elects = true;
    one.body = builder_.close();
    fork.groups.push_back(std::move(one));
    builder_.add_statement(std::move(fork));
  }

  /// Stores in the block's own part of the output.
  void store(VarId sum) {
    isa::OffsetList offset{builder_.own_part()};
    for (std::size_t d = 0; d < shape_.size(); ++d)
      offset.entries.push_back({Expr::constant(std::int64_t{0}), true});
    builder_.add(isa::StoreGlobal{{sum}, {output_}, offset});
  }

  void signal(VarId barrier, const Expr& k) {
    if (expects_) {
      builder_.add(isa::ArriveExpect{{barrier}, integer(0), stage_of(k), {}});
    } else {
      builder_.add(isa::Arrive{{barrier}, stage_of(k), {}});
    }
  }

  /// Both groups come to a named barrier for what one of them has done: that one may go on at once,
  /// since it comes again only when it has waited for the other one.
  void meet(std::int64_t id, bool has_done) {
    const isa::ScalarOperand warps = integer(producers_ + consumers_);
    if (has_done && goes_on_) {
      builder_.add(isa::ArriveNamedBarrier{integer(id), warps});
    } else {
      builder_.add(isa::SyncNamedBarrier{integer(id), warps});
    }
  }

  void fill(const Expr& k, const isa::RegisterLayout& layout) {
    const VarId tile = builder_.constant(dtype_, layout, k).var;
    if (!named_) wait(empty_, k, 1);
    if (tile.valid()) builder_.add(isa::StoreShared{{tile}, {buffer_}, place_of(k)});
    if (fences_) builder_.add(isa::FenceProxy{});
    if (!named_) return arrive(full_, k);
    meet(15, true);  // the other group reads between the two
    meet(14, false);
  }

  void use(const Expr& k, const isa::RegisterLayout& layout, VarId sum) {
    named_ ? meet(15, false) : wait(full_, k, 0);
    const VarId tile = builder_.add(isa::LoadShared{{buffer_}, layout, place_of(k), {}});
    named_ ? meet(14, true) : arrive(empty_, k);
    if (tile.valid() && sum.valid()) builder_.add(isa::Add{{sum}, {tile}}, sum);
  }

  KernelBuilder& builder_;
  Draw& draw_;
  std::int64_t stages_, steps_, producers_, consumers_;
  bool producers_first_, named_, goes_on_, one_arrives_, fences_, expects_;
  isa::DType dtype_;
  isa::Shape shape_;
  VarId buffer_, output_, full_, empty_;
};

}  // namespace

bool can_have_groups(const KernelBuilder& builder) {
  return builder.depth() == 0 && builder.loops() == 0 && !builder.may_have_ended &&
         builder.threads() % warp == 0 && builder.threads() >= 2 * warp;
}

void pass_between_groups(KernelBuilder& builder) { Ring(builder).make(); }

}  // namespace tilevm::vm::fuzz
