package oauth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/fettle-dev/fettle/core/mcp"
)

// demand is the content of a server's challenge when it refuses a request.
type demand struct {
	metadata string   // the address of the resource's metadata; "": not given
	scopes   []string // nil: not given
	problem  string   // for example "insufficient_scope"
}

// demandOf parses the challenges of an answer. Malformed ones are ignored.
func demandOf(h http.Header) demand {
	var d demand
	challenges, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return d
	}
	for _, c := range challenges {
		if c.Scheme != "bearer" {
			continue
		}
		if d.metadata == "" {
			d.metadata = c.Params["resource_metadata"]
		}
		if d.scopes == nil && c.Params["scope"] != "" {
			d.scopes = strings.Fields(c.Params["scope"])
		}
		if d.problem == "" {
			d.problem = c.Params["error"]
		}
	}
	return d
}

// place is an authorization server and the parameters of a sign-in there.
type place struct {
	resource string // for which tokens are issued
	issuer   string
	meta     oauthex.AuthServerMeta
	// checkIssuer states that the issuer is known, rather than derived from the
	// endpoints.
	checkIssuer bool
	scopes      []string // to request; nil: the server's default
	guessed     bool     // no metadata was found; the endpoints are the defaults of the revision 2025-03-26
}

// probe sends a request without a token to receive the server's challenge. wanted
// reports whether the server requires a token.
func (s *Service) probe(ctx context.Context, spec mcp.ServerSpec) (_ demand, wanted bool, _ error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, spec.URL, nil)
	if err != nil {
		return demand{}, false, unusable(spec.Name, "its address is invalid.", "")
	}
	for name, value := range spec.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Del("Authorization")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := s.client.Do(r)
	if err != nil {
		if ctx.Err() == nil && !passing(err) {
			return demand{}, true, nil // a redirect; the well-known addresses remain
		}
		return demand{}, false, failed(ctx, spec.Name, spec.URL, err)
	}
	_ = resp.Body.Close() // the body is not needed
	if resp.StatusCode != http.StatusUnauthorized {
		return demand{}, false, nil
	}
	return demandOf(resp.Header), true, nil
}

// discover determines the authorization server of an MCP server.
func (s *Service) discover(ctx context.Context, spec mcp.ServerSpec, d demand) (place, error) {
	k, err := keyOf(spec)
	if err != nil {
		return place{}, err
	}
	if why := trustworthy(k.url, k.url); why != "" {
		return place{}, unusable(spec.Name, "its address does not use https, so a token would be sent unencrypted.", "Use its https address.")
	}
	o := mcp.OAuthSpec{}
	if spec.OAuth != nil {
		o = *spec.OAuth
	}
	declared, err := s.resourceMetadata(ctx, spec.Name, k.url, d.metadata)
	if err != nil {
		return place{}, err
	}
	p := place{resource: k.url, scopes: d.scopes, checkIssuer: true}
	issuers := []string{origin(k.url)} // as in the revision 2025-03-26, where the server is its own authorization server
	if declared != nil {
		p.resource = declared.Resource
		issuers = declared.AuthorizationServers
		if p.scopes == nil {
			p.scopes = declared.ScopesSupported
		}
	}
	if len(o.Scopes) > 0 {
		p.scopes = union(o.Scopes, d.scopes)
	}
	switch {
	case o.Issuer == "":
		p.issuer = issuers[0]
	case declared != nil && !slices.ContainsFunc(issuers, func(i string) bool { return sameIssuer(i, o.Issuer) }):
		return place{}, refused(spec.Name, "it names "+origin(issuers[0])+" as its authorization server, but the settings name "+origin(o.Issuer)+".")
	default:
		p.issuer = o.Issuer
	}
	if o.AuthorizationURL != "" && o.TokenURL != "" {
		p.meta = oauthex.AuthServerMeta{Issuer: p.issuer, CodeChallengeMethodsSupported: []string{"S256"}}
		p.checkIssuer = o.Issuer != "" || declared != nil
	} else if p.meta, p.guessed, err = s.serverMetadata(ctx, spec.Name, k.url, p.issuer, declared == nil && o.Issuer == ""); err != nil {
		return place{}, err
	}
	p.guessed = p.guessed && declared == nil && o.Issuer+o.AuthorizationURL+o.TokenURL == ""
	override(&p.meta.AuthorizationEndpoint, o.AuthorizationURL)
	override(&p.meta.TokenEndpoint, o.TokenURL)
	override(&p.meta.RegistrationEndpoint, o.RegistrationURL)
	for _, endpoint := range []string{p.meta.AuthorizationEndpoint, p.meta.TokenEndpoint, p.meta.RegistrationEndpoint} {
		if endpoint == "" {
			continue
		}
		if why := trustworthy(endpoint, k.url); why != "" {
			return place{}, refused(spec.Name, why)
		}
	}
	if p.scopes != nil && slices.Contains(p.meta.ScopesSupported, offline) {
		p.scopes = union(p.scopes, []string{offline})
	}
	return p, nil
}

// offline is the scope that makes OpenID providers issue refresh tokens.
const offline = "offline_access"

func override(endpoint *string, setting string) {
	if setting != "" {
		*endpoint = setting
	}
}

// union returns the texts of both lists without duplicates, in order.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, text := range b {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// resourceMetadata returns the metadata that a server declares (RFC 9728), or nil
// if it declares none. They must name the server itself and an authorization
// server.
func (s *Service) resourceMetadata(ctx context.Context, name, address, named string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, unusable(name, "its address is invalid.", "")
	}
	const document = "oauth-protected-resource"
	places := []string{wellKnown(u, document, u.Path), wellKnown(u, document, "")}
	if named != "" {
		if why := trustworthy(named, address); why != "" {
			return nil, refused(name, why)
		}
		places = slices.Insert(places, 0, named)
	}
	for _, at := range slices.Compact(places) {
		var declared oauthex.ProtectedResourceMetadata
		err := s.getJSON(ctx, at, &declared)
		if err != nil && absent(err) && ctx.Err() == nil {
			continue // it may be at another address, even if the server reports a wrong one
		}
		if err != nil {
			return nil, failed(ctx, name, at, err)
		}
		if !coversResource(declared.Resource, address) {
			return nil, refused(name, "it declares itself as another resource, at "+origin(declared.Resource)+".")
		}
		if len(declared.AuthorizationServers) == 0 {
			return nil, refused(name, "it names no authorization server.")
		}
		for _, issuer := range declared.AuthorizationServers {
			if why := trustworthy(issuer, address); why != "" {
				return nil, refused(name, why)
			}
		}
		return &declared, nil
	}
	return nil, nil
}

// serverMetadata returns the metadata of an authorization server (RFC 8414,
// OpenID Connect Discovery). Without metadata it returns the default endpoints of
// the revision 2025-03-26, and guessed is true. assumed states that the issuer
// was not declared: an issuer of the same origin is accepted.
func (s *Service) serverMetadata(ctx context.Context, name, server, issuer string, assumed bool) (_ oauthex.AuthServerMeta, guessed bool, _ error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return oauthex.AuthServerMeta{}, false, refused(name, "its authorization server has no valid address.")
	}
	if why := trustworthy(issuer, server); why != "" {
		return oauthex.AuthServerMeta{}, false, refused(name, why)
	}
	const oauthDocument, openDocument = "oauth-authorization-server", "openid-configuration"
	places := []string{wellKnown(u, oauthDocument, u.Path), wellKnown(u, openDocument, u.Path)}
	if path := strings.TrimRight(u.Path, "/"); path != "" {
		places = append(places, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path + "/.well-known/" + openDocument}).String())
	}
	for _, at := range places {
		var meta oauthex.AuthServerMeta
		err := s.getJSON(ctx, at, &meta)
		if err != nil && absent(err) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return meta, false, failed(ctx, name, at, err)
		}
		switch {
		case !sameIssuer(meta.Issuer, issuer) && !(assumed && origin(meta.Issuer) == origin(issuer)):
			return meta, false, refused(name, "the authorization server at "+origin(issuer)+" declares a different issuer, "+origin(meta.Issuer)+".")
		case meta.TokenEndpoint == "":
			return meta, false, refused(name, "the authorization server "+origin(issuer)+" names no token endpoint.")
		}
		return meta, false, nil
	}
	base := strings.TrimRight(issuer, "/")
	return oauthex.AuthServerMeta{
		Issuer: issuer, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register",
		CodeChallengeMethodsSupported: []string{"S256"},
	}, true, nil
}
