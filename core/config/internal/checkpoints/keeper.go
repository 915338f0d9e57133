// Package checkpoints keeps what files hold before the calls of a session change them, and
// takes changes back.
package checkpoints

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

// Options are what a Keeper needs to know of its session.
type Options struct {
	Store     checkpoint.Options
	MaxStore  int64 // bytes of the whole store
	Always    bool  // every call that may change files is kept
	Talking   bool  // those of a conversation with a model are
	Workspace *workspace.Workspace
	Committer *commit.Committer
	Finder    func() *discovery.Finder // that of now
	Running   func() bool              // what a command has started may still be there
	Session   func() string            // the id of the session that is had now
}

// Keeper keeps what a session's calls change, and reads what others have kept. A nil one
// keeps nothing.
type Keeper struct {
	o        Options
	store    *checkpoint.Store
	converse atomic.Bool // there is a conversation

	mu       sync.Mutex
	recorder *checkpoint.Recorder // of session; nil: none yet
	session  string
	prompt   string // of the turn that has begun
	begun    bool
	given    bool // by BeginTurn, for an input that has not come to the model yet
	closed   bool
}

// New returns a Keeper. It makes no file.
func New(o Options) *Keeper { return &Keeper{o: o, store: checkpoint.New(o.Store)} }

// Store returns where checkpoints are.
func (k *Keeper) Store() *checkpoint.Store { return k.store }

// Keeps reports whether what calls change is kept now.
func (k *Keeper) Keeps() bool { return k.o.Always || k.o.Talking && k.converse.Load() }

// Plan says what taking turns or calls back would do.
func (k *Keeper) Plan(ctx context.Context, w checkpoint.What) (*checkpoint.Plan, error) {
	return k.store.Plan(ctx, k.o.Workspace, w)
}

// Restore executes a plan.
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

// Settle ends the calls of a session that a killed process has left open.
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
		_ = r.Settle(ctx) // the plan tells that calls have not ended
		_ = r.Close()     // what it wrote is on the disk
	}
}

// Cleanup removes the checkpoints of sessions that are neither recorded nor younger than
// a day, and what goes beyond the limit of all.
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

// current returns the recorder of the session that is had now. nil: there is none
// any more.
func (k *Keeper) current() *checkpoint.Recorder {
	session := k.o.Session()
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

// BeginTurn says that what follows comes of this input of the user's.
func (k *Keeper) BeginTurn(input string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.prompt, k.begun, k.given = input, true, true
}

// beginPrompt begins a turn with a prompt, unless the input that it comes of has.
func (k *Keeper) beginPrompt(prompt string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.given {
		k.prompt, k.begun = prompt, true
	}
	k.given = false
}

// Delete removes what was kept of a session, with the beginnings of its prompts.
func (k *Keeper) Delete(ctx context.Context, session string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.session == session && k.recorder != nil {
		_ = k.recorder.Close() // it goes
		k.recorder, k.session, k.prompt, k.begun = nil, "", "", false
	}
	return k.store.Delete(ctx, session)
}

// Close ends the keeping.
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

// turnStep begins a turn with each prompt of no other input.
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

// Steps adds to the steps of a user's own conversation that its prompts begin turns.
func (k *Keeper) Steps(steps agent.Steps) agent.Steps {
	if k == nil {
		return steps
	}
	k.converse.Store(true)
	steps.BeforePrompt = slices.Concat([]agent.BeforePrompt{k.turnStep}, steps.BeforePrompt)
	return steps
}

// Before keeps what a call may change, and records what it has changed. Where
// that fails the call runs all the same, as nobody asked for it to depend on a
// disk: the model and the person are told that it cannot be undone.
func (k *Keeper) Before(b *bus.MessageBus, subagent string) scheduler.Executing {
	return func(ctx context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context) []string, error) {
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
			text := fmt.Sprintf("[Keeping %d files first, so that this can be undone.]\n", files)
			_ = b.Publish(bus.ToolOutput{CallID: p.CallID, Chunk: text}) // a closed bus has nobody to tell
		}
		taken, err := r.Begin(ctx, checkpoint.Call{
			ID: p.CallID, Tool: p.Spec.Name, About: inv.Description(), Agent: subagent, Paths: paths, Progress: progress,
		})
		switch {
		case err == nil:
			return taken.End, nil
		case ctx.Err() != nil:
			return nil, fault.WasCancelled("config.checkpoint", ctx.Err())
		}
		notice := "This change cannot be undone with fettle restore: " + fault.MessageOf(err)
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
