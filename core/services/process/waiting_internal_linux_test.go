package process

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a command has printed before it ended is read, also by a goroutine that did
// not get to run until the time for more had passed. What goes on printing is not
// waited for.
func TestWhatStandsInAnOutputIsRead(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close() // something has it open still
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
