package contributions

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// Set contains the contributions of the active extensions. The zero value is
// empty. It is immutable and replaced as a whole.
type Set struct {
	Hooks    []File // hooks/hooks.json, with the names of variables
	Skills   []Dir  // directories that contain skills
	Commands []Dir  // directories of TOML files
	policies []Dir  // directories of rules
	Agents   []subagent.Dir
	Context  []File                     // instruction files; Data is not set
	Exclude  []string                   // excluded tools
	Excluded map[string]toolrules.Place // position of each of Exclude
	Servers  []mcp.Configured
	// serversOf maps the name of a server to the extension that contributes it.
	serversOf map[string]string
	plansDir  string // directory of plans; "": not set
}

// Dir is a directory of an extension.
type Dir struct {
	Path      string // absolute
	Extension string // its name
	ID        string
	Markdown  bool              // commands are Markdown files
	Namespace string            // of its commands; "": none
	Claude    bool              // hooks are in the form of Claude Code
	Variables map[string]string // of ${NAME} in its files
	Env       []string          // NAME=VALUE: the extension's settings, for processes
}

// File is a file of an extension.
type File struct {
	Dir  // Path is the file's
	Data []byte
}

// bringing collects the contributions of extensions.
type bringing struct {
	*Extensions
	all      Set
	problems []fault.Problem
	servers  map[string]string // extension of each server
}

// bring returns the contributions of the active extensions, nil for none, and the
// problems in them.
func (x *Extensions) bring(found []extensions.Extension) (*Set, []fault.Problem) {
	if !slices.ContainsFunc(found, func(e extensions.Extension) bool { return e.Active }) {
		return nil, nil
	}
	b := bringing{Extensions: x, servers: map[string]string{}}
	b.all.Excluded = map[string]toolrules.Place{}
	for _, e := range found {
		if e.Active {
			b.extension(e)
		}
	}
	b.all.serversOf = b.servers
	return &b.all, b.problems
}

// extension adds the contributions of one extension.
func (b *bringing) extension(e extensions.Extension) {
	dir := func(path string) Dir {
		return Dir{Path: path, Extension: e.Name, ID: e.ID, Variables: extensionstore.VariablesOf(e, b.o.Target), Env: pluginEnv(e), Claude: e.Plugin != nil}
	}
	add := func(to *[]Dir, path string) {
		if path != "" {
			*to = append(*to, dir(path))
		}
	}
	add(&b.all.Skills, e.SkillsDir)
	add(&b.all.Commands, e.CommandsDir)
	add(&b.all.policies, e.PoliciesDir)
	if e.AgentsDir != "" {
		b.all.Agents = append(b.all.Agents, subagent.Dir{
			Path: e.AgentsDir, Scope: subagent.ScopeExtension, Extension: e.Name, Expand: Expand(extensionstore.VariablesOf(e, b.o.Target)),
		})
	}
	if e.Plugin != nil {
		b.plugin(e, dir(e.Path))
	}
	for _, path := range e.ContextFiles {
		b.all.Context = append(b.all.Context, File{Dir: dir(path)})
	}
	data, err := extensionstore.UnfilledHooks(e)
	if err != nil {
		b.problems = append(b.problems, fault.Problem{Path: e.HooksFile, Extension: e.Name, Message: fault.MessageOf(err), Remedy: fault.As(err).Remedy})
	} else if data != nil {
		b.all.Hooks = append(b.all.Hooks, File{hooksIn(dir(e.HooksFile), e, data, b.o.Target), data})
	}
	for _, tool := range e.ExcludedTools {
		if err := toolrules.CheckExcluded(tool); err != nil {
			b.problems = append(b.problems, fault.Problem{Path: e.Manifest, Extension: e.Name, Message: fault.MessageOf(err), Remedy: fault.As(err).Remedy})
		}
		if _, known := b.all.Excluded[tool]; !known {
			b.all.Exclude = append(b.all.Exclude, tool)
			b.all.Excluded[tool] = toolrules.Place{Source: "extension " + e.Name + ": " + e.Manifest}
		}
	}
	b.plans(e)
	b.mcp(e)
}

// mcp adds the servers of an extension, each merged with the settings of the same
// name.
func (b *bringing) mcp(e extensions.Extension) {
	set := b.o.Servers()
	refuse := func(server, why, remedy string) {
		b.problems = append(b.problems, fault.Problem{Path: e.Manifest, Extension: e.Name,
			Message: fmt.Sprintf("The server %q of the extension %s is not used: %s.", escape.ClipBytes(server, 60), e.Name, why), Remedy: remedy})
	}
	servers := e.Servers
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if first, taken := b.servers[name]; taken {
			refuse(name, "the extension "+first+" has a server with that name", "Disable one of the two extensions.")
			continue
		}
		if set.Owns(name) {
			refuse(name, "the program has a server with that name", "")
			continue
		}
		var s settings.MCPServer
		if err := json.Unmarshal([]byte(servers[name].Reveal()), &s); err != nil {
			refuse(name, "its entry in the manifest is not a valid server", "Correct the entry in the manifest.") // the error may contain a value
			continue
		}
		s.Trust = false // only the user may set it
		s = withEnv(s, e)
		b.servers[name] = e.Name
		b.all.Servers = append(b.all.Servers, set.Settings.OfExtension(e.Name, name, s))
	}
}

// withEnv adds the settings of its extension to the environment of a server that
// is a program.
func withEnv(s settings.MCPServer, e extensions.Extension) settings.MCPServer {
	if s.Command == "" {
		return s
	}
	env := map[string]string{}
	for _, setting := range e.ResolvedSettings {
		env[setting.EnvVar] = setting.Value.Reveal()
	}
	maps.Copy(env, s.Env)
	s.Env = env
	return s
}

// Expand returns a function that expands ${NAME}; nil for no variables.
func Expand(variables map[string]string) func(text string) string {
	if len(variables) == 0 {
		return nil
	}
	var pairs []string
	for name, value := range variables {
		pairs = append(pairs, "${"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace
}
