package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// packagesVariable names a directory with node_modules, other than integration/dev/toolbench/node.
const packagesVariable = "FETTLE_TOOLBENCH_NODE"

//go:embed node/driver.mjs
var driverSource []byte

// Mode is the approvals of a session.
type Mode string

// The modes. Each contestant has its own settings for them.
const (
	Edits   Mode = "edit"    // edits run unasked, and every command but rm
	Default Mode = "default" // nothing is configured
)

// Lab has the programs of the contestants and temporary directories.
type Lab struct {
	Dir      string // temporary
	Fettle   string // the program
	Packages string // directory with node_modules
}

// newLab creates the directories. The caller removes Dir.
func newLab(fettle, packages string) (*Lab, error) {
	dir, err := os.MkdirTemp("", "fettle-toolbench-")
	if err != nil {
		return nil, err
	}
	l := &Lab{Dir: dir, Fettle: fettle, Packages: packages}
	if l.Dir, err = filepath.EvalSymlinks(dir); err != nil {
		return l, err
	}
	return l, errors.Join(os.WriteFile(l.driver(), driverSource, 0o644), os.WriteFile(l.rules(), []byte(shellRules), 0o600))
}

func (l *Lab) driver() string { return filepath.Join(l.Dir, "driver.mjs") }
func (l *Lab) rules() string  { return filepath.Join(l.Dir, "rules.toml") }

// build builds fettle's program.
func (l *Lab) build(ctx context.Context) error {
	l.Fettle = filepath.Join(l.Dir, "fettle"+map[bool]string{true: ".exe"}[runtime.GOOS == "windows"])
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", l.Fettle, "github.com/fettle-dev/fettle/cli/fettle").CombinedOutput(); err != nil {
		return fmt.Errorf("build fettle: %w\n%s", err, out)
	}
	return nil
}

// command returns a command in dir with a home of its own.
func (l *Lab) command(dir, name string, args ...string) (*exec.Cmd, error) {
	home, err := os.MkdirTemp(l.Dir, "home-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(name, args...) // the session ends it
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"),
		"GEMINI_API_KEY=toolbench", "GEMINI_CLI_TRUST_WORKSPACE=true", "NO_COLOR=1") // the key is never sent
	return cmd, nil
}

// module returns the path of a file of an npm package.
func (l *Lab) module(pkg, file string) (string, error) {
	path := filepath.Join(l.Packages, "node_modules", filepath.FromSlash(pkg), filepath.FromSlash(file))
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("npm package %s is not installed", pkg)
	}
	return path, nil
}

// version returns the version of an npm package or the first word with a digit that a program prints.
func (l *Lab) version(ctx context.Context, c *Contestant) (string, error) {
	if c.Package != "" {
		path, err := l.module(c.Package, "package.json")
		if err != nil {
			return "", err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		var about struct{ Version string }
		return about.Version, errors.Join(json.Unmarshal(data, &about), func() error {
			if about.Version == "" {
				return fmt.Errorf("package.json of %s has no version", c.Package)
			}
			return nil
		}())
	}
	if c.Program == "" {
		return firstLine(ctx, "git", "describe", "--always", "--dirty"), nil
	}
	line := firstLine(ctx, c.Program, "--version")
	for word := range strings.FieldsSeq(line) {
		if strings.ContainsAny(word, "0123456789") {
			return word, nil
		}
	}
	return "", fmt.Errorf("program %s is not installed", c.Program)
}

func firstLine(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// inNode starts the driver of a contestant that is an npm package.
func inNode(name string) func(context.Context, *Lab, string, Mode) (Session, error) {
	return func(ctx context.Context, l *Lab, dir string, m Mode) (Session, error) {
		program := "node"
		if name == "hashline" {
			var err error
			if program, err = l.module("@oven/bun-linux-x64", "bin/bun"); err != nil {
				return nil, err
			}
		}
		cmd, err := l.command(dir, program, l.driver(), l.Packages, name, dir, string(m))
		if err != nil {
			return nil, err
		}
		return startPipe(ctx, cmd)
	}
}

// overMCP starts a server of an npm package. setUp, which may be nil, makes its first calls.
func overMCP(pkg, file string, args func(dir string) []string, setUp func(Mode) []Call) func(context.Context, *Lab, string, Mode) (Session, error) {
	return func(ctx context.Context, l *Lab, dir string, m Mode) (Session, error) {
		path, err := l.module(pkg, file)
		if err != nil {
			return nil, err
		}
		cmd, err := l.command(dir, "node", append([]string{path}, args(dir)...)...)
		if err != nil {
			return nil, err
		}
		s, err := startMCP(ctx, cmd)
		if err != nil || setUp == nil {
			return s, err
		}
		for _, c := range setUp(m) {
			if a, err := s.Call(ctx, c); err != nil || a.Refused {
				return nil, errors.Join(fmt.Errorf("set up %s: %s", pkg, a.Text), err, s.Close())
			}
		}
		return s, nil
	}
}

// startFettle starts fettle as its pages set up an MCP server.
func startFettle(ctx context.Context, l *Lab, dir string, m Mode) (Session, error) {
	cmd, err := l.command(dir, l.Fettle, "mcp", "serve")
	if err != nil {
		return nil, err
	}
	if m == Edits {
		cmd.Args = append(cmd.Args[:1], "--approval-mode", "auto_edit", "--policy", l.rules(), "mcp", "serve")
	}
	return startMCP(ctx, cmd)
}

// shellRules allow every command but rm, in the format of fettle's policy files.
const shellRules = `[[rule]]
toolName = "run_shell_command"
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandPrefix = "rm"
decision = "deny"
priority = 200
`

// startQwen starts the daemon of qwen-code on a free port.
func startQwen(ctx context.Context, l *Lab, dir string, _ Mode) (Session, error) {
	path, err := l.module("@qwen-code/qwen-code", "cli.js")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return nil, err
	}
	cmd, err := l.command(dir, "node", path, "serve", "--no-web", "--workspace", dir, "--port", fmt.Sprint(port))
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &httpSession{cmd, fmt.Sprintf("http://127.0.0.1:%d", port)}
	deadline := time.Now().Add(30 * time.Second)
	for {
		r, err := http.Get(s.url + "/health")
		if err == nil {
			return s, r.Body.Close()
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("qwen serve does not answer: %w", err), s.Close())
		}
		time.Sleep(50 * time.Millisecond)
	}
}
