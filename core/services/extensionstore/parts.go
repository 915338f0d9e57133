package extensionstore

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// Bounds of the search for parts. A directory with more than maxEntries is refused.
const (
	maxParts    = maxEntries + 1
	maxPartFile = 1 << 20
)

// Parts are the parts of an extension by name. Paths are relative to the extension, with
// slashes.
type Parts struct {
	MCPServers    []ServerPart         `json:"mcpServers,omitempty"`
	Hooks         []HookPart           `json:"hooks,omitempty"`
	Commands      []CommandPart        `json:"commands,omitempty"`
	Skills        []string             `json:"skills,omitempty"` // names of their directories
	Agents        []string             `json:"agents,omitempty"` // names of their files, without .md
	Policies      []string             `json:"policies,omitempty"`
	ContextFiles  []string             `json:"contextFiles,omitempty"`
	ExcludedTools []string             `json:"excludedTools,omitempty"`
	Settings      []extensions.Setting `json:"settings,omitempty"`
	Themes        int                  `json:"themes,omitempty"`
	PlanDirectory string               `json:"planDirectory,omitempty"` // from the manifest
	Omitted       []extensions.Omitted `json:"omitted,omitempty"`       // parts that are not used, with reasons

	environment map[string]bool // variables that may come from the process environment
}

// ServerPart is an MCP server, without settings and environment expanded. It has a
// command or an address, the one that sessions use; alternatives if that depends on a
// variable.
type ServerPart struct {
	Name    string   `json:"name"`
	Command string   `json:"command,omitempty"` // with its arguments
	URL     string   `json:"url,omitempty"`
	Else    []string `json:"else,omitempty"`    // used if the previous ones turn out to be empty
	Dir     string   `json:"folder,omitempty"`  // working directory of the command; "": the session's
	Env     []string `json:"env,omitempty"`     // names of its environment variables
	Headers []string `json:"headers,omitempty"` // names of its request headers
	SignIn  []string `json:"signIn,omitempty"`  // sign-in addresses, by key
	OAuth   bool     `json:"oauth,omitempty"`   // the user may be asked to sign in
	Sandbox bool     `json:"sandbox,omitempty"` // its command runs confined

	whole string // all fields that select what is run or contacted; may contain secrets
}

// HookPart is a command that runs at an event.
type HookPart struct {
	Event   string   `json:"event"`
	Matcher string   `json:"matcher,omitempty"` // "": every subject
	Command string   `json:"command"`
	Env     []string `json:"env,omitempty"`     // names of its environment variables, sorted
	Sandbox bool     `json:"sandbox,omitempty"` // it runs confined
	// Values are the variables as NAME=VALUE, sorted, for comparison only; they are never
	// shown.
	Values []string `json:"-"`
}

// CommandPart is a slash command.
type CommandPart struct {
	Name string `json:"name"` // as "/a:b"
	Path string `json:"path"`
	// Runs: its prompt runs shell commands.
	Runs bool `json:"runs,omitempty"`
}

// PartsOf finds the parts of an extension in its files. Unreadable files are skipped;
// [Store.Validate] reports them. The error is of code cancelled.
func (s *Store) PartsOf(ctx context.Context, e extensions.Extension) (Parts, error) {
	p := Parts{Themes: len(e.Themes), Settings: e.Settings, ExcludedTools: e.ExcludedTools, MCPServers: serverParts(e), PlanDirectory: e.PlanDir}
	p.environment = map[string]bool{}
	for _, setting := range e.Settings {
		p.environment[setting.EnvVar] = !s.looksSecret(setting.EnvVar, "")
	}
	if s.o.Hooks != nil && e.HooksFile != "" {
		p.Hooks = s.o.Hooks(e)
	}
	for _, file := range e.ContextFiles {
		p.ContextFiles = append(p.ContextFiles, below(e, file))
	}
	if e.CommandsDir != "" {
		for _, file := range filesBelow(ctx, e.CommandsDir, ".toml", true) {
			p.Commands = append(p.Commands, commandPart(e, file))
		}
	}
	if e.SkillsDir != "" {
		for _, pattern := range []string{"SKILL.md", "*/SKILL.md"} {
			found, _ := fs.Glob(os.DirFS(e.SkillsDir), pattern) // the patterns are valid
			for _, file := range found {
				name := path.Base(path.Dir(file))
				if name == "." {
					name = e.Name
				}
				p.Skills = append(p.Skills, name)
			}
		}
	}
	if e.AgentsDir != "" {
		for _, file := range filesBelow(ctx, e.AgentsDir, ".md", false) {
			if !strings.HasPrefix(file, "_") {
				p.Agents = append(p.Agents, strings.TrimSuffix(file, ".md"))
			}
		}
	}
	if e.PoliciesDir != "" {
		for _, file := range filesBelow(ctx, e.PoliciesDir, ".toml", false) {
			p.Policies = append(p.Policies, policiesDir+"/"+file)
		}
	}
	if e.Plugin != nil {
		s.pluginParts(ctx, e, &p)
	}
	if err := ctx.Err(); err != nil {
		return Parts{}, cancelled(err)
	}
	return p, nil
}

// below returns the path of a file relative to its extension.
func below(e extensions.Extension, file string) string {
	if rel, err := filepath.Rel(e.Path, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}

// unfilled replaces the directory of an extension in a text by ${extensionPath}.
func unfilled(e extensions.Extension, s string) string {
	if e.Path == "" {
		return s
	}
	quoted, _ := json.Marshal(e.Path) // as in JSON, where it may be longer
	return strings.NewReplacer(e.Path, "${extensionPath}", string(quoted[1:len(quoted)-1]), "${extensionPath}").Replace(s)
}

// serverParts reads the servers as settings do, and selects the transport in the same
// order: httpUrl, url, command, tcp.
func serverParts(e extensions.Extension) []ServerPart {
	var all []ServerPart
	for _, name := range slices.Sorted(maps.Keys(e.MCPServers)) {
		var spec struct {
			Command string                     `json:"command"`
			Args    []string                   `json:"args"`
			URL     string                     `json:"url"`
			HTTPURL string                     `json:"httpUrl"`
			TCP     string                     `json:"tcp"`
			Type    string                     `json:"type"`
			Cwd     string                     `json:"cwd"`
			Env     map[string]json.RawMessage `json:"env"`
			Headers map[string]json.RawMessage `json:"headers"`
			OAuth   map[string]json.RawMessage `json:"oauth"`
			Sandbox bool                       `json:"sandbox,omitempty"`
		}
		_ = json.Unmarshal(e.MCPServers[name], &spec) // invalid fields stay empty
		whole, _ := json.Marshal(spec)                // it was decoded from JSON
		part := ServerPart{
			Name: name, Dir: unfilled(e, spec.Cwd), Env: slices.Sorted(maps.Keys(spec.Env)), Headers: slices.Sorted(maps.Keys(spec.Headers)),
			OAuth: spec.OAuth != nil, Sandbox: spec.Sandbox, whole: unfilled(e, string(whole)),
		}
		for _, key := range slices.Sorted(maps.Keys(spec.OAuth)) {
			var text string
			if json.Unmarshal(spec.OAuth[key], &text) == nil && strings.Contains(text, "://") {
				part.SignIn = append(part.SignIn, key+" "+unfilled(e, text))
			}
		}
		part.reach([]string{unfilled(e, spec.HTTPURL), unfilled(e, spec.URL), commandLine(e, spec.Command, spec.Args), unfilled(e, spec.TCP)})
		all = append(all, part)
	}
	return all
}

// reach takes the first non-empty of httpUrl, url, command and tcp; and if that contains
// a variable, which may be empty, also the next.
func (p *ServerPart) reach(ways []string) {
	const command = 2
	found, open := false, true
	for i, way := range ways {
		switch {
		case way == "" || !open:
			continue
		case found:
			p.Else = append(p.Else, way)
		case i == command:
			p.Command = way
		default:
			p.URL = way
		}
		found, open = true, strings.Contains(way, "$")
	}
}

// commandLine returns a command with its arguments, quoted where needed.
func commandLine(e extensions.Extension, command string, args []string) string {
	if command == "" {
		return ""
	}
	words := append([]string{command}, args...)
	for i, word := range words {
		if word = unfilled(e, word); i > 0 && (word == "" || strings.ContainsAny(word, " \t\n\"'")) {
			word = fmt.Sprintf("%q", word)
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// commandPart derives the name of a command from its file.
func commandPart(e extensions.Extension, file string) CommandPart {
	name := strings.ReplaceAll(strings.TrimSuffix(file, ".toml"), "/", ":")
	return CommandPart{Name: "/" + name, Path: commandsDir + "/" + file, Runs: runs(e, filepath.Join(e.CommandsDir, filepath.FromSlash(file)))}
}

// mayRun matches a shell command in a prompt, also one that an expanded variable may
// complete.
var mayRun = lazyregexp.New(`!\{|!\$\{|\}\{`)

// runs reports whether the prompt in a command's file runs shell commands. An unreadable
// file may.
func runs(e extensions.Extension, file string) bool {
	data, err := lockedfile.Read(file, maxPartFile)
	if err != nil {
		return true
	}
	root, err := position.ParseTOML(data)
	if err != nil {
		return true
	}
	prompt := ""
	for _, m := range root.Members {
		if text, ok := m.Value.(string); strings.ToLower(m.Key) != "prompt" {
			continue
		} else if !ok {
			return true
		} else {
			prompt = text
		}
	}
	filled := prompt
	for name, value := range VariablesOf(e, "") {
		filled = strings.ReplaceAll(filled, "${"+name+"}", value)
	}
	return mayRun().MatchString(prompt) || strings.Contains(filled, "!{")
}

// filesBelow lists the files of a directory with a suffix, and with deep also those of
// subdirectories; with slashes, sorted.
func filesBelow(ctx context.Context, dir, ending string, deep bool) []string {
	var all []string
	seen := 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error { // unreadable entries are skipped
		seen++
		switch {
		case ctx.Err() != nil || seen > maxParts:
			return fs.SkipAll
		case err != nil || name == ".":
			return nil
		case entry.IsDir() && !deep:
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ending):
			all = append(all, name)
		}
		return nil
	})
	slices.Sort(all)
	return all
}
