#include "python_calls.hpp"

namespace undertone::python {

namespace py = pybind11;

void raise(const Error& error) {
  const py::object made =
      py::module_::import("undertone.errors").attr("of_code")(std::string(to_string(error.code)), error.message);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw py::error_already_set();
}

void Listener::call(const std::function<py::tuple()>& arguments) {
  if (stopped()) return;
  const py::gil_scoped_acquire lock;
  try {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!heard_.is_none()) heard_(*arguments());
  } catch (const py::error_already_set&) {
    failure_ = std::current_exception();
  }
}

void Listener::raise_if_stopped() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace undertone::python
