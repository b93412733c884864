// One line on stderr that overwrites itself: only on a terminal, and only for what takes over two seconds.
#pragma once

#include <chrono>
#include <string>

namespace moe4::oracle::cli {

class Progress {
 public:
  Progress();
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text);

 private:
  std::chrono::steady_clock::time_point start_, last_;
  bool terminal_ = false;
  bool shown_ = false;
};

}  // namespace moe4::oracle::cli
