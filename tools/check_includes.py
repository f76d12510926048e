#!/usr/bin/env python3
"""Who may include whom: one table, checked over every #include of the repository.

    check_includes.py [ROOT]     exit code 1 and one line a breach: file, line, what, which rule

Modules are the folders of src/; a public header belongs to the module named in PUBLIC. Everybody may include the
two bottom layers, base and tensor (tensor not in base). Everything else is downward only, and only what is named.
"""
import pathlib
import re
import sys

# module -> modules whose headers in src/ (and public headers) it may include, beside itself, base and tensor.
MAY_INCLUDE = {
    "base": set(),
    "tensor": set(),
    "attention": set(),
    "catalogue": set(),
    "image": set(),
    "text": set(),
    "io": {"image"},  # the contact sheet draws pictures
    "ops": {"attention"},
    "layers": {"ops", "attention"},
    "backends/*": {"attention"},  # the interface; never another backend
    "backends": {"attention", "backends/*"},  # registry.hpp: the only file that names them
    # api_types: the plain structs of encoder.hpp and context.hpp that the public interface and the model share.
    "model": {"layers", "ops", "attention", "image", "text", "api_types"},
    "runtime": {"model", "layers", "ops", "attention", "image", "api_types"},
    "api": {"runtime", "model", "ops", "attention", "image", "text", "catalogue", "backends", "api_types"},
    "cli": {"io", "catalogue", "public"},
    "server": {"io", "catalogue", "public"},
}

# public header -> the module it belongs to; a public header includes public headers only.
PUBLIC = {
    "foveal/error.hpp": "base",
    "foveal/errors.def": "base",
    "foveal/units.hpp": "base",
    "foveal/tensor_view.hpp": "tensor",
    "foveal/attention/metadata.hpp": "attention",
    "foveal/attention/plan.hpp": "attention",
    "foveal/attention/attention.hpp": "api",
    "foveal/image.hpp": "image",
    "foveal/context.hpp": "api_types",
    "foveal/encoder.hpp": "api_types",
    "foveal/version.hpp": "base",
    "foveal/c_api.h": "api",
}

# Third-party headers, by the folder that may include them (the longest matching folder counts).
THIRD_PARTY = {
    "src/image/codecs": r"jpeglib\.h|jerror\.h|png\.h|webp/\w+\.h",
    "src/image": r"png\.h",
    "src/model": r"nlohmann/json(_fwd)?\.hpp",
    "src/api": r"nlohmann/json(_fwd)?\.hpp",
    "src/io": r"nlohmann/json(_fwd)?\.hpp|zlib\.h",
    "src/catalogue": r"nlohmann/json(_fwd)?\.hpp",
    "src/cli": r"nlohmann/json(_fwd)?\.hpp|CLI/\w+\.hpp|jpeglib\.h|png\.h|webp/\w+\.h|zlib\.h",
    "tests": r"gtest/gtest\.h|gmock/gmock\.h|nlohmann/json(_fwd)?\.hpp|jpeglib\.h|png\.h|webp/\w+\.h|zlib\.h",
    "fuzz": r"gtest/gtest\.h|nlohmann/json(_fwd)?\.hpp",
}
# System headers. POSIX and the like belong where the machine is met: files, processes, the terminal.
POSIX = r"(sys|linux|asm)/\w+\.h|fcntl\.h|unistd\.h|spawn\.h|signal\.h|pthread\.h|sched\.h|dirent\.h|fnmatch\.h|glob\.h|termios\.h|poll\.h"
POSIX_IN = ("src/base", "src/tensor", "src/image", "src/io", "src/runtime", "src/cli", "tests", "fuzz")
# setjmp.h: libjpeg's and libpng's way to report an error.
SETJMP_IN = ("src/image",)
INTRINSICS = r"\w*intrin\.h|cpuid\.h"
INTRINSICS_IN = ("src/base", "src/backends/cpu", "src/ops", "src/image", "src/layers")
# What the C++20 library of g++ 12 and clang 14 has in common; not: ranges (views), source_location, format,
# expected, mdspan. iostream: the library never prints, its front ends and tests may.
STANDARD = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
    climits clocale cmath compare complex concepts condition_variable csetjmp csignal cstdarg cstddef cstdint cstdio
    cstdlib cstring ctime deque exception filesystem forward_list fstream functional future initializer_list iomanip
    ios iosfwd iterator latch limits list locale map memory memory_resource mutex new numbers numeric optional
    ostream istream queue random ratio regex semaphore set shared_mutex span sstream stack stdexcept stop_token
    streambuf string string_view system_error thread tuple type_traits typeindex typeinfo unordered_map
    unordered_set utility valarray variant vector version""".split())
STANDARD_FRONT_END = {"iostream"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def module_of(path):
    """src/backends/cpu/x.cpp -> backends/cpu; src/model/families/y.cpp -> model."""
    parts = path.parts
    if parts[1] == "backends" and len(parts) > 3:
        return "backends/" + parts[2]
    return parts[1]


def allowed(module):
    key = "backends/*" if module.startswith("backends/") else module
    bottom = {"base"} if module in ("base", "tensor") else {"base", "tensor"}
    return MAY_INCLUDE[key] | bottom


def under(path, folders):
    text = path.as_posix()
    return any(text.startswith(folder + "/") for folder in folders)


def third_party_rule(path):
    best = max((f for f in THIRD_PARTY if under(path, [f])), key=len, default=None)
    return THIRD_PARTY[best] if best else r"(?!)"


def check_project_include(path, target, root):
    """target as written, e.g. tensor/dtype.hpp or foveal/error.hpp -> a sentence, or None."""
    top = path.parts[0]
    if target.startswith("foveal/"):
        owner = PUBLIC.get(target)
        if owner is None:
            return f"{target} has no row in PUBLIC of tools/check_includes.py"
        if top != "src":
            return None
        module = module_of(path)
        rights = allowed(module)
        if "public" in rights or owner == module or owner in rights:
            return None
        if module == "api" and owner in ("api", "api_types"):
            return None
        return f"{module} may not include {target}, which belongs to {owner}"
    if top == "include":
        return f"a public header includes public headers only, not {target}"
    if top == "examples":
        return f"an example shows the public headers, not {target}"
    if not (root / "src" / target).exists():
        # A neighbour by its bare name, a test's helper, a generated list: never another module.
        beside = path.parent / target
        if (root / beside).exists() or (top in ("tests", "fuzz") and (root / "tests" / target).exists()):
            return None
        return f'"{target}" is neither under src/ nor beside this file'
    if top != "src":
        return None  # tests and fuzzers look inside
    module = module_of(path)
    owner = module_of(pathlib.Path("src") / target)
    rights = allowed(module)
    if owner == module or owner in rights:
        return None
    if owner.startswith("backends/") and "backends/*" in rights:
        return None
    return f"{module} may not include {target} ({module} -> {', '.join(sorted(rights)) or 'nothing'})"


def check_system_include(path, target):
    if target in STANDARD:
        return None
    if target in STANDARD_FRONT_END:
        if under(path, ("src/cli", "src/server", "tests", "examples", "fuzz")):
            return None
        return f"<{target}> in library code: the library never prints"
    for pattern, folders, what in (
        (POSIX, POSIX_IN, "POSIX"),
        (INTRINSICS, INTRINSICS_IN, "intrinsics"),
        (r"setjmp\.h", SETJMP_IN, "setjmp"),
    ):
        if re.fullmatch(pattern, target):
            return None if under(path, folders) else f"<{target}>: {what} headers belong in {', '.join(folders)}"
    if re.fullmatch(third_party_rule(path), target):
        return None
    return f"<{target}> is not allowed in {path.parent.as_posix()}"


def check_file(path, root):
    for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        bracket, target = match.groups()
        is_ours = bracket == '"' or target.startswith("foveal/")
        problem = check_project_include(path, target, root) if is_ours else check_system_include(path, target)
        if problem:
            yield f"{path.as_posix()}:{number}: {problem}"


def sources(root):
    for top in ("include", "src", "tests", "fuzz", "examples", "bench"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h", ".cu", ".cuh") and path.is_file():
                if "compile_fail" not in path.parts and "consumer" not in path.parts:
                    yield path.relative_to(root)


def check(root):
    return [problem for path in sources(root) for problem in check_file(path, root)]


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems = check(where)
    print("\n".join(problems) or "includes: every line follows the table")
    sys.exit(1 if problems else 0)
