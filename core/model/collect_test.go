package model_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
)

func text(s string) model.Part    { return model.Part{Text: s} }
func thought(s string) model.Part { return model.Part{Text: s, Thought: true} }
func signed(p model.Part, signature string) model.Part {
	p.Signature, p.Provider = []byte(signature), "p"
	return p
}

func call(id string) model.Part {
	return model.Part{Call: &model.FunctionCall{ID: id, Name: "t"}}
}

func chunks(parts ...model.Part) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		for _, p := range parts {
			if !yield(&model.Chunk{Parts: []model.Part{p}}, nil) {
				return
			}
		}
	}
}

func TestCollectParts(t *testing.T) {
	data := model.Part{Data: &model.Data{MIMEType: "image/png"}}
	tests := map[string]struct{ in, want []model.Part }{
		"nothing":                             {nil, nil},
		"texts join":                          {[]model.Part{text("a"), text(""), text("b")}, []model.Part{text("ab")}},
		"thoughts join":                       {[]model.Part{thought("a"), thought("b")}, []model.Part{thought("ab")}},
		"the sorts stay apart":                {[]model.Part{thought("a"), text("b"), thought("c")}, []model.Part{thought("a"), text("b"), thought("c")}},
		"a call parts texts":                  {[]model.Part{text("a"), call("1"), text("b")}, []model.Part{text("a"), call("1"), text("b")}},
		"data part texts":                     {[]model.Part{text("a"), data, text("b")}, []model.Part{text("a"), data, text("b")}},
		"a signature ends its thought":        {[]model.Part{thought("a"), signed(thought(""), "s"), thought("b")}, []model.Part{signed(thought("a"), "s"), thought("b")}},
		"an empty thought is signed":          {[]model.Part{signed(thought(""), "s"), signed(thought(""), "u")}, []model.Part{signed(thought(""), "s"), signed(thought(""), "u")}},
		"a lone signature is a separate part": {[]model.Part{text("a"), signed(text(""), "s"), text("b")}, []model.Part{text("a"), signed(text(""), "s"), text("b")}},
		"a signed text is a separate part":    {[]model.Part{text("a"), signed(text("b"), "s"), text("c")}, []model.Part{text("a"), signed(text("b"), "s"), text("c")}},
		"empty texts are dropped":             {[]model.Part{text(""), thought("")}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := model.Collect(chunks(tt.in...))
			require.NoError(t, err)
			require.Equal(t, model.RoleModel, r.Content.Role)
			require.Equal(t, tt.want, r.Content.Parts)
		})
	}
}

func TestCollectorFields(t *testing.T) {
	var c model.Collector
	c.Add(nil)
	c.Add(&model.Chunk{ID: "1", Model: "m", Parts: []model.Part{text("a")}, Usage: &model.Usage{Input: 1}, Citations: []string{"x"}})
	early := c.Response()
	c.Add(&model.Chunk{Parts: []model.Part{text("b")}, Finish: model.FinishStop, Usage: &model.Usage{Input: 1, Output: 2}, Citations: []string{"x", "y"}})
	require.Equal(t, "a", early.Content.Text(), "an earlier response does not change")
	require.Equal(t, []string{"x"}, early.Citations)
	require.Equal(t, &model.Response{
		ID: "1", Model: "m", Content: model.Content{Role: model.RoleModel, Parts: []model.Part{text("ab")}},
		Finish: model.FinishStop, Usage: model.Usage{Input: 1, Output: 2}, Citations: []string{"x", "y"},
	}, c.Response())
}

func TestCollectError(t *testing.T) {
	want := errors.New("broken")
	r, err := model.Collect(func(yield func(*model.Chunk, error) bool) {
		_ = yield(&model.Chunk{Parts: []model.Part{text("a")}}, nil) && yield(nil, want)
	})
	require.ErrorIs(t, err, want)
	require.Nil(t, r)
}
