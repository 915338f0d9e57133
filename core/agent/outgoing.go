package agent

import (
	"strings"

	"github.com/fettle-dev/fettle/core/model"
)

// outgoing returns the history to send to the named model: unsigned thoughts are removed, and so are signatures of other
// providers and the thoughts that they sign. Unchanged parts are shared.
func outgoing(history []model.Content, name string) []model.Content {
	owns := owner(name)
	first := 0
	for first < len(history) && allGo(history[first], owns) {
		first++
	}
	if first == len(history) {
		return history[:first:first]
	}
	sent := append(make([]model.Content, 0, len(history)), history[:first]...)
	for _, turn := range history[first:] {
		if !allGo(turn, owns) {
			turn = model.Content{Role: turn.Role, Parts: stripped(turn.Parts, owns)}
		}
		switch last := len(sent) - 1; {
		case len(turn.Parts) == 0:
		case last >= 0 && sent[last].Role == turn.Role: // the turn between is empty
			sent[last].Parts = append(sent[last].Parts[:len(sent[last].Parts):len(sent[last].Parts)], turn.Parts...)
		default:
			sent = append(sent, turn)
		}
	}
	return sent
}

func allGo(turn model.Content, owns func(model.Part) bool) bool {
	for _, p := range turn.Parts {
		if !owns(p) || p.Thought && len(p.Signature) == 0 {
			return false
		}
	}
	return true
}

func stripped(parts []model.Part, owns func(model.Part) bool) []model.Part {
	kept := make([]model.Part, 0, len(parts))
	for _, p := range parts {
		if !owns(p) {
			p.Signature, p.Provider = nil, ""
		}
		if p.Thought && len(p.Signature) == 0 || payloads(p) == 0 && len(p.Signature) == 0 {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// owner returns a function that reports whether a part may be sent to the named model: it is unsigned, or signed by the
// model's provider. If the name does not identify the provider, the Generator decides.
func owner(name string) func(model.Part) bool {
	var provider string
	var own bool
	return func(p model.Part) bool {
		if len(p.Signature) == 0 || p.Provider == "" {
			return true
		}
		if p.Provider != provider {
			provider = p.Provider
			of, err := model.ParseName(name, []string{provider})
			own = err == nil && of.Provider == provider || err != nil && !strings.Contains(name, ":")
		}
		return own
	}
}

// bareName returns the name of a model without its provider.
func bareName(name string) string {
	if _, bare, found := strings.Cut(name, ":"); found {
		return bare
	}
	return name
}
