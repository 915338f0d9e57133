package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// build calls Build. It reports a panic, a call that does not return, an error without a code, and a result with
// neither an invocation nor an error.
func (k *kit) build(t testing.TB, tool tools.DeclarativeTool, args json.RawMessage) (tools.ToolInvocation, error) {
	var inv tools.ToolInvocation
	ended, err := k.step(t.Context(), t, "Build", args, func(context.Context) (err error) {
		inv, err = tool.Build(bytes.Clone(args))
		return err
	})
	if !ended {
		return nil, errors.New("call of Build does not return")
	}
	defect := new(tools.Defect)
	switch f := fault.As(err); {
	case errors.As(err, &defect): // reported by step
	case err == nil && inv == nil:
		t.Errorf("Build(%s) returns neither an invocation nor an error", show(args))
		err = errors.New("no invocation")
	case err != nil && f == nil:
		t.Errorf("Build(%s) returns an error that is not a *fault.Error: %v", show(args), err)
	case err != nil && (f.Code == "" || f.Message == ""):
		t.Errorf("Build(%s) returns an error without code or message: %+v", show(args), f)
	}
	return inv, err
}

func (k *kit) checkBuild(t testing.TB) {
	tool := k.fresh(t)
	for _, args := range append(append([]json.RawMessage(nil), k.Examples...), k.Failing...) {
		inv, err := k.build(t, tool, args)
		if err != nil {
			t.Errorf("Build(%s): %v", show(args), err)
			continue
		}
		k.checkInvocation(t, tool, inv, args)
	}
}

// checkInvocation checks the parameters, description and locations of an invocation.
func (k *kit) checkInvocation(t testing.TB, tool tools.DeclarativeTool, inv tools.ToolInvocation, args json.RawMessage) {
	params := inv.Params()
	var object map[string]any
	if err := json.Unmarshal(params, &object); err != nil || object == nil {
		t.Errorf("Params of %s are not a JSON object: %s", show(args), show(params))
		return
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, params); err != nil || !bytes.Equal(compact.Bytes(), params) {
		t.Errorf("Params of %s are not canonical, because they are not compact: %s", show(args), show(params))
	}
	again, err := k.build(t, tool, params)
	if err != nil {
		t.Errorf("Params of %s do not build: %v", show(args), err)
	} else if !bytes.Equal(again.Params(), params) {
		t.Errorf("Params of %s are not canonical:\n%s\nbuild to\n%s", show(args), show(params), show(again.Params()))
	}
	if d := inv.Description(); strings.TrimSpace(d) == "" || strings.ContainsAny(d, "\r\n") {
		t.Errorf("Description of %s must be one line: %q", show(args), d)
	}
	for _, l := range inv.Locations() {
		if !filepath.IsAbs(l.Path) {
			t.Errorf("Locations of %s must be absolute: %q", show(args), l.Path)
		}
	}
}

func (k *kit) checkRefusals(t testing.TB) {
	tool := k.fresh(t)
	bad := append([]json.RawMessage(nil), k.Bad...)
	for _, text := range []string{`[]`, `7`, `"text"`, `true`, `{`, `{"a":1}{}`, "{\"a\":\"\xff\"}", `not json`} {
		bad = append(bad, json.RawMessage(text))
	}
	for _, example := range k.Examples {
		if args, ok := withKey(example, "tooltest_unknown_key"); ok && !k.takes(args) {
			bad = append(bad, args)
		}
	}
	if hasRequired(k.spec.Schema) {
		bad = append(bad, json.RawMessage(`{}`))
	}
	for _, args := range bad {
		if _, err := k.build(t, tool, args); err == nil {
			t.Errorf("Build(%s) accepts invalid arguments", show(args))
		}
	}
}

// takes reports whether the schema of a tool accepts arguments. It is false for a built-in tool, whose schema must be
// closed. Schemas of other tools may be open.
func (k *kit) takes(args json.RawMessage) bool {
	if k.spec.Origin.Group == tools.GroupBuiltIn {
		return false
	}
	schema, err := tools.ParseSchema(k.spec.Name, k.spec.Schema)
	return err == nil && schema.Fits(args) == nil
}

func withKey(object json.RawMessage, key string) (json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil || members == nil {
		return nil, false
	}
	members[key] = json.RawMessage(`1`)
	args, err := json.Marshal(members)
	return args, err == nil
}

func hasRequired(schema json.RawMessage) bool {
	var root struct {
		Required []string `json:"required"`
	}
	return json.Unmarshal(schema, &root) == nil && len(root.Required) > 0
}

// show shortens text for a message.
func show(text []byte) string {
	const limit = 300
	if len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return string(text)
}
