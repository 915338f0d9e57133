package rules

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy"
)

// lookUp adds to a call the facts that the read-only table requires: the files of
// programs, and the targets of paths. Names that cannot be resolved are absent.
func (r *Rules) lookUp(call *policy.Call) {
	r.Prepare(call)
	names := r.Lookups(*call)
	if len(names) == 0 || runtime.GOOS == "windows" {
		return
	}
	environ := os.Environ
	if r.environ != nil {
		environ = r.environ
	}
	env := environ()
	call.Found = make(map[string]string, len(names))
	for _, name := range names {
		if !filepath.IsAbs(name) {
			if found := findProgram(env, name); found != "" {
				call.Found[name] = found
			}
		} else if real, err := r.workspace.RealPath(name); err == nil {
			call.Found[name] = real
		}
	}
}

// findProgram returns the file that a shell with an environment runs for a name,
// with links resolved; "" if it is unknown: because a function has the name, or a
// relative directory is searched before the file is found.
func findProgram(env []string, name string) string {
	path := ""
	for _, v := range env { // the last one takes precedence
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
		if strings.HasPrefix(v, "BASH_FUNC_"+name+"%%=") || strings.HasPrefix(v, "BASH_FUNC_"+name+"()=") {
			return ""
		}
	}
	dirs := filepath.SplitList(path)
	if i := slices.IndexFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) }); i >= 0 {
		dirs = dirs[:i]
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(file); err == nil {
			return real
		}
		return ""
	}
	return ""
}
