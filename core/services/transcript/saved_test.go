package transcript_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// turns returns a history of texts.
func turns(texts ...string) (all []json.RawMessage) {
	for _, text := range texts {
		raw, _ := json.Marshal(map[string]string{"role": "user", "text": text})
		all = append(all, raw)
	}
	return all
}

// CM-12: conversations under a tag.
func TestSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "saved")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := transcript.NewSaved(transcript.Options{Dir: dir, Secrets: []string{"very-secret-value"}, Now: func() time.Time { now = now.Add(time.Hour); return now }})
	all, problems, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Empty(t, all)

	tags := []string{"z", "a b", "../../out", "é/%2E.", ".", strings.Repeat("x", 80)}
	for i, tag := range tags {
		require.NoError(t, s.Save(t.Context(), tag, turns("hello very-secret-value", tag), int64(i), false))
	}
	all, problems, err = s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	for i, tag := range tags {
		require.Equal(t, tag, all[i].Tag)
		chat, err := s.Load(t.Context(), tag)
		require.NoError(t, err)
		require.Equal(t, int64(i), chat.Highest)
		require.Len(t, chat.History, 2)
		require.NotContains(t, string(chat.History[0]), "very-secret")
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2*len(tags)) // each with its lock file
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}

	err = s.Save(t.Context(), "z", turns("other"), 9, false)
	require.Equal(t, fault.AttemptToCreateExist, fault.CodeOf(err))
	require.NoError(t, s.Save(t.Context(), "z", turns("other"), 9, true))
	chat, err := s.Load(t.Context(), "z")
	require.NoError(t, err)
	require.Equal(t, int64(9), chat.Highest)
	require.NoError(t, s.Delete(t.Context(), "z"))
	for _, tag := range []string{"z", "none", "", "a\nb", strings.Repeat("x", 81)} {
		_, err = s.Load(t.Context(), tag)
		require.Equal(t, fault.SessionNotFound, fault.CodeOf(err), tag)
		require.Equal(t, fault.SessionNotFound, fault.CodeOf(s.Delete(t.Context(), tag)), tag)
	}
	for _, tag := range []string{"", "a\nb", strings.Repeat("x", 81)} {
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(s.Save(t.Context(), tag, nil, 0, false)), tag)
	}
}

// A damaged file is reported, and no other is lost.
func TestSavedDamaged(t *testing.T) {
	dir := t.TempDir()
	s := transcript.NewSaved(transcript.Options{Dir: dir, MaxBytes: 1000})
	require.NoError(t, s.Save(t.Context(), "good", turns("x"), 1, false))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"tag": `), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.json"), 0o700))
	all, problems, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Len(t, problems, 2)
	_, err = s.Load(t.Context(), "bad")
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(s.Save(t.Context(), "long", turns(strings.Repeat("x", 1000)), 1, false)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.List(ctx)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}
