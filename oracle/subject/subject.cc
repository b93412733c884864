#include "oracle/subject/subject.h"

#include "oracle/report/failure.h"

namespace moe4::oracle {

std::string Subject::selector() const { return "--subject " + shell_word(declaration().name); }

}  // namespace moe4::oracle
