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

// demand is what a server asks for as it refuses a request.
type demand struct {
	metadata string   // where the resource's metadata are; "": not said
	scopes   []string // nil: not said
	problem  string   // as "insufficient_scope"
}

// demandOf reads the challenges of an answer. What is malformed is not said.
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

// place is where and how somebody is signed in.
type place struct {
	resource string // that tokens are for
	issuer   string
	meta     oauthex.AuthServerMeta
	// checkIssuer says that the issuer is known for sure, and not derived from where
	// the endpoints are.
	checkIssuer bool
	scopes      []string // to ask for; nil: the server's default
	guessed     bool     // nobody has said where; the places are those of the revision 2025-03-26
}

// probe asks a server without a token, so that it says what it wants. wanted is
// whether it wants a token.
func (s *Service) probe(ctx context.Context, spec mcp.ServerSpec) (_ demand, wanted bool, _ error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, spec.URL, nil)
	if err != nil {
		return demand{}, false, unusable(spec.Name, "its address cannot be used.", "")
	}
	for name, value := range spec.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Del("Authorization")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := s.client.Do(r)
	if err != nil {
		if ctx.Err() == nil && !passing(err) {
			return demand{}, true, nil // a redirect; the well-known places remain
		}
		return demand{}, false, failed(ctx, spec.Name, spec.URL, err)
	}
	_ = resp.Body.Close() // nobody reads it
	if resp.StatusCode != http.StatusUnauthorized {
		return demand{}, false, nil
	}
	return demandOf(resp.Header), true, nil
}

// discover finds out where tokens of a server come from.
func (s *Service) discover(ctx context.Context, spec mcp.ServerSpec, d demand) (place, error) {
	k, err := keyOf(spec)
	if err != nil {
		return place{}, err
	}
	if why := trustworthy(k.url, k.url); why != "" {
		return place{}, unusable(spec.Name, "its address is not reached by https, so that a token would travel unencrypted.", "Use its https address.")
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
	issuers := []string{origin(k.url)} // as in the revision 2025-03-26, where the server is its own
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
		return place{}, refused(spec.Name, "it names "+origin(issuers[0])+" as its authorization server, and the settings "+origin(o.Issuer)+".")
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

// offline is the scope that has OpenID providers give out refresh tokens.
const offline = "offline_access"

func override(endpoint *string, setting string) {
	if setting != "" {
		*endpoint = setting
	}
}

// union returns the texts of both, each once, in their order.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, text := range b {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// resourceMetadata returns what a server declares of itself (RFC 9728), nil if it
// declares nothing. It has to declare itself, and who signs in.
func (s *Service) resourceMetadata(ctx context.Context, name, address, named string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, unusable(name, "its address cannot be used.", "")
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
			continue // it may be elsewhere, also where the server knows its own address wrongly
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

// serverMetadata returns what an authorization server declares of itself (RFC
// 8414, OpenID Connect Discovery), or where its endpoints are by default if it
// declares nothing, as in the revision 2025-03-26: guessed is true then. assumed says that nobody has
// named the issuer: one of the same origin will do.
func (s *Service) serverMetadata(ctx context.Context, name, server, issuer string, assumed bool) (_ oauthex.AuthServerMeta, guessed bool, _ error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return oauthex.AuthServerMeta{}, false, refused(name, "its authorization server has no address that can be used.")
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
			return meta, false, refused(name, "the authorization server at "+origin(issuer)+" declares itself as another one, at "+origin(meta.Issuer)+".")
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
