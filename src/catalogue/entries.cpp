// The catalogue's data, generated from errors/FV-nnnn.md.
#include "catalogue/catalogue.hpp"

namespace foveal::catalogue {
namespace {

#include "catalogue/entries.inc"

}  // namespace

std::span<const Entry> entries() {
  return kEntries;
}

}  // namespace foveal::catalogue
