package extensionstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// variables are the variables in texts of an extension. The zero value expands nothing.
type variables struct {
	extensionPath string // of ${extensionPath}; "": not expanded
	workspacePath string // of ${workspacePath}; likewise
	// settings are the values of the extension's settings, by variable. Undeclared ones
	// are ignored.
	settings map[string]string
	// getenv looks up a process variable. It is called only for those that the manifest
	// declares in settings, and for public ones as HOME. nil: there are none.
	getenv func(name string) (string, bool)

	secret map[string]bool // variables of Settings that are sensitive in spite of the manifest
}

// paths returns the path variables by name, which are available as ${NAME} in all files
// of an extension.
func (v variables) paths() map[string]string {
	all := map[string]string{"/": string(os.PathSeparator), "pathSeparator": string(os.PathSeparator)}
	if v.extensionPath != "" {
		all["extensionPath"] = v.extensionPath
	}
	if v.workspacePath != "" {
		all["workspacePath"] = v.workspacePath
	}
	return all
}

// fill expands the path variables in the string values of JSON with comments, as in
// hooks.json. Keys and lines are unchanged. The error describes the syntax error.
func (v variables) fill(data []byte) ([]byte, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	paths := expander{paths: v.paths()}
	fill(&d.Tree, paths.expand)
	d.Tree.Standardize()
	return bytes.TrimSuffix(d.Tree.Pack(), []byte("\n")), nil // which parse has added
}

// expander expands variables in texts.
type expander struct {
	paths   map[string]string
	env     func(name string) (string, bool) // nil: environment variables are not expanded
	unknown func(name string)                // called for unknown ones; nil: no call
}

var leadingName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*`)

// expand expands variables in a text: ${extensionPath} and the like, then $NAME, ${NAME}
// and ${NAME:-default}, where the default may contain variables. Unknown ones without a
// default are unchanged, and inserted text is not expanded again. An empty variable is
// known, but yields to a default.
func (e expander) expand(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		value, n := e.reference(rest)
		b.WriteString(value)
		text = rest[n:]
	}
}

// reference returns the value of the variable after a dollar sign, and the length of the
// reference.
func (e expander) reference(rest string) (value string, n int) {
	asIs := func(n int) (string, int) { return "$" + rest[:n], n }
	if plain := leadingName().FindString(rest); plain != "" {
		if value, ok := e.lookup(plain); ok {
			return value, len(plain)
		}
		return asIs(len(plain))
	}
	if !strings.HasPrefix(rest, "{") {
		return asIs(0)
	}
	for known, value := range e.paths {
		if strings.HasPrefix(rest[1:], known+"}") {
			return value, len(known) + 2
		}
	}
	braced := leadingName().FindString(rest[1:])
	behind := rest[1+len(braced):]
	switch {
	case braced == "":
		return asIs(1)
	case strings.HasPrefix(behind, "}"):
		n := len(braced) + 2
		if value, ok := e.lookup(braced); ok {
			return value, n
		}
		return asIs(n)
	case strings.HasPrefix(behind, ":-") && e.env != nil:
		end := closing(behind)
		if end < 0 {
			return asIs(1)
		}
		n := 1 + len(braced) + end + 1
		if value, ok := e.env(braced); ok && value != "" {
			return value, n
		}
		return e.expand(behind[2:end]), n
	}
	return asIs(1)
}

func (e expander) lookup(name string) (string, bool) {
	if e.env == nil {
		return "", false
	}
	value, ok := e.env(name)
	if !ok && e.unknown != nil {
		e.unknown(name)
	}
	return value, ok
}

// closing returns the offset of the closing bracket, -1 if there is none.
func closing(text string) int {
	depth := 1
	for i := range len(text) {
		switch {
		case text[i] == '{' && i > 0 && text[i-1] == '$':
			depth++
		case text[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// everybodys are the process variables that an extension may read without declaring
// them: those that any process has, without secrets. A program of an extension receives
// only these, besides its settings.
var everybodys = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "LANG", "TZ"}

var everybodysWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES", "PROCESSOR_ARCHITECTURE", "PATH", "USER", "TERM", "LANG", "TZ",
}

// IsOpen reports whether an extension may read a process variable without declaring it,
// as PATH and HOME.
func IsOpen(variable string) bool {
	return slices.Contains(everybodys, variable) || strings.HasPrefix(variable, "LC_") ||
		runtime.GOOS == "windows" && slices.Contains(everybodysWindows, strings.ToUpper(variable))
}

// environment returns the lookup of $NAME for an extension: its settings take precedence
// over the process environment, of which only declared and public variables are read.
func (v variables) environment(settings []extensions.Setting, sensitive bool) func(name string) (string, bool) {
	if v.settings == nil && v.getenv == nil {
		return nil
	}
	shown := map[string]bool{} // of the declared ones
	for _, s := range settings {
		shown[s.EnvVar] = sensitive || !s.Sensitive && !v.secret[s.EnvVar]
	}
	return func(name string) (string, bool) {
		is, declared := shown[name]
		if declared && !is {
			return "", false
		}
		if value, ok := v.settings[name]; declared && ok {
			return value, true
		}
		if (declared || IsOpen(name)) && v.getenv != nil {
			return v.getenv(name)
		}
		return "", false
	}
}

// unknown returns problems for unknown variables in the extension's servers.
func (m *manifest) unknown(path string, v variables) []fault.Problem {
	missing := map[string]bool{}
	env := v.environment(m.Settings, true)
	declared := func(name string) bool {
		return slices.ContainsFunc(m.Settings, func(s extensions.Setting) bool { return s.EnvVar == name })
	}
	x := expander{paths: v.paths(), env: env, unknown: func(name string) { missing[name] = true }}
	for _, server := range m.servers {
		server = server.Clone()
		fill(&server, x.expand)
	}
	var problems []fault.Problem
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if declared(name) || IsOpen(name) {
			continue // a setting without a value is reported separately
		}
		problems = append(problems, fault.Problem{Path: path, Extension: m.Name,
			Message: fmt.Sprintf("A server of the extension %s refers to $%s, which it does not declare, so it is not expanded.", m.Name, name),
			Remedy:  "Declare it in the settings of the manifest, or set its value in mcpServers of your own settings, under the same server name.",
		})
	}
	return problems
}

// filled returns the servers of a manifest as JSON.
func filled(servers map[string]hujson.Value, x expander) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(servers))
	for name, server := range servers {
		server = server.Clone()
		fill(&server, x.expand)
		all[name] = raw(server)
	}
	return all
}
