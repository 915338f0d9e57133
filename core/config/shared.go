package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/agent/keeper"
	"github.com/fettle-dev/fettle/core/config/internal/agentset"
	"github.com/fettle-dev/fettle/core/config/internal/contributions"
	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/config/internal/sessionhooks"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/memory"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/skills"
)

// shared holds the services that a Config and those derived from it have in
// common. They keep no state of a conversation.
type shared struct {
	workspace    *workspace.Workspace
	tmp          string // the user's directory for the project, see projectTmp; "": there is no home directory
	committer    *commit.Committer
	transactions *transaction.Service
	bases        filestate.BaseStore
	settings     *liveSettings // nil: there are none
	finder       discovery.Current
	rules        *rules.Rules
	memory       *memory.Service
	web          fetcher
	search       io.Closer // created from the settings; may be nil
	processes    processes
	names        process.Names           // protected paths that confined processes create
	programs     func() *process.Service // runs confined programs; opened on first use
	agents       agentset.Set
	hooks        *sessionhooks.Set
	skills       *skills.SkillManager
	servers      atomic.Pointer[mcp.Manager] // nil: there are none

	checkpoints *keeper.Keeper // nil: there is no directory for them
}

// openShared opens the services that a Config shares with derived ones.
func (c *Config) openShared(ctx context.Context) (*shared, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.WasCancelled("config.Initialize", err)
	}
	if err := c.params().Tools.Shell.check(ctx); err != nil {
		return nil, err
	}
	if err := webfetch.Check(c.params().Tools.WebFetch); err != nil {
		return nil, err
	}
	ws, err := workspace.Open(append([]string{c.params().TargetDir}, c.params().IncludeDirs...)...)
	if err != nil {
		return nil, err
	}
	recovery := ""
	tmp, err := c.projectTmp(ws.RealDirectories()[0])
	if err != nil {
		c.params().Environment.Logger.Warn("no home directory, so files that must be rewritten in place will not be changed")
	} else {
		recovery = filepath.Join(tmp, recoveryDir)
	}
	if err := c.openExtensions(ctx, ws.Target(), tmp); err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	rules, err := c.loadRules(ctx, ws)
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	_, _, step, _ := c.params().Calls.hooks()
	committer := commit.New(commit.Options{RecoveryDir: recovery, Hook: step, Logger: c.params().Environment.Logger})
	facts := memory.Options{Heading: memory.HeadingOf(c.params().Environment.Layout.Name), Committer: committer}
	if dir, err := c.userDir(); err == nil {
		facts.Path = filepath.Join(dir, c.params().Environment.Layout.ContextFile)
	}
	transactions := transaction.New(transaction.Options{Files: ws, Committer: committer, RecoveryDir: recovery, Logger: c.params().Environment.Logger})
	sh := &shared{workspace: ws, tmp: tmp, committer: committer, transactions: transactions, memory: memory.New(facts), rules: rules, skills: new(skills.SkillManager)}
	sh.web.o = &c.params().Tools.WebFetch
	sh.finder.Set(discovery.New(ws).With(c.params().Tools.FileFiltering.options(c.params().Environment.Layout.IgnoreFile)))
	sh.programs = sync.OnceValue(func() *process.Service { return sh.processes.open(c.programOptions(sh)) })
	if sh.checkpoints = c.openCheckpoints(sh); sh.checkpoints != nil {
		sh.bases.Spill = sh.checkpoints
	}
	sh.servers.Store(c.openServers(sh))
	return sh, nil
}

// close ends everything that the services have started and closes them.
func (s *shared) close() error {
	s.hooks.Close()
	return errors.Join(s.closeServers(), s.processes.closeAll(), s.checkpoints.Close(), s.agents.Close(), s.web.close(), closeIfAny(s.search), s.workspace.Close())
}

// Recover completes, undoes or reports writes to files of this project that killed runs
// left unfinished: rewrites in place, and sets of changes. Call it once, after Initialize and before the first change, in
// a session that may change files. It is not part of Initialize because it writes
// to those files and waits for the owners of their directories' locks. Calling it
// again is harmless: completed writes are not found again, unresolved ones are
// reported again. A derived Config's Recover does the same as its parent's. The
// error, of code not_initialized, cancelled or read_content_failure, does not
// prevent work in the session; leftovers found before it are returned with it.
func (c *Config) Recover(ctx context.Context) ([]commit.Leftover, error) {
	sh, err := c.services("Recover")
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.WasCancelled("config.Recover", err)
	}
	left, err := sh.committer.Recover(ctx)
	if err != nil {
		return left, err
	}
	sets, err := sh.transactions.Recover(ctx)
	return append(left, sets...), err
}

// recoveryDir is the name of the directory in which in-place writes keep their
// bytes first, and sets of changes their journals, below the user's directory for the project.
const recoveryDir = "recovery"

// Storage contains the directories in which fettle keeps data that is not part of
// the project. They need not exist yet. Both are "" without a home directory.
type Storage struct {
	GlobalDir      string // the user's settings directory, for example ~/.fettle
	ProjectTempDir string // below it: the data of this project, identified by its directory
}

// Storage returns the session's directories; derived Configs have the same ones.
// The error has code not_initialized.
func (c *Config) Storage() (Storage, error) {
	sh, err := c.services("Storage")
	if err != nil {
		return Storage{}, err
	}
	dir, err := c.userDir()
	if err != nil {
		return Storage{}, nil
	}
	return Storage{GlobalDir: dir, ProjectTempDir: sh.tmp}, nil
}

// userDir returns the user's settings directory.
func (c *Config) userDir() (string, error) {
	home := c.given.home()
	if home == "" {
		return "", errors.New("there is no home directory")
	}
	return filepath.Join(home, c.given.Environment.Layout.Dir), nil
}

// projectTmp returns the user's directory for the data of a project whose
// directory, with links resolved, is target. It lies outside the project and is
// unique to it.
func (c *Config) projectTmp(target string) (string, error) {
	dir, err := c.userDir()
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(target))
	return filepath.Join(dir, "tmp", hex.EncodeToString(id[:8])), nil
}

// AddDirectory adds a directory to the workspace of this Config and all derived from
// the same root, like Parameters.IncludeDirs; a relative path is resolved against
// the target. Confined commands cannot write there before the next session. The
// error has code not_initialized, invalid_config for a missing directory,
// untrusted_folder for one that is recorded as untrusted, or is that of
// Parameters.Policy.TrustOf.
func (c *Config) AddDirectory(ctx context.Context, path string) error {
	sh, err := c.services("AddDirectory")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(sh.workspace.Target(), path)
	}
	if trustOf := c.given.Policy.TrustOf; trustOf != nil {
		state, err := trustOf(ctx, []string{sh.workspace.Target(), path})
		if err != nil {
			return err
		}
		if state == trust.Untrusted && c.Trust() != trust.Untrusted {
			return fault.New(fault.UntrustedFolder, "config.addFolder", fmt.Sprintf("%s is recorded as untrusted, and was not added.", path),
				"Trust it with fettle trust, or start a session there.")
		}
	}
	if err := sh.workspace.Add(path); err != nil {
		return err
	}
	sh.rules.Added(path)
	if sh.servers.Load() != nil {
		sh.servers.Load().RootsChanged()
	}
	return nil
}

// family is the state shared between a Config and those derived from it.
type family struct {
	turns    atomic.Int64 // number of times a cache was turned off
	ceiling  atomic.Pointer[ceiling]
	excluded atomic.Pointer[[]string] // tools that settings have excluded since the beginning; nil: none

	autoNoticed atomic.Bool // the notice about the mode auto has been given

	extensions contributions.Extensions
}

// exclude excludes further tools in the whole family.
func (f *family) exclude(names []string) {
	if now := f.excluded.Load(); now != nil {
		names = slices.Concat(*now, names)
	}
	f.excluded.Store(&names) // by one reload at a time
}

// excluded returns the tools excluded by the parameters, by later settings, and
// by extensions.
func (c *Config) excluded() []string {
	all := slices.Clone(c.params().Tools.Exclude)
	add := func(names []string) {
		for _, name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	if since := c.family.excluded.Load(); since != nil {
		add(*since)
	}
	add(c.brought().Exclude)
	return all
}
