// A drawn case bent to what a subject accepts: its operation, format, layout, and multiples.
#pragma once

#include "oracle/generate/random.h"
#include "oracle/subject/declaration.h"

namespace moe4::oracle {

// Keys that the operation does not take are dropped. The result need not be valid nor accepted.
Case fit_to(const Declaration& declaration, Case c, Key key);

}  // namespace moe4::oracle
