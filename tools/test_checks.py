#!/usr/bin/env python3
"""The checks must be able to fail: plants breaches in a scratch tree and expects each to be named."""
import pathlib
import tempfile
import unittest

import check_includes
import check_sources

# file -> (content, a piece of the sentence that must appear; None: clean)
INCLUDES = {
    "src/tensor/a.cpp": ('#include "base/b.hpp"\n#include <vector>\n', None),
    "src/base/b.hpp": ('#include "tensor/t.hpp"\n', "base may not include tensor/t.hpp"),
    "src/tensor/t.hpp": ("#include <jpeglib.h>\n", "<jpeglib.h> is not allowed in src/tensor"),
    "src/backends/cpu/c.cpp": ('#include "backends/reference/r.hpp"\n', "may not include backends/reference"),
    "src/backends/reference/r.hpp": ('#include "attention/i.hpp"\n', None),
    "src/backends/registry.hpp": ('#include "backends/cpu/c.cpp"\n', None),
    "src/attention/i.hpp": ('#include "backends/registry.hpp"\n', "attention may not include backends/registry.hpp"),
    "src/cli/m.cpp": ('#include "runtime/e.hpp"\n#include <iostream>\n', "cli may not include runtime/e.hpp"),
    "src/runtime/e.hpp": ("#include <iostream>\n", "the library never prints"),
    "src/ops/o.cpp": ("#include <unistd.h>\n#include <format>\n", "<format> is not allowed"),
    "include/foveal/image.hpp": ('#include "image/x.hpp"\n', "public headers only"),
    "src/image/x.hpp": ("#include <foveal/encoder.hpp>\n", "image may not include foveal/encoder.hpp"),
}
SOURCES = {
    "src/ops/good.cpp": ("// What it is.\nint f();\n", None),
    "src/ops/bare.cpp": ("int f();\n", "no header comment"),
    "src/ops/guard.hpp": ("// What.\nint f();\n", "no #pragma once"),
    "src/ops/todo.cpp": ("// What. TO" "DO: later\n", "without an issue"),
    "src/ops/print.cpp": ("// What.\nvoid f() { printf(1); }\n", "never prints"),
    "src/ops/exit.cpp": ("// What.\nvoid f() { std::exit(1); }\n", "never exits"),
    "src/ops/env.cpp": ("// What.\nauto f() { return getenv(x); }\n", "front ends only"),
    "src/ops/word.cpp": ("// What.\nfloat sm_scale = 1;\n", "the word here is softmax_scale"),
    "src/ops/static.cpp": ("// What.\nint f() {\n  static int calls = 0;\n}\n", "no mutable static"),
    "src/ops/long.cpp": ("// What.\n" + "int f();\n" * 600, "split it"),
    "tests/ops/name_test.cpp": ("// What.\nTEST(Plan, Does_It) {}\n", "without underscores"),
}


class Checks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def plant(self, files):
        for name, (content, _) in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def judge(self, files, problems):
        for name, (_, wanted) in files.items():
            own = [p for p in problems if p.startswith(name + ":")]
            if wanted is None:
                self.assertEqual(own, [])
            else:
                self.assertTrue(any(wanted in p for p in own), f"{name}: {own}")

    def test_includes(self):
        self.plant(INCLUDES)
        self.judge(INCLUDES, check_includes.check(self.root))

    def test_sources(self):
        self.plant(SOURCES)
        check_sources.ROOT = self.root
        problems = [p for name in SOURCES for p in check_sources.check_cpp(pathlib.Path(name))]
        self.judge(SOURCES, problems)

    def test_ascii(self):
        check_sources.ROOT = self.root
        (self.root / "x.hpp").write_text("// caf\u00e9\n")
        self.assertEqual(len(list(check_sources.check_ascii(pathlib.Path("x.hpp")))), 1)


if __name__ == "__main__":
    unittest.main()
