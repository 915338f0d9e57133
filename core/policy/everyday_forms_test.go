package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// formsEngine returns an engine whose rules allow everyday programs.
func formsEngine(t testing.TB) *policy.Engine {
	t.Helper()
	return engine(t, policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Allow, Priority: 100, Tier: policy.TierUser, AllowRedirection: true,
		CommandPrefix: strings.Fields("git ls cat sed wc grep rg make go head tail echo printf find sort mkdir cp diff touch date nproc pwd dirname basename xargs cut seq tr")})
}

// PB-03: everyday forms are allowed where rules allow their programs.
func TestEverydayForms(t *testing.T) {
	e := formsEngine(t)
	for line, want := range forms(t, policy.Allow, `
git -C src status
for p in a b; do git -C $p status; done
for p in a b; do git -C "$p" log --oneline -3; done
for p in a b; do (cd $p && go test ./...); done
for p in a b; do (cd "$p" && go test ./...); done
for p in {a,b}; do (cd "./$p" && make); done
for p in a "b c"; do (cd "$p" && make); done
for p in a b; do for q in x y; do (cd $p/$q && make); done; done
for p in a b; do d=src/$p; (cd $d && make); done
p=a; cd $p && make
p=a; q=$p/b; cd "$q" && make
cd "$(git rev-parse --show-toplevel)"
cd "$(git rev-parse --show-toplevel)" && ls
cd $(git rev-parse --show-toplevel 2>/dev/null) && go build ./...
cd "$(git rev-parse --show-toplevel)/src" && ls
cd "$(git rev-parse --show-toplevel)" && cd src && ls
root=$(git rev-parse --show-toplevel); cd "$root/src" && ls
root=$(git rev-parse --show-toplevel); (cd $root && make) && git status
cd sub && cd "$(git rev-parse --show-toplevel)/x" && make
f=src/a.go; cd "$(dirname "$f")" && ls
f=src/a.go; cd $(dirname $f) && ls
for f in a/x.go b/y.go; do (cd "$(dirname "$f")" && go vet .); done
cd "$(dirname src/a.go)" && cat "$(basename src/a.go)"
cd "$(dirname -- src/a.go)" && ls
cd -
cd src && ls && cd -
cd src && cd - && ls
cd src; make; cd - >/dev/null; ls
pushd src && ls && popd
N=12; sed -n "${N}p" a.txt
N=12; sed -n "$N,20p" a.txt
N=12; M=20; sed -n "${N},${M}p" a.txt
for n in 1 2 3; do sed -n "${n}p" a.txt; done
for n in $(seq 1 3); do sed -n "${n}p" a.txt; done
N=$(wc -l < a.txt); sed -n "${N}p" a.txt
N=$(grep -c x a.txt); sed -n "1,${N}p" a.txt
N=$((3+4)); sed -n "${N}p" a.txt
sed -n "$((N+1))p" a.txt
git diff $(git merge-base a b)
git diff "$(git merge-base main HEAD)"..HEAD
base=$(git merge-base main HEAD); git diff $base
git show "$(git rev-parse HEAD~1)"
b=$(git rev-parse --abbrev-ref HEAD); git log origin/$b
b=$(git branch --show-current); git log "origin/$b"..HEAD
make -j$(nproc)
make -j "$(nproc)"
mkdir -p out/$(date +%Y%m%d)
echo "$(date +%F)" >> log.txt
rg foo "$(pwd)"
cp a.txt b.txt d
cp *.txt d
for f in *.txt; do cp "$f" d; done
cp -- $(cat f) d
`) {
		d := e.Decide(formsCall(t, line))
		require.Equal(t, want, d.Decision, "%s: %s", line, d.Reason)
	}
}

// PB-03: their variants that may leave the workspace, bring an option or run
// something ask.
func TestEverydayFormsThatAsk(t *testing.T) {
	e := formsEngine(t)
	for line, want := range forms(t, policy.AskUser, `
for p in a ..; do (cd $p && make); done
for p in a /etc; do (cd $p && make); done
for p in a ~; do (cd $p && make); done
for p in */; do (cd "$p" && make); done
for p in $(cat f); do (cd "$p" && make); done
for p in a "b c"; do (cd $p && make); done
for p in a b; do p=$(cat f); (cd $p; make); done
for p in a b; do cd $p; make; cd ..; done
for p; do (cd $p && make); done
select p in a b; do cd $p && make; done
p=/etc; cd $p && make
p=a; p=/etc; cd $p && make
p=a; while true; do (cd $p && make); p=/etc; done
p=a; read p; cd $p && make
p=a; mapfile p; cd $p && make
p=a; unset p; cd $p && make
p=a; p+=/../..; cd $p && make
p=a; ((p=5)); cd $p && make
p=a; eval p=/; cd $p && make
p=a; "$x" p; cd $p && make
p=a; command read p; cd $p && make
p=a; \read p; cd $p && make
p=a; trap 'p=/' DEBUG; cd $p && make
p=a; exec {p}>x; cd $p && make
p=a; printf -v p %s /; cd $p && make
declare -n q=p; p=a; q=/; cd $p && make
f() { local p; cd $p; }; p=a; f; make
f() { p=/; }; p=a; f; cd $p && make
ls && p=a; cd $p && make
if ls; then p=a; fi; cd $p && make
(p=a); cd $p && make
p=a | cd $p && make
p=a & cd $p && make
p=a ls; cd $p && make
cd $p && make; p=a
d=$x/y; x=a; cd $d && make
p=; cd $p && make
p=a; p=; cd $p && make
p=a; p=''; cd $p && make
p=-; cd $p && make
p=-P; cd $p && make
p='~'; cd $p && make
p=a; cd ../$p && make
p=a; bash -c 'cd $p && make'
IFS=/; p=a/b; cd $p; make
CDPATH=/; p=a; cd $p && make
cd() { :; }; p=a; cd $p && make
p="a -x"; git -C $p status
cd "$(git rev-parse --show-toplevel)/.." && make
cd "$(git rev-parse --show-toplevel)" && cd .. && make
cd "$(git rev-parse --show-toplevel)"; cp x .git/config
cd up && cd "$(git rev-parse --show-toplevel)" && make
cd none && cd "$(git rev-parse --show-toplevel)" && make
cd "$(git -C lib rev-parse --show-toplevel)" && make
git() { echo /; }; cd "$(git rev-parse --show-toplevel)" && make
dirname() { echo /; }; cd "$(dirname a/b)" && make
cd "$(dirname "$f")" && make
cd "$(dirname "$1")" && make
cd "$(dirname /etc/x)" && make
cd "$(dirname -z a/b)" && make
f=../x/y; cd "$(dirname "$f")" && make
f=a/b; cd "$(dirname $f ..)" && make
cd /tmp && cd - && make
cd $x; cd -; make
OLDPWD=/; cd - && make
OLDPWD=/ bash -c 'cd - && make'
env OLDPWD=/ bash -c 'cd - && make'
while ls; do (cd - && make); OLDPWD=/; done
for i in 1 2; do (cd - && make); read OLDPWD; done
cd -- -; cd "$OLDPWD/.." && make
sed -n "${N}p" a.txt
N=e; sed -n "$N" a.txt
N='1e id'; sed -n "${N}p" a.txt
N=1; N='e id'; sed -n "${N}p" a.txt
N=$(git rev-parse HEAD); sed -n "${N}p" a.txt
N=$(cat f); sed -n "${N}p" a.txt
N=1; N=$(cat f); sed -n "${N}p" a.txt
ls && N=1; sed -n "${N}p" a.txt
N=$(wc -l a.txt | tr -d x); sed -n "${N}p" a.txt
for n in $(seq 1 3) $(cat f); do sed -n "${n}p" a.txt; done
git diff $(cat base)
git log "$(git rev-parse --abbrev-ref HEAD)"
git log "$(git rev-parse --foo HEAD)"
git log "$(git branch --show-current)"
b=$(git branch --show-current); git log $b
b="x $(git branch --show-current)"; git log $b
cp $(cat f) a
cp "$(cat f)" a
x=$(cat f); cp $x a
x=$(cat f); cp "$x" a
`) {
		d := e.Decide(formsCall(t, line))
		require.Equal(t, want, d.Decision, line)
	}
}

// forms returns lines with the expected verdict.
func forms(t testing.TB, want policy.Verdict, text string) map[string]policy.Verdict {
	t.Helper()
	all := map[string]policy.Verdict{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all[line] = want
		}
	}
	return all
}

// formsCall returns a call in the workspace /w, which is a repository.
func formsCall(t testing.TB, line string) policy.Call {
	t.Helper()
	c := command(t, line, policy.ModeDefault)
	c.Dir, c.Roots = "/w", []string{"/w"}
	c.Repositories = map[string]policy.Repository{"/w": {Top: "/w"}, "/w/sub": {Top: "/w/sub"}, "/w/up": {Top: "/"}, "/w/src": {Top: "/w"}}
	return c
}
