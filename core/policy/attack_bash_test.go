package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
)

// attackLines are command lines that change something outside of the workspace, run another
// program, or show files that must not be read, in ways that are easily overlooked.
var attackLines = []string{
	"PATH=. ls", "LD_PRELOAD=./x.so ls", "BASH_ENV=./x bash -c ls", "GIT_PAGER=./x git log", "PAGER='sh -c ./x' git log", "LESSOPEN='|./x %s' less a", "GIT_EXTERNAL_DIFF=./x git diff", "GOFLAGS=-toolexec=./x go list ./...",
	"ls() { ./x; }; ls", "function cat { ./x; }; cat a", "alias ls=./x\nls", "shopt -s expand_aliases; alias cat=./x\ncat a", "command ./ls", "builtin source ./x", "exec ./x", "command -p ./x", "enable -f ./x.so cat; cat a", "hash -p ./x ls; ls", "eval ls \"$x\"", "trap ./x EXIT; ls", "PROMPT_COMMAND=./x ls",
	"git -c core.pager=./x log", "git -c core.fsmonitor=./x status", "git --exec-path=. status", "git -C /tmp/x -p log", "git log --output=/w/x", "git diff --no-index /etc/shadow /dev/null", "git grep -O./x a", "git grep --open-files-in-pager=./x a", "git diff --ext-diff", "git show --textconv HEAD:a", "git --git-dir=/tmp/x log", "git --work-tree=/ status", "GIT_DIR=/tmp/x git log", "git -p log", "git --paginate log", "git blame --contents /etc/shadow a", "git log --pretty=format:x --output x", "git cat-file --filters HEAD:a", "git ls-remote ext::./x", "git branch -D main", "git tag v1", "git remote add x y", "git stash", "git reflog expire --all", "git config a.b c", "git archive -o x HEAD", "git bundle create x HEAD", "git format-patch HEAD~1", "git difftool", "git help -w log", "git rev-parse --parseopt", "git log --show-signature", "git ls-files --exclude-from=/etc/shadow", "git diff -O/etc/shadow", "git log --no-index",
	"test -v 'a[$(./x)]'", "[[ -v 'a[$(./x)]' ]]", "[ -v 'a[$(./x)]' ]", "echo $(( a[$(./x)] ))", "echo $((x))", "printf -v 'a[$(./x)]' x", "printf -v PATH .", "read -r PATH <<<.; ls", "read 'a[$(./x)]' <<<1", "declare 'a[$(./x)]=1'", "let 'a[$(./x)]=1'", "unset 'a[$(./x)]'", "[[ 'a[$(./x)]' -eq 1 ]]", "test 'a[$(./x)]' -eq 1 -o -v 'b[$(./x)]'", "x='a[$(./x)]'; echo $((x))", "x='a[$(./x)]'; [[ $x -eq 1 ]]", "echo ${a[$(./x)]}", "echo ${x@P}", "wait -p 'a[$(./x)]'", "mapfile -C ./x -c 1 <a", "printf '%s' x >'/w/../out'",
	"find . -files0-from /etc/shadow", "sort --files0-from=/etc/shadow", "wc --files0-from=/etc/shadow", "du --files0-from=/etc/shadow", "date -f /etc/shadow", "date -s 2001-01-01", "date 010100002001", "file -m ./x a", "file -f /etc/shadow", "file -C -m x", "file -z a", "grep -f /etc/shadow a", "grep -r x /etc/shadow", "diff --to-file=/etc/shadow a", "diff --from-file /etc/shadow a", "cmp a /etc/shadow", "comm /etc/shadow a",
	"rg --hostname-bin ./x a", "rg --pre ./x a", "rg --pre=./x a", "rg -z x a", "rg --search-zip x", "rg -f /etc/shadow", "rg --ignore-file /etc/shadow x", "RIPGREP_CONFIG_PATH=./x rg a", "fd -x ./x", "fd --exec-batch ./x", "fd . / -X ./x", "find . -exec ./x \\;", "find . -ok ./x \\;", "find . -fprintf out x", "find . -fls out", "find . -delete", "find . -execdir ./x +",
	"jq -L . 'import \"x\" as x; 1'", "jq -f /etc/shadow a", "jq -n --slurpfile x /etc/shadow '$x'", "jq -n --rawfile x /etc/shadow '$x'", "jq -n env", "jq -n '$ENV'", "jq -n 'input_filename' a", "jq --args -n '$__prog_args'", "jq -n 'include \"x\"; 1'",
	"ps e", "ps auxe", "ps -e e", "ps axwwe", "ps -o environ", "tree --fromfile /etc/shadow", "tree -o out", "tree -R -H . -o x", "tree /root", "sed -i s/a/b/ a", "sed -n 'w out' a", "sed 's/a/./e' a", "sed '1e ./x' a", "sed -f /etc/shadow a", "sed --in-place=x s/a/b/ a", "sed -n '1r /etc/shadow' a", "sort -o out a", "sort --output=out a", "sort --compress-program=./x a", "sort --out=x a", "sort -T /etc a", "uniq a out", "seq 1 2 >/etc/x", "tr a b <a >/etc/x", "cat </etc/shadow", "cat <(./x)", "cat a > >(./x)", "ls >&/etc/x", "ls &>/etc/x", "ls >|/etc/x", "cat <<E >/etc/x\na\nE", "cat <<E\n$(./x)\nE", "echo `./x`", "echo \"$(./x)\"", "echo {a,b}>/etc/x",
	"go list -toolexec ./x ./...", "go list -export ./...", "go env -w GOFLAGS=x", "go env -u GOFLAGS", "go list -modfile /etc/x -m", "go list -overlay /etc/x", "go version -m /etc/shadow", "go doc -http", "go -C /tmp/x list ./...", "go list -mod=mod ./...", "go vet -vettool=./x ./...", "go list -compiled ./...", "go run ./x", "go generate",
	"env", "printenv", "set", "export -p", "declare -p", "declare -p AWS_SECRET_ACCESS_KEY", "declare", "typeset -x", "readonly -p", "echo $GEMINI_API_KEY", "cat /proc/self/environ", "cat /proc/1/environ", "type -P x; ./x", "which -a x && ./x", "xargs -a a ./x", "ls | xargs", "ls | xargs rm", "cat a | sh", "cat a | bash -s", "ls | tee out", "awk 'BEGIN{system(\"./x\")}'", "less a", "man ls", "vi a", "nl a | at now", "time ./x", "nohup ls", "nice ./x", "timeout 1 ./x", "coproc ./x", "ls &\n./x", "(exec ./x)", "{ ./x; }", "! ./x", "if ls; then ./x; fi", "for i in a; do ./$i; done", "while ./x; do ls; done", "case a in *) ./x;; esac", "select x in a; do ./x; done", "ls; . ./x", "source <(cat a)", "/w/ls", "./cat a", "~/bin/ls", "$HOME/ls", "l\\\ns ../../../etc/shadow", "cat ../../etc/shadow", "cat /w/../etc/shadow", "cat ~root/.ssh/id", "cat ~/.ssh/id", "head -c 1 /dev/sda", "ls -R /root", "du /root", "stat /root/.ssh", "diff -r /root .", "grep -r a /home",
}

// PB-01, PB-06: none of these lines runs unasked without a confinement, in any of the modes that
// ask.
func TestAttacksAsk(t *testing.T) {
	e := table(t)
	for _, line := range attackLines {
		for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeAuto} {
			for _, confinable := range []string{"", "landlock", policy.Namespaces} {
				c := command(t, line, mode)
				c.Confinable, c.Sealed = confinable, confinable == policy.Namespaces
				e.Prepare(&c)
				places{}.look(e, &c)
				d := e.Decide(c)
				if d.Decision != policy.Allow || d.Run == confirmation.RunConfined {
					continue
				}
				t.Errorf("%s %q: %q runs %q: %s: %s", mode, confinable, line, d.Run, d.Rule, d.Reason)
			}
		}
	}
	require.GreaterOrEqual(t, len(attackLines), 200)
}

// SB-05: a request to run unconfined is never granted by a mode.
func TestUnconfinedAsks(t *testing.T) {
	e := table(t)
	for _, params := range []string{
		`{"command":"ls","unconfined":true}`, `{"command":"make","unconfined":true,"reason":"it needs the network"}`, `{"command":"make","unconfined":true,"reason":""}`,
		`{"unconfined":false,"command":"make","unconfined":true}`,
	} {
		for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeAuto} {
			c := command(t, "", mode)
			c.Params = []byte(params)
			c.Confinable, c.Sealed = policy.Namespaces, true
			e.Prepare(&c)
			places{}.look(e, &c)
			require.Equal(t, policy.AskUser, e.Decide(c).Decision, "%s %s", mode, params)
		}
	}
}
