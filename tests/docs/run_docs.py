"""Runs every command that docs show and compares what they print.

    run_docs.py MOE4 ROOT [PAGE | -PAGE]      all pages, one, or all but one

A command is an indented line of README.md or docs/**/*.md that begins with moe4, ./dev, python3, sha256sum, cc, pip or
./PROGRAM. The indented lines below it, up to the next command or the end of the block, are its output: they must be the
first lines that it prints, or all of them; a line "…" stands for any lines, "…" inside of a line for anything. Blanks at ends of lines don't count. Commands
of a page run one after another in one folder that holds links to fixtures/, docs/, tests/ and oracle/, and to the build as
build/release, as in a clone. What can't run here stands in
NOT_RUN, with the reason; a command of NOT_RUN that no page shows any more is an error, so that the list stays short.

python3 is that of the first folder of MOE4_VENVS that is there. Without the CUDA kernels, NumPy or PyTorch the commands that
need them are left out, and if nothing is wrong the exit code is 77, CTest's "skipped"; with MOE4_GPU=1 and MOE4_PYTHON=1, as
in CI, to leave one out is an error.

In tables and sentences, every `moe4 COMMAND … --option` must name a command and options that its --help knows.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND = re.compile(r"^ {4,8}((?:moe4|\./dev|python3|sha256sum|cc|pip|\./[a-z_]+) .*)$")
NOT_RUN = {
    "moe4 run 'op=expert_linear weights=mxfp4 tokens=1 experts=1 top_k=1 in=32 out=1 dtype=bf16 fill=exact24 routing=uniform "
    "seed=0x3' --subject mxfp4_linear_thread_bf16": "the report of a kernel with a fault, which no build has",
    "./dev gate": "minutes; what it runs is tested by gate tests",
    "./dev test": "this test is part of it",
    "./dev build": "what is tested here is built",
    "./dev list subjects": "passed on to moe4, whose own commands are run",
    "./dev build dev": "another preset",
    "./dev run 'op=grouped_masked weights=int4 tokens=5": "a variant that no build has; tests/docs/follow_adding.py",
    "./dev format": "changes files",
    "pip install .": "tests/python installs by pip",
    "moe4 gen --checkpoint": "needs a checkpoint; tests/oracle/checkpoint_cli_test.cc has one",
    "moe4 reference case.safetensors --out norm.safetensors": "the case above it",
    "moe4 check case.safetensors actual.safetensors": "the case above it",
    "moe4 fixtures hardware ptx NAME": "a form, its words stand for yours; tests/oracle/hardware_probe_test.cc",
    "moe4 fixtures hardware record": "a form, its words stand for yours; tests/oracle/hardware_recording_test.cc",
    "moe4 fixtures hardware compare DIR": "a form, its words stand for yours; tests/oracle/hardware_recording_test.cc",
    "moe4 selftest --mutate": "minutes; tests/oracle/mutation_run_test.cc",
    "moe4 run 'CASE LINE' --ptx": "a form, its words stand for yours; tests/oracle/ptx_subject_test.cc",
    "moe4 gate            --ptx": "a form, its words stand for yours; tests/oracle/ptx_subject_test.cc",
    "moe4 fuzz --time 60  --ptx": "a form, its words stand for yours; tests/oracle/ptx_subject_test.cc",
    "moe4 shrink 'CASE LINE' --ptx": "a form, its words stand for yours; tests/oracle/ptx_subject_test.cc",
    "moe4 ptx run kernel.ptx": "a form, its words stand for yours; tests/oracle/ptx_subject_test.cc",
    "moe4 run 'CASE LINE' --command": "a form, its words stand for yours; tests/oracle/command_cli_test.cc",
    "moe4 gate            --command": "a form, its words stand for yours; tests/oracle/command_cli_test.cc",
    "moe4 fuzz --time 60  --command": "a form, its words stand for yours; tests/oracle/command_cli_test.cc",
    "moe4 shrink 'CASE LINE' --command": "a form, its words stand for yours; tests/oracle/command_cli_test.cc",
    "moe4 gate --plugin libmy_kernel.so": "tests/consumers builds and runs it",
    "moe4 gate --regressions": "a form, its words stand for yours; tests/oracle/cli_gate_test.cc",
    "moe4 gate --tier ci --shard": "minutes; tests/oracle/cli_gate_test.cc",
    "moe4 merge 1.json": "the reports of the line above it",
    "moe4 gate --device cuda": "needs a GPU; tests/gpu/cuda/cli_test.cc has a driver without one",
    "moe4 fixtures hardware record --device cuda": "needs a GPU; tests/gpu/cuda/cli_test.cc has a driver without one",
    "./dev bundle FOLDER": "a form, its words stand for yours; the test bundle.runs",
    "moe4 bench gpu [--points WORD]": "a form, its words stand for yours; tests/gpu/cuda/cli_test.cc",
    "moe4 gate --known": "a form, its words stand for yours; tests/oracle/cli_gate_test.cc",
    "moe4 gate --baseline": "a form, its words stand for yours; tests/oracle/cli_gate_test.cc",
}


# A page a reader: short, and it starts with the command that does the job.
READERS = ("docs/ci.md", "docs/contributing.md", "docs/fixtures.md", "docs/hunting.md", "docs/python.md")


def check_reader(page, text, problems):
    lines = text.splitlines()
    if len(lines) > 80:
        problems.append(f"{page}: {len(lines)} lines, a reader's page has at most 80")
    body = [line for line in lines if line.strip() and not line.startswith("#")]
    if not body or not COMMAND.match(body[0]):
        problems.append(f"{page}: does not start with a command")


def check_quoted(root, page, text, problems):
    """The whole of `FILE`: the indented block that follows is that file."""
    for match in re.finditer(r"whole of `([^`]+)`", text, re.IGNORECASE):
        lines = text[match.end():].splitlines()[1:]
        while lines and not lines[0].startswith("    "):
            lines.pop(0)
        end = next((n for n, line in enumerate(lines) if line and not line.startswith("    ")), len(lines))
        quoted = "\n".join(line[4:] for line in lines[:end]).strip()
        if quoted != (root / match.group(1)).read_text(encoding="utf-8").strip():
            problems.append(f"{page}: what it shows as {match.group(1)} is not that file")


def blocks(text):
    """(command, expected output lines) of a page."""
    found, current = [], None
    for line in text.splitlines():
        match = COMMAND.match(line)
        if match:
            command = re.sub(r"\s{2,}#.*$", "", match.group(1)).rstrip()
            current = (command, [])
            found.append(current)
        elif current is not None and line.startswith("    ") and line.strip():
            current[1].append(line[4:].rstrip())
        else:
            current = None
    return found


def line_fits(expected, printed):
    return re.fullmatch(".*".join(re.escape(part) for part in expected.split("…")), printed.rstrip()) is not None


def output_fits(expected, printed):
    """Do the printed lines begin with the expected ones? "…" stands for any lines, inside of a line for anything."""
    if not expected:
        return True
    if expected[0].strip() == "…":
        return any(output_fits(expected[1:], printed[skip:]) for skip in range(len(printed) + 1))
    return bool(printed) and line_fits(expected[0], printed[0]) and output_fits(expected[1:], printed[1:])


def not_run(command):
    keys = [key for key in NOT_RUN if command == key or command.startswith(key + " ") or command.startswith(key)]
    return max(keys, key=len) if keys else None


def help_of(moe4, words, cache):
    key = tuple(words)
    if key not in cache:
        done = subprocess.run([moe4, *words, "--help"], capture_output=True, text=True)
        cache[key] = done.stdout if done.returncode == 0 else None
    return cache[key]


def check_spans(moe4, page, text, cache, problems):
    """`moe4 gate --tier T`: the command and its options exist."""
    for span in re.findall(r"`moe4 ([^`]+)`", text):
        words = span.replace("\\|", "|").split()
        commands = []
        while words and re.fullmatch(r"[a-z]+", words[0]) and help_of(moe4, commands + [words[0]], cache) is not None:
            commands.append(words.pop(0))
        if not commands and not re.match(r"-|COMMAND", span):
            problems.append(f"{page}: `moe4 {span}`: no such command")
            continue
        for option in re.findall(r"--[a-z][a-z-]*", span):
            if option not in (help_of(moe4, commands, cache) or ""):
                problems.append(f"{page}: `moe4 {span}`: {' '.join(commands)} has no {option}")


def lacking(command, moe4, environment, cache):
    """The variable that demands what the command needs and this build or machine has not; None."""
    if "--subject" in command:
        if "subjects" not in cache:
            cache["subjects"] = subprocess.run([moe4, "list", "subjects"], capture_output=True, text=True).stdout
        name = command.split("--subject")[1].split()[0]
        if name not in cache["subjects"] and "mxfp4_linear" not in cache["subjects"]:
            return "MOE4_GPU"
    module = "torch" if "pytorch" in command else "numpy" if "python3" in command else None
    if module and module not in cache:
        cache[module] = subprocess.run(["python3", "-c", f"import {module}"], env=environment, capture_output=True).returncode
    if "build/release/gpu/ptx" in command and not (pathlib.Path(moe4).parents[1] / "gpu" / "ptx").exists():
        return "MOE4_GPU"
    return "MOE4_PYTHON" if module and cache[module] != 0 else None


def main(moe4, root, only=None):
    moe4, root = os.path.abspath(moe4), pathlib.Path(root).resolve()
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    problems, ran, left_out, used, cache = [], 0, 0, set(), {}
    venvs = [venv for venv in os.environ.get("MOE4_VENVS", "").split(":") if os.path.exists(f"{venv}/bin/python3")]
    for page in pages:
        name = str(page.relative_to(root))
        if only and (name == only[1:] if only.startswith("-") else name != only):
            continue
        text = page.read_text(encoding="utf-8")
        check_spans(moe4, name, text, cache, problems)
        check_quoted(root, name, text, problems)
        if name in READERS:
            check_reader(name, text, problems)
        with tempfile.TemporaryDirectory() as folder:
            for linked in ("fixtures", "docs", "tests", "oracle"):
                os.symlink(root / linked, pathlib.Path(folder) / linked)
            os.mkdir(pathlib.Path(folder) / "build")
            os.symlink(pathlib.Path(moe4).parents[1], pathlib.Path(folder) / "build" / "release")
            environment = {**os.environ, "PATH": f"{os.path.dirname(moe4)}:{os.environ['PATH']}",
                           "PYTHONDONTWRITEBYTECODE": "1"}
            if venvs:
                environment["PATH"] = f"{venvs[0]}/bin:{environment['PATH']}"
            for command, expected in blocks(text):
                key = not_run(command)
                if key is not None:
                    used.add(key)
                    continue
                lacks = lacking(command, moe4, environment, cache)
                if lacks:
                    left_out += 1
                    if os.environ.get(lacks) == "1":
                        problems.append(f"{name}: {command}\n  cannot run here, with {lacks}=1")
                    continue
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True,
                                      text=True, timeout=300)
                ran += 1
                printed = done.stdout.splitlines()
                if done.returncode in (2, 4, 5, 126, 127) or (not expected and done.returncode != 0):
                    problems.append(f"{name}: {command}\n  ended with {done.returncode}: {done.stderr.strip()[:500]}")
                elif not output_fits(expected, printed):
                    problems.append(f"{name}: {command}\n  the page says:\n    " + "\n    ".join(expected) +
                                    "\n  it prints:\n    " + "\n    ".join(printed[: len(expected) + 3]))
    if not only or only.startswith("-"):
        start = (root / "README.md").read_text(encoding="utf-8")
        problems += [f"README.md does not lead to {page}" for page in READERS if f"]({page})" not in start]
        problems += [f"NOT_RUN names what no page shows: {key}" for key in NOT_RUN if key not in used]
    for problem in problems:
        print(problem)
    print(f"{'FAILED' if problems or not (ran or only) else 'PASSED'}: {ran} commands ran, {left_out} left out, "
          f"{len(problems)} problems")
    return 1 if problems or not (ran or only) else 77 if left_out else 0


def self_test():
    page = "    moe4 a   # why\n    x\n    …\n    y\n\ntext\n\n    moe4 b\n    ./run c\n"
    assert blocks(page) == [("moe4 a", ["x", "…", "y"]), ("moe4 b", []), ("./run c", [])]
    assert output_fits(["x", "…", "y"], ["x", "1", "2", "y", "z"]) and output_fits([], ["x"])
    for text, count in (("# A\n\n    moe4 gate\n", 0), ("# A\n\nSome words.\n\n    moe4 gate\n", 1),
                        ("# A\n    moe4 gate\n" + "x\n" * 79, 1)):
        problems = []
        check_reader("page", text, problems)
        assert len(problems) == count, (text, problems)
    assert output_fits(["x … z"], ["x 1 y z"]) and not output_fits(["x … z"], ["x 1 y"])
    assert not output_fits(["x"], []) and not output_fits(["x", "y"], ["x", "z"]) and not output_fits(["…", "y"], ["x"])


if __name__ == "__main__":
    self_test()
    sys.exit(main(*sys.argv[1:]))
