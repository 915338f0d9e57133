package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/fettle-dev/fettle/core/mcp"
)

// grace is the additional time for a running refresh, or for storing tokens,
// after the caller has given up: they may be the only valid ones.
const grace = 2 * time.Second

// current returns the entry for a request, refreshed if necessary. ok is false
// without a valid or renewable token.
func (s *Service) current(ctx context.Context, spec mcp.ServerSpec, k key) (e entry, ok bool, err error) {
	e, ok, err = s.usable(ctx, spec, k)
	if err != nil || !ok || e.fresh(s.o.Now()) {
		return e, ok && e.AccessToken != "", err
	}
	if valid := e.valid(s.o.Now()); !e.renewable() || valid && (s.resting(k) || s.busy(k)) {
		return e, valid, nil
	}
	err = s.once(ctx, k, true, func(ctx context.Context) error {
		return s.renew(ctx, spec, k, func(e entry) bool { return e.fresh(s.o.Now()) })
	})
	if err != nil && ctx.Err() == nil && e.valid(s.o.Now()) {
		s.o.Logger.Warn("the token of an MCP server could not be refreshed yet", "server", spec.Name)
		s.rest(k)
		return e, true, nil // it has not expired yet
	}
	if err != nil {
		return entry{}, false, err
	}
	e, ok, err = s.usable(ctx, spec, k)
	return e, ok && e.valid(s.o.Now()), err
}

// rest postpones the next refresh of a token that could not be refreshed, so that
// a slow authorization server does not delay every request.
func (s *Service) rest(k key) {
	srv := s.server(k)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.rest = s.o.Now().Add(restFor)
}

func (s *Service) resting(k key) bool {
	srv := s.server(k)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return s.o.Now().Before(srv.rest)
}

// busy reports whether another operation for the server runs: the user may be
// signing in.
func (s *Service) busy(k key) bool { return len(s.server(k).busy) > 0 }

// usable returns the entry of a server if it is compatible with the settings.
func (s *Service) usable(ctx context.Context, spec mcp.ServerSpec, k key) (entry, bool, error) {
	e, ok, err := s.store.find(ctx, k)
	return e, ok && err == nil && e.fits(spec), err
}

// renew exchanges the old access token for a new one and stores it. Only one
// process does so at a time, because a refresh token is often valid for one use
// only; good reports that another process has already renewed it. If the
// authorization server does not know the refresh token any more, renew deletes
// the tokens and returns no error.
func (s *Service) renew(ctx context.Context, spec mcp.ServerSpec, k key, good func(entry) bool) error {
	release, err := s.store.alone(ctx, k)
	if err != nil {
		return err
	}
	defer release()
	e, ok, err := s.usable(ctx, spec, k)
	if err != nil || !ok || good(e) || !e.renewable() {
		return err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {string(e.RefreshToken)}}
	if e.RefreshToken == "" {
		form = url.Values{"grant_type": {"client_credentials"}}
		if len(e.Asked) > 0 {
			form.Set("scope", strings.Join(e.Asked, " "))
		}
	}
	if e.Resource != "" {
		form.Set("resource", e.Resource)
	}
	late, stop := withGrace(ctx)
	defer stop()
	token, err := s.request(late, e.identity(spec), e.TokenURL, form)
	var answer *oauth2.RetrieveError
	switch {
	case errors.As(err, &answer) && slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client"}, answer.ErrorCode):
		s.o.Logger.Info("the sign-in at an MCP server has ended", "server", spec.Name)
		e.AccessToken, e.RefreshToken, e.ExpiresAt, e.Machine = "", "", time.Time{}, false
		if answer.ErrorCode != "invalid_grant" {
			e.Registered, e.RedirectURI = false, "" // the client is not known any more
		}
		return s.store.put(late, e)
	case err != nil:
		return s.tokenError(late, spec.Name, e.TokenURL, err)
	}
	if err := e.take(token, s.o.Now()); err != "" {
		return refused(spec.Name, err)
	}
	return s.store.put(late, e)
}

// request requests a token from a token endpoint. It uses x/oauth2's
// client-credentials package, the only one that sends all given parameters,
// including a resource with a refresh.
func (s *Service) request(ctx context.Context, c identity, endpoint string, form url.Values) (*oauth2.Token, error) {
	config := clientcredentials.Config{
		ClientID: c.id, ClientSecret: string(c.secret), TokenURL: endpoint, AuthStyle: c.style(), EndpointParams: form,
	}
	return config.Token(s.httpContext(ctx))
}

// identity returns the client to which the entry's tokens were issued.
func (e entry) identity(spec mcp.ServerSpec) identity {
	c := identity{id: e.ClientID, secret: e.ClientSecret, until: e.SecretUntil, method: e.AuthMethod, registered: e.Registered}
	if spec.OAuth != nil && spec.OAuth.ClientID == e.ClientID && !e.Registered {
		c.secret = secret(spec.OAuth.ClientSecret)
	}
	return c
}

// take stores an answer's tokens in the entry. It keeps the refresh token if the
// answer has none. It returns a description of a mistake in the answer, "" for
// none.
func (e *entry) take(t *oauth2.Token, now time.Time) string {
	place := origin(e.TokenURL)
	if t.TokenType != "" && !strings.EqualFold(t.TokenType, "bearer") {
		return "the authorization server " + place + " issues tokens of an unknown type."
	}
	if !sendable(t.AccessToken) || !sendable(t.RefreshToken) {
		return "the authorization server " + place + " issues tokens that cannot be sent."
	}
	e.AccessToken, e.UpdatedAt, e.ExpiresAt = secret(t.AccessToken), now.UTC(), time.Time{}
	if t.RefreshToken != "" {
		e.RefreshToken = secret(t.RefreshToken)
	}
	if !t.Expiry.IsZero() { // computed by x/oauth2 from its own clock
		e.ExpiresAt = now.UTC().Add(time.Until(t.Expiry).Round(time.Second)).Truncate(time.Second)
	}
	if scope, ok := t.Extra("scope").(string); ok && scope != "" {
		e.Scopes = strings.Fields(scope)
	} else if e.Scopes == nil {
		e.Scopes = e.Asked
	}
	return ""
}

// sendable reports whether a token is valid in a header.
func sendable(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// tokenError returns the error of a token request. It repeats at most a standard
// code of the answer, because some servers repeat the request.
func (s *Service) tokenError(ctx context.Context, name, endpoint string, err error) error {
	var answer *oauth2.RetrieveError
	switch {
	case ctx.Err() != nil:
		return cancelled(ctx, name)
	case errors.As(err, &answer):
		if answer.Response != nil && (answer.Response.StatusCode >= 500 || answer.Response.StatusCode == http.StatusTooManyRequests) {
			return unavailable(name, failure(endpoint, errStatus(answer.Response.StatusCode)))
		}
		return refused(name, "the authorization server "+origin(endpoint)+" issues no token"+known(answer.ErrorCode)+".")
	case passing(err):
		return unavailable(name, failure(endpoint, err))
	case errors.Is(err, errRedirect):
		return refused(name, failure(endpoint, err))
	}
	return refused(name, failure(endpoint, errNotJSON))
}

// withGrace returns a context that ends shortly after ctx.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	timer := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
		case <-timer:
		}
		cancel()
	})
	return late, func() {
		stop()
		close(timer)
		cancel()
	}
}
