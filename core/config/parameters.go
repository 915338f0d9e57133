package config

import (
	"context"
	"log/slog"
	"time"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Parameters make a [Config]. TargetDir is required; the zero value of any
// other field is a sensible session.
type Parameters struct {
	SessionID   string   // "": a random one
	TargetDir   string   // folder that relative paths count from, and first of the workspace
	IncludeDirs []string // further folders of the workspace

	Layout  layout.Layout // zero: layout.Fettle()
	HomeDir string        // where the user's settings folder lies; "": os.UserHomeDir
	// Getenv looks up the layout's environment variables; nil: there are none.
	Getenv func(name string) string

	ApprovalMode policy.ApprovalMode // "": default
	CoreTools    []string            // built-ins to register, exactly; nil: the default set (AR-09)
	AllowedTools []string            // tools that may run without asking (CR-26)
	ExcludeTools []string            // tools not to register; wins over CoreTools

	// Tools are the embedder's own, registered beside the built-ins, whatever
	// CoreTools says, and shared with derived Configs.
	Tools []tools.DeclarativeTool
	// Discover finds further tools at Initialize.
	Discover []func(ctx context.Context) ([]tools.DeclarativeTool, error)

	// FileReadCacheDisabled is the hatch (RC-29); nil: the environment
	// variable FILE_READ_CACHE_DISABLED of the layout decides.
	FileReadCacheDisabled *bool
	// RequireSeen makes a matching hash alone no proof (KH-26).
	RequireSeen bool
	Limits      filestate.Limits // zero fields: their defaults

	Ask       scheduler.Asker            // answers confirmations; nil: nobody, and an ask is a refusal
	Output    func(callID, chunk string) // live output; nil: dropped
	OnDefect  func(err error)            // a tool's mistakes, with stack; nil: logged
	Logger    *slog.Logger               // nil: nothing is logged
	Now       func() time.Time           // nil: time.Now
	DebugMode bool

	// Seams for tests: a replaced applier (FS-39), and hooks that are called at
	// the named moments of a read, a mutation and a commit, on the goroutine of
	// the call (TE-08). nil: none.
	Apply        patch.Applier
	ReadHook     func(filestate.Window, workspace.Path)
	MutationHook func(mutation.Window, workspace.Path)
	CommitHook   func(commit.Step) error
}
