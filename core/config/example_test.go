package config_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// A session in a directory: how a host handles the calls of a model.
func Example() {
	dir, err := os.MkdirTemp("", "fettle-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Policy: config.Policy{ApprovalMode: policy.ModeAutoEdit}})
	if err != nil {
		panic(err)
	}
	if err := c.Initialize(ctx); err != nil {
		panic(err)
	}
	defer c.Close()
	calls, err := c.Scheduler()
	if err != nil {
		panic(err)
	}

	// Twice, as a model may: the second call would overwrite an existing file.
	for range 2 {
		r := calls.Run(ctx, scheduler.Request{
			Tool: "write_file", Args: json.RawMessage(`{"file_path": "todo.txt", "content": "Water the plants.\n"}`),
		})
		if r.Result.Error != nil {
			fmt.Println(r.Status, r.Result.Error.Code)
			continue
		}
		fmt.Println(r.Status)
	}
	// Output:
	// success
	// error base_hash_required
}

// A session with the user's settings, and a flag that overrides them.
func Example_settings() {
	dir, err := os.MkdirTemp("", "fettle-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	names := layout.Fettle()
	names.SystemDir = dir // nothing of this machine
	if err := os.Mkdir(filepath.Join(dir, names.Dir), 0o700); err != nil {
		panic(err)
	}
	mine := []byte(`{"general": {"defaultApprovalMode": "auto_edit"} /* edits need nobody */, "tools": {"exclude": ["write_file"]}}`)
	if err := os.WriteFile(filepath.Join(dir, names.Dir, "settings.json"), mine, 0o600); err != nil {
		panic(err)
	}

	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir, Layout: names}, Settings: &settings.Options{
		Environ: []string{"FETTLE_MODEL=quick"}, Flags: map[string]any{"general.defaultApprovalMode": "plan"},
	}})
	if err != nil {
		panic(err)
	}
	if err := c.Initialize(ctx); err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Println(c.ApprovalMode(), c.Model(), c.Policy().ExcludedTools())
	origins, err := c.Settings().Origins("general.defaultApprovalMode")
	if err != nil {
		panic(err)
	}
	for _, o := range origins {
		fmt.Println(o.Layer, o.Value)
	}
	// Output:
	// plan quick [write_file]
	// flags plan
	// user auto_edit
	// default default
}
