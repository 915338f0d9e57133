// Package hookrun runs the hooks of an event and combines their outputs.
//
// [ReadFile], [ParseJSON] and [ParseTOML] read hooks from files. A [Runner] passes a [hooks.Input]
// to all hooks that match an event and its [Subject], and combines their outputs into one
// [hookresult.Effect]. [Approvals] records the approved hooks of projects.
//
// The package starts no process itself and does not depend on a session; see [Options].
package hookrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
)

// MaxOutput bounds the kept output of a command, in bytes, for stdout and stderr each.
// Further output is read, so that the command does not block, and dropped.
const MaxOutput = 1 << 20

// Command is a hook that is run as a process.
type Command struct {
	Line  string        // for bash
	Stdin []byte        // all of its input; it may leave it unread
	Env   []string      // NAME=VALUE, in addition to the environment of commands
	Limit time.Duration // the process and its children are killed after this time
	// Source of the hook: an extension's hook does not receive the user's environment.
	Source  hooks.Source
	Sandbox bool // as in the hook
}

// Outcome is the result of a process.
type Outcome struct {
	Code           int    // -1 if a signal ended it
	Signal         string // as SIGKILL; "" if none
	TimedOut       bool   // it exceeded Command.Limit
	Stdout, Stderr []byte // at most MaxOutput each
	Dropped        int64  // further bytes that were dropped
	Duration       time.Duration
	Removed        []string // protected paths that a confined command created, and that were moved away
	RemoveError    error    // why one of them was not moved away, and still exists
}

// Options configure a [Runner].
type Options struct {
	Hooks []hooks.Hook
	// Off are disabled hooks, by name or command.
	Off []string
	// Exec runs a process. It returns an error if the process did not start; the caller
	// checks whether ctx has ended. Required if there are commands.
	Exec func(ctx context.Context, c Command) (Outcome, error)
	// Env returns environment variables for a command, as NAME=VALUE. nil: none.
	Env func(in hooks.Input) []string
	// Gate is called immediately before a hook and reports whether it may run. nil:
	// every hook may.
	Gate func(ctx context.Context, h *hooks.Hook) bool
	// Started is called when a hook starts. nil: no call.
	Started func(e hooks.Event, h *hooks.Hook)
	// OnDefect receives panics of functions, with stack. nil: dropped.
	OnDefect func(err error)
}

// Runner runs hooks. It is safe for concurrent use and keeps no state between events.
type Runner struct {
	o   Options
	all map[hooks.Event][]entry // nil without hooks
}

// entry is a hook with its compiled matcher.
type entry struct {
	*hooks.Hook
	matcher matcher
	off     bool
}

// New returns a runner. It does no I/O.
func New(o Options) *Runner {
	r := &Runner{o: o}
	list := slices.Clone(o.Hooks)
	for i := range list {
		if list[i].Source == "" {
			list[i].Source = hooks.SourceRuntime
		}
	}
	slices.SortStableFunc(list, func(a, b hooks.Hook) int { return order(a.Source) - order(b.Source) })
	for i := range list {
		h := &list[i]
		e := entry{Hook: h, off: slices.ContainsFunc(o.Off, h.Is)}
		e.matcher, _ = newMatcher(h.Event, h.Matcher) // it was reported when it was read
		if r.all == nil {
			r.all = make(map[hooks.Event][]entry)
		}
		r.all[h.Event] = append(r.all[h.Event], e)
	}
	return r
}

// Hooks lists all hooks in the order in which they run, including disabled ones. They
// must not be changed.
func (r *Runner) Hooks() []*hooks.Hook {
	var all []*hooks.Hook
	for _, e := range hooks.Events() {
		for _, entry := range r.all[e] {
			all = append(all, entry.Hook)
		}
	}
	return all
}

// Disabled reports whether the hook is in Options.Off.
func (r *Runner) Disabled(h *hooks.Hook) bool { return slices.ContainsFunc(r.o.Off, h.Is) }

// Any reports whether a hook may run at an event.
func (r *Runner) Any(e hooks.Event) bool {
	return r != nil && slices.ContainsFunc(r.all[e], func(h entry) bool { return !h.off })
}

// Select returns the hooks that run at an event for a subject, in order. Of hooks with
// equal name and command only one runs: that of the user or the system takes precedence
// over the project's.
func (r *Runner) Select(e hooks.Event, s Subject) []*hooks.Hook {
	if r == nil {
		return nil
	}
	var chosen []*hooks.Hook
	at := map[string]int{}
	for _, h := range r.all[e] {
		if h.off || !h.matcher.matches(e, s) {
			continue
		}
		key := h.Name + ":" + h.Command
		if h.Command == "" { // functions are never equal
			chosen = append(chosen, h.Hook)
			continue
		}
		i, twice := at[key]
		switch {
		case !twice:
			at[key] = len(chosen)
			chosen = append(chosen, h.Hook)
		case chosen[i].Source == hooks.SourceProject && h.Source != hooks.SourceProject:
			chosen[i] = h.Hook
		}
	}
	return chosen
}

// Matches reports whether the hook's matcher matches one of subjects, or, for an event
// with a source, reason or trigger, one of its possible values.
func Matches(h *hooks.Hook, subjects ...Subject) bool {
	m, _ := newMatcher(h.Event, h.Matcher)
	for _, trigger := range triggers(h.Event) {
		subjects = append(slices.Clip(subjects), Subject{Text: trigger})
	}
	return m.all || slices.ContainsFunc(subjects, func(s Subject) bool { return m.matches(h.Event, s) })
}

// Fire runs the hooks of in.Event for a subject, and returns their combined output. They
// run concurrently; if one of them is sequential, they run in order, each with the
// changes of the previous ones. An error of a hook is a warning and, except for a
// function of BeforeTool, stops nothing. All hooks have ended when Fire returns.
func (r *Runner) Fire(ctx context.Context, in hooks.Input, s Subject) hookresult.Effect {
	chosen := r.Select(in.Event, s)
	if r != nil && r.o.Gate != nil {
		chosen = slices.DeleteFunc(chosen, func(h *hooks.Hook) bool { return !r.o.Gate(ctx, h) })
	}
	if len(chosen) == 0 {
		return hookresult.Effect{}
	}
	ran := make([]ran, len(chosen))
	if slices.ContainsFunc(chosen, func(h *hooks.Hook) bool { return h.Sequential }) {
		for i, h := range chosen {
			ran[i] = r.run(ctx, h, in, s)
			in = chain(in, &ran[i])
		}
		return merge(in.Event, ran)
	}
	var running sync.WaitGroup
	for i, h := range chosen {
		running.Go(func() { ran[i] = r.run(ctx, h, in, s) })
	}
	running.Wait()
	return merge(in.Event, ran)
}

// run runs one hook.
func (r *Runner) run(ctx context.Context, h *hooks.Hook, in hooks.Input, s Subject) ran {
	ran := ran{Ran: hookresult.Ran{Hook: h}}
	if ctx.Err() != nil {
		return ran
	}
	if r.o.Started != nil {
		r.o.Started(in.Event, h)
	}
	if h.Run != nil {
		r.call(ctx, &ran, in)
	} else {
		r.exec(ctx, &ran, in, s)
	}
	if ctx.Err() != nil {
		ran.Warnings = nil // it was ended from outside, which is no failure
	}
	if advisory(in.Event) && (strictness(ran.Output.Decision) > 1 || stops(&ran.Output)) {
		ran.warn("Its decision has no effect, because %s cannot be stopped: %s", in.Event, oneLine(because(ran.Output.StopReason, ran.Output.Reason)))
	}
	return ran
}

// call runs a function.
func (r *Runner) call(ctx context.Context, ran *ran, in hooks.Input) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, limit(ran.Hook))
	defer cancel()
	var err error
	func() {
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("it panicked: %v", cause)
				if r.o.OnDefect != nil {
					r.o.OnDefect(fmt.Errorf("hook %q of %s panicked: %v\n%s", ran.Hook.Label(), in.Event, cause, debug.Stack()))
				}
			}
		}()
		ran.Output, err = ran.Hook.Run(limited, in)
	}()
	ran.Duration = time.Since(began)
	if ran.ok = err == nil; ran.ok {
		var invalid odd
		if o := &ran.Output; o.Decision != "" && strictness(o.Decision) == 0 {
			invalid.decision, o.Decision = escape.Quote(string(o.Decision)), ""
		}
		ran.settle(in.Event, &ran.Output, invalid)
		return
	}
	text := err.Error()
	if f := fault.As(err); f != nil {
		text = f.Line()
	}
	ran.Output = hooks.Output{}
	ran.warn("It failed: %s", oneLine(text))
	if in.Event == hooks.BeforeTool {
		ran.Output = hooks.Output{Decision: hooks.Block, Reason: "A BeforeTool hook failed: " + oneLine(text)}
	}
}

// exec runs a command.
func (r *Runner) exec(ctx context.Context, ran *ran, in hooks.Input, s Subject) {
	h := ran.Hook
	var value any = in
	if h.Claude {
		ran.call = claudeCallOf(in, s)
		value = claudeInput(h, in, ran.call)
	}
	stdin, err := encode(value)
	if err != nil {
		ran.warn("Its input could not be encoded: %s", oneLine(err.Error()))
		return
	}
	c := Command{Line: h.Command, Stdin: stdin, Limit: limit(h), Source: h.Source, Sandbox: h.Sandbox}
	if r.o.Env != nil {
		c.Env = slices.Clip(r.o.Env(in))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		c.Env = append(c.Env, name+"="+h.Env[name])
	}
	out, err := r.o.Exec(ctx, c)
	if err != nil {
		text := err.Error()
		if f := fault.As(err); f != nil {
			text = f.Line()
		}
		ran.Exit = -1
		ran.warn("It could not be run: %s", oneLine(text))
		return
	}
	if len(out.Removed) > 0 {
		ran.warn("It is confined, so protected paths that it created were moved away, and fettle recover tells where they are kept: %s", oneLine(strings.Join(out.Removed, ", ")))
	}
	if out.RemoveError != nil {
		ran.warn("A protected path that it created could not be moved away, so inspect and remove it: %s", oneLine(out.RemoveError.Error()))
	}
	ran.understand(in.Event, out)
}

// encode returns the input of a hook as JSON, without HTML escapes.
func encode(in any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(in); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// chain returns the input of the next hook after a successful one.
func chain(in hooks.Input, ran *ran) hooks.Input {
	if !ran.ok {
		return in
	}
	switch s := ran.Output.Specific; {
	case in.Event == hooks.BeforeAgent && s.AdditionalContext != "" && in.Prompt != nil:
		prompt := *in.Prompt + "\n\n" + s.AdditionalContext
		in.Prompt = &prompt
	case in.Event == hooks.BeforeTool && s.ToolInput != nil:
		in.ToolInput = Overlay(in.ToolInput, s.ToolInput)
	case in.Event == hooks.BeforeModel && s.LLMRequest != nil && in.LLMRequest != nil:
		whole, err := json.Marshal(in.LLMRequest)
		if err != nil {
			break // plain values can be encoded
		}
		var changed hooks.LLMRequest
		if json.Unmarshal(overlay(whole, s.LLMRequest, false), &changed) == nil {
			in.LLMRequest = &changed
		}
	}
	return in
}

// Overlay returns arguments in which those of a hook replace the original ones; null
// removes an argument.
func Overlay(args, over json.RawMessage) json.RawMessage { return overlay(args, over, true) }
