package position_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/position"
)

// Numbers of TOML include infinite ones and NaN, each with and without a sign.
func TestParseTOMLNumbers(t *testing.T) {
	table, err := position.ParseTOML([]byte("a = nan\nb = +nan\nc = -nan\nd = +inf\ne = -inf\nf = -1_0.5\n"))
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c"} {
		n, ok := table.Find(key).Number()
		require.True(t, ok && math.IsNaN(n), key)
	}
	for key, want := range map[string]float64{"d": math.Inf(1), "e": math.Inf(-1), "f": -10.5} {
		n, ok := table.Find(key).Number()
		require.True(t, ok, key)
		require.Equal(t, want, n, key)
	}
}

// decode decodes a document with the library's decoder.
func decode(data []byte) (map[string]any, error) {
	all := map[string]any{}
	err := toml.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &all)
	return plain(all).(map[string]any), err
}

// plain returns a value of the decoder with times as a mark, because package position keeps
// them as written, and NaN as another one.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = plain(member)
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case time.Time, toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		return "a time"
	case float64:
		if math.IsNaN(v) {
			return "nan"
		}
	}
	return v
}

// ours is plain for a value of package position.
func ours(n position.Node) any {
	switch v := n.Value.(type) {
	case *position.Table:
		all := map[string]any{}
		for _, m := range v.Members {
			all[m.Key] = ours(m.Node)
		}
		return all
	case []position.Node:
		items := []any{}
		for _, item := range v {
			items = append(items, ours(item))
		}
		return items
	case position.Time:
		return "a time"
	}
	return plain(n.Value)
}

// sameAsDecoder checks that a document has the verdict and the values of the decoder.
func sameAsDecoder(t *testing.T, data []byte) {
	t.Helper()
	want, failed := decode(data)
	root, err := position.ParseTOML(data)
	if err != nil {
		e := position.As(err)
		lines := bytes.Count(data, []byte("\n")) + 1
		if e.Line < 1 || e.Line > lines || e.Column < 1 || e.Message == "" {
			t.Errorf("%q: the error %+v has no place in the document", data, *e)
		}
		if failed == nil && !strings.Contains(err.Error(), "too many dots") {
			t.Errorf("%q: %v, but the decoder accepts it", data, err)
		}
		return
	}
	if failed != nil {
		t.Errorf("%q: accepted, but the decoder reports: %v", data, failed)
		return
	}
	if got := ours(position.Node{Value: root}); !reflect.DeepEqual(got, any(want)) {
		t.Errorf("%q: %v, the decoder has %v", data, got, want)
	}
}

// The documents of testdata/toml.txt, each between lines of ====, are refused or have the
// values of the decoder. They give keys twice, extend tables that are complete, and have
// dates and numbers that do not exist.
func TestParseTOMLAsTheDecoder(t *testing.T) {
	text, err := os.ReadFile("testdata/toml.txt")
	require.NoError(t, err)
	documents, refused := strings.Split(string(text), "====\n"), 0
	for _, document := range documents {
		sameAsDecoder(t, []byte(document))
		if _, err := position.ParseTOML([]byte(document)); err != nil {
			refused++
		}
	}
	require.Greater(t, refused, 60)
	require.Greater(t, len(documents)-refused, 30)
}

// Errors name the key, at its place.
func TestParseTOMLErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\n\n a = 2":         "line 3, column 2: key a is already defined",
		"[a]\n[b]\n[a]\n":         "line 3, column 2: table a already exists",
		"a = 1\n[a.b]\n":          "line 2, column 2: key a already exists",
		"[[a]]\n[a]\n":            "line 2, column 2: table a already exists",
		"x = 1\na.b = 1\n[a]\n":   "line 3, column 2: table a already exists",
		"a = 2026-02-30":          "line 1, column 5: 2026-02-30 is no date or time",
		"a = 9223372036854775808": "line 1, column 5: the number 9223372036854775808 does not fit in 64 bits",
		"a = 1e999":               "line 1, column 5: the number 1e999 is too large",
		"a = ":                    "line 1, column 4: expected value, not end of input",
	} {
		_, err := position.ParseTOML([]byte(text))
		require.EqualError(t, err, want, "%q", text)
		var e *position.Error
		require.True(t, errors.As(err, &e))
	}
}

// FuzzParseTOML: a document is refused exactly if the library's decoder refuses it, otherwise
// it has the decoder's values, and an error has a place in the document.
func FuzzParseTOML(f *testing.F) {
	text, err := os.ReadFile("testdata/toml.txt")
	require.NoError(f, err)
	for document := range strings.SplitSeq(string(text), "====\n") {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsDecoder(t, data) })
}
