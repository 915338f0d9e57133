package script_test

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
)

// A model that reads a file and then reports its version.
func Example() {
	s, err := script.Parse("example.json", []byte(`{"turns": [
		{"text": "I read it.", "calls": [{"tool": "read_file", "args": {"file_path": "a.txt"}}]},
		{"expect": {"tool": "read_file", "ok": true}, "text": "It is version {{version \"a.txt\"}}."}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	g := script.New(s, script.Options{})
	contents := []model.Content{model.UserText("Read a.txt.")}
	first, err := g.Generate(context.Background(), &model.Request{Contents: contents})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := first.Content.Calls()[0]
	fmt.Println(first.Content.Text(), call.Name, string(call.Args))

	contents = append(contents, first.Content, model.Content{Role: model.RoleUser, Parts: []model.Part{{Response: &model.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: []byte(`{"output": {"file_path": "/shop/a.txt", "version": 7, "sha256": "c0ffee", "content": "x"}}`),
	}}}})
	second, err := g.Generate(context.Background(), &model.Request{Contents: contents})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(second.Content.Text())
	// Output:
	// I read it. read_file {"file_path": "a.txt"}
	// It is version 7.
}
