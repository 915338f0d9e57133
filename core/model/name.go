package model

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Name is a model with its provider.
type Name struct {
	Provider string // as "gemini", "openai", "anthropic", "script"
	Model    string // as the provider calls it, or the file of a script
}

// String returns PROVIDER:MODEL.
func (n Name) String() string { return n.Provider + ":" + n.Model }

// prefixes tell the provider of a name that does not say it.
var prefixes = []struct{ prefix, provider string }{
	{"gemini-", "gemini"}, {"gemma-", "gemini"}, {"models/", "gemini"},
	{"claude-", "anthropic"},
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"codex-", "openai"},
}

// ParseName reads PROVIDER:MODEL for one of the given providers, or a name whose
// beginning tells its provider, which need not be one of them, as gemini-2.5-pro,
// claude-…, gpt-…. The error is of code invalid_config.
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

// quoted returns text in quotes and in one line, short.
func quoted(text string) string { return escape.Quote(escape.ClipBytes(text, 100)) }
