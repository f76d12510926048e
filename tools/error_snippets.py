#!/usr/bin/env python3
"""Takes the fenced code out of errors/FV-nnnn.md, so that the tests can compile and run what the pages show.

    error_snippets.py --cpp OUT.cpp   writes one program that runs every C++ snippet and says which failed
    error_snippets.py --python        runs every Python snippet (needs NumPy: exit code 77 without it)
    error_snippets.py --shell         parses every shell snippet with `sh -n`

C++ snippets are statements, or functions (a guard). A line `const auto x = ...;  // FV-1201` claims that x holds that
error (`// works`: none), and is held to it.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import pathlib
import re
import subprocess
import sys

from error_entries import Entry, Report, read_entries

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77  # what ctest is told means "skipped"

PREAMBLE = """\
// Written by tools/error_snippets.py: the C++ code of errors/*.md, compiled and run.
#include <foveal/attention/attention.hpp>
#include <foveal/attention/metadata.hpp>
#include <foveal/attention/plan.hpp>
#include <foveal/context.hpp>
#include <foveal/error.hpp>
#include <foveal/image.hpp>
#include <foveal/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace foveal;

namespace {
int failures = 0;
void fail(const char* where, const std::string& why) {
  std::printf("%s: %s\\n", where, why.c_str());
  ++failures;
}
template <class Outcome>  // a Result or a Status
void expect_error(const char* where, const Outcome& result, std::string_view id) {
  if (id == "works") {
    result.has_value() ? void() : fail(where, "gives " + result.error().describe());
  } else if (result.has_value()) {
    fail(where, "gives no error, expected " + std::string(id));
  } else if (result.error().id() != id) {
    fail(where, "gives " + result.error().describe());
  }
}
}  // namespace
"""
FUNCTION = re.compile(r"^[A-Za-z_][\w:<>&* ]*\s\w+\(", re.MULTILINE)
CLAIM = re.compile(r"^const auto (\w+) = .*// (FV-\d{4}|works)", re.MULTILINE)


def snippets(entries: list[Entry], language: str) -> list[tuple[str, str]]:
    """(where, text) in order."""
    out = []
    for e in entries:
        found = [("solution", s.code.get(language)) for s in e.solutions]
        found += [(part, text if lang == language else None) for part, (lang, text) in e.example.items()]
        found += [("validate", e.validate_code.get(language)), ("guard", e.guard_code.get(language))]
        out += [(f"{e.id} {part} {i}", text) for i, (part, text) in enumerate(found, 1) if text]
    return out


def is_function(text: str) -> bool:
    code = "\n".join(line for line in text.split("\n") if not line.startswith("//"))
    return bool(FUNCTION.match(code)) and code.rstrip().endswith("}") and "= " not in code.split("(", 1)[0]


def cpp_program(entries: list[Entry]) -> str:
    out, calls = [PREAMBLE], []
    for i, (where, text) in enumerate(snippets(entries, "cpp")):
        if is_function(text):
            out += [f"namespace snippet{i} {{  // {where}", text, "}", ""]
            continue
        checks = [f'expect_error("{where}", {name}, "{error}");' for name, error in CLAIM.findall(text)]
        out += [f"void snippet{i}() {{  // {where}", text, *checks, "}", ""]
        calls.append(f'  try {{ snippet{i}(); }} catch (const Exception& e) {{ fail("{where}", e.what()); }}')
    return "\n".join(out + ["int main() {", *calls, "  return failures == 0 ? 0 : 1;", "}"]) + "\n"


def run_python(entries: list[Entry]) -> int:
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("NumPy is not installed")
        return SKIPPED
    bad = 0
    for where, text in snippets(entries, "python"):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, where, "exec"), {"__name__": where})  # noqa: S102, our own pages
        except Exception as error:  # noqa: BLE001, whatever it is
            print(f"{where}: {type(error).__name__}: {error}")
            bad = 1
    return bad


def parse_shell(entries: list[Entry]) -> int:
    bad = 0
    for where, text in snippets(entries, "shell"):
        run = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
        if run.returncode != 0:
            print(f"{where}: {run.stderr.strip()}")
            bad = 1
    return bad


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpp", type=pathlib.Path)
    parser.add_argument("--python", action="store_true")
    parser.add_argument("--shell", action="store_true")
    args = parser.parse_args(argv)
    report = Report(ROOT)
    entries = read_entries(ROOT, report)
    if report.problems:
        print("\n".join(report.problems))
        return 1
    if args.cpp:
        args.cpp.write_text(cpp_program(entries), encoding="utf-8")
    if args.python:
        return run_python(entries)
    return parse_shell(entries) if args.shell else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
