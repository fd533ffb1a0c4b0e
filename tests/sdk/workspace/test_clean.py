"""`require_clean`: a run that starts from a commit of the user's, or not at all."""

from pathlib import Path

import pytest

from agentstepper_nb.errors import WorkspaceError
from tests.sdk.workspace.helpers import Open, fingerprint, git, make_repository


@pytest.fixture
def repository(folder: Path) -> Path:
    make_repository(folder, **{".gitignore": "*.log\n", "a": "a\n", "b": "b\n"})
    (folder / "ignored.log").touch()
    (folder / "sub").mkdir()
    return folder


def test_a_clean_repository_is_taken(repository: Path, watch: Open) -> None:
    before = fingerprint(repository)
    watch(require_clean=True).close()
    assert fingerprint(repository) == before


def test_a_folder_without_a_repository_is_taken(folder: Path, watch: Open) -> None:
    (folder / "a").touch()
    watch(require_clean=True)


@pytest.mark.parametrize("how", ["changed", "staged", "untracked", "deleted", "odd"])
def test_a_dirty_one_is_refused(repository: Path, watch: Open, how: str) -> None:
    name = {"untracked": "new", "odd": ":(top) \n*"}.get(how, "a")
    if how == "deleted":
        (repository / name).unlink()
    else:
        (repository / name).write_text("something else\n")
    if how == "staged":
        git(repository, "add", "a")
    before = fingerprint(repository)
    with pytest.raises(WorkspaceError, match=r"uncommitted changes: .*Commit or stash") as caught:
        watch(require_clean=True)
    assert name.replace("\n", "\\n") in str(caught.value)
    assert fingerprint(repository) == before
    watch()  # by default it is the baseline


def test_many_are_counted(repository: Path, watch: Open) -> None:
    for n in range(8):
        (repository / str(n)).touch()
    with pytest.raises(WorkspaceError, match="0, 1, 2, 3, 4 and 3 more"):
        watch(require_clean=True)


def test_a_touched_file_is_not_a_changed_one(repository: Path, watch: Open) -> None:
    (repository / "a").write_text("a\n")
    before = fingerprint(repository)
    watch(require_clean=True)
    assert fingerprint(repository) == before  # git would like to note it in the index


def test_only_the_workspace_counts(repository: Path, watch: Open) -> None:
    (repository / "a").write_text("dirty\n")
    watch(repository / "sub", require_clean=True)
    (repository / "sub/old").touch()
    git(repository, "add", "sub")
    git(repository, "commit", "--quiet", "--message=sub", "sub")
    watch(repository / "sub", require_clean=True)
    (repository / "sub/new").touch()
    with pytest.raises(WorkspaceError, match="uncommitted changes: sub/new"):
        watch(repository / "sub", require_clean=True)


def test_submodules_count(repository: Path, watch: Open, tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", lib="lib\n")
    git(repository, "submodule", "--quiet", "add", str(library), "module")
    git(repository, "commit", "--quiet", "--all", "--message=module")
    before = fingerprint(repository)
    watch(require_clean=True)
    assert fingerprint(repository) == before
    (repository / "module/lib").write_text("dirty\n")
    with pytest.raises(WorkspaceError, match="module/lib"):
        watch(require_clean=True)


def test_a_repository_without_a_commit(folder: Path, watch: Open) -> None:
    git(folder, "init", "--quiet")
    watch(require_clean=True)
    (folder / "a").touch()
    with pytest.raises(WorkspaceError, match="uncommitted changes: a"):
        watch(require_clean=True)
