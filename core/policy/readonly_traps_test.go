package policy_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/stretchr/testify/require"
)

// asks fails unless each line asks however commands can be confined.
func asks(t *testing.T, e *policy.Engine, p places, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n")
		if line == "" || strings.HasPrefix(line, "##") {
			continue
		}
		for _, confinable := range []string{policy.Namespaces, "landlock", ""} {
			if d := judgeFree(t, e, confinable, line, p); d.Decision == policy.Allow {
				t.Errorf("%q is free with confinement %q: %s", line, confinable, d.Reason)
			}
		}
	}
}

// PB-06: no line that only resembles those of readonly.txt runs unasked.
func TestReadOnlyLookalikes(t *testing.T) {
	lines := listed(t, "lookalikes.txt")
	require.GreaterOrEqual(t, len(lines), 300)
	e := table(t)
	for _, confinable := range []string{policy.Namespaces, "landlock", ""} {
		for _, line := range lines {
			d := judgeFree(t, e, confinable, line, nil)
			require.NotEqual(t, policy.Allow, d.Decision, "%q with confinement %q: %s", line, confinable, d.Reason)
		}
	}
}

// PB-01: the known traps.
func TestReadOnlyTraps(t *testing.T) {
	asks(t, table(t), nil, `
## options that run or write
rg --pre ./x foo
rg --pre=sh foo
rg --pre-glob '*' --pre sh foo
rg -z foo
rg --search-zip foo
rg --hostname-bin ./x foo
rg -nz foo
fd -x rm
fd . -X rm
fd -l
fd --exec rm
fd --exec-batch=rm
fd -Hx rm
find . -exec rm {} \;
find . -exec rm {} +
find . -exec cat {}
find . -exec sed -i s/a/b/ {} +
find . -exec sed -n "$x" {} \;
find . -exec sh {} \;
find . -exec {} \;
find . -exec cat {} \; -delete
find . -exec cat {} \; -exec rm {} \;
find . -exec echo + {} \; -exec rm {} +
find . -exec sort {} -o a \;
find "$x" -exec rg a {} \;
find * -exec rg a {} \;
find . -exec rg a * {} \;
find . -exec $x {} \;
find . -exec cat /etc/shadow {} +
find . -exec cat ~/.ssh/id_rsa \;
find /root -exec cat {} \;
find . -exec cat {} "$e" \;
find . -execdir cat {} \;
find . -ok cat {} \;
find . -exec env {} \;
find . -exec find {} -delete \;
find . -exec xargs {} \;
find . -execdir cat {} +
find . -ok cat {} \;
find . -okdir cat {} \;
find . -delete
find . -name x -delete
find . -fprint out
find . -fprint0 out
find . -fprintf out %p
find . -fls out
find . -files0-from list
find . $x
find . "$x"
find $x
find -- . -delete
sed -i s/a/b/ f
sed -i.bak s/a/b/ f
sed -ni p f
sed -nie p f
sed --in-place s/a/b/ f
sed --in-pl s/a/b/ f
sed -n 'w out' f
sed 's/a/b/w out' f
sed -n 'W out' f
sed 's/a/id/e' f
sed '1e id' f
sed 'r /etc/shadow' f
sed 'R /etc/shadow' f
sed -f script f
sed -e p -f script f
sed --file=script f
sed "$x" f
sed -n "${N}p" f
sort -o out in
sort -oout in
sort in -o in
sort --output=out in
sort --outp=out in
sort --compress-program=./x in
sort --comp ./x in
sort -T . in
sort --files0-from=list
uniq a b
uniq -c a b
uniq -- a b
shuf -o out in
tree -o out
tree -R -L 1
tree -Ro out
date -s 12:00
date --set=12:00
date --set 12:00
date --se=12:00
date 112312002026
date -us 12:00
date -f list
hostname new
hostname -F file
xxd a b
xxd -r a
xxd -r -p a
file -C -m x
file -m x f
file -z f
file -f list
df --sync
ps e
ps auxe
ps axe
ps eww
ps -o pid,environ
ps -Eo pid
ps aux e
printf -v x %s y
printf -vx %s y
jq env a.json
jq '.x | env' a.json
jq '$ENV.HOME' a.json
jq '$ENV' a.json
jq '"\(env.HOME)"' a.json
jq '..env' a.json
jq 'import "x" as x; .' a.json
jq 'include "x"; .' a.json
jq input_filename a.json
jq -f x.jq a.json
jq -L . . a.json
jq --from-file x.jq a.json
jq "$x" a.json
jq '"x" | modulemeta' a.json
git -c core.pager=./x log
git -c x.y=z status
git --config-env=a=b log
git --exec-path=. log
git --git-dir=x log
git --work-tree=x status
git log --output=out
git log --outp=out
git diff --output=out
git diff --no-index a b
git diff --no-ind a b
git diff /etc/passwd /etc/shadow
git diff ../../x ../../y
git diff -Oorder
git diff --ext-diff
git diff --textconv
git show --textconv
git show --ext-diff
git log --ext-diff -p
git log --show-signature
git log --format=%GG
git log --pretty=format:%G?
git blame --contents /etc/shadow f
git blame --contents=x f
git grep -O foo
git grep --open-files-in-pager=./x foo
git grep --no-index foo
git cat-file --filters HEAD:a
git cat-file --textconv HEAD:a
git config --file x --list
git config -f x --list
git config --file=x a.b
git config --edit
git config -e
git config a.b c
git config --unset a.b
git config --add a.b c
git config get a.b c
git config set a.b c
git branch new
git branch -v new
git branch -d x
git branch -D x
git branch -m a b
git branch --edit-description
git branch -f a b
git branch -u origin/x
git tag v1
git tag -d v1
git tag -a v1 -m x
git tag -v v1
git tag -s v1
git tag --verify v1
git for-each-ref --format='%(signature)'
git for-each-ref --sort=signature
git branch --sort=signature
git remote add x y
git remote update
git remote show origin
git remote remove x
git stash
git stash pop
git stash drop
git stash list --output=x
git worktree add x
git reflog expire --all
git reflog delete x
git symbolic-ref HEAD refs/heads/x
git ls-remote
git fetch
git help -a
git lg
git log $x
git log --$x
git show "$x"
git verify-commit HEAD
git show --remerge-diff
git diff --submodule=diff
git archive HEAD
git bundle create x HEAD
git format-patch -1
go env -w A=B
go env -u A
go list -toolexec ./x ./...
go list -export ./...
go list -compiled ./...
go list -cgo ./...
go list -mod=mod ./...
go list -modfile=x.mod ./...
go list -overlay=x ./...
go list -m -u all
go list -m -versions x
go list -exec ./x
go doc -http
go doc -http=:8080
go vet ./...
go build ./...
go run .
go test ./...
go get x
go mod tidy
go mod download
go tool x
go generate
go telemetry on
## programs that are not in the table
env
env -i ls
printenv
node -e 1
npm ls
pip list
cargo --version
yq . a.yaml
python3 -c 1
python3 x.py
gcc x.c
make
make -n
tee out
less a
man ls
curl http://x
ssh x ls
sudo ls
su -c ls
nohup ls
exec ls
. ./x
source x
tar tf x.tar
zcat x.gz
dd if=a
cp a b
ln -s a b
awk 'BEGIN{system("id")}'
awk '{print | "sh"}' f
awk '{print > "out"}' f
awk '{"id" | getline x}' f
awk '{getline x < "/etc/shadow"; print x}' f
awk 'BEGIN{print ENVIRON["X"]}'
awk 'BEGIN{ARGV[1]="/etc/shadow";ARGC=2}{print}' x
awk -f prog f
awk -i inplace '{print}' f
awk -l x '{print}' f
gawk -E x
gawk -o '{print}'
gawk -p '{print}' f
awk "$x" f
## the environment before a command
PATH=. ls
PATH=.:$PATH ls
LD_PRELOAD=./x.so ls
LD_LIBRARY_PATH=. ls
BASH_ENV=x ls
IFS=/ ; ls $x/etc
GIT_DIR=x git log
GIT_PAGER=./x git log
PAGER=./x git log
GIT_EXTERNAL_DIFF=./x git diff
GIT_CONFIG_COUNT=0 git log
GOFLAGS=-toolexec=./x go list
GOTOOLCHAIN=go9 go version
RIPGREP_CONFIG_PATH=x rg foo
JQ_LIB=x jq . a
TREE_X=./x tree
HOME=. git log
export PATH=.; ls
env PATH=. ls
env LD_PRELOAD=x ls
env -u GIT_CONFIG_COUNT git log
env -S 'ls' x
unset GIT_CONFIG_COUNT; git log
echo $AWS_SECRET_ACCESS_KEY
echo "${TOKEN}"
echo ${TOKEN:-x}
echo ${TOKEN:=x}
echo "${!x}"
echo ${!A*}
echo $((TOKEN))
cat <<< "$TOKEN"
cat <<E\n$TOKEN\nE
grep x <<< $GITHUB_TOKEN
for i in $TOKEN; do echo $i; done
## reads elsewhere
cat /etc/shadow
cat /root/.ssh/id_rsa
cat ~/.ssh/id_rsa
cat ~root/x
cat ../../x
cat ../../home/u/x
head -1 /var/log/auth.log
grep x /proc/1/environ
cat /proc/self/environ
rg x /
rg x /home
find / -name x
find ~ -name x
ls /home/other
du /
tree /
jq . /root/x.json
jq --slurpfile a /root/x.json . a
jq --rawfile a /root/x . a
grep -f /root/x a
grep --file=/root/x a
grep -rf /root/x a
diff a /root/x
diff --from-file=/root/x a
diff --to-file /root/x a
wc --files0-from=/root/x
cat < /root/x
cat 0</root/x
echo "$(</root/x)"
read x < /root/x; echo "$x"
mapfile a < /root/x; echo "${a[@]}"
while read l; do echo $l; done < /root/x
exec 3< /root/x; cat <&3
{ cat; } < /root/x
(cat) </root/x
if cat; then echo; fi < /root/x
f() { cat; }; f < /root/x
for f in /root/x; do cat "$f"; done
x=/root/x; cat $x
cat {/root/x,a}
xargs -a /root/x echo
git -C /root/x log
git -C "$x" log
git grep -f /root/x
git ls-files -X /root/x
git blame -S /root/x f
cd /root && cat x
cd / && cat etc/shadow
ls /root/*
cat /root/*.key
fd x /root
fd -C /root x
fd --base-directory=/root
date -r /root/x
stat /root/x
realpath /root/x
sha256sum /root/x
rg --ignore-file /root/x foo
rg -f /root/x
go list -C /root
## abbreviations and unknown options
ls --colo=auto --unknown
ls --al
cat --numbe f
grep --recurs x .
head --line=3 f
rg --hidde x
ls -y
cat -x f
grep -j x f
wc -q f
ls --all=x
## programs elsewhere
./ls
bin/ls
/tmp/ls
../ls
~/bin/ls
"$x" a
$(echo ls)
/w/ls
## the shell
ls; rm x
ls && rm x
ls | sh
ls > out
ls >> out
ls 2> err
ls &> out
cat a > b
echo x > /root/x
ls | tee out
ls | xargs rm
ls | xargs -I{} sh -c 'rm {}'
xargs -a list
xargs
timeout 5 rm x
bash -c 'rm x'
bash -c "$x"
bash x.sh
bash -ic ls
bash --rcfile x -c ls
bash -s
sh
eval "$x"
trap 'rm x' EXIT; ls
coproc cat x > y
ls <(rm x)
ls $(rm x)
ls; unknown
command rm x
nice rm x
time rm x
stdbuf -oL rm x
env rm x
find . | xargs find
find . | xargs sed -n p
ls | xargs rg foo
ls | xargs sort
ls | xargs fd
`)
}
