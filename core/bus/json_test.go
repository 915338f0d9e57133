package bus_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// zero returns a zero message of each type.
func zero() []bus.Message {
	return []bus.Message{
		bus.ToolConfirmationRequest{}, bus.ToolConfirmationResponse{}, bus.ToolPolicyRejection{}, bus.UpdatePolicy{},
		bus.AskUserRequest{}, bus.AskUserResponse{},
		bus.ToolExecutionSuccess{}, bus.ToolExecutionFailure{}, bus.ToolCallsUpdate{}, bus.SubagentActivity{}, bus.ToolOutput{},
		bus.ConfigChanged{}, bus.HookMessage{},
	}
}

// filled returns a copy of m in which every field, however deep, has a unique value.
func filled(m bus.Message) bus.Message {
	v := reflect.New(reflect.TypeOf(m)).Elem()
	n := 0
	fill(v, &n)
	return v.Interface().(bus.Message)
}

func fill(v reflect.Value, n *int) {
	*n++
	text := fmt.Sprintf("%d <b>&amp;\u2028\x00\"日本", *n)
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d,"html":"<&>"}`, *n))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, *n, time.UTC)))
		return
	case map[string]any:
		v.Set(reflect.ValueOf(map[string]any{"<k>": text, "deep": map[string]any{"list": []any{true, nil, 1.5}}}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(int64(*n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, n)
		v.SetMapIndex(reflect.ValueOf("0"), value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

// AR-22: the list of types is complete, and each type survives the round trip.
func TestRoundTrip(t *testing.T) {
	require.Len(t, zero(), len(bus.Types()))
	for i, m := range zero() {
		typ := bus.Types()[i]
		t.Run(string(typ), func(t *testing.T) {
			require.Equal(t, typ, bus.TypeOf(m))
			full := filled(m)
			data, err := bus.Marshal(full)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(data), `{"type":"`+string(typ)+`",`), "%s", data)
			require.Equal(t, string(typ), keys(t, data)["type"])
			require.Contains(t, string(data), "<b>&amp;") // no HTML escapes
			back, err := bus.Unmarshal(data)
			require.NoError(t, err)
			require.Equal(t, full, back)

			again, err := bus.Marshal(back)
			require.NoError(t, err)
			require.Equal(t, string(data), string(again))
		})
	}
}

// Readers in other languages find lists instead of null.
func TestZeroMessages(t *testing.T) {
	ms := append(zero(), bus.ToolConfirmationRequest{Details: bus.Confirmation{ExecDetails: &confirmation.ExecDetails{}}})
	for _, m := range ms {
		data, err := bus.Marshal(m)
		require.NoError(t, err)
		require.NotContains(t, string(data), "null")
		back, err := bus.Unmarshal(data)
		require.NoError(t, err)
		require.IsType(t, m, back)
	}
	require.Nil(t, ms[len(ms)-1].(bus.ToolConfirmationRequest).Details.RootCommands, "Marshal modified a shared message")
}

// keys returns the keys of an object.
func keys(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

// The names in the JSON are API. A "." leads into an object, "[]" into a list.
func TestNames(t *testing.T) {
	const parts = "text decision rule tier source line reason"
	decision := under("decision.", "decision rule tier source line reason remedy message confined run preview "+under("parts[].", parts))
	details := under("details.", "type title systemMessage paths[] "+
		"fileName filePath fileDiff originalContent newContent "+
		under("diffStat.", "model_added_lines model_removed_lines model_added_chars model_removed_chars "+
			"user_added_lines user_removed_lines user_added_chars user_removed_chars")+" "+
		"command rootCommand rootCommands[] "+under("parts[].", parts)+" "+
		"serverName toolName toolDisplayName toolArgs toolDescription toolParameterSchema prompt urls[] bases[].path bases[].sha256")
	const failure = "type message remedy reason"
	want := map[bus.Type]string{
		bus.TypeOf(bus.ToolConfirmationRequest{}): "correlationId callId toolCall.name toolCall.args serverName toolAnnotations subagent outcomes[] modified unasked remembers[].outcome remembers[].rules[] " +
			details + " " + decision,
		bus.TypeOf(bus.ToolConfirmationResponse{}): "correlationId confirmed outcome requiresUserConfirmation " +
			"payload.newContent payload.approved payload.feedback",
		bus.TypeOf(bus.ToolPolicyRejection{}):  "toolCall.name toolCall.args callId serverName subagent " + decision,
		bus.TypeOf(bus.UpdatePolicy{}):         "toolName persist persistScope argsPattern commandPrefix[] mcpName allowRedirection modes[] subagent words",
		bus.TypeOf(bus.AskUserRequest{}):       "correlationId callId subagent server program " + under("questions[].", "question header type options[].label options[].description multiSelect placeholder optional default"),
		bus.TypeOf(bus.AskUserResponse{}):      "correlationId answers cancelled",
		bus.TypeOf(bus.ToolExecutionSuccess{}): "toolCall.name toolCall.args callId result",
		bus.TypeOf(bus.ToolExecutionFailure{}): "toolCall.name toolCall.args callId " + under("error.", failure),
		bus.TypeOf(bus.ToolCallsUpdate{}): "schedulerId " + under("toolCalls[].",
			"callId name description args status subagent preview correlationId outcome startTime display "+under("error.", failure)),
		bus.TypeOf(bus.SubagentActivity{}): "subagentName " + under("activity.", "id type content status"),
		bus.TypeOf(bus.ToolOutput{}):       "callId chunk",
		bus.TypeOf(bus.ConfigChanged{}):    "sessionId subagent key value origin notice",
		bus.TypeOf(bus.HookMessage{}):      "event hook level text subagent",
	}
	for _, m := range zero() {
		t.Run(string(bus.TypeOf(m)), func(t *testing.T) {
			data, err := bus.Marshal(filled(m))
			require.NoError(t, err)
			got := map[string]bool{}
			names("", keys(t, data), got)
			wanted := append(strings.Fields(want[bus.TypeOf(m)]), "type")
			slices.Sort(wanted)
			require.Equal(t, wanted, slices.Sorted(maps.Keys(got)))
		})
	}
}

func under(prefix, list string) string {
	return prefix + strings.Join(strings.Fields(list), " "+prefix)
}

// names collects the paths of all values. A value without a fixed form, such as arguments, counts as one.
func names(path string, v any, into map[string]bool) {
	switch x := v.(type) {
	case map[string]any:
		if _, free := x["html"]; free || x["<k>"] != nil || x["0"] != nil {
			break
		}
		if path != "" {
			path += "."
		}
		for k, v := range x {
			names(path+k, v, into)
		}
		return
	case []any:
		for _, v := range x {
			names(path+"[]", v, into)
		}
		return
	}
	into[path] = true
}

// AR-19: a front end receives the JSON that a tool shows, plus the fields that the scheduler adds.
func TestDetailsAreThoseOfTools(t *testing.T) {
	requireSameJSON[tools.Confirmation, bus.Confirmation](t, "systemMessage")
}

func TestExplanationIsThatOfPolicy(t *testing.T) {
	requireSameJSON[policy.Decision, confirmation.Explanation](t)
}

// requireSameJSON checks that Here has the JSON form of There plus the added fields.
func requireSameJSON[There, Here any](t *testing.T, added ...string) {
	t.Helper()
	list := func(v any) []string {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		into := map[string]bool{}
		names("", keys(t, data), into)
		return slices.Sorted(maps.Keys(into))
	}
	var there There
	var here Here
	fillShown(reflect.ValueOf(&there).Elem())
	fillShown(reflect.ValueOf(&here).Elem())
	want := append(list(there), added...)
	slices.Sort(want)
	require.Equal(t, want, list(here))

	data, err := json.Marshal(there)
	require.NoError(t, err)
	var read Here
	require.NoError(t, json.Unmarshal(data, &read))
	again, err := json.Marshal(read)
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(again))
}

// fillShown is fill without the fields that are not encoded.
func fillShown(v reflect.Value) {
	n := 0
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") != "-" {
			fill(v.Field(i), &n)
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	for name, m := range map[string]bus.Message{
		"nil": nil, "a pointer": &bus.ToolOutput{}, "a nil pointer": (*bus.ToolOutput)(nil), "foreign": foreign{},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bus.Marshal(m)
			require.ErrorIs(t, err, bus.ErrInvalid)
		})
	}
	_, err := bus.Marshal(bus.ToolExecutionSuccess{Result: []byte(`{"half":`)})
	require.ErrorContains(t, err, "marshal tool-execution-success")
	_, err = bus.Marshal(bus.ToolConfirmationRequest{ToolAnnotations: map[string]any{"f": func() {}}})
	require.ErrorContains(t, err, "marshal tool-confirmation-request")
}

func TestMarshalRepairsText(t *testing.T) {
	data, err := bus.Marshal(bus.ToolOutput{Chunk: "a\xffb"})
	require.NoError(t, err)
	m, err := bus.Unmarshal(data)
	require.NoError(t, err)
	require.Equal(t, bus.ToolOutput{Chunk: "a\ufffdb"}, m)
}

func TestUnmarshal(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"tool-outputs"}`:                      `its type "tool-outputs" is unknown`,
		`{"type":"` + strings.Repeat("x", 1000) + `"}`: `its type "` + strings.Repeat("x", 40) + `" is unknown`,
		`{"callId":"c"}`:                               "it has no type",
		`null`:                                         "it has no type",
		``:                                             "unexpected end of JSON input",
		`[]`:                                           "cannot unmarshal array",
		`{"type":3}`:                                   "cannot unmarshal number",
		`{"type":"tool-output"} x`:                     "after top-level value",
		`{"type":"tool-output","chunk":{}}`:            "unmarshal tool-output",
		`{"type":"tool-confirmation-response","confirmed":1}`: "unmarshal tool-confirmation-response",
	} {
		m, err := bus.Unmarshal([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.Nil(t, m, text)
	}
	m, err := bus.Unmarshal([]byte(` {"chunk":"x","later":{"a":1},"type":"tool-output"}`))
	require.NoError(t, err)
	require.Equal(t, bus.ToolOutput{Chunk: "x"}, m)
}

// FuzzUnmarshal: any input yields an error or a message that survives the round trip.
func FuzzUnmarshal(f *testing.F) {
	for _, m := range zero() {
		for _, m := range []bus.Message{m, filled(m)} {
			data, err := bus.Marshal(m)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Add([]byte(`{"type":"tool-confirmation-request","details":{"type":"edit","originalContent":null,"diffStat":{}}}`))
	f.Add([]byte(`{"type":"tool-calls-update","toolCalls":[{"startTime":"2026-01-01T00:00:00.5+01:00","args":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := bus.Unmarshal(data)
		if err != nil {
			require.Nil(t, m)
			return
		}
		text, err := bus.Marshal(m)
		require.NoError(t, err)
		back, err := bus.Unmarshal(text)
		require.NoError(t, err)
		again, err := bus.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	})
}
