package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

// code: tag-params
type tagParams struct {
	Name string `json:"name" jsonschema:"pattern=^v[0-9]" jsonschema_description:"Name of the tag, as v1.2.0."`
}

// repository holds the services of a session that the tool uses.
type repository interface {
	Dir() string
	Head() string                 // the commit that is checked out
	Tag(name, commit string) bool // false: there is a tag of this name
}

func checkTag(p tagParams) error {
	if path.Base(p.Name) != p.Name {
		return errors.New("a name of a tag has no slash")
	}
	return nil
}

// code: end

// code: tag-define
func defineTag(repo repository) (tools.DeclarativeTool, error) {
	return tools.Define("tag_release", "Tags the current commit.", tools.KindExecute,
		func(_ context.Context, p tagParams) (tools.Result, error) {
			return tagged(repo, p.Name, repo.Head()), nil
		},
		tools.WithValidation(checkTag),
		tools.WithDescription(func(p tagParams) string { return "Tag the current commit " + p.Name }),
		tools.WithLocations(func(p tagParams) []tools.Location { return tagLocations(repo, p.Name) }),
		tools.WithConfirmation(func(_ context.Context, p tagParams) (*tools.Confirmation, error) {
			return confirmTag(repo, p.Name, repo.Head()), nil
		}))
}

func tagged(repo repository, name, commit string) tools.Result {
	if !repo.Tag(name, commit) {
		return tools.Fail(fault.New(fault.ExecutionFailed, "tag_release", "There is a tag "+name+".", "Choose another name."))
	}
	return tools.Result{LLMContent: tools.Text("Tagged " + commit + " " + name + "."), ReturnDisplay: tools.TextDisplay(name)}
}

func tagLocations(repo repository, name string) []tools.Location {
	return []tools.Location{{Path: path.Join(repo.Dir(), ".git/refs/tags", name)}}
}

func confirmTag(repo repository, name, commit string) *tools.Confirmation {
	return &tools.Confirmation{
		Type: tools.ConfirmInfo, Title: "Tag a release", Paths: []string{tagLocations(repo, name)[0].Path},
		InfoDetails: &tools.InfoDetails{Prompt: "Tag commit " + commit + " " + name + "?"},
	}
}

// code: end

// code: tag-factory
func newTagFactory() (*tools.Factory[repository], error) {
	return tools.NewFactory(tools.Definition[repository, tagParams]{
		Spec:     tools.Spec{Name: "tag_release", Description: "Tags the current commit.", Kind: tools.KindExecute},
		Validate: func(_ repository, p tagParams) error { return checkTag(p) },
		Build: func(repo repository, p tagParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &tagCall{repo: repo, name: p.Name, params: params}, nil
		},
	})
}

// code: end

// code: tag-invocation
// tagCall is one call of tag_release.
type tagCall struct {
	repo   repository
	name   string
	params json.RawMessage
	shown  string // the commit in the question to the user; "" without a question
}

func (c *tagCall) Params() json.RawMessage     { return c.params }
func (c *tagCall) Description() string         { return "Tag the current commit " + c.name }
func (c *tagCall) Locations() []tools.Location { return tagLocations(c.repo, c.name) }

func (c *tagCall) Confirmation(context.Context) (*tools.Confirmation, error) {
	c.shown = c.repo.Head()
	return confirmTag(c.repo, c.name, c.shown), nil
}

func (c *tagCall) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	commit := c.repo.Head()
	if c.shown != "" && c.shown != commit {
		return tools.Fail(fault.New(fault.ExecutionFailed, "tag_release",
			"The user approved commit "+c.shown+", and now "+commit+" is checked out.", "Call tag_release again.")), nil
	}
	return tagged(c.repo, c.name, commit), nil
}

// code: end

// memory is a repository without files.
type memory struct {
	head string
	tags map[string]string
}

func (m *memory) Dir() string  { return "/project" }
func (m *memory) Head() string { return m.head }
func (m *memory) Tag(name, commit string) bool {
	_, exists := m.tags[name]
	if !exists {
		m.tags[name] = commit
	}
	return !exists
}

// A tool of two types, written by hand: a call keeps the data that the user approved from its confirmation to its
// execution.
func ExampleNewFactory() {
	factory, err := newTagFactory()
	if err != nil {
		fmt.Println(err)
		return
	}
	repo := &memory{head: "4f2a9c1", tags: map[string]string{}}
	tool := factory.Bind(repo) // once for each session

	if _, err := tool.Build(json.RawMessage(`{"name": "v1/2"}`)); err != nil {
		fmt.Println(fault.As(err).Message)
	}
	tag := func(between func()) {
		call, err := tool.Build(json.RawMessage(`{"name": "v1.2.0"}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		question, err := call.Confirmation(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(question.Prompt, question.Paths)
		between()
		result, err := call.Execute(context.Background(), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.LLMContent)
	}
	tag(func() { repo.head = "b07d5e8" }) // the commit changes while the user decides
	tag(func() {})
	// Output:
	// a name of a tag has no slash
	// Tag commit 4f2a9c1 v1.2.0? [/project/.git/refs/tags/v1.2.0]
	// The user approved commit 4f2a9c1, and now b07d5e8 is checked out. Call tag_release again.
	// Tag commit b07d5e8 v1.2.0? [/project/.git/refs/tags/v1.2.0]
	// Tagged b07d5e8 v1.2.0.
}

// Both implementations fulfil the contract of a tool.
func TestTagBothWays(t *testing.T) {
	for way, bind := range map[string]func(repository) (tools.DeclarativeTool, error){
		"Define": defineTag,
		"by hand": func(repo repository) (tools.DeclarativeTool, error) {
			factory, err := newTagFactory()
			if err != nil {
				return nil, err
			}
			return factory.Bind(repo), factory.Compile()
		},
	} {
		t.Run(way, func(t *testing.T) {
			tooltest.Run(t, nil, tooltest.Cases{
				Fresh: func(t testing.TB) tools.DeclarativeTool {
					tool, err := bind(&memory{head: "4f2a9c1", tags: map[string]string{}})
					require.NoError(t, err)
					return tool
				},
				Examples: args(`{"name":"v1.2.0"}`),
				Bad:      args(`{"name":"1.2.0"}`, `{"name":"v1/2"}`, `{}`),
			})
		})
	}
}
