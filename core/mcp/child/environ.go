package child

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/mcp"
)

// everyProcess lists the variables of this process's environment that a server's
// process receives, in addition to those whose names begin with LC_.
var everyProcess = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "LANG"}

// everyWindows lists the variables that programs for Windows require.
var everyWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES", "PROCESSOR_ARCHITECTURE",
}

// environment returns the environment of a server's process: the common
// variables, overridden by the server's own, and the variable that identifies the
// server.
func environment(all []string, own map[string]string, server string) []string {
	values := map[string]string{}
	for _, variable := range all {
		name, value, ok := strings.Cut(variable, "=")
		if ok && name != "" && allowed(name) {
			values[canonical(name)] = name + "=" + value
		}
	}
	for name, value := range own {
		values[canonical(name)] = name + "=" + value
	}
	values[canonical(mcp.StartedVariable)] = mcp.StartedVariable + "=" + strings.ReplaceAll(server, "\x00", "")
	var list []string
	for _, variable := range values {
		list = append(list, variable)
	}
	slices.Sort(list)
	return list
}

func allowed(name string) bool {
	name = canonical(name)
	return slices.Contains(everyProcess, name) || strings.HasPrefix(name, "LC_") ||
		runtime.GOOS == "windows" && slices.Contains(everyWindows, name)
}

// canonical returns a variable's name in the form in which names are compared.
func canonical(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func lookup(environment []string, name string) string {
	for _, variable := range environment {
		if key, value, ok := strings.Cut(variable, "="); ok && canonical(key) == name {
			return value
		}
	}
	return ""
}

// findProgram resolves a program in its own environment: a name is searched on
// the PATH, and a relative path is resolved against dir.
func findProgram(name, dir string, environment []string) (string, error) {
	extensions := []string{""}
	if runtime.GOOS == "windows" {
		extensions = append(extensions, strings.Split(lookup(environment, "PATHEXT"), ";")...)
	}
	var dirs []string
	switch {
	case filepath.IsAbs(name):
		dirs = []string{""}
	case strings.ContainsAny(name, `/`+string(filepath.Separator)):
		dirs = []string{dir}
	default:
		for _, d := range filepath.SplitList(lookup(environment, "PATH")) {
			if filepath.IsAbs(d) { // a relative entry would let a project's directory choose the program
				dirs = append(dirs, d)
			}
		}
	}
	failure := fs.ErrNotExist
	for _, d := range dirs {
		for _, extension := range extensions {
			path := filepath.Join(d, name+extension)
			info, err := os.Stat(path)
			switch {
			case err == nil && executable(info):
				return path, nil
			case err == nil || errors.Is(err, fs.ErrPermission):
				failure = fs.ErrPermission
			}
		}
	}
	return "", failure
}
