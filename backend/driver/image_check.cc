#include "backend/driver/image_check.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace tilevm::backend {
namespace {

constexpr std::uint32_t fatbin_magic = 0xBA55ED50;

/// The head of a fatbin; `size` counts what follows the head.
struct FatbinHead {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t head_size;
  std::uint64_t size;
};

/// A structure at `offset`, which must be inside the image.
template <class T>
bool read_at(std::string_view image, std::uint64_t offset, T& value) {
  if (offset > image.size() || sizeof(T) > image.size() - offset) return false;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return true;
}

bool inside(std::string_view image, std::uint64_t offset, std::uint64_t size) {
  return offset <= image.size() && size <= image.size() - offset;
}

std::string find_elf_fault(std::string_view image) {
  Elf64_Ehdr head;
  if (!read_at(image, 0, head) || head.e_ident[EI_CLASS] != ELFCLASS64) {
    return "it is not a 64-bit ELF file";
  }
  for (std::uint64_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!inside(image, head.e_shoff, i * sizeof section) ||
        !read_at(image, head.e_shoff + i * sizeof section, section)) {
      return "its table of sections is cut off";
    }
    if (section.sh_type != SHT_NOBITS && !inside(image, section.sh_offset, section.sh_size)) {
      return "a section is cut off";
    }
  }
  if (!inside(image, head.e_phoff, std::uint64_t{head.e_phnum} * sizeof(Elf64_Phdr))) {
    return "its table of segments is cut off";
  }
  return {};
}

std::string find_fatbin_fault(std::string_view image) {
  FatbinHead head{};
  if (!read_at(image, 0, head) || head.head_size < sizeof head ||
      !inside(image, head.head_size, head.size)) {
    return "the fatbin is cut off";
  }
  return {};
}

}  // namespace

std::string find_image_fault(std::string_view image) {
  if (image.starts_with("\x7f"
                        "ELF")) {
    return find_elf_fault(image);
  }
  std::uint32_t magic = 0;
  if (read_at(image, 0, magic) && magic == fatbin_magic) return find_fatbin_fault(image);
  if (image.find('\0') != std::string_view::npos || image.find(".version") == image.npos) {
    return "it is neither a cubin nor a fatbin nor PTX";
  }
  return {};
}

}  // namespace tilevm::backend
