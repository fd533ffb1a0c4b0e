"""What commands reach in bubblewrap: real runs, as this user and as an ordinary one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agentstepper_nb.coding.sandbox import ResourceLimits
from agentstepper_nb.coding.sandbox.bubblewrap import Bubblewrap, find_bubblewrap_programs
from agentstepper_nb.errors import SandboxError
from tests.coding.sandbox.agent import ForkedAgent
from tests.coding.sandbox.process_holders import DAEMON, FileHolders
from tests.coding.sandbox.scenes import ROOT, SECRET, THIS, HomeFolders, access_to


def test_the_workspace_and_the_sessions_folders_alone_can_be_changed(scene: HomeFolders) -> None:
    attempts = {
        f"{scene.workspace}/new": True,
        "$HOME/new": True,
        "$TMPDIR/new": True,
        "/tmp/other": True,
        "/var/tmp/new": True,  # the command's own, gone with it
        "/run/new": True,
        f"{scene.outside}/file": False,
        f"{scene.outside}/new": False,
        "/new": False,
        "/usr/new": False,
        "/etc/new": False,
        "/srv/new": False,
        "/etc/passwd": False,
        "/proc/sys/vm/swappiness": False,
    }
    commands = [f'(echo x >"{path}") 2>/dev/null && echo written' for path in attempts]
    results = scene.run_together(*commands)
    for (path, can), (code, said) in zip(attempts.items(), results, strict=True):
        assert (path, said == "written\n", code == 0) == (path, can, can), said
    assert (scene.outside / "file").read_text() == SECRET
    assert sorted(os.listdir(scene.outside)) == ["file"]
    assert (scene.workspace / "new").exists()
    assert (scene.session / "home" / "new").exists()
    assert (scene.session / "tmp" / "other").exists()
    assert not Path("/tmp/other").exists()
    assert not Path("/var/tmp/new").exists()


def test_homes_secrets_and_other_folders_are_absent(scene: HomeFolders) -> None:
    absent = [
        *("/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/var/lib", "/var/run/docker.sock"),
        *("/sys", "/boot", "/mnt", "/run/user", "/dev/sda", "/dev/vda", "/dev/kmsg"),
        *(scene.home / ".ssh", scene.data, scene.outside, scene.session),
    ]
    said = scene.output("ls -d " + " ".join(map(str, absent)))
    for path, line in zip(absent, said.splitlines(), strict=True):
        assert line == f"ls: cannot access '{path}': No such file or directory"
    assert scene.output("ls -A ~").split() == ["project"]
    assert scene.output(f"grep -rl {SECRET} /tmp /var /run /home /etc 2>/dev/null") == ""


@pytest.mark.slow
def test_programs_of_projects_run(scene: HomeFolders) -> None:
    test = "class TestIt(unittest.TestCase):\n    def test_it(self):\n        assert True\n"
    scene.write("person/project/test_it.py", f"import unittest\n{test}")
    scene.write("person/project/main.c", "int main(void) { return 0; }\n")
    scene.write("person/project/Makefile", "all: main\n\t./main && echo made\n")
    commands = {
        "python3 -m unittest 2>&1": "OK",
        "make": "made",
        "git init -q && git add . && git -c user.name=a -c user.email=b commit -qm c && "
        "git log --format=%s": "c",
        "! test -x /usr/bin/node || test $(node -p '1+1') = 2": "",
        "getent passwd $(id -u) | cut -d: -f3": str(os.getuid()),
        "pwd": str(scene.workspace),
        "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-5]))'": "[5]",
        "python3 -c 'import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 0)'": "",
    }
    if scene.user.name != "this user":
        commands["getent passwd $(id -u) | cut -d: -f3"] = ""
    results = scene.run_together(*commands)
    for (command, wanted), (code, said) in zip(commands.items(), results, strict=True):
        assert (code, wanted in said) == (0, True), (command, said)


def test_commands_have_no_rights_and_see_no_other_process(
    scene: HomeFolders,
) -> None:
    victim = subprocess.Popen(["sleep", "600"], env={"TOKEN": SECRET})
    try:
        (_, status), (_, others) = scene.run_together(
            "cat /proc/self/status",
            "ls /proc | grep -c '^[0-9]'; cat /proc/*/environ | tr '\\0' '\\n'",
        )
        killed = scene.output(f"kill -9 {victim.pid} -1; kill -9 -1; true")
        assert victim.poll() is None, killed
    finally:
        victim.kill()
        victim.wait()
    fields = dict(line.split(":\t") for line in status.splitlines() if ":\t" in line)
    rights = [fields[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh")]
    assert rights == ["0" * 16] * 5
    assert fields["NoNewPrivs"] == "1"
    assert int(others.split()[0]) < 8
    assert SECRET not in others


def test_no_secret_of_the_environment_is_seen_by_any_process(scene: HomeFolders) -> None:
    command = "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'"
    said = scene.output(command, env={"OPENAI_API_KEY": SECRET, "PLAIN": "plain-value"})
    assert "plain-value" in said
    assert SECRET not in said
    assert str(scene.data) not in said  # nor what is hidden, by name


def test_namespaces_terminals_and_keys_are_refused(scene: HomeFolders) -> None:
    commands = ("unshare -U true", "unshare -n true", "unshare -m true", "chroot / true")
    others = (
        "mount -t tmpfs none /tmp",
        "tty",
        "python3 -S -c 'import fcntl; fcntl.ioctl(0, 0x5412, b\"x\")' 2>&1 | tail -1",
    )
    *results, mounted, terminal, typed = scene.run_together(*commands, *others)
    for command, (code, said) in zip(commands, results, strict=True):
        assert (code != 0, "not permitted" in said) == (True, True), (command, said)
    assert mounted[0] != 0
    assert terminal[1].strip() in ("not a tty", "/dev/null")
    assert "Errno 1" in typed[1]


CONNECT = """
import socket, sys
for family, address in eval(sys.argv[1]):
    try:
        with socket.socket(family) as each:
            each.settimeout(5)
            each.connect(address)
            print("reached")
    except OSError as error:
        print(type(error).__name__, error.errno)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("cached_python")
def test_no_network_and_no_sockets_of_others(scene: HomeFolders) -> None:
    name = f"\0agentstepper-{os.getpid()}-{scene.user.name}"
    path = scene.outside / "socket"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        abstract.bind(name)
        named.bind(str(path))
        abstract.listen()
        named.listen()
        targets = [
            (int(socket.AF_INET), tcp.getsockname()),
            (int(socket.AF_UNIX), name),
            (int(socket.AF_UNIX), str(path)),
            (40, (2, 22)),  # AF_VSOCK: the machine that this one may run on
        ]
        scene.write("person/project/connect.py", CONNECT)
        command = f"python3 connect.py {shell_quoted(repr(targets))}"
        alone = scene.output(command).splitlines()
        assert "reached" not in alone
        assert len(alone) == 4
        with_network = scene.output(command, has_network=True).splitlines()
        assert with_network[0] == "reached"
        assert "reached" not in with_network[1:]
        assert len(with_network) == 4
    own = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "socket.create_connection(s.getsockname()); print('own server')"
    )
    assert scene.output(f'python3 -c "{own}"') == "own server\n"


@pytest.mark.usefixtures("cached_python")
def test_sockets_of_others_in_the_workspace_are_not_reached(scene: HomeFolders) -> None:
    paths = [scene.workspace / "deep" / "server.sock", scene.outside / "asked.sock"]
    paths[0].parent.mkdir()
    servers = [socket.socket(socket.AF_UNIX) for _ in paths]
    try:
        for server, path in zip(servers, paths, strict=True):
            server.bind(str(path))
            server.listen()
        targets = [(int(socket.AF_UNIX), str(path)) for path in paths]
        scene.write("person/project/connect.py", CONNECT)
        command = f"python3 connect.py {shell_quoted(repr(targets))}"
        first, second = scene.output(command, readable=[paths[1]]).splitlines()
    finally:
        for server in servers:
            server.close()
    assert first != "reached"
    assert second == "reached"  # a person named this very socket
    # A socket that nobody is bound to any more is a file like others.
    assert scene.run("rm deep/server.sock")[0] == [0, ""]


def shell_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'").replace("\0", "\\0") + "'"


def test_granted_folders_are_there_but_never_what_is_hidden(scene: HomeFolders) -> None:
    more, other = scene.outside / "more", scene.outside / "other"
    for folder in (more, other):
        folder.mkdir()
        (folder / "file").write_text("text")
    command = (
        f"cat {more}/file {other}/file; echo x > {more}/new; echo y > {other}/new; "
        f"cat {scene.data}/token; ls -A {scene.data}"
    )
    said = scene.output(command, readable=[other, scene.data], writable=[more, scene.home])
    assert said.startswith("texttext")
    assert (more / "new").exists()
    assert not (other / "new").exists()
    assert SECRET not in said
    granted = scene.output(f"ls {scene.home}/.ssh", writable=[scene.home])
    assert granted == "id_rsa\n"  # by a person


def test_a_folder_that_was_granted_once_is_absent_afterwards(scene: HomeFolders) -> None:
    folders = [scene.outside, scene.home / "notes" / "deep"]
    folders[1].mkdir(parents=True)
    command = "; ".join(f"(echo x > {folder}/FILE) && echo written" for folder in folders)
    granted = scene.output(command.replace("FILE", "granted"), writable=folders)
    assert granted.count("written") == 2
    assert "written" not in scene.output(command.replace("FILE", "later"))
    assert sorted(os.listdir(folders[1])) == ["granted"]


def test_a_readable_folder_may_hold_the_workspace_and_what_is_hidden(scene: HomeFolders) -> None:
    subprocess.run(["git", "init", "-q", str(scene.workspace)], check=True)
    command = f"cat {scene.outside}/file notes {scene.data}/token; touch ok {scene.outside}/new"
    said = scene.output(command, readable=[scene.root])
    assert said.startswith(f"{SECRET}notes")
    assert said.count(SECRET) == 1
    assert (scene.workspace / "ok").exists()
    assert not (scene.outside / "new").exists()


def test_a_hidden_folder_in_the_workspace_or_above_it_is_absent(scene: HomeFolders) -> None:
    scene.write("person/project/.data/token", SECRET)
    inside = [scene.workspace / ".data"]
    said = scene.output("cat .data/token; ls -A .data; touch .data/x; ls notes", hidden=inside)
    assert SECRET not in said
    assert said.endswith("notes\n")
    assert sorted(os.listdir(scene.workspace / ".data")) == ["token"]
    assert scene.output("cat notes; touch ok", hidden=[scene.home]) == "notes"
    assert (scene.workspace / "ok").exists()


def test_files_of_deny_rules_are_neither_read_nor_changed(scene: HomeFolders) -> None:
    env = scene.write("person/project/deep/.env", SECRET)
    kept = scene.write("person/project/lock", "kept")
    command = (
        "cat deep/.env lock; cp deep/.env x; chmod 777 deep/.env; rm -f deep/.env lock; "
        "mv deep/.env y; mv lock z; echo changed > lock; ln deep/.env w; ln lock v; "
        "mv deep other; cat other/.env"
    )
    said = scene.output(command, unreadable=[env], read_only=[kept])
    assert SECRET not in said
    assert "kept" in said
    assert kept.read_text() == "kept"
    assert [path.read_text() for path in scene.workspace.rglob(".env")] == [SECRET]


def test_the_workspace_is_read_only_when_it_is_to_be(scene: HomeFolders) -> None:
    subprocess.run(["git", "init", "-q", str(scene.workspace)], check=True)
    before = sorted(os.listdir(scene.workspace / ".git"))
    [[code, said]] = scene.run(
        "cat notes; touch new; rm -f notes; touch ~/fine", is_workspace_writable=False
    )
    assert code == 0
    assert said.count("Read-only file system") == 2
    assert sorted(os.listdir(scene.workspace / ".git")) == before


def test_home_is_private_wherever_the_workspace_lies(scene: HomeFolders) -> None:
    assert scene.output("echo ~; touch ~/.cache-file") == f"{scene.home}\n"
    assert not (scene.home / ".cache-file").exists()
    [[code, said]] = scene.run("echo ~; touch ~/here; cat project/notes", workspace=scene.home)
    assert (code, said) == (0, "/home/agent\nnotes")
    assert not (scene.home / "here").exists()


def test_this_processs_own_python_stays_as_it_is_in_a_workspace(scene: HomeFolders) -> None:
    if scene.user.name != "this user":
        pytest.skip("the ordinary user's Python is the system's")
    prefix = Path(os.path.realpath(sys.prefix))
    said = scene.output(
        f"touch {prefix}/planted.pth; ls {prefix}/bin/python", workspace=prefix.parent
    )
    assert "Read-only file system" in said
    assert said.endswith("python\n")


def test_a_link_in_a_folder_of_the_search_path_shows_nothing(scene: HomeFolders) -> None:
    (scene.workspace / "bin").symlink_to(scene.home / ".ssh")
    (scene.workspace / ".venv").symlink_to(scene.outside)
    env = {
        "PATH": f"{scene.workspace}/bin:{scene.workspace}/.venv/bin:{os.environ['PATH']}",
        "VIRTUAL_ENV": f"{scene.workspace}/.venv",
    }
    said = scene.output(f"cat bin/id_rsa .venv/file {scene.outside}/file", shell=env)
    assert said.count("No such file or directory") == 3
    assert SECRET not in said


def start_agent(scene: HomeFolders, *words: str) -> ForkedAgent | subprocess.Popen[bytes]:
    """An agent of the scene's user that runs a command."""
    if scene.user.name == THIS:
        return ForkedAgent("bubblewrap", scene.workspace, *words)
    program = ("-m", "tests.coding.sandbox.agent", "bubblewrap", str(scene.workspace))
    environment = scene.user.environment({"HOME": str(scene.home)})
    return subprocess.Popen(scene.user.words(*program, *words), cwd=ROOT, env=environment)


@pytest.mark.slow
def test_commands_end_with_the_agent_that_is_killed(scene: HomeFolders) -> None:
    for name in ("home", "tmp"):
        (scene.workspace.parent / name).mkdir()
    held = FileHolders(scene.workspace / "pipe")
    scene.write("person/project/daemon.py", DAEMON)
    scene.user.own(scene.root)
    command = "python3 daemon.py pipe; sleep 600"
    with start_agent(scene, "sh", "-c", command) as agent:
        held.wait_for(2)
        agent.kill()
        held.wait_until_free()


@pytest.mark.slow
def test_more_rules_than_bubblewrap_takes_are_an_error_that_says_so(tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / f"{number}").touch()
    access = access_to(tmp_path / "ws", read_only=tuple(tmp_path.iterdir()))
    sandbox = Bubblewrap(find_bubblewrap_programs()[-1], ResourceLimits())
    with pytest.raises(SandboxError, match="Deny folders in place of files"):
        with sandbox.prepare_command(["true"], tmp_path, access):
            pass


def test_a_folder_to_write_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    access = access_to(tmp_path / "ws", writable=(tmp_path / "no",))
    sandbox = Bubblewrap(find_bubblewrap_programs()[-1], ResourceLimits())
    with pytest.raises(SandboxError, match="doesn't exist"):
        with sandbox.prepare_command(["true"], tmp_path, access):
            pass
