// How the fake driver is to behave: $MOE4_FAKE_CUDA, words separated by commas.
//
//   no-device         cuInit finds none
//   driver=11080      the version that it speaks (default 13000)
//   arch=80           the chip's capability (default 90)
//   model=ampere      whose tensor cores multiply (default hopper); model=broken: a product of which is wrong
//   memory=64         MiB that can be allocated (default 4096)
//   no-context        the context cannot be made
//   refuse-code       machine code is not taken, PTX is
//   refuse-ptx        PTX is not taken: it is newer than the driver
//   crash=3           the 3rd launch of the process ends in an illegal address
//   die=3             the 3rd launch ends the process
//   budget=100000     warp instructions after which a kernel counts as one that never ends
#pragma once

#include <map>
#include <string>

namespace moe4::fake {

class Words {
 public:
  static Words of_environment();
  bool has(const std::string& word) const { return words_.contains(word); }
  std::string text(const std::string& word, const std::string& otherwise) const;
  long number(const std::string& word, long otherwise) const;

 private:
  std::map<std::string, std::string> words_;
};

}  // namespace moe4::fake
