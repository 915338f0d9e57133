package process

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Output that a command printed before it ended is read, even if the reading goroutine did not run
// before the deadline. Later output is not waited for.
func TestBufferedOutputIsRead(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close() // the pipe stays open
	text := strings.Repeat("x", 60_000) + "end\n"
	_, err = w.WriteString(text)
	require.NoError(t, err)
	past := time.Now().Add(-time.Hour)
	c := &child{quiet: time.Millisecond, began: time.Now()}
	c.leaving.Store(&past)
	var got bytes.Buffer
	c.read(stream{r, func(p []byte) { got.Write(p) }})
	require.Equal(t, text, got.String())
}
