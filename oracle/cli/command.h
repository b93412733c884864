// What the files of this folder share: one file a command, each adding itself to the application.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "oracle/gate/exit_code.h"
#include "reference/status.h"

namespace moe4::oracle::cli {

// Results go to stdout; what this prints goes to stderr. Returns the code for bad usage or input.
ExitCode refuse(const Error& error);
ExitCode refuse(std::string_view message);
ExitCode refuse_file(const std::string& path, const Error& error);  // names the file if the error does not

// Every command sets `code` in its callback.
void add_list(CLI::App& app, ExitCode& code);
void add_reference(CLI::App& app, ExitCode& code);
void add_gen(CLI::App& app, ExitCode& code);
void add_check(CLI::App& app, ExitCode& code);
void add_run(CLI::App& app, ExitCode& code);
void add_gate(CLI::App& app, ExitCode& code);
void add_merge(CLI::App& app, ExitCode& code);
void add_fuzz(CLI::App& app, ExitCode& code);
void add_shrink(CLI::App& app, ExitCode& code);
void add_fixtures(CLI::App& app, ExitCode& code);
void add_hardware_fixtures(CLI::App& fixtures, ExitCode& code);  // below `fixtures`
void add_bench(CLI::App& app, ExitCode& code);
void add_layout(CLI::App& app, ExitCode& code);
void add_ptx(CLI::App& app, ExitCode& code);
void add_plugin_host(CLI::App& app, ExitCode& code);  // not in --help
void add_device_host(CLI::App& app, ExitCode& code);  // not in --help
void add_selftest(CLI::App& app, ExitCode& code);

}  // namespace moe4::oracle::cli
