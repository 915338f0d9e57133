package extensions

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/fault"
)

// Variables are what texts of an extension may refer to. The zero value fills
// nothing in.
type Variables struct {
	ExtensionPath string // of ${extensionPath}; "": it stays as it is
	WorkspacePath string // of ${workspacePath}; likewise
	// Settings are the values of the extension's settings, by variable. Those that
	// the manifest does not declare are not looked at.
	Settings map[string]string
	// Getenv looks up a variable of the process. It is asked for those alone that
	// the manifest declares in settings, or that hold nobody's secret, as HOME. nil:
	// there are none.
	Getenv func(name string) (string, bool)

	secret map[string]bool // variables of Settings that are sensitive, whatever the manifest says
}

// Paths returns the variables that are about paths, by name: those of ${NAME} in
// all files of an extension.
func (v Variables) Paths() map[string]string {
	all := map[string]string{"/": string(os.PathSeparator), "pathSeparator": string(os.PathSeparator)}
	if v.ExtensionPath != "" {
		all["extensionPath"] = v.ExtensionPath
	}
	if v.WorkspacePath != "" {
		all["workspacePath"] = v.WorkspacePath
	}
	return all
}

// Fill puts the variables about paths into the texts of JSON, as hooks.json
// holds it, with comments allowed; keys stay. Lines stay where they are. The error
// says, in a word for people, what keeps it from being JSON.
func (v Variables) Fill(data []byte) ([]byte, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	paths := expander{paths: v.Paths()}
	fill(&d.Tree, paths.expand)
	d.Tree.Standardize()
	return bytes.TrimSuffix(d.Tree.Pack(), []byte("\n")), nil // which parse has added
}

// expander fills variables into texts.
type expander struct {
	paths   map[string]string
	env     func(name string) (string, bool) // nil: environment variables stay as they are
	unknown func(name string)                // told of those that are not there; nil: nobody is
}

var leadingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)

// expand puts variables into a text: ${extensionPath} and the like, then $NAME,
// ${NAME} and ${NAME:-default}, where the default may hold variables. What is not
// there and has no default stays as it is, and what a variable brings in is not
// looked at again. An empty variable counts as there, except where there is a
// default.
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

// reference is the value of the variable that a text begins with, behind its
// dollar sign, and how many bytes of the text name it.
func (e expander) reference(rest string) (value string, n int) {
	asIs := func(n int) (string, int) { return "$" + rest[:n], n }
	if plain := leadingName.FindString(rest); plain != "" {
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
	braced := leadingName.FindString(rest[1:])
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

// closing returns where the bracket closes that was opened before a text, -1 if
// it does not.
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

// everybodys are variables of the process that an extension may know without
// declaring them: those that any process gets, and none that holds a secret. A
// program of an extension gets these alone, beside its settings.
var everybodys = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "LANG", "TZ"}

var everybodysWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES", "PROCESSOR_ARCHITECTURE", "PATH", "USER", "TERM", "LANG", "TZ",
}

// IsOpen reports whether an extension may know a variable of the process that it
// does not declare, as PATH and HOME.
func IsOpen(variable string) bool {
	return slices.Contains(everybodys, variable) || strings.HasPrefix(variable, "LC_") ||
		runtime.GOOS == "windows" && slices.Contains(everybodysWindows, strings.ToUpper(variable))
}

// environment returns what looks up $NAME for an extension with these settings:
// its settings go before the process's environment, of which only what is
// declared or open is looked at.
func (v Variables) environment(settings []Setting, sensitive bool) func(name string) (string, bool) {
	if v.Settings == nil && v.Getenv == nil {
		return nil
	}
	shown := map[string]bool{} // of those that are declared
	for _, s := range settings {
		shown[s.EnvVar] = sensitive || !s.Sensitive && !v.secret[s.EnvVar]
	}
	return func(name string) (string, bool) {
		is, declared := shown[name]
		if declared && !is {
			return "", false
		}
		if value, ok := v.Settings[name]; declared && ok {
			return value, true
		}
		if (declared || IsOpen(name)) && v.Getenv != nil {
			return v.Getenv(name)
		}
		return "", false
	}
}

// Servers returns the MCP servers with settings and environment filled in, by
// name. They may hold secrets and are not for printing.
func (e Extension) Servers() map[string][]byte {
	if e.servers == nil {
		return nil
	}
	return e.servers()
}

// unknown are problems of variables that an extension's servers refer to and
// that are not there.
func (m *Manifest) unknown(path string, v Variables) []fault.Problem {
	missing := map[string]bool{}
	env := v.environment(m.Settings, true)
	declared := func(name string) bool {
		return slices.ContainsFunc(m.Settings, func(s Setting) bool { return s.EnvVar == name })
	}
	x := expander{paths: v.Paths(), env: env, unknown: func(name string) { missing[name] = true }}
	for _, server := range m.servers {
		server = server.Clone()
		fill(&server, x.expand)
	}
	var problems []fault.Problem
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if declared(name) || IsOpen(name) {
			continue // a setting without a value is told of as such
		}
		problems = append(problems, fault.Problem{Path: path, Extension: m.Name,
			Message: fmt.Sprintf("A server of the extension %s refers to $%s, which it does not declare, so it is not filled in.", m.Name, name),
			Remedy:  "Declare it among the settings of the manifest, or give what it is for in mcpServers of your own settings, under the same name of the server.",
		})
	}
	return problems
}

// filled are the servers of a manifest as JSON.
func filled(servers map[string]hujson.Value, x expander) map[string][]byte {
	all := make(map[string][]byte, len(servers))
	for name, server := range servers {
		server = server.Clone()
		fill(&server, x.expand)
		all[name] = raw(server)
	}
	return all
}
