package extensionstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// loading is the state of Load.
type loading struct {
	s          *Store
	enablement enablement
	broken     bool // the enablement file is invalid
	secrets    secrets
	allowed    []*regexp.Regexp
	found      []extensions.Extension
	problems   []fault.Problem
	unknown    []fault.Problem // variables in the servers of the extension read last
}

// tell adds an error as a problem.
func (l *loading) tell(path string, err error) {
	p := fault.Problem{Path: path, Message: err.Error()}
	if f := fault.As(err); f != nil {
		p.Message, p.Remedy = f.Message, f.Remedy
	}
	l.problems = append(l.problems, p)
}

// begin reads the files about all extensions.
func (l *loading) begin() {
	if l.s.o.Dir != "" {
		var err error
		if l.enablement, err = l.s.readEnablement(); err != nil {
			l.tell(filepath.Join(l.s.o.Dir, enablementFile), err)
			l.broken = true
		}
		if l.secrets, err = l.s.readSecrets(); err != nil {
			l.tell(l.s.secretsPath(), err)
		}
	}
	for _, pattern := range l.s.o.Allowed {
		re, err := regexp.Compile(pattern)
		if err != nil {
			l.problems = append(l.problems, fault.Problem{Message: fmt.Sprintf("The entry %q of security.allowedExtensions is not a valid regular expression, so it allows nothing.", clip(pattern)), Remedy: "Correct it."})
			continue
		}
		l.allowed = append(l.allowed, re)
	}
}

// entry is a directory that should contain an extension.
type entry struct {
	path      string
	installed bool // in the extensions directory
}

// dirs lists the entries of the extensions directory, then the additional
// directories.
func (l *loading) dirs() []entry {
	var all []entry
	if dir := l.s.o.Dir; dir != "" {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.problems = append(l.problems, fault.Problem{Path: dir, Message: "The extensions directory cannot be read: " + cause(err) + ".", Remedy: "Check that it is a directory, and who may read it."})
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				continue
			}
			if len(all) == maxExtensions {
				l.problems = append(l.problems, fault.Problem{Path: dir, Message: fmt.Sprintf("The extensions directory has more than %d extensions; the rest were not read.", maxExtensions)})
				break
			}
			all = append(all, entry{path, true})
		}
	}
	for _, path := range l.s.o.Dirs {
		all = append(all, entry{path, false})
	}
	return all
}

// load adds the extension of an entry.
func (l *loading) load(from entry) {
	var install *extensions.InstallMetadata
	if from.installed {
		var err error
		if install, err = readInstall(from.path); err != nil {
			l.tell(from.path, err)
			l.problems[len(l.problems)-1].Severity = fault.SeverityError
			return
		}
	}
	e, ok := l.read(from.path, install)
	if !ok {
		return
	}
	if from.installed {
		if why, remedy := l.refused(install); why != "" {
			l.problems = append(l.problems, fault.Problem{Path: e.InstallDir, Extension: e.Name, Message: "The extension " + e.Name + " is not used: " + why + ".", Remedy: remedy, Severity: fault.SeverityError})
			return
		}
	}
	if e.Inactive = l.inactive(e); e.Inactive == "" {
		e.Active = true
		l.problems = append(l.problems, l.unknown...)
		l.tellOfMissing(e)
	}
	l.found = append(l.found, e)
}

// refused returns the reason why an installed extension must not be used; "" if it may
// be.
func (l *loading) refused(install *extensions.InstallMetadata) (why, remedy string) {
	switch {
	case len(l.s.o.Allowed) > 0 && install == nil:
		return "security.allowedExtensions is set, and its source is unknown", "Install it with fettle extensions install."
	case len(l.s.o.Allowed) > 0 && !slices.ContainsFunc(l.allowed, func(re *regexp.Regexp) bool { return re.MatchString(install.Source) }):
		return "its source is not among security.allowedExtensions", "Add it there, or uninstall the extension."
	case len(l.s.o.Allowed) == 0 && l.s.o.BlockGit && install != nil && (install.Type == extensions.InstallGit || install.Type == extensions.InstallRelease):
		return "it comes from a repository, which security.blockGitExtensions forbids", "Change that setting, or uninstall the extension."
	}
	return "", ""
}

// inactive returns the reason why an extension is not active; "" if it is.
func (l *loading) inactive(e extensions.Extension) string {
	is := func(name string) bool { return strings.EqualFold(name, e.Name) }
	on, switched := false, false
	if l.s.o.Switched != nil {
		on, switched = l.s.o.Switched(e.Name)
	}
	switch {
	case on && switched:
	case switched:
		return "It is disabled for this session."
	case l.s.o.Only != nil:
		if !slices.ContainsFunc(l.s.o.Only, is) {
			return "It is not among the extensions that this session was started with."
		}
	case slices.ContainsFunc(l.s.o.Disabled, is):
		return "The setting extensions.disabled names it."
	case e.InstallDir != "" && l.broken:
		return "The file " + enablementFile + " is invalid and may disable it."
	case !l.enablement.enabled(e.Name, l.s.o.Workspace, l.s.o.Home):
		return "It is disabled in this directory."
	}
	return ""
}

// kindMissingValue is the kind of a problem about settings that have no value because none
// was given.
const kindMissingValue fault.ProblemKind = "missing_value"

// tellOfMissing reports settings without a value: those that the environment may give,
// and others.
func (l *loading) tellOfMissing(e extensions.Extension) {
	var open, secret []string
	for _, setting := range e.Settings {
		switch {
		case slices.ContainsFunc(e.ResolvedSettings, func(r extensions.ResolvedSetting) bool { return r.EnvVar == setting.EnvVar }):
		case l.withheld(setting):
			l.missing(e, []string{setting.EnvVar}, ": that of the environment looks like a secret, and is not given to an extension that only names it", true)
		case setting.Sensitive:
			secret = append(secret, setting.EnvVar)
		default:
			open = append(open, setting.EnvVar)
		}
	}
	l.missing(e, open, "", false)
	l.missing(e, secret, "", true)
}

// missing reports settings without a value in one problem.
func (l *loading) missing(e extensions.Extension, names []string, because string, optional bool) {
	if len(names) == 0 {
		return
	}
	p := fault.Problem{Path: e.Manifest, Extension: e.Name}
	if because == "" {
		p.Kind = kindMissingValue
	}
	name, list := names[0], names[0]
	p.Message, p.Remedy = "The setting %s of the extension %s has no value%s.", "Give one with fettle extensions config %s %s, or in the environment."
	if optional {
		p.Remedy = "If the extension is to have one, give it with fettle extensions config %s %s."
	}
	if last := len(names) - 1; last > 0 {
		name, list = "NAME", strings.Join(names[:last], ", ")+" and "+names[last]
		p.Message = "The settings %s of the extension %s have no values%s."
	}
	p.Message, p.Remedy = fmt.Sprintf(p.Message, list, e.Name, because), fmt.Sprintf(p.Remedy, e.Name, name)
	l.problems = append(l.problems, p)
}

// withheld reports whether the environment has a value of a setting that the extension
// does not receive.
func (l *loading) withheld(setting extensions.Setting) bool {
	if l.s.o.Getenv == nil {
		return false
	}
	_, there := l.s.o.Getenv(setting.EnvVar)
	_, given := l.s.getenv(setting.EnvVar)
	return there && !given
}

// refuseTwins drops all extensions with equal names, and reports them.
func (l *loading) refuseTwins() {
	byName := map[string][]extensions.Extension{}
	for _, e := range l.found {
		name := strings.ToLower(e.Name)
		byName[name] = append(byName[name], e)
	}
	l.found = slices.DeleteFunc(l.found, func(e extensions.Extension) bool {
		twins := byName[strings.ToLower(e.Name)]
		for _, other := range twins {
			if other.Path == e.Path && other.InstallDir == e.InstallDir {
				continue
			}
			l.problems = append(l.problems, fault.Problem{Path: e.Path, Extension: e.Name, Severity: fault.SeverityError,
				Message: fmt.Sprintf("The extension %s has the same name as the one in %s; neither is used.", e.Name, other.Path), Remedy: "Uninstall one of them."})
		}
		return len(twins) > 1
	})
}

// tellOfUnknown reports unknown names in Only.
func (l *loading) tellOfUnknown() {
	for _, name := range l.s.o.Only {
		if name == noExtension && len(l.s.o.Only) == 1 || slices.ContainsFunc(l.found, func(e extensions.Extension) bool { return strings.EqualFold(e.Name, name) }) {
			continue
		}
		l.problems = append(l.problems, fault.Problem{Message: fmt.Sprintf("There is no extension %q.", clip(name)), Remedy: "fettle extensions list shows them."})
	}
}

// read reads the extension in a directory, and reports whether it is valid.
func (l *loading) read(dir string, install *extensions.InstallMetadata) (extensions.Extension, bool) {
	e := extensions.Extension{Path: filepath.Clean(dir), Install: install}
	if l.s.o.Dir != "" && filepath.Dir(e.Path) == filepath.Clean(l.s.o.Dir) {
		e.InstallDir = e.Path
	}
	fail := func(path, message, remedy string) (extensions.Extension, bool) {
		l.problems = append(l.problems, fault.Problem{Path: path, Extension: e.Name, Message: message, Remedy: remedy, Severity: fault.SeverityError})
		return e, false
	}
	if install != nil && install.Type == extensions.InstallLink {
		if !filepath.IsAbs(install.Source) {
			return fail(dir, "The extension is a link to a path that is not absolute.", "Uninstall it and link it again.")
		}
		e.Path = filepath.Clean(install.Source)
	}
	c, err := contain(e.Path)
	if err != nil {
		return fail(e.Path, "The directory of the extension cannot be read: "+cause(err)+".", "Restore it, or uninstall the extension.")
	}
	var data []byte
	for _, name := range manifestNames() {
		if e.Manifest, err = c.find(name, false); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil {
		data, err = lockedfile.Read(e.Manifest, maxManifest)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(e.Path, "The directory has no manifest.", "A manifest is called "+strings.Join(manifestNames(), " or ")+"; remove the directory if it is not an extension.")
	case err != nil:
		return fail(e.Path, "The manifest of the extension is invalid: "+cause(err)+".", "Correct it, or uninstall the extension.")
	}
	if filepath.Base(e.Manifest) == filepath.Base(pluginManifest) {
		return l.plugin(e, c, data)
	}
	return l.fill(e, c, data)
}

// fill reads the manifest and finds the parts.
func (l *loading) fill(e extensions.Extension, c container, data []byte) (extensions.Extension, bool) {
	r := readManifest(data)
	invalid := func() bool { return slices.ContainsFunc(r.problems, func(p fault.Problem) bool { return p.IsError() }) }
	for i := range r.m.Settings {
		r.m.Settings[i].Sensitive = r.m.Settings[i].Sensitive || l.s.looksSecret(r.m.Settings[i].EnvVar, "")
	}
	if !invalid() {
		e.ID = idOf(r.m.Name, e.Install)
		e.ResolvedSettings = l.s.resolve(r.m.Settings, e.ID, l.envFiles(e, c), l.secrets)
	}
	v := variables{extensionPath: e.Path, workspacePath: l.s.o.Workspace, settings: map[string]string{}, getenv: l.s.getenv, secret: map[string]bool{}}
	for _, setting := range e.ResolvedSettings {
		v.settings[setting.EnvVar], v.secret[setting.EnvVar] = setting.Value.Reveal(), setting.Sensitive
	}
	if r.doc != nil {
		if l.s.o.literal {
			r.literalContextFiles()
		}
		r.finish(e.Path, v)
	}
	for _, p := range r.problems {
		p.Path, p.Extension = e.Manifest, r.m.Name
		l.problems = append(l.problems, p)
	}
	m := r.m
	e.Name, e.Version, e.Description = m.Name, m.Version, m.Description
	if invalid() {
		return e, false
	}
	e.MCPServers, e.ExcludedTools, e.Settings = m.MCPServers, m.ExcludeTools, m.Settings
	l.unknown = m.unknown(e.Manifest, v)
	e.PlanDir, e.Themes, e.MigratedTo = m.PlanDirectory, m.Themes, m.MigratedTo
	if b := (bringing{l: l, e: &e, c: c}); e.Plugin == nil {
		b.find(m, l.s.o.ContextFiles)
	}
	x := expander{paths: v.paths(), env: v.environment(m.Settings, true)}
	e.Servers = make(map[string]extensions.Value, len(m.servers))
	for name, server := range filled(m.servers, x) {
		e.Servers[name] = extensions.NewValue(string(server), true)
	}
	return e, true
}

// envFiles are the .env files of an extension, that of its entry first.
func (l *loading) envFiles(e extensions.Extension, c container) []string {
	var all []string
	if e.Install != nil && e.Install.Type == extensions.InstallLink && e.InstallDir != "" {
		all = append(all, filepath.Join(e.InstallDir, envFile))
	}
	if path, err := c.find(envFile, false); err == nil {
		all = append(all, path)
	}
	return all
}
