package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

// TestRedirections finds written files, and no others.
func TestRedirections(t *testing.T) {
	checkAll(t, [][2]string{
		{"a > f", lines("$ a", "> f @0.1")},
		{"a b >> f 2>> g", lines("$ a b", "> f @0.2", "> g @0.2")},
		{"a &> f; a &>> f; a >| f; a <> f; a >& f; a 3> f; a {x}> f", lines(
			"$ a", "> f @0.1", "$ a", "> f @2.1", "$ a", "> f @4.1", "$ a", "> f @6.1", "$ a", "> f @8.1", "$ a", "> f @10.1", "$ a", "> f @12.1")},
		{"> f", "> f"},
		{"{ a; } > f", lines("$ a", "> f")},
		{"for i in 1; do a; done > f", lines("$ a", "> f")},
		{`a > "$f"`, lines("$ a", `> "$f" @0.1`)},
		{"a > 'x y'", lines("$ a", "> 'x y' @0.1")},
		{"a 2>&1 >&2 3>&- 4>&2- > /dev/null 2>/dev//./null &> /dev/stdout >/dev/fd/2 >/dev/tty >/dev/stderr", "$ a"},
		{"a < f <<< x 3< g <&0", "$ a"},
		{"a > /dev/../etc/passwd", lines("$ a", "> /dev/../etc/passwd @0.1")},
		{"a > /dev/sda", lines("$ a", "> /dev/sda @0.1")},
		{"a > /dev/fd/3", "$ a"},
		{"exec 3< f; a > /dev/fd/3", lines("= exec", "$ a", "> /dev/fd/3 @1.1")},
		{"a < f > /dev/stdin", lines("$ a", "> /dev/stdin @0.1")},
		{"a > >(b)", lines("$ a", "$ b")},
		{"a < /dev/tcp/h/1", lines("$ a", "? < /dev/tcp/h/1 @0.1")},
		{"a > /dev/udp/h/1", lines("$ a", "? > /dev/udp/h/1 @0.1")},
		{`a > "/dev/tcp/$h/1"`, lines("$ a", `? > "/dev/tcp/$h/1" @0.1`)},
	})
}

// TestDirs follows changes of directory.
func TestDirs(t *testing.T) {
	for line, want := range map[string][]string{ // of the part with the text "p"
		"p":                              {"."},
		"cd a; p":                        {".", "a"},
		"cd a && p":                      {"a"},
		"cd a && cd ../b && p":           {"b"},
		"cd /x; p":                       {".", "/x"},
		"cd a || exit 1; p":              {"a"},
		"cd a || q; p":                   {"a", "."},
		"cd; p":                          {".", "~"},
		"cd -P -- a && p":                {"a"},
		"pushd a && p":                   {"a"},
		"(cd a); p":                      {"."},
		"cd a | q; p":                    {"."},
		"x=$(cd a); p":                   {"."},
		"cd a & p":                       {"."},
		"(cd a && p)":                    {"a"},
		"if cd a; then cd b; fi; p":      {".", "a", "b", "a/b"},
		"cd $x; p":                       nil,
		"cd -; p":                        {"."},
		"cd a; cd -; p":                  {".", "a"},
		"cd a && cd - && p":              {"."},
		"cd $x; cd -; p":                 nil,
		"OLDPWD=/; cd -; p":              nil,
		"p=a; cd $p; p":                  {".", "a"},
		"p=a; cd $p && p":                {"a"},
		"p=a; p=b; cd $p && p":           {"a", "b"},
		"p=a; read p; cd $p && p":        nil,
		"popd; p":                        {"."},
		"CDPATH=x; cd a; p":              nil,
		"cd() { :; }; cd a; p":           nil,
		"for i in 1 2; do p; cd a; done": nil,
		"f() { cd a; }; f; p":            nil,
		"eval 'cd a'; p":                 {".", "a"},
		"eval $x; p":                     nil,
		"source f; p":                    nil,
		"trap p EXIT":                    nil,
		"env -C a p":                     {"a"},
		"cd a; cd b; cd c; cd d; p":      nil,
	} {
		found := false
		for _, p := range Parse(line).Parts {
			if p.Text == "p" {
				found = true
				require.ElementsMatch(t, want, p.Dirs, line)
			}
		}
		require.True(t, found, line)
	}
}

// TestVariables asks about variables that make programs run something else.
func TestVariables(t *testing.T) {
	for _, harmless := range []string{
		"FOO=1 a", "x=1", "export X=1", "declare -i n=3", "LC_ALL=C a", "CGO_ENABLED=0 GOOS=linux a", "GOFLAGS=-mod=mod a", "NODE_ENV=test a",
		"GIT_AUTHOR_NAME='A B' a", "PAGER= a", "CFLAGS='-O2 -Wall' a", "IFS=, read -r x y", "readonly x=2", "GIT_TRACE=1 a", "export FOO", `env CI="$x" a`,
		"PYTHONPATH=. a", "PYTHONPATH=src:./lib: a", "NODE_PATH=lib a", "PERL5LIB=lib a", "RUBYLIB=. a", "export PYTHONPATH=src", "unset FOO", "local x=$1", "TMPDIR=/tmp a", "NO_COLOR=1 a", "for i in a; do :; done",
	} {
		require.NotContains(t, render(Parse(harmless)), "? ", harmless)
	}
	for _, dangerous := range []string{
		"PATH=. a", "PATH=.; a", "LD_PRELOAD=x a", "export BASH_ENV=x", "export PATH=$PATH:.", "declare -x LD_LIBRARY_PATH=x", "env PATH=. a", "sudo PATH=. a",
		"GIT_DIR=x a", "GOFLAGS=-toolexec=rm a", "GOFLAGS=$x a", "CC=rm make", "PYTHONSTARTUP=x a", "NODE_OPTIONS='--require x' a",
		"HOME=/x a", "PS4='$(rm)' a", "LESS='+!rm' a", "LESSOPEN='|rm' a", `export "$k=v"`, `declare "$x"`, "printf -v PATH x", "read PATH", "mapfile PATH",
		"for PATH in a; do b; done", "npm_config_script_shell=x a", "PAGER=$x a", "BASH_FUNC_a%%=x; \\export 'LD_PRELOAD=x'", "env \"$x\" a", "PATH+=:. a", "PATH=(a); b", "env A=$x a",
		"PYTHONPATH=/x a", "PYTHONPATH=src:/x a", "PYTHONPATH=.. a", "PYTHONPATH=src/../../x a", "PYTHONPATH=~/x a", "PYTHONPATH=$x a", "PYTHONPATH+=src a", "PYTHONHOME=src a",
		"CFLAGS=-fplugin=x a", "make SHELL=x", "GIT_TRACE=/etc/x a", `env "$k=v" a`,
	} {
		require.Contains(t, render(Parse(dangerous)), "? ", dangerous)
	}
	checkAll(t, [][2]string{
		{"PAGER='rm x' a", lines("$ rm x", "$ a")},
		{"PAGER=cat a", lines("$ cat", "$ a")},
		{"export EDITOR='rm -f'", lines("= export 'EDITOR=rm -f'", "$ rm -f")},
	})
}

// TestEvaluation asks if arithmetic and indirections may run commands in a value.
func TestEvaluation(t *testing.T) {
	for _, line := range []string{
		"x='a[$(rm)]'; echo $((x))", "x='a[$(rm)]'; ((x))", `x="a[\$(rm)]"; [[ x -eq 1 ]]`, "(( 'a[$(rm)]' ))", "let 'x=a[$(rm)]'", "[[ -v 'a[$(rm)]' ]]",
		"test -v 'a[`rm`]'", "[ -v 'a[$(rm)]' ]", "unset 'a[$(rm)]'", "read 'a[$(rm)]'", "printf -v 'a[$(rm)]' x", "x='a[$(rm)]'; echo ${!x}", "x='a[$(rm)]'; echo ${y[x]}",
		"x='a[$(rm)]'; declare -i y=x", "declare -n y='a[$(rm)]'", "p='a[$'; q='(rm)]'; x=$p$q; ((x))", "read x <<< 'a[$(rm)]'; ((x))", "echo ${x@P}", "[[ x == @($(rm)) ]]",
		`x=$'a[\x24(rm)]'; ((x))`, `unset "$x"`, "for x in 'a[$(rm)]'; do ((x)); done", "set -- 'a[$(rm)]'; (($1))", "read x <<'E'\na[$(rm)]\nE\n((x))",
	} {
		require.Contains(t, render(Parse(line)), "? ", line)
	}
	for _, line := range []string{"i=$((i+1))", "x='a b'; ((n++))", "awk '{print $(NF-1)}'; i=$((i+1))", `grep '[$` + "`" + `]' f; ((i++))`, "a=(1 2); echo ${a[1]} ${a[@]}", "p='^foo$'; ((i++))", "[ $n -gt 3 ]", "[[ $n -gt 3 ]]", "unset x", "read -r -p 'x? ' y"} {
		require.NotContains(t, strings.ReplaceAll(render(Parse(line)), "x? ", ""), "? ", line)
	}
}

// TestOptions finds the commands and outputs in options of programs.
func TestOptions(t *testing.T) {
	runs := []string{
		"git -calias.a=!b a", "git --config-env=a=b c", "git --exec-path=x a", "git grep -O a", "git diff --ext-diff",
		"git log --textconv", "git fetch --upload-pack=x", "git push --receive-pack x", "git clone -u x y", "git clone 'ext::rm x' y", "git clone -c a.b=c d", "git config core.pager x", "git config alias.x '!rm'",
		"git filter-branch --tree-filter x", "git $x log", `git "$x"`, "git -c core.pager=$x log", "git archive --exec=x a", "git ls-remote --upl=x y",
		"tar xIf x a", "tar cf a -I $x", "tar xf a --to-command=$x", "tar --checkpoint-action=exec=$x -cf a b", "tar --checkpoint-action $x -cf a b", "rg --pre $x y", "git grep -O$x a", "ssh -o ProxyCommand=$x h", "GIT_SSH_COMMAND=$x git fetch",
		"rsync --rsync-path=x a b", "rsync -e $x a b", "scp -oProxyCommand=x a b", "ssh -F x h",
		"less +!x f", "vim -c x f", "vim +x f", "ed f", "awk 'BEGIN{system(\"x\")}'", "awk '{print | \"x\"}'", "awk '\"x\" | getline y'",
		"awk -f x", "awk \"$x\"", "awk '{ a = b /c|d/ e }'", "awk '@load \"x\"'", "gawk -i inplace '{print}' f", "sed 's/a/b/e' f", "sed '1e x' f", "sed e f", "sed -f x f", "sed \"s/$x/b/\" f", "sed -e 'p;e x' f", "sed ':a;e x' f", "sed 's/[/]/b/;e x' f",
		"perl -e x", "perl -lane x f", "python3 -c x", "python3.12 -Ic x", "python - ", "python3 < f", "python3 -m timeit x", "python3 -mtimeit x", "python3 -Im timeit x", "python3 -m code", "python3 -m asyncio", "python3 -m pdb -c x y.py", "python3 -m cProfile -m timeit x", "python3 -m cProfile -o o -c x",
		"python3 -m cProfile /dev/stdin", "python3 -m runpy timeit x", "python3 -m $m", "python3 -i x.py", "python3 -m IPython -c x", "node -i", "node inspect x.js", "deno eval x", "lua -i x", "php -a", "ruby -e x", "node -e x", "node --eval x", "node -pe x", "php -r x", "lua -e x", "perl -MFoo x",
		"zip -T -TT x a b", "nmap --script x h", "tcpdump -z x", "curl -K x", "curl --config x", "wget --use-askpass=x u", "wget -e x u", "go test -exec x ./...", "go build -toolexec=x", "go vet --vettool=x", "go generate ./...", "go env -w X=y",
		"go build -ldflags '-extld=x'", "make SHELL=x", "make --eval=x", "make -f - ", "make 'X!=rm'", "make X='$(shell rm)'", "npm --script-shell=x run y", "date -s x", "cargo --config x run",
		"mapfile -C x y", "complete -C x y", "bind -x y", "hash -p x y", "enable -f x y", "history -w", "fc -s", "shopt -s expand_aliases", "set -o history", "set -H", "alias a=b",
		"x=-delete; find . $x", "find $x", "x=--compress-program=y; sort $x f", "sort \"-$x\" f", "gcc -fplugin=x a.c", "sqlite3 a '.shell x'", "psql -c '\\! x'", "split --filter=$x f",
		"fd --exec=x y", "ssh-keygen -D x", "cmake -P x", "openssl x -engine y", "sh -c \"$x\"", "env -P x y", "su -s x", "gdb --args x", "at now", "nsenter -t 1",
	}
	for _, line := range runs {
		require.Contains(t, render(Parse(line)), "? ", line)
	}
	checkAll(t, [][2]string{
		{"git -c core.pager='less -R' log", lines("$ git -c 'core.pager=less -R' log", "$ less -R @0.1")},
		{"git -c user.name=x -c color.ui=never commit", "$ git -c user.name=x -c color.ui=never commit"},
		{"tar xf a --to-command='rm x'; tar xf a --to-comm 'rm x'; tar xf a -F 'rm x'", lines("$ tar xf a '--to-command=rm x'", "$ rm x @0.3", "$ tar xf a --to-comm 'rm x'", "$ rm x @2.3", "$ tar xf a -F 'rm x'", "$ rm x @4.3")},
		{"tar --checkpoint-action=exec='rm x' --checkpoint-action=dot --rsh-command rm -cf a b", lines("$ tar '--checkpoint-action=exec=rm x' --checkpoint-action=dot --rsh-command rm -cf a b", "$ rm x @0.1", "$ rm @0.3")},
		{"rg --pre rm x; rg --pre= x; rg --hostname-bin=rm x; sort --comp rm f; scp -Srm a b", lines("$ rg --pre rm x", "$ rm … @0.1", "$ rg --pre= x", "$ rg --hostname-bin=rm x", "$ rm … @3.1", "$ sort --comp rm f", "$ rm … @5.1", "$ scp -Srm a b", "$ rm … @7.1")},
		{"rg --pre sh x", lines("$ rg --pre sh x", "$ sh … @0.1", "? … @1.1")},
		{"git grep -O'rm -f' x; git grep --open-files-in-pager=rm x", lines("$ git grep '-Orm -f' x", `$ rm -f "$@" @0.2`, "$ git grep --open-files-in-pager=rm x", `$ rm "$@" @2.2`)},
		{"GIT_SSH_COMMAND='rm x' git fetch; git -c core.sshCommand='rm y' fetch", lines("$ rm x", "$ git fetch", "$ git -c 'core.sshCommand=rm y' fetch", "$ rm y @2.1")},
		{"ssh -o ProxyCommand='rm x' h; man -P 'rm x' y", lines("$ ssh -o 'ProxyCommand=rm x' h", "$ rm x @0.1", "$ man -P 'rm x' y", "$ rm x @2.1")},
		{"git -C d log --output=f", lines("$ git -C d log --output=f", "> f @0.4")},
		{"tar -I zstd -cf a b", lines("$ tar -I zstd -cf a b", "$ zstd @0.1")},
		{"rsync -e 'ssh -p 2' a b", lines("$ rsync -e 'ssh -p 2' a b", "$ ssh -p 2 @0.1")},
		{"split --filter='gzip > $FILE' f", lines("$ split '--filter=gzip > $FILE' f", "$ gzip @0.1", "> $FILE @1.1")},
		{"sort -o f g; sort -of; sort -ro f", lines("$ sort -o f g", "> f @0.1", "$ sort -of", "> f @2.1", "$ sort -ro f", "> f @4.1")},
		{"curl -so /dev/null u; curl -o f u; curl --outp=f u; curl -O u", lines("$ curl -so /dev/null u", "$ curl -o f u", "> f @1.1", "$ curl --outp=f u", "> f @3.1", "$ curl -O u", "> … @5.1")},
		{"wget -qO- u; wget -O f u", lines("$ wget -qO- u", "$ wget -O f u", "> f @1.1")},
		{"sed -i.bak -e 's/a/b/' f g", lines("$ sed -i.bak -e s/a/b/ f g", "> f @0.1", "> f.bak @0.1", "> g @0.1", "> g.bak @0.1")},
		{"sed --in-pl 's/a/b/' f", lines("$ sed --in-pl s/a/b/ f", "> f @0.1")},
		{"sed -n 's/a/b/w f' g", lines("$ sed -n 's/a/b/w f' g", "> f @0.2")},
		{"awk '{print > \"f\"}' g", lines(`$ awk '{print > "f"}' g`, "> f @0.1")},
		{"awk '{print $1 > $2}' g", lines("$ awk '{print $1 > $2}' g", "> … @0.1")},
		{"perl -pi.bak s.pl f", lines("$ perl -pi.bak s.pl f", "> … @0.1")},
		{"uniq a b; tree -o f", lines("$ uniq a b", "> b @0.2", "$ tree -o f", "> f @2.1")},
		{"awk 'BEGIN{system(\"rm x\")}'", lines(`$ awk 'BEGIN{system("rm x")}'`, `? 'BEGIN{system("rm x")}' @0.1`, "$ rm x @1.0 ~")},
	})
}

// TestEveryday parses everyday lines without unknown parts.
func TestEveryday(t *testing.T) {
	for line := range strings.SplitSeq(strings.TrimSpace(everyday), "\n") {
		l := Parse(strings.ReplaceAll(line, "⏎", "\n"))
		require.Empty(t, l.Problem, line)
		for _, p := range l.Parts {
			require.NotEqual(t, Unknown, p.Kind, "%s: %s: %s", line, p.Text, p.Reason)
		}
	}
}

const everyday = `
for f in *.go; do gofmt -l "$f" && wc -l $f; done
FOO=1 go test ./... 2>&1 | tail -20
cat f | awk '{print $1}' | sort -u | uniq -c | sort -rn | head -5
awk -F: '$3 > 100 && $1 !~ /^#/ {n++; s += $2 / 2} END {print n, s > "/dev/stderr"}' f
awk -v x="$x" 'BEGIN{FS=","} NR>1{printf "%s %d\n", $1, $2}' f
awk '/a\/b/ {print; next} {gsub(/[|>]/, ""); print length($0) / 2}' f
sed -n '10,20p;/x/{s/a/b/gp;d}' f
sed -E -e 's|a/b|c|g' -e '/^#/d' -e '$!N;P;D' f
sed ':a;N;$!ba;s/\n/ /g' f
sed -n "$((i+1)),${#x}p" f
find . -name '*.go' -not -path './vendor/*' -exec grep -n foo {} +
find "$dir" -maxdepth 2 -type f -mtime -1 -print0 | xargs -0 grep -l foo
cat <<EOF⏎hello $USER⏎EOF
git commit -m "$(cat <<'E'⏎a subject⏎⏎it's "quoted"⏎E⏎)"
git log --oneline --format='%h %s' -n 5 -- a.go | cat
git diff --stat $(git merge-base HEAD main)..HEAD
git -C sub status --short && git --no-pager log -1
VAR=$(git rev-parse HEAD); echo "$VAR"
[ -f x ] && echo yes || echo no
if [[ -n $x && ${#y} -gt 3 ]]; then echo "${x%.go}"; fi
command -v go >/dev/null 2>&1 || echo missing
export X=1 LANG="a b"; echo $X
time go build -o /dev/null ./...
jq -r '.a[] | select(.b > 1) | .c' f.json
grep -rnE 'a|b>' --include='*.go' . | wc -l
PYTHONPATH=. pytest -q tests; PYTHONPATH=src python -m app
python3 -m pytest -q -c pytest.ini; python3 -m http.server 8000; python3 -m venv .venv; python3 -m pip install -r r.txt; python3 -m unittest -v; python3 -m compileall -q .; python3 -mjson.tool f
python3 -m cProfile -o out.prof script.py; python3 -m coverage run -m pytest; python3 -m trace -c script.py; deno run x.ts; bun test
python3 -m json.tool f.json; python3 script.py --x 1; python3 --version
while IFS= read -r l; do echo "$l"; done < f
arr=(a b c); arr+=(d); echo "${arr[@]}" ${#arr[@]} "${arr[0]}"
set -euo pipefail; set -x; shopt -s globstar nullglob
timeout 60 go test -run 'TestX/y' -count=1 ./...
env -u A B=1 go vet ./...
xargs -n1 -P4 wc -l < f
f() { local x=$1; go test "$x"; }; f ./...
case "$1" in a|b) ls ;; *) echo no ;; esac
(cd sub && npm test -- --watch=false)
diff <(sort a) <(sort b) | head
printf '%s\n' "${x:-none}" "$((1 + 2))" "$?"
trap 'echo bye' EXIT
tar czf out.tgz dir; tar -xzf out.tgz -C d; tar tf "$f"
curl -fsSL -H 'A: b' https://x | jq .
make -j4 test V=1 PREFIX=/usr
node script.js; npm run build; npx --version; ruby x.rb
date +%F; ls -la --color=never | less -R
rg -n --glob '*.go' 'foo|bar' -A3 | head -$n
sort -t, -k2,2n f | uniq -d | tee out
! grep -q foo f
kill %1; jobs; wait
true && : || false
test "$a" = "$b" -o -z "$c"
i=0; while (( i < 3 )); do echo $i; ((i++)); done
echo {a,b}{1..3} "$(date)" $RANDOM
mkdir -p a/b && pushd a && ls; popd
ssh-keygen -lf key; openssl x509 -in c -noout -text
base64 -d <<< "$x"; read -r -a parts <<< "$line"
go list -f '{{.Dir}}' ./... | sed 's|^|x|'
type git; hash -r; unset x y
docker ps; docker compose up -d; kubectl get pods -o json
`

// FuzzParse never panics, is deterministic and returns well-formed parts.
func FuzzParse(f *testing.F) {
	fuzzseed.Add(f)
	for line := range strings.SplitSeq(everyday, "\n") {
		f.Add(line)
	}
	for _, s := range []string{"sudo -u x script -qZ f", "env -S 'a \"b", "x=$x; $x", "xargs -I", "a >&", "sed s/[", "awk '/[", "find -exec", "git -c", "tar I", "su - -c", "{a,{b,c}", "$'\\x'", "watch -d=", "-", "echo 'sh f; sh f' > f; sh f", "tee ~/f ../f; cd x; . f", "python3 -mcProfile -m", "tar --checkpoint-action", "git grep -O'(' x", "xargs -I{} sh -c 'a {'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l := Parse(s)
		require.NotContains(t, l.Problem, "defect", s)
		require.Equal(t, l, Parse(s))
		for i, p := range l.Parts {
			require.Less(t, p.Parent, i)
			require.GreaterOrEqual(t, p.Parent, -1)
			require.GreaterOrEqual(t, p.Own, 0)
			if p.Parent >= 0 {
				require.LessOrEqual(t, p.Own, len(l.Parts[p.Parent].Words))
			}
			if p.Kind == Command || p.Kind == Builtin {
				require.NotEmpty(t, p.Words)
			}
			require.Equal(t, p.Kind == Unknown, p.Kind == Unknown && p.Reason != "")
		}
	})
}

// FuzzJoin verifies that joining lines loses none of their parts.
func FuzzJoin(f *testing.F) {
	fuzzseed.Add(f)
	f.Add("rm -rf x", "ls")
	f.Add("env -S 'a b'; x=1", "for i in a; do $i; done")
	f.Add("cat <<< x > f", "sudo rm")
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := Parse(x), Parse(y)
		if a.Problem != "" || b.Problem != "" || !joinable(x) || !joinable(y) {
			t.Skip("not two whole lines that can be joined")
		}
		for _, sep := range []string{"; ", " && ", " | ", "\n"} {
			holdsParts(t, x+sep+y, a, b)
		}
		holdsParts(t, "echo $("+x+")", a)
		holdsParts(t, "if "+x+"\nthen "+y+"\nfi", a, b)
	})
}

// joinable reports whether a line can be joined with others: it ends no comment
// and no here-document, and defines nothing.
func joinable(s string) bool {
	return strings.TrimSpace(s) != "" && !strings.ContainsAny(s, "#\\&;\n()<`{}") && !strings.Contains(s, "alias")
}

// holdsParts checks that a line that parses has at least the given parts.
func holdsParts(t *testing.T, joined string, lines ...*Line) {
	t.Helper()
	l := Parse(joined)
	if l.Problem != "" {
		return
	}
	have := map[string]int{}
	for _, p := range l.Parts {
		have[p.Text]++
	}
	for _, line := range lines {
		for _, p := range line.Parts {
			have[p.Text]--
			require.GreaterOrEqual(t, have[p.Text], 0, "%q lacks %q", joined, p.Text)
		}
	}
}

// TestJoin joins every pair of everyday lines; with FETTLE_FULL all of them.
func TestJoin(t *testing.T) {
	all := strings.Split(strings.TrimSpace(everyday), "\n")
	step := 7
	if os.Getenv("FETTLE_FULL") != "" {
		step = 1
	}
	count := 0
	for i := 0; i < len(all); i += step {
		if strings.Contains(all[i], "<<E") { // the next line would belong to its here-document
			continue
		}
		for j := range all {
			x, y := strings.ReplaceAll(all[i], "⏎", "\n"), strings.ReplaceAll(all[j], "⏎", "\n")
			for _, sep := range []string{"; ", " && ", " | ", "\n", " || "} {
				holdsParts(t, x+sep+y, Parse(x), Parse(y))
				count++
			}
			holdsParts(t, "echo $("+x+"\n)", Parse(x))
		}
	}
	require.Greater(t, count, 1000)
}

func BenchmarkParse(b *testing.B) {
	for name, line := range map[string]string{
		"short":   "git status",
		"typical": `cd sub && FOO=1 go test ./... 2>&1 | grep -v "ok " | tail -20`,
		"long":    everyday[:2000],
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(line)
			}
		})
	}
}
