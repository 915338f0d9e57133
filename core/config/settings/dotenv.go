package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/layout"
)

// foundEnv is what .env files hold.
type foundEnv struct {
	files    []foundFile
	problems []Problem
}

type foundFile struct {
	path      string
	values    map[string]string
	ofProject bool // it lies in the project or above, and not in the home folder
	stranger  bool // in a folder that is not trusted
}

// ofStrangers are the variables that .env files of a folder may give that is
// not trusted, and unsafe what is taken out of their values.
func ofStrangers() []string {
	return []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"}
}

// runsCode reports whether shells, the loader or git run, or load, what a variable
// says in each program that is started: a file that a model may have written gives
// no such one.
func runsCode(variable string) bool {
	names := []string{"PATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS",
		"GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_TEMPLATE_DIR", "GIT_DIR"}
	prefixes := []string{"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG"}
	return slices.Contains(names, variable) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(variable, p) })
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9_./-]`)

// readDotenv finds the .env file of the session: from the project's folder
// upwards, in each folder first the settings folder's (of a trusted one)
// and then the plain one, and last the home folder's. The first one holds. One
// that belongs to a folder that is not trusted does not keep the home folder's
// from being read; no other keeps what it says of the confinement of commands
// from being read, as they may have written that other one.
func readDotenv(ctx context.Context, o Options, names layout.Layout, s Settings) foundEnv {
	var found foundEnv
	trusted := o.Trusted // of the folder that is looked at
	try := func(path string, ofProject bool, keep func(values map[string]string)) bool {
		data, err := read(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		if err != nil {
			p := unread(File{LayerEnvironment, path}, err)
			if p.Severity, p.Kind, p.Open = Warning, KindVariable, false; !ofProject {
				p = unreadOwn(ctx, File{LayerEnvironment, path}, err)
			}
			found.problems = append(found.problems, p)
			return false
		}
		values, odd := parseDotenv(string(data))
		if len(odd) > 0 {
			found.problems = append(found.problems, Problem{Source: path, Layer: LayerEnvironment, Line: odd[0], Column: 1, Kind: KindVariable, Severity: Warning,
				Message: oddLines(odd), Remedy: "Write NAME=value, one a line, or begin the line with #."})
		}
		for _, name := range names.TrustVariables {
			if _, given := values[name]; given {
				delete(values, name)
				found.problems = append(found.problems, Problem{Source: path, Layer: LayerEnvironment, Kind: KindVariable, Severity: Warning,
					Message: "A file has no say in whether the folder is trusted; " + name + " has no effect here.",
					Remedy:  "Use fettle trust, or set the variable yourself."})
			}
		}
		if ofProject {
			for _, name := range slices.Sorted(maps.Keys(values)) {
				if !runsCode(name) {
					continue
				}
				if delete(values, name); !trusted { // of which hardly any variable counts
					continue
				}
				found.problems = append(found.problems, Problem{Source: path, Layer: LayerEnvironment, Kind: KindVariable, Severity: Warning,
					Message: "A file of the project has no say in what programs load or run besides; " + name + " has no effect here.",
					Remedy:  "Set the variable yourself, or in the .env file of your home folder."})
			}
		}
		given := len(values)
		if keep(values); given == 0 || len(values) > 0 || ofProject {
			found.files = append(found.files, foundFile{path, values, ofProject, ofProject && !trusted})
		}
		return true
	}
	all := func(map[string]string) {}
	confining := func(values map[string]string) {
		maps.DeleteFunc(values, func(name, _ string) bool { return !confines(names, name) })
	}
	ofProject := func(values map[string]string) {
		for name, value := range values {
			switch {
			case slices.Contains(s.Advanced.ExcludedEnvVars, name), !trusted && !slices.Contains(ofStrangers(), name):
				delete(values, name)
			case !trusted:
				values[name] = unsafe.ReplaceAllString(value, "")
			}
		}
	}
	ofHome := all
	for dir := o.ProjectDir; dir != "" && !sameFolder(dir, o.HomeDir); {
		if trusted && try(filepath.Join(dir, names.Dir, ".env"), true, all) {
			ofHome = confining
			break
		}
		if !s.Advanced.IgnoreLocalEnv && try(filepath.Join(dir, ".env"), true, ofProject) {
			if trusted {
				ofHome = confining
			}
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir, trusted = parent, o.trusts(ctx, parent, names, s.Security.FolderTrust)
	}
	if o.HomeDir != "" && !try(filepath.Join(o.HomeDir, names.Dir, ".env"), false, ofHome) {
		try(filepath.Join(o.HomeDir, ".env"), false, ofHome)
	}
	return found
}

// trusts reports whether a folder above the project is trusted, as far as it
// holds a .env file.
func (o Options) trusts(ctx context.Context, folder string, names layout.Layout, f FolderTrust) bool {
	there := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	trusted, undecided := false, true
	if o.Above != nil && (there(filepath.Join(folder, ".env")) || there(filepath.Join(folder, names.Dir, ".env"))) {
		trusted, undecided = o.Above(ctx, folder)
	}
	return trusted || undecided && !f.Enabled
}

// confines reports whether a variable says what confines commands.
func confines(names layout.Layout, variable string) bool {
	for _, name := range []string{"SANDBOX", "SANDBOX_COMMAND", "SANDBOX_IMAGE"} {
		if slices.Contains(variables(names, name), variable) {
			return true
		}
	}
	return false
}

// add puts what is not set yet beside the variables, and returns it with the
// files that it comes from.
func (e environment) add(found foundEnv) (added map[string]string, files []string) {
	added = map[string]string{}
	for _, f := range slices.Backward(found.files) { // the user's own goes first
		files = append(files, f.path)
		for name, value := range f.values {
			if _, set := e.values[name]; !set {
				e.values[name], e.file[name], added[name] = value, f.path, value
				e.project[name], e.stranger[name] = f.ofProject, f.stranger
			}
		}
	}
	return added, files
}

// assignment is NAME=value in a .env file: bare up to a comment or the end of
// the line, or in quotes, where it may span lines.
var assignment = regexp.MustCompile("(?m)^[ \\t]*(?:export[ \\t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \\t]*=[ \\t]*" +
	"('[^']*'|\"(?:\\\\.|[^\"\\\\])*\"|`[^`]*`|[^\\r\\n#]*)")

// parseDotenv reads a .env file. Lines that are no assignments are left out; of
// two with one name the last holds. In double quotes \n and \r are a line end.
// Variables in values stay as they are. odd are the numbers of lines that are
// neither an assignment nor empty nor a comment.
func parseDotenv(text string) (values map[string]string, odd []int) {
	values = map[string]string{}
	text = strings.ReplaceAll(strings.TrimPrefix(text, byteOrderMark), "\r\n", "\n")
	number, within := 1, 0
	for _, m := range append(assignment.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		for line := range strings.SplitAfterSeq(text[within:m[0]], "\n") {
			if rest := strings.TrimSpace(line); rest != "" && rest[0] != '#' {
				odd = append(odd, number)
			}
			number += strings.Count(line, "\n")
		}
		number, within = number+strings.Count(text[m[0]:m[1]], "\n"), m[1]
	}
	for _, m := range assignment.FindAllStringSubmatch(text, -1) {
		value := strings.TrimSpace(m[2])
		if n := len(value); n >= 2 && strings.ContainsRune("'\"`", rune(value[0])) && value[n-1] == value[0] {
			quoted := value[0]
			if value = value[1 : n-1]; quoted == '"' {
				value = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\"`, `"`, `\\`, `\`).Replace(value)
			}
		}
		if !strings.Contains(value, "\x00") { // no environment can hold it
			values[m[1]] = value
		}
	}
	return values, odd
}

// oddLines says which lines of a .env file are none.
func oddLines(lines []int) string {
	if len(lines) == 1 {
		return "The line is no assignment; it is left out."
	}
	return fmt.Sprintf("The line is no assignment; it and %d more like it are left out.", len(lines)-1)
}
