package config

import (
	"context"
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
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
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

// Parameters make a [Config]. TargetDir is required; the zero value of any
// other field is a sensible session.
type Parameters struct {
	// Settings are read at Initialize and give a value to the fields below that
	// are zero (CF-01); a field that is not zero goes before all layers, and one
	// of FileFiltering, Commands and WebFetch by itself. A program puts its flags
	// into Settings.Flags, so that [Config.SettingOrigins] tells of them. Layout,
	// HomeDir, ProjectDir, Trusted, Undecided, Confined and DefaultTools need not
	// be set: they are those of the Parameters. Mistakes in files are no error,
	// see [Config.SettingsProblems], but of what protects somebody and is not
	// there: a confinement, and files of policyPaths. nil: no settings file, .env
	// file or environment variable is read, Getenv aside. What is said below of a
	// zero value that the settings may give holds where they do not.
	Settings *settings.Options
	// WatchSettings reads the settings again once after Initialize, and when one
	// of their files changes, until Close; see [Config.ReloadSettings].
	WatchSettings bool

	SessionID   string   // "": a random one
	TargetDir   string   // directory that relative paths count from, and first of the workspace
	IncludeDirs []string // further directories of the workspace; nil: the settings', else none; empty: none

	Layout  layout.Layout // zero: layout.Fettle(); else it must have a Name
	HomeDir string        // where the user's settings directory lies; "": os.UserHomeDir
	// Getenv looks up the layout's environment variables where there are no
	// Settings, whose Environ has them; nil: there are none.
	Getenv func(name string) string

	ApprovalMode policy.ApprovalMode // "": the settings', else default
	Model        string              // "": the settings', else auto, the program's choice
	// CoreTools are the built-ins to register, exactly: `name`, or
	// `run_shell_command(prefix)`, which denies every command that does not begin
	// so. Any other entry with brackets selects nothing. nil: the settings', else the
	// default set; empty: none.
	CoreTools []string
	// AllowedTools may run without asking: `name`, or `run_shell_command(prefix)`
	// (CR-26). nil: the settings', else none; empty: none.
	AllowedTools []string
	// ExcludeTools are not registered, and denied; they win over CoreTools. nil:
	// the settings', else none; empty: none, whatever settings say later.
	ExcludeTools []string
	// CoreFrom, AllowedFrom and ExcludedFrom tell users where entries of those lists were
	// given, by entry. One that is not there is told to come from the flag of the
	// list's name. They go with their lists: where the settings give these, they
	// give the places too.
	CoreFrom, AllowedFrom, ExcludedFrom map[string]Place
	// ConfirmationRequired are tools, in the form of AllowedTools, that are asked
	// about even where AllowedTools, a rule of the user's or yolo allows them. nil:
	// the settings', else none; empty: none.
	ConfirmationRequired []string
	ConfirmationFrom     map[string]Place // where its entries were given
	Protections          Protections      // what cannot be done in the session

	// PolicyPaths are files and directories of rules that take the place of the
	// user's policies.toml and policies directory; saved approvals are read
	// besides. One that is not there is an error of Initialize, as rules that
	// protect would be missing; what is wrong in one is among
	// [Config.PolicyProblems]. nil: the settings', else those of the user's
	// settings directory; empty: none.
	PolicyPaths []string
	Rules       []policy.Rule // the embedder's own, beside those of the files
	Trust       trust.State   // whether the directory is trusted; zero: undecided, so that the project's own rules can only tighten
	// TrustOf, where it is not nil, decides instead of Trust, which then says
	// nothing: until Initialize the directory is undecided. Initialize calls it
	// with the directories of the workspace, the target first, as absolute paths: once
	// before the settings are read and, if there are any, again when all directories
	// are known. Its error is that of Initialize. Unless Settings.Above is set it
	// is asked as well of a directory above the target that holds a .env file; an
	// error counts as no trust then.
	TrustOf func(ctx context.Context, folders []string) (trust.State, error)
	// TrustInherited says that the target is trusted as a directory above it is: hooks
	// of its project then run once they are approved. Otherwise the first that are
	// there are approved as they are.
	TrustInherited bool

	// Tools are the embedder's own, registered beside the built-ins, whatever
	// CoreTools says, and shared with derived Configs.
	Tools []tools.DeclarativeTool
	// Bind makes those tools of the embedder's own that need a conversation's
	// services, as the built-ins do. It is called once for each Config, derived
	// ones included, when its services are made, so that no tool reaches another
	// conversation (RC-26); it must not call the Config. The tools must have the
	// zero Origin; like Tools they are registered whatever CoreTools says. Its
	// error is that of Initialize, or of the derived Config's accessors.
	Bind func(Services) ([]tools.DeclarativeTool, error)
	// ToolCommands declare and run further tools, Discover finds some, both at
	// Initialize. Zero ToolCommands: the settings', else none.
	ToolCommands ToolCommands
	Discover     []func(ctx context.Context) ([]tools.DeclarativeTool, error)
	// DeferSchemasAbove is how many bytes the declarations of MCP servers' and
	// discovered tools may have together before they are held back; see
	// [catalog.Catalog]. 0: the settings', else [catalog.DefaultAbove]; negative:
	// they never are.
	DeferSchemasAbove int

	FileFiltering FileFiltering // which files the tools find; what is zero in it is the settings'

	Commands Commands // how run_shell_command runs commands; what is zero in it is the settings'

	// WebFetch says how web_fetch reaches pages. What is zero in it is the
	// settings', else public addresses alone, without a proxy.
	WebFetch webfetch.Options
	// WebSearch searches for web_search and is closed by whoever made it. nil: the
	// service of the settings, or of a key in their variables, which the Config
	// closes, else there is no such tool (TO-12).
	WebSearch web.Searcher

	// FileReadCacheDisabled is the hatch (RC-29); nil: the settings decide, or
	// without them the environment variable FILE_READ_CACHE_DISABLED of the layout.
	FileReadCacheDisabled *bool
	// RequireSeen makes a matching hash alone no proof (KH-26).
	RequireSeen bool
	// NoSession says that nothing lasts from one call to the next: there are no
	// placeholders and no background processes, and a change of an existing file
	// needs its hash; without one it is refused for the reason no_session (EX-20).
	NoSession bool
	// Limits bound what reads and results of changes show. Zero fields are their
	// defaults; a ChangedRegionsAbove of 0 is the settings', else the layout's: 16 KiB,
	// or never where it has FullContent. A negative one means never. A
	// ResultBytes of 0 is the settings', else 256 KiB or what fits the client of an
	// [Config.MCPService]; a negative one is no limit.
	Limits filestate.Limits

	// Models find the model of a name. nil: Providers decide.
	Models model.Source
	// Providers make Models of the variables of the environment, those of .env
	// files among them, once Initialize has read the settings; core/standard knows
	// the providers. nil, without Models: there is no [Config.Client].
	Providers    func(Variables) model.Source
	Conversation Conversation
	Agents       Agents       // subagents
	Extensions   Extensions   // what the person has installed
	Skills       Skills       // instructions for kinds of work
	Instructions Instructions // which files steer the model
	MCP          MCP          // servers whose tools the session has
	Hooks        Hooks        // what runs at the session's events
	// Checkpoints keep what files hold before calls change them.
	Checkpoints Checkpointing
	// Secrets are values that do not appear in logs and recordings; those shorter
	// than 6 bytes are not looked for.
	Secrets []string
	// SecretsFound is told further ones before they are used: the sensitive settings
	// of extensions, also of those that come later. It is called from one goroutine
	// at a time. nil: nobody is.
	SecretsFound func(values ...string)

	// Before and After take part in each call, in this order: see
	// [scheduler.Options]. Derived Configs have them too.
	Before []scheduler.Before
	After  []scheduler.After
	// Observe is told of each call, of those of derived Configs too.
	Observe []scheduler.Observe

	// Bus carries questions, answers and events; a front end subscribes to it.
	// With nobody subscribed to questions an ask is a refusal. nil: the Config
	// makes one, and closes it at Close; see [Config.MessageBus].
	Bus      *bus.MessageBus
	OnDefect func(err error)  // a tool's mistakes, with stack; nil: logged
	Logger   *slog.Logger     // nil: nothing is logged
	Now      func() time.Time // nil: time.Now
	// DebugMode asks for logs in detail, of what is sent to a model too. The Config
	// hands it on as [Config.DebugMode] and does nothing else with it: which levels
	// are kept is for the Logger.
	DebugMode bool

	Seams Seams // for tests; zero: none

	// variables are those of the environment and of .env files; set by New
	// where there are no Settings, else by Initialize.
	variables       Variables
	checkpointTalks bool // the settings say that a conversation keeps what files hold
	// unread are whole files of the person's or the machine's that are there and
	// not in force, though they may hold something that protects.
	unread []fault.Problem
}

// complete refuses what no session can be made of, fills in what needs no settings, and
// takes copies of what the caller may change.
func (p *Parameters) complete() error {
	if p.TargetDir == "" {
		return fault.New(fault.InvalidConfig, "config.new", "TargetDir is empty.", "Name the directory to work in.")
	}
	switch {
	case reflect.ValueOf(p.Layout).IsZero():
		p.Layout = layout.Fettle()
	case p.Layout.Name == "":
		return fault.New(fault.InvalidConfig, "config.new", "The layout has no Name.",
			"Start from layout.Fettle() and change what differs, or leave Layout out.")
	}
	if p.Settings == nil && p.Limits.ChangedRegionsAbove == 0 && p.Layout.FullContent {
		p.Limits.ChangedRegionsAbove = -1
	}
	if p.TrustOf != nil {
		p.Trust = trust.Undecided // until it has been asked
	}
	if p.Settings != nil {
		o := *p.Settings
		o.Environ, o.Flags = slices.Clone(o.Environ), maps.Clone(o.Flags)
		p.Settings = &o
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	if p.SessionID == "" {
		p.SessionID = bus.NewID()
	}
	p.IncludeDirs, p.Tools = slices.Clone(p.IncludeDirs), slices.Clone(p.Tools)
	p.Rules, p.Before, p.After = slices.Clone(p.Rules), slices.Clone(p.Before), slices.Clone(p.After)
	p.FileFiltering.CustomFiles = slices.Clone(p.FileFiltering.CustomFiles)
	p.Commands.Confinement.Writable = slices.Clone(p.Commands.Confinement.Writable)
	p.Commands.Withheld, p.WebFetch.Allow = slices.Clone(p.Commands.Withheld), slices.Clone(p.WebFetch.Allow)
	p.Skills.Off, p.Skills.Given, p.Skills.Folders = slices.Clone(p.Skills.Off), slices.Clone(p.Skills.Given), slices.Clone(p.Skills.Folders)
	p.CoreFrom, p.AllowedFrom, p.ExcludedFrom = maps.Clone(p.CoreFrom), maps.Clone(p.AllowedFrom), maps.Clone(p.ExcludedFrom)
	p.CoreTools, p.AllowedTools, p.ExcludeTools = slices.Clone(p.CoreTools), slices.Clone(p.AllowedTools), slices.Clone(p.ExcludeTools)
	p.ConfirmationRequired, p.ConfirmationFrom = slices.Clone(p.ConfirmationRequired), maps.Clone(p.ConfirmationFrom)
	if p.Settings == nil && p.variables == nil {
		p.variables = p.givenVariables()
	}
	return nil
}

// DeriveParameters are what a derived Config has of its own; zero fields are
// the parent's.
type DeriveParameters struct {
	// Subagent is the name that rules know the subagent by; "" is the parent's.
	Subagent string
	// ApprovalMode, where empty, is the mode that the parent has when Derive is
	// called: a snapshot. What is later set in the parent does not reach the
	// derived Config, so whoever takes a permission back has to set it in both.
	ApprovalMode          policy.ApprovalMode
	Model                 string   // "": that of the parent when Derive is called
	CoreTools             []string // nil: the parent's; an entry with brackets counts only if it is one of these
	ExcludeTools          []string // added to the parent's; whole tools, whatever stands in brackets
	FileReadCacheDisabled *bool    // nil: follows the parent's, now and later (RC-30)
	// OwnBus gives the derived Config a message bus of its own, so that what its
	// calls ask and print reaches nobody but who subscribes there. What the parent
	// shares with it, as MCP servers, still asks on the parent's.
	OwnBus bool
	// NoSession is that of Parameters; true also where the parent's is.
	NoSession bool
}

// Protections keep the person who runs a session from going too far. The zero
// value forbids nothing; what the settings forbid is forbidden besides.
type Protections struct {
	NoYolo        bool // the approval mode yolo is refused
	NoAlwaysAllow bool // approvals hold for one call; those saved before do not count
	NoSaving      bool // approvals hold for the session at the longest
}

// Variables returns the value of an environment variable, "" for one that is not
// set, and whether a .env file of the project gives it.
type Variables func(name string) (value string, ofProject bool)

// Place is where somebody gave an entry of a list.
type Place struct {
	Source string // as the path of a file
	Line   int    // 1-based; 0: the source as a whole
	Rule   string // names the rule that the entry is; "": a name made of the entry
}

// String returns SOURCE:LINE, or SOURCE where there is no line.
func (p Place) String() string { return toolrules.Place(p).String() }

// FileFiltering says which files glob, search_file_content, list_directory and
// read_many_files find (CF-04). The zero value goes by .gitignore and by the
// layout's own ignore file.
type FileFiltering struct {
	NoGitIgnore bool     // .gitignore and .git/info/exclude do not count
	NoOwnIgnore bool     // the layout's ignore file does not count
	CustomFiles []string // more ignore files; see [discovery.Options]
	MaxFiles    int      // how many files one answer holds; zero or less: [discovery.DefaultMaxFiles]
}

func (f FileFiltering) options(own string) discovery.Options {
	if f.NoOwnIgnore {
		own = ""
	}
	return discovery.Options{IgnoreFile: own, CustomFiles: f.CustomFiles, NoGitIgnore: f.NoGitIgnore, MaxFiles: f.MaxFiles}
}

// Services are what a Config lends to tools that are bound to it: FileState,
// Mutations, Tracker and Processes are its own, Workspace and Finder those of all Configs
// derived from one. They are usable until the Config is closed.
type Services struct {
	Workspace *workspace.Workspace
	FileState *filestate.Service
	Mutations *mutation.Service
	Tracker   *tracker.FileTracker
	Finder    *Finder
	Processes *process.Service
}

// Seams are where a test takes part in a session. Each is called on the
// goroutine of the tool call, if it does not say otherwise, and a nil one is not
// called. Derived Configs have
// their parent's.
type Seams struct {
	// Read is called at the named moments of a read (TE-08).
	Read func(filestate.Window, workspace.Path)
	// Mutation is called at the named moments of a change (TE-08).
	Mutation func(mutation.Window, workspace.Path)
	// Commit is called at each step of a commit; its error ends the commit
	// there, as a failing disk would.
	Commit func(commit.Step) error
	// Reload is called after each reload that WatchSettings brings, the first of
	// which is that of the beginning, on a goroutine of its own.
	Reload func()
	// Checkpoint is called at each step of keeping what files hold; its error is
	// that of a failing disk.
	Checkpoint func(checkpoint.Step) error
	// Apply takes the place of patch.ApplyStrict (FS-39).
	Apply patch.Applier
}
