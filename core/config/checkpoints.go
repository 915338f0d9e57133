package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/transcript"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Checkpointing says whether and how what files hold is kept before calls change
// them (CM-15). The zero value goes by the settings; without settings nothing is
// kept.
type Checkpointing struct {
	// Enabled keeps it for every call that may change files; false for none. nil:
	// for those of a conversation with a model, if the settings say so.
	Enabled *bool
	// Dir is where it is kept, absolute and outside the project. "": the user's
	// folder for the project.
	Dir string
	// Limits of what is kept: bytes of a file, of all files, of all contents of a
	// project, and how many files are looked at. Zero: those of [checkpoint.Options]
	// and [checkpoint.Retention].
	MaxFile, MaxTotal, MaxStore int64
	MaxFiles                    int
}

// checkpointsFolder is where contents are kept, below the user's folder for the
// project.
const checkpointsFolder = "checkpoints"

// Checkpoints are what was kept of a project's files, and the sessions that have
// changed them. They are usable until the Config that gave them is closed, and
// safe for concurrent use.
type Checkpoints struct {
	store *checkpoint.Store
	keeps keepsCheckpoints
	sh    *shared
	root  *Config // whose session's calls are kept
	limit int64   // bytes of the whole store

	mu       sync.Mutex
	recorder *checkpoint.Recorder // of session; nil: none yet
	session  string
	prompt   string // of the turn that has begun
	begun    bool
	given    bool // by BeginTurn, for an input that has not come to the model yet
	closed   bool
}

// keepsCheckpoints says whether calls are kept.
type keepsCheckpoints struct {
	always   bool
	talking  bool        // those of a conversation are
	converse atomic.Bool // there is one
}

func (k *keepsCheckpoints) now() bool { return k.always || k.talking && k.converse.Load() }

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
	o := checkpoint.Options{
		Dir: dir, MaxFile: p.Checkpoints.MaxFile, MaxTotal: p.Checkpoints.MaxTotal, MaxFiles: p.Checkpoints.MaxFiles,
		Skip: skip, Now: p.Now, Logger: p.Logger, Hook: p.Seams.Checkpoint,
	}
	k := &Checkpoints{store: checkpoint.New(o), sh: sh, root: c, limit: p.Checkpoints.MaxStore}
	if p.Checkpoints.Enabled != nil {
		k.keeps.always = *p.Checkpoints.Enabled
	} else {
		k.keeps.talking = p.checkpointTalks
	}
	return k
}

// Checkpoints returns what was kept of the project's files. Derived Configs have
// their parent's. The error is of code not_initialized, or invalid_config where
// there is no home folder to keep anything in.
func (c *Config) Checkpoints() (*Checkpoints, error) {
	sh, err := c.services("Checkpoints")
	if err != nil {
		return nil, err
	}
	if sh.checkpoints == nil {
		return nil, fault.New(fault.InvalidConfig, "config.checkpoints", "There is no home folder, so nothing is kept of what files held.",
			"Set Parameters.HomeDir, or the variable HOME.")
	}
	return sh.checkpoints, nil
}

// Keeps reports whether what calls change is kept now.
func (k *Checkpoints) Keeps() bool { return k.keeps.now() }

// Sessions lists the sessions that have changed files, the last one first.
func (k *Checkpoints) Sessions(ctx context.Context) ([]checkpoint.SessionInfo, error) {
	return k.store.Sessions(ctx)
}

// History returns what a session has changed; see [checkpoint.Store.History].
func (k *Checkpoints) History(ctx context.Context, session string) (*checkpoint.History, error) {
	return k.store.History(ctx, session)
}

// Plan says what taking turns or calls back would do; see [checkpoint.Store.Plan].
func (k *Checkpoints) Plan(ctx context.Context, w checkpoint.What) (*checkpoint.Plan, error) {
	return k.store.Plan(ctx, k.sh.workspace, w)
}

// Restore executes a plan; see [checkpoint.Recorder.Restore]. What the
// conversation knows of the files stays known, so that a change that the model
// bases on it is refused with the file as it is now; tell it the report's Note.
func (k *Checkpoints) Restore(ctx context.Context, p *checkpoint.Plan) (*checkpoint.Report, error) {
	k.mu.Lock()
	own := k.session == p.Session && k.recorder != nil
	r := k.recorder
	if !own {
		r = k.newRecorder(p.Session)
	}
	k.mu.Unlock()
	report, err := r.Restore(ctx, k.sh.committer, p)
	if !own {
		err = errors.Join(err, r.Close())
	}
	return report, err
}

// Settle ends the calls of a session that a killed process has left open, so that
// they can be taken back: what has changed since is counted to them. It does
// nothing where the session is in use.
func (k *Checkpoints) Settle(ctx context.Context, session string) {
	h, err := k.store.History(ctx, session)
	if err != nil {
		return
	}
	k.mu.Lock()
	own := k.session == h.Session && k.recorder != nil
	r := k.newRecorder(h.Session)
	k.mu.Unlock()
	if !own {
		_ = r.Settle(ctx) // the plan tells that calls have not ended
		_ = r.Close()     // what it wrote is on the disk
	}
}

// Delete removes a session, see [transcript.Store.Delete], with its checkpoints.
func (t *Transcripts) Delete(ctx context.Context, id string) error {
	if err := t.Store.Delete(ctx, id); err != nil || t.checkpoints == nil {
		return err
	}
	return t.checkpoints.Delete(ctx, id)
}

// Cleanup removes old sessions, see [transcript.Store.Cleanup], and then the
// checkpoints of those that are neither recorded any more nor younger than a day,
// and what goes beyond the limit of all. It returns the recordings that are gone.
func (t *Transcripts) Cleanup(ctx context.Context, r transcript.Retention) ([]string, error) {
	removed, err := t.Store.Cleanup(ctx, r)
	if err != nil || t.checkpoints == nil {
		return removed, err
	}
	list, _, err := t.List(ctx)
	if err != nil {
		return removed, err
	}
	recorded := map[string]bool{}
	for _, sum := range list {
		recorded[sum.ID] = true
	}
	k := t.checkpoints
	now := k.root.params().Now
	if now == nil {
		now = time.Now
	}
	return removed, k.store.Cleanup(ctx, checkpoint.Retention{MaxBytes: k.limit, Keep: func(session string, updated time.Time) bool {
		return recorded[session] || now().Sub(updated) < 24*time.Hour
	}})
}

// newRecorder returns a recorder for a session.
func (k *Checkpoints) newRecorder(session string) *checkpoint.Recorder {
	return k.store.Record(checkpoint.RecorderOptions{
		Session: session, Files: k.sh.workspace, Background: k.sh.processes.running,
		Finder: func() *discovery.Finder { return k.sh.finder.now.Load() },
	})
}

// current returns the recorder of the session that is had now. nil: there is none
// any more.
func (k *Checkpoints) current() *checkpoint.Recorder {
	session := k.root.SessionID()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	if k.recorder == nil || k.session != session {
		if k.recorder != nil {
			_ = k.recorder.Close() // what it wrote before a call is on the disk
		}
		k.recorder, k.session = k.newRecorder(session), session
		k.begun = k.begun || k.prompt != ""
	}
	if k.begun {
		k.recorder.BeginTurn(k.prompt)
		k.begun = false
	}
	return k.recorder
}

// BeginTurn says that what follows comes of this input of the person's: what runs
// before anything of it is said to the model, as shell lines of a command, and the
// next prompt of the conversation. Prompts without it begin turns themselves.
func (k *Checkpoints) BeginTurn(input string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.prompt, k.begun, k.given = input, true, true
}

// beginPrompt begins a turn with a prompt, unless the input that it comes of has.
func (k *Checkpoints) beginPrompt(prompt string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.given {
		k.prompt, k.begun = prompt, true
	}
	k.given = false
}

// Delete removes what was kept of a session, with the beginnings of its prompts;
// contents that no other one needs go with the next clean-up. What this Config's
// own session has changed so far cannot be taken back then. The error is of code
// checkpoint_failed, as where another process uses the session, or cancelled.
func (k *Checkpoints) Delete(ctx context.Context, session string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.session == session && k.recorder != nil {
		_ = k.recorder.Close() // it goes
		k.recorder, k.session, k.prompt, k.begun = nil, "", "", false
	}
	return k.store.Delete(ctx, session)
}

func (k *Checkpoints) close() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.recorder == nil {
		return nil
	}
	return k.recorder.Close()
}

// turnStep begins a turn with each prompt of no other input.
func (k *Checkpoints) turnStep(_ context.Context, prompt []model.Part) (agent.PromptAdvice, error) {
	text := ""
	for _, part := range prompt {
		if text = part.Text; text != "" {
			break
		}
	}
	k.beginPrompt(text)
	return agent.PromptAdvice{}, nil
}

// checkpointSteps adds to the steps of a person's own conversation that its
// prompts begin turns.
func (c *Config) checkpointSteps(sh *shared, steps agent.Steps) agent.Steps {
	if sh.checkpoints == nil || c.parent != nil {
		return steps
	}
	sh.checkpoints.keeps.converse.Store(true)
	steps.BeforePrompt = slices.Concat([]agent.BeforePrompt{sh.checkpoints.turnStep}, steps.BeforePrompt)
	return steps
}

// keepBefore keeps what a call may change, and records what it has changed. Where
// that fails the call runs all the same, as nobody asked for it to depend on a
// disk: the model and the person are told that it cannot be undone.
func (c *Config) keepBefore(sh *shared) scheduler.Executing {
	return func(ctx context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context) []string, error) {
		k := sh.checkpoints
		if k == nil || !p.Spec.Mutates() || !k.keeps.now() {
			return nil, nil
		}
		paths, any := changedBy(sh.workspace, p.Spec, inv)
		if !any && len(paths) == 0 {
			return nil, nil
		}
		r := k.current()
		if r == nil {
			return nil, nil
		}
		progress := func(files int) {
			text := fmt.Sprintf("[Keeping %d files first, so that this can be undone.]\n", files)
			_ = c.bus.Publish(bus.ToolOutput{CallID: p.CallID, Chunk: text}) // a closed bus has nobody to tell
		}
		taken, err := r.Begin(ctx, checkpoint.Call{
			ID: p.CallID, Tool: p.Spec.Name, About: inv.Description(), Agent: c.subagent, Paths: paths, Progress: progress,
		})
		switch {
		case err == nil:
			return taken.End, nil
		case ctx.Err() != nil:
			return nil, cancelled("checkpoint", ctx.Err())
		}
		notice := "This change cannot be undone with fettle restore: " + message(err)
		return func(context.Context) []string { return []string{notice} }, nil
	}
}

// changedBy returns the files of the workspace that a call may change; any, where
// it may change others than those that it names.
func changedBy(ws *workspace.Workspace, spec tools.Spec, inv tools.ToolInvocation) (paths []string, any bool) {
	at := inv.Locations()
	if len(at) == 0 || spec.Origin.Group != tools.GroupBuiltIn || spec.Kind == tools.KindExecute ||
		slices.ContainsFunc(spec.Effects, func(e tools.Effect) bool { return e == tools.EffectRunProcess || e == tools.EffectNetwork }) {
		return nil, true
	}
	for _, l := range at {
		if info, err := os.Stat(l.Path); err == nil && info.IsDir() {
			return nil, true
		}
		if _, err := ws.Resolve(l.Path); err == nil { // what lies elsewhere, as remembered facts, is no part of the project
			paths = append(paths, l.Path)
		}
	}
	return paths, false
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
