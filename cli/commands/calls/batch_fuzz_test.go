package calls

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
)

// Each line of a batch is a call or an error that shows the expected form; reading
// the lines returns the input, truncated where a line is too long.
func FuzzBatch(f *testing.F) {
	for _, s := range []string{`{"tool":"read_file","args":{"file_path":"a"}}`, `{"tool":""}`, `[]`, `{"tool":"a","more":1}`, "", "\xff", `{"tool":"a"} {}`, `{"tool":1}`, `{"tool":"a","args":null}`, "a\nb\r\n\n", `{"args":"x"}`} {
		f.Add([]byte(s), 10)
	}
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		limit = min(max(limit, 1), 100)
		var all []byte
		for in := bufio.NewReaderSize(bytes.NewReader(text), 16); ; {
			line, err := program.ReadLine(in, limit)
			require.LessOrEqual(t, len(line), limit+1)
			all = append(all, line...)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		if len(text) <= limit {
			require.Equal(t, string(text), string(all))
		}
		var call batchLine
		if err := decodeCall(text, &call); err != nil {
			require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
			require.NotEmpty(t, fault.As(err).Remedy)
			return
		}
		require.NotEmpty(t, call.Tool)
		require.True(t, json.Valid(call.Args))
	})
}
