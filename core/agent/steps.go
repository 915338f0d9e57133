package agent

import (
	"context"

	"github.com/fettle-dev/fettle/core/model"
)

// Steps take part in prompts and requests, as hooks do: each in order, on the
// goroutine of the conversation. They may stop it and not force it. An error or a
// panic of a step ends the prompt with an event of type error.
type Steps struct {
	BeforePrompt  []BeforePrompt
	BeforeRequest []BeforeRequest
	AfterChunk    []AfterChunk
	AfterPrompt   []AfterPrompt
}

// BeforePrompt runs once for each prompt of [Client.Run], before anything is sent.
type BeforePrompt func(ctx context.Context, prompt []model.Part) (PromptAdvice, error)

// PromptAdvice is what a step before or after a prompt wants. Zero: go on.
type PromptAdvice struct {
	Stop    string       // not "": end the prompt, for this reason; the prompt stays in the history
	Block   string       // not "": before a prompt, drop it for this reason; after one, go on with the reason as the user's next words
	Context []model.Part // added to the prompt, or to the user's next words
	Clear   bool         // after a prompt: the history is emptied
}

// BeforeRequest runs before each attempt at a request, on a copy that it may
// change; bytes in it are shared, and replaced where they are to be others.
type BeforeRequest func(ctx context.Context, r *model.Request) (RequestAdvice, error)

// RequestAdvice is what a step before a request wants. Zero: go on.
type RequestAdvice struct {
	Stop     string          // not "": end the prompt, for this reason; what the user said stays in the history
	Response *model.Response // not nil: taken instead of asking the model
}

// AfterChunk runs on each piece of an answer, which it may change, before
// anybody sees it. A reason that is not empty ends the prompt; the answer so far
// is dropped, and what the user said stays in the history.
type AfterChunk func(ctx context.Context, c *model.Chunk) (stop string, err error)

// AfterPrompt runs when a prompt of [Client.Run] is done, with the texts of its
// answers, a line apart; again is set where an earlier AfterPrompt has made it go
// on. Those after one that stops or blocks do not run.
type AfterPrompt func(ctx context.Context, prompt []model.Part, answer string, again bool) (PromptAdvice, error)
