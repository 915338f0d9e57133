package sessionhooks

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// ConversationOptions describe a conversation.
type ConversationOptions struct {
	Bus      *bus.MessageBus // for messages of its hooks
	Subagent string          // whose conversation it is; "" is the main agent
	Prompts  bool            // its prompts come from the user and not from a model
	ID       func() string   // of its current session
	Tools    *tools.Registry
	Later    bool // further tools may be added, besides those of MCP servers
	Run      func(ctx context.Context, r scheduler.Request) scheduler.Response
	// Overriding is called before hooks change the turns of a request, and the
	// returned function with the final turns.
	Overriding func(before []model.Content) func(now []model.Content)
}

// Conversation runs a session's hooks at the events of one conversation.
type Conversation struct {
	set *Set
	of  ConversationOptions

	mu         sync.Mutex
	transcript string            // path of the recording; "": there is none
	start      []string          // output of the session start hooks for the system prompt
	prompt     []string          // that of the current prompt's hooks
	reported   map[string]bool   // messages and warnings of the current request
	request    *hooks.LLMRequest // the current one, for AfterModel
}

// Conversation returns the hook runner of a new conversation.
func (s *Set) Conversation(of ConversationOptions) *Conversation {
	return &Conversation{set: s, of: of}
}

// Any calls Any of the Set.
func (c *Conversation) Any(events ...hooks.Event) bool { return c.set.Any(events...) }

// tell publishes a message about a hook of this conversation; h may be nil.
func (c *Conversation) tell(e hooks.Event, h *hooks.Hook, level bus.HookLevel, text string) {
	c.set.tellOn(c.of.Bus, bus.HookMessage{Event: string(e), Level: level, Text: text, Subagent: c.of.Subagent}, h)
}

// fire runs the hooks of an event and publishes their messages. in contains the
// event's own fields.
func (c *Conversation) fire(ctx context.Context, in hooks.Input, about hookrun.Subject) hookresult.Effect {
	effect := c.fireQuietly(ctx, in, about)
	c.tellMessages(in.Event, effect)
	return effect
}

// tellMessages publishes the messages of an event's hooks.
func (c *Conversation) tellMessages(e hooks.Event, effect hookresult.Effect) {
	for _, m := range effect.Messages {
		if !m.Quiet {
			c.tellOnce(e, m, bus.HookInfo)
		}
	}
}

// fireQuietly is fire but publishes only warnings.
func (c *Conversation) fireQuietly(ctx context.Context, in hooks.Input, about hookrun.Subject) hookresult.Effect {
	runner := c.set.runner.Load()
	if !runner.Any(in.Event) {
		return hookresult.Effect{}
	}
	effect := runner.Fire(ctx, c.input(in), about)
	for _, w := range hookrun.Warnings(&effect) {
		c.tellOnce(in.Event, w, bus.HookWarning)
	}
	return effect
}

// tellOnce publishes a message or a problem of a hook; for the pieces of an
// answer once per request.
func (c *Conversation) tellOnce(e hooks.Event, m hookresult.Message, level bus.HookLevel) {
	if e == hooks.AfterModel && !c.first(m.Hook, string(level)+"\x00"+m.Text) {
		return
	}
	c.tell(e, m.Hook, level, m.Text)
}

// input adds the fields that every hook receives.
func (c *Conversation) input(in hooks.Input) hooks.Input {
	now := time.Now
	if c.set.o.Now != nil {
		now = c.set.o.Now
	}
	in.SessionID, in.CWD, in.Timestamp = c.of.ID(), c.set.o.Workspace.Target(), now().UTC()
	c.mu.Lock()
	defer c.mu.Unlock()
	in.TranscriptPath = c.transcript
	return in
}

// RecordedIn sets the path of the conversation's recording; "": none.
func (c *Conversation) RecordedIn(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transcript = path
}

// begin resets the record of messages for a new request.
func (c *Conversation) begin(r *hooks.LLMRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reported, c.request = map[string]bool{}, r
}

// first reports whether a text of a hook is new in a request.
func (c *Conversation) first(h *hooks.Hook, text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := h.Label() + "\x00" + text
	if c.reported[key] {
		return false
	}
	if c.reported == nil {
		c.reported = map[string]bool{}
	}
	c.reported[key] = true
	return true
}

// say keeps messages of hooks for the system prompt.
func (c *Conversation) say(into *[]string, messages []hookresult.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*into = nil
	for _, m := range messages {
		*into = append(*into, m.Text)
	}
}

// Notes returns the messages of hooks for the end of the system prompt; "": none.
func (c *Conversation) Notes() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes := slices.Concat(c.start, c.prompt)
	if len(notes) == 0 {
		return ""
	}
	return "\n\n# Notes of this session\n\nOutput of programs that the user has configured:\n\n" + strings.Join(notes, "\n\n")
}

// Steps returns steps followed by the hooks.
func (c *Conversation) Steps(steps agent.Steps) agent.Steps {
	if c.of.Prompts {
		steps.BeforePrompt = append(slices.Clip(steps.BeforePrompt), c.beforeAgent)
		steps.AfterPrompt = append(slices.Clip(steps.AfterPrompt), c.afterAgent)
	}
	steps.BeforeRequest = append(slices.Clip(steps.BeforeRequest), c.beforeModel)
	steps.AfterChunk = append(slices.Clip(steps.AfterChunk), c.afterModel)
	return steps
}

// wordsOf returns the texts of a prompt.
func wordsOf(prompt []model.Part) *string {
	text := model.Content{Parts: prompt}.Text()
	return &text
}

func (c *Conversation) beforeAgent(ctx context.Context, prompt []model.Part) (agent.PromptAdvice, error) {
	effect := c.fire(ctx, hooks.Input{Event: hooks.BeforeAgent, Prompt: wordsOf(prompt)}, hookrun.Subject{})
	c.say(&c.prompt, effect.Messages)
	var advice agent.PromptAdvice
	switch {
	case effect.Stop:
		advice.Stop = effect.StopReason
	case effect.Decision == hooks.Block:
		advice.Block = effect.Reason
	case effect.AdditionalContext != "":
		advice.Context = []model.Part{model.TextPart("\n\n" + c.set.context(effect.AdditionalContext))}
	}
	return advice, nil
}

// noWords replaces an answer without a text.
const noWords = "[no response text]"

func (c *Conversation) afterAgent(ctx context.Context, prompt []model.Part, answer string, again bool) (agent.PromptAdvice, error) {
	if answer == "" {
		answer = noWords
	}
	in := hooks.Input{Event: hooks.AfterAgent, Prompt: wordsOf(prompt), PromptResponse: &answer, StopHookActive: &again}
	effect := c.fire(ctx, in, hookrun.Subject{})
	advice := agent.PromptAdvice{Clear: effect.ClearContext}
	switch {
	case effect.Stop:
		advice.Stop = effect.StopReason
	case effect.Decision == hooks.Block:
		advice.Block = effect.Reason
	}
	return advice, nil
}

// Compacting runs the hooks before a history is shortened.
func (c *Conversation) Compacting(ctx context.Context, asked bool) {
	trigger := "auto"
	if asked {
		trigger = "manual"
	}
	c.fire(ctx, hooks.Input{Event: hooks.PreCompress, Trigger: trigger}, hookrun.Subject{Text: trigger})
}

// Started runs the hooks of a session's start; source is its cause. It returns
// the context for the model, and the messages, which are not on the bus.
func (c *Conversation) Started(ctx context.Context, source string) (added string, messages []bus.HookMessage) {
	effect := c.fireQuietly(ctx, hooks.Input{Event: hooks.SessionStart, Source: source}, hookrun.Subject{Text: source})
	c.say(&c.start, effect.Messages)
	c.say(&c.prompt, nil)
	if effect.AdditionalContext != "" {
		added = c.set.context(effect.AdditionalContext)
	}
	for _, m := range effect.Messages {
		if !m.Quiet {
			messages = append(messages, bus.HookMessage{Event: string(hooks.SessionStart), Hook: m.Hook.Label(), Level: bus.HookInfo, Text: m.Text})
		}
	}
	return added, messages
}

// Ending runs the hooks of a session's end.
func (c *Conversation) Ending(ctx context.Context, reason string) {
	c.fire(ctx, hooks.Input{Event: hooks.SessionEnd, Reason: reason}, hookrun.Subject{Text: reason})
}

// trialKey is the context key of a trial run of hooks.
type trialKey struct{}

// isTrial reports whether ctx belongs to a trial run of hooks.
func isTrial(ctx context.Context) bool { return ctx.Value(trialKey{}) != nil }

// Try runs the hooks of an event, and returns their combined effect, which is not
// applied; no approval is recorded.
func (c *Conversation) Try(ctx context.Context, in hooks.Input) hookresult.Effect {
	about := subjectOf(tools.Spec{Name: in.ToolName}) // by its well-known names, if there is no such tool
	if tool, err := c.of.Tools.Lookup(in.ToolName); err == nil {
		about = c.subject(tool.Spec())
	}
	for _, text := range []string{in.Source, in.Reason, in.Trigger} {
		if text != "" {
			about.Text = text
		}
	}
	return c.set.runner.Load().Fire(context.WithValue(ctx, trialKey{}, true), c.input(in), about)
}
