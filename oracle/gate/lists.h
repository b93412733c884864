// The texts of fixtures/lists/*.cases, each followed by fixtures/regressions/found.cases; lists.cc is made of
// lists.cc.in when the build is configured.
#pragma once

namespace moe4::oracle {

extern const char* const kSmokeList;
extern const char* const kCiList;
extern const char* const kNightlyList;

}  // namespace moe4::oracle
