// A contact sheet: the query on the left, its nearest pictures in a grid, each with rank, score and
// file name.
#pragma once

#include <foveal/error.hpp>
#include <foveal/image.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace foveal::io {

struct SheetPicture {
  std::optional<Image>
      image;         // from sheet_thumbnail(); absent: could not be read, a box stands for it
  std::string name;  // path; its last part is shown, cut in the middle where it is long
  double score = 0;  // cosine
};

struct ContactSheet {
  SheetPicture query;
  std::vector<SheetPicture> nearest;  // best first
  std::string title;
  std::string subtitle;
};

// Shrinks a picture to what a sheet shows of it at most: read, shrink, forget, one after another.
enum class SheetPlace { kQuery, kNearest };
Result<Image> sheet_thumbnail(const Image& image, SheetPlace place);

Result<Image> draw_contact_sheet(const ContactSheet& sheet);

}  // namespace foveal::io
