package chat

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
)

// listTimeout is the time that providers have to list their models.
const listTimeout = 3 * time.Second

// served is the response of a provider to the request for its models.
type served struct {
	names []string
	err   error
}

// pickModel returns the list of /model: the models of providers with a key, as their
// servers list them, then the other providers with the variables that they need.
func (c *chat) pickModel(ctx context.Context) (interactive.Pick, error) {
	listing := program.ListModels(c.Providers, c.Traffic.Variables)
	var answers map[string]served
	if !c.Traffic.Replays() {
		answers = c.askProviders(ctx, listing.Providers)
	}
	if err := ctx.Err(); err != nil {
		return interactive.Pick{}, err
	}
	return modelList(listing, answers, c.currentModel()), nil
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
func (c *chat) askProviders(ctx context.Context, providers []program.ProviderInfo) map[string]served {
	if c.now != nil {
		c.now.Progress("Asking the providers for their models")
		defer c.now.Progress("")
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	answers := map[string]served{}
	for _, p := range providers {
		if names, known := c.served[p.Name]; known {
			answers[p.Name] = served{names: names}
			continue
		}
		asking.Go(func() {
			names, err := c.Providers.ModelNames(ctx, c.Traffic.Variables, p.Name)
			mu.Lock()
			defer mu.Unlock()
			answers[p.Name] = served{names, err}
		})
	}
	asking.Wait()
	for provider, answer := range answers {
		if answer.err == nil {
			if c.served == nil {
				c.served = map[string][]string{}
			}
			c.served[provider] = answer.names
		}
	}
	return answers
}

// modelList returns the list of models. current is the full name of the session's.
func modelList(l program.ModelListing, answers map[string]served, current string) interactive.Pick {
	short := map[string][]string{} // short names by model
	for _, alias := range slices.Sorted(maps.Keys(l.Aliases)) {
		short[l.Aliases[alias]] = append(short[l.Aliases[alias]], alias)
	}
	if l.Auto != "" {
		short[l.Auto] = append(short[l.Auto], "auto")
	}
	p := interactive.Pick{Title: "Model", Usage: "/model NAME selects a model.", Empty: "There are no model providers."}
	seen := false
	var unusable []interactive.PickItem
	for _, provider := range l.Providers {
		answer := answers[provider.Name]
		if !provider.Ready {
			unusable = append(unusable, unreadyProvider(provider, answer.err))
			continue
		}
		for _, name := range modelNames(provider, answer.names, short) {
			item := interactive.PickItem{Name: name, Description: strings.Join(short[name], ", "), Submit: "/model " + name}
			if item.Selected = name == current; item.Selected {
				item.State, seen = "current", true
			}
			if strings.ContainsAny(name, " \t") { // /model takes one word
				item.Submit, item.State = "", "unusable name"
			}
			p.Items = append(p.Items, item)
		}
		if answer.err != nil {
			unusable = append(unusable, interactive.PickItem{
				Name: provider.Name + ":NAME", State: "not listed", Description: fault.Line(answer.err),
				Detail: "The server has not listed its models: " + fault.Line(answer.err) + "\nType /model " + provider.Name + ":NAME to select one by name.",
			})
		}
	}
	if !seen && current != "" {
		p.Items = slices.Insert(p.Items, 0, interactive.PickItem{Name: current, State: "current", Selected: true, Submit: "/model " + current})
	}
	p.Items = append(p.Items, unusable...)
	return p
}

// modelNames returns the full names of a provider's models without duplicates: the
// default one and those with a short name first.
func modelNames(p program.ProviderInfo, listed []string, short map[string][]string) []string {
	var names []string
	if p.Default != "" {
		names = append(names, p.Name+":"+p.Default)
	}
	for _, name := range slices.Sorted(maps.Keys(short)) {
		if strings.HasPrefix(name, p.Name+":") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	for _, name := range listed {
		if name = p.Name + ":" + name; !known[name] {
			names, known[name] = append(names, name), true
		}
	}
	return names
}

// unreadyProvider returns the item of a provider that lacks a variable. err names it;
// nil if the provider was not asked.
func unreadyProvider(p program.ProviderInfo, err error) interactive.PickItem {
	item := interactive.PickItem{Name: p.Name + ":" + cmp.Or(p.Default, "NAME"), State: "no key"}
	variables, or := p.Keys, " or "
	if len(variables) == 0 {
		item.State, variables, or = "not set up", p.Others, ", "
	}
	item.Description = "set " + strings.Join(variables, or)
	item.Detail = "To use " + p.Name + ", " + item.Description + " in the environment or in ~/.env, and start the program again."
	if err != nil {
		item.Detail = fault.Line(err)
	}
	return item
}
