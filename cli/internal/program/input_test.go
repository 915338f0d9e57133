package program

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of a line that is too long, only one byte more than the limit is kept.
func TestReadLine(t *testing.T) {
	line, err := ReadLine(bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 100)+"\nnext\n"), 16), 40)
	require.NoError(t, err)
	require.Len(t, line, 41)
}
