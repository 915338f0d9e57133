package gemini

import (
	"context"
	"net/http"

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
}

func newAccount() *account { return &account{turn: make(chan struct{}, 1)} }

// sign adds a valid token to req. The error is a *model.Error.
func (a *account) sign(ctx context.Context, req *http.Request) error {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return cancelled(ctx)
	}
	if !a.token.Valid() {
		token, err := defaultToken(ctx)
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx)
		case err != nil:
			return noToken(err.Error())
		}
		a.token = token
	}
	a.token.SetAuthHeader(req)
	return nil
}

func defaultToken(ctx context.Context) (*oauth2.Token, error) {
	credentials, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/cloud-platform")
	if err != nil {
		return nil, err
	}
	return credentials.TokenSource.Token()
}

func cancelled(ctx context.Context) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.Canceled, Message: ctx.Err().Error(), Err: ctx.Err()}
}

// noToken is the error of a request that cannot be signed, because of the reason.
func noToken(reason string) *model.Error {
	return &model.Error{Provider: Provider, Kind: model.Unauthenticated, Message: wire.Secrets{}.Redact("Google Cloud gives no access token; sign in with gcloud auth application-default login: " + reason)}
}
