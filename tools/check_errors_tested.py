#!/usr/bin/env python3
"""Lists the errors that no test provokes: those of which no file under tests/ names `ErrorCode::kName` or `FV-nnnn`.
Exit code 1 where there are any. Ids 9xxx are exempt (no input can reach them), and so are the tests of the catalogue
itself, which name ids without provoking anything.
"""
from __future__ import annotations

import pathlib
import re
import sys

from error_entries import Report, read_entries

ROOT = pathlib.Path(__file__).resolve().parent.parent
MENTION = re.compile(r"ErrorCode::k(\w+)|\b(FV-\d{4})\b")
SUFFIXES = {".cpp", ".hpp", ".cu", ".py", ".sh"}


def mentioned(root: pathlib.Path) -> set[str]:
    """Names and ids in the tests."""
    found: set[str] = set()
    for path in (root / "tests").rglob("*"):
        if path.suffix in SUFFIXES and not path.is_relative_to(root / "tests" / "catalogue"):
            for match in MENTION.finditer(path.read_text(encoding="utf-8", errors="replace")):
                found.add(match[1] or match[2])
    return found


def main(argv: list[str]) -> int:
    root = pathlib.Path(argv[0]).resolve() if argv else ROOT
    report = Report(root)
    entries = read_entries(root, report)
    if report.problems:
        print("\n".join(report.problems))
        return 1
    found = mentioned(root)
    missing = [e for e in entries if e.number < 9000 and e.name not in found and e.id not in found]
    for e in missing:
        print(f"{e.id} {e.name}: no test provokes it")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
