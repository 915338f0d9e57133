package extensions

import (
	"bytes"
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
)

// Limits of what is looked at to say what an extension brings.
const (
	maxParts    = 10_000
	maxPartFile = 1 << 20
)

// Parts are what an extension brings, named as people know them. Paths are below
// the extension, with slashes.
type Parts struct {
	MCPServers    []ServerPart  `json:"mcpServers,omitempty"`
	Hooks         []HookPart    `json:"hooks,omitempty"`
	Commands      []CommandPart `json:"commands,omitempty"`
	Skills        []string      `json:"skills,omitempty"` // names of their folders
	Agents        []string      `json:"agents,omitempty"` // names of their files, without .md
	Policies      []string      `json:"policies,omitempty"`
	ContextFiles  []string      `json:"contextFiles,omitempty"`
	ExcludedTools []string      `json:"excludedTools,omitempty"`
	Settings      []Setting     `json:"settings,omitempty"`
	Themes        int           `json:"themes,omitempty"`
}

// ServerPart is an MCP server. Nothing of settings or environment is filled in.
type ServerPart struct {
	Name    string   `json:"name"`
	Command string   `json:"command,omitempty"` // with its arguments
	URL     string   `json:"url,omitempty"`
	Env     []string `json:"env,omitempty"` // names of variables that it is given
}

// HookPart is a command that runs at an event.
type HookPart struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher,omitempty"` // "": whatever happens
	Command string `json:"command"`
}

// CommandPart is a slash command.
type CommandPart struct {
	Name string `json:"name"` // as "/a:b"
	Path string `json:"path"`
	// Runs says that it has shell commands run as it is called.
	Runs bool `json:"runs,omitempty"`
}

// PartsOf says what an extension brings, by looking at its files. What cannot be
// read is left out; [Store.Validate] tells of it. The error is of code cancelled.
func PartsOf(ctx context.Context, e Extension) (Parts, error) {
	p := Parts{Themes: len(e.Themes), Settings: e.Settings, ExcludedTools: e.ExcludedTools, MCPServers: serverParts(e), Hooks: hookParts(e)}
	for _, file := range e.ContextFiles {
		p.ContextFiles = append(p.ContextFiles, e.below(file))
	}
	if e.CommandsDir != "" {
		for _, file := range filesBelow(ctx, e.CommandsDir, ".toml", true) {
			p.Commands = append(p.Commands, commandPart(e, file))
		}
	}
	if e.SkillsDir != "" {
		for _, pattern := range []string{"SKILL.md", "*/SKILL.md"} {
			found, _ := fs.Glob(os.DirFS(e.SkillsDir), pattern) // the patterns are good
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
			p.Policies = append(p.Policies, PoliciesFolder+"/"+file)
		}
	}
	if err := ctx.Err(); err != nil {
		return Parts{}, cancelled(err)
	}
	return p, nil
}

// below returns a path as seen from the extension.
func (e Extension) below(file string) string {
	if rel, err := filepath.Rel(e.Path, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}

// unfilled puts ${extensionPath} back in the place of the folder.
func (e Extension) unfilled(s string) string {
	if e.Path == "" {
		return s
	}
	return strings.ReplaceAll(s, e.Path, "${extensionPath}")
}

func serverParts(e Extension) []ServerPart {
	var all []ServerPart
	for _, name := range slices.Sorted(maps.Keys(e.MCPServers)) {
		var spec struct {
			Command string
			Args    []string
			URL     string
			HTTPURL string `json:"httpUrl"`
			TCP     string
			Env     map[string]json.RawMessage
		}
		_ = json.Unmarshal(e.MCPServers[name], &spec) // what does not fit stays empty
		part := ServerPart{Name: name, Env: slices.Sorted(maps.Keys(spec.Env))}
		if spec.Command != "" {
			words := append([]string{spec.Command}, spec.Args...)
			for i, word := range words {
				if word = e.unfilled(word); i > 0 && (word == "" || strings.ContainsAny(word, " \t\n\"'")) {
					word = fmt.Sprintf("%q", word)
				}
				words[i] = word
			}
			part.Command = strings.Join(words, " ")
		}
		for _, address := range []string{spec.URL, spec.HTTPURL, spec.TCP} {
			if address != "" {
				part.URL = e.unfilled(address)
			}
		}
		all = append(all, part)
	}
	return all
}

func hookParts(e Extension) []HookPart {
	if e.HooksFile == "" {
		return nil
	}
	data, err := readFile(e.HooksFile, maxHooks)
	if err != nil {
		return nil
	}
	var file struct {
		Hooks map[string]json.RawMessage
	}
	doc, wrong := parse(data)
	if wrong != nil || json.Unmarshal(raw(doc.tree), &file) != nil {
		return nil
	}
	var all []HookPart
	for _, event := range slices.Sorted(maps.Keys(file.Hooks)) {
		var groups []json.RawMessage
		_ = json.Unmarshal(file.Hooks[event], &groups) // none, then
		for _, text := range groups {
			var group struct {
				Matcher string
				Hooks   []json.RawMessage
			}
			_ = json.Unmarshal(text, &group) // what does not fit stays empty
			for _, text := range group.Hooks {
				var hook struct{ Command string }
				if _ = json.Unmarshal(text, &hook); hook.Command != "" {
					all = append(all, HookPart{event, group.Matcher, hook.Command})
				}
			}
		}
	}
	return all
}

// commandPart names a command by its file.
func commandPart(e Extension, file string) CommandPart {
	data, err := readFile(filepath.Join(e.CommandsDir, filepath.FromSlash(file)), maxPartFile)
	name := strings.ReplaceAll(strings.TrimSuffix(file, ".toml"), "/", ":")
	return CommandPart{Name: "/" + name, Path: CommandsFolder + "/" + file, Runs: err != nil || bytes.Contains(data, []byte("!{"))}
}

// filesBelow lists the files of a folder, below it too if so wanted, whose name
// ends so; with slashes, sorted.
func filesBelow(ctx context.Context, dir, ending string, deep bool) []string {
	var all []string
	seen := 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error { // what cannot be read is left out
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
