// The one catch at a boundary: whatever a callback or a library throws becomes an Error.
#pragma once

#include "base/check.hpp"

#include <foveal/error.hpp>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace foveal {

// f() returns a Status or a Result; `what` names the work in the error. An Exception keeps its
// Error.
template <class F>
auto guarded(std::string_view what, F&& f) -> decltype(f()) {
  try {
    return std::forward<F>(f)();
  } catch (const Exception& e) {
    return e.error();
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kOutOfMemory, {{"bytes", "some"}, {"what", what}});
  } catch (const std::system_error& e) {
    // A thread that could not be had.
    if (e.code() == std::errc::resource_unavailable_try_again) {
      return Error(ErrorCode::kOutOfMemory,
                   {{"bytes", "some"}, {"what", "a thread of " + std::string(what)}});
    }
    return internal_error(e.what(), __FILE__, __LINE__);
  } catch (const std::exception& e) {
    return internal_error(e.what(), __FILE__, __LINE__);
  } catch (...) {
    return internal_error("an exception of unknown type", __FILE__, __LINE__);
  }
}

}  // namespace foveal
