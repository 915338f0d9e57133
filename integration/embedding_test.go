package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// code: embed
// replaceGreeting reads a file and changes it, as a model would.
func replaceGreeting(ctx context.Context, dir string) error {
	c, err := config.New(config.Parameters{TargetDir: dir, Policy: config.Policy{ApprovalMode: policy.ModeAutoEdit}})
	if err != nil {
		return err
	}
	if err := c.Initialize(ctx); err != nil {
		return err
	}
	defer c.Close()
	calls, err := c.Scheduler()
	if err != nil {
		return err
	}
	read := calls.Run(ctx, scheduler.Request{CallID: "1", Tool: "read_file", Args: json.RawMessage(`{"file_path": "hello.txt"}`)})
	var state struct{ SHA256 string }
	if err := json.Unmarshal([]byte(read.Result.LLMContent.String()), &state); err != nil {
		return err
	}
	args, _ := json.Marshal(map[string]string{"file_path": "hello.txt", "content": "Good evening\n", "base_content_sha256": state.SHA256})
	write := calls.Run(ctx, scheduler.Request{CallID: "2", Tool: "write_file", Args: args})
	fmt.Println(write.Status)
	stale := calls.Run(ctx, scheduler.Request{CallID: "3", Tool: "write_file", Args: args})
	fmt.Println(stale.Status, stale.Result.Error.Code)
	return nil
}

// code: end

func Example_embedding() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	if err := replaceGreeting(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// success
	// error file_changed_since_read
}

// code: register
func configWith(dir string) (*config.Config, error) {
	tool, err := newCountWords()
	if err != nil {
		return nil, err
	}
	return config.New(config.Parameters{TargetDir: dir, Tools: config.Tools{Own: []tools.DeclarativeTool{tool}}})
}

// code: end

// TO-15: a tool from outside the core runs through the complete scheduler.
func Example_ownTool() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	c, err := configWith(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		fmt.Println(err)
		return
	}
	calls, err := c.Scheduler()
	if err != nil {
		fmt.Println(err)
		return
	}
	r := calls.Run(ctx, scheduler.Request{CallID: "1", Tool: "count_words", Args: json.RawMessage(`{"text": "to be or not to be", "unique": "true"}`)})
	fmt.Println(r.Status, r.Result.LLMContent, r.Decision.Decision)
	r = calls.Run(ctx, scheduler.Request{CallID: "2", Tool: "count_words", Args: json.RawMessage(`{"words": 3}`)})
	fmt.Println(r.Status, r.Result.Error.Code)
	// Output:
	// success {"words":4} allow
	// error invalid_tool_params
}

// code: ask
// sayYes passes each confirmation on a bus to asked, and answers it with yes.
func sayYes(ctx context.Context, b *bus.MessageBus, asked func(bus.ToolConfirmationRequest)) {
	bus.Subscribe(ctx, b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		asked(q)
		yes := bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true, Outcome: bus.ProceedOnce}
		if err := b.Publish(yes); err != nil {
			fmt.Println(err) // bus.ErrAnswered: another front end was faster
		}
	})
}

// code: end

// A front end is a subscriber; requests to it are plain data.
func Example_asking() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	var asked []bus.ToolConfirmationRequest
	c, err := config.New(config.Parameters{TargetDir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		fmt.Println(err)
		return
	}
	sayYes(ctx, c.MessageBus(), func(q bus.ToolConfirmationRequest) { asked = append(asked, q) })
	calls, err := c.Scheduler()
	if err != nil {
		fmt.Println(err)
		return
	}
	r := calls.Run(ctx, scheduler.Request{CallID: "1", Tool: "write_file", Args: json.RawMessage(`{"file_path": "new.txt", "content": "new\n"}`)})
	fmt.Println(r.Status, asked[0].ToolCall.Name, asked[0].Details.Type, asked[0].Details.FileName)
	// Output:
	// success write_file edit new.txt
}

// code: configtest
func TestNewFileNeedsApproval(t *testing.T) {
	s := configtest.New(t)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	r := s.Call("write_file", map[string]any{"file_path": "notes.txt", "content": "hello\n"})
	if r.Status != scheduler.StatusDenied || len(s.Confirmations()) != 1 {
		t.Errorf("the call ended with %s after %d questions", r.Status, len(s.Confirmations()))
	}
}

// code: end

// exampleDir creates a directory with one file.
func exampleDir() string {
	dir, err := os.MkdirTemp("", "fettle-example-")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("Hello\n"), 0o644); err != nil {
		panic(err)
	}
	return dir
}
