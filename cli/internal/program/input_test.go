package program

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of a line that is too long no more is kept than shows that.
func TestReadLine(t *testing.T) {
	line, err := ReadLine(bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 100)+"\nnext\n"), 16), 40)
	require.NoError(t, err)
	require.Len(t, line, 41)
}
