package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// Limits on a tool's declaration.
const (
	maxToolName    = 512  // bytes
	maxDescription = 8000 // bytes; a longer description is shortened
)

// declare creates the tools declared in o, and reuses those of old that are
// unchanged. A mistake in one declaration drops only that tool.
func (s *server) declare(o, old *offer) {
	if reflect.DeepEqual(o.declared, old.declared) {
		return // and keeps the tools of old
	}
	declared := o.declared
	o.tools, o.names, o.dropped = nil, nil, nil
	if over := len(declared) - maxTools; over > 0 {
		o.dropped = append(o.dropped, fault.New(fault.InvalidConfig, "mcp.tools",
			fmt.Sprintf("The last %d of the %d tools of the MCP server %s are dropped: the limit is %d.", over, len(declared), quoted(s.Name), maxTools),
			"Select tools with includeTools."))
		declared = declared[:maxTools]
	}
	seen := make(map[string]bool, len(declared))
	for _, d := range declared {
		if !s.selects(d.Name) {
			continue
		}
		var t tools.DeclarativeTool
		err := s.protect("make a tool", func() (err error) { t, err = s.newTool(d); return err })
		if err == nil && seen[d.Name] {
			err = errors.New("another tool has the same name")
		}
		if err != nil {
			o.dropped = append(o.dropped, s.dropped(d.Name, err))
			continue
		}
		seen[d.Name] = true
		o.tools, o.names = append(o.tools, t), append(o.names, d.Name)
	}
	slices.Sort(o.names)
	for _, text := range s.IncludeTools {
		if !toollist.ParseEntry(text).Whole() && !slices.ContainsFunc(o.declared, func(d Tool) bool { return d.Name == text }) {
			s.m.o.Logger.Warn("a restriction in includeTools is invalid, and its tool is not included", "server", s.Name, "entry", text)
		}
	}
	for _, name := range slices.Concat(s.IncludeTools, s.ExcludeTools) {
		if name = ownName(name); strings.Contains(name, "*") {
			continue
		}
		if !slices.ContainsFunc(o.declared, func(d Tool) bool { return d.Name == name }) {
			s.m.o.Logger.Warn("an entry of includeTools or excludeTools names no tool of the server", "server", s.Name, "tool", name)
		}
	}
}

// selects reports whether a tool is to be used, by IncludeTools and ExcludeTools.
func (s ServerSpec) selects(tool string) bool {
	for _, text := range s.ExcludeTools {
		name := ownName(text)
		if text == tool || wildcard(strings.ToLower(name), strings.ToLower(tool)) || name == "mcp_"+s.Name+"_"+tool || name == tools.QualifiedName(s.Name, tool) {
			return false
		}
	}
	return s.IncludeTools == nil || slices.ContainsFunc(s.IncludeTools, func(text string) bool {
		return text == tool || toollist.ParseEntry(text).Whole() && wildcard(ownName(text), tool)
	})
}

// wildcard reports whether name matches pattern, in which * stands for any
// characters.
func wildcard(pattern, name string) bool {
	first, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	for i := 0; ok && i <= len(name); i++ {
		if !strings.Contains(rest, "*") {
			return strings.HasSuffix(name, rest)
		}
		if wildcard(rest, name[i:]) {
			return true
		}
	}
	return false
}

// ownName returns the tool name of an entry NAME or NAME(…).
func ownName(entry string) string {
	name, _, _ := strings.Cut(entry, "(")
	return strings.TrimSpace(name)
}

// dropped returns the error for a tool that cannot be used.
func (s *server) dropped(tool string, why error) *fault.Error {
	because := why.Error() + "."
	if f := fault.As(forModel(why)); f != nil {
		because = f.Message
	}
	return fault.New(fault.InvalidConfig, "mcp.tools",
		fmt.Sprintf("The tool %s of the MCP server %s is dropped: %s", quoted(tool), quoted(s.Name), because),
		"Report it to the server's developers. The other tools remain available.")
}

// remote is a tool of a server.
type remote struct {
	server  *server
	name    string // its own
	display string
	about   string // its description
	input   json.RawMessage
	output  *tools.Schema // of structured content; nil: not validated
}

// newTool creates a tool from its declaration. The error is a *fault.Error or a
// clause.
func (s *server) newTool(d Tool) (tools.DeclarativeTool, error) {
	switch {
	case strings.TrimSpace(d.Name) == "":
		return nil, errors.New("it has no name")
	case len(d.Name) > maxToolName:
		return nil, fmt.Errorf("its name is longer than %d bytes", maxToolName)
	case !utf8.ValidString(d.Name):
		return nil, errors.New("its name is not valid UTF-8")
	}
	input, err := adaptSchema(d.InputSchema)
	if err != nil {
		return nil, err
	}
	r := &remote{server: s, name: d.Name, about: s.describe(d), input: input}
	r.display = fmt.Sprintf("%s (%s MCP Server)", cmp.Or(escape.Plain(d.Title, 100), escape.Plain(d.Name, 100), "tool"), escape.Plain(s.Name, 100))
	spec := tools.Spec{
		Name: tools.QualifiedName(s.Name, d.Name), DisplayName: r.display, Description: r.about, Kind: tools.KindOther, Schema: input,
		Effects:     []tools.Effect{tools.EffectNetwork, tools.EffectWriteFiles},
		Origin:      tools.Origin{Group: tools.GroupMCP, Server: s.Name, Tool: d.Name},
		Annotations: maps.Clone(d.Annotations), StreamsOutput: true,
	}
	if d.Annotations["readOnlyHint"] == true {
		spec.Effects, spec.Parallel = []tools.Effect{tools.EffectNetwork}, true
	}
	if r.output = outputSchema(spec.Name, d.OutputSchema); r.output != nil {
		spec.OutputSchema = r.output.Raw()
	}
	return tools.DefineJSON(spec, r.run,
		tools.WithDescription(func(args json.RawMessage) string {
			return fmt.Sprintf("%s: %s %s", escape.Plain(s.Name, 100), escape.Plain(d.Name, 100), escape.Plain(string(args), 120))
		}),
		tools.WithConfirmation(r.confirm))
}

// describe returns the description of a tool for the model.
func (s *server) describe(d Tool) string {
	text := strings.TrimSpace(strings.ToValidUTF8(d.Description, "\ufffd"))
	if text == "" {
		text = fmt.Sprintf("The tool %s of the MCP server %s, which has no further description.", cmp.Or(escape.Plain(d.Title, 100), escape.Plain(d.Name, 100)), escape.Plain(s.Name, 100))
	}
	if over := len(text) - maxDescription; over > 0 {
		text = escape.ClipBytes(text, maxDescription) + fmt.Sprintf(" [%d bytes of this description are omitted]", over)
	}
	return text
}

// outputSchema returns the schema of a tool's structured content, or nil without
// a valid one: then structured content is not validated.
func outputSchema(name string, raw []byte) *tools.Schema {
	if len(raw) == 0 || len(raw) > maxSchemaBytes || checkSchema(raw) != nil {
		return nil
	}
	schema, err := tools.ParseOutputSchema(name, raw)
	if err != nil || schema.Probe() != nil {
		return nil
	}
	return schema
}

// confirm returns the request for approval of a call.
func (r *remote) confirm(_ context.Context, args json.RawMessage) (*tools.Confirmation, error) {
	return &tools.Confirmation{
		Type: tools.ConfirmMCP, Title: "Confirm: " + r.display,
		MCPDetails: &tools.MCPDetails{
			ServerName: r.server.Name, ToolName: r.name, ToolDisplayName: r.display,
			ToolArgs: args, ToolDescription: r.about, ToolParameterSchema: r.input,
		},
	}, nil
}
