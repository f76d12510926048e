#!/usr/bin/env python3
"""Self-test of the error generator: what it refuses, that it says where, and that its outputs are stable."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_errors_tested  # noqa: E402
import gen_errors  # noqa: E402
from error_entries import Report, read_entries  # noqa: E402
from raised_in import scan_text  # noqa: E402

ENTRY = """\
---
id: {id}
name: {name}
status: 400
since: 0.1.0
kind: input
failure_class: some class
message: {{what}} is too {{how}}
fix: use another
fields:
  - what: text; the thing
  - how: int, tokens; how much
related: {related}
aliases:
  - project: other
    message: too much
    keys: {key}
---
## What it means
It is "too" much\\less.

It is.

## Solutions
1. Do this.

   ```cpp
   const int x = 1;

   // ## no heading
   ```
2. Or do that,
   which goes on here.

## Example
### Before
```python
x = 1
```
### After
```python
x = 2
```

## Validate before calling
Look.

```python
x > 0
```

## Type guard
```python
type(x)
```

## Prevention
- Think.

## When it happens
### Trigger
Always.

### Situations
- Here.
- There.
"""


class Tree(unittest.TestCase):
    """A small tree of two entries that is valid as it stands."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        (self.root / "errors").mkdir()
        (self.root / "src" / "base").mkdir(parents=True)
        (self.root / "errors/failure-classes.md").write_text("# Classes\n\n## some class\nWords.\n")
        self.put("FV-1001", ENTRY.format(id="FV-1001", name="FirstOne", related="FV-1002", key="0" * 16))
        self.put("FV-1002", ENTRY.format(id="FV-1002", name="SecondOne", related="FV-1001", key="1" * 16))

    def put(self, name, text):
        (self.root / f"errors/{name}.md").write_text(text)

    def change(self, old, new, name="FV-1001"):
        path = self.root / f"errors/{name}.md"
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def run_tool(self, *args):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = gen_errors.main(["--root", str(self.root), *args])
        return code, out.getvalue()

    def outputs(self):
        return {p: p.read_bytes() for p in self.root.rglob("*") if p.is_file() and "errors/FV" not in str(p)}


class Refusals(Tree):
    # What is replaced, by what, and what the refusal says (with its line).
    CASES = (
        ("status: 400", "statos: 400", "FV-1001.md:4: unknown key 'statos'"),
        ("status: 400\n", "", "FV-1001.md:1: key 'status' is missing"),
        ("status: 400", "status: 4000", "FV-1001.md:4: status '4000' does not have the form"),
        ("status: 400", "status: 400\nstatus: 400", "FV-1001.md:5: key 'status' is there twice"),
        ("name: FirstOne", "name: first_one", "FV-1001.md:3: name 'first_one' does not have the form"),
        ("name: FirstOne", "name: SecondOne", "FV-1002.md:3: name SecondOne is that of FV-1001 too"),
        ("id: FV-1001", "id: FV-1003", "FV-1001.md:2: id FV-1003 does not match the file name"),
        ("id: FV-1001", "id: 1001", "FV-1001.md:2: id is not FV- and four digits"),
        ("kind: input", "kind: image", "FV-1001.md:6: kind of ids FV-1xxx is 'input'"),
        ("failure_class: some class", "failure_class: none", "FV-1001.md:7: failure class 'none' is not in"),
        ("failure_class: some class\n", "", "FV-1001.md:1: key 'failure_class' is missing"),
        ("message: {what}", "message: {who} {what}", "FV-1001.md:8: message names the field 'who', which is not in"),
        ("fix: use another", "fix: use {other}", "FV-1001.md:9: fix names the field 'other', which is not in fields"),
        ("too {how}", "too much", "FV-1001.md:12: field 'how' is in neither message nor fix"),
        ("  - how: int", "  - how: number", "FV-1001.md:12: field 'how' has the type 'number'"),
        ("  - how: int, tokens; how much", "  - how: int", "FV-1001.md:12: field 'how' has no meaning"),
        ("  - how: int", "  - what: int; x\n  - how: int", "FV-1001.md:12: field 'what' is there twice"),
        ("  - how", "    how", "FV-1001.md:12: cannot be read"),
        ("related: FV-1002", "related: FV-1009", "FV-1001.md:13: related FV-1009 does not exist"),
        ("related: FV-1002", "related: FV-1001", "FV-1001.md:13: related FV-1001 does not exist"),
        ("related: FV-1002", "related:", "FV-1002.md:13: related FV-1001 does not name FV-1002 in turn"),
        ("keys: 0000000000000000", "keys: 12", "FV-1001.md:17: alias key '12' is not 16 hex digits"),
        ("keys: 0000000000000000", "keys: 1111111111111111", "FV-1002.md:14: key 1111111111111111 is that of FV-1001"),
        ("    keys:", "    key:", "FV-1001.md:17: unknown key 'key' of an alias"),
        ("## Prevention", "## Preventing", "FV-1001.md:57: unknown heading 'Preventing'"),
        ("## What it means", "Words\n## What it means", "FV-1001.md:19: text before the first heading"),
        ("## Type guard", "## Solutions", "heading 'Solutions' is there twice"),
        ("## Solutions", "## Prevention", "heading 'Solutions' is missing"),
        ("## When it happens", "## Example", "heading 'When it happens' is missing"),
        ("### Situations\n- Here.\n- There.\n", "", "'When it happens' needs '### Trigger' and a list"),
        ("### Before", "### Earlier", "unknown heading 'Earlier' under 'Example'"),
        ("1. Do this.", "Do this.", "a solution is '1. one sentence' and its code"),
        ("```cpp", "```", "code fence has the language ''"),
        ("```cpp", "```rust", "code fence has the language 'rust'"),
        ("type(x)\n```", "type(x)", "code fence is not closed"),
        ("It is.", "It is \u00fc.", "has characters other than ASCII"),
        ("---\n## What", "## What", "has no front matter"),
    )

    def test_each_breach_is_named_with_its_place(self):
        for old, new, expected in self.CASES:
            with self.subTest(expected):
                self.setUp()
                self.change(old, new)
                code, text = self.run_tool()
                self.assertEqual(code, 1)
                self.assertIn(expected, text)
                self.assertIn("errors/FV-", text)
                self.assertFalse((self.root / "docs").exists(), "nothing is written after a refusal")

    def test_headings_out_of_order(self):
        self.change("## Prevention\n- Think.\n\n", "")
        self.change("## Type guard", "## Prevention\n- Think.\n\n## Type guard")
        self.assertIn("heading 'Type guard' comes after 'Prevention'", self.run_tool()[1])

    def test_a_field_for_the_data_alone_is_marked(self):
        self.change("too {how}", "too much")
        self.change("int, tokens;", "int, tokens (detail);")
        self.assertEqual(self.run_tool(), (0, ""))
        entry = json.loads((self.root / "docs/errors/errors.json").read_text())[0]
        self.assertEqual(entry["message"]["fields"][1], {"name": "how", "type": "int", "unit": "tokens",
                                                         "meaning": "how much"})


class Outputs(Tree):
    def test_are_complete_and_stable(self):
        self.assertEqual(self.run_tool(), (0, ""))
        first = self.outputs()
        names = {str(p.relative_to(self.root)) for p in first}
        for name in ("include/foveal/errors.def", "src/catalogue/entries.inc", "docs/errors/errors.json",
                     "docs/errors/index.md"):
            self.assertIn(name, names)
        self.assertTrue((self.root / "docs/errors/FV-1001.md").exists())
        self.run_tool()
        self.assertEqual(self.outputs(), first)
        self.assertEqual(self.run_tool("--check"), (0, ""))

    def test_check_sees_drift_and_writes_nothing(self):
        self.run_tool()
        self.change("too {how}", "by {how} too long")
        before = self.outputs()
        code, text = self.run_tool("--check")
        self.assertEqual(code, 1)
        for name in ("errors.def", "entries.inc", "errors.json", "index.md", "docs/errors/FV-1001.md"):
            self.assertIn(name, text)
        self.assertEqual(self.outputs(), before)

    def test_pages_without_entry_go(self):
        self.run_tool()
        stray = self.root / "docs/errors/FV-1999.md"
        stray.write_text("x")
        self.assertEqual(self.run_tool("--check")[0], 1)
        self.assertEqual(self.run_tool(), (0, ""))
        self.assertFalse(stray.exists())

    def test_drafts_are_usable_and_fail_the_check(self):
        text = (self.root / "errors/FV-1002.md").read_text()
        draft = text.replace("id: FV-1002", "id: FV-1003").replace("SecondOne", "ThirdOne").replace("1" * 16, "2" * 16)
        draft = draft.split("## What")[0].replace("failure_class: some class\n", "").replace("FV-1001", "")
        self.put("FV-1003", draft)
        code, text = self.run_tool()
        self.assertEqual(code, 0)
        self.assertIn("FV-1003.md:1: is a draft", text)
        self.assertIn("ThirdOne", (self.root / "include/foveal/errors.def").read_text())
        self.assertEqual(self.run_tool("--check")[0], 1)

    def test_json_holds_what_the_entry_says(self):
        self.run_tool()
        entry = json.loads((self.root / "docs/errors/errors.json").read_text())[0]
        self.assertEqual(entry["meaning"], 'It is "too" much\\less.\n\nIt is.')
        self.assertEqual(entry["solutions"], [{"text": "Do this.", "code": {"cpp": "const int x = 1;\n\n// ## no heading"}},
                                              {"text": "Or do that, which goes on here.", "code": {}}])
        self.assertEqual(entry["situations"], ["Here.", "There."])
        self.assertEqual(entry["related"], ["FV-1002"])
        self.assertEqual(entry["failure_class"], {"name": "some class", "page": "docs/errors/index.md#some-class"})

    def test_raising_functions_are_named(self):
        (self.root / "src/base/x.cpp").write_text("Status f() { return Error(ErrorCode::kFirstOne); }\n")
        self.run_tool()
        entry = json.loads((self.root / "docs/errors/errors.json").read_text())[0]
        self.assertEqual(entry["source"], [{"file": "src/base/x.cpp", "line": 0, "function": "f"}])
        self.assertIn("[src/base/x.cpp](../../src/base/x.cpp), `f`", (self.root / "docs/errors/FV-1001.md").read_text())

    def test_untested_errors_are_listed(self):
        (self.root / "tests/base").mkdir(parents=True)
        (self.root / "tests/catalogue").mkdir(parents=True)
        (self.root / "tests/base/x_test.cpp").write_text("EXPECT_EQ(e.code(), ErrorCode::kFirstOne);")
        (self.root / "tests/catalogue/x_test.cpp").write_text('find("FV-1002")')
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(check_errors_tested.main([str(self.root)]), 1)
        self.assertEqual(out.getvalue(), "FV-1002 SecondOne: no test provokes it\n")


class Scan(unittest.TestCase):
    def test_finds_the_outermost_function(self):
        text = """
        #define X(a) { a
        namespace foveal { namespace {
        // ErrorCode::kInComment {
        const char* s = "ErrorCode::kInText {"; char c = '{';
        constexpr std::array kTable{ErrorCode::kInTable};
        template <class Int>
        Result<int> PackedSeqs::impl(std::span<const Int> x) noexcept {
          if (x.empty()) { return Error(ErrorCode::kInIf); }
          const auto g = [&](int y) -> Status { return Error(ErrorCode::kInLambda); };
          switch (x[0]) { case 1: { return Error(ErrorCode::kInCase, {{"a", 1}}); } }
        }
        struct S {
          S(int a) : a_{a}, b_(2) { fail(ErrorCode::kInConstructor); }
          Status run() const override { return Error(ErrorCode::kInMethod); }
          std::pair<int, int> operator()(int) { return Error(ErrorCode::kInCall); }
        };
        }}  // namespace
        Error outside(const char* text = "(") { return Error(ErrorCode::kOutside); }
        """
        self.assertEqual(scan_text(text), [
            ("InTable", ""), ("InIf", "PackedSeqs::impl"), ("InLambda", "PackedSeqs::impl"),
            ("InCase", "PackedSeqs::impl"), ("InConstructor", "S"), ("InMethod", "run"), ("InCall", "operator()"),
            ("Outside", "outside")])

    def test_survives_text_that_is_no_code(self):
        self.assertEqual(scan_text("}}}} ErrorCode::kX {{{ \" '"), [("X", "")])


class MaxSeqlenPage(unittest.TestCase):
    """The page that started it promises a guard and a completion that work where the obvious ones do not."""

    def setUp(self):
        report = Report(gen_errors.ROOT)
        entry = next(e for e in read_entries(gen_errors.ROOT, report) if e.id == "FV-1101")
        self.guard, self.validate = {}, {}
        exec(entry.guard_code["python"], self.guard)  # noqa: S102, our own page
        self.code = entry.validate_code["python"]

    def usable(self, longest, metadata=None):
        return self.guard["is_usable"](metadata, {"sequence_lengths": [1, 2], "max_seqlen": longest})

    def test_the_guard_takes_integers_alone(self):
        class IntLike:
            def __index__(self):
                return 3

        self.assertTrue(self.usable(2) and self.usable(0) and self.usable(IntLike()))
        for value in (True, False, None, 2.0, "2", -1, [2]):
            self.assertFalse(self.usable(value), value)
        self.assertFalse(self.guard["is_usable"](None, {"max_seqlen": 2}))

    def test_the_guard_wants_metadata_with_packed_offsets_and_maximum(self):
        class Metadata:
            packed_indptrs = None
            flashinfer_max_seqlen = 1024

        self.assertFalse(self.guard["is_usable"](Metadata(), {}))
        Metadata.packed_indptrs = [0, 1]
        self.assertTrue(self.guard["is_usable"](Metadata(), {}))
        Metadata.flashinfer_max_seqlen = None
        self.assertFalse(self.guard["is_usable"](Metadata(), {}))

    def test_the_completion_knows_tokens_from_elements(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("NumPy is not installed")
        exec(self.code, self.validate)  # noqa: S102, our own page
        complete = self.validate["complete"]
        offsets = np.array([0, 256, 1280, 1857])
        self.assertEqual(complete({}, offsets)["max_seqlen"], 1024)
        self.assertEqual(complete({}, offsets * 16 * 72, 16 * 72)["max_seqlen"], 1024)
        self.assertEqual(complete({}, [0])["max_seqlen"], 0)
        with self.assertRaises(ValueError):
            complete({}, offsets, 16 * 72)


if __name__ == "__main__":
    unittest.main()
