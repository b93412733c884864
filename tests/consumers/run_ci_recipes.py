"""Runs the CI recipes of docs/ci_recipes.md on a kernel repository, as GitHub and GitLab would: shards, artifacts, verdict.

    run_ci_recipes.py ROOT PREFIX

The recipes are read from the page and nothing of them is repeated here. Their structure is checked (jobs, needs, matrix and
CI variables, one of uses and run a step), and every script is run in a folder of its own with the shell that the service
uses. What is not as there: the tier is smoke and the nightly time short, so that a test may take its time, and the actions
that fetch the repository and carry files are done here. A repository whose kernel is wrong must end red, with its reports.

PREFIX is where moe4 is installed. Without PyYAML the exit code is 77, CTest's "skipped".
"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("SKIPPED: python3-yaml is not installed")
    sys.exit(77)

problems = []


def expect(condition, text):
    if not condition:
        problems.append(text)
        print("WRONG:", text)


def recipes(page):
    """The indented block below each heading, as YAML."""
    found = {}
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        name, _, body = section.partition("\n")
        found[name.strip()] = [
            "\n".join(line[4:] for line in block.splitlines())
            for block in re.findall(r"(?:^(?: {4}.*)?\n)+", body, flags=re.M) if block.strip()]
    return found


def short(script):
    return script.replace("--tier ci", "--tier smoke").replace("--tier nightly --time 7200", "--tier nightly --time 5")


def shell(script, folder, environment, options):
    """The exit code of a script."""
    result = subprocess.run(["bash", "--noprofile", "--norc", *options, "-c", short(script)], cwd=folder, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
    if result.returncode != 0:
        print(f"$ {script}\n{result.stdout[-1500:]}\n-> {result.returncode}")
    return result.returncode


class Repository:
    """A kernel repository with the files that the recipes name."""

    def __init__(self, root, work, wrong):
        self.path = work / ("wrong" if wrong else "right")
        shutil.copytree(root / "docs/examples/kernel_repository", self.path)
        (self.path / "known.json").write_text('{"schema": 1, "known": []}\n')
        (self.path / "regressions.cases").write_text("# None yet.\n")
        if wrong:
            kernel = self.path / "my_kernel.c"
            text = kernel.read_text().replace("4 * (i % 2)", "4 * (1 - i % 2)")
            expect(text != kernel.read_text(), "the fault could not be planted")
            kernel.write_text(text)

    def checkout(self, folder):
        shutil.copytree(self.path, folder, dirs_exist_ok=True)


def substituted(text, matrix):
    def value(match):
        words = match.group(1).strip().split(".")
        expect(words[0] == "matrix" and words[1] in matrix, f"{match.group(0)} is nothing that the job has")
        return str(matrix.get(words[-1], ""))
    return re.sub(r"\$\{\{(.*?)\}\}", value, text)


class GitHub:
    """One run of a workflow."""

    step_keys = {"uses", "run", "with", "if", "name"}
    job_keys = {"runs-on", "strategy", "steps", "needs", "if"}

    def __init__(self, workflow, work, repository, environment):
        self.jobs = workflow["jobs"]
        self.work, self.repository, self.environment = work, repository, environment
        self.artifacts = work / "artifacts"
        self.artifacts.mkdir(parents=True)
        self.uploaded = {}

    def check(self):
        for name, job in self.jobs.items():
            expect(set(job) <= self.job_keys, f"job {name} has unknown keys {set(job) - self.job_keys}")
            expect("runs-on" in job and job.get("steps"), f"job {name} has no runs-on or no steps")
            needs = job.get("needs", [])
            for other in [needs] if isinstance(needs, str) else needs:
                expect(other in self.jobs, f"job {name} needs {other}, which is none")
            for step in job["steps"]:
                expect(set(step) <= self.step_keys, f"job {name}: unknown keys {set(step) - self.step_keys}")
                expect(("uses" in step) != ("run" in step), f"job {name}: a step has one of uses and run")
                if "uses" in step:
                    expect(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]), f"{step['uses']} is pinned to a version")

    def run_job(self, name, matrix, instance):
        """Its exit code; `always()` steps run after a failure."""
        folder = self.work / f"{name}{instance}"
        folder.mkdir()
        summary = folder / "summary.md"
        environment = dict(self.environment, GITHUB_STEP_SUMMARY=str(summary))
        code = 0
        for step in self.jobs[name]["steps"]:
            if code != 0 and "always()" not in str(step.get("if", "")):
                continue
            if "run" in step:
                code = code or shell(substituted(step["run"], matrix), folder, environment, ["-e"])
                continue
            given = {key: substituted(str(value), matrix) for key, value in step.get("with", {}).items()}
            used = self.use(step["uses"].partition("@")[0], given, folder)
            code = code or used
        return code, summary

    def use(self, action, given, folder):
        if action == "actions/checkout":
            self.repository.checkout(folder)
        elif action == "actions/upload-artifact":
            files = glob.glob(given["path"], root_dir=folder)
            expect(files, f"nothing to upload at {given['path']}")
            expect(given["name"] not in self.uploaded, f"two artifacts are named {given['name']}")
            self.uploaded[given["name"]] = files
            for file in files:
                shutil.copy(folder / file, self.artifacts)
        elif action == "actions/download-artifact":
            expect(given.get("merge-multiple") == "True", "several artifacts, each in a folder of its own")
            shutil.copytree(self.artifacts, folder, dirs_exist_ok=True)
        else:
            expect(False, f"{action} is not known here")
        return 0


def run_github(text, work, repository, environment, due):
    workflow = yaml.safe_load(text)
    expect(True in workflow, "no `on:`")  # YAML 1.1 reads the key as a boolean
    run = GitHub(workflow, work, repository, environment)
    run.check()
    shards = workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    for shard in shards:
        code, _ = run.run_job("shard", {"shard": shard}, shard)
        expect(code == 0, f"GitHub: shard {shard} ended with {code}")
    expect(workflow["jobs"]["verdict"]["needs"] == "shard", "the verdict comes after the shards")
    code, summary = run.run_job("verdict", {}, "")
    expect(code == due, f"GitHub: the verdict is {code}, not {due}")
    expect(summary.exists() and "my_kernel" in summary.read_text(), "GitHub: the summary says nothing")
    expect(set(run.uploaded.get("gate", [])) == {"gate.xml", "gate.html", "gate.md"}, "GitHub: reports are missing")


def run_nightly(text, work, repository, environment):
    """A workflow in which some lines are left out: its trigger, and the one step."""
    trigger, _, step = text.partition("…")
    cron = yaml.safe_load(trigger)[True]["schedule"][0]["cron"]
    expect(len(cron.split()) == 5, f"{cron!r} is no cron line")
    script = yaml.safe_load(step)[0]["run"]
    folder = work / "nightly"
    repository.checkout(folder)
    expect(shell("cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build", folder, environment, ["-e"]) == 0,
           "nightly: the build")
    code = shell(script, folder, environment, ["-e"])
    expect(code in (0, 3), f"nightly ended with {code}")  # 3: five seconds are too few for the list
    expect((folder / "nightly.html").exists(), "nightly: no page")


def run_gitlab(text, work, repository, environment, due):
    jobs = yaml.safe_load(text)
    known = {"parallel", "script", "artifacts", "needs", "when"}
    for name, job in jobs.items():
        expect(set(job) <= known, f"GitLab: job {name} has unknown keys {set(job) - known}")
        expect(isinstance(job["script"], list) and all(isinstance(s, str) for s in job["script"]), f"{name}: script")
        for other in job.get("needs", []):
            expect(other in jobs, f"GitLab: {name} needs {other}, which is none")
    artifacts = work / "artifacts"
    artifacts.mkdir(parents=True)

    def run_job(name, variables, instance):
        folder = work / f"{name}{instance}"
        repository.checkout(folder)
        if jobs[name].get("needs"):
            shutil.copytree(artifacts, folder, dirs_exist_ok=True)
        code = shell("\n".join(jobs[name]["script"]), folder, dict(environment, **variables), ["-eo", "pipefail"])
        for path in jobs[name]["artifacts"]["paths"]:
            files = glob.glob(path, root_dir=folder)
            expect(files, f"GitLab: {name} has nothing at {path}")
            for file in files:
                shutil.copy(folder / file, artifacts)
        for report in jobs[name]["artifacts"].get("reports", {}).values():
            expect((folder / report).exists(), f"GitLab: {report} is not there")
        return code

    total = jobs["gate"]["parallel"]
    for index in range(1, total + 1):
        code = run_job("gate", {"CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(total)}, index)
        expect(code == 0, f"GitLab: shard {index} ended with {code}")
    expect(jobs["verdict"]["when"] == "always", "the verdict comes whatever the shards did")
    code = run_job("verdict", {}, "")
    expect(code == due, f"GitLab: the verdict is {code}, not {due}")


def main():
    root, prefix = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    found = recipes((root / "docs/ci_recipes.md").read_text())
    github, nightly = found["GitHub Actions"]
    (gitlab,) = found["GitLab"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "CI_"))}
    environment["PATH"] = f"{prefix / 'bin'}:{environment['PATH']}"
    environment["CMAKE_PREFIX_PATH"] = str(prefix)
    with tempfile.TemporaryDirectory(prefix="moe4-ci-") as folder:
        work = pathlib.Path(folder)
        right, wrong = Repository(root, work, False), Repository(root, work, True)
        run_github(github, work / "github", right, environment, 0)
        run_github(github, work / "github_wrong", wrong, environment, 1)
        run_nightly(nightly, work, right, environment)
        run_gitlab(gitlab, work / "gitlab", right, environment, 0)
        run_gitlab(gitlab, work / "gitlab_wrong", wrong, environment, 1)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
