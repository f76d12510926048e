"""Finds where each error is raised: file and function of every `ErrorCode::kName` under src/. No line numbers, so that
the result changes only when code moves between functions. Text only, no compiler: a scope is named by what stands
before its brace; outside any function the name is empty.
"""
from __future__ import annotations

import pathlib
import re

SUFFIXES = {".hpp", ".cpp", ".cuh", ".cu", ".h"}
# Comments and literals, blanked so that braces and names in them do not count.
NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*",
                   re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"[{};]|ErrorCode::k(\w+)")
NOT_A_NAME = {"if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "noexcept", "requires",
              "alignas", "constexpr", "explicit", "operator", "defined", "static_assert"}


def function_of(header: str) -> str:
    """The name of the function whose body follows `header`; empty where it is no function."""
    header = re.sub(r"^\s*(?:public|private|protected)\s*:", "", header)
    if re.match(r"\s*(?:inline\s+)?namespace\b", header) or "(" not in header:
        return ""
    if re.match(r"\s*(?:typedef\s+|template\s*<.*?>\s*)?(?:class|struct|union|enum)\b[^()]*$", header, re.DOTALL):
        return ""
    before = header.split("(", 1)[0]
    if "=" in before and "operator" not in before:
        return ""  # a variable with an initialiser
    if operator := re.search(r"((?:\w+::)*operator\s*(?:\(\s*\)|[^\s(]+))\s*\(", header):
        return operator[1]
    for match in re.finditer(r"((?:\w+::)*~?\w+)\s*(?:<[^<>()]*>)?\s*\(", header):
        if match[1] not in NOT_A_NAME:
            return match[1]
    return ""


def scan_text(text: str) -> list[tuple[str, str]]:
    """(error name, function) pairs in order of appearance."""
    if "ErrorCode::k" not in text:
        return []
    text = NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    found: list[tuple[str, str]] = []
    scopes: list[tuple[str, int]] = []  # function name (empty for other scopes) and where its header begins
    start = 0
    for token in TOKEN.finditer(text):
        if token[1]:
            found.append((token[1], next((name for name, _ in scopes if name), "")))
            continue
        if token[0] == "{":
            inside = any(name for name, _ in scopes)
            scopes.append(("" if inside else function_of(text[start:token.start()]), start))
        elif token[0] == "}" and scopes:
            _, begin = scopes.pop()
            if re.match(r"\s*[,{]", text[token.end():token.end() + 200]):
                start = begin  # a member's initialiser in braces: the constructor's header goes on
                continue
        start = token.end()
    return found


def raised_in(root: pathlib.Path) -> dict[str, list[tuple[str, str]]]:
    """Error name -> sorted (file, function), each once. The catalogue itself raises nothing."""
    out: dict[str, set[tuple[str, str]]] = {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in SUFFIXES or path.is_relative_to(root / "src" / "catalogue"):
            continue
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # renamed meanwhile
        for name, function in scan_text(text):
            out.setdefault(name, set()).add((path.relative_to(root).as_posix(), function))
    return {name: sorted(places) for name, places in out.items()}
