package lists

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
)

// Served is the response of a provider to the request for its models.
type Served struct {
	Names []string
	Err   error
}

// Models returns the list of models: the models of providers with a key, as their
// servers list them, then the other providers with the variables that they need. current
// is the full name of the session's model.
func Models(l program.ModelListing, answers map[string]Served, current string) interactive.Pick {
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
			unusable = append(unusable, unreadyProvider(provider, answer.Err))
			continue
		}
		for _, name := range modelNames(provider, answer.Names, short) {
			item := interactive.PickItem{Name: name, Description: strings.Join(short[name], ", "), Submit: "/model " + name}
			if item.Selected = name == current; item.Selected {
				item.State, seen = "current", true
			}
			if strings.ContainsAny(name, " \t") { // /model takes one word
				item.Submit, item.State = "", "unusable name"
			}
			p.Items = append(p.Items, item)
		}
		if answer.Err != nil {
			unusable = append(unusable, interactive.PickItem{
				Name: provider.Name + ":NAME", State: "not listed", Description: fault.Line(answer.Err),
				Detail: "The server has not listed its models: " + fault.Line(answer.Err) + "\nType /model " + provider.Name + ":NAME to select one by name.",
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
