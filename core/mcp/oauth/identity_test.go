package oauth_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
)

// Methods of client authentication.
func TestClients(t *testing.T) {
	t.Run("of the settings, in the header", func(t *testing.T) {
		w := newWorld(t)
		w.clients["mine"] = canary + " &secret"
		w.spec.OAuth.ClientID, w.spec.OAuth.ClientSecret = "mine", canary+" &secret"
		w.ok()
		require.True(t, strings.HasPrefix(w.tokenHeaders[0], "Basic "))
		require.Empty(t, w.registrations)
		text, err := os.ReadFile(w.path)
		require.NoError(t, err)
		require.NotContains(t, string(text), "&secret", "the settings keep their own")
		w.spec.OAuth.ClientID = "other"
		source, err := w.service.Handler(w.spec, false).TokenSource(t.Context())
		require.NoError(t, err)
		token, err := source.Token()
		require.NoError(t, err)
		require.Nil(t, token)
	})
	t.Run("of the settings, in the form", func(t *testing.T) {
		w := newWorld(t)
		w.metadata = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}
		w.clients["mine"] = canary
		w.spec.OAuth.ClientID, w.spec.OAuth.ClientSecret = "mine", canary
		w.ok()
		require.Equal(t, canary, w.tokenForms[0].Get("client_secret"))
	})
	for _, method := range []string{"client_secret_basic", "client_secret_post"} {
		t.Run("registered with "+method, func(t *testing.T) {
			w := newWorld(t)
			w.metadata = map[string]any{"token_endpoint_auth_methods_supported": []string{method}}
			w.lifetime = 3600
			w.ok()
			require.Equal(t, method, w.registrations[0]["token_endpoint_auth_method"])
			w.pass(2 * time.Hour)
			w.ok() // the secret is kept for the refresh
			require.Equal(t, 1, w.opens)
		})
	}
	t.Run("by its document", func(t *testing.T) {
		w := newWorld(t)
		w.metadata = map[string]any{"client_id_metadata_document_supported": true}
		o := w.options(w.path)
		o.ClientMetadataURL = "https://client.example/fettle.json"
		w.clients[o.ClientMetadataURL] = ""
		w.service = oauth.New(o)
		w.lifetime = 3600
		w.ok()
		require.Empty(t, w.registrations)
		w.pass(2 * time.Hour)
		w.ok()
		require.Equal(t, 1, w.opens)
	})
	t.Run("none can be had", func(t *testing.T) {
		w := newWorld(t)
		w.metadata = map[string]any{"registration_endpoint": nil}
		f := w.fails(fault.InvalidConfig, "accepts only clients")
		require.Contains(t, f.Remedy, "oauth.clientId")
	})
	t.Run("with its secret alone", func(t *testing.T) {
		w := newWorld(t)
		w.metadata = map[string]any{"grant_types_supported": []string{"client_credentials"}}
		w.clients["mine"] = canary
		w.needs, w.lifetime = []string{"files"}, 3600
		w.spec.OAuth = &mcp.OAuthSpec{ClientID: "mine", ClientSecret: canary}
		for range 2 {
			status, err := w.call(w.service, w.spec, false)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			w.pass(2 * time.Hour)
		}
		require.Zero(t, w.opens)
		require.Len(t, w.tokenForms, 2)
		require.NoError(t, w.service.SignIn(t.Context(), w.spec))
		w.clients["mine"] = "changed"
		w.pass(2 * time.Hour)
		_, err := w.call(w.service, w.spec, false)
		w.tells(err, fault.MCPSignInRequired, "refuses the client secret")
	})
}
