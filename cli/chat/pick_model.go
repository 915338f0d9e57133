package chat

import (
	"context"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/chat/lists"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// listTimeout is the time that providers have to list their models.
const listTimeout = 3 * time.Second

// pickModel returns the list of /model: the models of providers with a key, as their
// servers list them, then the other providers with the variables that they need.
func (c *chat) pickModel(ctx context.Context) (interactive.Pick, error) {
	listing := program.ListModels(c.Providers, c.Traffic.Variables)
	var answers map[string]lists.Served
	if !c.Traffic.Replays() {
		answers = c.askProviders(ctx, listing.Providers)
	}
	if err := ctx.Err(); err != nil {
		return interactive.Pick{}, err
	}
	return lists.Models(listing, answers, c.currentModel()), nil
}

// currentModel returns the full name of the model, such as gemini:gemini-flash.
func (c *chat) currentModel() string {
	if name, err := c.Traffic.Models.Resolve(c.config.Model()); err == nil {
		return name.String()
	}
	return c.config.Model()
}

// askProviders asks the servers of the providers for their models, all at once. It asks
// each only until it has answered once. The error of a provider that is not ready
// names the missing variables, and no request is sent.
func (c *chat) askProviders(ctx context.Context, providers []program.ProviderInfo) map[string]lists.Served {
	if c.now != nil {
		c.now.Progress("Asking the providers for their models")
		defer c.now.Progress("")
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	answers := map[string]lists.Served{}
	for _, p := range providers {
		if names, known := c.served[p.Name]; known {
			answers[p.Name] = lists.Served{Names: names}
			continue
		}
		asking.Go(func() {
			names, err := c.Providers.ModelNames(ctx, c.Traffic.Variables, p.Name)
			mu.Lock()
			defer mu.Unlock()
			answers[p.Name] = lists.Served{Names: names, Err: err}
		})
	}
	asking.Wait()
	for provider, answer := range answers {
		if answer.Err == nil {
			if c.served == nil {
				c.served = map[string][]string{}
			}
			c.served[provider] = answer.Names
		}
	}
	return answers
}
