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

// entry is what is kept of one server: whose the tokens are, how they are renewed,
// and the tokens, both empty where only the client is known.
type entry struct {
	Server   string `json:"server"`
	URL      string `json:"url"`    // of the server, canonical
	Issuer   string `json:"issuer"` // of the tokens, and of the client
	Resource string `json:"resource,omitempty"`
	TokenURL string `json:"tokenUrl"`

	ClientID     string    `json:"clientId"`
	ClientSecret secret    `json:"clientSecret,omitempty"` // of a registered client; the settings keep their own
	SecretUntil  time.Time `json:"clientSecretExpiresAt,omitzero"`
	AuthMethod   string    `json:"authMethod,omitempty"`  // at TokenURL, as RFC 7591 names it
	Registered   bool      `json:"registered,omitempty"`  // the client registered itself
	RedirectURI  string    `json:"redirectUri,omitempty"` // that the client is registered with
	Machine      bool      `json:"clientCredentials,omitempty"`

	Scopes       []string  `json:"scopes,omitempty"` // granted, or asked for where the server does not say
	Asked        []string  `json:"askedScopes,omitempty"`
	AccessToken  secret    `json:"accessToken,omitempty"`
	RefreshToken secret    `json:"refreshToken,omitempty"`
	ExpiresAt    time.Time `json:"expiresAt,omitzero"`
	UpdatedAt    time.Time `json:"updatedAt,omitzero"`

	unknown map[string]json.RawMessage // members that this version does not know
}

func (e entry) key() key { return key{e.Server, e.URL} }

// String names the entry without what it keeps.
func (e entry) String() string { return "tokens of " + e.Server }

// GoString is String.
func (e entry) GoString() string { return e.String() }

// LogValue is String.
func (e entry) LogValue() slog.Value { return slog.StringValue(e.String()) }

// parseEntry reads an entry; ok is false for what is none.
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
		delete(all, name) // left out of known where it is empty
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

// fits reports whether an entry may be used for a server as the settings have it
// now: whoever names another client, issuer or token endpoint gets nothing.
func (e entry) fits(spec mcp.ServerSpec) bool {
	o := spec.OAuth
	if o == nil {
		return e.Registered || e.byDocument() // else its client was the settings' own
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

// byDocument reports whether the client is known by its metadata document.
func (e entry) byDocument() bool { return e.AuthMethod == methodDocument }

// valid reports whether the access token can be sent.
func (e entry) valid(now time.Time) bool {
	return e.AccessToken != "" && (e.ExpiresAt.IsZero() || now.Before(e.ExpiresAt))
}

// fresh reports whether it can be sent and need not be refreshed yet. A token that
// lives for a short time only is fresh for three quarters of it.
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

// renewable reports whether a new access token can be had without the person.
func (e entry) renewable() bool { return e.RefreshToken != "" || e.Machine }

func (e entry) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: string(e.AccessToken), TokenType: "Bearer", Expiry: e.ExpiresAt}
}
