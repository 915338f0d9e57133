package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-25, AR-26: options that set a variable, read a format, or compose the name
// of a written file are not covered by a rule that allows their program.
func TestTextsThatOptionsTake(t *testing.T) {
	e := engine(t, policy.Rule{
		Tools: []string{"run_shell_command"}, Decision: policy.Allow, Priority: 100, Tier: policy.TierUser, Source: "test", AllowRedirection: true,
		CommandPrefix: strings.Fields("xargs ls git sed make cmake pytest cp mv ln install patch csplit split curl rsync cat read for rename grep nproc echo true gzip gunzip wget mypy ruff strip nm exiftool mlr"),
	})
	for want, lines := range map[policy.Verdict][]string{
		policy.AskUser: {
			"xargs --process-slot-var=PATH ls", "xargs --process-slot PATH ls", "xargs --process-slot-var=LD_PRELOAD ls", `xargs --process-slot-var="$x" ls`, "xargs --process-slot-var GIT_CONFIG_COUNT git log",
			"git log --pretty='format:%+G?'", "git log --format='%-GK'", "git log --format='% GS'", "git log --format='%w(10)%+GG'", "git show -s --format='%+G?'", "git stash list --format='%+G?'", "git log --format=%G?",
			"git rev-list --pretty=tformat:%-GT HEAD", "git shortlog --group=format:%+GS", "git tag -l --format='%(*signature)'", "git tag --format '%(signature:key)'", "git branch --format='%(*signature)'", "git branch --format '%(*signature)'",
			"git for-each-ref --form='%(*signature:grade)'", "git for-each-ref --sort=signature", "git branch --sort=-signature:key", "git tag --sort '*signature'", "git -c branch.sort=signature branch",
			`git log --format="%$x"`, `x='G?'; git log --format="%$x"`, `x=%G; git log --format="$x?"`, `git log --format="$(cat f)"`, `git log --format="%+$x"`, `x=$(cat f); git log --pretty="format:%h $x"`, `git tag --format "$(cat f)"`,
			"read x < f; git log --format=\"$x\"", `for x in h 'G?'; do git log --format="%$x"; done`, `x=--format=%+G?; git log $x`, "git log --pretty=%`cat f`",
			"sed -i'.fettle/*' s/a/b/ policies.toml", "sed --in-place='.git/hooks/*' s/a/b/ x", "sed -i'AGENTS.md*' s/a/b/ x", "sed -ni'AGENTS.*' s/a/b/ md", "sed --in='x/*' s/a/b/ y", `sed -i"$x" s/a/b/ y`, "sed -i.md s/a/b/ AGENTS",
			"sed -i.md s/a/b/ AGENT*", "x=AGENTS; sed -i.md s/a/b/ $x", "sed -Ei.md -e s/a/b/ -- AGENTS",
			`make "X=$(cat f)"`, `make X="$(cat f)" test`, `x=$(cat f); make "$x"`, `x='X=$(shell ls)'; make "$x"`, `x='$(shell ls)'; make X="$x"`, `x=SHELL; make "$x=./f"`, "read x < f; make \"$x\"", `for t in $(cat f); do make "$t"; done`,
			"make SHELL=./x", "make 'X=$(shell ls)'", "cmake --build . -- SHELL=x", "cmake --build . -- 'X=$(shell ls)'", `cmake --build . -- "X=$(cat f)"`, "cmake --build . -- --eval=x",
			"pytest @f", "x=@f; pytest $x", `pytest "$(cat f)"`,
			"cp -bS .md x AGENTS", "cp -b --suffix=.md x AGENTS", "cp --suf .md x AGENTS", "mv -S.md x AGENTS", "install -b -S .md x AGENTS", "ln -b --suffix=.md x AGENTS", "cp x AGENTS -bS.md", "x='-S .md'; cp $x x AGENTS",
			"patch -z s.md -b AGENT p", "patch -b -B .git/ x p", "csplit --prefix=AGENTS --suffix-format=.md f 1", "csplit -f AGENTS -b .md f 1", "split --additional-suffix=.md f AGENTS",
			"curl -o '#1.md' 'u/{AGENTS}'", "curl -o'#1.md' 'u/{AGENTS}'", "curl --output '#1' 'u/{AGENTS.md}'", "curl --output-dir .github -o workflows/x.yml http://x",
			"curl -w @f u", "curl -sw@f u", "curl --write-out=@f u", "curl --write-out @f u", "curl -w '%output{x}' u", `curl -w "$(cat f)" u`,
			"gzip -S .md AGENTS", "gunzip --suffix=.x AGENTS.md.x", "wget -nH -x http://x/.git/config", "wget -rnH http://x/", "wget -r -nvH http://x/", "wget -r --cut-dirs=1 http://x/", "mypy @f", "ruff check @f", "strip @f", "nm @f",
			"exiftool -if 'system(1)' f", "exiftool '-a<${b;system(1)}' f", "exiftool -w .md AGENTS.jpg", "exiftool -@ f", `mlr put '$x = system("ls")' f`, "mlr put -f x f", "mlr --prepipe ./x cat f", `mlr put 'tee > "x", $*' f`,
			"git config branch.sort signature", "git -c tag.sort=x tag", "rename 's/x/system(1)/e' f",
			"cp --parents .git/config ..", "cp --par .git/config y", "rsync -R x/./.git/config .", "rsync -aR x/./.git/config .", "rsync --relative a b", "rsync --rel a b", "rsync --suffix=.md -b x AGENTS", "rsync --files-from=f a .",
		},
		policy.Allow: {
			"xargs --process-slot-var=SLOT ls", "ls | xargs -n1 ls",
			"git log --format='%h %an %s'", "git log --pretty=format:'%h %ad | %s%d [%an]' --date=short", "git log --oneline --grep='100%Good'", "git show -s --format=%ci HEAD", "git log signature", "git tag --sort=-creatordate", "git branch --sort=-committerdate",
			`git for-each-ref --format='%(refname:short) %(contents:signature)'`, `for f in h an; do git log --format="%$f"; done`, "git log --date=format:%G-%V", `git log -n "$#" --format=%H`,
			"sed -i s/a/b/ f", "sed -i.bak s/a/b/ f g", "sed --in-place=.orig -e s/a/b/ f", "sed -ni 1p f",
			"make", "make -j4 test V=1 PREFIX=/usr", "make -j $(nproc)", "make -j$(nproc) all", `for t in build test; do make "$t"; done`, "make N=$(nproc)", `make -C "$d" test`, `t=test; make "$t"`, `make V="$V"`,
			"gzip -k f", "gunzip -c f.gz", "wget -q http://x/a.tgz", "wget -qnc -nv http://x/a.tgz", "wget -O f http://x", "mypy src", "ruff check .", "nm a.o", "strip a", "exiftool a.jpg", "exiftool -ImageWidth -s a.jpg", "mlr --icsv --opprint cat f.csv",
			"cmake --build . -- -j4", "cmake --build build -j 4 -- all", "cmake -B build -DX=y",
			"pytest -q tests", "pytest tests/test_x.py::test_y -k 'a and b'", "pytest --cov=src -n 4",
			"cp a b", "cp -b a b", "cp --backup a b", "cp -r --preserve=mode src dst", "cp -t out a b", "mv -f a b", "ln -sf a b", "install -b -m 755 a b", "patch -b -p1 -i x.diff", "csplit -f part -n 3 f 1", "split -l 100 f part_",
			"curl -o out.json http://x", "curl -s -w '%{http_code}\\n' -o /dev/null http://x", `curl -s "$url"`, "rsync -avz src/ dst/", "rsync -a --delete src dst", `for f in a b; do cp "$f" out/; done`,
		},
	} {
		for _, line := range lines {
			d := e.Decide(command(t, line, policy.ModeAutoEdit))
			assert.Equal(t, want, d.Decision, "%s: %s", line, d.Reason)
		}
	}
}
