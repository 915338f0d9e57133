package settings_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// A user's file and that of an untrusted project.
func ExampleLoad() {
	top, err := os.MkdirTemp("", "settings")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(top) }()
	for name, text := range map[string]string{
		"home/.fettle/settings.json":    `{"tools": {"exclude": ["write_file"]} /* mine */}`,
		"project/.fettle/settings.json": `{"tools": {"exclude": ["edit"], "allowed": ["run_shell_command"]}}`,
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			fmt.Println(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
		}
	}
	names := layout.Fettle()
	names.SystemDir = "" // nothing of this machine's
	r, err := settings.Load(context.Background(), settings.Options{
		Layout: names, HomeDir: filepath.Join(top, "home"), ProjectDir: filepath.Join(top, "project"),
		Environ: []string{"FETTLE_SANDBOX=landlock"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Settings.Tools.Exclude, r.Settings.Tools.Sandbox.Kind())
	for _, p := range r.Problems {
		fmt.Println(p.Key, p.Kind)
	}
	for _, o := range r.Origins("tools.exclude") {
		fmt.Println(o.Layer, o.Value)
	}
	// Output:
	// [write_file edit] landlock
	// tools.allowed untrusted_project
	// project [edit]
	// user [write_file]
}
