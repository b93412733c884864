// The picture of a mismatch as SVG.
#pragma once

#include <string>

#include "oracle/judge/picture.h"

namespace moe4::oracle {

// Rows down, outputs across; colours come from the classes of the page (html.cc). Empty for an empty picture.
std::string picture_svg(const Picture& picture);

}  // namespace moe4::oracle
