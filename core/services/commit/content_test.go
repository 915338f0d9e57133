package commit

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BE-02: a file has the same content by its bytes as by its hash.
func TestContent(t *testing.T) {
	block := bytes.Repeat([]byte("a"), 128<<10)
	other := append(bytes.Clone(block[:len(block)-1]), 'b')
	tests := map[string]struct{ file, want []byte }{
		"equal":                     {[]byte("text"), []byte("text")},
		"both empty":                {[]byte{}, []byte{}},
		"empty file":                {[]byte{}, []byte("text")},
		"empty content":             {[]byte("text"), []byte{}},
		"longer":                    {[]byte("text and more"), []byte("text")},
		"shorter":                   {[]byte("te"), []byte("text")},
		"as long":                   {[]byte("test"), []byte("text")},
		"one block":                 {block, block},
		"different at its end":      {other, block},
		"one byte after a block":    {append(bytes.Clone(block), 'c'), block},
		"two blocks":                {append(bytes.Clone(block), block...), append(bytes.Clone(block), block...)},
		"different in the second":   {append(bytes.Clone(block), other...), append(bytes.Clone(block), block...)},
		"without the second":        {block, append(bytes.Clone(block), block...)},
		"with a second":             {append(bytes.Clone(block), block...), block},
		"one byte less than blocks": {append(bytes.Clone(block), block[1:]...), append(bytes.Clone(block), block...)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			require.NoError(t, os.WriteFile(path, tt.file, 0o600))
			f, err := os.Open(path)
			require.NoError(t, err)
			defer f.Close()
			size := int64(len(tt.want))
			for how, want := range map[string]content{
				"by hash":  {sum: sumOf(tt.want), size: size},
				"unsized":  {sum: sumOf(tt.want), size: unlimited},
				"by bytes": {sum: sumOf(tt.want), size: size, data: tt.want},
			} {
				same, err := want.in(t.Context(), f)
				require.NoError(t, err)
				require.Equal(t, bytes.Equal(tt.file, tt.want), same, how)
			}
		})
	}
}
