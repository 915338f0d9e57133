package config

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/web"
)

// Parameters configures a [Config], by subject. TargetDir is required; the zero
// value of any other field is a sensible session.
type Parameters struct {
	TargetDir   string   // directory that relative paths are resolved against, and first of the workspace
	IncludeDirs []string // further directories of the workspace; nil: those of the settings, else none; empty: none

	// Settings configures the settings layers, which Initialize reads to set the
	// fields of the Parameters that are zero. A field that is not zero takes
	// precedence over all layers; so do single fields of Tools.FileFiltering,
	// Tools.Shell and Tools.WebFetch. A program passes its flags in
	// Settings.Flags, so that [SettingsService.Origins] reports them. Layout,
	// HomeDir, ProjectDir, Trusted, Undecided, Confined and DefaultTools of the
	// options need not be set: New derives them from the Parameters. Mistakes in
	// files are not errors, see [SettingsService.Problems], except for a missing
	// protection: a confinement, or files of policyPaths. nil: no settings file,
	// .env file or environment variable is read, except through
	// Environment.Getenv. The zero values described below apply if the settings
	// do not set the field.
	Settings *settings.Options

	Environment  Environment  // the user's files, and the functions of the program that the session uses
	Session      Session      // state that the session keeps
	Tools        Tools        // tools of the session, and how they work
	Policy       Policy       // permissions, restrictions and approvals
	Calls        Calls        // functions that take part in each call of a tool
	Conversation Conversation // conversation with a model; an embedder with its own loop needs none
	Agents       Agents       // subagents
	Extensions   Extensions   // the user's installed extensions
	Skills       Skills       // instructions for kinds of work
	Instructions Instructions // which files contain instructions for the model
	MCP          MCP          // servers whose tools the session has
	Hooks        Hooks        // commands that run at the session's events

	// variables are those of the environment and of .env files; set by New
	// without Settings, else by Initialize.
	variables     Variables
	checkpointing checkpointing // from the settings
	// unread lists files of the user or the machine that exist but could not be
	// read, although they may contain protections.
	unread []fault.Problem
}

// Environment contains the locations of the user's files, and the functions of
// the program that a session uses.
type Environment struct {
	Layout  layout.Layout // zero: layout.Fettle(); otherwise it must have a Name
	HomeDir string        // directory that contains the user's settings directory; "": os.UserHomeDir
	// Getenv looks up the layout's environment variables if Parameters.Settings is
	// nil; otherwise Settings.Environ provides them. nil: no variables are set.
	Getenv func(name string) string
	Logger *slog.Logger     // nil: nothing is logged
	Now    func() time.Time // nil: time.Now
	// DebugMode requests detailed logs, including requests to the model. The
	// Config only reports it as [Config.DebugMode]: the Logger decides which
	// levels are kept.
	DebugMode bool
	OnDefect  func(err error) // receives defects of tools, with stack; nil: logged
	// Secrets are values that are masked in logs and recordings; values shorter
	// than 6 bytes are not masked.
	Secrets []string
	// SecretsFound is called with further secrets before they are used: the
	// sensitive settings of extensions, including those added later. Calls are
	// sequential. nil: it is not called.
	SecretsFound func(values ...string)
}

// Session configures the state of a session.
type Session struct {
	ID string // "": a random one
	// NoSession states that no state is kept between calls: there are no
	// placeholders and no background processes, and a change of an existing file
	// requires its hash; without one it is refused for the reason no_session.
	NoSession bool
	// RequireSeen does not accept a matching hash alone as proof that the model
	// has seen the file.
	RequireSeen bool
	// StaleEdits is "rebase" if a patch is carried over to the changes that
	// another writer has made since the model read the file, or "refuse". "": the
	// settings decide; without settings, such a call is refused.
	StaleEdits string
	// FileReadCacheDisabled is the kill switch of the file-read cache; nil: the
	// settings decide or, without them, the layout's environment variable
	// FILE_READ_CACHE_DISABLED.
	FileReadCacheDisabled *bool
	// Limits bounds the output of reads and the results of changes. Zero fields
	// are their defaults; a ChangedRegionsAbove of 0 is that of the settings,
	// else the layout's: 16 KiB, or never for a layout with FullContent. A
	// negative one means never. A ResultBytes of 0 is that of the settings, else
	// 256 KiB or the limit of the client of [MCPServices.Serve]; a negative one
	// means no limit.
	Limits filestate.Limits
	// Checkpoints keeps the content of files before calls change them: true for
	// every call that may change files, false for none. nil: for the calls of a
	// conversation with a model, if the settings enable it. The settings also
	// limit the kept content; without settings the limits are those of
	// [checkpoint.Options] and [checkpoint.Retention].
	Checkpoints *bool
	// WatchSettings reads the settings again once after Initialize, and when one
	// of their files changes, until Close; see [SettingsService.Reload].
	WatchSettings bool
	// Tracker creates the tracker of this session and of each derived one, from the
	// options of the session's own: file state, and instruction files unless the
	// directory is untrusted. It is called once per session, before any call. A nil
	// function or result: [tracker.New].
	Tracker func(tracker.Options) *tracker.FileTracker
	// Fork is the open fork on which the session works: it sees the directories with the changes of the fork, to
	// which all of its changes go. It is of mode Overlay and of the directories of the session; further ones are
	// read-only. Commands run confined in it. Tools of servers and hooks that change files elsewhere are denied or
	// confined. The caller closes it after the Config. nil: the session works on the directories themselves.
	Fork      *fork.Fork
	copyForks bool // new forks are copies of the directories; from the settings
	// Bus carries questions, answers and events; a front end subscribes to it.
	// Without a subscriber to questions, a required approval is a refusal. nil:
	// the Config creates one, and closes it at Close; see [Config.MessageBus].
	Bus *bus.MessageBus
}

// Tools selects the tools of a session, and configures those that are built in.
type Tools struct {
	// Core lists the built-in tools to register: `name`, or
	// `run_shell_command(prefix)`, which denies every command without that
	// prefix. Any other entry with brackets selects nothing. nil: those of the
	// settings, else the default set; empty: none.
	Core []string
	// EditDialect lists the tools of the default set that change parts of files,
	// as [file.EditDialects] names them, or is auto alone: the tool of the model's
	// family, as [file.DialectOf] returns it, also after SetModel. nil: those of
	// the settings, else safe_patch. Core takes precedence.
	EditDialect []string
	// Exclude lists tools that are denied and not registered; it takes precedence
	// over Core. nil: those of the settings, else none; empty: none, even if the
	// settings change.
	Exclude []string
	// The positions of the entries of those lists, by entry, for display. An entry
	// without one is attributed to the flag of the list's name.
	coreFrom, excludedFrom map[string]toolrules.Place

	// Own are the embedder's tools. They are registered in addition to the
	// built-ins, regardless of Core, and shared with derived Configs.
	Own []tools.DeclarativeTool
	// Bind creates those tools of the embedder that require a conversation's
	// services, as the built-ins do. It is called once for each Config, including
	// derived ones, when its services are created, so that no tool reaches
	// another conversation; it must not call the Config. The tools must have the
	// zero Origin; like Own they are registered regardless of Core. Its error is
	// that of Initialize, or of the derived Config's accessors.
	Bind func(Services) ([]tools.DeclarativeTool, error)
	// DiscoveryCommand and CallCommand are the user's own programs: the first
	// prints the declarations of tools at Initialize, the second, which is
	// required with it, runs one. They run in the target directory. Both "": those
	// of the settings, else none.
	DiscoveryCommand, CallCommand string
	// DiscoverySandbox confines both, as servers are that have
	// [mcp.ServerSpec].Sandbox. The settings can set it too.
	DiscoverySandbox bool
	// Discover finds further tools, at Initialize.
	Discover []func(ctx context.Context) ([]tools.DeclarativeTool, error)
	// DeferSchemasAbove is the total size in bytes of the declarations of MCP and
	// discovered tools above which they are deferred; see [catalog.Catalog]. 0:
	// that of the settings, else [catalog.DefaultAbove]; negative: they are never
	// deferred.
	DeferSchemasAbove int

	FileFiltering FileFiltering // which files the tools find; the settings set its zero fields
	Shell         Commands      // how run_shell_command runs commands; the settings set its zero fields
	// WebFetch configures how web_fetch reaches pages. The settings set its zero
	// fields; the default is public addresses only, without a proxy.
	WebFetch webfetch.Options
	// WebSearch provides the searches of web_search; the caller closes it. nil:
	// the service of the settings, or one whose key is in their variables, which
	// the Config closes; without either the tool is not registered.
	WebSearch web.Searcher
}

// Policy decides which calls run, and which of them need approval.
type Policy struct {
	ApprovalMode policy.ApprovalMode // "": that of the settings, else default
	// AllowedTools lists tools that run without approval: `name`, or
	// `run_shell_command(prefix)`. nil: those of the settings, else none; empty:
	// none.
	AllowedTools []string
	// ConfirmationRequired lists tools, in the form of AllowedTools, that require
	// approval even if AllowedTools, a rule of the user or yolo allows them. nil:
	// those of the settings, else none; empty: none.
	ConfirmationRequired []string
	// The positions of the entries of those lists, as in [Tools].
	allowedFrom, confirmationFrom map[string]toolrules.Place

	// Restrictions of the session; those of the settings apply in addition.
	NoYolo        bool // refuses the approval mode yolo
	NoAlwaysAllow bool // approvals apply to one call; saved ones are ignored
	NoSaving      bool // approvals last for the session at most
	// NoReadOnlyTable requires approval of commands although the table of read-only
	// programs lists them; see package readonly of core/policy.
	NoReadOnlyTable bool

	// Paths lists files and directories of rules that replace the user's
	// policies.toml and policies directory; saved approvals are read in addition.
	// A missing one is an error of Initialize, because protecting rules would be
	// missing; problems in one are among [PolicyService.Problems]. nil: those of
	// the settings, else those of the user's settings directory; empty: none.
	Paths []string
	Rules []policy.Rule // the embedder's own, in addition to those of files

	Trust trust.State // whether the directory is trusted; zero: undecided, so that the project's own rules can only tighten
	// TrustOf decides on trust instead of Trust, unless it is nil; until
	// Initialize the directory is undecided then. Initialize calls it with the
	// absolute paths of the workspace's directories, the target first: once
	// before the settings are read and, if there are any, again when all
	// directories are known. Its error is that of Initialize. Unless
	// Settings.Above is set it is also called for a directory above the target
	// that holds a .env file; an error means untrusted then.
	TrustOf func(ctx context.Context, dirs []string) (trust.State, error)
	// TrustInherited states that the target is trusted because a directory above
	// it is: hooks of its project then run only once they are approved. Otherwise
	// the first hooks found are approved automatically.
	TrustInherited bool
}

// Calls contains functions that take part in each call of a tool.
type Calls struct {
	// Before and After run in each call, in this order: see [scheduler.Options].
	// Derived Configs share them.
	Before []scheduler.Before
	After  []scheduler.After
	// Executing are called right before a call runs, after all approvals, and
	// before its files are checkpointed: see [scheduler.Executing]. Derived
	// Configs share them.
	Executing []scheduler.Executing
	// Observe observes each call, including those of derived Configs.
	Observe []scheduler.Observe
	// Seam is called at the named moments of a call, on its goroutine, by tests and by
	// a program that checks a condition immediately before a file changes; nil: it is
	// not called. They are those of [filestate.Options.Hook], of
	// [mutation.Window], "commit:" with a [commit.Step], and "apply" before a patch is
	// applied. Only the last two return its error, and fail with it as by a failing
	// disk; they pass no path. Derived Configs share it.
	Seam func(at string, p workspace.Path) error

	reload     func()                      // called after each reload caused by WatchSettings, on a goroutine of its own; nil: none
	checkpoint func(checkpoint.Step) error // called at each step of keeping files; its error acts like a failing disk; nil: none
}

// forkMode returns the mode of new forks.
func (s *Session) forkMode() fork.Mode {
	if s.copyForks {
		return fork.Copy
	}
	return fork.Overlay
}

// The values of [Session].StaleEdits.
const (
	staleRefuse = "refuse"
	staleRebase = "rebase"
)

// complete validates the parameters, sets defaults that need no settings, and
// copies values that the caller may modify.
func (p *Parameters) complete() error {
	if p.TargetDir == "" {
		return fault.New(fault.InvalidConfig, "config.new", "TargetDir is empty.", "Name the directory to work in.")
	}
	switch {
	case reflect.ValueOf(p.Environment.Layout).IsZero():
		p.Environment.Layout = layout.Fettle()
	case p.Environment.Layout.Name == "":
		return fault.New(fault.InvalidConfig, "config.new", "The layout has no Name.",
			"Start from layout.Fettle() and change some fields, or leave Layout empty.")
	}
	if !slices.Contains([]string{"", staleRefuse, staleRebase}, p.Session.StaleEdits) {
		return fault.New(fault.InvalidConfig, "config.new", fmt.Sprintf("Session.StaleEdits is %q.", p.Session.StaleEdits),
			"Use refuse, rebase or the empty string.")
	}
	if err := p.Tools.checkDialect(); err != nil {
		return err
	}
	if p.Settings == nil && p.Session.Limits.ChangedRegionsAbove == 0 && p.Environment.Layout.FullContent {
		p.Session.Limits.ChangedRegionsAbove = -1
	}
	if p.Policy.TrustOf != nil {
		p.Policy.Trust = trust.Undecided // until TrustOf has been called
	}
	if p.Settings != nil {
		o := *p.Settings
		o.Environ, o.Flags = slices.Clone(o.Environ), maps.Clone(o.Flags)
		p.Settings = &o
	}
	if p.Environment.Logger == nil {
		p.Environment.Logger = slog.New(slog.DiscardHandler)
	}
	if p.Session.ID == "" {
		p.Session.ID = bus.NewID()
	}
	p.IncludeDirs, p.Tools.Own = slices.Clone(p.IncludeDirs), slices.Clone(p.Tools.Own)
	p.Policy.Rules, p.Calls.Before, p.Calls.After = slices.Clone(p.Policy.Rules), slices.Clone(p.Calls.Before), slices.Clone(p.Calls.After)
	p.Calls.Executing = slices.Clone(p.Calls.Executing)
	p.Tools.FileFiltering.CustomFiles = slices.Clone(p.Tools.FileFiltering.CustomFiles)
	p.Tools.Shell.Confinement.Writable = slices.Clone(p.Tools.Shell.Confinement.Writable)
	p.Tools.Shell.Withheld, p.Tools.WebFetch.Allow = slices.Clone(p.Tools.Shell.Withheld), slices.Clone(p.Tools.WebFetch.Allow)
	p.Skills.Off, p.Skills.Definitions, p.Skills.Dirs = slices.Clone(p.Skills.Off), slices.Clone(p.Skills.Definitions), slices.Clone(p.Skills.Dirs)
	p.Tools.coreFrom, p.Policy.allowedFrom, p.Tools.excludedFrom = maps.Clone(p.Tools.coreFrom), maps.Clone(p.Policy.allowedFrom), maps.Clone(p.Tools.excludedFrom)
	p.Tools.Core, p.Policy.AllowedTools, p.Tools.Exclude = slices.Clone(p.Tools.Core), slices.Clone(p.Policy.AllowedTools), slices.Clone(p.Tools.Exclude)
	p.Policy.ConfirmationRequired, p.Policy.confirmationFrom = slices.Clone(p.Policy.ConfirmationRequired), maps.Clone(p.Policy.confirmationFrom)
	if p.Settings == nil && p.variables == nil {
		p.variables = p.givenVariables()
	}
	return nil
}

// DeriveParameters configures a derived Config; zero fields are the parent's.
type DeriveParameters struct {
	// Subagent is the name of the subagent in rules; "" is the parent's.
	Subagent string
	// ApprovalMode, if empty, is the parent's mode at the time of Derive. Later
	// changes in the parent do not reach the derived Config, so a caller that
	// withdraws a permission has to set it in both.
	ApprovalMode          policy.ApprovalMode
	Model                 string   // "": that of the parent at the time of Derive
	CoreTools             []string // nil: the parent's; an entry with brackets counts only if it is one of these
	ExcludeTools          []string // added to the parent's; whole tools, brackets are ignored
	FileReadCacheDisabled *bool    // nil: follows the parent's, also later
	// OwnBus gives the derived Config a message bus of its own, so that questions
	// and output of its calls reach only subscribers of that bus. Shared services
	// of the parent, such as MCP servers, still ask on the parent's.
	OwnBus bool
	// NoSession is as in [Session]; it is also true if the parent's is.
	NoSession bool
	// Fork lets the derived Config work on a fork of its own, which is created with
	// its first service. Close drops the fork unless it has changes to merge: see
	// [Config.Fork]. With the setting fork.copy the fork is a copy, whose directories
	// are those of the derived Config.
	Fork bool
}

// Variables returns the value of an environment variable, "" if it is not set,
// and whether a .env file of the project sets it.
type Variables func(name string) (value string, ofProject bool)

// FileFiltering configures which files glob, search_file_content, list_directory
// and read_many_files find. The zero value applies .gitignore and the layout's
// own ignore file.
type FileFiltering struct {
	NoGitIgnore bool     // ignore .gitignore and .git/info/exclude
	NoOwnIgnore bool     // ignore the layout's ignore file
	CustomFiles []string // additional ignore files; see [discovery.Options]
	MaxFiles    int      // maximum number of files in one answer; zero or less: [discovery.DefaultMaxFiles]
}

func (f FileFiltering) options(own string) discovery.Options {
	if f.NoOwnIgnore {
		own = ""
	}
	return discovery.Options{IgnoreFile: own, CustomFiles: f.CustomFiles, NoGitIgnore: f.NoGitIgnore, MaxFiles: f.MaxFiles}
}

// Services are the services of a Config for the tools bound to it: FileState,
// Mutations, Tracker and Processes are its own, Workspace and Finder are shared
// by all Configs derived from one. They are valid until the Config is closed.
type Services struct {
	Workspace *workspace.Workspace
	FileState *filestate.Service
	Mutations *mutation.Service
	Tracker   *tracker.FileTracker
	Finder    *discovery.Current
	Processes *process.Service
}

// hooks returns the Seam in the forms that the services require; nil without one.
func (c *Calls) hooks() (read func(string, workspace.Path), mutate func(mutation.Window, workspace.Path), step func(commit.Step) error, apply func(string, *patch.Change) (string, error)) {
	seam := c.Seam
	if seam == nil {
		return nil, nil, nil, nil
	}
	read = func(at string, p workspace.Path) { _ = seam(at, p) }
	mutate = func(w mutation.Window, p workspace.Path) { _ = seam(string(w), p) }
	step = func(s commit.Step) error { return seam("commit:"+string(s), workspace.Path{}) }
	apply = func(base string, change *patch.Change) (string, error) {
		if err := seam("apply", workspace.Path{}); err != nil {
			return "", err
		}
		return patch.ApplyStrict(base, change)
	}
	return read, mutate, step, apply
}
