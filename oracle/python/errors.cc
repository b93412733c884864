#include "oracle/python/errors.h"

#include <nanobind/stl/string.h>

#include "oracle/python/bindings.h"

namespace nb = nanobind;

namespace moe4::python {

void bind_errors(nb::module_& m) {
  const nb::object type = nb::steal(PyErr_NewExceptionWithDoc(
      "moe4.InputError",
      "What moe4 refuses: field, value and rule, by the words of the command and of the library.",
      PyExc_ValueError, nullptr));
  m.attr("InputError") = type;
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* payload) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Refused& refused) {
          const nb::handle type_of_error(static_cast<PyObject*>(payload));
          const nb::object error = type_of_error(refused.error.message());
          error.attr("field") = refused.error.field;
          error.attr("value") = refused.error.value;
          error.attr("rule") = refused.error.rule;
          PyErr_SetObject(type_of_error.ptr(), error.ptr());
        }
      },
      type.ptr());
}

}  // namespace moe4::python
