package policy

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each text of arguments is the same with and without the long texts, for valid and invalid JSON.
func TestBrief(t *testing.T) {
	long := strings.Repeat(`x\n\"\u00e9`, longText/8)
	pieces := []string{
		`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"file_path"`, `"file\u005fpath"`, `"x"`, `1`, `null`, ` `, "\x01", `"`, `\`,
		`"` + long + `"`, `"` + long, `"\q` + long + `"`, `"` + long + "\n" + `"`, `"\u12` + `"`,
	}
	r := rand.New(rand.NewPCG(3, 4))
	check := func(params string) {
		call := &Call{Params: json.RawMessage(params)}
		whole := arguments{call: call}
		whole.object()
		for _, key := range []string{"a", "file_path", "x", "none"} {
			got := (&arguments{call: call}).value(key)
			require.Equal(t, whole.value(key), got, "%s of %.300q", key, params)
		}
	}
	for range 500 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		check(b.String())
		members := []string{`"a":"` + long + `"`, `"file_path":"x"`, `"file\u005fpath":"` + long + `"`, `"x":{"a":"` + long + `","file_path":"y"}`, `"a":"b"`, `"x":["a","` + long + `"]`}
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		check("{" + strings.Join(members[:1+r.IntN(len(members))], ",") + "}")
	}
	a := arguments{call: &Call{Params: json.RawMessage(`{"content":"` + long + `","file_path":"x"}`)}}
	require.Equal(t, "x", a.text("file_path"))
	require.False(t, a.decoded, "the content is not decoded")
}
