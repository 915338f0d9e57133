package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
)

// Options are the sources of settings. The zero value loads the defaults and the
// machine's settings.
type Options struct {
	Layout     layout.Layout // names of files and variables; zero: layout.Fettle()
	HomeDir    string        // directory that contains the user's settings directory; "": the user has none
	ProjectDir string        // directory that contains the project's; "": there is none
	// Trusted states that the project's directory is trusted. Otherwise its file
	// may tighten but not loosen the settings, variables in its texts are not
	// expanded, and its .env files are not read.
	Trusted bool
	// Undecided states that the user has not decided on trust, so that the
	// directory counts as trusted if security.folderTrust.enabled is false.
	Undecided bool
	// Above reports whether a directory above the project's, which may contain
	// .env files, is trusted, or undecided. nil: all are undecided.
	Above func(ctx context.Context, dir string) (trusted, undecided bool)
	// Confined states that commands are confined regardless of the settings, so
	// that a project cannot set programs or paths that would be used outside of
	// the confinement.
	Confined bool
	// File is an additional file with precedence over all others and the
	// environment (--settings). Unlike those it must exist and be readable. "":
	// none.
	File string
	// Environ are the process's variables as NAME=value; the last one of a name
	// counts. nil: none.
	Environ []string
	// Flags are values by key, such as "tools.core", with precedence over all
	// layers: strings, booleans, numbers and slices of strings.
	Flags map[string]any
	// DefaultTools are the built-in tools registered without a value of
	// tools.core, so that a project may exclude some of them. nil: unknown; an
	// untrusted project cannot be the first to set tools.core then.
	DefaultTools []string
}

func (o Options) layout() layout.Layout {
	if o.Layout.Name == "" {
		return layout.Fettle()
	}
	return o.Layout
}

// lookup returns the value of one of the layout's variables in the process's own
// environment.
func (o Options) lookup(names layout.Layout, name string) (value string, ok bool) {
	env := newEnvironment(o.Environ)
	for _, full := range variables(names, name) {
		if value, _ := env.get(full); value != "" {
			return value, true
		}
	}
	return "", false
}

// Result is the result of loading. It is safe for concurrent reading.
type Result struct {
	Settings Settings
	Trusted  bool            // the project's directory counted as trusted
	Problems []fault.Problem // of all layers, in order of increasing precedence
	// Env are the variables of .env files that are not set in Options.Environ:
	// the additions to the process's environment.
	Env map[string]string
	// EnvFiles are the .env files of these variables.
	EnvFiles []string

	layout   layout.Layout
	origins  map[string][]Origin
	projects map[string]bool // names in Env
	env      environment     // with Env
}

// OfProject reports whether a variable of Env comes from a .env file of the
// project, or of a directory above it, rather than from the user's own.
func (r *Result) OfProject(variable string) bool { return r.projects[variable] }

// Load reads all layers. Missing files are ignored; a mistake removes only the
// value, or for a syntax error the file, and is reported in Result.Problems. Load
// changes and caches nothing; it is safe for concurrent use. The error has code
// cancelled, or invalid_config if Options.File cannot be read or Options.Flags
// contains an unknown setting.
func Load(ctx context.Context, o Options) (*Result, error) {
	names := o.layout()
	files, err := loadFiles(ctx, o)
	if err != nil {
		return nil, err
	}
	env := newEnvironment(o.Environ)
	before, err := merge(o, layers(files, env, o.Trusted)) // for the settings about .env files
	if err != nil {
		return nil, err
	}
	if o.Undecided && !before.settings.Security.FolderTrust.Enabled {
		o.Trusted = true
		if before, err = merge(o, layers(files, env, o.Trusted)); err != nil {
			return nil, err
		}
	}
	r := &Result{Trusted: o.Trusted}
	dot := readDotenv(ctx, o, names, before.settings)
	r.Env, r.EnvFiles = env.add(dot)
	if err := ctx.Err(); err != nil {
		return nil, cancelled(err)
	}

	r.projects, r.env = env.project, env
	all := layers(files, env, o.Trusted)
	projects, environment := fromEnvironment(names, env, true), fromEnvironment(names, env, false)
	environment.problems = append(environment.problems, dot.problems...)
	projects.check()
	environment.check()
	flags, err := fromFlags(o.Flags)
	if err != nil {
		return nil, err
	}
	stronger := len(all)
	if o.File != "" {
		stronger-- // that file is the last one
	}
	all = append(slices.Insert(all, stronger, projects, environment), flags)

	m, err := merge(o, all)
	if err != nil {
		return nil, err
	}
	r.Settings, r.Problems, r.origins, r.layout = m.settings, m.problems, m.origins, o.layout()
	return r, nil
}

func cancelled(err error) error {
	return fault.Wrap(fault.Cancelled, "settings.load", "The settings were not loaded, because the call was cancelled.", "", err)
}

// source is a file that was read.
type source struct {
	file     File
	doc      *document       // nil if it is missing or malformed
	problems []fault.Problem // about the file as a whole
}

func loadFiles(ctx context.Context, o Options) ([]source, error) {
	var sources []source
	for _, f := range Files(o) {
		s := source{file: f}
		if f.Layer == LayerProject {
			if to, out := leadsOut(f.Path, o.ProjectDir); out {
				sources = append(sources, source{file: f, problems: []fault.Problem{elsewhere(f, to)}})
				continue
			}
		}
		data, err := read(ctx, f.Path)
		if ctx.Err() != nil {
			return nil, cancelled(ctx.Err())
		}
		if err == nil {
			s.doc, err = parse(data)
		}
		switch {
		case err == nil && len(data) == 0:
			s.problems = append(s.problems, empty(f))
		case err == nil:
		case f.Layer == LayerFile:
			p := unread(f, err)
			place := ""
			if p.Line > 0 {
				place = fmt.Sprintf(", line %d, column %d", p.Line, p.Column)
			}
			return nil, fault.Wrap(fault.InvalidConfig, "settings.load", fmt.Sprintf("The settings file %s%s: %s", f.Path, place, p.Message), p.Remedy, err)
		case !errors.Is(err, fs.ErrNotExist):
			s.problems = append(s.problems, unreadOwn(ctx, f, err))
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// layers parses files, and expands variables in their texts.
func layers(files []source, env environment, trusted bool) []*layerOf {
	var all []*layerOf
	for _, s := range files {
		l := newLayer(s.file.Layer, s.file.Path)
		l.problems = append(l.problems, s.problems...)
		if s.doc != nil {
			l.env, l.projects = env.get, env.project
			l.ofProject = s.file.Layer == LayerProject
			l.literal = l.ofProject && !trusted                                      // an untrusted file must not send secrets elsewhere
			l.collect(s.doc, known().root, s.doc.Tree.Value.(*hujson.Object), false) //nolint:errcheck // parse returns objects alone
			l.onlyServers()
			l.check()
		}
		all = append(all, l)
	}
	return all
}

// onlyServers removes all but the servers from mcp-settings.json.
func (l *layerOf) onlyServers() {
	if l.layer != LayerUserServers {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(l.entries)) {
		e := l.entries[path]
		if path != "mcpServers" {
			delete(l.entries, path)
			l.report(fault.Problem{Line: e.line, Column: e.column, Key: path, Kind: KindUnknownKey, Severity: Warning,
				Message: "This file may contain only mcpServers; the key has no effect here.", Remedy: "Move it to settings.json."})
		}
	}
}

// fromFlags returns the layer of the command line.
func fromFlags(flags map[string]any) (*layerOf, error) {
	l := newLayer(LayerFlags, "the command line")
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		value := flags[path]
		k := known().byPath[path]
		if k == nil {
			return nil, fault.New(fault.InvalidConfig, "settings.load", fmt.Sprintf("Unknown setting %s.", path), "Use a key that settings.Keys lists.")
		}
		text, err := json.Marshal(value)
		e := &entry{key: k, layer: l.layer, source: l.source}
		if err == nil {
			err = json.Unmarshal(text, &e.written)
		}
		if err != nil {
			return nil, fault.Wrap(fault.InvalidConfig, "settings.load", fmt.Sprintf("The value for the setting %s is invalid: %v.", path, err), "", err)
		}
		l.entries[path] = e
	}
	l.check()
	return l, nil
}
