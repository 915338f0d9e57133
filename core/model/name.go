package model

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Name is a model with its provider.
type Name struct {
	Provider string // e.g. "gemini", "openai", "anthropic", "script"
	Model    string // the provider's name of the model, or the file of a script
}

// String returns PROVIDER:MODEL.
func (n Name) String() string { return n.Provider + ":" + n.Model }

// prefixes maps the prefixes of model names to providers.
var prefixes = []struct{ prefix, provider string }{
	{"gemini-", "gemini"}, {"gemma-", "gemini"}, {"models/", "gemini"},
	{"claude-", "anthropic"},
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"codex-", "openai"},
}

// ParseName parses PROVIDER:MODEL for one of the given providers. It also accepts a name whose
// prefix implies the provider, such as gemini-2.5-pro, claude-… or gpt-…; that provider need not be
// in providers. The error is of code invalid_config.
func ParseName(text string, providers []string) (Name, error) {
	if provider, name, found := strings.Cut(text, ":"); found && name != "" && slices.Contains(providers, provider) {
		return Name{provider, name}, nil
	}
	for _, p := range prefixes {
		if strings.HasPrefix(text, p.prefix) {
			return Name{p.provider, text}, nil
		}
	}
	forms := make([]string, len(providers))
	for i, p := range providers {
		forms[i] = p + ":NAME"
	}
	return Name{}, fault.New(fault.InvalidConfig, "model.name", "There is no provider for the model "+quoted(text)+".",
		"Give it as "+strings.Join(forms, ", ")+".")
}

// quoted returns text in quotes, on one line and cut.
func quoted(text string) string { return escape.Quote(escape.ClipBytes(text, 100)) }
