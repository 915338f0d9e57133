package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

func TestErrorText(t *testing.T) {
	tests := map[string]struct {
		err  *fault.Error
		want string
	}{
		"all parts": {
			fault.Wrap(fault.FileNotFound, "file.read", "There is no file a.go.", "List the directory.", fs.ErrNotExist),
			"file.read: file_not_found: There is no file a.go.: file does not exist",
		},
		"no cause":     {fault.New(fault.Cancelled, "x.y", "It was cancelled.", ""), "x.y: cancelled: It was cancelled."},
		"no operation": {fault.New(fault.Cancelled, "", "It was cancelled.", ""), "cancelled: It was cancelled."},
		"code only":    {&fault.Error{Code: fault.Unknown}, "unknown"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, tt.err.Error()) })
	}
}

// Line returns one line for any message.
func TestLine(t *testing.T) {
	err := fault.New(fault.InvalidDiff, "op", "First\nsecond\t third.", "Do this.\n")
	require.Equal(t, "First second third. Do this.", err.Line())
	require.Equal(t, "First\nsecond\t third. Do this.\n", err.Text())
	for message, want := range map[string]string{
		"one pattern": "one pattern. Next.", `no "[a"`: `no "[a". Next.`, "at 3": "at 3. Next.", "Is it?": "Is it? Next.", `Schema: {"a":1}`: `Schema: {"a":1} Next.`,
	} {
		require.Equal(t, want, fault.New(fault.InvalidToolParams, "op", message, "Next.").Line())
	}
	require.Equal(t, "Alone.", fault.New(fault.InvalidDiff, "op", "Alone.", "").Line())
}

func TestDisplay(t *testing.T) {
	err := fault.New(fault.InvalidDiff, "op", "The long message.", "")
	require.Equal(t, "The long message.", err.Display())
	err.Short = "Short"
	require.Equal(t, "Short", err.Display())
}

func TestIs(t *testing.T) {
	err := fault.Wrap(fault.EditRequiresPriorRead, "op", "Message.", "", fs.ErrNotExist).Because(fault.NeverRead)
	wrapped := fmt.Errorf("outer: %w", err)
	tests := map[string]struct {
		target error
		want   bool
	}{
		"its code":              {&fault.Error{Code: fault.EditRequiresPriorRead}, true},
		"its code and reason":   {&fault.Error{Code: fault.EditRequiresPriorRead, Reason: fault.NeverRead}, true},
		"another code":          {&fault.Error{Code: fault.FileNotFound}, false},
		"another reason":        {&fault.Error{Code: fault.EditRequiresPriorRead, Reason: fault.Changed}, false},
		"its code, and message": {&fault.Error{Code: fault.EditRequiresPriorRead, Message: "Message."}, false},
		"its code, and remedy":  {&fault.Error{Code: fault.EditRequiresPriorRead, Remedy: "x"}, false},
		"its code, and op":      {&fault.Error{Code: fault.EditRequiresPriorRead, Op: "op"}, false},
		"its code, and short":   {&fault.Error{Code: fault.EditRequiresPriorRead, Short: "x"}, false},
		"its code, and cause":   {&fault.Error{Code: fault.EditRequiresPriorRead, Err: fs.ErrNotExist}, false},
		"itself":                {err, true},
		"its cause":             {fs.ErrNotExist, true},
		"another error":         {os.ErrClosed, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, errors.Is(wrapped, tt.target)) })
	}
}

func TestWasCancelled(t *testing.T) {
	require.Equal(t, &fault.Error{Code: fault.Cancelled, Op: "config.Restate", Message: "Restate was cancelled.", Err: context.Canceled},
		fault.WasCancelled("config.Restate", context.Canceled))
	require.Equal(t, "skills was cancelled.", fault.WasCancelled("skills", context.Canceled).Message)
}

// PR-25, PR-31, KH-07, KH-10: a reason is set on a copy.
func TestBecause(t *testing.T) {
	err := fault.New(fault.FileChangedSinceRead, "op", "Message.", "Remedy.")
	because := err.Because(fault.Disappeared)
	require.Equal(t, fault.Reason("disappeared"), because.Reason)
	require.Empty(t, err.Reason)
	require.Equal(t, err.Message, because.Message)
}

func TestJSON(t *testing.T) {
	tests := map[string]struct {
		err  *fault.Error
		want string
	}{
		"full": {
			fault.Wrap(fault.FileChangedSinceRead, "secret.op", "It changed.", "Read it.", errors.New("cause")).Because(fault.Changed),
			`{"type":"file_changed_since_read","message":"It changed.","remedy":"Read it.","reason":"changed"}`,
		},
		"short": {fault.New(fault.Unknown, "op", "What.", ""), `{"type":"unknown","message":"What."}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(tt.err)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(text))
			var back fault.Error
			require.NoError(t, json.Unmarshal(text, &back))
			again, err := json.Marshal(&back)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(again))
		})
	}
	require.Error(t, new(fault.Error).UnmarshalJSON([]byte(`[]`)))
}

func TestAsAndCodeOf(t *testing.T) {
	inner := fault.New(fault.NoSpaceLeft, "op", "Full.", "")
	outer := fault.Wrap(fault.FileWriteFailure, "op", "Not written.", "", inner)
	require.Same(t, outer, fault.As(fmt.Errorf("x: %w", outer)))
	require.Nil(t, fault.As(errors.New("plain")))
	require.Nil(t, fault.As(nil))
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(fmt.Errorf("x: %w", outer)))
	require.Equal(t, fault.Unknown, fault.CodeOf(errors.New("plain")))
	require.Equal(t, fault.Code(""), fault.CodeOf(nil))
	require.ErrorIs(t, outer, inner)
}

// Codes and reasons are API: an entry of this list is never renamed or removed. A new code needs its constant and an
// entry here.
func TestCodesAreKept(t *testing.T) {
	source, err := os.ReadFile("code.go")
	require.NoError(t, err)
	var found []string
	for _, m := range regexp.MustCompile(`(?:Code|Reason)\s*=\s*"([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
		found = append(found, m[1])
	}
	kept := strings.Fields(`
		unknown unhandled_exception invalid_tool_params tool_not_registered policy_violation execution_failed
		denied_by_user nobody_to_ask approval_not_remembered cancelled stop_execution shell_execute_error not_initialized invalid_config untrusted_folder
		file_not_found file_write_failure read_content_failure file_too_large permission_denied no_space_left
		target_is_directory path_not_in_workspace path_is_not_a_directory not_a_regular_file
		ls_execution_error glob_execution_error grep_execution_error read_many_files_search_error attempt_to_create_existing_file
		edit_requires_prior_read file_changed_since_read prior_read_verification_failed base_hash_required
		invalid_diff ambiguous_diff patch_apply_failed edit_no_occurrence_found edit_expected_occurrence_mismatch
		edit_no_change edit_preparation_failure
		never_read partial_read non_text special_file changed disappeared unverifiable no_session open_elsewhere nothing_to_retry
		idle_limit total_limit
		web_fetch_processing_error web_search_failed memory_tool_execution_error discovered_tool_execution_error private_address
		mcp_tool_error mcp_server_unavailable mcp_sign_in_required mcp_resource_not_found
		model_error limit_reached loop_detected invalid_stream session_not_found session_unreadable agent_execution_error
		checkpoint_failed checkpoint_not_found restore_refused fork_unsupported later_work not_kept`)
	require.ElementsMatch(t, found, kept) // without duplicates
}

// A problem is one line, whatever its fields contain.
func TestProblemIsOneLine(t *testing.T) {
	p := fault.Problem{Path: "a\nb", Line: 2, Column: 3, Key: "c\r\nd", Message: "It\nis\twrong.", Remedy: "Repair\n it."}
	require.Equal(t, "a b:2:3: c d: It is wrong. Repair it.", p.String())
}
