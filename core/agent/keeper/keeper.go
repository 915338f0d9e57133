// Package keeper keeps the content of files before the calls of a session change
// them, and undoes changes.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Options describe the session of a Keeper. Store.Dir, Workspace, Committer, Finder and
// Session are required. By default no call is kept; see [Keeper.Keeps].
type Options struct {
	Store     checkpoint.Options
	MaxStore  int64 // bytes of the whole store, a limit of [Keeper.Cleanup]. 0: [checkpoint.DefaultMaxStore]; negative: no limit
	Always    bool  // keep every call that may change files
	Talking   bool  // keep those of a conversation with a model
	Workspace *workspace.Workspace
	Committer *commit.Committer
	Finder    func() *discovery.Finder // returns the current finder
	Running   func() bool              // a process started by a command may still be running. nil: none is
	Session   func() string            // returns the ID of the current session
}

// Keeper keeps the changes made by a session's calls, and reads those of other
// sessions. It is valid until it is closed, and safe for concurrent use. A nil
// Keeper keeps nothing; only Before, Steps and Close may be called on it.
type Keeper struct {
	o        Options
	store    *checkpoint.Store
	converse atomic.Bool // there is a conversation

	mu       sync.Mutex
	recorder *checkpoint.Recorder // of session; nil: none yet
	session  string
	prompt   string // of the current turn
	begun    bool
	given    bool // by BeginTurn, for an input that has not reached the model yet
	closed   bool
}

// New returns a Keeper. It creates no file.
func New(o Options) *Keeper { return &Keeper{o: o, store: checkpoint.New(o.Store)} }

// Sessions returns the sessions that have changed files, the latest first.
func (k *Keeper) Sessions(ctx context.Context) ([]checkpoint.SessionInfo, error) {
	return k.store.Sessions(ctx)
}

// History returns the changes made by a session; see [checkpoint.Store.History].
func (k *Keeper) History(ctx context.Context, session string) (*checkpoint.History, error) {
	return k.store.History(ctx, session)
}

// Keeps reports whether changes by calls are being kept.
func (k *Keeper) Keeps() bool { return k.o.Always || k.o.Talking && k.converse.Load() }

// Plan returns what undoing turns or calls would do; see [checkpoint.Store.Plan].
func (k *Keeper) Plan(ctx context.Context, w checkpoint.Selection) (*checkpoint.Plan, error) {
	return k.store.Plan(ctx, k.o.Workspace, w)
}

// Restore executes a plan; see [checkpoint.Recorder.Restore]. The conversation's
// knowledge of the files is kept, so that a change which the model bases on it is
// refused and the error contains the current file. The caller must send the
// report's Note to the model.
func (k *Keeper) Restore(ctx context.Context, p *checkpoint.Plan) (*checkpoint.Report, error) {
	k.mu.Lock()
	own := k.session == p.Session && k.recorder != nil
	r := k.recorder
	if !own {
		r = k.newRecorder(p.Session)
	}
	k.mu.Unlock()
	report, err := r.Restore(ctx, k.o.Committer, p)
	if !own {
		err = errors.Join(err, r.Close())
	}
	return report, err
}

// Settle ends the calls that a killed process has left open in a session, so that
// they can be undone: changes made since are attributed to them. It does nothing
// if the session is in use.
func (k *Keeper) Settle(ctx context.Context, session string) {
	h, err := k.store.History(ctx, session)
	if err != nil {
		return
	}
	k.mu.Lock()
	own := k.session == h.Session && k.recorder != nil
	r := k.newRecorder(h.Session)
	k.mu.Unlock()
	if !own {
		_ = r.Settle(ctx) // the plan reports calls that have not ended
		_ = r.Close()     // its data is on the disk
	}
}

// Cleanup removes the checkpoints of sessions that are neither recorded nor
// younger than a day, and those beyond the total limit.
func (k *Keeper) Cleanup(ctx context.Context, recorded map[string]bool) error {
	now := k.o.Store.Now
	if now == nil {
		now = time.Now
	}
	return k.store.Cleanup(ctx, checkpoint.Retention{MaxBytes: k.o.MaxStore, Keep: func(session string, updated time.Time) bool {
		return recorded[session] || now().Sub(updated) < 24*time.Hour
	}})
}

// newRecorder returns a recorder for a session.
func (k *Keeper) newRecorder(session string) *checkpoint.Recorder {
	return k.store.Record(checkpoint.RecorderOptions{
		Session: session, Files: k.o.Workspace, Background: k.o.Running,
		Finder: k.o.Finder,
	})
}

// current returns the recorder of the current session. nil: the Keeper is closed.
func (k *Keeper) current() *checkpoint.Recorder {
	session := k.o.Session()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	if k.recorder == nil || k.session != session {
		if k.recorder != nil {
			_ = k.recorder.Close() // data written before a call is on the disk
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

// BeginTurn states that following calls belong to this input of the user: those
// made before the model receives it, such as shell lines of a command, and the
// next prompt of the conversation. Prompts without a call of BeginTurn begin
// turns themselves.
func (k *Keeper) BeginTurn(input string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.prompt, k.begun, k.given = input, true, true
}

// beginPrompt begins a turn with a prompt, unless its input has begun one.
func (k *Keeper) beginPrompt(prompt string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.given {
		k.prompt, k.begun = prompt, true
	}
	k.given = false
}

// Delete removes the checkpoints of a session, including the beginnings of its
// prompts. Content that no other session uses is removed by the next clean-up.
// Changes that the Keeper's own session has made so far cannot be undone
// afterwards. The error has code checkpoint_failed, for example if another process
// uses the session, or cancelled.
func (k *Keeper) Delete(ctx context.Context, session string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.session == session && k.recorder != nil {
		_ = k.recorder.Close() // its data is removed
		k.recorder, k.session, k.prompt, k.begun = nil, "", "", false
	}
	return k.store.Delete(ctx, session)
}

// Close closes the Keeper.
func (k *Keeper) Close() error {
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

// PutBase stores a content of the file at p by its SHA-256 while changes are kept,
// unless it is stored already or the file is ignored, which checkpoints of commands
// do not contain either. It reports whether it did. The next clean-up removes the
// content, unless a checkpoint contains it.
func (k *Keeper) PutBase(p workspace.Path, data []byte) bool {
	if !k.Keeps() {
		return false
	}
	why, err := k.o.Finder().Why(context.Background(), p, false)
	if err != nil || why.Ignored {
		return false
	}
	added, err := k.store.Put(data)
	if log := k.o.Store.Logger; err != nil && log != nil {
		log.Warn("a base of a change is not stored", "path", p.String(), "err", err)
	}
	return added && err == nil
}

// Base returns the stored content with a SHA-256.
func (k *Keeper) Base(sha string) ([]byte, bool) {
	data, err := k.store.Content(sha)
	return data, err == nil
}

// turnStep begins a turn with each prompt that belongs to no other input.
func (k *Keeper) turnStep(_ context.Context, prompt []model.Part) (agent.PromptAdvice, error) {
	text := ""
	for _, part := range prompt {
		if text = part.Text; text != "" {
			break
		}
	}
	k.beginPrompt(text)
	return agent.PromptAdvice{}, nil
}

// Steps adds a step to those of a user's own conversation that begins a turn with
// each prompt.
func (k *Keeper) Steps(steps agent.Steps) agent.Steps {
	if k == nil {
		return steps
	}
	k.converse.Store(true)
	steps.BeforePrompt = slices.Concat([]agent.BeforePrompt{k.turnStep}, steps.BeforePrompt)
	return steps
}

// Before returns a step that stores the files that a call may change, and records
// the changes. If storing fails, the call still runs; the model and the user are
// notified that it cannot be undone.
func (k *Keeper) Before(b *bus.MessageBus, subagent string) scheduler.Executing {
	return func(ctx context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context, bool) []string, error) {
		if k == nil || !p.Spec.Mutates() || !k.Keeps() {
			return nil, nil
		}
		paths, any := changedBy(k.o.Workspace, p.Spec, inv)
		if !any && len(paths) == 0 {
			return nil, nil
		}
		r := k.current()
		if r == nil {
			return nil, nil
		}
		progress := func(files int) {
			text := fmt.Sprintf("[Saving %d files first, so that this can be undone.]\n", files)
			_ = b.Publish(bus.ToolOutput{CallID: p.CallID, Chunk: text}) // a closed bus has no subscribers
		}
		taken, err := r.Begin(ctx, checkpoint.Call{
			ID: p.CallID, Tool: p.Spec.Name, About: inv.Description(), Agent: subagent, Paths: paths, Progress: progress,
		})
		switch {
		case err == nil:
			return func(ctx context.Context, again bool) []string {
				if again {
					taken.Abandon(ctx)
					return nil
				}
				return taken.End(ctx)
			}, nil
		case ctx.Err() != nil:
			return nil, fault.WasCancelled("keeper.before", ctx.Err())
		}
		notice := "This change cannot be undone with fettle restore: " + fault.MessageOf(err)
		return func(_ context.Context, again bool) []string {
			if again {
				return nil
			}
			return []string{notice}
		}, nil
	}
}

// changedBy returns the files of the workspace that a call may change; any is
// true if it may change other files as well.
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
		if _, err := ws.Resolve(l.Path); err == nil { // files elsewhere, such as the memory file, do not belong to the project
			paths = append(paths, l.Path)
		}
	}
	return paths, false
}

// Record runs a change of the call's paths by something other than a tool as a turn of the current
// session, so that it can be undone. An error of change is returned, and one of saving the files before:
// change has not run then. The notes are about changes that cannot be undone.
func (k *Keeper) Record(ctx context.Context, c checkpoint.Call, change func() error) (notes []string, err error) {
	r := k.current()
	if r == nil {
		return nil, fault.New(fault.CheckpointFailed, "keeper.record", "The checkpoints of this session are closed.", "")
	}
	active, err := r.Begin(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := change(); err != nil {
		active.Abandon(ctx) // a part of the change is recorded as that of another program
		return nil, err
	}
	return active.End(ctx), nil
}
