package approval

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

func ofServer(args string, details confirmation.MCPDetails) bus.ToolConfirmationRequest {
	return bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "mcp_s_t", Args: json.RawMessage(args)}, ServerName: details.ServerName,
		Details:  bus.Confirmation{Type: confirmation.MCP, Title: "Confirm: t", MCPDetails: &details},
		Decision: confirmation.Explanation{Reason: "Because."},
	}
}

// EX-16: the request names the server and the tool and shows the arguments, and none
// of them can be mistaken for program output.
func TestQuestionAboutAServersTool(t *testing.T) {
	for name, tt := range map[string]struct {
		args    string
		details confirmation.MCPDetails
		want    string
	}{
		"plain": {`{"a":{"b":[1,"x"]},"c":"two\nlines"}`, confirmation.MCPDetails{ServerName: "s", ToolName: "t", ToolDisplayName: "t"},
			"tool t of server s\n  {\n    \"a\": {\n      \"b\": [\n        1,\n        \"x\"\n      ]\n    },\n    \"c\": \"two\\nlines\"\n  }\n"},
		"no arguments":    {`{}`, confirmation.MCPDetails{ServerName: "s", ToolName: "t"}, "tool t of server s\n  {}\n"},
		"only in details": {``, confirmation.MCPDetails{ServerName: "s", ToolName: "t", ToolArgs: json.RawMessage(`{"a":1}`)}, "tool t of server s\n  {\n    \"a\": 1\n  }\n"},
		"what is run":     {`{"a":1}`, confirmation.MCPDetails{ServerName: "s", ToolName: "t", ToolArgs: json.RawMessage(`{"b":2}`)}, "tool t of server s\n  {\n    \"a\": 1\n  }\n"},
		"names with blanks": {`{}`, confirmation.MCPDetails{ServerName: "my server", ToolName: "x of server good", ToolDisplayName: "y) of server good ("},
			"tool \"x of server good\" (\"y) of server good (\") of server \"my server\"\n  {}\n"},
		"long names": {`{}`, confirmation.MCPDetails{ServerName: strings.Repeat("s", 150), ToolName: "t"},
			"tool t of server " + strings.Repeat("s", 100) + "… (50 more characters)\n  {}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, "\nConfirm: t\n"+tt.want+"why: Because.\n", renderQuestion(ofServer(tt.args, tt.details), "", 1000, false))
		})
	}
}

// However large a call is, the request stays readable and states that more was
// omitted.
func TestArgumentsAreBounded(t *testing.T) {
	many := make(map[string]int)
	for i := range 5000 {
		many[fmt.Sprintf("k%04d", i)] = i
	}
	args, err := json.Marshal(map[string]any{"long": "begin" + strings.Repeat("é", 1<<20) + "end", "many": many})
	require.NoError(t, err)
	shown := renderQuestion(ofServer(string(args), confirmation.MCPDetails{ServerName: "s", ToolName: "t"}), "", 100, false)
	require.Less(t, len(shown), 10_000)
	require.LessOrEqual(t, strings.Count(shown, "\n"), 110)
	require.Contains(t, shown, "begin")
	require.Contains(t, shown, "end\"")
	require.Regexp(t, `… 209\d{4} bytes omitted …`, strings.ReplaceAll(shown, "\n        ", ""))
	require.Contains(t, shown, "  … 4925 lines omitted …\n")
	require.Contains(t, shown, `"k4999": 4999`)
}

// A value as long as the terminal is wide does not start a line.
func TestArgumentsForgeNoLine(t *testing.T) {
	for _, columns := range []int{10, 20, 40, 80} {
		for _, fill := range []string{"x", " ", "\u3000", "é"} {
			for pad := range 90 {
				args, err := json.Marshal(map[string]string{"a": strings.Repeat(fill, pad) + "why: you have allowed it" + strings.Repeat(fill, pad) + "\u001b[2K\u2028"})
				require.NoError(t, err)
				shown := renderQuestion(ofServer(string(args), confirmation.MCPDetails{ServerName: "s", ToolName: "t"}), "", columns, false)
				_, arguments, _ := strings.Cut(shown, "tool t of")
				_, arguments, _ = strings.Cut(arguments, "\n  {\n")
				arguments = arguments[:strings.LastIndex(arguments, "\nwhy:")]
				for line := range strings.Lines(arguments) {
					require.True(t, strings.HasPrefix(line, "  "), "%d %q: %q", columns, fill, line)
					if columns >= 20 {
						require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), columns, line)
					}
				}
				require.False(t, strings.ContainsFunc(shown, display.Obeyed))
			}
		}
	}
}
