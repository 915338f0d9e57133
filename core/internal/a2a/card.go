package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/fettle-dev/fettle/core/escape"
)

// maxCard is the largest size of a card in bytes.
const maxCard = 1 << 20

// card is an agent card.
type card struct{ a2a.AgentCard }

// readCard parses a card. It ignores security schemes, which are not used, so that they cannot make
// it invalid. The error is a clause.
func readCard(data []byte) (*card, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil || keys == nil {
		return nil, errors.New("is not a JSON object")
	}
	delete(keys, "securitySchemes")
	delete(keys, "security")
	delete(keys, "signatures")
	rest, err := json.Marshal(keys)
	if err != nil {
		return nil, errors.New("is not a JSON object")
	}
	c := new(card)
	if err := json.Unmarshal(rest, &c.AgentCard); err != nil {
		return nil, errors.New("has values of types that the protocol does not allow")
	}
	versions, err := c.addSupported(keys["supportedInterfaces"])
	switch {
	case err != nil:
		return nil, err
	case c.URL != "" || len(c.AdditionalInterfaces) > 0:
		return c, nil
	case versions != "":
		return nil, fmt.Errorf("offers A2A %s only, and fettle speaks A2A 0.3", versions)
	}
	return nil, errors.New("names no URL of the agent")
}

// supported is an interface in a card of A2A 1.0, which lists interfaces of several versions.
type supported struct {
	URL     string                `json:"url"`
	Binding a2a.TransportProtocol `json:"protocolBinding"`
	Version string                `json:"protocolVersion"`
}

// addSupported adds the interfaces of version 0 in a card of A2A 1.0, and returns the other
// versions. The error is a clause.
func (c *card) addSupported(list json.RawMessage) (versions string, err error) {
	if len(list) == 0 {
		return "", nil
	}
	var all []supported
	if err := json.Unmarshal(list, &all); err != nil {
		return "", errors.New("has values of types that the protocol does not allow")
	}
	var others []string
	for _, i := range all {
		if strings.HasPrefix(i.Version, "0.") {
			c.AdditionalInterfaces = append(c.AdditionalInterfaces, a2a.AgentInterface{Transport: i.Binding, URL: i.URL})
		} else if version := escape.Plain(cmp.Or(i.Version, "1.0"), 20); !slices.Contains(others, version) && len(others) < 5 {
			others = append(others, version)
		}
	}
	return strings.Join(others, ", "), nil
}

// endpoint returns the JSON-RPC URL of the agent; at is the URL of the card, nil for a card in the
// definition. The error is a clause.
func (c *card) endpoint(at *url.URL) (*url.URL, error) {
	found := ""
	if c.PreferredTransport == "" || c.PreferredTransport == a2a.TransportProtocolJSONRPC {
		found = c.URL
	}
	for _, i := range c.AdditionalInterfaces {
		if found == "" && i.Transport == a2a.TransportProtocolJSONRPC {
			found = i.URL
		}
	}
	if found == "" {
		return nil, errors.New("does not offer JSON-RPC, the only transport that fettle supports")
	}
	u, err := url.Parse(found)
	if err == nil && at != nil {
		u = at.ResolveReference(u)
	}
	if err != nil {
		return nil, errors.New("names an invalid URL")
	}
	if u, err = parseURL(u.String()); err != nil {
		return nil, fmt.Errorf("names a URL that %w", err)
	}
	if at != nil {
		u = reachable(u, at)
	}
	if at != nil && !sameHost(at, u) {
		return nil, fmt.Errorf("comes from %s and names a different host, or a less secure scheme: %s", at.Host, shown(u))
	}
	return u, nil
}

// described returns the description in the card, cut to a limit; "" if the card is not known.
func (r *remote) described() string {
	c := r.known()
	if c == nil {
		return ""
	}
	var b strings.Builder
	if text := escape.Plain(c.Description, 1000); text != "" {
		b.WriteString(text)
	}
	for i, s := range c.Skills {
		if i == 20 {
			break
		}
		fmt.Fprintf(&b, "\n- %s: %s", escape.Plain(s.Name, 80), escape.Plain(s.Description, 300))
	}
	return strings.TrimSpace(b.String())
}

// fetchCard returns the card, which is fetched only once.
func (r *remote) fetchCard(ctx context.Context) (*card, error) {
	if c := r.known(); c != nil {
		return c, nil
	}
	base, err := parseURL(r.d.Remote.CardURL)
	if err != nil {
		return nil, r.fail("has a card whose URL "+err.Error(), "", nil)
	}
	var failed error
	for _, u := range places(base) {
		data, err := r.getCard(ctx, u)
		var c *card
		if err == nil {
			if c, err = readCard(data); err != nil {
				err = r.fail(fmt.Sprintf("has a card at %s that %v", shown(u), err), "Check agent_card_url.", nil)
			}
		}
		if err == nil {
			r.mu.Lock()
			r.card = c
			r.mu.Unlock()
			return c, nil
		}
		if failed == nil || !errors.Is(err, errNotThere) {
			failed = err
		}
		if ctx.Err() != nil || !errors.Is(err, errNotThere) && u != base {
			break
		}
	}
	return nil, failed
}

// places returns the possible URLs of the card: the URL itself, if it has a path, and the
// well-known paths below it.
func places(base *url.URL) []*url.URL {
	var all []*url.URL
	if base.Path != "" && base.Path != "/" {
		all = append(all, base)
		if strings.HasSuffix(base.Path, ".json") {
			return all
		}
	}
	for _, name := range []string{"agent-card.json", "agent.json"} {
		all = append(all, base.JoinPath(".well-known", name))
	}
	return all
}

var errNotThere = errors.New("a2a: the card does not exist")

// getCard fetches a card without authentication, and with it if the server requires it.
func (r *remote) getCard(ctx context.Context, u *url.URL) ([]byte, error) {
	data, status, err := r.get(ctx, u, nil)
	if err == nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) && r.d.Remote.Auth != nil {
		var c *credentials
		if c, err = r.resolve(ctx); err == nil {
			data, status, err = r.get(ctx, u, c)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, r.unauthorized(status)
	case status == http.StatusNotFound || status == http.StatusGone || status == http.StatusMethodNotAllowed:
		return nil, r.fail("has no card at "+shown(u), "Check agent_card_url.", errNotThere)
	case status != http.StatusOK:
		return nil, r.fail(fmt.Sprintf("did not provide its card at %s (HTTP status %d)", shown(u), status), "Try again later, or check agent_card_url.", nil)
	case len(data) > maxCard:
		return nil, r.fail(fmt.Sprintf("has a card of more than %d KiB, which was not read", maxCard>>10), "Check agent_card_url.", nil)
	}
	return data, nil
}

func (r *remote) get(ctx context.Context, u *url.URL, c *credentials) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, 0, r.fail("has a card whose URL cannot be used", "Check agent_card_url.", nil)
	}
	req.Header.Set("Accept", "application/json")
	c.set(req)
	resp, err := r.do(ctx, req, c)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxCard+1))
	if err != nil {
		return nil, 0, r.incomplete(ctx, u, err)
	}
	return data, resp.StatusCode, nil
}
