#include "tests/support/fake_cuda/fake_words.h"

#include <cstdlib>
#include <sstream>

namespace moe4::fake {

Words Words::of_environment() {
  Words words;
  const char* all = std::getenv("MOE4_FAKE_CUDA");
  std::istringstream text(all == nullptr ? "" : all);
  for (std::string word; std::getline(text, word, ',');) {
    const std::size_t equals = word.find('=');
    words.words_[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return words;
}

std::string Words::text(const std::string& word, const std::string& otherwise) const {
  const auto found = words_.find(word);
  return found == words_.end() ? otherwise : found->second;
}

long Words::number(const std::string& word, long otherwise) const {
  const auto found = words_.find(word);
  return found == words_.end() ? otherwise : std::strtol(found->second.c_str(), nullptr, 0);
}

}  // namespace moe4::fake
