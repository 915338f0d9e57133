package config_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// A session in a folder: what a host does with the calls of a model.
func Example() {
	dir, err := os.MkdirTemp("", "fettle-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	c, err := config.New(config.Parameters{TargetDir: dir, HomeDir: dir, ApprovalMode: policy.ModeAutoEdit})
	if err != nil {
		panic(err)
	}
	if err := c.Initialize(ctx); err != nil {
		panic(err)
	}
	defer c.Close()
	calls, err := c.Scheduler()
	if err != nil {
		panic(err)
	}

	// Twice, as a model may: the second finds a file that it would overwrite.
	for range 2 {
		r := calls.Run(ctx, scheduler.Request{
			Tool: "write_file", Args: json.RawMessage(`{"file_path": "todo.txt", "content": "Water the plants.\n"}`),
		})
		if r.Result.Error != nil {
			fmt.Println(r.Status, r.Result.Error.Code)
			continue
		}
		fmt.Println(r.Status)
	}
	// Output:
	// success
	// error base_hash_required
}
