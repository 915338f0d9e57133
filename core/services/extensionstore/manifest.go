package extensionstore

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/position"

	"github.com/fettle-dev/fettle/core/fault"
)

// manifestNames are the names of a manifest; the first that exists is used.
func manifestNames() []string {
	return []string{"fettle-extension.json", "gemini-extension.json", pluginManifest}
}

// manifest is the manifest of an extension.
type manifest struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	// MCPServers are as in [extensions.Extension.MCPServers].
	MCPServers       map[string]json.RawMessage `json:"mcpServers,omitempty"`
	ContextFileNames []string                   `json:"contextFileName,omitempty"` // below the extension; nil: missing
	ExcludeTools     []string                   `json:"excludeTools,omitempty"`
	Settings         []extensions.Setting       `json:"settings,omitempty"`
	Themes           []json.RawMessage          `json:"themes,omitempty"`
	PlanDirectory    string                     `json:"planDirectory,omitempty"` // as written; "": missing
	MigratedTo       string                     `json:"migratedTo,omitempty"`

	servers map[string]hujson.Value // not expanded
}

// maxName is the maximum length of an extension's name, in bytes.
const maxName = 64

var (
	nameOfExtension = lazyregexp.New(`^[a-zA-Z0-9-]+$`)
	nameOfVariable  = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// checkName returns the problem of an invalid extension name; "" if it is valid.
func checkName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > maxName:
		return fmt.Sprintf("it is longer than %d bytes", maxName)
	case !nameOfExtension().MatchString(name):
		return "it has characters other than letters, digits and dashes"
	case strings.EqualFold(name, noExtension):
		return "the name is reserved"
	}
	return ""
}

// parseManifest reads the manifest of the extension in dir, JSON with comments, and
// expands the variables: no sensitive settings, and in servers only paths. If one of the
// problems is Lost the extension is invalid, and the Manifest contains the readable
// fields. Problems have no Path.
func parseManifest(data []byte, dir string, v variables) (manifest, []fault.Problem) {
	r := readManifest(data)
	if r.doc != nil {
		r.finish(dir, v)
	}
	return r.m, r.problems
}

// reading is the state of ParseManifest.
type reading struct {
	doc      *document
	fields   map[string]hujson.ObjectMember
	m        manifest
	problems []fault.Problem
}

// readManifest reads the fields without variables: name, version and settings. doc is
// nil after a syntax error.
func readManifest(data []byte) *reading {
	r := &reading{fields: map[string]hujson.ObjectMember{}}
	if len(data) > maxManifest {
		r.fail(0, fmt.Sprintf("The manifest has more than %d bytes.", maxManifest), "Shorten it.")
		return r
	}
	doc, err := parse(data)
	if err != nil {
		e := position.As(err)
		r.fail(e.Line, "The manifest is invalid: "+e.Message+".", "Correct it: one JSON object, in which comments are allowed.")
		return r
	}
	r.doc = doc
	for _, d := range doc.dropped {
		r.warn(d.Line, d.Message, "Remove it.")
	}
	for _, member := range doc.Tree.Value.(*hujson.Object).Members { //nolint:errcheck // parse returns objects alone
		r.fields[nameOf(member)] = member
		if !slices.Contains(manifestKeys(), nameOf(member)) {
			r.warn(doc.Line(member.Name.StartOffset), fmt.Sprintf("The manifest has the key %q, which is unknown.", clip(nameOf(member))),
				"The keys are "+strings.Join(manifestKeys()[1:], ", ")+".")
		}
	}
	r.m.Name, r.m.Version = r.required("name"), r.required("version")
	if r.m.Name != "" {
		if wrong := checkName(r.m.Name); wrong != "" {
			r.fail(r.line("name"), fmt.Sprintf("No extension can be named %q: %s.", clip(r.m.Name), wrong), "Use letters, digits and dashes.")
		}
	}
	r.settings()
	return r
}

// manifestKeys are the known keys.
func manifestKeys() []string {
	return []string{"$schema", "name", "version", "description", "mcpServers", "contextFileName", "excludeTools", "settings", "themes", "plan", "migratedTo"}
}

// reference matches a reference to a variable.
var reference = lazyregexp.New(`\$(\{|[A-Za-z_])`)

// literalContextFiles refuses names of context files with variables other than the
// extension's path: their values in a session may lead out of the extension, which the
// session would then refuse.
func (r *reading) literalContextFiles() {
	const key = "contextFileName"
	member, ok := r.fields[key]
	if !ok {
		return
	}
	values := []hujson.Value{member.Value}
	if list, ok := member.Value.Value.(*hujson.Array); ok {
		values = list.Elements
	}
	known := strings.NewReplacer("${extensionPath}", "", "${/}", "/", "${pathSeparator}", "/")
	for _, value := range values {
		name, ok := value.Value.(hujson.Literal)
		if ok && name.Kind() == '"' && reference().MatchString(known.Replace(name.String())) {
			r.fail(r.line(key), fmt.Sprintf("The context file %q depends on a variable.", clip(name.String())), "Name a file in the extension by its relative path.")
		}
	}
}

// finish reads the other fields, with variables.
func (r *reading) finish(dir string, v variables) {
	x := expander{paths: v.paths(), env: v.environment(r.m.Settings, false)}
	for _, key := range []string{"description", "contextFileName", "excludeTools", "plan", "migratedTo"} {
		if member, ok := r.fields[key]; ok {
			member.Value = member.Value.Clone()
			fill(&member.Value, x.expand)
			r.fields[key] = member
		}
	}
	r.decode("description", "a string", &r.m.Description)
	r.decode("migratedTo", "a string", &r.m.MigratedTo)
	r.decode("excludeTools", "a list of names", &r.m.ExcludeTools)
	r.decode("themes", "a list", &r.m.Themes)
	r.plan()
	r.servers(v)
	r.contextFiles(dir, v)
	if slices.ContainsFunc(r.m.ExcludeTools, func(name string) bool { return strings.TrimSpace(name) == "" }) {
		r.fail(r.line("excludeTools"), "An entry of excludeTools is empty.", "Name a tool, or remove it.")
	}
}

// line returns the line of a key; 0 if it is missing.
func (r *reading) line(key string) int {
	if member, ok := r.fields[key]; ok {
		return r.doc.Line(member.Name.StartOffset)
	}
	return 0
}

func (r *reading) fail(line int, message, remedy string) {
	r.problems = append(r.problems, fault.Problem{Line: line, Extension: r.m.Name, Message: message, Remedy: remedy, Severity: fault.SeverityError})
}

func (r *reading) warn(line int, message, remedy string) {
	r.problems = append(r.problems, fault.Problem{Line: line, Extension: r.m.Name, Message: message, Remedy: remedy, Severity: fault.SeverityNotice})
}

// decode decodes the value of a key, and reports whether there is one. null is none.
func (r *reading) decode(key, kind string, to any) bool {
	member, ok := r.fields[key]
	if !ok || member.Value.Value.Kind() == 'n' {
		return false
	}
	if err := json.Unmarshal(raw(member.Value), to); err != nil {
		r.fail(r.line(key), fmt.Sprintf("The value of %s is not %s.", key, kind), "Correct it.")
		return false
	}
	return true
}

// required reads a required string.
func (r *reading) required(key string) string {
	var text string
	there := r.decode(key, "a string", &text)
	if !there && !slices.ContainsFunc(r.problems, func(p fault.Problem) bool { return p.IsError() && p.Line > 0 && p.Line == r.line(key) }) || there && text == "" {
		r.fail(r.line(key), "The manifest has no "+key+".", "Add it.")
	}
	return text
}

// object returns the members of a required object.
func (r *reading) object(key string) []hujson.ObjectMember {
	member, ok := r.fields[key]
	if !ok || member.Value.Value.Kind() == 'n' {
		return nil
	}
	object, ok := member.Value.Value.(*hujson.Object)
	if !ok {
		r.fail(r.line(key), "The value of "+key+" is not an object.", "Correct it.")
		return nil
	}
	return object.Members
}

func (r *reading) plan() {
	for _, member := range r.object("plan") {
		if nameOf(member) != "directory" {
			continue
		}
		if member.Value.Value.Kind() != '"' {
			r.fail(r.doc.Line(member.Name.StartOffset), "The value of plan.directory is not a string.", "Correct it.")
			continue
		}
		r.m.PlanDirectory = member.Value.Value.(hujson.Literal).String() //nolint:errcheck // it is a text
	}
}

// servers reads the servers. The key trust is removed, because only the user grants
// trust.
func (r *reading) servers(v variables) {
	for _, member := range r.object("mcpServers") {
		server := nameOf(member)
		value := member.Value.Clone()
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			r.fail(r.doc.Line(member.Name.StartOffset), fmt.Sprintf("The server %q is not an object.", clip(server)), "Correct it.")
			continue
		}
		object.Members = slices.DeleteFunc(object.Members, func(m hujson.ObjectMember) bool {
			if !strings.EqualFold(nameOf(m), "trust") {
				return false
			}
			r.warn(r.doc.Line(m.Name.StartOffset), fmt.Sprintf("The key trust of the extension's server %q is ignored.", clip(server)),
				"Set it in mcpServers of your own settings if intended.")
			return true
		})
		if r.m.servers == nil {
			r.m.servers = map[string]hujson.Value{}
		}
		r.m.servers[server] = value
	}
	if r.m.servers == nil {
		return
	}
	r.m.MCPServers = map[string]json.RawMessage{}
	for server, value := range filled(r.m.servers, expander{paths: v.paths()}) {
		r.m.MCPServers[server] = value
	}
}

// contextFiles reads the names of context files, which must be in the extension.
func (r *reading) contextFiles(dir string, v variables) {
	const key = "contextFileName"
	member, ok := r.fields[key]
	if !ok {
		return
	}
	var names []string
	if member.Value.Value.Kind() == '"' {
		var one string
		if r.decode(key, "a name", &one); one == "" {
			return // the same as a missing key
		}
		names = []string{one}
	} else if !r.decode(key, "a name or a list of names", &names) {
		return
	}
	r.m.ContextFileNames = []string{}
	for _, given := range names {
		name := filepath.FromSlash(given)
		for _, root := range []string{dir, v.extensionPath} {
			if rel, err := filepath.Rel(root, name); root != "" && filepath.IsAbs(name) && err == nil {
				if filepath.IsLocal(rel) {
					name = rel
				}
			}
		}
		if name == "" || !filepath.IsLocal(name) {
			r.fail(r.line(key), fmt.Sprintf("The context file %q is not in the extension.", clip(given)), "Name a file in the extension by its relative path.")
			continue
		}
		r.m.ContextFileNames = append(r.m.ContextFileNames, filepath.Clean(name))
	}
}

// settings reads the settings, each with a distinct variable.
func (r *reading) settings() {
	member, ok := r.fields["settings"]
	if !ok || member.Value.Value.Kind() == 'n' {
		return
	}
	list, ok := member.Value.Value.(*hujson.Array)
	if !ok {
		r.fail(r.line("settings"), "The value of settings is not a list.", "Correct it.")
		return
	}
	for i := range list.Elements {
		element := &list.Elements[i]
		line := r.doc.Line(element.StartOffset)
		var s extensions.Setting
		if _, is := element.Value.(*hujson.Object); !is || json.Unmarshal(raw(*element), &s) != nil {
			r.fail(line, "A setting is not an object of name, description, envVar and sensitive.", "Correct it.")
			continue
		}
		switch {
		case s.Name == "":
			r.fail(line, "A setting has no name.", "Add it.")
		case !nameOfVariable().MatchString(s.EnvVar):
			r.fail(line, fmt.Sprintf("The envVar %q of the setting %q is not a variable name.", clip(s.EnvVar), clip(s.Name)), "Use letters, digits and underscores, and no digit first.")
		case slices.ContainsFunc(r.m.Settings, func(other extensions.Setting) bool { return other.EnvVar == s.EnvVar }):
			r.fail(line, fmt.Sprintf("Two settings have the envVar %s.", s.EnvVar), "Give each its own.")
		default:
			r.m.Settings = append(r.m.Settings, s)
		}
	}
}
