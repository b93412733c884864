// The parts of the extension module. The public package is moe4/*.py: it turns what users have into Views and
// what the functions here give into arrays; nothing here is meant to be called by hand.
#pragma once

#include <nanobind/nanobind.h>

namespace moe4::python {

void bind_errors(nanobind::module_& m);
void bind_views(nanobind::module_& m);
void bind_operations(nanobind::module_& m);
void bind_weights(nanobind::module_& m);
void bind_routing(nanobind::module_& m);
void bind_cases(nanobind::module_& m);
void bind_verdicts(nanobind::module_& m);

}  // namespace moe4::python
