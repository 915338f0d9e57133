package settings

import (
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
)

// Layer is where a value was given.
type Layer = fault.ProblemLayer

// The layers, the weakest first.
const (
	LayerDefault        Layer = "default"         // nobody gave one
	LayerSystemDefaults Layer = "system-defaults" // the machine's, for those who say nothing
	LayerUserServers    Layer = "mcp-settings"    // the user's mcp-settings.json, which holds servers alone (CR-25)
	LayerUser           Layer = "user"            // the user's settings.json
	LayerProject        Layer = "project"         // the project's settings.json
	LayerSystem         Layer = "system"          // the machine's, over users and projects
	LayerEnvironment    Layer = "environment"     // variables, of .env files too
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

// Files lists the settings files of a session, the weakest first. It reads none
// of them; the project's is left out where it is the user's own.
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
	if o.ProjectDir != "" && !sameFolder(o.HomeDir, o.ProjectDir) {
		add(LayerProject, filepath.Join(o.ProjectDir, names.Dir, settingsFile))
	}
	system(LayerSystem, settingsFile, "SYSTEM_SETTINGS_PATH")
	if o.File != "" {
		add(LayerFile, o.File)
	}
	return files
}

// sameFolder reports whether two paths lead to one directory.
func sameFolder(a, b string) bool {
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

// variables are the names of an environment variable, the first one that is set
// wins.
func variables(l layout.Layout, name string) []string {
	names := []string{l.EnvPrefix + name}
	if l.Name == layout.Gemini().Name {
		names = append(names, l.EnvPrefix+"CLI_"+name)
	}
	return names
}
