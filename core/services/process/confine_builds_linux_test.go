package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// projects are small projects of several kinds.
const projects = `
-- go/go.mod --
module example.com/m

go 1.26
-- go/m_test.go --
package m

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

func TestServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil || r.StatusCode != 404 {
		t.Fatal(r, err)
	}
	if err := os.WriteFile(t.TempDir()+"/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
-- python/test_m.py --
import multiprocessing, socket, subprocess, tempfile, unittest

class Test(unittest.TestCase):
    def test(self):
        with tempfile.NamedTemporaryFile() as f:
            f.write(b"x")
        a, b = socket.socketpair()
        a.sendall(b"x")
        self.assertEqual(b.recv(1), b"x")
        self.assertEqual(subprocess.check_output(["echo", "x"]), b"x\n")
        lock = multiprocessing.Lock() # a semaphore in shared memory
        with lock:
            pass

if __name__ == "__main__":
    unittest.main()
-- c/Makefile --
all: main
	./main
main: main.c
	cc -o main main.c -lpthread
-- c/main.c --
#include <pthread.h>
#include <stdio.h>
static void *f(void *p) { return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts("built"); }
-- node/package.json --
{"name": "m", "version": "1.0.0", "scripts": {"test": "node --test"}}
-- node/m.test.js --
const test = require('node:test'), http = require('node:http'), os = require('node:os')
test('server', (t, done) => {
  const s = http.createServer((q, r) => r.end('x')).listen(0, '127.0.0.1', () =>
    http.get({port: s.address().port, host: '127.0.0.1'}, r => { r.resume(); r.on('end', () => { s.close(); done() }) }))
  os.networkInterfaces()
})
-- repo/file --
a
`

// SB-02: projects build and test in namespaces, and the caches of their tools survive.
func TestConfinedBuilds(t *testing.T) {
	s, ws, _ := inNamespaces(t, func(c *process.Confinement) {
		home, err := os.UserHomeDir()
		require.NoError(t, err)
		c.Home, c.PerCommand = home, false
		c.IsProtected = func(path string) bool { return filepath.Base(path) == ".git" }
	})
	for _, f := range txtar.Parse([]byte(projects)).Files {
		path := filepath.Join(ws, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, f.Data, 0o600))
	}
	if _, err := exec.LookPath("git"); err == nil {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "cd "+filepath.Join(ws, "repo")+" && git init -q && git add file && git -c user.name=a -c user.email=a@b commit -qm a && echo b >file").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for _, tt := range []struct{ dir, program, line, want string }{
		{"go", "go", "go test ./...", "ok  \texample.com/m"},
		{"go", "go", "go env GOFLAGS && go list ./...", "example.com/m"},
		{"python", "python3", "python3 -m unittest 2>&1", "OK"},
		{"c", "cc", "make 2>&1", "built"},
		{"node", "npm", "npm test 2>&1", "pass 1"},
		{"repo", "git", "git diff && git status && git log", "+b"},
		{"repo", "git", "git commit -qam b 2>&1; git stash 2>&1; git log --oneline | wc -l", "1"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skip(err)
			}
			if strings.Contains(tt.line, "go vet") || strings.Contains(tt.line, "go test") {
				compilesGo(t)
			}
			r, err := s.Run(t.Context(), process.Command{Line: tt.line, Dir: filepath.Join(ws, tt.dir)})
			require.NoError(t, err)
			require.Contains(t, r.Text, tt.want)
			require.Zero(t, r.Code, r.Text)
			require.Empty(t, r.Removed)
		})
	}
	t.Run("cached", func(t *testing.T) {
		compilesGo(t)
		r, err := s.Run(t.Context(), process.Command{Line: "go test ./...", Dir: filepath.Join(ws, "go")})
		require.NoError(t, err)
		require.Contains(t, r.Text, "(cached)")
	})
}

// compilesGo skips a test that compiles the standard library, which takes a minute.
func compilesGo(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("it takes a minute: FETTLE_FULL=1")
	}
}

// SB-02: a module's dependencies are read from the user's module cache, without a network.
func TestConfinedDependencies(t *testing.T) {
	compilesGo(t)
	s, ws, _ := inNamespaces(t, func(c *process.Confinement) {
		home, err := os.UserHomeDir()
		require.NoError(t, err)
		c.Home, c.PerCommand = home, false
	})
	require.NoError(t, os.WriteFile(filepath.Join(ws, "m_test.go"), []byte("package m\n\nimport (\n\t\"testing\"\n\n\t\"golang.org/x/text/language\"\n)\n\nfunc TestX(t *testing.T) { t.Log(language.English) }\n"), 0o600))
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(ws, name), []byte(strings.Replace(string(text), "module github.com/fettle-dev/fettle", "module example.com/m", 1)), 0o600))
	}
	r, err := s.Run(t.Context(), process.Command{Line: "go test ./... 2>&1", Dir: ws})
	require.NoError(t, err)
	require.Contains(t, r.Text, "ok  \texample.com/m")
}

// A process that was killed leaves no confined process and no mount behind.
func TestConfinedKill(t *testing.T) {
	if dir := os.Getenv("FETTLE_TEST_KILLED"); dir != "" {
		s := process.New(process.Options{Confinement: process.Confinement{Kind: process.Namespaces, NoTCP: true, Writable: []string{dir}}})
		_, err := s.Start(t.Context(), process.Command{Line: "setsid sleep 4321 & env -i sleep 4321 & touch ready; exec sleep 4321", Dir: dir})
		require.NoError(t, err)
		select {}
	}
	if err := (process.Confinement{Kind: process.Namespaces}).Check(t.Context()); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConfinedKill$")
	cmd.Env = append(os.Environ(), "FETTLE_TEST_KILLED="+dir)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil }, 20*time.Second, 10*time.Millisecond)
	require.NotEmpty(t, sleepers(t))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	require.Eventually(t, func() bool { return len(sleepers(t)) == 0 }, 20*time.Second, 10*time.Millisecond)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), dir)
}

// sleepers returns the processes of TestConfinedKill.
func sleepers(t *testing.T) (found []string) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && string(text) == "sleep\x004321\x00" {
			found = append(found, path)
		}
	}
	return found
}
