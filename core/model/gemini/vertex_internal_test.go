package gemini

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// sent is the transport of a client that records the addresses of requests.
type sent []string

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	*s = append(*s, r.URL.String()+" "+r.Header.Get("Authorization")+r.Header.Get("X-Goog-Api-Key"))
	return nil, errors.New("no network")
}

// Addresses name version, project, location and the publisher of a model. UI-07
func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		o           Options
		model, want string
	}{
		{Options{APIKey: "k"}, "m", "https://generativelanguage.googleapis.com/v1beta/models/m:countTokens k"},
		{Options{APIKey: "k"}, "models/m", "https://generativelanguage.googleapis.com/v1beta/models/m:countTokens k"},
		{Options{APIKey: "k"}, "tunedModels/m", "https://generativelanguage.googleapis.com/v1beta/tunedModels/m:countTokens k"},
		{Options{Project: "p"}, "m", "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/m:countTokens Bearer t"},
		{Options{Project: "p", Location: "eu"}, "m", "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/google/models/m:countTokens Bearer t"},
		{Options{Project: "p", Location: "us-west1"}, "meta/m", "https://us-west1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-west1/publishers/meta/models/m:countTokens Bearer t"},
		{Options{Project: "p", BaseURL: "http://127.0.0.1:1/x/v1beta1/"}, "publishers/a/models/m", "http://127.0.0.1:1/x/v1beta1/projects/p/locations/global/publishers/a/models/m:countTokens Bearer t"},
		{Options{Project: "p"}, "projects/q/locations/l/endpoints/1", "https://aiplatform.googleapis.com/v1beta1/projects/q/locations/l/endpoints/1:countTokens Bearer t"},
	} {
		var s sent
		tt.o.HTTPClient = &http.Client{Transport: &s}
		g, err := New(tt.o)
		require.NoError(t, err)
		if a := g.(*generator).account; a != nil {
			a.token = &oauth2.Token{AccessToken: "t"}
		}
		_, err = g.CountTokens(t.Context(), &model.Request{Model: tt.model, Contents: []model.Content{model.UserText("hi")}})
		require.Error(t, err)
		require.Equal(t, sent{tt.want}, s)
	}
	for _, name := range []string{"a?b", "a&b", "../m", "a#b", "a%2fb"} {
		var s sent
		g, err := New(Options{APIKey: "k", HTTPClient: &http.Client{Transport: &s}})
		require.NoError(t, err)
		_, err = g.Generate(t.Context(), &model.Request{Model: name, Contents: []model.Content{model.UserText("hi")}})
		var e *model.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, model.InvalidRequest, e.Kind, name)
		require.Empty(t, s, name)
	}
}

// A request that waits for another request's token ends with its context.
func TestCancelledBeforeTheToken(t *testing.T) {
	g, err := New(Options{Project: "p", HTTPClient: &http.Client{Transport: &sent{}}})
	require.NoError(t, err)
	g.(*generator).account.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.(*generator).send(ctx, &wire.Exchange{}, http.MethodGet, "x", nil)
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, model.Canceled, e.Kind)
}

// A location becomes part of the host, so nothing else than a location is accepted.
func TestLocations(t *testing.T) {
	for _, location := range []string{"evil.example/", "evil.example#", "us west1", "a@b", "../x", "us.west"} {
		_, err := New(Options{Project: "p", Location: location})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), location)
	}
}
