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
	"github.com/fettle-dev/fettle/core/config/internal/forking"
	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/config/internal/sessionhooks"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/memory"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/skills"
)

// shared holds the services that a Config and those derived from it have in
// common. They keep no state of a conversation. A fork has its own site.
type shared struct {
	*site
	*common
}

// site holds the services of the files that a session works on.
type site struct {
	workspace    *workspace.Workspace
	fork         *fork.Fork             // nil: the directories themselves
	ignored      func(path string) bool // whether git ignores a file of the directories that are forked
	tmp          string                 // the user's directory for the project, see projectTmp; "": there is no home directory
	data         string                 // the directory for the data of these files: tmp, or one of the fork
	committer    *commit.Committer
	transactions *transaction.Service
	finder       discovery.Current
	rules        *rules.Rules
	names        process.Names // protected paths that confined processes create
	programs     lazyProcesses // runs confined programs
	hooks        *sessionhooks.Set

	checkpoints *keeper.Keeper // nil: there is no directory for them
}

// common holds the services that do not depend on the files of the workspace.
type common struct {
	bases     filestate.BaseStore
	settings  *liveSettings // nil: there are none
	memory    *memory.Service
	web       fetcher
	search    io.Closer // created from the settings; may be nil
	processes processes
	agents    agentset.Set
	skills    *skills.SkillManager
	forks     *fork.Store // nil: there is no home directory
	forked    forkedConfigs
	merging   sync.Mutex                  // held while the fork of a subagent is merged
	servers   atomic.Pointer[mcp.Manager] // nil: there are none
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
	dirs := append([]string{c.params().TargetDir}, c.params().IncludeDirs...)
	ws, err := openWorkspace(c.params().Session.Fork, dirs)
	if err != nil {
		return nil, err
	}
	tmp, err := c.projectTmp(ws.RealDirectories()[0])
	if err != nil {
		c.params().Environment.Logger.Warn("no home directory, so files that must be rewritten in place will not be changed")
	}
	if err := c.openExtensions(ctx, ws.Target(), tmp); err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	rules, err := c.loadRules(ctx, ws)
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	sh := &shared{common: &common{skills: new(skills.SkillManager)}}
	f := c.params().Session.Fork
	if f != nil {
		rules = rules.At(ws, f.Uppers())
	}
	c.openSite(sh, ws, f, rules, tmp)
	if user, err := c.userDir(); err == nil {
		sh.forks = fork.New(fork.Options{Dir: forking.StoreDir(user, tmp, c.params().Environment.Layout.Name), Mode: c.params().Session.forkMode(), Now: c.params().Environment.Now})
	}
	facts := memory.Options{Heading: memory.HeadingOf(c.params().Environment.Layout.Name), Committer: sh.committer}
	if dir, err := c.userDir(); err == nil {
		facts.Path = filepath.Join(dir, c.params().Environment.Layout.ContextFile)
	}
	sh.memory = memory.New(facts)
	sh.web.o = &c.params().Tools.WebFetch
	if sh.checkpoints != nil {
		sh.bases.Spill = sh.checkpoints
	}
	sh.servers.Store(c.openServers(sh))
	return sh, nil
}

// openWorkspace opens the directories of a session, or the fork of them.
func openWorkspace(f *fork.Fork, dirs []string) (*workspace.Workspace, error) {
	if f == nil {
		return workspace.Open(dirs...)
	}
	if f.Mode == fork.Copy {
		return nil, fault.New(fault.InvalidConfig, "config.fork", "The fork "+f.Name+" is a copy of the directories.", "Name the copy as TargetDir, and omit Fork.")
	}
	return forking.Open(f, dirs)
}

// openSite opens the services of the files of a workspace. tmp is the user's directory for the project; "": there
// is none.
func (c *Config) openSite(sh *shared, ws *workspace.Workspace, f *fork.Fork, r *rules.Rules, tmp string) {
	data, recovery := tmp, ""
	if f != nil {
		data = f.DataDir()
	}
	if data != "" {
		recovery = filepath.Join(data, recoveryDir)
	}
	_, _, step, _ := c.params().Calls.hooks()
	logger := c.params().Environment.Logger
	committer := commit.New(commit.Options{RecoveryDir: recovery, Hook: step, Logger: logger})
	sh.site = &site{workspace: ws, fork: f, tmp: tmp, data: data, committer: committer, rules: r,
		transactions: transaction.New(transaction.Options{Files: ws, Committer: committer, RecoveryDir: recovery, Logger: logger})}
	sh.finder.Set(discovery.New(ws).With(c.params().Tools.FileFiltering.options(c.params().Environment.Layout.IgnoreFile)))
	sh.programs.all, sh.programs.options = &sh.processes, func() process.Options { return c.programOptions(sh) }
	sh.checkpoints = c.openCheckpoints(sh)
}

// kept returns the forks of the project.
func (c *common) kept() (*fork.Store, error) {
	if c.forks == nil {
		return nil, fault.New(fault.InvalidConfig, "config.forks", "There is no home directory, so there are no forks.",
			"Set Parameters.Environment.HomeDir, or the variable HOME.")
	}
	return c.forks, nil
}

// placed returns the shared services, those of a fork of its own included, which it creates. It is called
// under c.mu.
func (c *Config) placed(ctx context.Context) (*shared, error) {
	if !c.ownFork || c.shared.fork != nil {
		return c.shared, nil
	}
	store, err := c.shared.kept()
	if err != nil {
		return nil, err
	}
	f, err := forking.Create(ctx, store, c.subagent, c.sessionID, c.shared.workspace.RealDirectories())
	if err != nil {
		return nil, err
	}
	ws, err := forking.Open(f, c.shared.workspace.Directories())
	if err != nil {
		return nil, errors.Join(err, f.End(context.WithoutCancel(ctx), nil))
	}
	for _, dir := range c.shared.workspace.ReadOnlyDirectories() {
		if err := ws.AddReadOnly(dir); err != nil {
			return nil, errors.Join(err, ws.Close(), f.End(context.WithoutCancel(ctx), nil))
		}
	}
	forked := &shared{common: c.shared.common}
	c.openSite(forked, ws, f, c.shared.rules.At(ws, f.Uppers()), c.shared.tmp)
	forked.ignored = c.shared.finder.Ignored(context.WithoutCancel(ctx))
	c.openHooks(forked)
	if err := c.joined(forked); err != nil {
		return nil, errors.Join(err, c.leave(forked))
	}
	c.shared = forked
	return forked, nil
}

// close ends everything that the services have started and closes them.
func (s *shared) close() error {
	s.hooks.Close()
	defer s.committer.Wait()
	return errors.Join(s.closeServers(), s.processes.closeAll(), s.checkpoints.Close(), s.agents.Close(), s.web.close(), closeIfAny(s.search), s.workspace.Close())
}

// close closes the services of the files of a fork.
func (p *site) close() error {
	p.hooks.Close()
	defer p.committer.Wait()
	return errors.Join(p.checkpoints.Close(), p.workspace.Close())
}

// Recover completes, undoes or reports writes to files of this project that killed runs
// left unfinished: rewrites in place, and sets of changes. Call it once, after Initialize and before the first change, in
// a session that may change files. It is not part of Initialize because it writes
// to those files and waits for the owners of their directories' locks. Calling it
// again is harmless: completed writes are not found again, unresolved ones are
// reported again. A derived Config's Recover does the same as its parent's, except in a fork of its own. The
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
	home := c.given.Environment.home()
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
// the target. Confined commands cannot write there before the next session. In a fork
// the directory is read-only. The error has code not_initialized, invalid_config for a missing directory,
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
	if sh.fork != nil {
		return sh.workspace.AddReadOnly(path)
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
