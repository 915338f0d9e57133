package program

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version describes this build of fettle.
type version struct {
	Version string `json:"version"`          // module version; "devel" for a build from a checkout
	Commit  string `json:"commit,omitempty"` // revision, if the build recorded it
	Dirty   bool   `json:"dirty,omitempty"`  // built with uncommitted changes
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// VersionOf returns the version that the Go linker recorded in this build.
func VersionOf() version {
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

// String returns the line that --version prints.
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
