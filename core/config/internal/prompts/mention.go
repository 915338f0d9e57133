package prompts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mention"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Session describes the conversation of a prompt.
type Session struct {
	Files    Files
	Tools    Tools
	Registry *tools.Registry
	Servers  *mcp.Manager // nil: there are none
}

// Expander returns the expander of references in a prompt.
func (s Session) Expander() *mention.Expander {
	o := mention.Options{Files: s.Files, Tools: s.Tools, Agents: func(name string) bool {
		t, err := s.Registry.Lookup(name)
		_, is := t.(subagent.AgentTool)
		return err == nil && is
	}}
	if s.Servers != nil {
		o.Resources = resources{s.Servers}
	}
	return mention.New(o)
}

// resources are the resources that a prompt may name. A server that does not
// answer delays the prompt for a bounded time.
type resources struct{ *mcp.Manager }

// resourceTime is the timeout for a resource of a prompt.
const resourceTime = 30 * time.Second

func (r resources) Read(ctx context.Context, server, uri string) (tools.Content, error) {
	limited, cancel := context.WithTimeout(ctx, resourceTime)
	defer cancel()
	content, err := r.Manager.Read(limited, server, uri)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return tools.Content{}, fault.Wrap(fault.MCPServerUnavailable, "config.expand",
			fmt.Sprintf("The MCP server %s did not return %s within %v.", server, uri, resourceTime), "Send the prompt without it, or check the server.", err)
	}
	return content, err
}

// Tools runs the calls of a prompt.
type Tools struct{ *scheduler.Scheduler }

// Call runs a call.
func (t Tools) Call(ctx context.Context, tool string, args json.RawMessage) tools.Result {
	return t.Run(ctx, scheduler.Request{Tool: tool, Args: args}).Result
}

// Files are the files that a prompt may name.
type Files struct {
	Workspace *workspace.Workspace
	Finder    func() *discovery.Finder // the current one
}

// Stat tries a relative path in each directory of the workspace, the target
// first.
func (f Files) Stat(ctx context.Context, path string) (mention.Found, error) {
	dirs := f.Workspace.Directories()
	if filepath.IsAbs(path) {
		dirs = dirs[:1]
	}
	var first error
	for _, dir := range dirs {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(dir, path)
		}
		found, err := f.stat(ctx, full)
		if err == nil {
			return found, nil
		}
		if first == nil {
			first = err
		}
	}
	return mention.Found{}, first
}

func (f Files) stat(ctx context.Context, path string) (mention.Found, error) {
	p, err := f.Workspace.Resolve(path)
	if err != nil {
		return mention.Found{}, err
	}
	info, err := f.Workspace.Stat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return mention.Found{}, fault.Wrap(fault.FileNotFound, "config.expand", "There is no file "+p.String()+".", "Check the path.", err)
	case err != nil:
		return mention.Found{}, err
	}
	why, err := f.Finder().Why(ctx, p, info.Mode.IsDir())
	if err != nil {
		return mention.Found{}, err
	}
	return mention.Found{Path: p.String(), IsDir: info.Mode.IsDir(), Ignored: why.Ignored}, nil
}

// Search finds files by a part of their path.
func (f Files) Search(ctx context.Context, text string, most int) ([]string, error) {
	escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(filepath.ToSlash(text))
	var paths []string
	for _, directory := range f.Workspace.Directories() {
		dir, err := f.Workspace.Resolve(directory)
		if err != nil {
			return nil, err
		}
		found, err := f.Finder().Find(ctx, discovery.Find{Pattern: "**/*" + escaped + "*", Dir: dir, Limit: most - len(paths)})
		if err != nil {
			return nil, err
		}
		for _, file := range found.Files {
			paths = append(paths, file.String())
		}
		if len(paths) >= most {
			break
		}
	}
	return paths, nil
}
