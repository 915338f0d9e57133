package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrittenScripts asks about commands in a file that the line itself writes.
// // AR-26, TO-10
func TestWrittenScripts(t *testing.T) {
	const says = "the line itself writes the file that it runs"
	asked := func(line string) bool {
		for _, p := range Parse(line).Parts {
			if p.Kind == Unknown && p.Reason == says {
				return true
			}
		}
		return false
	}
	for _, line := range []string{
		"echo x > f; sh f", "echo x > f && bash ./f a", "echo x >> d/../f; . f", "echo x > f; source ./f", "echo x > f; chmod +x f; ./f", "echo x | tee f; sh f", "echo x | tee -a a f >/dev/null; sh f",
		"cat > x.py <<E\na\nE\npython3 x.py", "cat > x.py <<E\na\nE\npython3 -u -- x.py", "a > m.py; python3 -m m", "a > x.js; node x.js", "a > x.pl; perl -w x.pl", "a > x.ts; deno run -A x.ts", "a > x.go; go run x.go",
		"a > Makefile; make", "a > f.mk; make -f f.mk", "a > x.py; python3 -m cProfile x.py", "cp /bin/rm ./foo && ./foo x", "cp /bin/rm d && d/rm x", "ln -s /bin/rm r; ./r x", "mv a f; sh f", "dd if=a of=f; sh f",
		"sort -o f a; sh f", "sed -i s/a/b/ f; sh f", "(cd d && echo x > f); sh d/f", "cd d && echo x > f; sh f", "echo x > d/f; cd d; ./f", "cd $d && echo x > f && sh f", "echo x > /w/f; sh f", "echo x > f; sh /w/f", "echo x > ~/f; ~/f",
		"x=f; echo a > $x; sh f", "f() { sh s; }; a > s; f", "for i in 1 2; do sh s; a > s; done", "sh s & a > s", "sh s | a > s", "trap 'sh s' EXIT; a > s", "sh s $(a > s)", "echo x > f; timeout 5 sh f", "echo x > f; ls | xargs sh f", "echo x > f; exec ./f",
		"echo x > f; find . -exec sh f {} +", "echo x > f; sh -c ./f", "eval 'echo x > f; sh f'", "echo x > f; x=$(sh f)",
	} {
		require.True(t, asked(line), "%s\n%s", line, render(Parse(line)))
	}
	for _, line := range []string{
		"sh f > g", "sh f; a > f", "python3 x.py 2>&1 | tee log", "a > f; sh g", "a > d/f; sh f", "a > /x/f; sh /y/f", "a > of; sh f", "(cd d && a > f); (cd e && sh f)", "a > f; cat f", "a > log; make", "cp a b; sh c", "go build -o x . && ./x", "tee f; python3 -m f.g",
		"for i in 1 2; do python3 x.py > out; done", "echo x > f; python3 x.py f",
	} {
		require.False(t, asked(line), "%s\n%s", line, render(Parse(line)))
	}
	checkAll(t, [][2]string{
		{"echo 'rm x' > f && sh f", lines("$ echo 'rm x'", "> f @0.2", "$ sh f", "? f @2.2", "$ rm x @3.0 ~")},
		{"printf 'rm x\\n' | tee f; ./f", lines(`$ printf 'rm x\n'`, "$ tee f", "$ ./f", "? ./f @2.1", "$ rm x @3.0 ~")},
		{"cat > f <<'E'\nrm x\nE\nbash f", lines("$ cat", "> f @0.1", "$ bash f", "? f @2.2", "$ rm x @3.0 ~")},
		{"printf '#!/usr/bin/python3\\nrm x\\n' > f; ./f", lines(`$ printf '#!/usr/bin/python3\nrm x\n'`, "> f @0.2", "$ ./f", "? ./f @2.1")},
		{"echo \"rm $x\" > f; sh f", lines(`$ echo "rm $x"`, "> f @0.2", "$ sh f", "? f @2.2")},
	})
	line := Parse("echo 'sh f; sh f' > f; sh f") // it runs itself
	require.True(t, line.Problem != "" || strings.Contains(render(line), "too many"), render(line))
	require.NotEmpty(t, Parse(strings.Repeat("a/b;", maxFiles+1)).Problem)
	require.NotEmpty(t, Parse(strings.Repeat("a>b;", maxFiles+1)).Problem)
}
