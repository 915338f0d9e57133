package tools

import (
	"errors"
	"fmt"
)

// Offer replaces the registered tools of an MCP server by offered; nil removes them. A tool must have the MCP group and
// that server as its origin. An invalid tool is left out, and the joined errors name it. Name conflicts are resolved as
// by [Registry.Register].
func (r *Registry) Offer(server string, offered []DeclarativeTool) error {
	var failures []error
	entries := make([]*entry, 0, len(offered))
	for _, t := range offered {
		e, err := newEntry(t, registered)
		if o := (Origin{}); err == nil {
			if o = e.wanted.Origin; o.Group != GroupMCP || o.Server != server {
				err = badTool(e.wanted.Name, fmt.Errorf("it is not of the MCP server %s", quoteClipped(server)))
			}
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		entries = append(entries, e)
	}
	r.change(func() {
		for _, e := range r.tools.all() {
			if e.group() == GroupMCP && e.wanted.Origin.Server == server {
				r.remove(e)
			}
		}
		for _, e := range entries {
			r.place(e)
		}
	})
	return errors.Join(failures...)
}
