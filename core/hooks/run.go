package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
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
	Source Source
}

// Outcome is the result of a process.
type Outcome struct {
	Code           int    // -1 if a signal ended it
	Signal         string // as SIGKILL; "" if none
	TimedOut       bool   // it exceeded Command.Limit
	Stdout, Stderr []byte // at most MaxOutput each
	Dropped        int64  // further bytes that were dropped
	Duration       time.Duration
}

// Options configure a [Runner].
type Options struct {
	Hooks []Hook
	// Off are disabled hooks, by name or command.
	Off []string
	// Exec runs a process. It returns an error if the process did not start; the caller
	// checks whether ctx has ended. Required if there are commands.
	Exec func(ctx context.Context, c Command) (Outcome, error)
	// Env returns environment variables for a command, as NAME=VALUE. nil: none.
	Env func(in Input) []string
	// Gate is called immediately before a hook and reports whether it may run. nil:
	// every hook may.
	Gate func(ctx context.Context, h *Hook) bool
	// Started is called when a hook starts. nil: no call.
	Started func(e Event, h *Hook)
	// OnDefect receives panics of functions, with stack. nil: dropped.
	OnDefect func(err error)
}

// Runner runs hooks. It is safe for concurrent use and keeps no state between events.
type Runner struct {
	o   Options
	all map[Event][]entry
}

// entry is a hook with its compiled matcher.
type entry struct {
	*Hook
	matcher matcher
	off     bool
}

// New returns a runner. It does no I/O.
func New(o Options) *Runner {
	r := &Runner{o: o, all: map[Event][]entry{}}
	list := slices.Clone(o.Hooks)
	for i := range list {
		if list[i].Source == "" {
			list[i].Source = SourceRuntime
		}
	}
	slices.SortStableFunc(list, func(a, b Hook) int { return a.Source.order() - b.Source.order() })
	for i := range list {
		h := &list[i]
		e := entry{Hook: h, off: slices.ContainsFunc(o.Off, h.Is)}
		e.matcher, _ = newMatcher(h.Event, h.Matcher) // it was reported when it was read
		r.all[h.Event] = append(r.all[h.Event], e)
	}
	return r
}

// Hooks lists all hooks in the order in which they run, including disabled ones. They
// must not be changed.
func (r *Runner) Hooks() []*Hook {
	var all []*Hook
	for _, e := range Events() {
		for _, entry := range r.all[e] {
			all = append(all, entry.Hook)
		}
	}
	return all
}

// Disabled reports whether the hook is in Options.Off.
func (r *Runner) Disabled(h *Hook) bool { return slices.ContainsFunc(r.o.Off, h.Is) }

// Any reports whether a hook may run at an event.
func (r *Runner) Any(e Event) bool {
	return r != nil && slices.ContainsFunc(r.all[e], func(h entry) bool { return !h.off })
}

// Select returns the hooks that run at an event for a subject, in order. Of hooks with
// equal name and command only one runs: that of the user or the system takes precedence
// over the project's.
func (r *Runner) Select(e Event, s Subject) []*Hook {
	if r == nil {
		return nil
	}
	var chosen []*Hook
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
		case chosen[i].Source == SourceProject && h.Source != SourceProject:
			chosen[i] = h.Hook
		}
	}
	return chosen
}

// Matches reports whether the hook's matcher matches one of subjects, or, for an event
// with a source, reason or trigger, one of its possible values.
func (h *Hook) Matches(subjects ...Subject) bool {
	m, _ := newMatcher(h.Event, h.Matcher)
	for _, trigger := range h.Event.triggers() {
		subjects = append(slices.Clip(subjects), Subject{Text: trigger})
	}
	return m.all || slices.ContainsFunc(subjects, func(s Subject) bool { return m.matches(h.Event, s) })
}

// Fire runs the hooks of in.Event for a subject, and returns their combined output. They
// run concurrently; if one of them is sequential, they run in order, each with the
// changes of the previous ones. An error of a hook is a warning and, except for a
// function of BeforeTool, stops nothing. All hooks have ended when Fire returns.
func (r *Runner) Fire(ctx context.Context, in Input, s Subject) Effect {
	chosen := r.Select(in.Event, s)
	if r != nil && r.o.Gate != nil {
		chosen = slices.DeleteFunc(chosen, func(h *Hook) bool { return !r.o.Gate(ctx, h) })
	}
	if len(chosen) == 0 {
		return Effect{}
	}
	ran := make([]Ran, len(chosen))
	if slices.ContainsFunc(chosen, func(h *Hook) bool { return h.Sequential }) {
		for i, h := range chosen {
			ran[i] = r.run(ctx, h, in)
			in = chain(in, &ran[i])
		}
		return merge(in.Event, ran)
	}
	var running sync.WaitGroup
	for i, h := range chosen {
		running.Go(func() { ran[i] = r.run(ctx, h, in) })
	}
	running.Wait()
	return merge(in.Event, ran)
}

// run runs one hook.
func (r *Runner) run(ctx context.Context, h *Hook, in Input) Ran {
	ran := Ran{Hook: h}
	if ctx.Err() != nil {
		ran.Cancelled = true
		return ran
	}
	if r.o.Started != nil {
		r.o.Started(in.Event, h)
	}
	if h.Run != nil {
		r.call(ctx, &ran, in)
	} else {
		r.exec(ctx, &ran, in)
	}
	if ran.Cancelled = ctx.Err() != nil; ran.Cancelled {
		ran.Warnings = nil // it was ended from outside, which is no failure
	}
	if in.Event.Advisory() && (ran.Output.Decision.strictness() > 1 || ran.Output.Stops()) {
		ran.warn("Its decision has no effect, because %s cannot be stopped: %s", in.Event, oneLine(because(ran.Output.StopReason, ran.Output.Reason)))
	}
	return ran
}

// call runs a function.
func (r *Runner) call(ctx context.Context, ran *Ran, in Input) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, ran.Hook.limit())
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
	if ran.OK = err == nil; ran.OK {
		if o := &ran.Output; o.Decision != "" && o.Decision.strictness() == 0 {
			o.odd.decision, o.Decision = escape.Quote(string(o.Decision)), ""
		}
		ran.settle(in.Event, &ran.Output)
		return
	}
	text := err.Error()
	if f := fault.As(err); f != nil {
		text = f.Line()
	}
	ran.Output = Output{}
	ran.warn("It failed: %s", oneLine(text))
	if in.Event == BeforeTool {
		ran.Output = Output{Decision: Block, Reason: "A BeforeTool hook failed: " + oneLine(text)}
	}
}

// exec runs a command.
func (r *Runner) exec(ctx context.Context, ran *Ran, in Input) {
	h := ran.Hook
	stdin, err := encode(in)
	if err != nil {
		ran.warn("Its input could not be encoded: %s", oneLine(err.Error()))
		return
	}
	c := Command{Line: h.Command, Stdin: stdin, Limit: h.limit(), Source: h.Source}
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
	ran.understand(in.Event, out)
}

// encode returns the input of a hook as JSON, without HTML escapes.
func encode(in Input) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(in); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// chain returns the input of the next hook after a successful one.
func chain(in Input, ran *Ran) Input {
	if !ran.OK {
		return in
	}
	switch s := ran.Output.Specific; {
	case in.Event == BeforeAgent && s.AdditionalContext != "" && in.Prompt != nil:
		prompt := *in.Prompt + "\n\n" + s.AdditionalContext
		in.Prompt = &prompt
	case in.Event == BeforeTool && s.ToolInput != nil:
		in.ToolInput = Overlay(in.ToolInput, s.ToolInput)
	case in.Event == BeforeModel && s.LLMRequest != nil && in.LLMRequest != nil:
		whole, err := json.Marshal(in.LLMRequest)
		if err != nil {
			break // plain values can be encoded
		}
		var changed LLMRequest
		if json.Unmarshal(overlay(whole, s.LLMRequest, false), &changed) == nil {
			in.LLMRequest = &changed
		}
	}
	return in
}

// Overlay returns arguments in which those of a hook replace the original ones; null
// removes an argument.
func Overlay(args, over json.RawMessage) json.RawMessage { return overlay(args, over, true) }
