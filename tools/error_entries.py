"""Reads and validates errors/FV-nnnn.md, the one source of the error catalogue (docs/errors/ and others follow from it).

An entry is front matter (id, name, ... as in FRONT_KEYS) and fixed headings (HEADINGS). A file without headings is a
draft: its code can be used at once, but a check refuses it until its prose is written.
Every refusal names file and line.
"""
from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import re

FRONT_KEYS = ("id", "name", "status", "since", "kind", "failure_class", "message", "fix", "fields", "related",
              "aliases")
FRONT_OPTIONAL = ("related", "aliases")
# The heading, and whether an entry must have it.
HEADINGS = {"What it means": True, "Solutions": True, "Example": False, "Validate before calling": False,
            "Type guard": False, "Prevention": False, "When it happens": True}
LANGUAGES = ("cpp", "python", "shell", "json", "text")
FIELD_TYPES = ("int", "real", "text")
ALIAS_KEYS = ("project", "kind", "message", "keys", "repo", "path", "line", "commit", "url", "version", "date")
KIND_OF_RANGE = {1: "input", 2: "unsupported", 3: "model", 4: "image", 5: "limit", 6: "device", 9: "internal"}
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclasses.dataclass
class Field:
    name: str
    type: str
    unit: str
    meaning: str
    detail: bool  # in the data only, in neither sentence


@dataclasses.dataclass
class Solution:
    text: str
    code: dict[str, str]  # language -> text


@dataclasses.dataclass
class Entry:
    path: pathlib.Path
    front: dict[str, str]
    line_of: dict[str, int]
    fields: list[Field]
    related: list[str]
    aliases: list[dict[str, str]]
    draft: bool = True
    meaning: str = ""
    solutions: list[Solution] = dataclasses.field(default_factory=list)
    example: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)  # before, after -> language, text
    validate_text: str = ""
    validate_code: dict[str, str] = dataclasses.field(default_factory=dict)
    guard_code: dict[str, str] = dataclasses.field(default_factory=dict)
    prevention: list[str] = dataclasses.field(default_factory=list)
    trigger: str = ""
    situations: list[str] = dataclasses.field(default_factory=list)
    source: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # file, function; filled by the generator

    @property
    def id(self) -> str:
        return self.front.get("id", "")

    @property
    def name(self) -> str:
        return self.front.get("name", "")

    @property
    def number(self) -> int:
        return int(self.id[3:]) if re.fullmatch(r"FV-\d{4}", self.id) else 0

    @property
    def key(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()[:16]


class Report:
    """Collects refusals, so that one run shows all of them."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.problems: list[str] = []

    def add(self, path: pathlib.Path, line: int, text: str) -> None:
        self.problems.append(f"{path.relative_to(self.root)}:{line}: {text}")


def read_entries(root: pathlib.Path, report: Report) -> list[Entry]:
    classes = read_classes(root, report)
    entries = [read_entry(path, report) for path in sorted((root / "errors").glob("FV-*.md"))]
    check_set(entries, set(classes), report)
    return entries


def read_classes(root: pathlib.Path, report: Report) -> dict[str, str]:
    """errors/failure-classes.md: a heading and its background text for each failure class."""
    path = root / "errors" / "failure-classes.md"
    if not path.exists():
        report.add(path, 1, "is missing: it names the failure classes")
        return {}
    out: dict[str, str] = {}
    name = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            name = line[3:].strip()
            if name in out:
                report.add(path, number, f"failure class '{name}' is there twice")
            out[name] = ""
        elif name:
            out[name] += line + "\n"
    return {name: text.strip() for name, text in out.items()}


def read_entry(path: pathlib.Path, report: Report) -> Entry:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    entry = Entry(path, {}, {}, [], [], [])
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            report.add(path, number, "has characters other than ASCII")
    ends = [i for i, line in enumerate(lines) if line == "---"]
    if not lines or lines[0] != "---" or len(ends) < 2:
        report.add(path, 1, "has no front matter between two lines of ---")
        return entry
    read_front(entry, lines[1:ends[1]], report)
    read_body(entry, lines, ends[1] + 1, report)
    check_front(entry, report)
    return entry


def read_front(entry: Entry, lines: list[str], report: Report) -> None:
    block = ""
    for number, line in enumerate(lines, 2):
        item = re.fullmatch(r"  - (\w+): ?(.*)", line)
        more = re.fullmatch(r"    (\w+): ?(.*)", line)
        top = re.fullmatch(r"(\w+):(?: (.*))?", line)
        if item and block == "fields":
            read_field(entry, number, item[1], item[2], report)
        elif item and block == "aliases":
            entry.aliases.append({})
            read_alias(entry, number, item[1], item[2], report)
        elif more and block == "aliases" and entry.aliases:
            read_alias(entry, number, more[1], more[2], report)
        elif top:
            block, value = top[1], (top[2] or "").strip()
            if block not in FRONT_KEYS:
                report.add(entry.path, number, f"unknown key '{block}'")
            if block in entry.front:
                report.add(entry.path, number, f"key '{block}' is there twice")
            entry.front[block] = value
            entry.line_of[block] = number
            if block == "related":
                entry.related = [part.strip() for part in value.split(",") if part.strip()]
        else:
            report.add(entry.path, number, f"cannot be read: '{line}'")


def read_field(entry: Entry, number: int, name: str, spec: str, report: Report) -> None:
    head, _, meaning = spec.partition(";")
    detail = head.rstrip().endswith("(detail)")
    kind, _, unit = head.replace("(detail)", "").partition(",")
    if kind.strip() not in FIELD_TYPES:
        report.add(entry.path, number, f"field '{name}' has the type '{kind.strip()}', not one of {', '.join(FIELD_TYPES)}")
    if any(field.name == name for field in entry.fields):
        report.add(entry.path, number, f"field '{name}' is there twice")
    entry.line_of["field " + name] = number
    entry.fields.append(Field(name, kind.strip(), unit.strip(), meaning.strip(), detail))


def read_alias(entry: Entry, number: int, name: str, value: str, report: Report) -> None:
    if name not in ALIAS_KEYS:
        report.add(entry.path, number, f"unknown key '{name}' of an alias")
    if name in entry.aliases[-1]:
        report.add(entry.path, number, f"key '{name}' of an alias is there twice")
    entry.aliases[-1][name] = value.strip()
    if name == "keys":
        for key in value.split(","):
            if not re.fullmatch(r"[0-9a-f]{16}", key.strip()):
                report.add(entry.path, number, f"alias key '{key.strip()}' is not 16 hex digits")


# A block of a section's body: ("text", words), ("item", words) or ("code", language, text), with its line.
def blocks_of(entry: Entry, lines: list[tuple[int, str]], report: Report) -> list[tuple]:
    out: list[tuple] = []
    fence: list[str] | None = None
    language, indent = "", 0
    open_text = False
    for number, line in lines:
        mark = re.fullmatch(r"( *)```(\w*)", line)
        if fence is not None:
            if mark and not mark[2]:
                out.append(("code", language, "\n".join(fence), number))
                fence = None
            else:
                fence.append(line[indent:] if not line[:indent].strip() else line)
        elif mark:
            language, indent, fence, open_text = mark[2], len(mark[1]), [], False
            if language not in LANGUAGES:
                report.add(entry.path, number, f"code fence has the language '{language}', not one of {', '.join(LANGUAGES)}")
        elif not line.strip():
            open_text = False
        elif item := re.fullmatch(r"(?:\d+\.|-) (.*)", line):
            out.append(("item", item[1].strip(), number))
            open_text = True
        elif open_text:
            last = out.pop()
            out.append((last[0], last[1] + " " + line.strip(), last[2]))
        else:
            out.append(("text", line.strip(), number))
            open_text = True
    if fence is not None:
        report.add(entry.path, lines[-1][0], "code fence is not closed")
    return out


def read_body(entry: Entry, lines: list[str], start: int, report: Report) -> None:
    sections: dict[str, list[tuple[int, str]]] = {}
    heading, fenced, order = "", False, list(HEADINGS)
    for number, line in enumerate(lines[start:], start + 1):
        if re.match(r" *```", line):
            fenced = not fenced
        found = None if fenced else re.fullmatch(r"(##|###) (.*)", line)
        if found and found[1] == "##":
            previous, heading = heading, found[2].strip()
            if heading not in HEADINGS:
                report.add(entry.path, number, f"unknown heading '{heading}'")
            elif heading in sections:
                report.add(entry.path, number, f"heading '{heading}' is there twice")
            elif previous in HEADINGS and order.index(heading) < order.index(previous):
                report.add(entry.path, number, f"heading '{heading}' comes after '{previous}'")
            entry.line_of["## " + heading] = number
            sections[heading] = []
        elif heading:
            sections[heading].append((number, line))
        elif line.strip():
            report.add(entry.path, number, "text before the first heading")
    entry.draft = not sections
    if entry.draft:
        return
    for name, mandatory in HEADINGS.items():
        if mandatory and name not in sections:
            report.add(entry.path, len(lines), f"heading '{name}' is missing")
    for name, content in sections.items():
        if name in HEADINGS:
            fill_section(entry, name, content, report)


def fill_section(entry: Entry, name: str, lines: list[tuple[int, str]], report: Report) -> None:
    line = entry.line_of["## " + name]
    parts = split_parts(entry, name, lines, report)
    blocks = blocks_of(entry, parts.get("", []), report)
    if not any(text.strip() for _, text in lines):
        report.add(entry.path, line, f"'{name}' is empty")
    elif name == "What it means":
        entry.meaning = "\n\n".join(block[1] for block in blocks if block[0] == "text")
        refuse_others(entry, name, blocks, ("text",), report)
    elif name == "Solutions":
        for block in blocks:
            if block[0] == "item":
                entry.solutions.append(Solution(block[1], {}))
            elif block[0] == "code" and entry.solutions:
                add_code(entry, entry.solutions[-1].code, block, report)
            else:
                report.add(entry.path, block[-1], "a solution is '1. one sentence' and its code")
    elif name in ("Validate before calling", "Type guard"):
        code: dict[str, str] = {}
        words = " ".join(block[1] for block in blocks if block[0] == "text")
        for block in blocks:
            if block[0] == "code":
                add_code(entry, code, block, report)
        refuse_others(entry, name, blocks, ("code",) if name == "Type guard" else ("text", "code"), report)
        if name == "Type guard":
            entry.guard_code = code
        else:
            entry.validate_text, entry.validate_code = words, code
        if not code:
            report.add(entry.path, line, f"'{name}' has no code")
    elif name == "Prevention":
        entry.prevention = [block[1] for block in blocks if block[0] == "item"]
        refuse_others(entry, name, blocks, ("item",), report)
    elif name == "Example":
        for part in ("Before", "After"):
            code_blocks = [b for b in blocks_of(entry, parts.get(part, []), report) if b[0] == "code"]
            if len(code_blocks) != 1:
                report.add(entry.path, line, f"'Example' needs one code fence under '### {part}'")
            else:
                entry.example[part.lower()] = (code_blocks[0][1], code_blocks[0][2])
    elif name == "When it happens":
        entry.trigger = " ".join(b[1] for b in blocks_of(entry, parts.get("Trigger", []), report))
        entry.situations = [b[1] for b in blocks_of(entry, parts.get("Situations", []), report) if b[0] == "item"]
        if not entry.trigger or not entry.situations:
            report.add(entry.path, line, "'When it happens' needs '### Trigger' and a list under '### Situations'")


def split_parts(entry: Entry, section: str, lines: list[tuple[int, str]], report: Report) -> dict:
    allowed = {"Example": ("Before", "After"), "When it happens": ("Trigger", "Situations")}.get(section, ())
    parts: dict[str, list[tuple[int, str]]] = {}
    name, fenced = "", False
    for number, line in lines:
        if re.match(r" *```", line):
            fenced = not fenced
        if not fenced and line.startswith("### "):
            name = line[4:].strip()
            if name not in allowed:
                report.add(entry.path, number, f"unknown heading '{name}' under '{section}'")
        else:
            parts.setdefault(name, []).append((number, line))
            if not name and allowed and line.strip():
                report.add(entry.path, number, f"'{section}' begins with '### {allowed[0]}'")
    return parts


def refuse_others(entry: Entry, name: str, blocks: list[tuple], kinds: tuple, report: Report) -> None:
    words = {"text": "paragraphs", "item": "list items", "code": "code"}
    for block in blocks:
        if block[0] not in kinds:
            report.add(entry.path, block[-1], f"'{name}' holds {' and '.join(words[k] for k in kinds)} only")


def add_code(entry: Entry, code: dict[str, str], block: tuple, report: Report) -> None:
    if block[1] in code:
        report.add(entry.path, block[-1], f"a second code fence in {block[1]} for one thing")
    code[block[1]] = block[2]


def check_front(entry: Entry, report: Report) -> None:
    front, at = entry.front, lambda key: entry.line_of.get(key, 1)
    for key in FRONT_KEYS:
        optional = key in FRONT_OPTIONAL or (entry.draft and key == "failure_class")
        if not optional and key not in front:
            report.add(entry.path, 1, f"key '{key}' is missing")
    if front.get("id") and front["id"] != entry.path.stem:
        report.add(entry.path, at("id"), f"id {front['id']} does not match the file name")
    if not entry.number:
        report.add(entry.path, at("id"), "id is not FV- and four digits")
    elif front.get("kind") != KIND_OF_RANGE.get(entry.number // 1000):
        report.add(entry.path, at("kind"), f"kind of ids {entry.id[:4]}xxx is '{KIND_OF_RANGE.get(entry.number // 1000)}'")
    for key, form in (("name", r"([A-Z][a-z0-9]+)+"), ("status", r"[45]\d\d"), ("since", r"\d+\.\d+\.\d+")):
        if key in front and not re.fullmatch(form, front[key]):
            report.add(entry.path, at(key), f"{key} '{front[key]}' does not have the form {form}")
    used = set()
    for key in ("message", "fix"):
        for name in PLACEHOLDER.findall(front.get(key, "")):
            used.add(name)
            if not any(field.name == name for field in entry.fields):
                report.add(entry.path, at(key), f"{key} names the field '{name}', which is not in fields")
    for field in entry.fields:
        if field.name not in used and not field.detail:
            report.add(entry.path, at("field " + field.name),
                       f"field '{field.name}' is in neither message nor fix: use it or mark it (detail)")
        if not entry.draft and not field.meaning:
            report.add(entry.path, at("field " + field.name), f"field '{field.name}' has no meaning after ';'")


def check_set(entries: list[Entry], classes: set[str], report: Report) -> None:
    by_id = {entry.id: entry for entry in entries}
    names: dict[str, Entry] = {}
    keys: dict[str, Entry] = {}
    previous = 0
    for entry in entries:
        at = lambda key: entry.line_of.get(key, 1)  # noqa: B023, used at once
        if entry.number <= previous:
            report.add(entry.path, at("id"), f"id {entry.id} does not ascend")
        previous = max(previous, entry.number)
        if entry.name in names:
            report.add(entry.path, at("name"), f"name {entry.name} is that of {names[entry.name].id} too")
        names.setdefault(entry.name, entry)
        alias_keys = [k.strip() for a in entry.aliases for k in a.get("keys", "").split(",") if k.strip()]
        for key in [entry.key] + alias_keys:
            if keys.setdefault(key, entry) is not entry:
                report.add(entry.path, at("aliases"), f"key {key} is that of {keys[key].id} too")
        if "failure_class" in entry.front and entry.front["failure_class"] not in classes:
            report.add(entry.path, at("failure_class"),
                       f"failure class '{entry.front['failure_class']}' is not in errors/failure-classes.md")
        for other in entry.related:
            if other == entry.id or other not in by_id:
                report.add(entry.path, at("related"), f"related {other} does not exist")
            elif entry.id not in by_id[other].related and not by_id[other].draft:
                report.add(entry.path, at("related"), f"related {other} does not name {entry.id} in turn")
