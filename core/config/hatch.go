package config

import (
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/services/filestate"
)

// hatch is the switch that turns the file-read cache off (RC-28). A derived
// Config's follows its parent's until it has a position of its own (RC-30).
type hatch struct {
	parent *hatch        // nil for a Config made by New
	turns  *atomic.Int64 // of the family
	own    atomic.Pointer[filestate.Hatch]
}

func (h *hatch) set(disabled bool) {
	p := filestate.Hatch{Disabled: disabled, Turn: h.position().Turn}
	if disabled {
		p.Turn = h.turns.Add(1)
	}
	h.own.Store(&p)
}

// position returns the position in force.
func (h *hatch) position() filestate.Hatch {
	for ; h != nil; h = h.parent {
		if p := h.own.Load(); p != nil {
			return *p
		}
	}
	return filestate.Hatch{}
}
