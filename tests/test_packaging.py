"""The wheel a user gets holds what git holds."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
LINKED = ("flows", "tasks", "evaluators")


def tracked() -> list[str]:
    """What git tracks and is still there; a file not yet added is nobody's promise."""
    git = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    names = [name for name in done.stdout.split("\0") if name]
    return [name for name in names if (ROOT / name).is_symlink() or (ROOT / name).exists()]


def checkout(names: list[str], folder: Path) -> Path:
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    return folder


def packaged_name(name: str) -> str | None:
    """Where a tracked file lands in the wheel, or None for one that does not."""
    room = PurePosixPath(name).parts[0]
    if room in LINKED:
        return f"rejudge/{name}"
    is_link = name in {f"rejudge/{linked}" for linked in LINKED}
    return name if room == "rejudge" and not is_link else None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names in a wheel that was built from an sdist."""
    source = checkout(tracked(), tmp_path_factory.mktemp("source"))
    built = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(built), str(source)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path).namelist()


def test_the_wheel_holds_every_tracked_file_of_the_package(wheel: list[str]) -> None:
    packaged = {name for name in wheel if ".dist-info/" not in name}
    assert packaged == {packaged_name(name) for name in tracked()} - {None}


def test_the_wheel_owns_one_top_level_name(wheel: list[str]) -> None:
    top = {PurePosixPath(name).parts[0] for name in wheel}
    assert {name for name in top if not name.endswith(".dist-info")} == {"rejudge"}
