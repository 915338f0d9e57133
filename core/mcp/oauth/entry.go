package oauth

import (
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	"golang.org/x/oauth2"

	"github.com/fettle-dev/fettle/core/mcp"
)

// secret is text that is not printed.
type secret string

const masked = "[masked]"

func (secret) String() string       { return masked }
func (secret) GoString() string     { return masked }
func (secret) LogValue() slog.Value { return slog.StringValue(masked) }

// entry is the stored state of one server: the client, the data for renewal, and
// the tokens, which are both empty if only the client is known.
type entry struct {
	Server   string `json:"server"`
	URL      string `json:"url"`    // of the server, canonical
	Issuer   string `json:"issuer"` // of the tokens, and of the client
	Resource string `json:"resource,omitempty"`
	TokenURL string `json:"tokenUrl"`

	ClientID     string    `json:"clientId"`
	ClientSecret secret    `json:"clientSecret,omitempty"` // of a registered client; a configured one stays in the settings
	SecretUntil  time.Time `json:"clientSecretExpiresAt,omitzero"`
	AuthMethod   string    `json:"authMethod,omitempty"`  // at TokenURL, as named by RFC 7591
	Registered   bool      `json:"registered,omitempty"`  // by dynamic registration
	RedirectURI  string    `json:"redirectUri,omitempty"` // with which the client is registered
	Machine      bool      `json:"clientCredentials,omitempty"`

	Scopes       []string  `json:"scopes,omitempty"` // granted, or requested if the server does not report them
	Asked        []string  `json:"askedScopes,omitempty"`
	AccessToken  secret    `json:"accessToken,omitempty"`
	RefreshToken secret    `json:"refreshToken,omitempty"`
	ExpiresAt    time.Time `json:"expiresAt,omitzero"`
	UpdatedAt    time.Time `json:"updatedAt,omitzero"`

	unknown map[string]json.RawMessage // members unknown to this version
}

func (e entry) key() key { return key{e.Server, e.URL} }

// String describes the entry without its secrets.
func (e entry) String() string { return "tokens of " + e.Server }

// GoString returns the same as String.
func (e entry) GoString() string { return e.String() }

// LogValue returns the same as String.
func (e entry) LogValue() slog.Value { return slog.StringValue(e.String()) }

// parseEntry decodes an entry. ok is false for an invalid one.
func parseEntry(raw json.RawMessage) (e entry, ok bool) {
	if json.Unmarshal(raw, &e) != nil || e.Server == "" || e.URL == "" || e.Issuer == "" {
		return entry{}, false
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return entry{}, false
	}
	known, err := e.members()
	if err != nil {
		return entry{}, false
	}
	for name := range known {
		delete(all, name)
	}
	for _, name := range []string{
		"resource", "clientSecret", "clientSecretExpiresAt", "authMethod", "registered", "redirectUri", "clientCredentials",
		"scopes", "askedScopes", "accessToken", "refreshToken", "expiresAt", "updatedAt",
	} {
		delete(all, name) // known omits it if it is empty
	}
	e.unknown = all
	return e, true
}

func (e entry) members() (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	err = json.Unmarshal(raw, &all)
	return all, err
}

func (e entry) encode() (json.RawMessage, error) {
	all, err := e.members()
	if err != nil {
		return nil, err
	}
	maps.Copy(all, e.unknown)
	return json.Marshal(all)
}

// fits reports whether an entry may be used with the current settings of a
// server: with another client, issuer or token endpoint configured, it may not.
func (e entry) fits(spec mcp.ServerSpec) bool {
	o := spec.OAuth
	if o == nil {
		return e.Registered || e.byDocument() // otherwise its client was a configured one
	}
	switch {
	case o.Issuer != "" && !sameIssuer(o.Issuer, e.Issuer),
		o.TokenURL != "" && o.TokenURL != e.TokenURL,
		o.ClientID != "" && o.ClientID != e.ClientID,
		o.ClientID == "" && !e.Registered && !e.byDocument():
		return false
	}
	return true
}

// byDocument reports whether the client is identified by its metadata document.
func (e entry) byDocument() bool { return e.AuthMethod == methodDocument }

// valid reports whether the access token can be sent.
func (e entry) valid(now time.Time) bool {
	return e.AccessToken != "" && (e.ExpiresAt.IsZero() || now.Before(e.ExpiresAt))
}

// fresh reports whether the access token can be sent without refreshing it first.
// A short-lived token is fresh for three quarters of its lifetime.
func (e entry) fresh(now time.Time) bool {
	if !e.valid(now) || e.ExpiresAt.IsZero() {
		return e.valid(now)
	}
	margin := freshFor
	if life := e.ExpiresAt.Sub(e.UpdatedAt); life > 0 {
		margin = min(margin, life/4)
	}
	return now.Before(e.ExpiresAt.Add(-margin))
}

// renewable reports whether a new access token can be obtained without the user.
func (e entry) renewable() bool { return e.RefreshToken != "" || e.Machine }

func (e entry) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: string(e.AccessToken), TokenType: "Bearer", Expiry: e.ExpiresAt}
}
