package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// fromServer handles a message or a batch of the server.
func (g *gateway) fromServer(raw []byte) {
	raw = bytes.TrimSpace(raw)
	var batch []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &batch) != nil {
		batch = []json.RawMessage{raw}
	}
	for _, one := range batch { // clients of all revisions accept single messages
		out, err := g.serverMessage(one)
		if err != nil {
			g.log("the server wrote to its stdout, but not a message of the protocol: " + visible(clip(one)) + " (" + err.Error() + ")")
			continue
		}
		if out != nil {
			g.write(out)
		}
	}
}

func clip(raw []byte) string { return string(raw[:min(len(raw), 200)]) }

// serverMessage returns the message for the client, or nil for none.
func (g *gateway) serverMessage(raw []byte) ([]byte, error) {
	m, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if m.method != "" {
		if strings.HasPrefix(text(m.id), "fettle-guard-") {
			return nil, errors.New("it has an id of fettle-guard")
		}
		return g.cleaner.clean(raw, m.method == methodMessage || m.method == methodProgress), nil
	}
	p := g.take(m.key())
	if p == nil {
		if m.id == nil || string(m.id) == "null" {
			return g.cleaner.clean(raw, true), nil // an error about a message without an id
		}
		return nil, nil //nolint:nilnil // the client does not wait for it: cancelled, too late, or never sent
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	switch p.method {
	case methodInitialize:
		g.mu.Lock()
		g.revision = text(members(m.fields["result"])["protocolVersion"])
		g.mu.Unlock()
	case methodTools:
		if list, changed := g.tools.list(m.fields["result"]); changed {
			raw = m.with("result", list).raw
		}
	case methodCall:
		r := members(m.fields["result"])
		g.continues(p.call, r)
		how := "answered"
		if m.fields["error"] != nil || string(r["isError"]) == "true" {
			how = "error"
		}
		g.record.end(p.entry, how, len(raw))
	}
	return g.cleaner.clean(raw, !slices.Contains([]string{methodInitialize, methodTools}, p.method)), nil
}
