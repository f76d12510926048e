// Errors and results. An Error carries a stable code, named fields and an optional cause; the
// sentence a person reads is rendered from the catalogue entry (errors/FV-nnnn.md by way of
// errors.def), so logs, JSON and tests see fields, not prose. Result<T> mirrors std::expected's
// names for a later swap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace foveal {

// The number in an id: kMaxSeqlenMissing == 1101 is FV-1101. Never reused.
enum class ErrorCode : std::uint16_t {
#define FOVEAL_ERROR(number, name, status, kind, message, fix) k##name = (number),
#include <foveal/errors.def>
#undef FOVEAL_ERROR
};

// One row of the generated table. Templates name fields as {field}.
struct ErrorInfo {
  ErrorCode code;
  std::string_view name;     // "MaxSeqlenMissing"
  int http_status;           // what a server answers with
  std::string_view kind;     // input, unsupported, model, image, limit, device, internal
  std::string_view message;  // template
  std::string_view fix;      // template
};

// All entries, ascending by code.
std::span<const ErrorInfo> error_table();
const ErrorInfo& error_info(ErrorCode code);

// A named value of an error. Integers, reals and texts stay what they are for JSON and tests.
struct ErrorField {
  std::string name;
  std::variant<std::int64_t, double, std::string> value;

  ErrorField(std::string_view field, std::string text) : name(field), value(std::move(text)) {}
  ErrorField(std::string_view field, std::string_view text)
      : name(field), value(std::string(text)) {}
  ErrorField(std::string_view field, const char* text) : name(field), value(std::string(text)) {}
  ErrorField(std::string_view field, double number) : name(field), value(number) {}
  template <class Int>
  requires std::is_integral_v<Int> ErrorField(std::string_view field, Int number)
      : name(field), value(static_cast<std::int64_t>(number)) {}

  std::string text() const;
};

class Error {
 public:
  explicit Error(ErrorCode code, std::vector<ErrorField> fields = {})
      : code_(code), fields_(std::move(fields)) {}

  ErrorCode code() const { return code_; }
  std::string id() const;         // "FV-1101"
  std::string_view name() const;  // "MaxSeqlenMissing"
  int http_status() const;
  std::string message() const;  // template with the fields filled in
  std::string fix() const;      // what to do, with the values filled in
  const std::vector<ErrorField>& fields() const { return fields_; }
  // nullptr where the error has no such field.
  const ErrorField* field(std::string_view name) const;
  const Error* cause() const { return cause_.get(); }  // may be null

  Error with_cause(Error cause) &&;
  // Adds a field unless one of that name is there: a caller knows the file, the parser the offset.
  Error with_field(ErrorField extra) &&;

  // "error FV-1102 MaxSeqlenTooSmall: ..." plus the fix and the causes, for a terminal or a log.
  std::string describe() const;

 private:
  ErrorCode code_;
  std::vector<ErrorField> fields_;
  std::shared_ptr<const Error> cause_;  // shared: errors are copied into logs and results
};

// For those who like exceptions: Result::value() throws this.
class Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::move(error)), what_(error_.describe()) {}
  const char* what() const noexcept override { return what_.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  std::string what_;
};

// Success or an Error, for functions without a result.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error(...)` reads as it should
  Status(Error error) : error_(std::move(error)) {}
  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }
  void value() const {
    if (error_) {
      throw Exception(*error_);
    }
  }

 private:
  std::optional<Error> error_;
};

// A value or an Error. T need not be default-constructible.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // NOLINTNEXTLINE(google-explicit-constructor): as std::expected
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error(...)` reads as it should
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }

  // Throws Exception where there is none.
  T& value() & {
    throw_if_error();
    return std::get<0>(state_);
  }
  const T& value() const& {
    throw_if_error();
    return std::get<0>(state_);
  }
  T&& value() && {
    throw_if_error();
    return std::get<0>(std::move(state_));
  }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

  template <class F>
  auto and_then(F&& f) && {
    using Next = decltype(std::forward<F>(f)(std::get<0>(std::move(state_))));
    return has_value() ? std::forward<F>(f)(std::get<0>(std::move(state_)))
                       : Next(std::get<1>(std::move(state_)));
  }

 private:
  void throw_if_error() const {
    if (!has_value()) {
      throw Exception(std::get<1>(state_));
    }
  }
  std::variant<T, Error> state_;
};

// "FV-1102" or "fv-1102" or "MaxSeqlenTooSmall" -> the row; nullptr where there is none.
const ErrorInfo* find_error(std::string_view id_or_name);

}  // namespace foveal

// Propagates an error, else initialises `var` from the value. Two statements: use inside braces.
//   FOVEAL_TRY(auto image, decode(bytes, limits));
#define FOVEAL_TRY(var, expr) FOVEAL_TRY_IMPL(var, expr, __LINE__)
#define FOVEAL_TRY_IMPL(var, expr, line) \
  FOVEAL_TRY_NAMED(var, expr, FOVEAL_CONCAT(fv_result_, line))
#define FOVEAL_CONCAT(a, b) FOVEAL_CONCAT_IMPL(a, b)
#define FOVEAL_CONCAT_IMPL(a, b) a##b
#define FOVEAL_TRY_NAMED(var, expr, name) \
  auto name = (expr);                     \
  if (!name) {                            \
    return std::move(name).error();       \
  }                                       \
  var = *std::move(name)

// Propagates the error of a Status.
#define FOVEAL_TRY_STATUS(expr)                \
  do {                                         \
    if (auto fv_status = (expr); !fv_status) { \
      return std::move(fv_status).error();     \
    }                                          \
  } while (false)
