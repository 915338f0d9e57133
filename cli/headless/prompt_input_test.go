package headless

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// Stdin has half a second for its first byte and unlimited time for the rest; input
// that is too long or not text is reported.
func TestReadPrompt(t *testing.T) {
	slow := func() io.Reader {
		r, w := io.Pipe()
		go func() {
			time.Sleep(stdinWait / 2) // a slow writer; no test waits for its end
			_, _ = w.Write([]byte("a"))
			time.Sleep(time.Hour)
			_, _ = w.Write([]byte("b\n"))
			_ = w.Close()
		}()
		return r
	}
	for name, tt := range map[string]struct {
		stdin       io.Reader
		text        string
		piped, want string
		notices     int
		err         bool
	}{
		"both":      {stdin: strings.NewReader("diff\n\n"), text: "Review.", piped: "diff", want: "diff\n\nReview."},
		"text":      {stdin: strings.NewReader(""), text: "Review.", want: "Review."},
		"stdin":     {stdin: strings.NewReader("Do it.\n"), want: "Do it."},
		"nothing":   {stdin: strings.NewReader(" \n"), err: true},
		"no text":   {stdin: strings.NewReader("a\xffb"), want: "a\uFFFDb", notices: 1},
		"too long":  {stdin: strings.NewReader(strings.Repeat("é", maxStdin/2) + "é"), text: "x", piped: strings.Repeat("é", maxStdin/2), want: strings.Repeat("é", maxStdin/2) + "\n\nx", notices: 1},
		"cut right": {stdin: strings.NewReader("a" + strings.Repeat("é", maxStdin/2)), text: "x", piped: "a" + strings.Repeat("é", maxStdin/2-1), want: "a" + strings.Repeat("é", maxStdin/2-1) + "\n\nx", notices: 1},
		"closed":    {stdin: closedStdin{}, text: "x", want: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := readPrompt(t.Context(), (&program.Program{In: tt.stdin}), tt.text)
			if tt.err {
				require.ErrorIs(t, err, ErrNoPrompt)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.piped, in.piped)
			require.Equal(t, tt.want, in.whole())
			require.Len(t, in.notices, tt.notices)
		})
	}
	t.Run("slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			in, err := readPrompt(t.Context(), (&program.Program{In: slow()}), "x")
			require.NoError(t, err)
			require.Equal(t, "ab\n\nx", in.whole())
		})
	})
	t.Run("silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			begun := time.Now()
			in, err := readPrompt(t.Context(), (&program.Program{In: silent{end}}), "x")
			require.NoError(t, err)
			require.Equal(t, "x", in.whole())
			require.Equal(t, stdinWait, time.Since(begun))
		})
	})
}

// silent is a stdin without data until the test ends.
type silent struct{ end <-chan struct{} }

func (s silent) Read([]byte) (int, error) { <-s.end; return 0, io.EOF }

// closedStdin is a closed stdin.
type closedStdin struct{}

func (closedStdin) Read([]byte) (int, error) { return 0, os.ErrClosed }
