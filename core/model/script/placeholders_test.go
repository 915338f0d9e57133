package script_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
)

// Every hash is copied from tool results.
func TestPlaceholders(t *testing.T) {
	old := state("/w/prices.py", 1, hashA, "old")
	now := state("/w/prices.py", 3, hashB, "new\n")
	tests := map[string]struct {
		request *model.Request
		arg     string // JSON
		want    string
	}{
		"hash":                {after("read_file", `{"output":`+old+`}`), `"{{sha256 \"prices.py\"}}"`, `"` + hashA + `"`},
		"version is a number": {after("read_file", `{"output":`+old+`}`), `"{{version \"prices.py\"}}"`, `1`},
		"within a text":       {after("read_file", `{"output":`+old+`}`), `"v{{version \"prices.py\"}}: {{ content \"prices.py\" }}!"`, `"v1: old!"`},
		"path":                {after("read_file", `{"output":`+old+`}`), `"{{path \"prices.py\"}}"`, `"/w/prices.py"`},
		"whole path":          {after("read_file", `{"output":`+old+`}`), `"{{version \"/w/prices.py\"}}"`, `1`},
		"content":             {after("read_file", `{"output":`+now+`}`), `"{{content \"prices.py\"}}"`, `"new\n"`},
		"newest wins":         {after("a", `{"output":`+now+`}`, "b", `{"output":`+old+`}`), `"{{sha256 \"prices.py\"}}"`, `"` + hashB + `"`},
		"in an error":         {after("safe_patch", `{"error":{"type":"file_changed_since_read"},"output":{"latest_file_state":`+now+`}}`), `"{{sha256 \"prices.py\"}}"`, `"` + hashB + `"`},
		"in a list":           {after("read_many_files", `{"output":{"files":[{"x":1},`+now+`]}}`), `"{{version \"prices.py\"}}"`, `3`},
		"in a text":           {after("read_file", `{"output":`+quote("Read:\n"+now+"\nEnd {")+`}`), `"{{version \"prices.py\"}}"`, `3`},
		"in the prompt":       {ask("Look at {this: " + now), `"{{version \"prices.py\"}}"`, `3`},
		"deep":                {after("a", `{"output":`+old+`}`), `{"list":[{"k":"{{version \"prices.py\"}}"},"x"]}`, `{"list":[{"k":1},"x"]}`},
		"value":               {after("run_shell_command", `{"output":{"id":"bg-1","list":[7,9007199254740993]}}`), `["{{value \"output.id\"}}","{{value \"output.list.1\"}}"]`, `["bg-1",9007199254740993]`},
		"value in a text":     {after("t", `{"output":"{\"pid\":12}"}`), `"{{value \"output.pid\"}}"`, `12`},
		"braces":              {ask("q"), `"a {{ b }} {{.C}} {{\"{{\"}}x {{\"q\\\"\"}}"`, `"a {{ b }} {{.C}} {{x q\""`},
		"keys stay":           {after("a", `{"output":`+old+`}`), `{"{{version \"prices.py\"}}":1}`, `{"{{version \"prices.py\"}}":1}`},
		"nothing to fill":     {ask("q"), `{ "a" : 1.50, "b":"<\u0041>" }`, `{ "a" : 1.50, "b":"<\u0041>" }`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := player(t, `{"calls":[{"tool":"t","args":{"x":`+tt.arg+`}}]}`)
			r, err := g.Generate(t.Context(), tt.request)
			require.NoError(t, err)
			require.Equal(t, `{"x":`+tt.want+`}`, string(r.Content.Calls()[0].Args))
		})
	}
	r, err := player(t, `{"text":["It is {{sha256 \"prices.py\"}}.","{{version \"prices.py\"}}"]}`).Generate(t.Context(), after("a", `{"output":`+old+`}`))
	require.NoError(t, err)
	require.Equal(t, "It is "+hashA+".1", r.Content.Text())
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

func TestPlaceholdersWithoutValue(t *testing.T) {
	two := after("a", `{"output":`+state("/w/a/x.go", 1, hashA, "")+`}`, "b", `{"output":`+state("/w/b/x.go", 2, hashB, "")+`}`)
	tests := map[string]struct {
		request *model.Request
		of      string
		want    string
	}{
		"never read":       {ask("q"), `sha256 \"x.go\"`, "no tool has returned a hash of x.go so far"},
		"another file":     {two, `sha256 \"y.go\"`, "hash of y.go"},
		"end of a name":    {two, `sha256 \"o\"`, "hash of o so far"},
		"one of several":   {two, `sha256 \"x.go\"`, "several files: /w/a/x.go, /w/b/x.go"},
		"no answer yet":    {ask("q"), `value \"output\"`, "no tool has returned a result so far"},
		"no such key":      {two, `value \"output.x\"`, "has no output.x"},
		"not in the model": {&model.Request{Contents: []model.Content{{Role: model.RoleModel, Parts: []model.Part{{Text: state("/w/x.go", 1, hashA, "")}}}}}, `sha256 \"x.go\"`, "hash of x.go"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := player(t, `{"text":"ok"}`+"\n\n", `{"calls":[{"tool":"t","args":{"x":"{{`+tt.of+`}}"}}],"when":{}}`).Generate(t.Context(), tt.request)
			require.NoError(t, err)
			g := player(t, `{"calls":[{"tool":"t","args":{"x":"{{`+tt.of+`}}"}}]}`)
			_, err = g.Generate(t.Context(), tt.request)
			fails(t, err, model.InvalidRequest, "turn 1 of the script (test.json, line 1)", tt.want)
		})
	}
}
