package a2a_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/a2a"
)

const secret = "topsecret"

func bearer() *subagent.Auth {
	return &subagent.Auth{Type: subagent.AuthHTTP, Scheme: "Bearer", Token: "$TOKEN"}
}

func env(name string) string {
	if name == "TOKEN" {
		return secret
	}
	return ""
}

// The card is fetched without authentication, and with it if the server requires it.
func TestCardWithAuth(t *testing.T) {
	for _, closed := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		var got []string
		var srv *httptest.Server
		srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who := r.Header.Get("Authorization")
			got = append(got, r.Method+" "+r.URL.Path+" "+who)
			if who != "Bearer "+secret {
				w.WriteHeader(closed)
				return
			}
			if r.Method == http.MethodGet {
				_, _ = fmt.Fprintf(w, `{"name":"x","url":%q}`, srv.URL)
				return
			}
			gives(strings.ReplaceAll(finished, "It is done.", "Hello "+who))(w, "1", nil)
		}))
		defer srv.Close()
		d := definition(srv.URL + "/my/card.json")
		d.Remote.Auth = bearer()
		r := call(t, service(t, a2a.Options{Getenv: env}), d, "x")
		require.Nil(t, r.Error)
		require.Equal(t, []string{"GET /my/card.json ", "GET /my/card.json Bearer " + secret, "POST / Bearer " + secret}, got)
		require.Contains(t, r.LLMContent.String(), "Hello Bearer (hidden)")
	}
}

// The kinds of authentication, and the use of their values.
func TestAuth(t *testing.T) {
	tests := map[string]struct {
		auth subagent.Auth
		want string
	}{
		"key":             {subagent.Auth{Type: subagent.AuthAPIKey, Key: "$TOKEN"}, "X-Api-Key: topsecret"},
		"key elsewhere":   {subagent.Auth{Type: subagent.AuthAPIKey, Header: "x-other", Key: "$$TOKEN"}, "X-Other: $TOKEN"},
		"bearer":          {subagent.Auth{Type: subagent.AuthHTTP, Scheme: "bearer", Token: "literal"}, "Authorization: Bearer literal"},
		"basic":           {subagent.Auth{Type: subagent.AuthHTTP, Scheme: "Basic", Username: "u", Password: "$TOKEN"}, "Authorization: Basic dTp0b3BzZWNyZXQ="},
		"any":             {subagent.Auth{Type: subagent.AuthHTTP, Scheme: "Digest", Value: "!!x"}, "Authorization: Digest !x"},
		"command's value": {subagent.Auth{Type: subagent.AuthAPIKey, Key: "!pass"}, "X-Api-Key: of pass"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r.Header
				gives(finished)(w, "1", nil)
			}))
			d := definition(srv.URL)
			d.Source.Scope, d.Remote.Auth = subagent.ScopeUser, &tt.auth
			r := call(t, service(t, a2a.Options{Getenv: env, Run: func(_ context.Context, command string) (string, error) { return "of " + command + "\n", nil }}), d, "x")
			require.Nil(t, r.Error)
			header, value, _ := strings.Cut(tt.want, ": ")
			require.Equal(t, value, got.Get(header))
		})
	}
}

// No error shows a secret.
func TestAuthFails(t *testing.T) {
	tests := map[string]struct {
		auth subagent.Auth
		rpc  reply
		want string
	}{
		"not set":      {subagent.Auth{Type: subagent.AuthAPIKey, Key: "$OTHER"}, nil, "the variable OTHER of its authentication is not set"},
		"a line break": {subagent.Auth{Type: subagent.AuthAPIKey, Key: secret + "\nx: y"}, nil, "not result in a valid header"},
		"a header":     {subagent.Auth{Type: subagent.AuthAPIKey, Header: "Host", Key: secret}, nil, "not result in a valid header"},
		"a command":    {subagent.Auth{Type: subagent.AuthAPIKey, Key: "!echo " + secret}, nil, "which is not allowed here"},
		"repeated":     {*bearer(), fails(-32603, "I do not know "+secret), "error -32603: I do not know (hidden)"},
		"closed":       {*bearer(), status(http.StatusForbidden), "denied access (HTTP status 403)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := newServer(t, &handler{by: map[string][]reply{"message/send": {tt.rpc}}})
			d := definition(srv.URL + "/?token=" + secret)
			d.Remote.Auth = &tt.auth
			r := call(t, service(t, a2a.Options{Getenv: env}), d, "x")
			require.NotNil(t, r.Error)
			require.Contains(t, r.Error.Message, tt.want)
			text, err := json.Marshal(r)
			require.NoError(t, err)
			for _, shown := range []string{string(text), r.Error.Error(), fmt.Sprintf("%+v %#v", r.Error, r.Error)} {
				require.NotContains(t, shown, secret)
			}
		})
	}
}

// A command runs again if the server rejects its value.
func TestCommandAgain(t *testing.T) {
	var runs int
	srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "value 2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		gives(finished)(w, "1", nil)
	}))
	d := definition(srv.URL)
	d.Remote.Auth = &subagent.Auth{Type: subagent.AuthAPIKey, Key: "!token"}
	o := a2a.Options{Run: func(context.Context, string) (string, error) {
		runs++
		return fmt.Sprintf("value %d", runs), nil
	}}
	require.Nil(t, call(t, service(t, o), d, "x").Error)
	require.Equal(t, 2, runs)

	o.Run = func(context.Context, string) (string, error) { return "", errors.New("no " + secret) }
	r := call(t, service(t, o), d, "x")
	require.Contains(t, r.Error.Message, "the command of its authentication failed")
	require.NotContains(t, r.Error.Error(), secret)
}

// Credentials stay with the host that they belong to.
func TestRedirectKeepsCredentials(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		var got []string
		var other, srv *httptest.Server
		note := func(r *http.Request) string {
			who := r.Header.Get("X-API-Key")
			got = append(got, r.URL.Path+" "+who)
			return who
		}
		other = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			note(r)
			_, _ = fmt.Fprintf(w, `{"name":"x","url":%q}`, srv.URL)
		}))
		defer other.Close()
		srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch who := note(r); {
			case who == "":
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/a.json" && elsewhere:
				http.Redirect(w, r, other.URL+"/b.json", http.StatusFound)
			case r.URL.Path == "/a.json":
				http.Redirect(w, r, "/b.json", http.StatusFound)
			case r.URL.Path == "/b.json":
				_, _ = fmt.Fprintf(w, `{"name":"x","url":%q}`, srv.URL)
			default:
				gives(finished)(w, "1", nil)
			}
		}))
		defer srv.Close()
		d := definition(srv.URL + "/a.json")
		d.Remote.Auth = &subagent.Auth{Type: subagent.AuthAPIKey, Key: secret}
		r := call(t, service(t, a2a.Options{}), d, "x")
		require.Nil(t, r.Error)
		want := "/b.json " + secret
		if elsewhere {
			want = "/b.json "
		}
		require.Equal(t, []string{"/a.json ", "/a.json " + secret, want, "/ " + secret}, got)
	}
}

func TestCards(t *testing.T) {
	tests := map[string]struct {
		path, at, card string // URL in the definition, path of the card, content of the card
		want           string // "": the call succeeds
	}{
		"the URL itself":   {"/x/y", "/x/y", `{"url":"URL"}`, ""},
		"well-known":       {"", "/.well-known/agent-card.json", `{"url":"URL"}`, ""},
		"the older name":   {"/", "/.well-known/agent.json", `{"url":"URL"}`, ""},
		"below a path":     {"/x", "/x/.well-known/agent-card.json", `{"url":"URL"}`, ""},
		"relative":         {"/c.json", "/c.json", `{"url":"/rpc"}`, ""},
		"another way":      {"/c.json", "/c.json", `{"url":"URL","preferredTransport":"GRPC","additionalInterfaces":[{"transport":"JSONRPC","url":"URL"}]}`, ""},
		"odd schemes":      {"/c.json", "/c.json", `{"url":"URL","securitySchemes":[1],"security":"x"}`, ""},
		"nowhere":          {"/x", "/y", `{}`, "has no card at"},
		"no JSON":          {"/c.json", "/c.json", `<html>`, "is not a JSON object"},
		"no URL":           {"/c.json", "/c.json", `{"name":"x"}`, "names no URL"},
		"other types":      {"/c.json", "/c.json", `{"url":1}`, "has values of types"},
		"gRPC alone":       {"/c.json", "/c.json", `{"url":"URL","preferredTransport":"GRPC"}`, "does not offer JSON-RPC"},
		"another host":     {"/c.json", "/c.json", `{"url":"https://elsewhere.example.com/?key=topsecret"}`, "names a different host, or a less secure scheme: https://elsewhere.example.com/"},
		"1.0 and 0.3":      {"/c.json", "/c.json", `{"name":"x","supportedInterfaces":[{"url":"URL/v1","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"URL","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}`, ""},
		"1.0 alone":        {"/c.json", "/c.json", `{"name":"x","supportedInterfaces":[{"url":"URL","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, "offers A2A 1.0 only, and fettle speaks A2A 0.3"},
		"1.0 with a URL":   {"/c.json", "/c.json", `{"url":"URL","supportedInterfaces":[{"url":"URL/v1","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, ""},
		"0.3 over gRPC":    {"/c.json", "/c.json", `{"supportedInterfaces":[{"url":"URL","protocolBinding":"GRPC","protocolVersion":"0.3"}]}`, "does not offer JSON-RPC"},
		"odd interfaces":   {"/c.json", "/c.json", `{"supportedInterfaces":{}}`, "has values of types"},
		"loopback name":    {"/c.json", "/c.json", `{"url":"http://localhost:PORT/"}`, ""},
		"every address":    {"/c.json", "/c.json", `{"url":"http://0.0.0.0:PORT/"}`, ""},
		"every address, 6": {"/c.json", "/c.json", `{"url":"http://[::]:PORT/"}`, ""},
		"a private host":   {"/c.json", "/c.json", `{"url":"http://192.168.1.2:PORT/"}`, "names a different host"},
		"a file":           {"/c.json", "/c.json", `{"url":"file:///etc/passwd"}`, "names a URL that"},
		"too long":         {"/c.json", "/c.json", `{"url":"URL","name":"` + strings.Repeat("x", 1<<20) + `"}`, "more than 1024 KiB"},
		"a failing server": {"/c.json", "/c.json", "500", "(HTTP status 500)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var srv *httptest.Server
			srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPost:
					gives(finished)(w, "1", nil)
				case r.URL.Path != tt.at:
					http.NotFound(w, r)
				case tt.card == "500":
					w.WriteHeader(500)
				default:
					port := srv.URL[strings.LastIndex(srv.URL, ":")+1:]
					_, _ = io.WriteString(w, strings.NewReplacer("URL", srv.URL, "PORT", port).Replace(tt.card))
				}
			}))
			defer srv.Close()
			r := call(t, service(t, a2a.Options{}), definition(srv.URL+tt.path), "x")
			if tt.want == "" {
				require.Nil(t, r.Error)
				return
			}
			require.NotNil(t, r.Error)
			require.Contains(t, r.Error.Message, tt.want)
			require.NotContains(t, r.Error.Error(), secret)
		})
	}
}

// A card in the definition is not fetched, and describes the agent at once.
func TestCardInDefinition(t *testing.T) {
	srv := newServer(t, &handler{by: map[string][]reply{"message/send": {gives(finished)}}})
	d := definition("")
	d.Remote.CardJSON = srv.card()
	s := service(t, a2a.Options{})
	made, err := s.Tool(d, nil)
	require.NoError(t, err)
	require.Contains(t, made.Spec().Description, "Echoes.")
	require.Contains(t, made.Spec().Description, "Says it again.\n- echo: Repeats.")
	require.Nil(t, call(t, s, d, "x").Error)
	require.Equal(t, []string{"POST /rpc"}, srv.requested())
}

func TestFetchedCardDescribes(t *testing.T) {
	srv := newServer(t, http.NotFoundHandler())
	s := service(t, a2a.Options{})
	description, err := s.Card(t.Context(), definition(srv.URL))
	require.NoError(t, err)
	require.Equal(t, "Says it again.\n- echo: Repeats.", description)
	made, err := s.Tool(definition(srv.URL), nil)
	require.NoError(t, err)
	require.Contains(t, made.Spec().Description, description)
}

// An agent of a project or an extension cannot reach this machine.
func TestPrivateAddress(t *testing.T) {
	srv := newServer(t, &handler{by: map[string][]reply{"message/send": {gives(finished)}}})
	for _, scope := range []subagent.Scope{subagent.ScopeProject, subagent.ScopeExtension} {
		d := definition(srv.URL)
		d.Source.Scope = scope
		r := call(t, service(t, a2a.Options{}), d, "x")
		require.NotNil(t, r.Error)
		require.Equal(t, fault.PrivateAddress, r.Error.Reason)
		require.Empty(t, srv.requested())
	}
	d := definition(srv.URL)
	d.Source.Scope = subagent.ScopeProject
	require.Nil(t, call(t, service(t, a2a.Options{Private: func(*subagent.Definition) bool { return true }}), d, "x").Error)
}

func TestInvalidDefinitions(t *testing.T) {
	tests := map[string]func(d *subagent.Definition){
		"it is not remote":                        func(d *subagent.Definition) { d.Kind = subagent.KindLocal },
		"needs either":                            func(d *subagent.Definition) { d.Remote.CardURL = "" },
		"is not an absolute URL":                  func(d *subagent.Definition) { d.Remote.CardURL = "card.json" },
		"other than http and https":               func(d *subagent.Definition) { d.Remote.CardURL = "file:///etc/passwd" },
		"contains a user name":                    func(d *subagent.Definition) { d.Remote.CardURL = "https://me:topsecret@example.com" },
		"is not a JSON object":                    func(d *subagent.Definition) { d.Remote = &subagent.Remote{CardJSON: "[]"} },
		"names a URL that is not an absolute URL": func(d *subagent.Definition) { d.Remote = &subagent.Remote{CardJSON: `{"url":"/x"}`} },
		"has a character other":                   func(d *subagent.Definition) { d.Name = "a b" },
	}
	for want, change := range tests {
		d := definition("https://example.com")
		change(&d)
		_, err := service(t, a2a.Options{}).Tool(d, nil)
		require.ErrorContains(t, err, want)
		require.True(t, errors.Is(err, &fault.Error{Code: fault.InvalidConfig}))
		require.NotContains(t, err.Error(), secret)
	}
}

// A definition with other authentication is a separate agent.
func TestChangedDefinition(t *testing.T) {
	srv := newServer(t, &handler{by: map[string][]reply{"message/send": {gives(finished)}}})
	s := service(t, a2a.Options{})
	for _, key := range []string{"first-key", "second-key"} {
		d := definition(srv.URL)
		d.Remote.Auth = &subagent.Auth{Type: subagent.AuthAPIKey, Key: subagent.Secret(key)}
		d.Description = "Of the " + key + "."
		made := tool(t, s, d)
		require.Contains(t, made.Spec().Description, d.Description)
		require.Nil(t, say(t, made, "x").Error)
	}
	var posts []string
	for _, r := range srv.requested() {
		if strings.HasPrefix(r, "POST") {
			posts = append(posts, r)
		}
	}
	require.Equal(t, []string{"POST /rpc first-key", "POST /rpc second-key"}, posts)
}
