package transcript_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// CM-12: a conversation is found under its tag only, is listed with it, and lies in the directory.
// An invalid tag is refused.
func FuzzTag(f *testing.F) {
	for _, s := range [][2]string{{"a", "b"}, {"../a", "a"}, {"a/b", "a%2Fb"}, {".", ".."}, {"a b", "a+b"}, {"天気", "\xff"}, {"", "x\n"}, {strings.Repeat("天", 26), "CON"}, {"a\u202eb", "%"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		if one == other || strings.EqualFold(one, other) {
			return // on file systems with case-insensitive names
		}
		dir := filepath.Join(t.TempDir(), "saved")
		s := transcript.NewSaved(transcript.Options{Dir: dir, Now: func() time.Time { return noon }})
		saved := map[string]string{}
		for i, tag := range []string{one, other} {
			text := []string{"first", "second"}[i]
			if err := s.Save(t.Context(), tag, turns(text), 1, false); err != nil {
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
				require.NotEmpty(t, fault.As(err).Remedy)
				continue
			}
			saved[tag] = text
		}
		list, problems, err := s.List(t.Context())
		require.NoError(t, err)
		require.Empty(t, problems)
		require.Len(t, list, len(saved))
		for _, chat := range list {
			found, err := s.Load(t.Context(), chat.Tag)
			require.NoError(t, err)
			require.Equal(t, turns(saved[chat.Tag]), found.History)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		require.NoError(t, err)
		require.Len(t, files, len(saved))
		for tag := range saved {
			require.NoError(t, s.Delete(t.Context(), tag))
		}
		list, _, err = s.List(t.Context())
		require.NoError(t, err)
		require.Empty(t, list)
	})
}
