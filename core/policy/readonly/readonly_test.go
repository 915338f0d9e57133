package readonly_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy/readonly"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// check returns the reason why a command is not listed; "" if it is.
func check(words ...string) string {
	var ws []shell.Word
	for _, w := range words {
		ws = append(ws, shell.Word{Text: w, Static: true})
	}
	_, why := readonly.Check(ws)
	return why
}

// values are harmless values of each kind.
var values = map[string]string{
	"num": "3", "word": "auto", "text": "x", "read": "f", "names": "f", "dir": "d", "columns": "pid,comm", "format": "%h", "script": "p", "path": "f",
	"plus": "+%s", "filter": ".", "letters": "aux", "awk": "{print}", "command": ";",
}

// begins returns a command of a row: its words, and the operands that it requires.
func begins(t *testing.T, r *readonly.Row) (words, operands []string) {
	t.Helper()
	words = strings.Fields(r.Names[0])
	for kind := range strings.FieldsSeq(r.Operands) {
		if !strings.HasSuffix(kind, "?") && !strings.HasSuffix(kind, "*") && kind != "none" {
			require.Contains(t, values, kind)
			operands = append(operands, values[kind])
		}
	}
	if r.Is("wraps") {
		operands = append(operands, "ls", "--unknown-to-it")
	}
	return words, operands
}

// PB-01: each option of each row is harmless, and each row has a source.
func TestOptions(t *testing.T) {
	rows, count := readonly.Rows(), 0
	for _, r := range rows {
		require.NotEmpty(t, r.Source, r.Names)
		require.True(t, r.Operands != "" || r.Is("any") || r.Is("wraps"), r.Names)
		words, operands := begins(t, r)
		for _, o := range r.Options {
			count++
			require.True(t, strings.HasPrefix(o.Name, "-"), o.Name)
			given := append([]string{}, words...)
			if r.Names[0] == "bash" && o.Name != "-c" {
				given = append(given, "-c")
			}
			given = append(given, o.Name)
			if !o.Optional {
				for _, kind := range o.Values {
					require.Contains(t, values, kind, "%s %s", r.Names[0], o.Name)
					given = append(given, values[kind])
				}
			}
			rest := operands
			for _, mark := range o.Marks {
				switch mark {
				case "pattern":
					rest = rest[min(1, len(rest)):]
				case "tree", "follow", "list", "data", "bare":
				default:
					t.Errorf("%s %s has the unknown mark %s", r.Names[0], o.Name, mark)
				}
			}
			if r.Names[0] == "git" && o.Name != "--version" {
				rest = []string{"status"}
			}
			given = append(given, rest...)
			require.Empty(t, check(given...), "%q", given)
			if len(o.Values) == 1 && strings.HasPrefix(o.Name, "--") {
				given = append(append(append([]string{}, words...), o.Name+"="+values[o.Values[0]]), rest...)
				require.Empty(t, check(given...), "%q", given)
			}
		}
	}
	t.Logf("%d rows, %d options", len(rows), count)
}

// PB-01: an option that is not listed, an abbreviation, and a value for an option
// that takes none make a command ask.
func TestUnlistedOptions(t *testing.T) {
	for _, r := range readonly.Rows() {
		if r.Is("any") {
			continue
		}
		words, operands := begins(t, r)
		listed := map[string]bool{}
		for _, o := range r.Options {
			listed[o.Name] = true
		}
		refused := func(option string) {
			given := append(append(append([]string{}, words...), option), operands...)
			require.NotEmpty(t, check(given...), "%q", given)
			if !r.Is("posix") && !r.Is("wraps") {
				given = append(append(append([]string{}, words...), operands...), option)
				require.NotEmpty(t, check(given...), "%q", given)
			}
		}
		refused("--not-listed")
		refused("--not-listed=x")
		for _, o := range r.Options {
			if name := o.Name; strings.HasPrefix(name, "--") && len(name) > 5 && !listed[name[:len(name)-1]] {
				refused(name[:len(name)-1])
			}
			if len(o.Values) == 0 && strings.HasPrefix(o.Name, "--") {
				refused(o.Name + "=x")
			}
		}
		for c := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@%", "") {
			if !listed["-"+c] {
				refused("-" + c)
			}
			for _, o := range r.Options { // after another letter in the same word
				if len(o.Name) == 2 && len(o.Values) == 0 && !listed["-"+c] && !listed[o.Name+c] {
					refused(o.Name + c)
					break
				}
			}
		}
	}
}

// PB-01: words that only bash can expand.
func TestExpansions(t *testing.T) {
	for line, free := range map[string]bool{
		`cat $x`: true, `cat "$x"`: true, `cat *`: true, `rg a *`: false, `rg a ./*`: true, `rg a -- *`: true, `rg a src/*.go`: true, `rg "$x" a`: true,
		`x=-z; rg "$x" a`: false, `rg $x a`: true, `for f in *; do rg a "$f"; done`: false, `for f in ./*; do rg a "$f"; done`: true, `find . -name "$x"`: true,
		`find . $x`: true, `x="-delete"; find . $x`: false, `sort -k$x a`: false, `sort -k "$x" a`: true, `sort $(cat f)`: false, `sort "$(cat f)"`: false,
		`sort a"$(cat f)"`: true, `sort a$(cat f)`: false, `uniq $x`: true, `git log $(cat f)`: false, `git log -- $(cat f)`: true, `head -n $((1+2)) a`: true,
		`git log --since="$(date)"`: true, `git log --format="$x"`: false, `sed -n "$((1+2))p" a`: true, `sed -n "${n}p" a`: false, `jq ".$x" a`: false,
		`date +"$x"`: true, `date "$x"`: false, `read l; rg a "$l"`: false, `read l; grep a "$l"`: true, `ls | xargs rg a`: false, `ls | xargs rg a --`: true,
	} {
		parsed := shell.Parse(line)
		require.Empty(t, parsed.Problem)
		ok := true
		for _, p := range parsed.Parts {
			if p.Kind == shell.Command {
				_, why := readonly.Check(p.Words)
				ok = ok && why == ""
			}
		}
		require.Equal(t, free, ok, line)
	}
}

// PB-01: the paths that commands read.
func TestReads(t *testing.T) {
	for line, want := range map[string]string{
		"cat a b": "a b", "cat": "", "ls": ".", "ls a": "a", "rg x": "./", "rg x a": "a/", "rg -e x a": "a/", "rg --files a": "a/", "grep x a": "a", "grep -r x a": "a/",
		"grep -f p a": "p a", "find": "./", "find a b -name c": "a/ b/", "find -newer x": "x/ ./", "git -C d log": "d", "git diff ../x": "../x", "git log a..b": "",
		"git -C d diff ../x": "d d/../x", "fd -C d x": "d/ d/./", "jq . a": "a", "sed -n p a": "a", "sed -e p a": "a", "awk 1 a": "a", "sort - a": "a", "tail -n 5 a": "a", "tail -5 a": "a",
		"jq --slurpfile x y . a": "y a", "xargs -a f ls": "f", "cat -- -a": "-a", "cat --version": "", "echo a": "", "date -r f": "f", "wc -l a": "a",
	} {
		use, why := readonly.Check(shell.Parse(line).Parts[0].Words)
		require.Empty(t, why, line)
		var got []string
		for _, r := range use.Reads {
			name := r.Path.Text
			if r.Tree {
				name += "/"
			}
			got = append(got, name)
		}
		require.Equal(t, want, strings.Join(got, " "), line)
	}
}

// FuzzCheck: no panic, and a listed command has a row.
func FuzzCheck(f *testing.F) {
	for _, line := range []string{"rg -n x", "find . -name a", "git log -5 --oneline", "ps aux", "jq .a b", "sed -n 1p a"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, p := range shell.Parse(line).Parts {
			if len(p.Words) == 0 {
				continue
			}
			if use, why := readonly.Check(p.Words); why == "" && use.Row == nil {
				t.Errorf("%q is listed without a row", line)
			}
		}
	})
}
