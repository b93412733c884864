// Case lines, and the tensors of a case.
#include <nanobind/stl/optional.h>

#include "oracle/case/nearest.h"
#include "oracle/case/norm.h"
#include "oracle/file/case_file.h"
#include "oracle/file/case_tensors.h"
#include "oracle/gate/tiers.h"
#include "oracle/generate/generate.h"
#include "oracle/python/bindings.h"
#include "oracle/python/callable_subject.h"
#include "oracle/python/errors.h"
#include "oracle/python/views.h"

namespace nb = nanobind;

namespace moe4::python {
namespace {

using oracle::CaseData;

CaseData drawn(const std::string& line) {
  const oracle::Case parsed = take(oracle::parse_case(line));
  return take(without_gil([&] { return oracle::generate(parsed); }));
}

CaseData loaded(const std::string& path, const std::vector<std::string>& policies) {
  return take(without_gil([&] { return oracle::read_case(path, policies); }));
}

nb::dict tensors(nb::handle self) {
  const CaseData& data = nb::cast<const CaseData&>(self);
  nb::dict all;
  for (const auto& [name, tensor] : oracle::tensors_of(data)) all[name.c_str()] = borrowed(*tensor, self);
  return all;
}

nb::tuple norm(const CaseData& data) {
  oracle::Norm made = take(without_gil([&] { return oracle::fast_norm_result(data); }));
  return nb::make_tuple(to_python(std::move(made.output)), bytes_array(std::move(made.written)));
}

std::vector<std::string> listed(const std::string& tier_name) {
  const oracle::Tier* tier = oracle::find_tier(tier_name);
  if (tier == nullptr) {
    std::vector<std::string> known;
    for (const oracle::Tier& one : oracle::tiers()) known.emplace_back(one.name);
    throw Refused{Error{"tier", tier_name,
                        "unknown; the nearest known one is " + oracle::nearest_name(tier_name, known)}};
  }
  std::vector<std::string> lines;
  for (const oracle::Case& line : take(oracle::parse_case_list(tier->list))) lines.push_back(to_string(line));
  return lines;
}

std::vector<std::string> parsed_list(const std::string& text) {
  std::vector<std::string> lines;
  for (const oracle::Case& line : take(oracle::parse_case_list(text))) lines.push_back(to_string(line));
  return lines;
}

std::optional<std::string> refusal(const std::string& declaration, const std::string& line) {
  return take(oracle::parse_declaration(declaration)).refuses(take(oracle::parse_case(line)));
}

std::vector<std::string> fill_names() {
  std::vector<std::string> names;
  for (const oracle::Fill fill : oracle::all_fills()) names.emplace_back(name_of(fill));
  return names;
}

std::vector<std::string> routing_names() {
  std::vector<std::string> names;
  for (const oracle::Routing routing : oracle::all_routings()) names.emplace_back(name_of(routing));
  return names;
}

}  // namespace

void bind_cases(nb::module_& m) {
  nb::class_<CaseData>(m, "CaseData", "The tensors of a case.")
      .def_prop_ro("line",
                   [](const CaseData& data) {
                     return data.line ? std::optional(to_string(*data.line)) : std::nullopt;
                   })
      .def_prop_ro("op", [](const CaseData& data) { return std::string(name_of(data.op)); })
      .def_prop_ro("weights", [](const CaseData& data) { return std::string(name_of(data.weights)); })
      .def_prop_ro("policy", [](const CaseData& data) { return to_string(data.policy); })
      .def("tensors", [](nb::handle self) { return tensors(self); })
      .def("numbers", &numbers_of)
      .def("norm", &norm)
      .def("save", [](const CaseData& data, const std::string& path) {
        check(without_gil([&] { return oracle::write_case(path, data); }));
      });
  m.def("draw_case", &drawn);
  m.def("load_case", &loaded);
  m.def("canonical_line", [](const std::string& line) { return to_string(take(oracle::parse_case(line))); });
  m.def("tier_lines", &listed);
  m.def("list_lines", &parsed_list);
  m.def("refusal", &refusal);
  m.def("fills", &fill_names);
  m.def("routings", &routing_names);
}

}  // namespace moe4::python
