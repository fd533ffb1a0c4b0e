"""When the build runs npm, when it does without, and what it says when it cannot go on."""

import os
from pathlib import Path

import pytest

from scripts import build_js

# Stands for npm: "run build" writes what the real one would, and each call is noted.
NPM = f"""#!/bin/sh
echo "$*" >> ../npm-calls
cd ..
case "$1" in
  ci) made={build_js.INSTALLED} ;;
  run) made="{build_js.LABEXTENSION} {build_js.MANIFEST}" ;;
esac
for each in $made; do mkdir -p "$(dirname "$each")" && touch "$each"; done
"""
BROKEN_NPM = "#!/bin/sh\nexit 3\n"
CI, BUILD = "ci --no-audit --no-fund", "run build"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("js/package.json", "js/package-lock.json", "js/src/app.ts", build_js.VERSION):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def sdist(tmp_path: Path) -> Path:
    (tmp_path / "PKG-INFO").touch()
    return tmp_path


@pytest.fixture
def no_npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def put_npm(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str = NPM) -> None:
    (folder / "bin").mkdir()
    (folder / "bin/npm").write_text(script)
    (folder / "bin/npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


def npm_calls(folder: Path) -> list[str]:
    notes = folder / "npm-calls"
    return notes.read_text().splitlines() if notes.exists() else []


def make_newer(path: Path, than: Path) -> None:
    moment = than.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(moment, moment))


def test_a_fresh_checkout_is_installed_and_built(checkout, monkeypatch) -> None:
    put_npm(monkeypatch, checkout)
    assert build_js.ensure_built(checkout)
    assert npm_calls(checkout) == [CI, BUILD]


def test_what_is_current_is_left_alone(checkout, monkeypatch) -> None:
    put_npm(monkeypatch, checkout)
    build_js.ensure_built(checkout)
    assert not build_js.ensure_built(checkout)
    assert npm_calls(checkout) == [CI, BUILD]


@pytest.mark.parametrize("source", ["js/src/app.ts", "js/package.json", build_js.VERSION], ids=str)
def test_a_newer_source_is_built(checkout, monkeypatch, source) -> None:
    put_npm(monkeypatch, checkout)
    build_js.ensure_built(checkout)
    make_newer(checkout / source, than=checkout / build_js.MANIFEST)
    assert build_js.ensure_built(checkout)
    assert npm_calls(checkout)[-1] == BUILD and npm_calls(checkout).count(BUILD) == 2


def test_a_newer_lock_file_is_installed_first(checkout, monkeypatch) -> None:
    put_npm(monkeypatch, checkout)
    build_js.ensure_built(checkout)
    make_newer(checkout / "js/package-lock.json", than=checkout / build_js.MANIFEST)
    assert build_js.ensure_built(checkout)
    assert npm_calls(checkout) == [CI, BUILD, CI, BUILD]


@pytest.mark.parametrize("made", build_js.MADE, ids=str)
def test_what_is_missing_is_built(checkout, monkeypatch, made) -> None:
    put_npm(monkeypatch, checkout)
    build_js.ensure_built(checkout)
    (checkout / made).unlink()
    assert build_js.ensure_built(checkout)
    assert (checkout / made).exists()


def test_a_changed_test_builds_nothing(checkout, monkeypatch) -> None:
    put_npm(monkeypatch, checkout)
    build_js.ensure_built(checkout)
    (checkout / "js/tests").mkdir()
    (checkout / "js/tests/app.test.ts").touch()
    make_newer(checkout / "js/tests/app.test.ts", than=checkout / build_js.MANIFEST)
    assert not build_js.ensure_built(checkout)


@pytest.mark.usefixtures("no_npm")
def test_an_sdist_needs_no_npm_even_where_sources_are_newer(sdist) -> None:
    for made in build_js.MADE:
        (sdist / made).parent.mkdir(parents=True)
        (sdist / made).touch()
    (sdist / "js").mkdir()
    (sdist / "js/package.json").touch()
    make_newer(sdist / "js/package.json", than=sdist / build_js.MANIFEST)
    assert not build_js.ensure_built(sdist)


@pytest.mark.parametrize("lacking", build_js.MADE, ids=str)
def test_an_sdist_without_the_built_files_says_so(sdist, lacking) -> None:
    for made in set(build_js.MADE) - {lacking}:
        (sdist / made).parent.mkdir(parents=True)
        (sdist / made).touch()
    with pytest.raises(build_js.BuildError, match=f"this sdist lacks {lacking}"):
        build_js.ensure_built(sdist)


@pytest.mark.usefixtures("no_npm")
def test_a_checkout_without_npm_says_what_to_do(checkout) -> None:
    with pytest.raises(build_js.BuildError, match=r"(?s)npm is not on PATH.*install Node.js"):
        build_js.ensure_built(checkout)


def test_a_failing_npm_fails_the_build(checkout, monkeypatch) -> None:
    put_npm(monkeypatch, checkout, BROKEN_NPM)
    with pytest.raises(build_js.BuildError, match=r"ci .* failed with status 3"):
        build_js.ensure_built(checkout)
