package config

import (
	"path/filepath"

	"github.com/fettle-dev/fettle/core/agent/keeper"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// checkpointing contains the settings of checkpoints.
type checkpointing struct {
	talking bool // the settings enable checkpoints of a conversation
	// Limits on the kept content, in bytes: of a file, of all files of a
	// checkpoint, of a project's store. Zero: those of [checkpoint.Options] and
	// [checkpoint.Retention].
	maxFile, maxTotal, maxStore int64
}

// checkpointsDir is the name of the checkpoints directory below the user's
// directory for the project.
const checkpointsDir = "checkpoints"

// openCheckpoints returns the checkpoints, or nil without a directory for them.
// It creates no file.
func (c *Config) openCheckpoints(sh *shared) *keeper.Keeper {
	p := c.params()
	var skip []string
	if user, err := c.userDir(); err == nil {
		skip = append(skip, filepath.Join(user, "tmp"))
	}
	if sh.data == "" {
		return nil
	}
	o := keeper.Options{
		Store: checkpoint.Options{
			Dir: filepath.Join(sh.data, checkpointsDir), MaxFile: p.checkpointing.maxFile, MaxTotal: p.checkpointing.maxTotal,
			Skip: skip, Now: p.Environment.Now, Logger: p.Environment.Logger, Hook: p.Calls.checkpoint,
		},
		MaxStore: p.checkpointing.maxStore, Workspace: sh.workspace, Committer: sh.committer, Finder: sh.finder.Get,
		Running: sh.processes.running, Session: c.SessionID, Talking: p.checkpointing.talking,
	}
	if enabled := p.Session.Checkpoints; enabled != nil {
		o.Always, o.Talking = *enabled, false
	}
	return keeper.New(o)
}

// Checkpoints returns the keeper of previous contents of the project's files, valid
// until the Config is closed. Derived Configs share their parent's. The error has code not_initialized, or invalid_config if
// there is no home directory to keep checkpoints in.
func (c *Config) Checkpoints() (*keeper.Keeper, error) {
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

// fillCheckpoints applies the settings.
func (p *Parameters) fillCheckpoints(s settings.Checkpointing) {
	const megabyte = 1 << 20
	p.checkpointing = checkpointing{
		talking: s.Enabled, maxFile: int64(s.MaxFileMegabytes) * megabyte, maxTotal: int64(s.MaxTotalMegabytes) * megabyte,
		maxStore: int64(s.MaxStoreMegabytes) * megabyte,
	}
}
