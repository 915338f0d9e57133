package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// The npm packages that are compared, with their names in node/package.json.
const (
	coreNPM   = "@google/gemini-cli-core"
	geminiNPM = "@google/gemini-cli"
	qwenNPM   = "@qwen-code/qwen-code"
	jsdiffNPM = "diff"
)

// packagesVariable names a directory with node_modules, other than integration/dev/bench/node.
const packagesVariable = "FETTLE_BENCH_NODE"

const packagesDir = "integration/dev/bench/node"

//go:embed node/driver.mjs
var driverSource []byte

// npmVersion returns the version of an installed package and the directory of node_modules. An
// [Absent] error has the command that installs it.
func npmVersion(ctx context.Context, lab *Lab, name string) (version, modules string, err error) {
	modules, err = Shared(ctx, lab, "directory of the Node packages", func(ctx context.Context) (string, func() error, error) {
		if dir := os.Getenv(packagesVariable); dir != "" {
			dir, err := filepath.Abs(dir)
			return dir, nil, err
		}
		root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/fettle-dev/fettle").Output()
		if err != nil {
			return "", nil, absent("fettle's repository is not here, and %s is not set to a directory with the npm packages", packagesVariable)
		}
		return filepath.Join(strings.TrimSpace(string(root)), filepath.FromSlash(packagesDir)), nil, nil
	})
	if err != nil {
		return "", "", err
	}
	data, err := os.ReadFile(filepath.Join(modules, "node_modules", filepath.FromSlash(name), "package.json"))
	if errors.Is(err, os.ErrNotExist) {
		return "", "", absent("npm package %s is not installed: npm install --ignore-scripts --no-package-lock --prefix %s", name, packagesDir)
	}
	if err != nil {
		return "", "", err
	}
	var about struct{ Version string }
	if err := json.Unmarshal(data, &about); err != nil || about.Version == "" {
		return "", "", fmt.Errorf("package.json of %s has no version: %w", name, err)
	}
	return about.Version, modules, nil
}

// npmProgram returns the path of a program of a package.
func npmProgram(ctx context.Context, lab *Lab, pkg, program string) (string, error) {
	if _, err := lab.Program("node"); err != nil {
		return "", err
	}
	_, modules, err := npmVersion(ctx, lab, pkg)
	if err != nil {
		return "", err
	}
	path, err := exec.LookPath(filepath.Join(modules, "node_modules", ".bin", program))
	if err != nil {
		return "", absent("npm package %s has no program %s here: %v", pkg, program, err)
	}
	return path, nil
}

// nodeDriver is a driver that starts on demand, and again after it has ended.
type nodeDriver struct {
	start func(ctx context.Context) (*driver, error)
	mu    sync.Mutex
	now   *driver
}

func (n *nodeDriver) get(ctx context.Context) (*driver, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now != nil && n.now.over() {
		_ = n.now.close() // always nil
		n.now = nil
	}
	if n.now == nil {
		d, err := n.start(ctx)
		if err != nil {
			return nil, err
		}
		n.now = d
	}
	return n.now, nil
}

func (n *nodeDriver) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now == nil {
		return nil
	}
	return n.now.close()
}

// sharedDriver returns the driver in which all peers in Node work.
func sharedDriver(ctx context.Context, lab *Lab, packages ...string) (*driver, error) {
	n, err := Shared(ctx, lab, "driver of the Node packages", func(context.Context) (*nodeDriver, func() error, error) {
		n := &nodeDriver{start: func(ctx context.Context) (*driver, error) { return newDriver(ctx, lab) }}
		return n, n.close, nil
	})
	if err != nil {
		return nil, err
	}
	var modules string
	for _, name := range packages {
		if _, modules, err = npmVersion(ctx, lab, name); err != nil {
			return nil, err
		}
	}
	d, err := n.get(ctx)
	if err != nil {
		return nil, err
	}
	return d, d.ask(ctx, map[string]any{"op": "import", "packages": modules, "names": packages}, nil)
}

// newDriver starts node/driver.mjs in a process of its own.
func newDriver(ctx context.Context, lab *Lab) (*driver, error) {
	node, err := lab.Program("node")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(lab.Dir, "driver.mjs")
	if err := os.WriteFile(script, driverSource, 0o644); err != nil {
		return nil, err
	}
	env, err := peerEnvironment(ctx, lab)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(node, "--expose-gc", "--max-old-space-size=8192", script)  // close ends it
	cmd.Dir, cmd.Env = lab.Dir, append(env, "GEMINI_API_KEY=bench-key-0123456789") // the key is never sent
	return startDriver(cmd)
}

// peerEnvironment returns the environment of the Lab with a home for the peers. Settings in it turn
// off all network use: updates, usage statistics, telemetry, and the memory that qwen lets a model
// extract after a turn.
func peerEnvironment(ctx context.Context, lab *Lab) ([]string, error) {
	env, err := lab.Environment(ctx)
	if err != nil {
		return nil, err
	}
	home, err := Shared(ctx, lab, "home of the peers", func(context.Context) (string, func() error, error) {
		home, err := lab.TempDir("peers-home")
		if err != nil {
			return "", nil, err
		}
		for file, text := range map[string]string{
			".gemini/settings.json": `{"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
 "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}, "security": {"auth": {"selectedType": "gemini-api-key"}}}`,
			".qwen/settings.json": `{"general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false},
 "telemetry": {"enabled": false}, "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false}}`,
		} {
			path := filepath.Join(home, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return "", nil, err
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return "", nil, err
			}
		}
		return home, nil, nil
	})
	if err != nil {
		return nil, err
	}
	return append(env, "HOME="+home, "USERPROFILE="+home, "GEMINI_CLI_TRUST_WORKSPACE=true"), nil
}
