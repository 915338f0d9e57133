package client

import "github.com/fettle-dev/fettle/core/mcp"

// mask hides what of a spec is secret in text for people, see [mcp.Mask].
type mask struct{ *mcp.Mask }

func newMask(spec mcp.ServerSpec) *mask { return &mask{mcp.NewMask(spec)} }

// text returns s without secrets.
func (m *mask) text(s string) string { return m.Hide(s) }
