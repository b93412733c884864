#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <vector>

#include "oracle/case/nearest.h"
#include "oracle/cli/command.h"
#include "oracle/cli/interrupt.h"
#include "oracle/fixtures/fixture_set.h"
#include "oracle/report/printable.h"
#include "reference/arithmetic/canary.h"

namespace moe4::oracle::cli {
namespace {

constexpr const char* kDescription =
    "moe4 judges 4-bit mixture-of-experts kernels against an exact reference.\n"
    "\n"
    "First steps:\n"
    "  moe4 gate                                    every kernel of this build, a table, an exit code\n"
    "  moe4 list fills                              what a case can hold\n"
    "  moe4 run 'op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 "
    "fill=exact8' "
    "--subject reference\n"
    "  moe4 check CASE.safetensors ACTUAL.safetensors   judge a result that something else computed";

constexpr const char* kFooter =
    "Exit codes, the first that applies: 2 bad usage or input, 5 this build's arithmetic is not to be "
    "trusted,\n"
    "4 a subject crashed or timed out, 1 mismatch, 3 nothing ran or a gate condition is unmet, 0 passed.\n"
    "Every command explains itself: moe4 COMMAND --help";

// The names that could have been meant at the place where `word` was typed.
std::vector<std::string> known_at(const CLI::App& app, std::string_view word) {
  std::vector<std::string> known;
  if (word.substr(0, 1) == "-") {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(command->get_name());
    }
  }
  return known;
}

ExitCode refuse_arguments(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  std::string message = error.what();
  const std::vector<std::string> left = app.remaining(true);
  if (!left.empty()) {
    const std::string nearest = nearest_name(left.front(), known_at(*at, left.front()));
    message = "'" + left.front() + "' is not known here";
    if (!nearest.empty()) message += "; the nearest known one is '" + nearest + "'";
  }
  std::string command = "moe4";
  for (const CLI::App* a = &app; !a->get_subcommands().empty();) {
    a = a->get_subcommands().back();
    command += " " + a->get_name();
  }
  return refuse(message + " (see " + command + " --help)");
}

ExitCode run(int argc, char** argv) {
  if (Status status = check_float_environment()) {
    refuse(*status);
    return ExitCode::kSelfTest;
  }
  CLI::App app{kDescription, "moe4"};
  app.footer(kFooter);
  app.set_version_flag("--version", fmt::format("moe4 {}, norm version {}", MOE4_VERSION, kNormVersion));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  ExitCode code = ExitCode::kPassed;
  for (auto* add :
       {add_gate, add_merge, add_run, add_check, add_reference, add_gen, add_fuzz, add_shrink, add_fixtures,
        add_list, add_layout, add_ptx, add_bench, add_selftest, add_plugin_host, add_device_host}) {
    add(app, code);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return ExitCode::kPassed;
    }
    return refuse_arguments(app, error);
  }
  return code;
}

}  // namespace

ExitCode refuse(std::string_view message) {
  // A hostile file can make a value of any length; what is wrong with it stands at the ends.
  constexpr std::size_t kBegin = 1200, kEnd = 600;
  std::string text(message);
  if (text.size() > kBegin + kEnd) text.replace(kBegin, text.size() - kBegin - kEnd, " … ");
  fmt::print(stderr, "moe4: {}\n", printable(text));
  return ExitCode::kUsage;
}

ExitCode refuse(const Error& error) { return refuse(error.message()); }

ExitCode refuse_file(const std::string& path, const Error& error) {
  return refuse(error.field == path ? error.message() : path + ": " + error.message());
}

}  // namespace moe4::oracle::cli

int main(int argc, char** argv) {
  using namespace moe4::oracle;
  // A file over the size limit is then an error of write(), with its message, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  cli::watch_for_interrupts();
  ExitCode code = ExitCode::kUsage;
  try {
    code = cli::run(argc, argv);
  } catch (const std::exception& error) {
    code = cli::refuse(error.what());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    code = more_urgent(code, cli::refuse("stdout cannot be written: the result is lost"));
  }
  return static_cast<int>(code);
}
