#!/usr/bin/env python3
"""The cheap rules about sources, and check_includes.py with them.

    check_sources.py             exit code 1 and one line a breach
    check_sources.py --sizes     the longest files

Rules: ASCII; header comment; `#pragma once`; TODO names an issue; one word a thing (WORDS); the library never
prints, exits or reads the environment; no mutable static; test names without underscores; a README of at most 15
lines in each folder of src/; at most 500 lines a file (700 a test) unless its header says why ("Long because ...").
"""
import pathlib
import re
import sys

import check_includes

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 500
MAX_TEST_LINES = 700
MAX_README_LINES = 15

# banned identifier -> the word this project uses
WORDS = {
    r"\b(sm_scale|attn_scale|scaling)\b": "softmax_scale",
    r"\b(n_heads?|nheads?|num_attention_head)\b": "num_heads",
    r"\b(n_kv_heads?|num_key_value_heads)\b": "num_kv_heads",
    r"\b(d_k|head_size|hdim)\b": "head_dim",
    r"\b(seq_lens|seqlens_list)\b": "seqlens",
    r"\b(cu_lens|cumulative_lengths|offsets_tokens)\b": "cu_seqlens",
}
# Where other projects' words are data: messages and config keys.
WORDS_FREE = ("src/catalogue", "src/model", "tests", "errors")

LIBRARY_BANS = (
    (r"\bstd::c(out|err|log)\b|\b(printf|fprintf|puts|perror)\s*\(", "the library never prints"),
    (r"\b(std::)?(exit|_exit|quick_exit|terminate)\s*\(", "the library never exits"),
    (r"\bgetenv\s*\(", "environment variables are read in the front ends only"),
    (r"^\s*static (?!const|constexpr|_assert|inline const)[\w:<>, ]+ \w+( = .*|\{.*)?;", "no mutable static"),
)
# The one place that aborts (and says so first), for our own bugs and in debug builds alone.
ABORTS = "src/base/check.hpp"
FRONT_ENDS = ("src/cli", "src/server")


def strip_comments_and_strings(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", "", line)


def check_cpp(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = text.splitlines()
    name = path.as_posix()
    # x.cpp beside x.hpp: the header's comment speaks for both.
    has_header = path.suffix == ".cpp" and (ROOT / path).with_suffix(".hpp").exists()
    if not has_header and (not lines or not lines[0].startswith("//")):
        yield f"{name}:1: no header comment that says what the file is, with shapes and units"
    # -inl: included once per instruction set, on purpose more than once in a program.
    if path.suffix in (".hpp", ".cuh") and "-inl" not in path.stem and "#pragma once" not in text:
        yield f"{name}:1: no #pragma once"
    header = "\n".join(line for line in lines[:12] if line.startswith("//"))
    limit = MAX_TEST_LINES if name.startswith("tests/") else MAX_LINES
    if len(lines) > limit and "Long because" not in header:
        yield f"{name}:{len(lines)}: {len(lines)} lines; split it, or say why in its header (\"Long because ...\")"
    library = name.startswith(("src/", "include/")) and not name.startswith(FRONT_ENDS) and name != ABORTS
    for number, line in enumerate(lines, 1):
        for match in re.finditer(r"\bTODO\b(?!\(#\d+\):)|\b(FIXME|XXX)\b", line):
            yield f"{name}:{number}: {match.group(0)} without an issue: TODO(#12): ..."
        code = strip_comments_and_strings(line)
        if library:
            for pattern, why in LIBRARY_BANS:
                if re.search(pattern, code):
                    yield f"{name}:{number}: {why}: {line.strip()}"
        if not name.startswith(WORDS_FREE):
            for pattern, word in WORDS.items():
                match = re.search(pattern, code)
                if match:
                    yield f"{name}:{number}: {match.group(0)}: the word here is {word}"
        match = re.match(r"TEST(_F|_P)?\((\w+), *(\w+)\)", line)
        if match and "_" in match.group(2) + match.group(3):
            yield f"{name}:{number}: a test name states behaviour in CamelCase, without underscores"


def check_ascii(path):
    for number, line in enumerate((ROOT / path).read_bytes().split(b"\n"), 1):
        if not line.isascii():
            yield f"{path.as_posix()}:{number}: not ASCII"


def check_readmes():
    folders = [p for p in (ROOT / "src").iterdir() if p.is_dir()]
    folders += [p for p in (ROOT / "src/backends").iterdir() if p.is_dir()]
    for folder in sorted(folders):
        if not any(folder.glob("*.cpp")) and not any(folder.glob("*.hpp")):
            continue
        readme = folder / "README.md"
        where = folder.relative_to(ROOT).as_posix()
        if not readme.exists():
            yield f"{where}: no README.md (what it is, what it may include, where to start reading)"
        elif len(readme.read_text().splitlines()) > MAX_README_LINES:
            yield f"{where}/README.md: more than {MAX_README_LINES} lines"


def main():
    files = list(check_includes.sources(ROOT))
    if "--sizes" in sys.argv[1:]:
        sizes = sorted(((len((ROOT / f).read_text().splitlines()), f.as_posix()) for f in files), reverse=True)
        print("\n".join(f"{count:5d} {name}" for count, name in sizes[:25]))
        return 0
    problems = check_includes.check(ROOT)
    for path in files:
        problems += check_cpp(path)
        problems += check_ascii(path)
    problems += check_readmes()
    print("\n".join(problems) or f"    {len(files)} files, no breach")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
