#include "oracle/subject/gpu/device_host.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "oracle/cli/command.h"
#include "oracle/cli/subjects.h"

namespace moe4::oracle::cli {

void add_device_host(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand(
      "device-host", "Run a kernel on a GPU over a folder of cases; --device cuda starts this");
  command->group("");
  struct Options {
    HostedSubject hosted;
    std::string cases, results;
  };
  auto options = std::make_shared<Options>();
  command->add_option("CASES", options->cases, "A folder of case files")->required();
  command->add_option("RESULTS", options->results, "A folder for the results")->required();
  command->add_option("--subject", options->hosted.name, "A kernel by name");
  command->add_option("--ptx", options->hosted.ptx, "A PTX file, with --declare");
  command->add_option("--declare", options->hosted.declare, "Its declaration");
  command->add_option("--seconds", options->hosted.seconds, "That a kernel may run");
  add_cuda_options(*command, options->hosted.cuda);
  command->callback([options, &code] {
    const Status status = host_on_cuda(options->hosted, options->cases, options->results);
    code = status ? refuse(*status) : ExitCode::kPassed;
    // A driver whose kernel hangs waits for it when it is unloaded.
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));
  });
}

}  // namespace moe4::oracle::cli
