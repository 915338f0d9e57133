package oauth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// handler is the auth.OAuthHandler of one connection.
type handler struct {
	s           *Service
	spec        mcp.ServerSpec
	interactive bool
}

// TokenSource returns the source of the server's tokens, which is valid as long
// as ctx.
func (h *handler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return source{h, ctx}, nil
}

// source looks the token up for each request.
type source struct {
	h   *handler
	ctx context.Context //nolint:containedctx // the interface that it has gives Token none
}

// Token returns the token to send, or nil if there is none: the server then
// states whether it requires one.
func (t source) Token() (*oauth2.Token, error) {
	s, spec := t.h.s, t.h.spec
	k, err := keyOf(spec)
	if err != nil {
		return nil, err
	}
	e, ok, err := s.current(t.ctx, spec, k)
	if fault.CodeOf(err) == fault.InvalidConfig {
		s.o.Logger.Warn("tokens cannot be read", "server", spec.Name, "error", err)
		return nil, nil //nolint:nilnil // Authorize reports it if the server requires a token
	}
	if err != nil || !ok {
		return nil, err
	}
	return e.token(), nil
}

// Authorize prepares a refused request for a retry: with the token that another
// request has obtained in the meantime, a refreshed one, or that of a new
// sign-in.
func (h *handler) Authorize(ctx context.Context, r *http.Request, resp *http.Response) error {
	_ = resp.Body.Close() // the body is not needed
	k, err := keyOf(h.spec)
	if err != nil {
		return err
	}
	if resp.Request != nil {
		r = resp.Request // as it was sent
	}
	d, used := demandOf(resp.Header), h.sent(r)
	more := resp.StatusCode == http.StatusForbidden
	if more && d.problem != "insufficient_scope" {
		return fault.New(fault.PermissionDenied, "mcp.oauth", fmt.Sprintf("The MCP server %q does not allow that (HTTP status 403).", h.spec.Name),
			"Check the permissions of the account that is signed in.")
	}
	return h.s.once(ctx, k, true, func(ctx context.Context) error {
		e, ok, err := h.s.usable(ctx, h.spec, k)
		if err != nil {
			return err
		}
		switch {
		case ok && e.valid(h.s.o.Now()) && string(e.AccessToken) != used:
			return nil // the token has changed
		case more:
			return h.extend(ctx, k, e, ok, d)
		}
		return h.obtain(ctx, k, e, ok, used, d)
	})
}

// sent returns the token that a request carried.
func (h *handler) sent(r *http.Request) string {
	if h.spec.OAuth != nil && h.spec.OAuth.TokenParamName != "" {
		if token := r.URL.Query().Get(h.spec.OAuth.TokenParamName); token != "" {
			return token
		}
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return token
}

// obtain gets a token for a server that requires one, or a new token.
func (h *handler) obtain(ctx context.Context, k key, e entry, known bool, used string, d demand) error {
	byItself := h.spec.OAuth != nil && h.spec.OAuth.ClientSecret != ""
	if !h.interactive && !byItself && !(known && e.renewable()) {
		return h.signInFirst()
	}
	p, err := h.s.discover(ctx, h.spec, d)
	if err != nil {
		return err
	}
	if known && e.renewable() && sameIssuer(e.Issuer, p.meta.Issuer) && e.TokenURL == p.meta.TokenEndpoint {
		err := h.s.renew(ctx, h.spec, k, func(e entry) bool { return e.valid(h.s.o.Now()) && string(e.AccessToken) != used })
		if err != nil {
			return err
		}
		if e, known, err = h.s.usable(ctx, h.spec, k); err != nil || known && e.AccessToken != "" {
			return err
		}
	}
	if machineOnly(h.spec, p.meta) {
		return h.s.signInMachine(ctx, h.spec, p)
	}
	if !h.interactive {
		return h.signInFirst()
	}
	return h.s.unasked(ctx, h.spec, k, p)
}

// extend gets a token with additional scopes. It does not request a scope again
// that was requested before: the server would refuse it without end.
func (h *handler) extend(ctx context.Context, k key, e entry, known bool, d demand) error {
	missing := d.scopes
	if known {
		missing = nil
		for _, scope := range d.scopes {
			if !slices.Contains(e.Asked, scope) {
				missing = append(missing, scope)
			}
		}
	}
	if len(missing) == 0 {
		return needed(h.spec.Name, fmt.Sprintf("The MCP server %q refuses the granted permissions, and names no further scope.", h.spec.Name))
	}
	if !h.interactive && !e.Machine {
		return needed(h.spec.Name, fmt.Sprintf("The MCP server %q requires a sign-in with more permissions.", h.spec.Name))
	}
	p, err := h.s.discover(ctx, h.spec, d)
	if err != nil {
		return err
	}
	if known && sameIssuer(e.Issuer, p.meta.Issuer) {
		p.scopes = union(union(e.Asked, e.Scopes), p.scopes) // keeps the granted scopes
	}
	if machineOnly(h.spec, p.meta) {
		return h.s.signInMachine(ctx, h.spec, p)
	}
	return h.s.unasked(ctx, h.spec, k, p)
}

func (h *handler) signInFirst() error {
	return needed(h.spec.Name, fmt.Sprintf("The MCP server %q requires a sign-in.", h.spec.Name))
}
