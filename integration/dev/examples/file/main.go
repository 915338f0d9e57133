// Program file is the example of README.md: two changes of one file.

// code: program
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

func main() {
	if err := replaceGreeting(context.Background(), "."); err != nil {
		log.Fatal(err)
	}
}

// replaceGreeting reads a file and changes it twice, as a model would: the second change is based on the old state.
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
