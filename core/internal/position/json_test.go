package position_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/position"
)

var limit = position.Limit{Depth: 100, Message: "it is deep"}

func TestParseJSON(t *testing.T) {
	d, err := position.ParseJSON([]byte("\xef\xbb\xbf{ // a comment\n  \"é\": [1,],\n}// end"), limit)
	require.NoError(t, err)
	require.Equal(t, "{ // a comment\n  \"é\": [1,],\n}// end", string(d.Text))
	at := strings.Index(string(d.Text), "[")
	line, column := d.Place(at)
	require.Equal(t, []int{2, 9}, []int{line, column})
	require.Equal(t, 2, d.Line(at))
	require.Equal(t, 15, d.Start(2))
	require.Equal(t, "line 2, column 9: a list of 1", d.Errorf(at, "a list of %d", 1).Error())
}

// An error has a position within the document; expensive input is refused.
func TestParseJSONRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"a\": \xff}":              "line 2, column 6: it is not UTF-8",
		strings.Repeat("[", 500_000):   "line 1, column 101: it is deep",
		strings.Repeat(`{"[":`, 101):   "line 1, column 501: it is deep",
		"{\n\"a\": 1\n":                "line 2, column 7: ",
		"{\"a\": 1,\n  b}":             "line 2, column 3: ",
		"/*" + strings.Repeat("[", 99): "line 1, column ",
	} {
		_, err := position.ParseJSON([]byte(text), limit)
		require.ErrorContains(t, err, want)
		require.Equal(t, err, position.As(err))
	}
	_, err := position.ParseJSON([]byte("{ // "+strings.Repeat("[", 500)+"\n\"a\": \""+strings.Repeat("[", 500)+"\"}"), limit)
	require.NoError(t, err, "brackets in comments and texts")
	require.Equal(t, "odd", position.As(errors.New("odd")).Error())
	require.Equal(t, "line 3: odd", (&position.Error{Line: 3, Message: "odd"}).Error())
}

func FuzzParseJSON(f *testing.F) {
	f.Add("{\"a\": [1, {}], // c\n}")
	f.Add("[/*")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := position.ParseJSON([]byte(text), limit)
		if err != nil {
			e := position.As(err)
			require.LessOrEqual(t, e.Line, 1+strings.Count(text, "\n"))
			require.NotEmpty(t, e.Message)
			return
		}
		for v := range d.Tree.All() {
			line, column := d.Place(v.StartOffset)
			require.Equal(t, min(v.StartOffset, len(d.Text)), d.Start(line)+column-1)
		}
	})
}
