"""The package: built, unpacked outside the clone, and started with its one command from an empty home."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from benchmarks.extras import how_to_install
from codeforge.command import LONG, SHORT
from codeforge.tests.test_launching import ROOT, Launched, free_port, terminal
from frontend.documents import PATHS

pytestmark = pytest.mark.slow
INSTALL = "pip install --no-deps --require-hashes -r requirements-{}.txt"
SHELLS = ("bash", "zsh", "fish")
SCRIPT = "from codeforge.command import main\nmain()\n"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs, and its command."""
    folder = tmp_path_factory.mktemp("package")
    built = subprocess.run(
        [sys.executable, "-m", "uv", "build", "--wheel", "--quiet", "--out-dir", str(folder / "dist")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        pytest.fail(f"The package could not be built: {built.stderr}")
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    (folder / "bin").mkdir()
    (folder / "bin" / "codeforge").write_text(SCRIPT)
    return folder


def environment(package: Path, home: Path) -> dict[str, str]:
    """What a terminal of somebody has who installed the package; the state is where it is by default."""
    return {"HOME": str(home), "XDG_DATA_HOME": "", "CODEFORGE_STATE_DIR": "", "PYTHONPATH": str(package / "installed")}


def codeforge(
    package: Path, folder: Path, *arguments: str, home: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    home = home or folder
    return subprocess.run(
        [sys.executable, str(package / "bin" / "codeforge"), *arguments],
        cwd=folder,
        env=terminal(home) | environment(package, home) | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_has_what_runs_and_no_tests(package: Path) -> None:
    (wheel,) = (package / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if "/tests/" in name]
    shipped = {Path(name).name for name in names if name.startswith("codeforge/shipped/datasets/")}
    assert shipped == {path.name for path in (ROOT / "datasets").iterdir() if path.is_file()}
    assert {f"codeforge/shipped/{path}" for path in PATHS.values()} <= set(names)
    for name in ("frontend/static/frontend/css/app.css", "frontend/templates/frontend/base.html"):
        assert name in names, name
    metadata = next(name for name in names if name.endswith("METADATA"))
    required = re.findall(r"^Requires-Dist: (.+)$", zipfile.ZipFile(wheel).read(metadata).decode(), re.MULTILINE)
    direct = [line for line in (ROOT / "requirements.in").read_text().splitlines() if line and line[0] != "#"]
    assert len([name for name in required if "extra ==" not in name]) == len(direct)
    extras = ["litellm", "oidc", "opentelemetry", "parquet", "text"]
    assert sorted(set(re.findall(r"extra == '(\w+)'", " ".join(required)))) == extras
    assert [name for name in extras if how_to_install(name) != INSTALL.format(name)] == []


def test_what_needs_an_extra_names_that_of_the_package(package: Path, tmp_path: Path) -> None:
    asked = "from benchmarks.extras import how_to_install; print(how_to_install('oidc'))"
    variables = terminal(tmp_path) | environment(package, tmp_path)
    done = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, env=variables, capture_output=True, text=True)  # noqa: PLW1510
    assert done.stdout == 'pip install "codeforge-benchmarks[oidc]"\n'


def test_before_the_first_start_every_command_says_what_to_do(package: Path, tmp_path: Path) -> None:
    words = [
        "doctor",
        "providers list",
        "datasets schema",
        "schema write",
        *(f"{name} --help" for name in (*SHORT, *LONG)),
    ]
    said = {
        line: codeforge(package, tmp_path, *line.split()) for line in (*words, *(f"completion {s}" for s in SHELLS))
    }
    for line, done in said.items():
        assert "Traceback" not in done.stderr, line
        assert "manage.py" not in done.stdout + done.stderr, line
        assert (done.returncode == 0) == ("--help" in line or line.startswith("completion")), (line, done.stderr)
    assert "run `codeforge migrate`, or start the dashboard once" in said["providers list"].stderr


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"CODEFORGE_STATE_DIR": "/proc/none"}, "Cannot create the state folder"),
        ({"CODEFORGE_CONFIG": "x.yaml"}, "nonsense"),
    ],
)
def test_a_wrong_configuration_is_said_without_a_traceback(
    package: Path, tmp_path: Path, variables: dict[str, str], problem: str
) -> None:
    (tmp_path / "x.yaml").write_text("nonsense: 1\n")
    done = codeforge(package, tmp_path, "doctor", **variables)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert problem in done.stderr


def test_one_command_starts_it_from_an_empty_home(package: Path, tmp_path: Path) -> None:
    up = (str(package / "bin" / "codeforge"), "up")
    launched = Launched(tmp_path, free_port(), up, tmp_path, **environment(package, tmp_path))
    try:
        (first, *_) = launched.until(
            lambda: [run for run in launched.get("/api/v1/benchmarks/runs")["results"] if run["status"] == "completed"]
        )
        assert "Overview" in launched.get("/")
        healthy = codeforge(package, tmp_path, "doctor")
        assert healthy.returncode == 0, healthy.stdout + healthy.stderr
        assert "ok           Database" in healthy.stdout
        listed = codeforge(package, tmp_path, "benchmark", "list")
        assert first["model"] in listed.stdout, listed.stderr
        words = "run reasoning --model baseline/reference --metrics exact_match --limit 3"
        scored = codeforge(package, tmp_path, *words.split())
        assert "100%" in scored.stdout, scored.stdout + scored.stderr
    finally:
        launched.process.send_signal(signal.SIGINT)
        launched.process.wait(timeout=30)
    assert "to change it: codeforge changepassword admin" in launched.log.read_text()
    home = next(tmp_path.rglob("codeforge.yaml")).parent
    assert {path.name for path in home.iterdir()} == {"codeforge.yaml", "datasets", "var"}


def test_what_is_shipped_is_copied_to_a_home_whose_state_is_elsewhere(package: Path, tmp_path: Path) -> None:
    copied = (
        "import django; django.setup();"
        "from codeforge.management.commands.dev import _copy_what_is_shipped; _copy_what_is_shipped()"
    )
    elsewhere = {"CODEFORGE_STATE_DIR": str(tmp_path / "state"), "DJANGO_SETTINGS_MODULE": "codeforge.settings"}
    variables = terminal(tmp_path) | environment(package, tmp_path) | elsewhere | {"APP_ENV": "development"}
    subprocess.run([sys.executable, "-c", copied], cwd=tmp_path, env=variables, check=True)
    home = next(tmp_path.rglob("codeforge.yaml")).parent
    assert {path.name for path in home.iterdir()} == {"codeforge.yaml", "datasets"}


@pytest.mark.parametrize(("place", "job"), [(0, "steps"), (1, "script")])
def test_the_pipelines_of_the_page_run_in_an_empty_repository(
    package: Path, tmp_path: Path, place: int, job: str
) -> None:
    pipelines = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/how-to/ci.md").read_text(), re.DOTALL)
    repository = tmp_path / "repository"
    workspace = re.compile(r"\$\{\{ github\.workspace }}|\$CI_PROJECT_DIR")
    pipeline = yaml.safe_load(workspace.sub(str(repository), pipelines[place]))
    written = (pipeline["jobs"] if place == 0 else pipeline)["benchmark"]
    variables = {**written.get("env", {}), **written.get("variables", {})}
    datasets = Path(variables["CODEFORGE_DATASETS_DIR"])
    datasets.mkdir(parents=True)
    shutil.copy(ROOT / "datasets/reasoning.yaml", datasets)
    steps = [step if isinstance(step, str) else step.get("run", "") for step in written[job]]
    commands = [shlex.split(step) for step in steps if step.startswith("codeforge ")]
    assert [command[1] for command in commands] == ["migrate", "datasets", "run", "run"]
    for _, *arguments in commands:
        model = ["baseline/reference" if word.startswith("openai/") else word for word in arguments]
        done = codeforge(package, repository, *model, home=tmp_path, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "exact_match not worse by 15.0 points" in (repository / "report.xml").read_text()


def test_the_command_lists_what_it_can_do(package: Path, tmp_path: Path) -> None:
    overview = codeforge(package, tmp_path)
    assert overview.returncode == 0
    for name in (*SHORT, *LONG):
        assert f"  {name} " in overview.stdout, name
    ours = {name for name, app in get_commands().items() if app in ("benchmarks", "codeforge")}
    assert set(LONG) == ours - {"dev", "worker_health"}
