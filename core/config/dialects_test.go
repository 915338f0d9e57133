package config_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// namedModel is a Generator that only has a name.
type namedModel struct {
	model.Generator
	name model.Name
}

func (n namedModel) Name() model.Name { return n.name }

// dialectsIn returns the edit dialects of names.
func dialectsIn(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(file.EditDialects(), name) })
}

// declaredDialects returns the edit dialects that are declared to a model.
func declaredDialects(t *testing.T, c *config.Config) []string {
	t.Helper()
	all, err := c.Declarations(model.DialectOpenAI)
	require.NoError(t, err)
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return dialectsIn(names)
}

// ED-04: with auto the model selects one tool, and the declared tool follows the model. That of the previous model can still
// be called.
func TestAutoDialectFollowsTheModel(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.EditDialect, p.Conversation.Model = []string{"auto"}, "openrouter/openai/gpt-5"
		p.Policy.ApprovalMode = "yolo"
		p.Conversation.Models = func(_ context.Context, name string) (model.Generator, error) {
			if name == "auto" {
				return namedModel{name: model.Name{Provider: "anthropic", Model: "claude-sonnet-4-5"}}, nil
			}
			return namedModel{name: model.Name{Provider: "openai", Model: name}}, nil
		}
	})
	registry, err := s.ToolRegistry()
	require.NoError(t, err)
	require.Equal(t, []string{file.ApplyPatch}, dialectsIn(registry.Names()))
	require.Equal(t, []string{file.ApplyPatch}, declaredDialects(t, s.Config))
	prompt, err := s.SystemPrompt(t.Context())
	require.NoError(t, err)
	require.Contains(t, prompt, "with apply_patch")
	require.NotContains(t, prompt, "str_replace_based_edit_tool")

	s.SetModel("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
	require.Equal(t, []string{file.TextEditor}, declaredDialects(t, s.Config))
	prompt, err = s.SystemPrompt(t.Context())
	require.NoError(t, err)
	require.Contains(t, prompt, "with str_replace_based_edit_tool")
	require.NotContains(t, prompt, "with apply_patch")
	r := s.Call(file.ApplyPatch, map[string]any{"input": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"})
	require.Nil(t, r.Result.Error)

	s.SetModel("llama-4")
	require.Equal(t, []string{file.SafePatch}, declaredDialects(t, s.Config))

	// An alias leads to a model when the conversation finds it.
	s.SetModel("auto")
	require.Equal(t, []string{file.SafePatch}, declaredDialects(t, s.Config))
	client, err := s.Client()
	require.NoError(t, err)
	require.NoError(t, client.Initialize(t.Context()))
	require.Equal(t, []string{file.TextEditor}, declaredDialects(t, s.Config))

	// A derived Config has the dialect of its own model.
	for name, want := range map[string]string{"": file.TextEditor, "gpt-5": file.ApplyPatch, "gemini-2.5-pro": file.SafePatch} {
		child, err := s.Derive(config.DeriveParameters{Model: name})
		require.NoError(t, err)
		require.Equal(t, []string{want}, declaredDialects(t, child))
		require.NoError(t, child.Close())
	}
}

// ED-04: a list of core tools takes precedence over the dialect, and an exclusion over both.
func TestDialectAndLists(t *testing.T) {
	for _, c := range []struct {
		change func(p *config.Tools)
		want   []string
	}{
		{func(*config.Tools) {}, []string{file.SafePatch}},
		{func(p *config.Tools) { p.EditDialect = []string{"auto"} }, []string{file.SafePatch}},
		{func(p *config.Tools) { p.EditDialect = []string{file.TextEditor, file.ApplyPatch} }, []string{file.ApplyPatch, file.TextEditor}},
		{func(p *config.Tools) {
			p.EditDialect, p.Core = []string{"auto"}, []string{file.ApplyPatch, file.TextEditor}
		}, []string{file.ApplyPatch, file.TextEditor}},
		{func(p *config.Tools) { p.EditDialect, p.Exclude = []string{"auto"}, []string{file.SafePatch} }, []string{}},
	} {
		s := configtest.New(t, func(p *config.Parameters) { c.change(&p.Tools) })
		require.Equal(t, c.want, declaredDialects(t, s.Config))
	}
	for _, list := range [][]string{{"sed"}, {"auto", file.SafePatch}} {
		_, err := config.New(config.Parameters{TargetDir: t.TempDir(), Tools: config.Tools{EditDialect: list}})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	}
}

// ED-04: the setting, and so its schema, lists the dialects.
func TestDialectSetting(t *testing.T) {
	field, ok := reflect.TypeFor[settings.Tools]().FieldByName("EditDialect")
	require.True(t, ok)
	require.Equal(t, "enum="+strings.Join(append([]string{file.AutoDialect}, file.EditDialects()...), ",enum="), field.Tag.Get("jsonschema"))
}
