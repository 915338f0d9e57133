package config

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

// Expand puts into a prompt what it names with @ (CM-13, CM-14): files are read
// by this session's own tools, under its policy, and count as read; a subagent that
// the session may call is asked for; @server:uri is a resource of an MCP server. The error is of code not_initialized or
// cancelled.
func (c *Config) Expand(ctx context.Context, text string) (mention.Expanded, error) {
	s, err := c.own("Expand")
	if err != nil {
		return mention.Expanded{}, err
	}
	sh, err := c.services("Expand")
	if err != nil {
		return mention.Expanded{}, err
	}
	ctx, ended := s.hold(ctx)
	expanded, err := c.expander(sh, s).Expand(ctx, text)
	ended(err == nil)
	return expanded, err
}

// hold returns a context in which what files show counts as shown once the function
// that it returns is called with true: they are in what is said.
func (s *session) hold(ctx context.Context) (context.Context, func(said bool)) {
	ctx, r := s.state.Begin(ctx)
	return ctx, func(said bool) {
		if said {
			r.Commit()
		} else {
			r.Drop()
		}
	}
}

func (c *Config) expander(sh *shared, s *session) *mention.Expander {
	var resources mention.Resources
	if sh.servers.Load() != nil {
		resources = promptResources{sh.servers.Load()}
	}
	return mention.New(mention.Options{
		Resources: resources,
		Files:     promptFiles{sh.workspace, &sh.finder},
		Tools:     promptTools{s.scheduler},
		Agents: func(name string) bool {
			t, err := s.registry.Lookup(name)
			_, is := t.(subagent.AgentTool)
			return err == nil && is
		},
	})
}

// promptResources are the resources that a prompt may name. A server that does not
// answer keeps the prompt from nothing for long.
type promptResources struct{ *mcp.Manager }

// resourceTime is how long a resource of a prompt is waited for.
const resourceTime = 30 * time.Second

func (r promptResources) Read(ctx context.Context, server, uri string) (tools.Content, error) {
	limited, cancel := context.WithTimeout(ctx, resourceTime)
	defer cancel()
	content, err := r.Manager.Read(limited, server, uri)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return tools.Content{}, fault.Wrap(fault.MCPServerUnavailable, "config.expand",
			fmt.Sprintf("The MCP server %s did not give %s within %v.", server, uri, resourceTime), "Ask without it, or look at the server.", err)
	}
	return content, err
}

// promptTools run the calls of a prompt.
type promptTools struct{ *scheduler.Scheduler }

func (t promptTools) Call(ctx context.Context, tool string, args json.RawMessage) tools.Result {
	return t.Run(ctx, scheduler.Request{Tool: tool, Args: args}).Result
}

// promptFiles are the files that a prompt may name.
type promptFiles struct {
	workspace *workspace.Workspace
	finder    *Finder
}

// Look tries a relative path in each folder of the workspace, the target first.
func (f promptFiles) Look(ctx context.Context, path string) (mention.Found, error) {
	folders := f.workspace.Folders()
	if filepath.IsAbs(path) {
		folders = folders[:1]
	}
	var first error
	for _, folder := range folders {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(folder, path)
		}
		found, err := f.look(ctx, full)
		if err == nil {
			return found, nil
		}
		if first == nil {
			first = err
		}
	}
	return mention.Found{}, first
}

func (f promptFiles) look(ctx context.Context, path string) (mention.Found, error) {
	p, err := f.workspace.Resolve(path)
	if err != nil {
		return mention.Found{}, err
	}
	info, err := f.workspace.Stat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return mention.Found{}, fault.Wrap(fault.FileNotFound, "config.expand", "There is no file "+p.String()+".", "Check the path.", err)
	case err != nil:
		return mention.Found{}, err
	}
	why, err := f.finder.now.Load().Why(ctx, p, info.Mode.IsDir())
	if err != nil {
		return mention.Found{}, err
	}
	return mention.Found{Path: p.String(), Folder: info.Mode.IsDir(), Ignored: why.Ignored}, nil
}

// Search finds files by a part of their path.
func (f promptFiles) Search(ctx context.Context, text string, most int) ([]string, error) {
	escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(filepath.ToSlash(text))
	var paths []string
	for _, folder := range f.workspace.Folders() {
		dir, err := f.workspace.Resolve(folder)
		if err != nil {
			return nil, err
		}
		found, err := f.finder.Find(ctx, discovery.Find{Pattern: "**/*" + escaped + "*", Dir: dir, Limit: most - len(paths)})
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
