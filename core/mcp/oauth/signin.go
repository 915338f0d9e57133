package oauth

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/fettle-dev/fettle/core/mcp"
)

// signInMachine gets tokens with the client-credentials grant.
func (s *Service) signInMachine(ctx context.Context, spec mcp.ServerSpec, p place) error {
	k, err := keyOf(spec)
	if err != nil {
		return err
	}
	c, _ := configured(spec, p.meta)
	e := s.entry(k, p, c)
	e.Machine = true
	if err := s.store.put(ctx, e); err != nil {
		return err
	}
	if err := s.renew(ctx, spec, k, func(entry) bool { return false }); err != nil {
		return err
	}
	if e, ok, err := s.usable(ctx, spec, k); err != nil || ok && e.AccessToken != "" {
		return err
	}
	return refused(spec.Name, "the authorization server "+origin(p.meta.Issuer)+" refuses the client secret.")
}

// entry returns the entry of a sign-in, without tokens.
func (s *Service) entry(k key, p place, c identity) entry {
	e := entry{
		Server: k.name, URL: k.url, Issuer: p.meta.Issuer, Resource: p.resource, TokenURL: p.meta.TokenEndpoint,
		ClientID: c.id, AuthMethod: c.method, Registered: c.registered, Asked: p.scopes, UpdatedAt: s.o.Now().UTC(),
	}
	if c.registered {
		e.ClientSecret, e.SecretUntil = c.secret, c.until
	}
	return e
}

// signInPerson opens the sign-in page and exchanges the returned code for tokens.
// If asked, it ignores the state of an earlier sign-in.
func (s *Service) signInPerson(ctx context.Context, spec mcp.ServerSpec, p place, asked bool) error {
	k, err := keyOf(spec)
	if err != nil {
		return err
	}
	if s.o.OpenURL == nil {
		return needed(spec.Name, fmt.Sprintf("The MCP server %q requires a sign-in, but no user is available to open the page.", spec.Name))
	}
	if p.meta.AuthorizationEndpoint == "" {
		return refused(spec.Name, "the authorization server "+origin(p.meta.Issuer)+" has no sign-in page.")
	}
	if !slices.Contains(p.meta.CodeChallengeMethodsSupported, "S256") {
		return refused(spec.Name, "the authorization server "+origin(p.meta.Issuer)+" does not protect the sign-in with PKCE (S256).")
	}
	before, known, err := s.usable(ctx, spec, k)
	if err != nil {
		return err
	}
	var reuse *entry
	if known && !asked && sameIssuer(before.Issuer, p.meta.Issuer) {
		reuse = &before
	}

	l, err := s.listen(ctx, spec, reuse)
	if err != nil {
		return err
	}
	defer l.close(ctx)
	c, err := s.identify(ctx, spec, p, l.redirect, reuse)
	if err != nil {
		return err
	}
	config := &oauth2.Config{
		ClientID: c.id, ClientSecret: string(c.secret), RedirectURL: l.redirect, Scopes: p.scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.meta.AuthorizationEndpoint, TokenURL: p.meta.TokenEndpoint, AuthStyle: c.style()},
	}
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", p.resource)}
	if spec.OAuth != nil && len(spec.OAuth.Audiences) > 0 {
		options = append(options, oauth2.SetAuthURLParam("audience", strings.Join(spec.OAuth.Audiences, " ")))
	}
	code, err := s.ask(ctx, spec, p, l, state, config.AuthCodeURL(state, options...))
	if err != nil {
		return err
	}
	token, err := config.Exchange(s.httpContext(ctx), code, oauth2.VerifierOption(verifier), oauth2.SetAuthURLParam("resource", p.resource))
	if err != nil {
		return s.tokenError(ctx, spec.Name, p.meta.TokenEndpoint, err)
	}
	e := s.entry(k, p, c)
	if c.registered {
		e.RedirectURI = l.redirect
	}
	if why := e.take(token, s.o.Now()); why != "" {
		return refused(spec.Name, why)
	}
	s.o.Logger.Info("signed in at an MCP server", "server", spec.Name)
	late, stop := withGrace(ctx) // the only copy of the tokens must be stored
	defer stop()
	return s.store.put(late, e)
}

// ask shows the sign-in page to the user and returns the authorization code.
func (s *Service) ask(ctx context.Context, spec mcp.ServerSpec, p place, l *listener, state, address string) (string, error) {
	l.expect(state)
	shown := make(chan error, 1)
	opening, stop := context.WithCancel(ctx)
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		shown <- s.o.OpenURL(opening, address)
	}()
	defer func() {
		stop()
		<-opened
	}()
	timer := time.NewTimer(s.o.CallbackTimeout)
	defer timer.Stop()
	for {
		select {
		case err := <-shown:
			if err != nil && ctx.Err() == nil {
				return "", refused(spec.Name, "the sign-in page could not be opened"+reason(err, state)+".")
			}
			shown = nil // from now on it waits for the user
		case a := <-l.answers:
			return p.check(spec.Name, a)
		case <-timer.C:
			return "", refused(spec.Name, fmt.Sprintf("no one signed in within %s.", s.o.CallbackTimeout))
		case <-ctx.Done():
			return "", cancelled(ctx, spec.Name)
		}
	}
}

// reason returns an error's text after a colon, or "" if it repeats the address
// of the page.
func reason(err error, state string) string {
	if text := err.Error(); !strings.Contains(text, state) {
		return ": " + strings.TrimRight(text, ".")
	}
	return ""
}

// check returns the code of a response. If the authorization server identifies
// itself (RFC 9207), it must be the expected one.
func (p place) check(name string, a answer) (string, error) {
	switch {
	case a.issuer == "" && p.meta.AuthorizationResponseIssParameterSupported:
		return "", refused(name, "the response does not name its authorization server, although "+origin(p.meta.Issuer)+" declares that it does.")
	case a.issuer != "" && p.checkIssuer && a.issuer != p.meta.Issuer:
		return "", refused(name, "the response is from another authorization server than "+origin(p.meta.Issuer)+".")
	case a.problem == "access_denied":
		return "", refused(name, "it was declined.")
	case a.problem != "":
		return "", refused(name, "the authorization server "+origin(p.meta.Issuer)+" declines"+known(a.problem)+".")
	case a.code == "":
		return "", refused(name, "the response of "+origin(p.meta.Issuer)+" has no code.")
	}
	return a.code, nil
}
