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

// The npm packages that are compared, as node/package.json names them.
const (
	coreNPM   = "@google/gemini-cli-core"
	geminiNPM = "@google/gemini-cli"
	qwenNPM   = "@qwen-code/qwen-code"
	jsdiffNPM = "diff"
)

// packagesVariable names a directory other than integration/dev/bench/node that holds node_modules.
const packagesVariable = "FETTLE_BENCH_NODE"

const packagesFolder = "integration/dev/bench/node"

//go:embed node/driver.mjs
var driverSource []byte

// npmVersion returns the version of a package that is installed and the directory
// that holds node_modules, else an [Absent] error that says how to install it.
func npmVersion(ctx context.Context, lab *Lab, name string) (version, folder string, err error) {
	folder, err = Shared(ctx, lab, "directory of the Node packages", func(ctx context.Context) (string, func() error, error) {
		if dir := os.Getenv(packagesVariable); dir != "" {
			dir, err := filepath.Abs(dir)
			return dir, nil, err
		}
		root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/fettle-dev/fettle").Output()
		if err != nil {
			return "", nil, absent("fettle's repository is not here, nor does %s name a directory with the npm packages", packagesVariable)
		}
		return filepath.Join(strings.TrimSpace(string(root)), filepath.FromSlash(packagesFolder)), nil, nil
	})
	if err != nil {
		return "", "", err
	}
	data, err := os.ReadFile(filepath.Join(folder, "node_modules", filepath.FromSlash(name), "package.json"))
	if errors.Is(err, os.ErrNotExist) {
		return "", "", absent("npm package %s is not installed: npm install --ignore-scripts --no-package-lock --prefix %s", name, packagesFolder)
	}
	if err != nil {
		return "", "", err
	}
	var about struct{ Version string }
	if err := json.Unmarshal(data, &about); err != nil || about.Version == "" {
		return "", "", fmt.Errorf("package.json of %s gives no version: %w", name, err)
	}
	return about.Version, folder, nil
}

// npmProgram returns the path of a program that a package brings.
func npmProgram(ctx context.Context, lab *Lab, pkg, program string) (string, error) {
	if _, err := lab.Program("node"); err != nil {
		return "", err
	}
	_, folder, err := npmVersion(ctx, lab, pkg)
	if err != nil {
		return "", err
	}
	path, err := exec.LookPath(filepath.Join(folder, "node_modules", ".bin", program))
	if err != nil {
		return "", absent("npm package %s has no program %s here: %v", pkg, program, err)
	}
	return path, nil
}

// nodeDriver is a driver that is started when it is needed, and again after it has ended.
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

// sharedDriver returns the driver in which all peers in Node do their work.
func sharedDriver(ctx context.Context, lab *Lab, packages ...string) (*driver, error) {
	n, err := Shared(ctx, lab, "driver of the Node packages", func(context.Context) (*nodeDriver, func() error, error) {
		n := &nodeDriver{start: func(ctx context.Context) (*driver, error) { return newDriver(ctx, lab) }}
		return n, n.close, nil
	})
	if err != nil {
		return nil, err
	}
	var folder string
	for _, name := range packages {
		if _, folder, err = npmVersion(ctx, lab, name); err != nil {
			return nil, err
		}
	}
	d, err := n.get(ctx)
	if err != nil {
		return nil, err
	}
	return d, d.ask(ctx, map[string]any{"op": "import", "packages": folder, "names": packages}, nil)
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
	cmd := exec.Command(node, "--expose-gc", "--max-old-space-size=8192", script)  // ends by close
	cmd.Dir, cmd.Env = lab.Dir, append(env, "GEMINI_API_KEY=bench-key-0123456789") // nobody is sent it
	return startDriver(cmd)
}

// peerEnvironment is that of the Lab with a home of the peers' own, in which their
// settings turn off what would reach for the network: updates, usage statistics,
// telemetry, and the memory that qwen has a model extract after a turn.
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
