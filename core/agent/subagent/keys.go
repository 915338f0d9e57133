package subagent

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// keys are those of a front matter, by their first spelling, each with what
// reads it. Other spellings, as maxTurns for max_turns, differ in case, hyphens
// and underscores alone, or stand in otherSpellings.
var keys = map[string]func(r *reading, m *position.Member){
	"name":             (*reading).name,
	"display_name":     func(r *reading, m *position.Member) { r.text(&r.d.DisplayName)(m) },
	"description":      func(r *reading, m *position.Member) { r.text(&r.d.Description)(m) },
	"kind":             (*reading).kind,
	"tools":            (*reading).tools,
	"disallowed_tools": (*reading).disallowedTools,
	"permission_mode":  (*reading).permissionMode,
	"model":            (*reading).model,
	"temperature":      (*reading).temperature,
	"max_turns":        (*reading).maxTurns,
	"max_time_minutes": (*reading).maxTime,
	"initialMessages":  (*reading).initialMessages,
	"query":            func(r *reading, m *position.Member) { r.text(&r.d.Query)(m) },
	"agent_card_url":   func(r *reading, m *position.Member) { r.text(&r.remote.CardURL)(m) },
	"agent_card_json":  func(r *reading, m *position.Member) { r.text(&r.remote.CardJSON)(m) },
	"auth":             (*reading).auth,
}

// otherSpellings are names that mean one of keys, folded.
var otherSpellings = map[string]string{
	"timeoutmins":    "max_time_minutes",
	"timeoutminutes": "max_time_minutes",
	"allowedtools":   "tools",
	"excludetools":   "disallowed_tools",
	"deniedtools":    "disallowed_tools",
	"approvalmode":   "permission_mode",
}

// foreignKeys are keys of other programs that have no meaning here, folded,
// each with the reason.
var foreignKeys = map[string]string{
	"color":      "agents are shown alike",
	"mcpservers": "an agent uses the MCP servers of the session; list their tools in tools, as mcp_SERVER_*",
}

// spelling returns the first spelling of a key, and whether it is one.
func spelling(key string) (string, bool) {
	if _, ok := keys[key]; ok {
		return key, true
	}
	f := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
	if first, ok := otherSpellings[f]; ok {
		return first, true
	}
	for k := range keys {
		if folded(k) == f {
			return k, true
		}
	}
	return "", false
}

// auth reads how to authenticate. An agent whose authentication cannot be used
// is lost, as it must not be asked without.
func (r *reading) auth(m *position.Member) {
	if _, ok := m.Value.(*position.Table); !ok {
		r.lost(m.Line, "The value of auth is no list of keys and values.", "Write auth: and below it type: apiKey and key: $NAME.")
		return
	}
	a := &Auth{}
	secrets := map[string]*Secret{"key": &a.Key, "token": &a.Token, "username": &a.Username, "password": &a.Password, "value": &a.Value}
	for _, field := range m.Members() {
		text, ok := field.Text()
		text = strings.TrimSpace(text)
		switch secret := secrets[field.Key]; {
		case !ok || text == "":
			r.lost(field.Line, fmt.Sprintf("The value of %s in auth is no text.", escape.Clip(escape.Line(field.Key), 60)), "")
		case field.Key == "type":
			a.Type = AuthType(text)
		case field.Key == "name":
			a.Header = text
		case field.Key == "scheme":
			a.Scheme = text
		case secret != nil:
			*secret = Secret(text)
			if secret.IsCommand() && r.source.Scope != ScopeUser {
				r.lost(field.Line, fmt.Sprintf("The value of %s in auth is a command; only the user's own agents may run one.", field.Key),
					"Put the value into a variable of the environment, and write $NAME.")
			}
		default:
			r.warn(field.Line, fmt.Sprintf("The key %s in auth is not known.", quoted(field.Key)), "")
		}
	}
	if r.isLost {
		return
	}
	if wrong := a.check(); wrong != "" {
		r.lost(m.Line, "The value of auth cannot be used: "+wrong+".", "See the manual's page on agents.")
		return
	}
	r.remote.Auth = a
}

// check says what is wrong, as a clause.
func (a *Auth) check() string {
	switch a.Type {
	case AuthAPIKey:
		if a.Key == "" {
			return "apiKey needs a key"
		}
	case AuthHTTP:
		switch scheme := strings.ToLower(a.Scheme); {
		case a.Value != "" && a.Scheme != "":
		case scheme == "bearer" && a.Token != "":
		case scheme == "basic" && a.Username != "" && a.Password != "":
		default:
			return "http needs the scheme Bearer with a token, Basic with username and password, or any scheme with a value"
		}
	default:
		return "its type is neither apiKey nor http"
	}
	return ""
}
