package elicit

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// answering simulates a user with these answers, one map for each round.
func answering(t *testing.T, rounds ...map[string]string) (*bus.MessageBus, *[]bus.AskUserRequest) {
	t.Helper()
	b := bus.New(bus.Options{})
	t.Cleanup(func() { _ = b.Close() })
	var asked []bus.AskUserRequest
	bus.Subscribe(t.Context(), b, func(_ context.Context, r bus.AskUserRequest) {
		n := len(asked)
		asked = append(asked, r)
		a := bus.AskUserResponse{CorrelationID: r.CorrelationID, Cancelled: n >= len(rounds)}
		if !a.Cancelled {
			a.Answers = rounds[n]
		}
		_ = b.Publish(a)
	})
	return b, &asked
}

const form = `{"type":"object","properties":{
	"name":{"type":"string","title":"Name","minLength":2},
	"mail":{"type":"string","format":"email"},
	"age":{"type":"integer","minimum":0,"maximum":150,"default":30},
	"big":{"type":"integer"},
	"sure":{"type":"boolean","default":true},
	"size":{"type":"string","enum":["s","m"],"enumNames":["Small","Medium"]},
	"kind":{"type":"string","oneOf":[{"const":"a","title":"Kind A"},{"const":"b","title":"Kind B"}]},
	"tags":{"type":"array","items":{"anyOf":[{"const":"x","title":"Tag X"},{"const":"y","title":"Tag Y"}]},"minItems":1}
},"required":["name","tags"]}`

// A server's form is asked field by field, in its order, and invalid answers
// again.
func TestElicitForm(t *testing.T) {
	b, asked := answering(t,
		map[string]string{"0": "J", "1": "j@example.org", "2": "", "3": "9007199254740993", "4": "n", "5": "Medium", "6": "kind b", "7": ""},
		map[string]string{"0": "Jo", "1": "Tag Y, x"})
	got, err := Elicitor{Bus: b}.Ask(t.Context(), "srv", host.Elicitation{Message: "Who are you?", Schema: json.RawMessage(form)})
	require.NoError(t, err)
	require.Equal(t, host.ElicitAccept, got.Action)
	require.JSONEq(t, `{"name":"Jo","mail":"j@example.org","age":30,"sure":false,"size":"m","kind":"b","tags":["y","x"],"big":9007199254740993}`, string(got.Content))
	require.Contains(t, string(got.Content), "9007199254740993", "numbers are exact")
	require.Len(t, *asked, 2)
	first := (*asked)[0].Questions
	require.Len(t, first, 8)
	require.Contains(t, first[0].Question, "The MCP server srv asks: Who are you?")
	require.Equal(t, bus.QuestionYesNo, first[4].Type)
	require.True(t, first[7].MultiSelect)
	require.Equal(t, "30", first[2].Default)
	require.True(t, first[2].Optional)
	require.False(t, first[0].Optional)
	require.Equal(t, "srv", (*asked)[0].Server)
	again := (*asked)[1].Questions
	require.Len(t, again, 2, "what fits is not asked twice")
	require.Contains(t, again[0].Question, "At least 2 characters are required.")
}

// A missing answer, or endlessly invalid ones, count as cancel; a no is a no.
func TestElicitWithoutAnswer(t *testing.T) {
	asked := host.Elicitation{Message: "m", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)}
	nobody := bus.New(bus.Options{})
	defer nobody.Close()
	got, err := Elicitor{Bus: nobody}.Ask(t.Context(), "srv", asked)
	require.NoError(t, err)
	require.Equal(t, host.ElicitCancel, got.Action)

	b, _ := answering(t)
	got, err = Elicitor{Bus: b}.Ask(t.Context(), "srv", asked)
	require.NoError(t, err)
	require.Equal(t, host.ElicitCancel, got.Action)

	wrong := map[string]string{"0": "NaN"}
	b, seen := answering(t, wrong, wrong, wrong, wrong)
	got, err = Elicitor{Bus: b}.Ask(t.Context(), "srv", asked)
	require.NoError(t, err)
	require.Equal(t, host.ElicitCancel, got.Action)
	require.Len(t, *seen, rounds)

	for answer, action := range map[string]host.ElicitAction{"yes": host.ElicitAccept, "no": host.ElicitDecline, "": host.ElicitCancel} {
		b, seen = answering(t, map[string]string{"0": answer})
		got, err = Elicitor{Bus: b}.Ask(t.Context(), "srv", host.Elicitation{Message: "Sign in", URL: "https://example.org/x"})
		require.NoError(t, err)
		require.Equal(t, action, got.Action)
		require.Contains(t, (*seen)[0].Questions[0].Question, "https://example.org/x")
	}
}

// The user is not sent to an address that is not a web page.
func TestElicitHostileURL(t *testing.T) {
	for _, page := range []string{"javascript:alert(1)", "file:///etc/passwd", "https:", "://", "ssh://host/"} {
		b, asked := answering(t, map[string]string{"0": "yes"})
		got, err := Elicitor{Bus: b}.Ask(t.Context(), "srv", host.Elicitation{Message: "m", URL: page})
		require.NoError(t, err)
		require.Equal(t, host.ElicitDecline, got.Action, page)
		require.Empty(t, *asked)
	}
}

// Choices may contain commas.
func TestElicitChoicesWithCommas(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"c":{"type":"array","items":{"enum":["Paris, France","Rome, Italy","Rome","a,b","Yes, of course, always", "Yes"]}}},"required":["c"]}`)
	for answer, want := range map[string]string{
		"Paris, France":                        `["Paris, France"]`,
		"Paris, France, Rome, Italy":           `["Paris, France","Rome, Italy"]`,
		"Rome, Paris, France":                  `["Rome","Paris, France"]`,
		"rome , italy":                         "",
		"rome, italy,Rome,rome":                `["Rome, Italy","Rome"]`,
		"a,b,Yes, Yes, of course, always, ,, ": `["a,b","Yes","Yes, of course, always"]`,
		"Yes, of course":                       "",
		"Paris":                                "",
		"Paris, France, Athens":                "",
	} {
		b, asked := answering(t, map[string]string{"0": answer})
		got, err := Elicitor{Bus: b}.Ask(t.Context(), "srv", host.Elicitation{Message: "m", Schema: schema})
		require.NoError(t, err)
		if want == "" {
			require.Equal(t, host.ElicitCancel, got.Action, answer)
			require.Len(t, *asked, 2, "it is asked for again: %s", answer)
			continue
		}
		require.Equal(t, host.ElicitAccept, got.Action, answer)
		require.JSONEq(t, `{"c":`+want+`}`, string(got.Content), answer)
	}
}

// An invalid form is an error, and no question is asked.
func TestElicitHostileForms(t *testing.T) {
	for _, schema := range []string{`[]`, `{"type":"string"}`, `{"properties":7}`, `{"properties":{"a":{"type":"object"}}}`, `{"properties":{"a":{"type":"array"}}}`, `{"properties":{"a":{"type":"string","enum":[1]}}}`} {
		b, asked := answering(t)
		_, err := Elicitor{Bus: b}.Ask(t.Context(), "srv", host.Elicitation{Message: "m", Schema: json.RawMessage(schema)})
		require.Error(t, err, schema)
		require.Empty(t, *asked)
	}
}

func FuzzFormValue(f *testing.F) {
	fields, err := formFields(json.RawMessage(form))
	require.NoError(f, err)
	for _, seed := range []string{"", "1", "1e9", "0x1", "yes", "Tag X, y", "j@example.org", "\x00", "1_0", "+1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for _, field := range fields {
			v, wrong := field.value(answer)
			if wrong != "" {
				continue
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("%s: %q gives what is no JSON: %v", field.name, answer, err)
			}
			if v != nil && field.Type == "integer" && !json.Valid(text) {
				t.Fatalf("%q is no number: %s", answer, text)
			}
		}
	})
}
