package config

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/model"
)

// sessionHooks is what hooks have to do with one conversation. Its zero value is
// that of a new one.
type sessionHooks struct {
	of *shared // where the hooks are

	mu         sync.Mutex
	transcript string            // path of the recording; "": there is none
	start      []string          // what hooks of the session's start say for the system prompt
	prompt     []string          // what those of the prompt at hand say
	told       map[string]bool   // messages and warnings of the request at hand
	request    *hooks.LLMRequest // at hand, for AfterModel
}

func (s *sessionHooks) transcriptPath() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transcript
}

func (s *sessionHooks) recordedIn(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transcript = path
}

// begin forgets what was told of the last request.
func (s *sessionHooks) begin(r *hooks.LLMRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told, s.request = map[string]bool{}, r
}

// first reports whether a text of a hook is told for the first time in a request.
func (s *sessionHooks) first(h *hooks.Hook, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := h.Label() + "\x00" + text
	if s.told[key] {
		return false
	}
	if s.told == nil {
		s.told = map[string]bool{}
	}
	s.told[key] = true
	return true
}

// say keeps what hooks say for the system prompt.
func (s *sessionHooks) say(into *[]string, messages []hooks.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*into = nil
	for _, m := range messages {
		*into = append(*into, m.Text)
	}
}

// notes are what hooks have said, for the end of the system prompt (EX-09); "":
// nothing.
func (s *sessionHooks) notes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := slices.Concat(s.start, s.prompt)
	if len(said) == 0 {
		return ""
	}
	return "\n\n# Notes of this session\n\nPrograms that the user has set up say:\n\n" + strings.Join(said, "\n\n")
}

// hookSteps are steps with the hooks behind them. Those of prompts are for the
// user's own conversation: a subagent's prompt is a model's.
func (c *Config) hookSteps(sh *shared, s *session, steps agent.Steps) agent.Steps {
	if !c.ofAgent {
		steps.BeforePrompt = append(slices.Clip(steps.BeforePrompt), c.beforeAgent(sh, s))
		steps.AfterPrompt = append(slices.Clip(steps.AfterPrompt), c.afterAgent(sh))
	}
	steps.BeforeRequest = append(slices.Clip(steps.BeforeRequest), c.beforeModel(sh, s))
	steps.AfterChunk = append(slices.Clip(steps.AfterChunk), c.afterModel(sh, s))
	return steps
}

// wordsOf are the texts of a prompt.
func wordsOf(prompt []model.Part) *string {
	text := model.Content{Parts: prompt}.Text()
	return &text
}

func (c *Config) beforeAgent(sh *shared, s *session) agent.BeforePrompt {
	return func(ctx context.Context, prompt []model.Part) (agent.PromptAdvice, error) {
		effect := c.fireHooks(ctx, sh, hooks.Input{Event: hooks.BeforeAgent, Prompt: wordsOf(prompt)}, hooks.Subject{})
		s.hooks.say(&s.hooks.prompt, effect.Messages)
		var advice agent.PromptAdvice
		switch {
		case effect.Stop:
			advice.Stop = effect.StopReason
		case effect.Decision.Blocks():
			advice.Block = effect.Reason
		case effect.Context != "":
			advice.Context = []model.Part{model.TextPart("\n\n" + c.hookContext(effect.Context))}
		}
		return advice, nil
	}
}

// noWords stands for an answer without a text.
const noWords = "[no response text]"

func (c *Config) afterAgent(sh *shared) agent.AfterPrompt {
	return func(ctx context.Context, prompt []model.Part, answer string, again bool) (agent.PromptAdvice, error) {
		answer = cmp.Or(answer, noWords)
		in := hooks.Input{Event: hooks.AfterAgent, Prompt: wordsOf(prompt), PromptResponse: &answer, StopHookActive: &again}
		effect := c.fireHooks(ctx, sh, in, hooks.Subject{})
		advice := agent.PromptAdvice{Clear: effect.ClearContext}
		switch {
		case effect.Stop:
			advice.Stop = effect.StopReason
		case effect.Decision.Blocks():
			advice.Block = effect.Reason
		}
		return advice, nil
	}
}

// preCompress runs the hooks before a history is shortened.
func (c *Config) preCompress(ctx context.Context, sh *shared, asked bool) {
	trigger := "auto"
	if asked {
		trigger = "manual"
	}
	c.fireHooks(ctx, sh, hooks.Input{Event: hooks.PreCompress, Trigger: trigger}, hooks.Subject{Text: trigger})
}

// SessionHooks are what the hooks of a session's start want.
type SessionHooks struct {
	// Context is for the model, in its tags: a person's session adds it to the
	// history or to the next prompt, one of a single prompt puts it before that. "":
	// nothing.
	Context string
	// Messages are for the person. They are not on the bus.
	Messages []bus.HookMessage
}

// SessionStarted runs the hooks of a session's start, of which source says how it
// came about: startup, resume or clear. Their messages are in the system prompt
// from then on. They can keep nothing from going on; the error is of code
// not_initialized.
func (c *Config) SessionStarted(ctx context.Context, source string) (SessionHooks, error) {
	s, err := c.own("SessionStarted")
	if err != nil {
		return SessionHooks{}, err
	}
	_, sh := c.current()
	if sh == nil {
		return SessionHooks{}, notInitialized("SessionStarted", "that is closed", "Make a new Config.")
	}
	effect := c.fireQuietly(ctx, sh, hooks.Input{Event: hooks.SessionStart, Source: source}, hooks.Subject{Text: source})
	s.hooks.say(&s.hooks.start, effect.Messages)
	s.hooks.say(&s.hooks.prompt, nil)
	var started SessionHooks
	if effect.Context != "" {
		started.Context = c.hookContext(effect.Context)
	}
	for _, m := range effect.Messages {
		if !m.Quiet {
			started.Messages = append(started.Messages, bus.HookMessage{Event: string(hooks.SessionStart), Hook: m.Hook.Label(), Level: bus.HookInfo, Text: m.Text})
		}
	}
	return started, nil
}

// SessionEnding runs the hooks of a session's end, of which reason says why: exit,
// clear, logout, prompt_input_exit or other. They can keep nothing from going on;
// the error is of code not_initialized.
func (c *Config) SessionEnding(ctx context.Context, reason string) error {
	sh, err := c.services("SessionEnding")
	if err != nil {
		return err
	}
	c.fireHooks(ctx, sh, hooks.Input{Event: hooks.SessionEnd, Reason: reason}, hooks.Subject{Text: reason})
	return nil
}
