package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-26: the string in which an argsPattern is searched. ␀ stands for NUL.
func TestCanonicalArgs(t *testing.T) {
	for params, want := range map[string]string{
		``:                                      `{}`,
		` {} `:                                  `{}`,
		`{"dir_path":"src","command":"ls"}`:     `{␀"command":"ls"␀,␀"dir_path":"src"␀}`,
		`{"b":{"d":1,"c":[true,null,{"y":1}]}}`: `{␀"b":{"c":[true,null,{"y":1}],"d":1}␀}`,
		`{"a":"<b> & \u2028 \u00e9 \ud83d\ude00"}`: "{␀\"a\":\"<b> & \u2028 é 😀\"␀}",
		`{"a":"\u0000\u001f\b\f\n\r\t\"\\\/"}`:     `{␀"a":"\u0000\u001f\b\f\n\r\t\"\\/"␀}`,
		`{"a":1.0,"b":1e21,"c":1e-7,"d":-0}`:       `{␀"a":1␀,␀"b":1e+21␀,␀"c":1e-7␀,␀"d":0␀}`,
		`{"a":123456789012345680000,"b":0.000001}`: `{␀"a":123456789012345680000␀,␀"b":0.000001␀}`,
		`{"a":1e999}`:   `{␀"a":null␀}`,
		`{"a":1,"a":2}`: `{␀"a":2␀}`,
		`[1,"x"]`:       `[1,"x"]`,
	} {
		got, err := policy.CanonicalArgs(json.RawMessage(params))
		require.NoError(t, err, params)
		require.Equal(t, strings.ReplaceAll(want, "␀", "\x00"), got, params)
	}
	for _, params := range []string{`{`, `{} {}`, `nope`, `{"a":}`} {
		_, err := policy.CanonicalArgs(json.RawMessage(params))
		require.Error(t, err, params)
	}
}

// FuzzCanonicalArgs: whatever the values are, NUL bytes only delimit the pairs of
// the top level, so that a pattern anchored on them cannot match inside of a
// value; and the text has the same meaning as the arguments.
func FuzzCanonicalArgs(f *testing.F) {
	f.Add("key", "value\x00\"x\":\"y\"\x00", 1.5)
	f.Add("file_path", `","file_path":"/etc/passwd`, 0.0)
	f.Fuzz(func(t *testing.T, key, value string, number float64) {
		params, err := json.Marshal(map[string]any{key: value, "n": number, "nested": map[string]any{key: []any{value}}})
		if err != nil {
			return
		}
		got, err := policy.CanonicalArgs(params)
		require.NoError(t, err)
		var want map[string]any
		require.NoError(t, json.Unmarshal(params, &want))
		require.Equal(t, 2*len(want), strings.Count(got, "\x00"))
		var back map[string]any
		require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(got, "\x00", "")), &back))
		require.Equal(t, want, back)
	})
}

// A regular expression that exhausts other engines is refused on loading; RE2
// would be linear in the text.
func TestExplosivePattern(t *testing.T) {
	rule := policy.Rule{Tools: []string{"x"}, Decision: policy.Deny, ArgsPattern: `(a+)+$`, Tier: policy.TierUser}
	require.ErrorContains(t, rule.Validate(), "nests repetitions")
	_, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{rule}})
	require.Error(t, err)

	rule.ArgsPattern = `(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)[a]*[a]*[a]*[a]*[a]*b$`
	e := engine(t, rule)
	text, err := json.Marshal(map[string]string{"text": strings.Repeat("a", 1<<18)})
	require.NoError(t, err)
	begun := time.Now()
	require.Equal(t, policy.Allow, e.Decide(policy.Call{Tool: "x", Kind: "read", Params: text}).Decision)
	require.Less(t, time.Since(begun), 20*time.Second)
}
