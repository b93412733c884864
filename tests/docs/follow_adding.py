"""Follows docs/adding/kernel.md: makes its changes in a copy of gpu/ and compiles what they touch.

    follow_adding.py ROOT CXX NVCC PTXAS

Every "At the end of `FILE`:" and the indented block below it is added to the copy; then each changed .cu is compiled and
assembled as the build does it, the list of variants is compiled, and each new entry must be there with the declaration and
the tile that its line gives, and be named on the page's commands.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

STEP = re.compile(r"^At the end of `([^`]+)`:\n\n((?:    .*\n|\n)+)", re.MULTILINE)
PRINT = """#include <cstdio>
#include "gpu/launch/embedded_images.h"
#include "gpu/launch/embedded_ptx.h"
#include "gpu/launch/variant.h"
namespace moe4::gpu {
std::string_view embedded_ptx(std::string_view) { return {}; }
const std::vector<EmbeddedImage>& all_embedded_images() {
  static const std::vector<EmbeddedImage> none;
  return none;
}
}
int main() {
  for (const moe4::gpu::Variant& v : moe4::gpu::variants()) {
    std::printf("%.*s %d\\n%.*s\\n", int(v.name.size()), v.name.data(), v.tile.rows, int(v.declaration.size()), v.declaration.data());
  }
}
"""


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def main(root, cxx, nvcc, ptxas):
    page = (root / "docs/adding/kernel.md").read_text()
    steps = STEP.findall(page)
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        shutil.copytree(root / "gpu", copy / "gpu")
        entries = []
        for name, block in steps:
            text = "\n".join(line[4:] for line in block.rstrip().split("\n")) + "\n"
            with (copy / name).open("a") as file:
                file.write("\n" + text)
            entries += re.findall(r"MOE4_\w*VARIANT\((\w+),", text)
        if not entries:
            sys.exit("the page adds no variant")
        for name, _ in steps:
            if not name.endswith(".cu"):
                continue
            run(nvcc, "-ptx", "-arch=compute_90a", "-std=c++17", "--fmad=false", "-ftz=false", "-I.", name, "-o", "a.ptx", cwd=copy)
            log = run(ptxas, "-v", "-arch=sm_90a", "a.ptx", "-o", "a.cubin", cwd=copy)
            ptx = (copy / "a.ptx").read_text()
            for entry in entries:
                if f".entry {entry}(" not in ptx:
                    sys.exit(f"{name} has no entry {entry}")
            if re.search(r"[1-9][0-9]* bytes spill", log):
                sys.exit(f"{name} spills:\n{log}")
        (copy / "print.cc").write_text(PRINT)
        launch = ["variants", "plan", "embedded_images", "arguments", "tensor_maps"]
        sources = ["print.cc", *(f"gpu/launch/{name}.cc" for name in launch)]
        run(cxx, "-std=c++20", "-O0", "-I.", *sources, "-o", "print", cwd=copy)
        listed = run(copy / "print", cwd=copy).split("\n")
    for entry in entries:
        rows = re.search(r"_m([0-9]+)", entry)
        first = f"{entry} {rows.group(1) if rows else 0}"
        if first not in listed:
            sys.exit(f"no variant '{first}' among\n" + "\n".join(listed))
        if f'"name": "{entry}"' not in listed[listed.index(first) + 1]:
            sys.exit(f"{entry} has another declaration")
        if f"./dev gate --tier smoke --subject {entry}" not in page:
            sys.exit(f"the page does not judge {entry}")
    print(f"{len(entries)} variants added, compiled and listed")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:5])
