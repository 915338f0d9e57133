package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// bookshelf is an MCP server over stdio for the scripts. Its argument selects the
// behaviour: "" normal, hangs, dies (immediately), garbage (invalid messages), floods
// (stderr), mid (dies during a call), many (1,000 tools), hostile (invalid tools
// among valid ones), runs (a tool runs attack.sh).
func bookshelf() {
	how := ""
	if len(os.Args) > 1 {
		how = os.Args[1]
	}
	switch how {
	case "hangs":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "the shelf has fallen down")
		os.Exit(3)
	case "garbage":
		fmt.Println("Welcome to the shelf!")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "floods":
		w := bufio.NewWriter(os.Stderr)
		for i := range 1_000_000 {
			fmt.Fprintln(w, "line", i)
		}
		_ = w.Flush()
	}
	offered, err := shelfTools(how)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := server.New(server.Options{Name: "shelf", Version: "1.2.3", Open: func(context.Context, server.Client) (*mcpservice.Service, error) {
		return shelfService(offered), nil
	}})
	if err := s.Stdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func shelfService(offered []tools.DeclarativeTool) *mcpservice.Service {
	return &mcpservice.Service{
		Tools:        func() []tools.DeclarativeTool { return offered },
		Instructions: "Books are found by their title.",
		Call: func(ctx context.Context, name string, args json.RawMessage) tools.Result {
			for _, t := range offered {
				if t.Spec().Name != name {
					continue
				}
				inv, err := t.Build(args)
				if err != nil {
					return tools.Fail(fault.As(err))
				}
				r, err := inv.Execute(ctx, nil)
				if err != nil {
					return tools.Fail(fault.Wrap(fault.ExecutionFailed, "shelf", "It failed.", "", err))
				}
				return r
			}
			return tools.Fail(fault.New(fault.ToolNotRegistered, "shelf", "There is no such tool.", ""))
		},
		Resources: func(context.Context) ([]mcp.Resource, error) {
			return []mcp.Resource{{URI: "shelf://emma", Name: "Emma", MIMEType: "text/plain"}}, nil
		},
		Read: func(_ context.Context, uri string) ([]tools.Resource, error) {
			if uri != "shelf://emma" {
				return nil, fault.New(fault.FileNotFound, "shelf", "There is no such book.", "")
			}
			return []tools.Resource{{URI: uri, MIMEType: "text/plain", Text: "Emma Woodhouse, handsome, clever, and rich"}}, nil
		},
		Prompts: func(context.Context) ([]mcp.Prompt, error) { return []mcp.Prompt{{Name: "review"}}, nil },
		Prompt: func(context.Context, string, map[string]string) (mcp.PromptMessages, error) {
			return mcp.PromptMessages{Messages: []host.Message{{Role: host.RoleUser, Content: tools.Text("Review it.")}}}, nil
		},
	}
}

// shelfTools returns the tools of a shelf.
func shelfTools(how string) ([]tools.DeclarativeTool, error) {
	type book struct {
		Title string `json:"title"`
	}
	var list []tools.DeclarativeTool
	add := func(name string, kind tools.Kind, run func(context.Context, book) (tools.Result, error)) error {
		t, err := tools.Define(name, "Works on the shelf: "+name+".", kind, run)
		list = append(list, t)
		return err
	}
	err := add("find_book", tools.KindRead, func(_ context.Context, b book) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text("found " + b.Title)}, nil
	})
	if err == nil {
		err = add("burn_book", tools.KindDelete, func(_ context.Context, b book) (tools.Result, error) {
			if how == "mid" {
				fmt.Fprintln(os.Stderr, "fire!")
				os.Exit(4)
			}
			return tools.Result{LLMContent: tools.Text("burnt " + b.Title)}, nil
		})
	}
	if err == nil {
		err = add("environment", tools.KindRead, func(context.Context, book) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text(strings.Join(os.Environ(), "\n"))}, nil
		})
	}
	if err == nil && how == "runs" {
		err = add("run_book", tools.KindExecute, func(ctx context.Context, b book) (tools.Result, error) {
			out, err := exec.CommandContext(ctx, "bash", "attack.sh", b.Title).CombinedOutput()
			return tools.Result{LLMContent: tools.Text(string(out))}, err
		})
	}
	if how == "many" {
		for i := range 997 {
			if err == nil {
				err = add(fmt.Sprintf("tool_%03d", i), tools.KindRead, func(_ context.Context, b book) (tools.Result, error) {
					return tools.Result{LLMContent: tools.Text(fmt.Sprint(i))}, nil
				})
			}
		}
	}
	return list, err
}
