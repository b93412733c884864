"""Numbers that docs claim of the product, against the sources that make them true.   claimed_numbers.py ROOT

A fact is a page, a sentence with a hole, a source file, a regular expression whose group is the number there, and what turns
that into the text of the hole. A sentence that the page no longer has, or has with another number, is an error, and so is an
expression that finds nothing. Numbers that are neither here nor in the output of a command (run_docs.py) are measurements,
and their page says so, or rules, which other tests hold to the code.
"""
import pathlib
import re
import sys

MIB = 2**20


def same(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def in_(unit):
    return lambda value: same(value // unit)


def percent(value):
    return f"{100 * value:g}"


def power(value):
    return f"2^{value.bit_length() - 1}"


TIERS, CHILD, DIAGNOSE = "oracle/gate/tiers.cc", "oracle/subject/child/child_process.h", "oracle/diagnose/diagnose.cc"
FACTS = [
    ("docs/cli.md", "the tier's floor (smoke {},", TIERS, r'"smoke"[^{}]*floors\((\d+)\)', same),
    ("docs/cli.md", "ci and nightly {})", TIERS, r'"ci"[^{}]*floors\((\d+)\)', same),
    ("docs/cli.md", "ci and nightly {})", TIERS, r'"nightly"[^{}]*floors\((\d+)\)', same),
    ("docs/cli.md", "less than {} % of the outputs of `real` BF16 data", TIERS, r"real_singletons = ([\d.]+)", percent),
    ("docs/declaration.md", "less than {} % of the outputs of `real` BF16 data", TIERS, r"real_singletons = ([\d.]+)", percent),
    ("docs/cli.md", "if it has at most {} terms", "oracle/judge/worked_sum.cc", r"kMostTerms = (\d+)", same),
    ("docs/cli.md", "| `worst` | at most {}:", "oracle/judge/compare.cc", r"kWorst = (\d+)", same),
    ("docs/cli.md", "| `moe4.report` | {}, the version", "oracle/report/json.h", r"kReportVersion = (\d+)", same),
    ("docs/cli.md", "(with `moe4.verdict`: {})", "oracle/report/json.cc", r'"moe4.verdict", (\d+)', same),
    ("docs/gate.md", "until `--time` is up ({} s)", "oracle/cli/gate.cc", r"kNightlySeconds = (\d+)", same),
    ("docs/command_subject.md", "up to `--batch` cases ({})", "oracle/subject/command_subject.h", r"batch = (\d+)", same),
    ("docs/command_subject.md", "for `--limit-time` seconds ({})", CHILD, r"time\{(\d+)\}", same),
    ("docs/command_subject.md", "than `--limit-memory` MiB ({})", CHILD, r"memory = ([^;]+);", in_(MIB)),
    ("docs/command_subject.md", "`--limit-output` MiB ({})", CHILD, r"output = ([^;]+);", in_(MIB)),
    ("docs/faults.md", "Confidence is high from {} bits on", DIAGNOSE, r"kHigh = (\d+)", same),
    ("docs/faults.md", "Names within {} bits of the best", DIAGNOSE, r"kApart = (\d+)", same),
    ("docs/faults.md", "at least {} % of the wrong outputs are given", DIAGNOSE, r"kMostOfThem = ([\d.]+)", percent),
    ("docs/faults.md", "no more than {} % as many others", DIAGNOSE, r"kFewBeside = ([\d.]+)", percent),
    ("docs/faults.md", "in ulp, at most {};", "oracle/diagnose/mismatch.cc", r"distance\(y\.exact, got\), ([\d.]+)\)", same),
    ("docs/faults.md", "Fewer than {} % named right", "oracle/faults/selftest.h", r"kRightNames = ([\d.]+)", percent),
    ("docs/python.md", "from {} MiB on the tensors themselves", "oracle/python/callable_subject.h", r"kWithoutCopy = ([^;]+);",
     in_(MIB)),
    ("docs/declaration.md", "| `in_max` | {} |", "oracle/subject/declaration_fields.cc", r"kNoLimit = ([^;]+);", power),
    ("docs/declaration.md", "| `tokens_max` | {} |", "oracle/subject/declaration_fields.cc", r"kNoLimit = ([^;]+);", power),
    ("docs/ptx_subject.md", "of dynamic shared memory, {} at most", "oracle/subject/gpu/launch_plan.cc", r"kMostShared = ([^;]+);",
     same),
    ("docs/ptx_subject.md", "in the same form; {} at most in all, and the grid", "gpu/ptx/program/program.h",
     r"kMaxCluster = (\d+)", same),
    ("docs/executor.md", "`.reqnctapercluster`; {} at most)", "gpu/ptx/program/program.h", r"kMaxCluster = (\d+)", same),
    ("docs/executor.md", "lanes that spin ({} backward branches", "gpu/ptx/run/control.cc", r"kSpins = (\d+)", same),
    ("docs/executor.md", "with polling, or {} without)", "gpu/ptx/run/control.cc", r"kLongLoop = ([^;,]+)", same),
    ("docs/executor.md", "Text up to {} MiB", "gpu/ptx/text/parser.cc", r"kMaxText = ([^;]+);", in_(MIB)),
    ("docs/executor.md", "{} functions,", "gpu/ptx/text/parser.cc", r"kMaxFunctions = ([^;]+);", same),
    ("docs/executor.md", "{} module variables,", "gpu/ptx/text/parser.cc", r"kMaxVariables = ([^;,]+)", same),
    ("docs/executor.md", "{} million statements an entry", "gpu/ptx/decode/decoder.cc", r"kMaxStatements = ([^;]+);", in_(MIB)),
    ("docs/executor.md", "scopes {} deep", "gpu/ptx/text/body_parser.cc", r"kMaxScopes = (\d+)", same),
    ("docs/executor.md", "{} KiB of local memory", "gpu/ptx/decode/layout.cc", r"kMaxLocalBytes = ([^;]+);", in_(1024)),
    ("docs/executor.md", "after {} barriers of one block", "gpu/ptx/run/block_clock.h", r"kMaxEpoch = \(([^)]+)\) - 1", power),
    ("docs/executor.md", "Shared memory begins at offset {},", "gpu/ptx/program/program.h", r"kSharedBase = (\d+)", same),
    ("docs/executor.md", "{} deep) `ret exit", "gpu/ptx/decode/calls.cc", r"kMaxCallDepth = (\d+)", same),
    ("docs/executor.md", "blocks of the same round of {} still run", "gpu/ptx/run/launch.cc", r"kRound = (\d+)", same),
    ("docs/design.md", "{} limbs for a dot product,", "reference/accumulate/exact_widths.h", r"kDotLimbs = (\d+)", same),
    ("docs/design.md", "{} for an output.", "reference/accumulate/exact_widths.h", r"kOutputLimbs = (\d+)", same),
    ("docs/cuda.md", "({} KiB on each side)", "gpu/device/cuda_buffers.cc", r"kGuard = ([^;]+);", in_(1024)),
    ("docs/cuda.md", "in a child process, {} a start", "oracle/subject/command_subject.h", r"batch = (\d+)", same),
    ("docs/cuda.md", "one run of its kernel 1/{} of it", "oracle/subject/gpu/cuda_subject.cc", r"kRunsInALimit = (\d+)", same),
    ("docs/cuda.md", "CUDA {} is the oldest", "gpu/device/cuda_session.cc", r"kOldestDriver = (\d+)",
     lambda version: f"{version // 1000}.{version % 1000 // 10}"),
    ("docs/cuda.md", "{} MiB are written before each run", "gpu/device/cuda_timing.h", r"flush_bytes = std::uint64_t\{(\d+)\}", same),
    ("docs/cuda.md", "one tile of rows, {} outputs", "gpu/measure/counted.cc", r"kOut = (\d+)", same),
    ("docs/cuda.md", "outputs and {} inputs", "gpu/measure/counted.cc", r"kIn = (\d+)", same),
    ("docs/fast.md", "meet up to {} rows of tokens", "reference/fast/token_panel.cc", r"kMaxPanelRows = (\d+)", same),
]


def value_of(text):
    """A constant of C++: an integer, a decimal, or integers with * << and signs of type."""
    text = re.sub(r"std::\w+\{(\d+)\}", r"\1", text)
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text).strip()
    if re.fullmatch(r"\d+\.\d+", text):
        return int(float(text)) if float(text).is_integer() else float(text)
    if not re.fullmatch(r"[\d\s*<]+", text):
        raise ValueError(f"{text!r} is no constant")
    return eval(text, {})  # digits, * and << alone


def problem_of(fact, page, source):
    name, sentence, path, expression, write = fact
    found = re.search(expression, source)
    if not found:
        return f"{path}: nothing like {expression}, for {name}: {sentence}"
    due = sentence.format(write(value_of(found.group(1))))
    before, after = sentence.split("{}")
    pattern = r"\s+".join(re.escape(word) for word in due.split())
    if re.search(r"(?<![\d.^])" + pattern if not before else pattern, page):
        return None
    near = re.search(re.escape(before) + r"\S*" + re.escape(after), " ".join(page.split()))
    return f"{name}: due is “{due}” ({path}), " + (f"it says “{near.group(0)}”" if near else "there is no such sentence")


def exit_codes(root):
    """The codes of both tables are those of the program."""
    source = (root / "oracle/gate/exit_code.h").read_text()
    due = sorted(int(code) for code in re.findall(r"^  k\w+ = (\d+),", source, re.MULTILINE))
    for name, heading in (("docs/cli.md", "## Exit codes"), ("docs/ci.md", "## What the exit codes mean")):
        table = (root / name).read_text().split(heading)[1].split("\n## ")[0]
        cells = re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE)
        told = sorted(int(code) for cell in cells for code in cell.split(","))
        if told != due:
            yield f"{name}: exit codes {told}, the program has {due}"


def main(root):
    root = pathlib.Path(root)
    problems = [problem_of(fact, (root / fact[0]).read_text(), (root / fact[2]).read_text()) for fact in FACTS]
    problems = [problem for problem in problems if problem] + list(exit_codes(root))
    print("\n".join(problems + [f"{'FAILED' if problems else 'PASSED'}: {len(FACTS)} numbers, {len(problems)} problems"]))
    return 1 if problems else 0


def self_test():
    fact = ("page", "at most {} of them", "source", r"kMost = ([^;]+);", same)
    assert problem_of(fact, "There are at\nmost 64 of them.", "kMost = std::size_t{1} << 6;") is None
    assert "it says “at most 65 of them”" in problem_of(fact, "at most 65 of them", "kMost = 1u << 6;")
    assert "no such sentence" in problem_of(fact, "some of them", "kMost = 64;")
    assert "nothing like" in problem_of(fact, "at most 64 of them", "kLeast = 64;")
    assert value_of("227 * 1024") == 232448 and value_of("0.95") == 0.95 and value_of("128.0") == 128


if __name__ == "__main__":
    self_test()
    sys.exit(main(*sys.argv[1:]))
