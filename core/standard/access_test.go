package standard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/standard"
)

// reached records the hosts and keys of requests, and fails each request.
type reached struct{ hosts, keys []string }

func (r *reached) RoundTrip(req *http.Request) (*http.Response, error) {
	r.hosts, r.keys = append(r.hosts, req.URL.Host), append(r.keys, req.Header.Get("Authorization"))
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusUnauthorized)
	return w.Result(), nil
}

// A project's address never receives the user's key.
func TestAddressOfAProject(t *testing.T) {
	for name, tt := range map[string]struct {
		ofProject []string
		key       string
		host      string
		sent      string
	}{
		"the user's address":                  {nil, "mine", "server.test", "Bearer mine"},
		"a project's address, the user's key": {[]string{"OPENAI_BASE_URL"}, "mine", "api.openai.com", "Bearer mine"},
		"a project's address and key":         {[]string{"OPENAI_BASE_URL", "OPENAI_API_KEY"}, "theirs", "server.test", "Bearer theirs"},
		"a project's address, no key":         {[]string{"OPENAI_BASE_URL"}, "", "server.test", ""},
		"the user's address, a project's key": {[]string{"OPENAI_API_KEY"}, "theirs", "server.test", "Bearer theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &reached{}
			o := env("OPENAI_BASE_URL", "http://server.test/v1", "OPENAI_API_KEY", tt.key)
			o.HTTPClient = &http.Client{Transport: seen}
			o.OfProject = func(name string) bool {
				for _, n := range tt.ofProject {
					if n == name {
						return true
					}
				}
				return false
			}
			g, err := standard.Models(o)(t.Context(), "openai:m")
			require.NoError(t, err)
			_, err = g.Generate(t.Context(), &model.Request{Contents: []model.Content{model.UserText("hello")}})
			require.Error(t, err)
			require.Equal(t, []string{tt.host}, seen.hosts)
			if tt.sent != "" {
				require.Equal(t, []string{tt.sent}, seen.keys)
			}
		})
	}
}
