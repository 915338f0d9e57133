package config

import (
	"context"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// extensionsFolder holds the extensions of a person, below the settings folder.
const extensionsFolder = "extensions"

// Extensions say which extensions a session has. The zero value is those that the
// person has installed and enabled.
type Extensions struct {
	Disabled bool // there are none, whatever else is said
	// Only are the names, in any case of letters, of the only ones that are active,
	// whatever else disables them; "none" alone is none. nil: those that are enabled.
	Only []string
	// Folders are the embedder's own extensions, each a folder with a manifest.
	// What the settings say of where extensions may come from is not for them.
	Folders []string

	said *saidOfExtensions // by settings; nil: nothing
}

// saidOfExtensions is what settings say of extensions.
type saidOfExtensions struct {
	off      []string // extensions.disabled
	allowed  []string // security.allowedExtensions
	blockGit bool     // security.blockGitExtensions
}

// fillExtensions takes over what the settings say.
func (p *Parameters) fillExtensions(s settings.Settings) {
	p.Extensions.said = &saidOfExtensions{s.Extensions.Disabled, s.Security.AllowedExtensions, s.Security.BlockGitExtensions}
}

// extended are the extensions of a Config and of those derived from it.
type extended struct {
	changing sync.Mutex // held by who loads them again

	mu       sync.Mutex
	store    *extensions.Store
	found    []extensions.Extension
	problems []fault.Problem
	switched map[string]bool // by name, in this session
	plans    string          // where an extension wanted plans at the beginning; "": nowhere
	secrets  []string        // sensitive values of all extensions that there have been
}

func (x *extended) plansDir() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.plans
}

// ExtensionStore returns the folder of the person's extensions, as this session
// sees it. The error is of code not_initialized.
func (c *Config) ExtensionStore() (*extensions.Store, error) {
	if _, err := c.services("ExtensionStore"); err != nil {
		return nil, err
	}
	x := &c.family.extended
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.store, nil
}

// Extensions returns the extensions that there are, by name, those that are not
// active too (EX-02). They must not be changed. The error is of code
// not_initialized.
func (c *Config) Extensions() ([]extensions.Extension, error) {
	if _, err := c.services("Extensions"); err != nil {
		return nil, err
	}
	x := &c.family.extended
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.found), nil
}

// ExtensionProblems returns what is wrong with extensions, and which of their
// parts are not used for it. The error is of code not_initialized.
func (c *Config) ExtensionProblems() ([]fault.Problem, error) {
	if _, err := c.services("ExtensionProblems"); err != nil {
		return nil, err
	}
	x := &c.family.extended
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.problems), nil
}

// extensionOptions say where extensions are. Extensions are the person's, so that
// they are there in every folder; an untrusted one gives them no values.
func (c *Config) extensionOptions(target string) extensions.Options {
	p := c.params()
	o := extensions.Options{
		Folders: p.Extensions.Folders, Workspace: target, Home: p.home(), Trusted: p.Trust == trust.Trusted,
		Off: p.Extensions.Disabled, Only: p.Extensions.Only,
		ContextFiles: []string{p.Layout.ContextFile, "GEMINI.md"}, Hooks: hooksOf, Rules: CheckExtensionRules,
		Getenv: func(name string) (string, bool) {
			if p.variables == nil {
				return "", false
			}
			value, _ := p.variables(name)
			return value, value != ""
		},
		LooksSecret: func(name, value string) bool {
			return settings.LooksSecret(name, value) || value != "" && slices.Contains(p.Secrets, value)
		},
	}
	if said := p.Extensions.said; said != nil {
		o.Disabled, o.Allowed, o.BlockGit = said.off, said.allowed, said.blockGit
	}
	x := &c.family.extended
	o.Switched = func(name string) (on, switched bool) {
		x.mu.Lock()
		defer x.mu.Unlock()
		on, switched = x.switched[name]
		return on, switched
	}
	if dir, err := c.userDir(); err == nil {
		o.Dir = filepath.Join(dir, extensionsFolder)
	}
	return o
}

// openExtensions says where extensions are, and finds them.
func (c *Config) openExtensions(ctx context.Context, target string) error {
	x := &c.family.extended
	x.mu.Lock()
	x.store = extensions.Open(c.extensionOptions(target))
	x.mu.Unlock()
	if err := c.findExtensions(ctx, target); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.plans = c.brought().plansDir
	return nil
}

// count matches values that occur in any text, as that of a setting MAX_TOKENS.
var count = regexp.MustCompile(`^[0-9]{0,7}$`)

// noteSecrets keeps the sensitive values of extensions from logs and recordings.
func (c *Config) noteSecrets(found []extensions.Extension) {
	x := &c.family.extended
	var added []string
	x.mu.Lock()
	for _, e := range found {
		for _, s := range e.ResolvedSettings {
			value := s.Value.Reveal()
			if s.Sensitive && !count.MatchString(value) && !slices.Contains(x.secrets, value) {
				x.secrets, added = append(x.secrets, value), append(added, value)
			}
		}
	}
	x.mu.Unlock()
	if tell := c.params().SecretsFound; tell != nil && len(added) > 0 {
		tell(added...)
	}
}

// extensionSecrets returns the sensitive values of all extensions that there have
// been, in the order in which they were found.
func (c *Config) extensionSecrets() []string {
	x := &c.family.extended
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clip(x.secrets)
}

// findExtensions reads the extensions that there are now, and keeps what they
// bring for its owners. The error is of code cancelled.
func (c *Config) findExtensions(ctx context.Context, target string) error {
	x := &c.family.extended
	x.mu.Lock()
	store := x.store
	x.mu.Unlock()
	found, problems, err := store.Load(ctx)
	if err != nil {
		return err
	}
	c.noteSecrets(found)
	brought, more := c.bring(found, target)
	problems = append(problems, more...)
	x.mu.Lock()
	before := x.problems
	x.found, x.problems = found, problems
	x.mu.Unlock()
	c.family.brought.Store(brought)
	for _, problem := range problems {
		if !slices.Contains(before, problem) {
			c.params().Logger.Warn("extensions", slog.String("problem", problem.String()))
		}
	}
	return nil
}
