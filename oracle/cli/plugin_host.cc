#include "oracle/subject/plugin/plugin_host.h"

#include <memory>

#include "oracle/cli/command.h"

namespace moe4::oracle::cli {

void add_plugin_host(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("plugin-host", "Run a plug-in over a folder of cases; --plugin starts this");
  command->group("");
  struct Options {
    std::string library, cases, results;
    bool deterministic = false;
  };
  auto options = std::make_shared<Options>();
  command->add_option("LIB", options->library, "The shared library")->required();
  command->add_option("CASES", options->cases, "A folder of case files")->required();
  command->add_option("RESULTS", options->results, "A folder for the results")->required();
  command->add_flag("--deterministic", options->deterministic, "A second call has to give the same bits");
  command->callback([options, &code] {
    const Status status =
        host_plugin(options->library, options->cases, options->results, options->deterministic);
    code = status ? refuse(*status) : ExitCode::kPassed;
  });
}

}  // namespace moe4::oracle::cli
