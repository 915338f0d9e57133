package settings_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
)

var update = flag.Bool("update", false, "rewrite the generated documentation")

const docs = "../../../docs"

// The setting takes the modes of policy.Modes in both spellings.
func TestModeValues(t *testing.T) {
	field, _ := reflect.TypeFor[settings.General]().FieldByName("DefaultApprovalMode")
	values := strings.Split(strings.ReplaceAll(field.Tag.Get("jsonschema"), "enum=", ""), ",")
	spellings := map[string]bool{}
	for _, m := range policy.Modes() {
		spellings[m.String()], spellings[m.Flag()] = true, true
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(spellings)), values)
}

// comments returns the doc comments of the package's structs and their fields,
// by "Type" and "Type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	files, err := filepath.Glob("settings*.go")
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.TypeSpec)
				found[spec.Name.Name] = oneLine(decl.Doc.Text())
				fields, ok := spec.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, f := range fields.Fields.List {
					for _, n := range f.Names {
						found[spec.Name.Name+"."+n.Name] = oneLine(f.Doc.Text())
					}
				}
			}
		}
	}
	return found
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// lookup returns the descriptions for the schema: a group's is that of its type.
func lookup(t *testing.T) func(reflect.Type, string) string {
	all := comments(t)
	return func(typ reflect.Type, field string) string {
		if field == "" {
			return ""
		}
		if text := all[typ.Name()+"."+field]; text != "" {
			return text
		}
		f, _ := typ.FieldByName(field)
		if f.Type.Kind() != reflect.Struct {
			return ""
		}
		name := f.Type.Name()
		text, ok := strings.CutPrefix(all[name], name+" contains ")
		require.True(t, ok && text != "", "the comment of %s must begin with %q", name, name+" contains ")
		return strings.ToUpper(text[:1]) + text[1:]
	}
}

// The schema for editors matches the types.
func TestSchemaFile(t *testing.T) {
	schema, err := settings.Schema(lookup(t))
	require.NoError(t, err)
	compare(t, filepath.Join(docs, "settings.schema.json"), schema)
	require.Contains(t, string(schema), `"description": "Settings of subagents."`)
	require.GreaterOrEqual(t, strings.Count(string(schema), `"description": "Settings `), 20, "each group has a description")

	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("fettle:///settings", bytes.NewReader(schema)))
	compiled, err := c.Compile("fettle:///settings")
	require.NoError(t, err)
	for text, want := range map[string]bool{
		`{}`: true, `{"$schema": "x", "model": "m", "sandbox": true, "tools": {"sandbox": "landlock", "core": []}, "fileFiltering": {"maxFileCount": 3}}`: true,
		`{"tools": {"sandbox": {"command": "docker"}}, "ui": {"hideBanner": true}, "ide": {"enabled": true}, "mcpServers": {"A": {"env": {"X": "1"}}}}`: true,
		`{"toolz": {}}`: false, `{"tools": {"core": "x"}}`: false, `{"approvalMode": "fast"}`: false, `{"mcpServers": {"A": {"comand": "x"}}}`: false,
		`{"hooks": {"E": [{"hooks": [{"type": "command"}]}]}}`: false,
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		require.Equal(t, want, compiled.Validate(value) == nil, text)
	}
	defaults, err := json.Marshal(settings.Defaults())
	require.NoError(t, err)
	var value map[string]any
	require.NoError(t, json.Unmarshal(defaults, &value))
	require.NoError(t, compiled.Validate(withoutNulls(value)))
}

// Every whole number below a key has limits, so that valid values fit the field.
func TestWholeNumbersHaveLimits(t *testing.T) {
	text, err := settings.Schema(nil)
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	found := 0
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case []any:
			for _, part := range v {
				walk(path, part)
			}
		case map[string]any:
			if v["type"] == "integer" && strings.Contains(path, "additionalProperties") {
				found++
				require.Contains(t, v, "maximum", path)
				require.Contains(t, v, "minimum", path)
			}
			for name, part := range v {
				walk(path+"/"+name, part)
			}
		}
	}
	walk("", schema)
	require.GreaterOrEqual(t, found, 3)
}

func withoutNulls(value map[string]any) map[string]any {
	for name, part := range value {
		switch part := part.(type) {
		case nil:
			delete(value, name)
		case map[string]any:
			withoutNulls(part)
		}
	}
	return value
}

// compare compares a file with its expected content, or rewrites it.
func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, want, 0o644))
		return
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "stale; rewrite it with: go test ./core/config/settings -update")
}

const (
	tablesBegin = "<!-- begin of what go test ./core/config/settings -update writes -->\n"
	tablesEnd   = "<!-- end of it -->\n"
)

// The page lists each key with its comment.
func TestPage(t *testing.T) {
	path := filepath.Join(docs, "configuration.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(page), tablesBegin)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, tablesEnd)
	require.True(t, ok)
	generated := tables(t)
	compare(t, path, []byte(head+tablesBegin+generated+tablesEnd+tail))
	for _, k := range settings.Keys() {
		require.NotEmpty(t, describe(t, comments(t), k.Path), k.Path)
		if k.Variable != "" {
			require.Contains(t, generated, "`FETTLE_"+k.Variable+"`")
		}
	}
}

// tables renders the keys by group.
func tables(t *testing.T) string {
	all := comments(t)
	defaults := (&settings.Result{}).Origins
	var b strings.Builder
	group := "none"
	for _, k := range settings.Keys() {
		if g := k.Path[:max(0, strings.LastIndexByte(k.Path, '.'))]; g != group {
			if group = g; g == "" {
				g = "Keys at the top"
			} else {
				g = "`" + g + "`"
			}
			fmt.Fprintf(&b, "\n### %s\n\n| key | takes | default | meaning | not trusted |\n|---|---|---|---|---|\n", g)
		}
		value := ""
		if o := defaults(k.Path); len(o) > 0 {
			text, err := json.Marshal(o[0].Value)
			require.NoError(t, err)
			if value = "`" + string(text) + "`"; value == "`\"\"`" {
				value = ""
			}
		}
		notes := describe(t, all, k.Path)
		if k.Merge != settings.Replace {
			notes += " Layers: " + string(k.Merge) + "."
		}
		if k.Variable != "" {
			notes += " Variable `FETTLE_" + k.Variable + "`."
		}
		if k.Unused {
			notes += " *Not read yet.*"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Path[strings.LastIndexByte(k.Path, '.')+1:], cell(k.Expected), value, cell(notes), rule(k))
	}
	for _, part := range []struct {
		title string
		of    reflect.Type
	}{
		{"An entry of `mcpServers`", reflect.TypeFor[settings.MCPServer]()},
		{"An entry of an event in `hooks`", reflect.TypeFor[settings.HookGroup]()},
		{"A hook of such an entry", reflect.TypeFor[settings.Hook]()},
	} {
		fmt.Fprintf(&b, "\n### %s\n\n| key | meaning |\n|---|---|\n", part.title)
		for f := range part.of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			text := all[part.of.Name()+"."+f.Name]
			require.NotEmpty(t, text, f.Name)
			fmt.Fprintf(&b, "| `%s` | %s |\n", name, cell(text))
		}
	}
	return b.String() + "\n"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// describe returns the comment of a key's field.
func describe(t *testing.T, all map[string]string, path string) string {
	t.Helper()
	typ := reflect.TypeFor[settings.Settings]()
	text := ""
names:
	for _, name := range strings.Split(path, ".") {
		for f := range typ.Fields() {
			if n, _, _ := strings.Cut(f.Tag.Get("json"), ","); n == name {
				text, typ = all[typ.Name()+"."+f.Name], f.Type
				continue names
			}
		}
		t.Fatalf("%s has no field", path)
	}
	return text
}

// rule describes briefly which values an untrusted project may set.
func rule(k settings.Key) string {
	text := map[settings.ProjectRule]string{
		settings.ProjectFree: "any value", settings.ProjectTrusted: "nothing", settings.ProjectNever: "nothing, trusted or not",
		settings.ProjectTrue: "`true`", settings.ProjectFalse: "`false`", settings.ProjectAdd: "more entries", settings.ProjectWithin: "fewer entries",
		settings.ProjectLower: "a lower number", settings.ProjectStricter: "a stricter mode", settings.ProjectLandlock: "`landlock`, where nothing confines",
	}[k.Project]
	switch {
	case k.Always:
		text += ", trusted or not"
	case k.Outside:
		text += "; nor if trusted, while commands are confined"
	}
	return text
}
