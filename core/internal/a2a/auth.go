package a2a

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/fettle-dev/fettle/core/agent/subagent"
)

// credentials are an authentication header and its secret values.
type credentials struct {
	header, value string
	secrets       []string
}

// set sets the header of a request.
func (c *credentials) set(r *http.Request) {
	if c != nil {
		r.Header.Set(c.header, c.value)
	}
}

// remove removes the header.
func (c *credentials) remove(r *http.Request) {
	if c != nil {
		r.Header.Del(c.header)
	}
}

// redacted returns text without the secrets.
func (c *credentials) redacted(text string) string {
	if c == nil {
		return text
	}
	for _, s := range c.secrets {
		if len(s) > 3 { // a shorter one would occur in ordinary words
			text = strings.ReplaceAll(text, s, "(hidden)")
		}
	}
	return text
}

// resolve returns the credentials of an agent; nil if it has none.
func (r *remote) resolve(ctx context.Context) (*credentials, error) {
	a := r.d.Remote.Auth
	if a == nil {
		return nil, nil
	}
	c := &credentials{header: "Authorization"}
	secret := func(s subagent.Secret) (string, error) {
		value, err := r.secret(ctx, s)
		c.secrets = append(c.secrets, value)
		return value, err
	}
	var err error
	switch {
	case a.Type == subagent.AuthAPIKey:
		c.header = "X-API-Key"
		if a.Header != "" {
			c.header = a.Header
		}
		c.value, err = secret(a.Key)
	case a.Value != "":
		c.value, err = secret(a.Value)
		c.value = a.Scheme + " " + c.value
	case strings.EqualFold(a.Scheme, "basic"):
		var user, password string
		if user, err = secret(a.Username); err == nil {
			password, err = secret(a.Password)
		}
		encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
		c.value, c.secrets = "Basic "+encoded, append(c.secrets, encoded)
	default:
		c.value, err = secret(a.Token)
		c.value = "Bearer " + c.value
	}
	if err != nil {
		return nil, err
	}
	if !httpguts.ValidHeaderFieldName(c.header) || !httpguts.ValidHeaderFieldValue(c.value) || reserved(c.header) {
		return nil, r.fail("cannot be called, because its authentication does not result in a valid header", "Correct the values of auth in its definition.", nil)
	}
	return c, nil
}

// reserved reports whether the protocol itself uses a header.
func reserved(header string) bool {
	switch textproto.CanonicalMIMEHeaderKey(header) {
	case "Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection":
		return true
	}
	return false
}

// secret resolves one value.
func (r *remote) secret(ctx context.Context, s subagent.Secret) (string, error) {
	name, variable := s.Variable()
	switch {
	case variable:
		value := r.service.o.Getenv(name)
		if value == "" {
			return "", r.fail(fmt.Sprintf("cannot be called, because the variable %s of its authentication is not set", name), fmt.Sprintf("Set %s in the environment.", name), nil)
		}
		return value, nil
	case !s.IsCommand():
		return s.Literal(), nil
	case r.service.o.Run == nil || r.d.Source.Scope == subagent.ScopeProject || r.d.Source.Scope == subagent.ScopeExtension:
		return "", r.fail("cannot be called, because its authentication uses a command, which is not allowed here", "Put the value into a variable of the environment, and write $NAME.", nil)
	}
	value, err := r.service.o.Run(ctx, s.Command())
	value = strings.TrimRight(value, "\r\n")
	if err != nil || value == "" {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", r.fail("cannot be called, because the command of its authentication failed or printed nothing", "Run the command yourself to see its output.", nil)
	}
	return value, nil
}

// hasCommand reports whether resolving again may return a different value.
func (r *remote) hasCommand() bool {
	a := r.d.Remote.Auth
	if a == nil {
		return false
	}
	for _, s := range []subagent.Secret{a.Key, a.Token, a.Username, a.Password, a.Value} {
		if s.IsCommand() {
			return true
		}
	}
	return false
}
