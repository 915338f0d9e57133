package filestate

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// mostRetries is the number of tokens of a conversation that are valid at the same time.
const mostRetries = 16

// OfferRetry returns the token for a refused change of the file at p, carried over to the content
// with the hash sha as a unified diff: "retry-" and the number of such refusals in the conversation.
// The token is valid once the conversation has received the result of the call that ctx belongs to,
// until it is claimed or the cache is cleared. A conversation has at most 16 valid tokens; beyond
// that the oldest becomes invalid.
func (s *Service) OfferRetry(ctx context.Context, p workspace.Path, sha, diff string) (token string) {
	c := &s.Cache
	c.mu.Lock()
	c.refused++
	token = fmt.Sprintf("retry-%d", c.refused)
	c.mu.Unlock()
	s.WhenShown(ctx, func() { c.offer(retry{token: token, path: p.String(), sha256: sha, diff: diff}) })
	return token
}

// Retry returns the diff of a valid token, if it was offered for the content of the file at p that
// has the hash sha. The token stays valid.
func (s *Service) Retry(token string, p workspace.Path, sha string) (diff string, ok bool) {
	disabled := s.ApplyKillSwitch()
	c := &s.Cache
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.offers {
		if o.token == token && o.path == p.String() && o.sha256 == sha {
			return o.diff, !disabled
		}
	}
	return "", false
}

// ClaimRetry makes a token invalid, and reports whether it was valid.
func (s *Service) ClaimRetry(token string) bool {
	c := &s.Cache
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range c.offers {
		if o.token == token {
			c.offers = append(c.offers[:i:i], c.offers[i+1:]...)
			return true
		}
	}
	return false
}

// retry is a refused change with its token, carried over to the content that its file had when it
// was refused.
type retry struct{ token, path, sha256, diff string }

func (c *FileReadCache) offer(r retry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offers = append(c.offers, r)
	c.offers = c.offers[max(len(c.offers)-mostRetries, 0):]
}
