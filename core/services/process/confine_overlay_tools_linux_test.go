package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/process"
)

// FK-03: the tools of a developer see the fork, and nothing else.
func TestOverlaysTools(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp")
	f := newForked(t, t.TempDir(), map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.24\n", "a.go": "package m\n\nfunc A() int { return 1 }\n", "b/b.go": "package b\n\nfunc B() int { return 2 }\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif A() != 1 {\n\t\tt.Fatal(A())\n\t}\n}\n", "gone.go": "package m\n\nconst Gone = 1\n", "broken.go": "package m\n\nnot go\n",
	}, nil)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `cd "$0" && git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm a`, f.ws).CombinedOutput()
	require.NoError(t, err, string(out))
	f.settle()
	before := f.shown()
	full := os.Getenv("FETTLE_FULL") != ""
	for _, step := range []struct{ line, want string }{
		{"git status --short", ""},
		{"go build ./... 2>&1 | tail -n1", "./broken.go:3:1: syntax error: non-declaration statement outside function body\n"},
		{"rm gone.go broken.go; rm -r b; mkdir c; printf 'package c\\n\\nconst C = 3\\n' >c/c.go; sed -i 's/return 1/return A1/' a.go; printf 'package m\\n\\nconst A1 = 1\\n' >n.go", ""},
		{"git status --short", " M a.go\n D b/b.go\n D broken.go\n D gone.go\n?? c/\n?? n.go\n"},
		{"git diff --stat -- a.go | head -n1; git show HEAD:gone.go | tail -n1", " a.go | 2 +-\nconst Gone = 1\n"},
		{"rg --no-heading -n 'A1|Gone|not go|B\\(' | sort", "a.go:3:func A() int { return A1 }\nn.go:3:const A1 = 1\n"},
		{"rg --files | sort | xargs", "a.go a_test.go c/c.go go.mod n.go\n"},
		{"grep -rl 'Gone\\|not go' --exclude-dir=.git . ; find . -name '*.go' | sort | xargs", "./a.go ./a_test.go ./c/c.go ./n.go\n"},
		{"go list ./... && go build ./... && echo built", "example.com/m\nexample.com/m/c\nbuilt\n"},
		{"go test ./... 2>&1 | cut -f1,2", "ok  \texample.com/m\n?   \texample.com/m/c\n"},
		{"git add -A 2>&1 | grep -o 'Read-only file system'; git commit -qam x 2>/dev/null || git log --oneline | wc -l", "Read-only file system\n1\n"},
	} {
		program := strings.Fields(step.line)[0]
		if _, err := exec.LookPath(program); err != nil || strings.HasPrefix(step.line, "go test") && !full {
			continue // it compiles the standard library
		}
		for _, how := range []process.Confine{process.ConfineWrite, process.ConfineRead} {
			if program == "rm" && how == process.ConfineRead {
				continue
			}
			require.Equal(t, step.want, f.run(step.line, how).Text, "%s (%s)", step.line, how)
		}
	}
	require.Equal(t, before, f.shown())
	require.Equal(t, map[string]string{"a.go": "clean modified", "n.go": "clean added", "b/b.go": "clean deleted", "c/c.go": "clean added", "gone.go": "clean deleted", "broken.go": "clean deleted"}, f.verdicts())
}

// BenchmarkFork measures the shortest command in a fork against the same confined command without one, in turns, and
// reports the time that a tenth of the runs keep, and the ratio. Reading and writing commands are measured.
func BenchmarkFork(b *testing.B) {
	for _, how := range []process.Confine{process.ConfineRead, process.ConfineWrite} {
		b.Run(string(how), func(b *testing.B) {
			top := b.TempDir()
			in := newForked(b, top, map[string]string{"a": "a\n", "d/e": "e\n"}, nil)
			outside := newService(b, process.Options{Confinement: process.Confinement{
				Kind: process.Namespaces, NoTCP: true, PerCommand: true, Writable: []string{in.ws}, Home: in.home, Cache: filepath.Join(top, "cache"),
				IsProtected: func(path string) bool { return filepath.Base(path) == ".envrc" },
			}})
			var forked, confined []time.Duration
			run := func(s *process.Service, into *[]time.Duration) {
				begun := time.Now()
				_, err := s.Run(b.Context(), process.Command{Line: "true", Dir: in.ws, Confine: how})
				*into = append(*into, time.Since(begun))
				require.NoError(b, err)
			}
			for b.Loop() {
				run(in.s, &forked)
				run(outside, &confined)
			}
			slices.Sort(forked)
			slices.Sort(confined)
			one, other := forked[len(forked)/10], confined[len(confined)/10] // other processes slow down the rest
			b.ReportMetric(float64(one.Microseconds()), "µs/fork")
			b.ReportMetric(float64(other.Microseconds()), "µs/confined")
			b.ReportMetric(float64(one)/float64(other), "ratio")
		})
	}
}

// FK-08: a session in a fork leaves no process, mount or descriptor.
func TestOverlaysLeaveNothing(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp")
	t.Run("before", func(t *testing.T) { // files that the first session creates once
		newForked(t, t.TempDir(), map[string]string{"a": "a\n"}, nil).run("echo x >a", process.ConfineWrite)
	})
	mounts := func() string {
		text, err := os.ReadFile("/proc/self/mountinfo")
		require.NoError(t, err)
		return string(text)
	}
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(all)
	}
	children := func() string {
		pid := strconv.Itoa(os.Getpid())
		all, err := filepath.Glob("/proc/" + pid + "/task/*/children")
		require.NoError(t, err)
		text := ""
		for _, name := range all {
			list, _ := os.ReadFile(name)
			text += string(list)
		}
		return text
	}
	wasMounts, wasDescriptors, wasChildren := mounts(), descriptors(), children()
	t.Run("session", func(t *testing.T) {
		f := newForked(t, t.TempDir(), map[string]string{"a": "a\n", "d/b": "b\n"}, nil)
		for range 5 {
			f.run("echo x >>a; rm -rf d; (setsid env -i sleep 1000 >/dev/null 2>&1 &)", process.ConfineWrite)
			f.run("cat a; sleep 1000 >/dev/null 2>&1 &", process.ConfineRead)
		}
		require.Equal(t, wasMounts, mounts())
	})
	require.Equal(t, wasMounts, mounts())
	require.Equal(t, wasChildren, children())
	require.LessOrEqual(t, descriptors(), wasDescriptors)
}

// FK-03: a fork of several directories; other writable directories of the session are read-only in it.
func TestOverlaysOfDirectories(t *testing.T) { both(t, testOverlaysOfDirectories) }

func testOverlaysOfDirectories(t *testing.T, top string) {
	dirs := make([]string, 3)
	for n := range dirs {
		dirs[n] = filepath.Join(top, "dir"+strconv.Itoa(n))
		require.NoError(t, os.Mkdir(dirs[n], 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dirs[n], "a"), []byte("a\n"), 0o600))
	}
	made, err := fork.New(fork.Options{Dir: filepath.Join(top, "forks")}).Create(t.Context(), fork.Request{Dirs: dirs[:2]})
	require.NoError(t, err)
	defer func() { require.NoError(t, made.Close()) }()
	c := process.Confinement{Writable: dirs, Home: top, Overlays: inFork(made)}
	if err := c.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	s := newService(t, process.Options{Confinement: c})
	for n, want := range []string{"b\n", "b\n", "a\n"} {
		r, err := s.Run(t.Context(), process.Command{Line: "(echo b >a) 2>/dev/null; cat a; touch ../dir2/x 2>/dev/null", Dir: dirs[n]})
		require.NoError(t, err)
		require.Equal(t, want, r.Text)
		data, err := os.ReadFile(filepath.Join(dirs[n], "a"))
		require.NoError(t, err)
		require.Equal(t, "a\n", string(data))
	}
	require.NoFileExists(t, filepath.Join(dirs[2], "x"))
	report, err := made.Compare(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, report.Files, 2)
}
