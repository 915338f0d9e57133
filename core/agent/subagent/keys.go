package subagent

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// keys are the front matter keys, in their main spelling, each with its reader. Other spellings,
// such as maxTurns for max_turns, differ only in case, hyphens and underscores, or are in
// otherSpellings.
var keys = map[string]func(r *reading, m *position.Member){
	"name":             (*reading).name,
	"display_name":     func(r *reading, m *position.Member) { r.text(&r.d.DisplayName)(m) },
	"description":      func(r *reading, m *position.Member) { r.text(&r.d.Description)(m) },
	"kind":             (*reading).kind,
	"tools":            (*reading).tools,
	"disallowed_tools": (*reading).disallowedTools,
	"permission_mode":  (*reading).permissionMode,
	"isolation":        (*reading).isolation,
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

// otherSpellings are folded names that mean one of keys.
var otherSpellings = map[string]string{
	"timeoutmins":    "max_time_minutes",
	"timeoutminutes": "max_time_minutes",
	"allowedtools":   "tools",
	"excludetools":   "disallowed_tools",
	"deniedtools":    "disallowed_tools",
	"approvalmode":   "permission_mode",
}

// foreignKeys are folded keys of other programs that have no meaning here, each with the reason.
var foreignKeys = map[string]string{
	"color":      "all agents are shown alike",
	"mcpservers": "an agent uses the MCP servers of the session; list their tools in tools, as mcp_SERVER_*",
}

// spelling returns the main spelling of a key, and whether the key is known.
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

// auth reads the authentication. An agent with invalid authentication is dropped, because it must
// not be called without.
func (r *reading) auth(m *position.Member) {
	if _, ok := m.Value.(*position.Table); !ok {
		r.drop(m.Line, "The value of auth is not a list of keys and values.", "Write auth: and below it type: apiKey and key: $NAME.")
		return
	}
	a := &Auth{}
	secrets := map[string]*Secret{"key": &a.Key, "token": &a.Token, "username": &a.Username, "password": &a.Password, "value": &a.Value}
	for _, field := range m.Members() {
		text, ok := field.Text()
		text = strings.TrimSpace(text)
		switch secret := secrets[field.Key]; {
		case !ok || text == "":
			r.drop(field.Line, fmt.Sprintf("The value of %s in auth is not a text.", escape.Clip(escape.Line(field.Key), 60)), "")
		case field.Key == "type":
			a.Type = AuthType(text)
		case field.Key == "name":
			a.Header = text
		case field.Key == "scheme":
			a.Scheme = text
		case secret != nil:
			*secret = Secret(text)
			if secret.IsCommand() && r.source.Scope != ScopeUser {
				r.drop(field.Line, fmt.Sprintf("The value of %s in auth is a command; only the user's own agents may run one.", field.Key),
					"Put the value into a variable of the environment, and write $NAME.")
			}
		default:
			r.warn(field.Line, fmt.Sprintf("The key %s in auth is not known.", quoted(field.Key)), "")
		}
	}
	if r.dropped {
		return
	}
	if problem := a.check(); problem != "" {
		r.drop(m.Line, "The value of auth is not valid: "+problem+".", "See the page on agents in the documentation.")
		return
	}
	r.remote.Auth = a
}

// check returns the error as a clause; "" if a is valid.
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
