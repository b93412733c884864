// The texts of fixtures/lists/*.cases, each after fixtures/regressions/found.cases; lists.cc is made of
// lists.cc.in when the build is configured.
#pragma once

namespace moe4::oracle {

extern const char* const kSmokeList;
extern const char* const kCiList;
extern const char* const kNightlyList;

}  // namespace moe4::oracle
