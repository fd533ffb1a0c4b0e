"""Ways around what is asked about, each of which was open once: a command a line."""

from __future__ import annotations

from typing import Final

#: As words.
WORDS: Final = r"""
cp -t/etc x
cp -rt/etc x
mv -t/etc x
install -t/usr/bin x
uniq x /etc/y
uniq x /dev/sda
xxd x /dev/sda
xxd -r x /dev/sda
cat /dev/sda
gcc -o /dev/sda x.c
gcc -wrapper rm,-rf,x y.c
dc -e '!rm -rf x'
go build -toolexec 'rm -rf x'
go test -exec 'rm -rf x' ./...
go vet -vettool=rm
pip --trusted-host list install x
pip --cert show install x
cargo +nightly install x
cargo --color always install x
hatch env run rm -rf x
poetry env remove x
yarn workspaces foreach exec rm -rf x
mvn clean deploy
bundle
python setup.py install
python setup.py develop
python -m poetry add x
python -m asyncio
python -m xonsh -c 'rm -rf x'
python -m coverage run -m pip install x
coverage run -m pip install x
env -C / tee etc/x
env --chdir=.. tee x
/usr/../tmp/evil
/bin/../tmp/evil
make CC='rm -rf x'
make test 'RUN=rm -rf x #'
rename 's/x/system("rm")/e' y
git whatchanged --output=/etc/x
git format-patch --output-directory=/etc -1
git format-patch -o/etc -1
git diff-tree -p --output=/etc/x HEAD
git stash show --output=/etc/x
git config --global user.name x
git config -f ../x user.name y
curl -D /etc/x y
curl -c /etc/x y
curl --trace-ascii /etc/x y
curl --stderr /etc/x y
wget --save-cookies /etc/x y
wget --output-file=/etc/x y
wget -o/etc/x y
sed -l 5 '1e rm -rf x' y
sed --line-length 5 '1e rm -rf x' y
sed -i '' 'w /etc/x' y
sed -n -s -l 5 'w /etc/x' y
tar cf /etc/x.tar y
tar -C/ -xf x
tar xfC x /
tar --one-top-level=/etc -xf x
zip /etc/x.zip y
unzip -d/etc x
grm -rf x
gfind . -delete
gchmod -R 777 .
coreutils --coreutils-prog=rm -rf x
numactl rm -rf x
systemd-inhibit rm -rf x
x86_64 rm -rf x
i386 rm -rf x
cross-env A=1 rm -rf x
lksh -c 'rm -rf x'
posh -c 'rm -rf x'
osh -c 'rm -rf x'
bash-static -c 'rm -rf x'
node --import 'data:text/javascript,x' y.js
deno run https://x/y.ts
deno run npm:rimraf src
bun run -
ruby -S gem install x
perl -S cpan x
pip-sync
jlpm add x
bat --pager 'rm -rf x' --paging=always y
nodemon --exec 'rm -rf x'
concurrently 'rm -rf x'
mpirun rm -rf x
shuf -o /etc/x y
shuf -o/dev/sda y
gcc -o /etc/x x.c
cpio -idm
pax -r
wipe -rf x
rimraf src
trash x
raku -e x
mongosh --eval x
watchexec rm -rf x
sort -o/etc/x y
split x /etc/y
csplit -f /etc/x y 1
mktemp -p/etc
patch -o/etc/x y
patch -d/etc x
tee -- /dev/sda
ln -sf /etc/passwd x
script x
rmdir /x
cc -o/dev/sda x.c
chflags -R nouchg .
nice -n5 rm -rf x
npm --prefix x install
pnpm --dir x add y
uv --directory x add y
python -mpip install x
python -m pip --isolated install x
python3 -m  pip.__main__ install x
git push origin +HEAD:main --no-verify
git clean -dffx
git reset --hard=x
git push origin HEAD:refs/heads/x -f
kill -s 9 -1
kill -n 9 -1
kill -9 -1 1234
find . -name x -exec rm {} \;
chown -hR x y
chmod -vR 777 x
/sbin/reboot
/sbin/shutdown -r now
pip3.11 install x
""".strip().splitlines()

#: What only a shell makes of them.
SHELL: Final = r"""
cp a .?/x
cp a .gi?/hooks/pre-commit
cp a x/.?/.?/y
mv a .gi[t]/config
chmod +x .gi[t]/hooks/x
CDPATH=/; cd etc && tee passwd
cd .git/hooks && echo x > pre-commit
cd .git && tee hooks/pre-commit
cat < ~/.ssh/id_rsa
test -v 'a[$(rm -rf x)]'
[ -v 'a[$(rm -rf x)]' ]
[[ -v 'a[$(rm -rf x)]' ]]
unset 'a[$(rm -rf x)]'
printf -v 'a[$(rm -rf x)]' y
read 'a[$(rm -rf x)]' < y
x='a[$(rm -rf y)]'; echo ${!x}
declare -n r='a[$(rm -rf x)]'; echo $r
declare -i r='a[$(rm -rf x)]'
typeset -i r; r='a[$(rm -rf x)]'
x='$(rm -rf y)'; echo "${x@P}"
x='$(rm -rf y)'; echo ${x@P}
jobs -x rm -rf x
for PATH in /tmp; do ls; done
printf -v PATH /tmp; ls
zsh -c '=rm -rf x'
zsh -c 'repeat 1 rm -rf x'
zsh -c '- rm -rf x'
echo ${ rm -rf x; }
echo x | deno run -A -
awk '{print ";" > "/etc/passwd"}' x
awk '{printf "%s;\n", $1 > "/etc/x"}' x
GIT_TRACE=/etc/x git status
exec > /dev/sda
{ echo x; } > /etc/x
wait -p 'a[$(rm -rf x)]' -n
getopts x 'a[$(rm -rf x)]'
mapfile 'a[$(rm -rf x)]' < y
: ${PATH:=x}
echo "${PATH:=/tmp}"
f() { rm -rf x; }
x=rm y=-rf; $x $y z
ls |& xargs rm
cat <<< "$(rm -rf x)"
case x in $(rm -rf y)) ;; esac
a=([$(rm -rf x)]=1)
echo "${a[$(rm -rf x)]}"
set -- rm -rf x; "$@"
mapfile -t -C 'rm -rf' -c 1 x < y
{fd}>/etc/x echo y
echo x >& /etc/y
function rm() { ls; }; \rm -rf x
time -p rm -rf x
! { rm -rf x; }
a=1 exec rm -rf x
""".strip().splitlines()
