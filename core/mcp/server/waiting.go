package server

import (
	"encoding/json"
	"time"
)

// discoverTime is the time between server/discover and the initialize of the same
// client: for so long its Service stays open.
const discoverTime = 5 * time.Second

// clientOf identifies the client of a request outside of a session by its name and
// token, and reports whether the request is server/discover. The client is "" if it is
// unknown.
func clientOf(body []byte, holder string) (client string, discovers bool) {
	type info struct{ Name, Version string }
	var m struct {
		Method string
		Params struct {
			Info info `json:"clientInfo"`
			Meta struct {
				Info info `json:"io.modelcontextprotocol/clientInfo"`
			} `json:"_meta"`
		}
	}
	if json.Unmarshal(body, &m) != nil {
		return "", false
	}
	who := m.Params.Info
	discovers = m.Method == "server/discover"
	if discovers {
		who = m.Params.Meta.Info
	} else if m.Method != "initialize" {
		return "", false
	}
	id, err := json.Marshal([]string{holder, who.Name, who.Version})
	if who.Name == "" || err != nil {
		return "", discovers
	}
	return string(id), discovers
}

// keep keeps the session of a client that asks for the description only, so that
// its initialize needs no second Service. It has no state of the client. keep reports
// false if the session cannot be kept.
func (h *handler) keep(v *visit, client string) bool {
	if client == "" {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.gone || h.waiting[client] != nil {
		return false
	}
	v.after, v.ready, h.waiting[client] = client, make(chan struct{}), v
	return true
}

// withdraw makes a kept session unavailable to take. It reports false if its client
// has continued.
func (h *handler) withdraw(v *visit, client string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.waiting[client] == v
	if kept {
		delete(h.waiting, client)
	}
	return kept
}

// take returns the kept session of a client for a request; nil: none.
func (h *handler) take(client string) *visit {
	h.mu.Lock()
	v := h.waiting[client]
	delete(h.waiting, client)
	h.mu.Unlock()
	if v == nil {
		return nil
	}
	v.mu.Lock()
	v.after = ""
	gone, ready := v.gone, v.ready
	if !gone {
		v.busy++
	}
	v.mu.Unlock()
	if gone {
		return nil
	}
	<-ready // the SDK serves one connection of an ID at a time
	return v
}

// freeWaiting ends a kept session if no place is free.
func (h *handler) freeWaiting() {
	h.mu.Lock()
	var spare *visit
	if h.used >= h.o.Sessions {
		for client, v := range h.waiting {
			delete(h.waiting, client)
			spare = v
			break
		}
	}
	h.mu.Unlock()
	if spare != nil {
		h.end(spare)
	}
}
