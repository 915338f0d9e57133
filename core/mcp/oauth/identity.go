package oauth

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/fettle-dev/fettle/core/mcp"
)

// Methods of client authentication at a token endpoint.
const (
	methodNone     = "none"
	methodBasic    = "client_secret_basic"
	methodPost     = "client_secret_post"
	methodDocument = "client_id_metadata_document" // equivalent to none
)

// identity is a client as known to an authorization server.
type identity struct {
	id         string
	secret     secret
	until      time.Time // expiry of secret; zero: never
	method     string
	registered bool // by dynamic registration
}

// configured returns the client named in the settings.
func configured(spec mcp.ServerSpec, meta oauthex.AuthServerMeta) (identity, bool) {
	if spec.OAuth == nil || spec.OAuth.ClientID == "" {
		return identity{}, false
	}
	c := identity{id: spec.OAuth.ClientID, secret: secret(spec.OAuth.ClientSecret), method: methodNone}
	if c.secret != "" {
		c.method = methodBasic // the default for servers that do not declare a method
		if known := meta.TokenEndpointAuthMethodsSupported; len(known) > 0 && !slices.Contains(known, methodBasic) {
			c.method = methodPost
		}
	}
	return c, true
}

// machineOnly reports whether the configured client should use the
// client-credentials grant: the server issues tokens to programs and not to
// users.
func machineOnly(spec mcp.ServerSpec, meta oauthex.AuthServerMeta) bool {
	grants := meta.GrantTypesSupported
	return spec.OAuth != nil && spec.OAuth.ClientID != "" && spec.OAuth.ClientSecret != "" &&
		slices.Contains(grants, "client_credentials") && !slices.Contains(grants, "authorization_code")
}

// identify returns the client for a sign-in: the configured one, that of the
// metadata document, one registered earlier with the same redirect URI and all of
// the scopes, or a newly registered one.
func (s *Service) identify(ctx context.Context, spec mcp.ServerSpec, p place, redirect string, before *entry) (identity, error) {
	if c, ok := configured(spec, p.meta); ok {
		return c, nil
	}
	if s.o.ClientMetadataURL != "" && p.meta.ClientIDMetadataDocumentSupported {
		return identity{id: s.o.ClientMetadataURL, method: methodDocument}, nil
	}
	if before != nil && before.Registered && before.RedirectURI == redirect && sameIssuer(before.Issuer, p.meta.Issuer) &&
		len(union(before.Asked, p.scopes)) == len(before.Asked) && // a client may be restricted to its registered scopes
		(before.SecretUntil.IsZero() || s.o.Now().Before(before.SecretUntil)) {
		return identity{id: before.ClientID, secret: before.ClientSecret, until: before.SecretUntil, method: before.AuthMethod, registered: true}, nil
	}
	if p.meta.RegistrationEndpoint == "" {
		return identity{}, unusable(spec.Name, "its authorization server "+origin(p.meta.Issuer)+" accepts only clients registered by its owner.",
			"Register fettle there, and set oauth.clientId of the server in the settings.")
	}
	return s.register(ctx, spec.Name, p, redirect)
}

// register registers the client dynamically (RFC 7591), as a public one if the
// server accepts that.
func (s *Service) register(ctx context.Context, name string, p place, redirect string) (identity, error) {
	method := methodNone
	if known := p.meta.TokenEndpointAuthMethodsSupported; len(known) > 0 && !slices.Contains(known, methodNone) {
		if method = methodBasic; !slices.Contains(known, methodBasic) {
			method = methodPost
		}
	}
	answer, err := oauthex.RegisterClient(ctx, p.meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs:            []string{redirect},
		TokenEndpointAuthMethod: method,
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		ClientName:              s.o.ClientName,
		Scope:                   strings.Join(p.scopes, " "),
		ApplicationType:         "native",
	}, s.client)
	if err != nil {
		if ctx.Err() != nil {
			return identity{}, cancelled(ctx, name)
		}
		if p.guessed && !passing(err) {
			return identity{}, unusable(name, "it requires a sign-in, but names no authorization server.",
				"Set the header that it requires, or oauth.authorizationUrl and oauth.tokenUrl, in the settings of the server.")
		}
		var denied *oauthex.ClientRegistrationError
		if errors.As(err, &denied) {
			return identity{}, unusable(name, "its authorization server "+origin(p.meta.Issuer)+" does not let fettle register"+known(denied.ErrorCode)+".",
				"Register fettle there, and set oauth.clientId of the server in the settings.")
		}
		if passing(err) {
			return identity{}, unavailable(name, failure(p.meta.RegistrationEndpoint, err))
		}
		return identity{}, refused(name, "the authorization server "+origin(p.meta.Issuer)+" does not let fettle register.")
	}
	c := identity{id: answer.ClientID, secret: secret(answer.ClientSecret), until: answer.ClientSecretExpiresAt, method: answer.TokenEndpointAuthMethod, registered: true}
	c.method = cmp.Or(c.method, method)
	if c.secret == "" || c.method != methodBasic && c.method != methodPost {
		c.secret, c.method, c.until = "", methodNone, time.Time{}
	}
	return c, nil
}

// style returns how x/oauth2 sends the client's credentials.
func (c identity) style() oauth2.AuthStyle {
	if c.method == methodBasic {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// known returns an error code in brackets if it is one of the standards', and ""
// otherwise. No other text of a server is repeated.
func known(code string) string {
	switch code {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
		"access_denied", "unsupported_response_type", "server_error", "temporarily_unavailable", "invalid_target",
		"invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement",
		"login_required", "consent_required", "interaction_required", "account_selection_required":
		return " (" + code + ")"
	}
	return ""
}

// httpContext makes x/oauth2 use the HTTP client of this package.
func (s *Service) httpContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, s.client)
}
