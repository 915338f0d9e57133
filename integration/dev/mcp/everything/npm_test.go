package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

//lint:file-ignore SA1019 sampling, roots and logging are deprecated since revision 2026-07-28, and part of the protocol

// dialogue is what a client of a server has seen, in order.
type dialogue struct {
	t *testing.T
	*sdk.ClientSession
	seen []string

	mu    sync.Mutex
	asked []string // requests and notifications of the server, whose order is not fixed
}

func (d *dialogue) note(what string, result any, err error) {
	d.t.Helper()
	if err != nil {
		var wire interface{ Error() string } = err
		d.seen = append(d.seen, what+": error "+wire.Error())
		return
	}
	data, err := json.Marshal(result)
	require.NoError(d.t, err)
	d.seen = append(d.seen, what+": "+string(data))
}

func (d *dialogue) ask(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, what)
}

func (d *dialogue) call(tool string, args map[string]any) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 30*time.Second)
	defer cancel()
	r, err := d.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	d.note(tool, r, err)
}

// meet connects a client to a command.
func meet(t *testing.T, dir string, env []string, command ...string) *dialogue {
	t.Helper()
	d := &dialogue{t: t}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			d.ask("elicitation " + r.Params.Message)
			return &sdk.ElicitResult{Action: "decline"}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			d.ask(fmt.Sprint("sampling ", r.Params.MaxTokens))
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: "as you say"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			d.ask(fmt.Sprint("progress ", r.Params.Progress, " of ", r.Params.Total))
		},
	})
	client.AddRoots(&sdk.Root{URI: "file://" + dir, Name: "work"})
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	d.ClientSession = session
	return d
}

// lists notes all that the server declares.
func (d *dialogue) lists() {
	ctx := d.t.Context()
	tools, err := d.ListTools(ctx, nil)
	d.note("tools/list", tools, err)
	if d.InitializeResult().Capabilities.Prompts != nil {
		prompts, err := d.ListPrompts(ctx, nil)
		d.note("prompts/list", prompts, err)
	}
	if d.InitializeResult().Capabilities.Resources != nil {
		resources, err := d.ListResources(ctx, nil)
		d.note("resources/list", resources, err)
		templates, err := d.ListResourceTemplates(ctx, nil)
		d.note("resources/templates/list", templates, err)
		for _, r := range resources.Resources {
			read, err := d.ReadResource(ctx, &sdk.ReadResourceParams{URI: r.URI})
			d.note("resources/read "+r.URI, read, err)
		}
	}
}

// files is the dialogue with server-filesystem.
func (d *dialogue) files() {
	d.lists()
	d.call("write_file", map[string]any{"path": "a.txt", "content": "one\ntwo\n"})
	d.call("edit_file", map[string]any{"path": "a.txt", "edits": []any{map[string]any{"oldText": "two", "newText": "zwei"}}})
	for _, tool := range []string{"read_text_file", "read_media_file", "get_file_info"} {
		d.call(tool, map[string]any{"path": "a.txt"})
	}
	d.call("read_multiple_files", map[string]any{"paths": []any{"a.txt", "none.txt"}})
	d.call("create_directory", map[string]any{"path": "sub"})
	d.call("move_file", map[string]any{"source": "a.txt", "destination": "sub/b.txt"})
	d.call("list_directory", map[string]any{"path": "."})
	d.call("directory_tree", map[string]any{"path": "."})
	d.call("search_files", map[string]any{"path": ".", "pattern": "**/*.txt"})
	d.call("list_allowed_directories", nil)
	d.call("read_text_file", map[string]any{"path": "/etc/passwd"})
	d.call("read_text_file", map[string]any{"wrong": 1})
	d.call("no_such_tool", nil)
}

// everything is the dialogue with server-everything.
func (d *dialogue) everything() {
	ctx := d.t.Context()
	d.lists()
	d.call("echo", map[string]any{"message": "hello <b>ü"})
	d.call("get-sum", map[string]any{"a": 2, "b": 40})
	d.call("get-sum", map[string]any{"a": "x"})
	d.call("get-tiny-image", nil)
	d.call("get-annotated-message", map[string]any{"messageType": "error", "includeImage": true})
	d.call("get-structured-content", map[string]any{"location": "Chicago"})
	d.call("get-resource-links", map[string]any{"count": 3})
	d.call("get-resource-reference", map[string]any{"resourceType": "Text", "resourceId": 1})
	d.call("get-roots-list", nil)
	d.call("trigger-sampling-request", map[string]any{"prompt": "Say something.", "maxTokens": 7})
	d.call("trigger-elicitation-request", nil)
	p := &sdk.CallToolParams{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": 0.2, "steps": 4}}
	p.SetProgressToken("p1")
	r, err := d.CallTool(ctx, p)
	d.note("with progress", r, err)
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	_, err = d.CallTool(short, &sdk.CallToolParams{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": 30, "steps": 3}})
	cancel()
	require.ErrorIs(d.t, err, context.DeadlineExceeded)
	d.call("echo", map[string]any{"message": "after the cancelled call"})
	for _, p := range []sdk.GetPromptParams{{Name: "simple-prompt"}, {Name: "args-prompt", Arguments: map[string]string{"city": "Paris", "state": "x"}}, {Name: "none"}} {
		prompt, err := d.GetPrompt(ctx, &p)
		d.note("prompts/get "+p.Name, prompt, err)
	}
	done, err := d.Complete(ctx, &sdk.CompleteParams{
		Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "completable-prompt"}, Argument: sdk.CompleteParamsArgument{Name: "department", Value: "E"}})
	d.note("completion", done, err)
	d.note("logging", nil, d.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "error"}))
	d.note("subscribe", nil, d.Subscribe(ctx, &sdk.SubscribeParams{URI: "demo://resource/dynamic/text/1"}))
	d.note("ping", nil, d.Ping(ctx, nil))
}

// FD-03: published servers behind the gateway pass the same dialogue as without it. The npm packages
// @modelcontextprotocol/server-filesystem and server-everything are in the directory FETTLE_GUARD_NODE.
func TestPublishedServers(t *testing.T) {
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("runs with FETTLE_FULL=1")
	}
	for name, say := range map[string]func(*dialogue){"filesystem": (*dialogue).files, "everything": (*dialogue).everything} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(os.Getenv("FETTLE_GUARD_NODE"), "node_modules/.bin/mcp-server-"+name)
			if _, err := os.Stat(program); err != nil {
				t.Skipf("the server is not installed: npm install --prefix DIR @modelcontextprotocol/server-%s, and FETTLE_GUARD_NODE=DIR", name)
			}
			home := t.TempDir()
			see := func(before ...string) (seen, asked string) {
				dir, err := filepath.EvalSymlinks(t.TempDir())
				require.NoError(t, err)
				command := append(before, program)
				if name == "filesystem" {
					command = append(command, dir)
				}
				d := meet(t, dir, []string{"EVERYTHING_GUARD=1", "HOME=" + home}, command...)
				say(d)
				_ = d.Close() // server-everything does not end when its stdin does
				d.mu.Lock()
				defer d.mu.Unlock()
				sort.Strings(d.asked)
				varies := strings.NewReplacer(dir, "DIR", strings.TrimPrefix(dir, "/"), "DIR")
				times := regexp.MustCompile(`(created|modified|accessed): [^\\"]*|\d{4}-\d\d-\d\dT[0-9:.]+Z|\d{1,2}:\d\d:\d\d [AP]M|"duration":\d+`)
				normal := func(lines []string) string {
					return times.ReplaceAllString(varies.Replace(strings.Join(lines, "\n")), "TIME")
				}
				return normal(d.seen), normal(d.asked)
			}
			seen, asked := see()
			guarded, askedGuarded := see(os.Args[0], "mcp", "--grant", "*", "--")
			require.Equal(t, seen, guarded)
			require.Equal(t, asked, askedGuarded)
			require.NotEmpty(t, seen)
		})
	}
}
