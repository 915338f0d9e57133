package fork_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/fork"
)

// history is a base and two sides that were made of it.
type history struct{ base, fork, now map[string]string }

// generated returns a random history: few names and lines, so that the sides often touch the same ones.
func generated(r *rand.Rand) history {
	text := func(n int) string {
		var b strings.Builder
		if r.IntN(6) == 0 {
			b.WriteString("x!")
		}
		for range n {
			fmt.Fprintf(&b, "line %d\n", r.IntN(30))
		}
		return b.String()
	}
	names := []string{"a", "b", "d/c", "d/e/f", "g", "h"}
	base := make(map[string]string)
	for _, name := range names {
		switch r.IntN(8) {
		case 0: // not there
		case 1:
			base[name] = "-> " + names[r.IntN(len(names))]
		case 2:
			base[name] = fmt.Sprintf("\x00binary %d\n", r.IntN(9))
		default:
			base[name] = text(1 + r.IntN(24))
		}
	}
	side := func() map[string]string {
		files := make(map[string]string)
		for _, name := range names {
			old, ok := base[name]
			switch k := r.IntN(12); {
			case k < 4 && ok:
				files[name] = old
			case k == 4: // removed
			case k == 5:
				files[name] = text(1 + r.IntN(5))
			case k == 6 && r.IntN(3) == 0:
				files[name] = "-> " + names[r.IntN(len(names))]
			case k == 7 && ok && !strings.HasPrefix(old, "-> "):
				if now, executable := strings.CutPrefix(old, "x!"); executable {
					files[name] = now
				} else {
					files[name] = "x!" + old
				}
			case ok && !strings.HasPrefix(old, "-> ") && !strings.Contains(old, "\x00"):
				lines := strings.SplitAfter(strings.TrimSuffix(old, "\n"), "\n")
				for range 1 + r.IntN(2) {
					at := r.IntN(len(lines))
					switch r.IntN(3) {
					case 0:
						lines[at] = strings.Repeat("x!", min(1, strings.Count(lines[at], "x!"))) + fmt.Sprintf("changed %d\n", r.IntN(4))
					case 1:
						lines = slices.Insert(lines, at+1, fmt.Sprintf("added %d\n", r.IntN(4)))
					case 2:
						if len(lines) > 2 && at > 0 {
							lines = slices.Delete(lines, at, at+1)
						}
					}
				}
				files[name] = strings.Join(lines, "")
				if !strings.HasSuffix(files[name], "\n") && r.IntN(8) > 0 {
					files[name] += "\n"
				}
			case ok:
				files[name] = old
			}
		}
		return files
	}
	return history{base, side(), side()}
}

// difference returns the changes of the side, with "gone" for removed files.
func difference(base, side map[string]string) map[string]string {
	all := make(map[string]string)
	for name := range base {
		if _, ok := side[name]; !ok {
			all[name] = "gone"
		}
	}
	for name, text := range side {
		if old, ok := base[name]; !ok || old != text {
			all[name] = text
		}
	}
	return all
}

// commits writes the histories into a repository: branches bN, oN and tN.
func commits(t *testing.T, dir string, all []history) {
	var in bytes.Buffer
	mark := 0
	for n, h := range all {
		var base int
		for _, side := range []struct {
			name  string
			files map[string]string
		}{{"b", h.base}, {"o", h.now}, {"t", h.fork}} {
			mark++
			fmt.Fprintf(&in, "commit refs/heads/%s%d\nmark :%d\ncommitter x <x> 1 +0000\ndata 0\n", side.name, n, mark)
			if base == 0 {
				base = mark
			} else {
				fmt.Fprintf(&in, "from :%d\ndeleteall\n", base)
			}
			for name, text := range side.files {
				mode := "100644"
				if target, ok := strings.CutPrefix(text, "-> "); ok {
					mode, text = "120000", target
				} else if run, ok := strings.CutPrefix(text, "x!"); ok {
					mode, text = "100755", run
				}
				fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", mode, name, len(text), text)
			}
		}
	}
	git(t, dir, nil, "init", "-q", "--bare", ".")
	git(t, dir, &in, "fast-import", "--quiet")
}

func git(t *testing.T, dir string, in io.Reader, args ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "merge.renames=false", "-c", "core.quotePath=false"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, in
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	data, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return string(data), 1
	}
	require.NoError(t, err, "%v %s", args, complaints.String())
	return string(data), 0
}

// byGit returns what git merges, and the paths with conflicts.
func byGit(t *testing.T, dir string, n int) (files map[string]string, conflicts []string) {
	out, status := git(t, dir, nil, "merge-tree", "--write-tree", "--name-only", "--no-messages", "o"+strconv.Itoa(n), "t"+strconv.Itoa(n))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status == 1 {
		conflicts = lines[1:]
	}
	archive, _ := git(t, dir, nil, "archive", "--format=tar", lines[0])
	files = make(map[string]string)
	for from := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return files, conflicts
		}
		require.NoError(t, err)
		data, err := io.ReadAll(from)
		require.NoError(t, err)
		switch {
		case h.Typeflag == tar.TypeSymlink:
			files[h.Name] = "-> " + h.Linkname
		case h.Typeflag == tar.TypeReg && h.Mode&0o100 != 0:
			files[h.Name] = "x!" + string(data)
		case h.Typeflag == tar.TypeReg:
			files[h.Name] = string(data)
		}
	}
}

// FK-05, FK-08: the verdicts equal those of git merge-tree, or are stricter.
func TestVerdictsBesideGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	count := 300
	if os.Getenv("FETTLE_FULL") != "" {
		count = 2000
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([]history, count)
	for n := range all {
		all[n] = generated(r)
	}
	repository := t.TempDir()
	commits(t, repository, all)
	merged, strict, conflicts := 0, 0, 0
	for n, h := range all {
		p := newProject(t, h.base)
		if n%2 == 1 {
			p.mode = fork.Copy
		}
		f := p.create("one")
		p.change(f, difference(h.base, h.fork))
		p.write(difference(h.base, h.now))
		report, err := p.merge(f, nil)
		require.NoError(t, err)
		want, refused := byGit(t, repository, n)
		got := tree(t, p.dir)
		is := verdicts(report)
		for _, name := range []string{"a", "b", "d/c", "d/e/f", "g", "h"} {
			about := fmt.Sprintf("history %d, %s: %q\nbase %q\nfork %q\nnow %q", n, name, is[name], h.base[name], h.fork[name], h.now[name])
			switch isConflict := strings.HasPrefix(is[name], "conflict"); {
			case isConflict:
				require.Equal(t, h.now[name], got[name], about)
				if slices.Contains(refused, name) {
					conflicts++
				} else {
					strict++
				}
			case slices.Contains(refused, name):
				t.Errorf("git refuses it: %s", about)
			default:
				require.Equal(t, want[name], got[name], about)
				merged++
			}
		}
		require.NoError(t, f.Close())
		require.NoError(t, os.RemoveAll(filepath.Dir(p.dir)))
	}
	t.Logf("%d merged as by git, %d conflicts of both, %d stricter", merged, conflicts, strict)
	require.Greater(t, conflicts, count/10)
	require.Greater(t, merged, count)
}
