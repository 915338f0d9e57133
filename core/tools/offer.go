package tools

import (
	"errors"
	"fmt"
)

// Offer registers what an MCP server offers now, in place of all that the server
// offered before; nil takes its tools away. A tool must be of the group MCP and
// of that server; one that cannot be used is left out and is among the joined
// errors. Names that clash are settled as [Registry.Register] says.
func (r *Registry) Offer(server string, offered []DeclarativeTool) error {
	var failures []error
	entries := make([]*entry, 0, len(offered))
	for _, t := range offered {
		e, err := newEntry(t, registered)
		if o := (Origin{}); err == nil {
			if o = e.spec.Origin; o.Group != GroupMCP || o.Server != server {
				err = badTool(e.spec.Name, fmt.Errorf("it is not of the MCP server %s", quoteClipped(server)))
			}
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		entries = append(entries, e)
	}
	r.change(func() {
		for _, e := range r.byName {
			if e.group() == GroupMCP && e.spec.Origin.Server == server {
				r.remove(e)
			}
		}
		for _, e := range entries {
			r.place(e)
		}
	})
	return errors.Join(failures...)
}
