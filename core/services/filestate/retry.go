package filestate

import (
	"context"
	"fmt"
	"slices"
)

// mostRetries is the number of tokens of a conversation that are valid at the same time.
const mostRetries = 16

// OfferRetry returns the token for a refused change, carried over to the contents that its files have
// now: "retry-" and the number of such refusals in the conversation. patch is the change in the form
// of the tool, and bases are the hashes of the contents by absolute path. The token is valid once the
// conversation has received the result of the call that ctx belongs to, until it is claimed or the
// cache is cleared. A conversation has at most 16 valid tokens; beyond that the oldest becomes
// invalid.
func (s *Service) OfferRetry(ctx context.Context, tool, patch string, bases map[string]string) (token string) {
	c := &s.Cache
	c.mu.Lock()
	c.refused++
	token = fmt.Sprintf("retry-%d", c.refused)
	c.mu.Unlock()
	s.WhenShown(ctx, func() { c.offer(retry{token, tool, patch, bases}) })
	return token
}

// Retry returns the patch and the bases of a valid token that was offered for the tool. The token
// stays valid. bases must not be changed.
func (s *Service) Retry(tool, token string) (patch string, bases map[string]string, ok bool) {
	disabled := s.ApplyKillSwitch()
	c := &s.Cache
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.offers, func(o retry) bool { return o.token == token && o.tool == tool })
	if at < 0 || disabled {
		return "", nil, false
	}
	return c.offers[at].patch, c.offers[at].bases, true
}

// ClaimRetry makes a token invalid, and reports whether it was valid.
func (s *Service) ClaimRetry(token string) bool {
	c := &s.Cache
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.offers)
	c.offers = slices.DeleteFunc(c.offers, func(o retry) bool { return o.token == token })
	return len(c.offers) < before
}

// retry is a refused change with its token.
type retry struct {
	token, tool, patch string
	bases              map[string]string
}

func (c *FileReadCache) offer(r retry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offers = append(c.offers, r)
	c.offers = c.offers[max(len(c.offers)-mostRetries, 0):]
}
