package shell

import (
	"strings"
	"testing"
)

// Lines that must pass, one each; ⏎ stands for a line feed.
const nastyAccepted = `ls ""
ls \ x
sort -- x -k -o
ls 'my file' "$?"
ls -I'*.o' --sort=size
ls ~/src ./-x -- -y
ls [a-c]*.go ?.txt
"ls" -l
l's' -l
\ls
(ls; pwd)
{ ls; pwd; }
ls </dev/null
wc -l < go.mod
ls 2>&- 1>&2
ls &>>/dev/null
ls >|/dev/null
ls >&/dev/null
ls "a>b" 'c|d'
! git diff --quiet
! grep -q x f && echo no
cat -- -n
head -n5 -q a b
head -c -10 f
tail -n -5 f
tail +10 f
tail -5 f
wc -c *.go
du -sh -- */
stat -c %s *
file *
find
find . ! -name x
find src docs -type f
find . \( -name a -o -name b \) -prune -o -print
find . -newermt '2020-01-01'
find -L . -maxdepth 1
find . -name '-delete'
find . -regex '.*\.go' -printf '%p\n'
tree -L2
tree -I 'a|b' --dirsfirst
printf '%s\n' a b
printf "%-10s %5d\n" x 3
echo -n x
echo *
echo -e 'a\tb'
echo {a}
echo a{b
echo '{a,b}'
echo \{a,b\}
date -u +%s
date --iso-8601=seconds
date -d '1 day ago'
hostname -f
id
uname -sr
nproc --all
ps
ps -ef
ps -eo pid,%mem,args --sort=-rss
ps -p 123 -o comm=
ps -u root
ps -C node -o pid
ps axo pid,cmd
ps -aux
ps -efww
ps 1
lsof -i
lsof -nP -iTCP:80 -sTCP:LISTEN
lsof -p 12
lsof +D src
netstat -an
ss -s
ss -tan state established
pgrep -u ada -l ssh
pidof sshd
systemctl
systemctl is-active sshd
systemctl --no-pager status sshd -l
systemctl list-units --type=service --state=running
docker ps --filter status=exited
docker container ls -aq
docker images
docker stats --no-stream web
docker logs --tail 50 web
docker version
kubectl get pods
kubectl -n web get pods -o wide
kubectl get pods -o=json -A
kubectl get pods -ojsonpath='{.items[*].metadata.name}'
kubectl describe pod web-1
kubectl top pods
kubectl config current-context
command -v git go
type ls cd
which --all go
whereis -b ls
grep -rn --include='*.go' foo .
grep -e a -e b f
grep -5 foo f
grep -A3 -B 2 foo *
grep /dev/sda notes.md
grep -- -x f
grep $'a\tb' f
rg -tgo foo
rg -e '-x' src
rg --files
rg foo ./*.go
sort -rnk2 f
sort -t - -k2 f
sort f g
sort ./*.txt
uniq
uniq -f1 -s 2 f
cut -c1-10 f
jq -r '.a | keys[]' f
jq '.env' f
jq '.a["env"]' f
jq -n --arg env 1 '$__loc__'
jq -r '.[] | "\(.name) \(.version)"' f
jq . *.json
jq -c 'map(select(.x == "env"))' f
diff -U3 a b
diff <a b
tr a-z A-Z
tr -d '\r'
sed -n 5p f
sed -n '/a/,+3p' f
sed '1!d' f
sed -n '0~3p;$p' f
sed 's|a|b|;s,x,y,2' f
sed 's/[^/]*$//' f
sed 's/[]/]/x/' f
sed '\|a/b|d' f
sed 'y/abc/xyz/' f
sed -e ':a' -e 'N' -e '$!ba' -e 's/\n/ /g' f
sed '/w/{p;d}' f
sed 's/a/\n/g;q5' f
sed '/a/I!{s/x/w e/;p}' f
sed '3q' f
sed '1i header' f
sed --expression='s/a/b/' -E f
sed '# w out⏎p' f
awk 'NR % 2 == 0' f
awk '/a\/b/ {n++} END {print n/NR}' f
awk '/[/]/' f
awk '{print $1/1024/1024}' f
awk '{print ($1+$2)/2}' f
awk 'BEGIN {FS=","; OFS="\t"} {print $1, $2}' f
awk '{a[$1]++} END {for (k in a) print k, a[k]}' f
awk '{for (i=1;i<=NF;i++) s+=$i} END {print s}' f
awk '$1 ~ /x/ && $2 !~ "y|z" {print toupper($0)}' f
awk '{print "system(x) | sh > f"}' f
awk '/system/ || /\|/ {print}' f
awk '{if ($3>100) print $1; else printf "%s\n", $2}' f
awk -F'|' '{print $2}' f
awk -F '\t' -v OFS=, '{$1=$1}1' f
awk 'length > 80' f
awk '!seen[$0]++' *.log
awk 'NR>1{print $1}' a=1 f
awk '{ gsub(/"/, ""); print substr($0, 2) }' f
git --version
git -P log -3
git log -5 --oneline
git log -n 5 -- -x
git log --pretty=format:'%h %s'
git log HEAD@{1}..HEAD@{0}
git log @{u}..
git log -L 1,5:f.go
git log -SfooO
git log -Gx --all
git show HEAD~1:a/b.go
git show -s --format=%B
git diff -U0 -w HEAD^ -- *.go
git diff --no-index a b
git diff --name-status a b
git diff --ignore-submodules=dirty
git status -uno
git branch -r
git branch --contains HEAD
git branch --list
git branch -l 'x*'
git branch --no-merged
git branch --format='%(refname:short)'
git tag
git tag -l 'v1*'
git tag --sort=-creatordate
git tag --contains HEAD
git remote
git remote get-url origin
git stash show -p
git stash list --oneline
git config user.name
git config --list
git config --global --get core.editor
git config --get-regexp '^remote'
git config get user.name
git worktree list
git reflog show --date=iso
git rev-parse --show-toplevel
git rev-list --count HEAD
git ls-files '*.go'
git ls-tree -r --name-only HEAD
git grep -n foo -- src
git blame -w f
git merge-base main HEAD
git diff-tree --no-commit-id --name-only -r HEAD
git cat-file -t HEAD
git check-ignore -v x
ls --version
git show-branch -a
w
cat 文档.md à.txt
echo "完成；下一步 | x"
ls /dev
ls /proc/self
find / -name x
cat /proc/cpuinfo
awk '/a/ {print}⏎/b/ {n++}' f
awk '{⏎  if ($1 > 2) n++⏎}⏎END { print n }' f
true
ls || true
echo a # b \\ c
echo $'\x41\101\u0041\''`

// Lines that must be refused, one each; ⏎ stands for a line feed.
const nastyRefused = `git log # x \⏎rm -f k
git log # x \\⏎rm -f k
ls \
ls &
ls & pwd
rm
/bin/ls
~/ls
*
l?
$?
"$x"
ls $x
ls $HOME
ls ${?:-x}
ls ${#?}
ls $1 $$ $! $-
ls $(pwd)
ls "$(pwd)"
ls $((1))
ls $"x"
ls !(a)
ls $'\0'
ls $'\u4e00'
ls $'\q'
ls $'\cA'
ls $'\xff'
x=1
x=1 ls
ls > $?
ls > *
ls > "/dev/null/"
ls > /dev/nul?
ls 2>/dev/null 3>x
ls >&1x
ls >&x
ls 2>&/dev/null
ls <>/dev/null
ls 1<>/dev/null
ls <&3
ls <<<x
cat <<E⏎x⏎E
cat < /dev/zero
cat </dev/tcp/h/1
ls {a}>/dev/null
> /dev/null
>&2
if ls; then pwd; fi
while ls; do pwd; done
until ls; do pwd; done
for ((;;)); do ls; done
select x in a; do ls; done
case a in a) ls;; esac
function f { ls; }
[[ -f x ]]
[ -f x ]
test -f x
let x=1
((1))
time ls
time -p ls
coproc ls
declare x
export
readonly x=1
local x
ls | tee f
ls | xargs cat
ls | while read f; do cat $f; done
ls | bash
ls -Z\⏎; rm x
cat /dev/random
cat /dev/stdin
cat //dev//zero
cat /dev/../dev/tty
cat ../../../../dev/zero
cat ~/../../dev/zero
cat /d*/zero
cat /[d]ev/zero
cat /proc/self/environ
cat /proc/1/environ
cat /proc/*/environ
cat /proc/kmsg
cat /proc/self/fd/0
cat /proc/../proc/self/environ
cat /PROC/self/environ
cat /sys/kernel/debug/tracing/trace_pipe
grep -z x /proc/self/environ
grep -f /dev/zero x
strings /proc/self/environ
tr '\0' '\n' < /proc/self/environ
wc -l /dev/tty
sed -n p /dev/zero
awk 1 /dev/zero
jq . /dev/zero
head /dev/zero
rg --files /proc/self/environ
git diff --no-index /dev/zero x
tail -f x
tail -5f x
tail +5f x
tail -fn5 x
tail --pid=1 x
tail --retry x
tail -F
tail -qf x
find . -delete
find . -exec ls {} ;
find . -okdir x ;
find . -fprint0 x
find . -files0-from x
find . -name
find . -name *.go
find *.go
find . -D exec
find . -unknown
find . x -delete
find -files0-from x
find . -print-delete
find . -$?
find . --delete
find . -regextype posix-extended -regex '.*' -exec x ;
find . , -delete
sort -ro x y
sort -k1 -o x y
sort --o=x
sort --output x
sort --files0-from=x
sort -T x y
sort *.txt
sort -S -o x
sort --random-source=x y
sort --compress-prog=x y
uniq a b
uniq a -c
uniq - out
uniq -- a b
uniq a*
uniq -f 1 a b
uniq -1 a b
uniq +1 a b
tree -o x
tree -Lo 2 x
tree -ooo
tree -P x -o y
tree --output x
tree *
date -s x
date --set=x
date --set x
date 1
date +%s 1
date -f x
date -us x
hostname x
hostname -F x
hostname -b x
hostname *
file -C
file -mC x
file --compile
file -f x
file -z x
file -p x
printf -v x y
printf '%n' x
printf '%(%F)T'
printf '%5n' x
printf -- '%s%n' x y
printf "$?%n" x
ps e
ps auxe
ps -auxe
ps -axe
ps -efx
ps -eu x
ps -e -u x
ps -e -p 1x
ps -ef 1
ps eww 1
ps axE
ps -E
ps -u eve
ps -C e -p x
ps -o environ
ps axo pid,environ
ps -eo pid,bogus
ps -eo
ps --sort
ps -x e
ps f e
ps -o pid e
lsof -r
lsof -r2
lsof +r1
lsof -Db
lsof +D
lsof *
lsof -nr
netstat 1
netstat -tlnc
netstat --continuous
netstat -w 1
ss -tK
ss --kill
ss -D x
ss -F x
ss -E
ss -N ns
pgrep -F x
pgrep --signal 9 x
pkill x
free -s1
free -hs 1
free -c 2
vmstat 1
uptime x
arch x
arch -arm64 ls
nproc x
getconf -v x y
sw_vers -x
jobs -x ls
jobs -lx ls
locale -x
command ls
command -pv ls
command -v
command -v -p ls
command -vp ls
command -- ls
type -x
which -i
whereis -f x
env ls
exec ls
builtin echo
nice ls
stdbuf -o0 ls
setsid ls
xargs ls
parallel ls
su -c ls
doas ls
chroot . ls
unbuffer ls
strace ls
ltrace ls
script x
fd x
ag x
ack x
yes
seq 1 inf
sleep 1
less x
more x
most x
view x
nano x
python x.py
perl -e 1
ruby -e 1
php -r 1
lua x
deno x
go version
go env
make -n
xxd -r x y
install a b
ln -s a b
truncate -s0 x
mktemp
split x
csplit x 1
shred x
unlink x
patch
zcat x
curl x
wget x
ssh h ls
nc h 1
history -c
alias
unalias x
unset x
shopt -s extglob
set -x
ulimit -n 1
umask 0
cd x
pushd x
enable -n echo
bind -x x
complete -C x y
compgen -c
mapfile x
read x
wait
kill -0 1
fg
disown
grep --unknown x
grep -D read x f
grep --exclude-from=x y
rg --pre x y
rg --pre-glob x y
rg -z x
rg --search-zip x
rg -iz x
rg --hostname-bin=x y
rg --hyperlink-format=x y
rg foo *
rg --pr=x y
rg -g --pre=x y
diff -l a b
diff --paginate a b
diff -Dx a b
diff * x
jq env
jq -n '$ENV'
jq -n '$ENV.PATH'
jq -n '"\(env.X)"'
jq -n '"\("a" + env.X + "b")"'
jq '. as [$x] | env' f
jq 'env|.x' f
jq '{a:env}' f
jq -f x
jq --from-file x
jq -nf x
jq --slurpfile a f .
jq -L d .
jq 'import "a" as a; .'
jq 'include "a"; .'
jq -n 'repeat(1)'
jq -n '[recurse(.)]'
jq -n 'def f: f; f'
jq -n 'range(infinite)'
jq '"'
jq
jq -r
jq .a *
jq --in-place . f
jq '.. env' f
jq '..env' f
sed
sed -i
sed -n -i p f
sed -ni p f
sed -i.bak p f
sed -e p -i f
sed -I x p f
sed --in-place=.b p f
sed -f x
sed -nf x
sed --file=x
sed p *
sed w f
sed 'wout' f
sed '/x/w out' f
sed '1,2{w out' f
sed '$!w out' f
sed '1 ! w out' f
sed 's/a/b/gw out' f
sed 's/a/b/ge' f
sed 's/a/b/e;p' f
sed 's/a/b/we' f
sed 's,a,b,e' f
sed 's/a\/b/c/e' f
sed 's/[/]/x/e' f
sed 's/[\]/]/x/e' f
sed 's/[a/]/x/w o' f
sed 'e' f
sed 'e ls' f
sed '1e' f
sed '/a/e' f
sed '/[/]/e' f
sed '\xaxe' f
sed 'p;e' f
sed '{e}' f
sed 'W out' f
sed 'r x' f
sed 'R x' f
sed ':a;ba' f
sed ':a;s/a/a/;ta' f
sed 'a\⏎x⏎e' f
sed 'a x\⏎w out' f
sed 'y/a/b/e' f
sed 'y/a\/b/c\/d/w o' f
sed '}w o' f
sed '{p' f
sed 'p}' f
sed 'k' f
sed 's/a' f
sed 's/a/b' f
sed 'sxaxbxe' f
sed '0~w o' f
sed '1,w o' f
sed 'b x w' f
sed 'v 4;e' f
sed -s -e 'p' -e 'e' f
sed --expression=e f
sed --expr=e f
sed -n -- -i
sed -l -i p f
sed '# x⏎w out' f
sed 'p # x⏎e' f
sed "$?e" f
sed -n 'p' -f x
sed 's/x/y/;#⏎e' f
awk
awk -f x
awk -fx
awk -F, -f x
awk --file x
awk --file=x
gawk -e '{system("x")}'
gawk -l x 1
gawk -i x 1
gawk -o 1
gawk -p 1
gawk -d 1
gawk -E x
mawk -W exec x
mawk -Wi 1
awk 'BEGIN{system ("x")}'
awk 'BEGIN{x="system"; @x("y")}'
awk '@load "x"'
awk '@include "x"'
awk '{print>"x"}'
awk '{print $1>"x"}'
awk '{print ($1)>"x"}'
awk '{print($1)>"x"}'
awk '{print $1,⏎$2 > "x"}'
awk '{print $1 \⏎ > "x"}'
awk '{printf("%s",$1)>>"x"}'
awk '{printf "a" > $1}'
awk '{print "a" |"sh"}'
awk '{print |& "sh"}'
awk '{"ls" |getline x}'
awk '{getline x < "f"}'
awk 'BEGIN{while(1);}'
awk 'BEGIN{do {} while(1)}'
awk 'BEGIN{for(;;);}'
awk 'function f(){f()} BEGIN{f()}'
awk 'BEGIN{print ENVIRON["X"]}'
awk 'BEGIN{print PROCINFO["x"]}'
awk 'BEGIN{ARGV[1]="/dev/zero";ARGC=2}1'
awk 'BEGIN{close("x")}'
awk 'BEGIN{fflush()}'
awk 'BEGIN{x = y /2; print "/" ; system("x")}'
awk '{if (x) /"/; system("y") #"/}'
awk '(a) /"/ ; print > "x" #/'
awk '/a"/ {print > "x"} #"'
awk '/[/"]/ {print | "sh"} #"'
awk '{print a /b/ c > "x"}'
awk '1 # \⏎{print > "x"}'
awk '"' f
awk '/x' f
awk '{print' f -f x
awk 1 -f x
awk -v 'ENVIRON=1' 1
awk -v x 1
awk "$?" f
awk 'BEGIN { "date" | getline d; print d }'
awk '{ print $0 | "sort" }'
awk '{ print > FILENAME ".bak" }'
awk 'BEGIN { printf "x" | "cat 1>&2" }'
awk 'ſystem("x")'
git -c x.y=z status
git -cx.y=z status
git -C d status
git --git-dir=x status
git --git-dir x status
git --work-tree=x status
git --namespace=x log
git --exec-path=x log
git --html-path
git --no-pager -p log
git --no-pager --paginate log
git -- status
git help log
git log --help
git status --help
git *
git $?
git log --output=x
git log --outp=x
git log --out x
git diff --outpu x
git show --output=x
git diff -O x
git diff --ext-dif
git diff --textconv
git log --textconv
git log --show-signature
git log --format=%G?
git log --pretty='%h %GK'
git log --remerge-diff
git log --diff-merges=remerge
git log --dd
git log -p --submodule=diff
git diff --submodule
git diff --ignore-submodules=none
git status --ignore-submodules=none
git log *
git log -n --output=x
git log --grep --output=x
git shortlog -n --output=x
git shortlog --output=x
git rev-list --output=x HEAD
git diff-tree --output=x HEAD
git diff-index --ext-diff HEAD
git stash show --output=x
git stash show --ext-diff
git stash pop
git stash apply
git stash push
git stash -u
git stash clear
git stash create
git stash branch x
git stash -- list
git branch x
git branch x y
git branch -a x
git branch -c x
git branch -C x
git branch -t x y
git branch --track x
git branch --set-upstream-to=x
git branch --unset-upstream
git branch --merged -d x
git branch --list --no-list x
git branch --force x
git branch --edit-desc
git branch -- x
git branch *
git branch --color x
git branch -q x
git branch -i x
git tag x
git tag -a x
git tag -f x
git tag -s x
git tag -v x
git tag -n x
git tag --delete x
git tag -l -d x
git tag --sort=x y
git remote add x y
git remote show origin
git remote update
git remote prune origin
git remote -v update
git remote rename a b
git remote get-url a b
git worktree
git worktree prune
git worktree list add
git worktree remove x
git config
git config x
git config edit
git config unset a.b
git config set a.b c
git config a.b c
git config --add a.b c
git config --unset-all a.b
git config --replace-all a.b c
git config --edit
git config -e
git config --remove-section a
git config --global a.b c
git config --get a.b c d
git config a.b *
git config --file x a.b
git config --get-colorbool
git config list x
git reflog delete x
git reflog --all expire
git reflog drop
git reflog show --output=x
git symbolic-ref
git symbolic-ref -d HEAD
git symbolic-ref -m x HEAD
git symbolic-ref HEAD x
git symbolic-ref HEAD*
git hash-object -wt blob f
git hash-object -t blob -w f
git cat-file --filters HEAD:x
git cat-file --textconv x
git cat-file --batch-command
git blame --contents x f
git blame --textconv f
git blame --ignore-revs-file=x f
git grep -Ovim x
git grep --open-files-in-pager x
git grep --open x
git grep -nO x
git grep --textconv x
git grep --recurse-submodules x
git ls-remote
git fetch
git var -l
git var
git submodule status
git fsck
git archive HEAD
git bundle create x HEAD
git notes
git bisect log
git rerere
git apply x
git am
git update-index --refresh
git update-ref x y
git write-tree
git read-tree
git checkout-index -a
git fast-export
git format-patch -1
git difftool
git mergetool
git gui
git instaweb
git daemon
git shell
git send-email
git request-pull
git for-each-repo --config=x status
git for-each-ref --format='%(signature)'
git replace x y
git maintenance run
git sparse-checkout set x
git lfs ls-files
git foo
git ""
git -
docker
docker run x
docker build .
docker inspect x
docker top web auxe
docker -H x ps
docker --host=x ps
docker --config x ps
docker --context x ps
docker ps x
docker logs -f x
docker logs --follow x
docker logs -ft x
docker stats --no-stream=false
docker stats -a
docker container rm x
docker container
docker image prune
docker system prune
docker system df x
docker volume rm x
docker compose ps
docker compose up
docker events
docker attach x
docker cp a b
docker login
docker foo
kubectl
kubectl apply -f x
kubectl exec x -- ls
kubectl get -f x
kubectl get --filename=x
kubectl get pods --watch
kubectl get pods --watch-only
kubectl get pods -Aw
kubectl get pods -w=true
kubectl get --raw /
kubectl get pods -o jsonpath-file=x
kubectl get pods -ogo-template-file=x
kubectl --kubeconfig x get pods
kubectl --server=x get pods
kubectl -s x get pods
kubectl --token=x get pods
kubectl --as=x get pods
kubectl --context x get pods
kubectl get pods --server x
kubectl get -k x
kubectl logs -f x
kubectl logs --follow x
kubectl cluster-info dump
kubectl config view --raw
kubectl config use-context x
kubectl config set a b
kubectl edit x
kubectl port-forward x 1
kubectl proxy
kubectl rollout restart x
kubectl foo
kubectl -v 9 get pods
systemctl stop x
systemctl start x
systemctl show x
systemctl cat x
systemctl edit x
systemctl daemon-reload
systemctl status -M x y
systemctl status --host=x y
systemctl --root=x status
systemctl status -Hx y
systemctl -H x
systemctl show-environment
systemctl set-environment x=1
systemctl kill x
systemctl isolate x
systemctl --force reboot
ls {a,b}
ls {1..3}
ls {a,"b"}
ls {"a",b}
ls a{b,c
find . -{delete,print}
find . -{"delete",print}
find . {-delete,.}
git {log,push}
sort {-o,x} y
ls {{a,b}}
ls {a{b,c}d}
ls ​x
git log　-1
gіt status
lѕ
echo "$(ls)"
ls ；rm -rf build
ls –la
ls a｜sh
sort －o x y
echo “a”
grep -r KEY /
rg KEY //
grep -r KEY /proc
awk '{x=(a⏎/"/ " system(1) "/ b)}' f
awk '{print a⏎/b/ > "x"}' f
kubectl get secret x -o yaml
kubectl get pods,secrets
kubectl get secret/x
echo ${x}
echo ` + "`ls`" + `
echo "${?@P}"
! rm x
! ! rm x
(rm x)
{ rm x; }
(ls; (pwd; rm x))
ls && (pwd || rm x)
ls |& rm x
ls;rm x
ls⏎rm x
ls⏎⏎#c⏎rm x
ls &&⏎#c⏎rm x
ls #⏎rm x
ls '⏎' ; rm x
ls "a"'b'; rm x
echo a\\; rm x
echo "\\"; rm x
echo $'\\'; rm x
echo $'a\'b'; rm x
echo '\'; rm x
echo "a\"b"; rm x`

func TestNasty(t *testing.T) {
	for _, list := range []struct {
		lines string
		want  bool
	}{{nastyAccepted, true}, {nastyRefused, false}} {
		for line := range strings.SplitSeq(list.lines, "\n") {
			command := strings.ReplaceAll(line, "⏎", "\n")
			t.Run(command, func(t *testing.T) { expect(t, command, list.want) })
		}
	}
}
