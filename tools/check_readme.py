#!/usr/bin/env python3
"""Compiles and runs what README.md shows, so that it cannot rot. Needs a built build/release.

    check_readme.py [--build BUILD]

A fence is checked when a comment stands above it:
    <!-- check: frame NAME -->  C++ statements, put into the frame NAME below, compiled, linked, run
    <!-- check: run -->         shell: each line runs in a scratch folder with `model` (a small model folder), `photos`
                                (a few pictures, one of them query.png) and `foveal` on the path
Links to files of the repository must exist. Exit code 1 and the output where something fails.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"<!-- check: (\w+)(?: (\w+))? -->\n```\w*\n(.*?)\n```", re.S)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
MODEL = "tests/golden/models/dinov2_registers_swiglu/MODEL"
PICTURES = ("tests/golden/units/decode",)

FRAMES = {
    "attention": r"""
#include <foveal/attention/attention.hpp>
#include <foveal/attention/metadata.hpp>
#include <foveal/attention/plan.hpp>
#include <foveal/context.hpp>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

int main() {
  const auto context = foveal::Context::create().value();
  const std::vector<std::int32_t> seqlens{256, 1024, 577}, offsets{0, 256, 1280, 1857};
  const foveal::ConstTensorView lengths(seqlens.data(), foveal::DType::kI32, {3});
  const foveal::ConstTensorView cu_seqlens(offsets.data(), foveal::DType::kI32, {4});
  std::vector<float> values(1857 * 16 * 72), result(values.size(), NAN);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 101) / 101.0F;
  }
  const foveal::ConstTensorView q(values.data(), foveal::DType::kF32, {1857, 16, 72}), k = q, v = q;
  const foveal::TensorView out(result.data(), foveal::DType::kF32, {1857, 16, 72});
@CODE@
  if (failed || failed.error().id() != "FV-1101" || failed.error().fix().find("max_seqlen=1024") == std::string::npos) {
    std::puts("the failing call should be FV-1101 with max_seqlen=1024 in its fix");
    return 1;
  }
  if (!fixed || !best || std::isnan(result.back())) {
    std::puts("a mended call failed");
    return 1;
  }
}
""",
}


def run_frame(name, code, build):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "readme.cpp")
        program = os.path.join(folder, "readme")
        with open(source, "w", encoding="ascii") as out:
            out.write(FRAMES[name].replace("@CODE@", code))
        archives = sorted(str(p) for p in (build / "src").rglob("libfv_*.a"))
        attention = [a for a in archives if re.search(r"libfv_(base|tensor|attention|backend\w*|context|cpu\w*)", a)]
        # foveal_attention's promise: these archives are enough, no third-party library.
        subprocess.run(["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", source, "-o",
                        program, "-Wl,--start-group", *attention, "-Wl,--end-group", "-pthread"], check=True)
        subprocess.run([program], check=True)


def run_shell(code, build):
    binary = (build / "src/cli").resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / MODEL, os.path.join(folder, "model"))
        photos = os.path.join(folder, "photos")
        os.mkdir(photos)
        found = [p for place in PICTURES for p in sorted((ROOT / place).glob("rgb*.png"))
                 + sorted((ROOT / place).glob("*.jpg"))][:6]
        for picture in found:
            shutil.copy(picture, photos)
        shutil.copy(found[0], os.path.join(photos, "query.png"))
        environment = dict(os.environ, PATH=f"{binary}:{os.environ['PATH']}")
        for line in code.splitlines():
            done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                raise SystemExit(f"README: exit code {done.returncode} from: {line}\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    args = parser.parse_args()
    checked = 0
    for page in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/architecture.md", "docs/stability.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for link in LINK.findall(text):
            if not ((ROOT / page).parent / link).exists():
                raise SystemExit(f"{page}: the link {link} leads nowhere")
        for kind, name, code in FENCE.findall(text):
            if kind == "frame":
                run_frame(name, code, args.build)
            else:
                run_shell(code, args.build)
            checked += 1
    if checked < 2:
        raise SystemExit("README.md has lost its checked code")
    print(f"    {checked} pieces of code run, all links lead somewhere")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"README: {error}")
