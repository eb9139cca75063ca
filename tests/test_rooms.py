"""The rules between the rooms of the repository."""

import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("rejudge", "flows", "tasks", "evaluators", "tests", "benchmarks", "examples", "docs")
LONGEST_FILE = 600


def python_files(room: str) -> list[Path]:
    data = ROOT / "tests" / "data"
    return [path for path in (ROOT / room).rglob("*.py") if data not in path.parents]


def test_imports_keep_to_the_table_of_rooms() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint_imports, "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_flow_file_shadows_no_importable_package() -> None:
    """Prefect puts flows/ at the front of sys.path for good."""
    flows = {path.stem for path in (ROOT / "rejudge" / "flows").glob("*.py")} - {"__init__"}
    taken = sys.stdlib_module_names | packages_distributions().keys() | set(ROOMS)
    assert flows & taken == set()


def test_no_file_is_longer_than_600_lines() -> None:
    lines = {path: len(path.read_text("utf-8").splitlines()) for room in ROOMS for path in python_files(room)}
    too_long = {str(path.relative_to(ROOT)): n for path, n in lines.items() if n > LONGEST_FILE}
    assert too_long == {}
