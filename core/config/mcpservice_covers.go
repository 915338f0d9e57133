package config

import (
	"net/url"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools/web"
)

// covered says in words which calls would run without a question after an answer
// that lasts.
func covered(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	words := "calls of " + shownName(q.ToolCall.Name) + " that are about the same"
	d := q.Details
	switch {
	case o == bus.ProceedAlwaysServer:
		words = "all tools of the MCP server " + shownName(serverOf(q))
	case d.MCPDetails != nil:
		words = "the tool " + shownName(d.ToolName) + " of the MCP server " + shownName(serverOf(q)) + ", with any arguments"
	case o == bus.ProceedAlwaysTool:
		words = "all calls of " + shownName(q.ToolCall.Name)
	case d.EditDetails != nil:
		words = "changes of this file by " + shownName(q.ToolCall.Name)
	case d.ExecDetails != nil:
		words = coveredCommands(q, o)
	case d.InfoDetails != nil && q.ToolCall.Name == web.WebFetch && len(d.URLs) == 1:
		if u, err := url.Parse(d.URLs[0]); err == nil && u.Host != "" {
			words = "pages of " + shownName(u.Scheme+"://"+u.Host)
		}
	}
	if q.Subagent != "" {
		words += ", for the subagent " + shownName(q.Subagent)
	}
	return words
}

// coveredCommands are those of a command line.
func coveredCommands(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	var like bus.Remembered
	for _, r := range q.Remembers {
		if r.Outcome == o {
			like = r
		}
	}
	var words string
	switch beginnings := strings.Join(like.Commands, ", "); {
	case beginnings == "":
		words = "this command line, exactly as it stands"
	case len(like.Rules) > 1:
		words = "commands that begin with: " + clip(visible(beginnings), maxReason) + "; and what else this one does, exactly as it stands"
	default:
		words = "commands that begin with: " + clip(visible(beginnings), maxReason)
	}
	if q.Decision.Confined != "" {
		words += ", as long as they run confined"
	}
	return words
}

func serverOf(q bus.ToolConfirmationRequest) string {
	if m := q.Details.MCPDetails; m != nil {
		return m.ServerName
	}
	return q.ServerName
}

func shownName(s string) string { return clip(visible(s), maxName) }
