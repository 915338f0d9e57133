package gemini

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// account signs requests with the application default credentials of the machine. They are read
// again when a token has expired. It is safe for concurrent use.
type account struct {
	turn  chan struct{} // one request renews the token
	token *oauth2.Token
	quota string // project that is charged, which credentials of a user name; "": none
}

func newAccount() *account { return &account{turn: make(chan struct{}, 1)} }

// sign adds a valid token to req, and the project that is charged. The error is a *model.Error.
func (a *account) sign(ctx context.Context, req *http.Request) error {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return cancelled(ctx)
	}
	if !a.token.Valid() {
		token, quota, err := defaultToken(ctx)
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx)
		case err != nil:
			return noToken(err.Error())
		}
		a.token, a.quota = token, quota
	}
	a.token.SetAuthHeader(req)
	if a.quota != "" {
		req.Header.Set("X-Goog-User-Project", a.quota)
	}
	return nil
}

func defaultToken(ctx context.Context) (token *oauth2.Token, quota string, err error) {
	credentials, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/cloud-platform")
	if err != nil {
		return nil, "", err
	}
	var file struct {
		Quota string `json:"quota_project_id"`
	}
	_ = json.Unmarshal(credentials.JSON, &file) // credentials of the machine have no file
	token, err = credentials.TokenSource.Token()
	return token, strings.TrimSpace(file.Quota), err
}

func cancelled(ctx context.Context) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.Canceled, Message: ctx.Err().Error(), Err: ctx.Err()}
}

// noToken is the error of a request that cannot be signed, because of the reason.
func noToken(reason string) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.Unauthenticated, Message: wire.Secrets{}.Redact("Google Cloud gives no access token; sign in with gcloud auth application-default login: " + reason)}
}
