// Elements that came from outside of a view: zeros that a load or a copy gave for elements that
// memory does not have. They are found by going back through what only moves elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/debug/access_capture.h"
#include "sim/debug/reply.h"
#include "sim/debug/scalar_sources.h"
#include "sim/debug/timeline.h"

namespace tilevm::sim::debug {

class Provenance;

/// The element that an access looked for in vain; nothing if the view has it.
[[nodiscard]] std::optional<reply::OutsideView> outside_view(const AccessCapture& capture,
                                                             const MovedElement& element);

/// An element of a question, by its number in it.
struct OutsideElement {
  std::size_t number = 0;
  reply::OutsideView view;
};

/// Follows many elements at once: those of one place go back together. A search that would take
/// long is given up, and its elements count as inside.
class OutsideSearch {
 public:
  OutsideSearch(Timeline& timeline, Provenance& provenance)
      : timeline_(timeline), provenance_(provenance) {}

  /// The trails that lead outside of a view. The machine stays where it is.
  [[nodiscard]] std::vector<OutsideElement> find(std::vector<Trail> trails);

 private:
  /// Trails of one place, with their numbers.
  struct Group {
    Moment moment = 0;
    std::vector<std::pair<std::size_t, Trail>> trails;
  };
  /// What an element was copied from, before a step.
  struct Source {
    Moment before = 0;
    std::optional<reply::OutsideView> outside;
    Trail trail;
  };

  [[nodiscard]] Machine& machine() { return timeline_.machine(); }
  void add(Moment moment, std::size_t number, Trail trail);
  void follow_registers(Group& group);
  void follow_load(std::size_t number, const Trail& trail, const AccessCapture& load,
                   unsigned element_bits);
  void follow_shared(Group& group);
  void follow_global(Group& group);
  using Wanted = std::vector<std::pair<std::uint64_t, std::size_t>>;
  [[nodiscard]] static Wanted wanted(const Group& group);
  void note(const AccessCapture& capture, bool in_shared, const Wanted& wanted, Moment before,
            std::vector<std::optional<Source>>& sources);
  [[nodiscard]] Source source_of(const AccessCapture& capture, const MovedElement& element,
                                 unsigned bits, std::uint64_t shift, Moment before);
  void add_sources(const Group& group, std::vector<std::optional<Source>>& sources);

  Timeline& timeline_;
  Provenance& provenance_;
  std::vector<Group> groups_;
  std::vector<std::optional<reply::OutsideView>> found_;
  std::size_t writers_ = 0, compared_ = 0;
};

}  // namespace tilevm::sim::debug
