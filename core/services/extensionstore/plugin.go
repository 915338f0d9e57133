package extensionstore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// pluginManifest is the manifest of a plugin of Claude Code.
const pluginManifest = ".claude-plugin/plugin.json"

// Variables in the files of a plugin.
const (
	pluginRoot = "CLAUDE_PLUGIN_ROOT"
	projectDir = "CLAUDE_PROJECT_DIR"
)

// Files of a plugin that are used without an entry in its manifest.
const (
	pluginServers = ".mcp.json"
	pluginSkill   = "SKILL.md"
)

// Keys of hooks: in a manifest, and the event before a call.
const (
	hooksKey   = "hooks"
	beforeCall = "PreToolUse"
)

// noVersion is the version of a plugin without one.
const noVersion = "0.0.0"

// pluginUnused are keys of a manifest, and files and directories of a plugin, that are
// not used, each with the reason.
var pluginUnused = []struct{ key, file, reason string }{
	{"lspServers", ".lsp.json", "fettle runs no language servers."},
	{"outputStyles", "output-styles", "fettle has no output styles."},
	{"themes", "themes", "Themes of plugins are not read."},
	{"monitors", "monitors/monitors.json", "fettle runs no monitors."},
	{"channels", "", "fettle has no channels."},
	{"statusLine", "", "The status line cannot be replaced."},
	{"settings", "settings.json", "A plugin cannot change settings."},
	{"dependencies", "", "Other plugins are not installed with it. Install them too."},
	{"experimental", "", "Experimental parts are not read."},
	{"", "bin", "Its programs are not added to PATH."},
	{"", "workflows", "fettle has no workflows."},
}

// pluginFacts are the keys of a manifest without an effect on sessions.
var pluginFacts = []string{"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "displayName", "category", "tags", "strict",
	"defaultEnabled", "icon", "logo", "relevance"}

// plugin reads a plugin of Claude Code. Its manifest is translated to one of fettle, which
// is then read as any other.
func (l *loading) plugin(e extensions.Extension, c container, data []byte) (extensions.Extension, bool) {
	r := pluginReading{c: c, plugin: &extensions.Plugin{}, out: map[string]any{"contextFileName": []string{}}}
	doc, err := parse(data)
	if err == nil {
		err = json.Unmarshal(raw(doc.Tree), &r.given)
	}
	if err != nil {
		at := position.As(err)
		l.problems = append(l.problems, fault.Problem{Path: e.Manifest, Line: at.Line, Message: "The manifest is invalid: " + at.Message + ".", Remedy: "Correct it: one JSON object.", Severity: fault.SeverityError})
		return e, false
	}
	r.read()
	e.Plugin = r.plugin
	if len(r.hooks) > 0 {
		e.HooksFile = e.Manifest
		if len(r.hookFiles) > 0 {
			e.HooksFile = r.hookFiles[0]
		}
		e.Plugin.Hooks, _ = json.Marshal(map[string]any{"hooks": r.hooks}) // decoded values can be encoded
	}
	translated, err := json.Marshal(r.out)
	if err != nil {
		return e, false // as above
	}
	before := len(l.problems)
	e, ok := l.fill(e, c, translated)
	for i := range l.problems[before:] {
		l.problems[before+i].Line = 0 // of the translation
	}
	return e, ok
}

// pluginReading is the state of translating the manifest of a plugin.
type pluginReading struct {
	c      container
	given  map[string]json.RawMessage
	out    map[string]any
	plugin *extensions.Plugin

	hooks     map[string][]json.RawMessage // groups by event
	hookFiles []string
	servers   map[string]json.RawMessage
}

func (r *pluginReading) omit(part, format string, args ...any) {
	r.plugin.Omitted = append(r.plugin.Omitted, extensions.Omitted{Part: part, Reason: fmt.Sprintf(format, args...)})
}

func (r *pluginReading) read() {
	for _, key := range []string{"name", "version", "description"} {
		if value, given := r.given[key]; given {
			r.out[key] = value
		}
	}
	if name := r.text("name"); name != "" && checkName(name) != "" {
		r.out["name"] = pluginName(name)
	}
	if r.text("version") == "" {
		r.out["version"] = noVersion
	}
	r.plugin.Commands = r.files("commands", ".md", r.commandObject)
	r.plugin.Agents = r.files("agents", ".md", nil)
	r.skills()
	r.hooksAndServers()
	settings := r.options()
	if len(r.servers) > 0 {
		out := map[string]json.RawMessage{}
		for _, name := range slices.Sorted(maps.Keys(r.servers)) {
			server, used, ok := translatedServer(r.servers[name])
			if !ok {
				r.omit("mcpServers."+name, "It is not an object.")
				continue
			}
			out[name] = server
			for _, variable := range used {
				if !slices.ContainsFunc(settings, func(s extensions.Setting) bool { return s.EnvVar == variable }) {
					settings = append(settings, extensions.Setting{Name: variable, EnvVar: variable, Description: "Used by its MCP servers"})
				}
			}
		}
		r.out["mcpServers"] = out
	}
	if len(settings) > 0 {
		r.out["settings"] = settings
	}
	r.rest()
}

// text returns the string at a key; "" for none.
func (r *pluginReading) text(key string) string {
	var text string
	_ = json.Unmarshal(r.given[key], &text) // anything else is none
	return strings.TrimSpace(text)
}

// pluginName returns a valid name of an extension.
func pluginName(name string) string {
	name = strings.Trim(strings.Map(func(c rune) rune {
		if c < 0x80 && nameOfExtension().MatchString(string(c)) {
			return c
		}
		return '-'
	}, name), "-")
	return name[:min(len(name), maxName)]
}

// rest reports the parts that are not used.
func (r *pluginReading) rest() {
	known := slices.Concat(pluginFacts, []string{"commands", "agents", "skills", "hooks", "mcpServers", "userConfig"})
	for _, unused := range pluginUnused {
		_, given := r.given[unused.key]
		known = append(known, unused.key)
		if given && unused.key != "" {
			r.omit(unused.key, "%s", unused.reason)
		} else if _, err := r.c.find(unused.file, isDirectory(unused.file)); unused.file != "" && err == nil {
			r.omit(unused.file, "%s", unused.reason)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.given)) {
		if !slices.Contains(known, key) {
			r.omit(clip(key), "The key is unknown.")
		}
	}
}

func isDirectory(name string) bool { return path.Ext(name) == "" }

// paths returns the paths at a key; ok is false for another form.
func paths(value json.RawMessage) (all []string, ok bool) {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}, true
	}
	err := json.Unmarshal(value, &all)
	return all, err == nil
}

// files returns the files and directories at a key, or without it the directory of that
// name. A path must be in the plugin.
func (r *pluginReading) files(key, suffix string, object func(value json.RawMessage) bool) []string {
	value, given := r.given[key]
	if !given || string(value) == "null" {
		if dir := r.dir(key); dir != "" {
			return []string{dir}
		}
		return nil
	}
	names, ok := paths(value)
	if !ok {
		if object == nil || !object(value) {
			r.omit(key, "It is neither a path nor a list of paths.")
		}
		if object != nil {
			return r.plugin.Commands
		}
		return nil
	}
	var found []string
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			if file := r.file(name); file != "" {
				found = append(found, file)
			}
		} else if dir := r.dir(name); dir != "" {
			found = append(found, dir)
		} else {
			r.missing(name)
		}
	}
	return found
}

// commandObject reads commands by name, each with the path of its file.
func (r *pluginReading) commandObject(value json.RawMessage) bool {
	var entries map[string]struct {
		Source string `json:"source"`
	}
	if json.Unmarshal(value, &entries) != nil {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if entries[name].Source == "" {
			r.omit("commands."+clip(name), "Only commands with the path of a file are read.")
		} else if file := r.file(entries[name].Source); file != "" {
			r.plugin.Commands = append(r.plugin.Commands, file)
		}
	}
	return true
}

func (r *pluginReading) missing(name string) {
	r.omit(clip(name), "It does not exist in the plugin.")
}

// local returns a path of a manifest without its leading ./ and variable.
func local(name string) string {
	name = strings.TrimPrefix(name, "${"+pluginRoot+"}/")
	return path.Clean(strings.TrimPrefix(name, "./"))
}

// file returns the absolute path of a file of the plugin; "" with a report if there is
// none.
func (r *pluginReading) file(name string) string {
	found, err := r.c.find(local(name), false)
	if err != nil || !filepath.IsLocal(local(name)) {
		r.missing(name)
		return ""
	}
	return found
}

// dir returns the absolute path of a directory of the plugin; "" if it is absent, or
// with a report if it cannot be used.
func (r *pluginReading) dir(name string) string {
	if !filepath.IsLocal(local(name)) {
		return ""
	}
	found, err := r.c.find(local(name), true)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err == nil {
		var out string
		if out, err = r.c.outside(found); out != "" {
			err = errOutside
		}
	}
	if err != nil {
		r.omit(clip(name), "It cannot be used: %s.", cause(err))
		return ""
	}
	return found
}

// skills finds the directories of skills: skills, those of the manifest, and the plugin
// itself if it has a SKILL.md.
func (r *pluginReading) skills() {
	add := func(dir string) {
		if dir != "" && !slices.Contains(r.plugin.Skills, dir) {
			r.plugin.Skills = append(r.plugin.Skills, dir)
		}
	}
	value, given := r.given["skills"]
	names, ok := paths(value)
	if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(local(name), "skills/") }) { // a selection of them
		add(r.dir("skills"))
	}
	if given && !ok && string(value) != "null" {
		r.omit("skills", "It is neither a path nor a list of paths.")
	}
	for _, name := range names {
		name = strings.TrimSuffix(name, "/"+pluginSkill)
		dir := r.dir(name)
		if dir == "" {
			r.missing(name)
		}
		add(dir)
	}
	if _, err := r.c.find(pluginSkill, false); err == nil && len(r.plugin.Skills) == 0 {
		add(r.c.path)
	}
}

// json reads a JSON object in a file of the plugin.
func (r *pluginReading) json(file string) (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	data, err := lockedfile.Read(file, maxHooks)
	if err == nil {
		var doc *document
		if doc, err = parse(data); err == nil {
			err = json.Unmarshal(raw(doc.Tree), &members)
		}
	}
	if err != nil {
		r.omit(r.c.shown(file), "It cannot be read: %s.", strings.TrimSuffix(cause(err), "."))
		return nil, false
	}
	return members, true
}

// hooksAndServers reads hooks and MCP servers, which may be objects, paths, or lists of
// both, next to the default files.
func (r *pluginReading) hooksAndServers() {
	r.hooks, r.servers = map[string][]json.RawMessage{}, map[string]json.RawMessage{}
	seen := map[string]bool{}
	lost := func(key string) {
		if key == hooksKey {
			r.lostHooks()
		}
	}
	each := func(key, file string, add func(file string, members map[string]json.RawMessage)) {
		from := func(path string) {
			if path == "" || seen[path] {
				return
			}
			seen[path] = true
			if members, ok := r.json(path); ok {
				add(path, members)
			} else {
				lost(key)
			}
		}
		if path, err := r.c.find(file, false); err == nil {
			from(path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			r.omit(file, "It cannot be used: %s.", cause(err))
			lost(key)
		}
		value, given := r.given[key]
		if !given || string(value) == "null" {
			return
		}
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			list = []json.RawMessage{value}
		}
		for _, item := range list {
			var path string
			var members map[string]json.RawMessage
			switch {
			case json.Unmarshal(item, &path) == nil:
				if path = r.file(path); path == "" {
					lost(key)
				}
				from(path)
			case json.Unmarshal(item, &members) == nil && members != nil:
				add("", members)
			default:
				r.omit(key, "It is neither a path nor an object.")
				lost(key)
			}
		}
	}
	each(hooksKey, hooksFile, r.addHooks)
	each("mcpServers", pluginServers, func(_ string, members map[string]json.RawMessage) {
		var inner map[string]json.RawMessage
		if json.Unmarshal(members["mcpServers"], &inner) == nil && inner != nil {
			members = inner
		}
		maps.Copy(r.servers, members)
	})
}

// lostHooks adds a group without a meaning, in place of hooks that cannot be read: they
// might refuse calls, so sessions ask about each call.
func (r *pluginReading) lostHooks() {
	r.hooks[beforeCall] = append(r.hooks[beforeCall], json.RawMessage(`"hooks that cannot be read"`))
}

// addHooks adds the groups of an object of events, which may be its member hooks.
func (r *pluginReading) addHooks(file string, members map[string]json.RawMessage) {
	var inner map[string]json.RawMessage
	if value, given := members[hooksKey]; given {
		if json.Unmarshal(value, &inner) != nil || inner == nil {
			r.omit(cmp.Or(file, hooksKey), "Its hooks are not an object of events.")
			r.lostHooks()
			return
		}
		members = inner
	}
	if file != "" {
		r.hookFiles = append(r.hookFiles, file)
	}
	for event, groups := range members {
		if event == "description" || event == "$schema" {
			continue
		}
		var list []json.RawMessage
		if json.Unmarshal(groups, &list) != nil {
			list = []json.RawMessage{groups}
		}
		r.hooks[event] = append(r.hooks[event], list...)
	}
}
