package agent

import (
	"context"

	"github.com/fettle-dev/fettle/core/model"
)

// Steps are hooks of prompts and requests. They run in order, on the goroutine of the conversation. An error or a panic
// of a step ends the prompt with an event of type error.
type Steps struct {
	BeforePrompt  []BeforePrompt
	BeforeRequest []BeforeRequest
	AfterChunk    []AfterChunk
	AfterPrompt   []AfterPrompt
}

// BeforePrompt runs once for each prompt of [Client.Run], before anything is sent.
type BeforePrompt func(ctx context.Context, prompt []model.Part) (PromptAdvice, error)

// PromptAdvice is the result of a step before or after a prompt. Zero: continue.
type PromptAdvice struct {
	Stop    string       // not "": end the prompt for this reason; the prompt stays in the history
	Block   string       // not "": before a prompt, drop it for this reason; after one, continue with the reason as the next user turn
	Context []model.Part // added to the prompt, or to the next user turn
	Clear   bool         // after a prompt: empty the history
}

// BeforeRequest runs before each attempt at a request, on a copy that it may modify. Bytes are shared and must be
// replaced instead of modified.
type BeforeRequest func(ctx context.Context, r *model.Request) (RequestAdvice, error)

// RequestAdvice is the result of a step before a request. Zero: continue.
type RequestAdvice struct {
	Stop     string          // not "": end the prompt for this reason; the user turn stays in the history
	Response *model.Response // not nil: used instead of a request to the model
}

// AfterChunk runs on each piece of an answer, which it may modify, before it is emitted. A non-empty reason ends the
// prompt; the answer so far is dropped, and the user turn stays in the history.
type AfterChunk func(ctx context.Context, c *model.Chunk) (stop string, err error)

// AfterPrompt runs when a prompt of [Client.Run] is complete, with the texts of its answers, one a line; again is set if
// an earlier AfterPrompt continued the prompt. Steps after one that stops or blocks do not run.
type AfterPrompt func(ctx context.Context, prompt []model.Part, answer string, again bool) (PromptAdvice, error)
