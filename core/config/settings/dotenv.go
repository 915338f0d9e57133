package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// errNotOwn is the reason why a .env file above the project is not read.
var errNotOwn = errors.New("it is not the user's own")

// foundEnv is the content of the .env files.
type foundEnv struct {
	files    []foundFile
	problems []fault.Problem
}

type foundFile struct {
	path      string
	values    map[string]string
	ofProject bool           // it lies in the project or above, and not in the home directory
	lines     map[string]int // 1-based, of the variables
}

// runsCode reports whether shells, the loader or git execute or load the value of
// a variable in every program that is started: such a variable is not accepted
// from a file that a model may have written.
func runsCode(variable string) bool {
	names := []string{"PATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS",
		"GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_TEMPLATE_DIR", "GIT_DIR"}
	prefixes := []string{"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG"}
	return slices.Contains(names, variable) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(variable, p) })
}

// readDotenv finds the .env file of the session: from the project's directory
// upwards, in each trusted directory first the settings directory's and then the
// plain one, and last the home directory's. The first one counts. Nothing is read
// in an untrusted directory, and a file above the project counts only if no other
// user can write it; both are reported. The home directory's settings of
// confinement are always read, because commands may have written the other files.
func readDotenv(ctx context.Context, o Options, names layout.Layout, s Settings) foundEnv {
	var found foundEnv
	trusted, above := o.Trusted, false // of the current directory
	warn := func(path, message, remedy string) {
		found.problems = append(found.problems, fault.Problem{Path: path, Layer: LayerEnvironment, Kind: KindUntrusted, Severity: Warning, Message: message, Remedy: remedy})
	}
	try := func(path string, ofProject bool, keep func(values map[string]string)) bool {
		if to, out := leadsOut(path, o.ProjectDir); ofProject && !above && out && exists(path) {
			warn(path, fmt.Sprintf("It is a link to %s, outside the project, and is not read.", to), "Replace the link by a file.")
			return false
		}
		check := ownFile
		if !above {
			check = nil
		}
		data, err := readChecked(ctx, path, check)
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		if errors.Is(err, errNotOwn) {
			warn(path, fmt.Sprintf("It is above the project and is not read, because %v.", err), "Make it your own file: chmod go-w, or chown.")
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
		values, lines, odd := parseDotenv(string(data))
		if len(odd) > 0 {
			found.problems = append(found.problems, fault.Problem{Path: path, Layer: LayerEnvironment, Line: odd[0], Column: 1, Kind: KindVariable, Severity: Warning,
				Message: oddLines(odd), Remedy: "Write NAME=value, one for each line, or begin the line with #."})
		}
		for _, name := range names.TrustVariables {
			if _, given := values[name]; given {
				delete(values, name)
				found.problems = append(found.problems, fault.Problem{Path: path, Layer: LayerEnvironment, Kind: KindVariable, Severity: Warning,
					Message: "A file cannot decide whether the directory is trusted; " + name + " has no effect here.",
					Remedy:  "Use fettle trust, or set the variable yourself."})
			}
		}
		if ofProject {
			for _, name := range slices.Sorted(maps.Keys(values)) {
				if !runsCode(name) {
					continue
				}
				delete(values, name)
				found.problems = append(found.problems, fault.Problem{Path: path, Layer: LayerEnvironment, Kind: KindVariable, Severity: Warning,
					Message: "A file of the project cannot set variables that make programs load or run code; " + name + " has no effect here.",
					Remedy:  "Set the variable yourself, or in the .env file of your home directory."})
			}
		}
		given := len(values)
		if keep(values); given == 0 || len(values) > 0 || ofProject {
			found.files = append(found.files, foundFile{path, values, ofProject, lines})
		}
		return true
	}
	all := func(map[string]string) {}
	confining := func(values map[string]string) {
		maps.DeleteFunc(values, func(name, _ string) bool { return !confines(names, name) })
	}
	ofProject := func(values map[string]string) {
		maps.DeleteFunc(values, func(name, _ string) bool { return slices.Contains(s.Advanced.ExcludedEnvVars, name) })
	}
	ofHome := all
	for dir := o.ProjectDir; dir != "" && !sameDir(dir, o.HomeDir); {
		own, plain := filepath.Join(dir, names.Dir, ".env"), filepath.Join(dir, ".env")
		if trusted && (try(own, true, all) || !s.Advanced.IgnoreLocalEnv && try(plain, true, ofProject)) {
			ofHome = confining
			break
		}
		for _, path := range []string{own, plain} {
			if !trusted && exists(path) && (path == own || !s.Advanced.IgnoreLocalEnv) {
				warn(path, "Because the directory is not trusted, the file is not read and sets no variable.", "Put your own variables into your own .env file, or trust the directory with fettle trust.")
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir, trusted, above = parent, o.trusts(ctx, parent, names, s.Security.FolderTrust), true
	}
	above = false
	if o.HomeDir != "" && !try(filepath.Join(o.HomeDir, names.Dir, ".env"), false, ofHome) {
		try(filepath.Join(o.HomeDir, ".env"), false, ofHome)
	}
	return found
}

// trusts reports whether a directory above the project is trusted, if it contains
// a .env file.
func (o Options) trusts(ctx context.Context, dir string, names layout.Layout, f FolderTrust) bool {
	trusted, undecided := false, true
	if o.Above != nil && (exists(filepath.Join(dir, ".env")) || exists(filepath.Join(dir, names.Dir, ".env"))) {
		trusted, undecided = o.Above(ctx, dir)
	}
	return trusted || undecided && !f.Enabled
}

// exists reports whether a path exists, including a dangling link.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// confines reports whether a variable configures the confinement of commands.
func confines(names layout.Layout, variable string) bool {
	for _, name := range []string{"SANDBOX", "SANDBOX_COMMAND", "SANDBOX_IMAGE"} {
		if slices.Contains(variables(names, name), variable) {
			return true
		}
	}
	return false
}

// add adds variables that are not set yet, and returns them with their files.
func (e environment) add(found foundEnv) (added map[string]string, files []string) {
	added = map[string]string{}
	for _, f := range slices.Backward(found.files) { // the user's own takes precedence
		files = append(files, f.path)
		for name, value := range f.values {
			if _, set := e.values[name]; !set {
				e.values[name], e.file[name], e.line[name], added[name] = value, f.path, f.lines[name], value
				e.project[name] = f.ofProject
			}
		}
	}
	return added, files
}

// assignment matches NAME=value in a .env file: unquoted up to a comment or the
// end of the line, or quoted, possibly over several lines.
var assignment = lazyregexp.New("(?m)^[ \\t]*(?:export[ \\t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \\t]*=[ \\t]*" +
	"('[^']*'|\"(?:\\\\.|[^\"\\\\])*\"|`[^`]*`|[^\\r\\n#]*)")

// parseDotenv parses a .env file. Other lines are ignored; the last assignment of
// a name counts. In double quotes \n and \r are line breaks. Variables in values
// are not expanded. odd contains the numbers of lines that are neither an
// assignment nor empty nor a comment, and lines those of the variables.
func parseDotenv(text string) (values map[string]string, lines map[string]int, odd []int) {
	values, lines = map[string]string{}, map[string]int{}
	text = strings.ReplaceAll(strings.TrimPrefix(text, byteOrderMark), "\r\n", "\n")
	number, within := 1, 0
	for _, m := range append(assignment().FindAllStringSubmatchIndex(text, -1), []int{len(text), len(text)}) {
		for line := range strings.SplitAfterSeq(text[within:m[0]], "\n") {
			if rest := strings.TrimSpace(line); rest != "" && rest[0] != '#' {
				odd = append(odd, number)
			}
			number += strings.Count(line, "\n")
		}
		if len(m) > 2 {
			value := strings.TrimSpace(text[m[4]:m[5]])
			if n := len(value); n >= 2 && strings.ContainsRune("'\"`", rune(value[0])) && value[n-1] == value[0] {
				quoted := value[0]
				if value = value[1 : n-1]; quoted == '"' {
					value = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\"`, `"`, `\\`, `\`).Replace(value)
				}
			}
			if name := text[m[2]:m[3]]; !strings.Contains(value, "\x00") { // an environment cannot contain it
				values[name], lines[name] = value, number
			}
		}
		number, within = number+strings.Count(text[m[0]:m[1]], "\n"), m[1]
	}
	return values, lines, odd
}

// oddLines describes the invalid lines of a .env file.
func oddLines(lines []int) string {
	if len(lines) == 1 {
		return "The line is not an assignment; it is ignored."
	}
	return fmt.Sprintf("The line is not an assignment; it and %d similar lines are ignored.", len(lines)-1)
}
