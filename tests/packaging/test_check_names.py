"""What `make lint` refuses to see committed: put together here, or it would be found."""

from pathlib import Path

import pytest

from scripts import check_names


def findings(folder: Path, content: str) -> list[tuple[str, int, str, str]]:
    (folder / "file").write_text(content)
    return list(check_names.findings(["file"], folder))


@pytest.mark.parametrize(
    "path",
    [["", "work", "main"], ["", "home", "ann", "x"], ["", "Users", "ann", "x"], ["", "root", "x"]],
)
def test_a_machines_path_is_refused(tmp_path, path) -> None:
    [(name, line, what, _)] = findings(tmp_path, "fine\nopen('" + "/".join(path) + "')\n")
    assert (name, line, what) == ("file", 2, "a machine's path")


@pytest.mark.parametrize(
    "host", [["pypi", "org"], ["registry", "npmjs", "org"], ["deb", "debian", "org"]]
)
def test_a_registrys_host_is_refused(tmp_path, host) -> None:
    [(_, _, what, text)] = findings(tmp_path, '"resolved": "https://' + ".".join(host) + '/a.tgz"')
    assert (what, text) == ("a package registry's host", ".".join(host))


@pytest.mark.parametrize(
    "content",
    [
        "/".join(["a", "work", "b"]),
        "/".join(["~", "work", "b"]),
        "docs/home/a/b",
        "/homework/",
        "/home/me/a",
        "/" + "work/\n",
        "import '../shared/a'",
        "PyPI",
        "https://jupyter.org/",
    ],
)
def test_other_words_pass(tmp_path, content) -> None:
    assert findings(tmp_path, content) == []
