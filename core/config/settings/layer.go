package settings

import (
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
)

// Layer identifies a source of values.
type Layer = fault.ProblemLayer

// The layers, in order of increasing precedence.
const (
	LayerDefault        Layer = "default"         // no source gives a value
	LayerSystemDefaults Layer = "system-defaults" // the machine's defaults for all users
	LayerUserServers    Layer = "mcp-settings"    // the user's mcp-settings.json, which contains only servers
	LayerUser           Layer = "user"            // the user's settings.json
	LayerProject        Layer = "project"         // the project's settings.json
	LayerSystem         Layer = "system"          // the machine's, which override users and projects
	LayerEnvironment    Layer = "environment"     // variables, including those of .env files
	LayerFile           Layer = "file"            // the file that --settings names
	LayerFlags          Layer = "flags"           // single flags
)

// Names of files in the settings directories.
const (
	settingsFile       = "settings.json"
	systemDefaultsFile = "system-defaults.json"
	mcpSettingsFile    = "mcp-settings.json"
)

// File is a settings file, which need not exist.
type File struct {
	Layer Layer
	Path  string
}

// Files returns the settings files of a session, in order of increasing
// precedence. It reads none of them; the project's is omitted if it is the user's
// own.
func Files(o Options) []File {
	names := o.layout()
	var files []File
	add := func(l Layer, path string) { files = append(files, File{l, path}) }
	system := func(l Layer, name, variable string) {
		path := filepath.Join(names.SystemDir, name)
		if given, ok := o.lookup(names, variable); ok {
			path = given
		} else if names.SystemDir == "" {
			return
		}
		add(l, path)
	}
	system(LayerSystemDefaults, systemDefaultsFile, "SYSTEM_DEFAULTS_PATH")
	if o.HomeDir != "" {
		add(LayerUserServers, filepath.Join(o.HomeDir, names.Dir, mcpSettingsFile))
		add(LayerUser, filepath.Join(o.HomeDir, names.Dir, settingsFile))
	}
	if o.ProjectDir != "" && !sameDir(o.HomeDir, o.ProjectDir) {
		add(LayerProject, filepath.Join(o.ProjectDir, names.Dir, settingsFile))
	}
	system(LayerSystem, settingsFile, "SYSTEM_SETTINGS_PATH")
	if o.File != "" {
		add(LayerFile, o.File)
	}
	return files
}

// sameDir reports whether two paths lead to the same directory.
func sameDir(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// variables returns the names of an environment variable; the first one that is
// set counts.
func variables(l layout.Layout, name string) []string {
	names := []string{l.EnvPrefix + name}
	if l.Name == layout.Gemini().Name {
		names = append(names, l.EnvPrefix+"CLI_"+name)
	}
	return names
}
