package config

import (
	"context"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config/internal/checkpoints"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// checkpointing is what the settings state about checkpoints.
type checkpointing struct {
	talking bool // the settings enable checkpoints of a conversation
	// Limits on the kept content, in bytes: of a file, of all files of a
	// checkpoint, of a project's store. Zero: those of [checkpoint.Options] and
	// [checkpoint.Retention].
	maxFile, maxTotal, maxStore int64
}

// checkpointsFolder is the name of the checkpoints directory below the user's
// directory for the project.
const checkpointsFolder = "checkpoints"

// Checkpoints gives access to the checkpoints of a project's files, and to the
// sessions that have changed them. It is valid until the Config that returned it
// is closed, and safe for concurrent use.
type Checkpoints struct{ keeper *checkpoints.Keeper }

// keep returns the keeper, or nil without a directory for checkpoints.
func (k *Checkpoints) keep() *checkpoints.Keeper {
	if k == nil {
		return nil
	}
	return k.keeper
}

// openCheckpoints returns the checkpoints, or nil without a directory for them.
// It creates no file.
func (c *Config) openCheckpoints(sh *shared) *Checkpoints {
	p := c.params()
	var skip []string
	if user, err := c.userDir(); err == nil {
		skip = append(skip, filepath.Join(user, "tmp"))
	}
	if sh.tmp == "" {
		return nil
	}
	o := checkpoints.Options{
		Store: checkpoint.Options{
			Dir: filepath.Join(sh.tmp, checkpointsFolder), MaxFile: p.checkpointing.maxFile, MaxTotal: p.checkpointing.maxTotal,
			Skip: skip, Now: p.Environment.Now, Logger: p.Environment.Logger, Hook: p.Calls.checkpoint,
		},
		MaxStore: p.checkpointing.maxStore, Workspace: sh.workspace, Committer: sh.committer, Finder: sh.finder.Get,
		Running: sh.processes.running, Session: c.SessionID, Talking: p.checkpointing.talking,
	}
	if enabled := p.Session.Checkpoints; enabled != nil {
		o.Always, o.Talking = *enabled, false
	}
	return &Checkpoints{checkpoints.New(o)}
}

// Checkpoints returns the checkpoints of the project's files. Derived Configs
// share their parent's. The error has code not_initialized, or invalid_config if
// there is no home directory to keep checkpoints in.
func (c *Config) Checkpoints() (*Checkpoints, error) {
	sh, err := c.services("Checkpoints")
	if err != nil {
		return nil, err
	}
	if sh.checkpoints == nil {
		return nil, fault.New(fault.InvalidConfig, "config.checkpoints", "There is no home directory, so no previous content of files is kept.",
			"Set Parameters.Environment.HomeDir, or the variable HOME.")
	}
	return sh.checkpoints, nil
}

// Keeps reports whether changes by calls are being kept.
func (k *Checkpoints) Keeps() bool { return k.keeper.Keeps() }

// Sessions returns the sessions that have changed files, the latest first.
func (k *Checkpoints) Sessions(ctx context.Context) ([]checkpoint.SessionInfo, error) {
	return k.keeper.Store().Sessions(ctx)
}

// History returns the changes made by a session; see [checkpoint.Store.History].
func (k *Checkpoints) History(ctx context.Context, session string) (*checkpoint.History, error) {
	return k.keeper.Store().History(ctx, session)
}

// Plan says what taking turns or calls back would do; see [checkpoint.Store.Plan].
func (k *Checkpoints) Plan(ctx context.Context, w checkpoint.Selection) (*checkpoint.Plan, error) {
	return k.keeper.Plan(ctx, w)
}

// Restore executes a plan; see [checkpoint.Recorder.Restore]. The conversation's
// knowledge of the files is kept, so that a change which the model bases on it is
// refused and the error contains the current file. The caller must send the
// report's Note to the model.
func (k *Checkpoints) Restore(ctx context.Context, p *checkpoint.Plan) (*checkpoint.Report, error) {
	return k.keeper.Restore(ctx, p)
}

// Settle ends the calls that a killed process has left open in a session, so that
// they can be undone: changes made since are attributed to them. It does nothing
// if the session is in use.
func (k *Checkpoints) Settle(ctx context.Context, session string) { k.keeper.Settle(ctx, session) }

// BeginTurn states that following calls belong to this input of the user: those
// made before the model receives it, such as shell lines of a command, and the
// next prompt of the conversation. Prompts without a call of BeginTurn begin
// turns themselves.
func (k *Checkpoints) BeginTurn(input string) { k.keeper.BeginTurn(input) }

// Delete removes the checkpoints of a session, including the beginnings of its
// prompts. Content that no other session uses is removed by the next clean-up.
// Changes made so far by this Config's own session cannot be undone afterwards.
// The error has code checkpoint_failed, for example if another process uses the
// session, or cancelled.
func (k *Checkpoints) Delete(ctx context.Context, session string) error {
	return k.keeper.Delete(ctx, session)
}

// fillCheckpoints applies the settings.
func (p *Parameters) fillCheckpoints(s settings.Checkpointing) {
	const megabyte = 1 << 20
	p.checkpointing = checkpointing{
		talking: s.Enabled, maxFile: int64(s.MaxFileMegabytes) * megabyte, maxTotal: int64(s.MaxTotalMegabytes) * megabyte,
		maxStore: int64(s.MaxStoreMegabytes) * megabyte,
	}
}
