// Rendering of errors from the generated table.
#include "base/printable.hpp"

#include <foveal/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>

namespace foveal {
namespace {

constexpr std::array kTable{
#define FOVEAL_ERROR(number, name, status, kind, message, fix) \
  ErrorInfo{ErrorCode::k##name, #name, status, kind, message, fix},
#include <foveal/errors.def>
#undef FOVEAL_ERROR
};

constexpr bool ascending() {
  for (std::size_t i = 1; i < kTable.size(); ++i) {
    if (kTable[i - 1].code >= kTable[i].code) {
      return false;
    }
  }
  return true;
}
static_assert(ascending(), "error ids repeat or descend");

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string id_of(ErrorCode code) {
  std::array<char, 12> text{};
  std::snprintf(text.data(), text.size(), "FV-%04u", static_cast<unsigned>(code));
  return text.data();
}

// Fills {name} in a template; an unknown name stays as it stands, so that a test sees it.
std::string render(std::string_view tmpl, const std::vector<ErrorField>& fields) {
  std::string out;
  while (!tmpl.empty()) {
    const std::size_t open = tmpl.find('{');
    const std::size_t close = open == tmpl.npos ? tmpl.npos : tmpl.find('}', open);
    out += tmpl.substr(0, open);
    if (close == tmpl.npos) {
      break;
    }
    const std::string_view name = tmpl.substr(open + 1, close - open - 1);
    const auto it = std::find_if(fields.begin(), fields.end(),
                                 [&](const ErrorField& f) { return f.name == name; });
    out += it == fields.end() ? std::string(tmpl.substr(open, close - open + 1))
                              : printable(it->text());
    tmpl.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace

std::span<const ErrorInfo> error_table() {
  return kTable;
}

const ErrorInfo& error_info(ErrorCode code) {
  const auto it = std::lower_bound(kTable.begin(), kTable.end(), code,
                                   [](const ErrorInfo& i, ErrorCode c) { return i.code < c; });
  return it != kTable.end() && it->code == code ? *it : kTable.back();  // the last is Internal
}

const ErrorInfo* find_error(std::string_view id_or_name) {
  for (const ErrorInfo& info : kTable) {
    if (equal_ignoring_case(id_of(info.code), id_or_name) ||
        equal_ignoring_case(info.name, id_or_name)) {
      return &info;
    }
  }
  return nullptr;
}

std::string ErrorField::text() const {
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*i);
  }
  if (const auto* d = std::get_if<double>(&value)) {
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *d);
    return {buffer.data(), end.ptr};
  }
  return std::get<std::string>(value);
}

std::string Error::id() const {
  return id_of(code_);
}
std::string_view Error::name() const {
  return error_info(code_).name;
}
int Error::http_status() const {
  return error_info(code_).http_status;
}
std::string Error::message() const {
  return render(error_info(code_).message, fields_);
}
std::string Error::fix() const {
  return render(error_info(code_).fix, fields_);
}

const ErrorField* Error::field(std::string_view name) const {
  const auto it = std::find_if(fields_.begin(), fields_.end(),
                               [&](const ErrorField& f) { return f.name == name; });
  return it == fields_.end() ? nullptr : &*it;
}

Error Error::with_cause(Error cause) && {
  cause_ = std::make_shared<const Error>(std::move(cause));
  return std::move(*this);
}

Error Error::with_field(ErrorField extra) && {
  if (field(extra.name) == nullptr) {
    fields_.push_back(std::move(extra));
  }
  return std::move(*this);
}

std::string Error::describe() const {
  std::string out = "error " + id() + " " + std::string(name()) + ": " + message();
  if (const std::string text = fix(); !text.empty()) {
    out += "\n  fix: " + text;
  }
  if (cause_) {
    out += "\n  cause: " + cause_->describe();
  }
  return out;
}

}  // namespace foveal
