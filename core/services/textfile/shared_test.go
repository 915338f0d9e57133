package textfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/textfile"
)

// BE-02: what shares memory is equal to the copy.
func TestShared(t *testing.T) {
	for _, data := range []string{
		"", "text\n", "\xef\xbb\xbfmark\r\n", "\xff\xfea\x00", "caf\xe9 cr\xe8me br\xfbl\xe9e\n", "\x00\xff", "é世界\n",
	} {
		want := textfile.Decode([]byte(data))
		require.Equal(t, want, textfile.DecodeShared([]byte(data)), "%q", data)
		for _, text := range []string{"", "new é\n", "\xff", "世"} {
			want, wantErr := want.Format.Encode(text)
			got, err := textfile.Decode([]byte(data)).Format.EncodeShared(text)
			require.Equal(t, want, got, "%q", data)
			require.Equal(t, wantErr, err)
		}
	}
	data := []byte("some text")
	require.Zero(t, testing.AllocsPerRun(10, func() {
		if d, err := textfile.DecodeShared(data).Format.EncodeShared("some text"); err != nil || len(d) != len(data) {
			t.Error(err)
		}
	}))
}
