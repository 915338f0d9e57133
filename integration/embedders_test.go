package integration

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

const fettleModule = "github.com/fettle-dev/fettle"

// embedders are programs in modules of their own.
var embedders = map[string]struct {
	adapter string // directory below integration, "" for none
	program string
}{
	"alone": {program: `package main

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
)

func main() {
	c, err := config.New(config.Parameters{TargetDir: ".", Policy: config.Policy{ApprovalMode: policy.ModeAutoEdit}})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Println(c.Initialize(context.Background()))
}
`},
	"with adk-go": {
		adapter: "adapters/adk",
		program: `package main

import (
	"fmt"

	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/adapters/adk"
)

func main() {
	c, err := config.New(config.Parameters{TargetDir: "."})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	agent, err := llmagent.New(llmagent.Config{Name: "editor", Toolsets: []tool.Toolset{adk.New(c, adk.Options{})}})
	if err != nil {
		panic(err)
	}
	fmt.Println(runner.New(runner.Config{AppName: "editor", Agent: agent}))
}
`},
	"with eino": {
		adapter: "adapters/eino",
		program: `package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/adapters/eino"
)

func main() {
	c, err := config.New(config.Parameters{TargetDir: "."})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	node, err := eino.Toolset{Config: c}.Node()
	if err != nil {
		panic(err)
	}
	fmt.Println(adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name: "editor", ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: node},
	}))
}
`},
}

// unreachable matches the errors of Go for a module that cannot be downloaded.
var unreachable = regexp.MustCompile(`module lookup disabled|dial tcp|i/o timeout|connection refused|server response|no such host`)

// FD-05: a module that requires fettle, alone or with a kit, compiles with the versions that
// both require, and with FETTLE_FULL=1 is linked: its only replacement is the location of fettle.
func TestEmbeddersModules(t *testing.T) {
	t.Parallel()
	for name, tt := range embedders {
		t.Run(name, func(t *testing.T) {
			if tt.adapter != "" && os.Getenv("FETTLE_FULL") == "" {
				t.Skip("building a kit takes minutes: FETTLE_FULL=1 runs it")
			}
			t.Parallel()
			top, err := filepath.Abs(root)
			require.NoError(t, err)
			dir := t.TempDir()
			goRun := func(args ...string) string {
				cmd := exec.CommandContext(t.Context(), "go", args...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
				out, err := cmd.CombinedOutput()
				if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && args[0] == "mod" && unreachable.Match(out) {
					t.Skipf("a module cannot be downloaded: %s", out)
				}
				require.NoError(t, err, "go %v: %s", args, out)
				return string(out)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(tt.program), 0o600))
			goRun("mod", "init", "example.com/embedder")
			edit := []string{"mod", "edit", "-require=" + fettleModule + "@v0.0.0", "-replace=" + fettleModule + "=" + top}
			if tt.adapter != "" {
				adapter := fettleModule + "/core/" + tt.adapter
				edit = append(edit, "-require="+adapter+"@v0.0.0", "-replace="+adapter+"="+filepath.Join(top, "core", tt.adapter))
			}
			goRun(edit...)
			goRun("mod", "tidy")
			goRun("vet", ".") // compiles all that it imports
			if os.Getenv("FETTLE_FULL") != "" {
				goRun("build", "-o", os.DevNull, ".")
			}
		})
	}
}

// FD-05: an adapter is a module that resolves versions as an embedder's does: its go.mod replaces fettle only. If it
// builds, fettle and the kit are compatible.
func TestAdaptersReplaceNothing(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "core", "adapters", "*", "go.mod"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
		cmd.Dir = filepath.Dir(file)
		out, err := cmd.Output()
		require.NoError(t, err)
		var mod struct {
			Replace []struct{ Old struct{ Path string } }
			Exclude []struct{ Path string }
		}
		require.NoError(t, json.Unmarshal(out, &mod))
		require.Empty(t, mod.Exclude, file)
		for _, r := range mod.Replace {
			require.Equal(t, fettleModule, r.Old.Path, file)
		}
	}
}
