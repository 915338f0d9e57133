package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// heardHooks is what hooks have said and nobody has told yet.
type heardHooks struct {
	subscription *bus.Subscription
	mu           sync.Mutex
	said         []bus.HookMessage
}

// hearHooks listens to what hooks say, until ctx ends.
func hearHooks(ctx context.Context, b *bus.MessageBus) *heardHooks {
	h := &heardHooks{}
	h.subscription = bus.Subscribe(ctx, b, func(_ context.Context, m bus.HookMessage) {
		if m.Level == bus.HookRuns {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.said = append(h.said, m)
	})
	return h
}

// tell tells what was heard, warnings by warn and all else by say.
func (h *heardHooks) tell(ctx context.Context, say, warn func(string)) {
	h.subscription.Flush(ctx)
	h.mu.Lock()
	said := h.said
	h.said = nil
	h.mu.Unlock()
	for _, m := range said {
		if m.Level == bus.HookWarning {
			warn(hookLine(m))
		} else {
			say(hookLine(m))
		}
	}
}

// hookLine is what a hook says, with its name.
func hookLine(m bus.HookMessage) string {
	if m.Hook == "" {
		return m.Text
	}
	return "hook " + escape.Clip(m.Hook, 60) + ": " + m.Text
}

// hear listens to what hooks say, and returns what tells it.
func (p *program) hear(ctx context.Context, s session) (tell func()) {
	ctx = context.WithoutCancel(ctx)
	heard := hearHooks(ctx, s.MessageBus())
	return func() { heard.tell(ctx, p.say, p.say) }
}

// say tells something that is no warning.
func (p *program) say(text string) { p.complain(errors.New(text)) }

// hookNotices are what is wrong with definitions of hooks.
func hookNotices(c *config.Config) []string {
	problems, err := c.HookProblems()
	if err != nil { // the session is closed
		return nil
	}
	notices := make([]string, len(problems))
	for i, problem := range problems {
		notices[i] = problem.String()
	}
	return notices
}

// tellHookProblems tells what is wrong with definitions of hooks.
func (p *program) tellHookProblems(s session) {
	for _, notice := range hookNotices(s.Config()) {
		p.say(notice)
	}
}

// endingTime is how long hooks of a session's end may take after an interrupt.
const endingTime = 5 * time.Second

// endSession runs the hooks of a session's end, after an interrupt too.
func endSession(ctx context.Context, c *config.Config, reason string) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endingTime)
		defer cancel()
	}
	_ = c.SessionEnding(ctx, reason) // a session that is closed has ended
}

// trustedOnce reports whether the folder is trusted for this run alone: by a
// variable of the environment, or by --skip-trust where nothing is recorded.
func trustedOnce(ctx context.Context, g *globalFlags, folder string) bool {
	store, names, noHome := openTrust(g)
	for _, variable := range names.TrustVariables {
		if state, given, err := trust.FromEnv(os.Getenv(variable)); err == nil && given {
			return state == trust.Trusted
		}
	}
	if !g.skipTrust || noHome != nil {
		return g.skipTrust
	}
	state, _, err := store.Decide(ctx, folder)
	return err == nil && state == trust.Undecided
}

// trustedAbove reports whether what decides about the folder is what is recorded of
// one above it.
func trustedAbove(ctx context.Context, g *globalFlags, folder string) bool {
	store, _, noHome := openTrust(g)
	if noHome != nil {
		return false
	}
	_, entry, err := store.Decide(ctx, folder)
	if err != nil || entry.Path == "" {
		return false
	}
	named, err := os.Stat(entry.Folder)
	if err != nil {
		return false
	}
	this, err := os.Stat(folder)
	return err == nil && !os.SameFile(named, this)
}

// approveHooksOf approves of the hooks that the project in a folder has, which its
// person trusts, and names them. What keeps that from being done is told by the
// next session.
func (p *program) approveHooksOf(ctx context.Context, g *globalFlags, folder string) {
	there := *g
	there.cwd = folder
	_ = p.withSession(ctx, sessionOptions{flags: &there}, func(s session) error {
		names, err := s.Config().ApproveHooks(ctx)
		if err == nil && len(names) > 0 {
			p.say("The hooks of its project run from now on: " + strings.Join(names, ", ") + ". One that is new or changed later runs once you have approved it with fettle hooks trust.")
			p.tellVouched(ctx, s.Config())
		}
		return err
	})
}
