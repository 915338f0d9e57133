package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version says which fettle this is.
type version struct {
	Version string `json:"version"`          // module version; "devel" for a build from a checkout
	Commit  string `json:"commit,omitempty"` // revision, where the build recorded it
	Dirty   bool   `json:"dirty,omitempty"`  // built with changes that are not committed
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// versionOf reads what the Go linker recorded about this build.
func versionOf() version {
	v := version{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		}
	}
	return v
}

// String is the line that --version prints.
func (v version) String() string {
	s := "fettle " + v.Version
	if v.Commit != "" {
		s += " " + v.Commit[:min(12, len(v.Commit))]
	}
	if v.Dirty {
		s += " (with changes)"
	}
	return fmt.Sprintf("%s, %s %s/%s", s, v.Go, v.OS, v.Arch)
}

// printVersion prints the version as one line.
func (p *program) printVersion() error {
	_, err := fmt.Fprintln(p.out, versionOf())
	return err
}

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printJSON(p.out, versionOf())
			}
			return p.printVersion()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
