"""Files that deny rules name, and commands in a sandbox that want them by whatever name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentstepper_nb.coding.policy.denied_files import find_denied_files
from agentstepper_nb.coding.sandbox import ResourceLimits, SandboxChoice
from agentstepper_nb.coding.sandbox.backend_selection import choose_sandbox
from tests.coding.named_files import SECRET, NamedFiles
from tests.coding.sandbox.scenes import access_to, run_in

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap and Landlock are Linux's."),
    pytest.mark.usefixtures("cached_python"),
]

READS = """
cat .env
cat link
cat src/hard.txt
cat src/deep/own.env
head -c 100 ./src/../.env
cp .env copy; cat copy
ln .env another; cat another
ln -s .env s; cat s
mv .env moved; cat moved
mv src src2; cat src2/deep/own.env src2/hard.txt
chmod 644 .env; cat .env
git diff --no-index /dev/null .env
python3 -S -c 'import os; print(os.read(os.open(".env", os.O_RDONLY), 100))'
python3 -S -c 'print(open("/proc/self/cwd/.env").read())'
tar cf - . | cat
grep -r canary .
""".strip().splitlines()

WRITES = """
echo x > .env
echo x >> src/hard.txt
echo x > link
truncate -s 0 .env
rm -f .env
rm -rf src
mv .env moved
mv new .env
cp -f new .env
ln -f new .env
sed -i s/KEY/x/ .env src/deep/own.env
python3 -S -c 'import os; os.replace("new", ".env")'
python3 -S -c 'import os; os.truncate("src/deep/own.env", 0)'
mv src/deep src/d2; echo x > src/d2/own.env
""".strip().splitlines()


class ConfinedFiles(NamedFiles):
    """Files that a rule names, and commands in a sandbox."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (self.root / "src" / "deep").mkdir()
        (self.root / "src" / "deep" / "own.env").write_text(f"{SECRET}\n")
        (self.root / "new").write_text("x\n")

    def run(self, sandbox: SandboxChoice, command: str) -> str:
        """What a command prints in a sandbox."""
        access = access_to(self.root, **find_denied_files(self.book, self.root)._asdict())
        chosen = choose_sandbox(sandbox, ResourceLimits()).sandbox
        return run_in(chosen, ["/bin/sh", "-c", command], access).stdout

    @property
    def list_denied(self) -> list[str]:
        """What the files hold."""
        return [(self.root / name).read_text().strip() for name in (".env", "src/deep/own.env")]


@pytest.fixture
def place(tmp_path: Path) -> ConfinedFiles:
    return ConfinedFiles(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_commands_read_and_change_no_file_that_may_not_be_read(
    place: ConfinedFiles, sandbox: SandboxChoice
) -> None:
    assert SECRET in place.run(sandbox, "cat .env")
    place.book.deny("read_file", path="*.env")
    output = place.run(sandbox, "\n".join([*READS, *WRITES, "cat new; echo the end"]))
    assert output.endswith("the end\n"), output
    assert SECRET not in output
    assert place.list_denied == [SECRET, SECRET]
    assert not any(
        SECRET in path.read_text()
        for path in place.root.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and path.name not in ("own.env", ".env", "hard.txt")
    )


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_a_folder_is_not_renamed_away_from_its_rule(
    place: ConfinedFiles, sandbox: SandboxChoice
) -> None:
    place.book.deny("read_file", path="src/deep/*")
    place.run(sandbox, "mv src src2; mv src/deep src/d2; mv src/deep d2")
    assert SECRET not in place.run(sandbox, "cat */deep/own.env d2/own.env */d2/own.env")
    assert place.list_denied == [SECRET, SECRET]


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_commands_change_no_file_that_may_not_be_written(
    place: ConfinedFiles, sandbox: SandboxChoice
) -> None:
    place.book.deny("write_*", path="*.env")
    output = place.run(sandbox, "\n".join(["cat .env", *WRITES, "echo the end"]))
    assert output.startswith(SECRET) and output.endswith("the end\n"), output
    assert place.list_denied == [SECRET, SECRET]
