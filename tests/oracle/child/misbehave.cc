// A subject program that does what its first argument says: misbehave WHAT CASES RESULTS. Everything but its
// misdeed is as it should be.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "oracle/case/norm.h"
#include "oracle/file/case_file.h"

namespace {

namespace fs = std::filesystem;
using namespace moe4;
using namespace moe4::oracle;
using namespace std::chrono_literals;

[[noreturn]] void hang() {
  while (true) std::this_thread::sleep_for(1s);
}

void eat(std::size_t bytes) {
  std::vector<char*> kept;
  for (std::size_t eaten = 0; eaten < bytes; eaten += 1 << 20) {
    kept.push_back(static_cast<char*>(std::malloc(1 << 20)));
    if (kept.back() == nullptr) return;
    std::fill_n(kept.back(), 1 << 20, 'x');
  }
  hang();
}

// A process that nobody waits for, in a session of its own, as daemons are started. It writes its id into the
// file that MOE4_PID_FILE names.
void start_daemon(std::size_t bytes) {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  if (const char* file = std::getenv("MOE4_PID_FILE")) std::ofstream(file) << getpid() << std::endl;
  eat(bytes);
  hang();
}

void flip_last_byte(const fs::path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);
  const char last = static_cast<char>(file.get());
  file.seekp(-1, std::ios::end);
  file.put(static_cast<char>(last ^ 1));
}

// All that is done instead of, or before, a result.
void before(const std::string& what, const fs::path& input, const fs::path& output) {
  if (what == "segfault") {
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  }
  if (what == "abort") std::abort();
  if (what == "hang") hang();
  if (what == "hang_deaf") {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
    hang();
  }
  if (what == "memory") eat(std::size_t{10} << 30);
  if (what == "memory_of_a_child") {
    if (fork() == 0) eat(std::size_t{10} << 30);
    hang();
  }
  if (what == "memory_of_a_daemon") {
    start_daemon(std::size_t{10} << 30);
    hang();
  }
  if (what == "leave_a_daemon") start_daemon(0);
  if (what == "hang_with_a_daemon") {
    start_daemon(0);
    hang();
  }
  if (what == "leave_a_child" && fork() == 0) hang();
  if (what == "status3") {
    std::fprintf(stderr, "this is why\nand \033[31mred\033[0m\n");
    std::exit(3);
  }
  if (what == "flood") {
    const std::string line(4096, 'y');
    while (std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) {
    }
    hang();
  }
  if (what == "huge_output") {
    std::ofstream file(output, std::ios::binary);
    const std::string block(1 << 20, 'z');
    while (file << block << std::flush) {
    }
    hang();
  }
  if (what == "write_to_input") flip_last_byte(input);
  if (what == "remove_input") fs::remove(input);
  if (what == "unsupported")
    std::ofstream(fs::path(output).replace_extension("unsupported")) << "no such tile\n";
  if (what == "failed") std::ofstream(fs::path(output).replace_extension("failed")) << "out of luck\n";
}

void after(const std::string& what, const fs::path& output) {
  if (what == "half") fs::resize_file(output, fs::file_size(output) / 2);
  if (what == "empty") fs::resize_file(output, 0);
  if (what == "no_safetensors") std::ofstream(output) << "this is no safetensors file, but it is long enough";
  if (what == "folder") {
    fs::remove(output);
    fs::create_directory(output);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const std::string what = argv[1];
  std::vector<fs::path> inputs;
  for (const auto& entry : fs::directory_iterator(argv[2])) inputs.push_back(entry.path());
  std::sort(inputs.begin(), inputs.end());
  for (const fs::path& input : inputs) {
    const fs::path output = fs::path(argv[3]) / input.filename();
    const Result<CaseData> data = read_case(input);
    if (!data.ok()) return 65;
    Result<Norm> norm = norm_result(*data);
    // seven_outputs_crash: in the midst of a folder, on one case only.
    if (what == "seven_outputs_crash" && data->line->out == 7) std::abort();
    before(what, input, output);
    if (what == "silent" || what == "unsupported" || what == "failed") continue;
    ResultFile result;
    result.output = std::move(norm->output);
    if (what == "wrong_dtype") {  // F16 in place of BF16: the same number of bytes
      Tensor other(Dtype::kF16, result.output.shape());
      std::copy_n(result.output.data(), other.bytes(), other.data());
      result.output = std::move(other);
    }
    if (what == "wrong_shape") result.output = Tensor(result.output.dtype(), {1, result.output.elements()});
    if (what == "says_inputs_changed") result.inputs_changed = true;
    if (what == "another_case") {
      result.line = data->line;
      result.line->seed += 1;
    }
    if (what == "an_element_unwritten") {
      result.unwritten.assign(static_cast<std::size_t>(result.output.elements()), false);
      result.unwritten.back() = true;
    }
    if (write_result(output, result)) return 66;
    after(what, output);
  }
  return what == "status3_at_the_end" ? 3 : 0;
}
