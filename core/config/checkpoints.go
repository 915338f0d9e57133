package config

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config/internal/checkpoints"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// Checkpointing says whether and how what files hold is kept before calls change
// them (CM-15). The zero value goes by the settings; without settings nothing is
// kept.
type Checkpointing struct {
	// Enabled keeps it for every call that may change files; false for none. nil:
	// for those of a conversation with a model, if the settings say so.
	Enabled *bool
	// Dir is where it is kept, absolute and outside the project. "": the user's
	// directory for the project.
	Dir string
	// Limits of what is kept: bytes of a file, of all files, of all contents of a
	// project, and how many files are looked at. Zero: those of [checkpoint.Options]
	// and [checkpoint.Retention].
	MaxFile, MaxTotal, MaxStore int64
	MaxFiles                    int
}

// checkpointsFolder is where contents are kept, below the user's directory for the
// project.
const checkpointsFolder = "checkpoints"

// Checkpoints are what was kept of a project's files, and the sessions that have
// changed them. They are usable until the Config that gave them is closed, and
// safe for concurrent use.
type Checkpoints struct{ keeper *checkpoints.Keeper }

// keep returns what keeps, nil where there is no place for it.
func (k *Checkpoints) keep() *checkpoints.Keeper {
	if k == nil {
		return nil
	}
	return k.keeper
}

// openCheckpoints makes what keeps checkpoints; nil where there is no place for
// them. It makes no file.
func (c *Config) openCheckpoints(sh *shared) *Checkpoints {
	p := c.params()
	dir := p.Checkpoints.Dir
	var skip []string
	if user, err := c.userDir(); err == nil {
		skip = append(skip, filepath.Join(user, "tmp"))
	}
	if dir == "" {
		if sh.tmp == "" {
			return nil
		}
		dir = filepath.Join(sh.tmp, checkpointsFolder)
	}
	o := checkpoints.Options{
		Store: checkpoint.Options{
			Dir: dir, MaxFile: p.Checkpoints.MaxFile, MaxTotal: p.Checkpoints.MaxTotal, MaxFiles: p.Checkpoints.MaxFiles,
			Skip: skip, Now: p.Now, Logger: p.Logger, Hook: p.Seams.Checkpoint,
		},
		MaxStore: p.Checkpoints.MaxStore, Workspace: sh.workspace, Committer: sh.committer, Finder: sh.finder.now.Load,
		Running: sh.processes.running, Session: c.SessionID, Talking: p.checkpointTalks,
	}
	if enabled := p.Checkpoints.Enabled; enabled != nil {
		o.Always, o.Talking = *enabled, false
	}
	return &Checkpoints{checkpoints.New(o)}
}

// Checkpoints returns what was kept of the project's files. Derived Configs have
// their parent's. The error is of code not_initialized, or invalid_config where
// there is no home directory to keep anything in.
func (c *Config) Checkpoints() (*Checkpoints, error) {
	sh, err := c.services("Checkpoints")
	if err != nil {
		return nil, err
	}
	if sh.checkpoints == nil {
		return nil, fault.New(fault.InvalidConfig, "config.checkpoints", "There is no home directory, so nothing is kept of what files held.",
			"Set Parameters.HomeDir, or the variable HOME.")
	}
	return sh.checkpoints, nil
}

// Keeps reports whether what calls change is kept now.
func (k *Checkpoints) Keeps() bool { return k.keeper.Keeps() }

// Sessions lists the sessions that have changed files, the last one first.
func (k *Checkpoints) Sessions(ctx context.Context) ([]checkpoint.SessionInfo, error) {
	return k.keeper.Store().Sessions(ctx)
}

// History returns what a session has changed; see [checkpoint.Store.History].
func (k *Checkpoints) History(ctx context.Context, session string) (*checkpoint.History, error) {
	return k.keeper.Store().History(ctx, session)
}

// Plan says what taking turns or calls back would do; see [checkpoint.Store.Plan].
func (k *Checkpoints) Plan(ctx context.Context, w checkpoint.What) (*checkpoint.Plan, error) {
	return k.keeper.Plan(ctx, w)
}

// Restore executes a plan; see [checkpoint.Recorder.Restore]. What the
// conversation knows of the files stays known, so that a change that the model
// bases on it is refused with the file as it is now; tell it the report's Note.
func (k *Checkpoints) Restore(ctx context.Context, p *checkpoint.Plan) (*checkpoint.Report, error) {
	return k.keeper.Restore(ctx, p)
}

// Settle ends the calls of a session that a killed process has left open, so that
// they can be taken back: what has changed since is counted to them. It does
// nothing where the session is in use.
func (k *Checkpoints) Settle(ctx context.Context, session string) { k.keeper.Settle(ctx, session) }

// BeginTurn says that what follows comes of this input of the person's: what runs
// before anything of it is said to the model, as shell lines of a command, and the
// next prompt of the conversation. Prompts without it begin turns themselves.
func (k *Checkpoints) BeginTurn(input string) { k.keeper.BeginTurn(input) }

// Delete removes what was kept of a session, with the beginnings of its prompts;
// contents that no other one needs go with the next clean-up. What this Config's
// own session has changed so far cannot be taken back then. The error is of code
// checkpoint_failed, as where another process uses the session, or cancelled.
func (k *Checkpoints) Delete(ctx context.Context, session string) error {
	return k.keeper.Delete(ctx, session)
}

// fillCheckpoints takes over what the settings say.
func (p *Parameters) fillCheckpoints(s settings.Checkpointing) {
	p.checkpointTalks = s.Enabled
	o := &p.Checkpoints
	const megabyte = 1 << 20
	o.MaxFile = cmp.Or(o.MaxFile, int64(s.MaxFileMegabytes)*megabyte)
	o.MaxTotal = cmp.Or(o.MaxTotal, int64(s.MaxTotalMegabytes)*megabyte)
	o.MaxStore = cmp.Or(o.MaxStore, int64(s.MaxStoreMegabytes)*megabyte)
}
