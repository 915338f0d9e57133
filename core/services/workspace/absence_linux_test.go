package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// searchedDirectory counts the searches for names, and calls moved before it opens a directory below. Its clock is set.
type searchedDirectory struct {
	fdDirectory
	searches *int
	moved    *func()
	clock    *time.Time
}

func (d searchedDirectory) now() time.Time { return *d.clock }

func (d searchedDirectory) lstat(name string) (Info, error) {
	*d.searches++
	return d.fdDirectory.lstat(name)
}

func (d searchedDirectory) parent(rel string) (directory, error) {
	(*d.moved)()
	dir, err := d.fdDirectory.parent(rel)
	if err != nil {
		return nil, err
	}
	d.fdDirectory = dir.(fdDirectory)
	return d, nil
}

// BE-02: a directory without any of the names is searched again only after it has changed.
func TestAbsence(t *testing.T) {
	top := t.TempDir()
	sub := filepath.Join(top, "a", "b")
	require.NoError(t, os.MkdirAll(sub, 0o755))
	searches, moved, clock := 0, func() {}, time.Unix(0, 0)
	timedHere := true
	w, err := open(func(path string) (directory, error) {
		dir, err := openDirectory(path)
		if fd, ok := dir.(fdDirectory); ok {
			timedHere = fd.timed != 0
			return searchedDirectory{fd, &searches, &moved, &clock}, err
		}
		return dir, err
	}, []string{top})
	require.NoError(t, err)
	defer w.Close()
	names := []string{"AGENTS.md", "agents.md"}
	look := func(rel string) (found []string, searched bool) {
		before := searches
		found, err := w.Existing(resolve(t, w, rel), names)
		require.NoError(t, err)
		return found, searches > before
	}
	if _, searched := look("."); !searched || !timedHere {
		t.Skip("no openat2, or a file system whose times are not relied on")
	}
	for _, rel := range []string{".", "a/b"} {
		clock = time.Unix(0, 0)
		_, searched := look(rel)
		require.True(t, searched, "it has just changed")
		clock = time.Now().Add(time.Hour)
		_, searched = look(rel)
		require.True(t, searched)
		found, searched := look(rel)
		require.False(t, searched)
		require.Empty(t, found)

		file := filepath.Join(top, rel, "agents.md")
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		for range 2 {
			found, searched = look(rel)
			require.True(t, searched)
			require.Equal(t, names[1:], found)
		}
		require.NoError(t, os.Remove(file))
		_, searched = look(rel)
		require.True(t, searched)
		_, searched = look(rel)
		require.False(t, searched)
		other, err := w.Existing(resolve(t, w, rel), []string{"other"})
		require.NoError(t, err)
		require.Empty(t, other)
	}

	// Another directory is at the path while it is searched.
	a, with := filepath.Join(top, "a"), filepath.Join(top, "with")
	require.NoError(t, os.MkdirAll(filepath.Join(with, "b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(with, "b", "AGENTS.md"), nil, 0o644))
	w.absent.dirs = nil
	swap := func() {
		require.NoError(t, unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, with, unix.RENAME_EXCHANGE))
	}
	swap()
	moved = swap
	found, _ := look("a/b")
	moved = func() {}
	require.Empty(t, found)
	swap()
	found, _ = look("a/b")
	require.Equal(t, names[:1], found)
	swap()

	require.NoError(t, os.Rename(sub, sub+" moved"))
	require.NoError(t, os.Mkdir(sub, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(sub, "AGENTS.md"), nil, 0o644))
	found, _ = look("a/b")
	require.Equal(t, names[:1], found)

	for i := range maxAbsences + 1 {
		w.absent.add(string(rune('a'+i%26))+filepath.Join("x", string(rune(i))), Info{})
	}
	require.LessOrEqual(t, len(w.absent.dirs), maxAbsences)
}

// The clock of a directory is that of its times, which may be behind the time of day.
func TestClockOfTimes(t *testing.T) {
	top := t.TempDir()
	dir, err := openDirectory(top)
	require.NoError(t, err)
	defer dir.close()
	clock, ok := dir.(timed)
	if !ok {
		t.Skip("no openat2")
	}
	before := clock.now()
	require.NoError(t, os.WriteFile(filepath.Join(top, "file"), nil, 0o600))
	info, ok := clock.times()
	if !ok {
		t.Skip("a file system whose times are not relied on")
	}
	require.LessOrEqual(t, before.UnixNano(), info.CtimeNS)
}

// The age from which times are relied on depends on their resolution.
func TestSettled(t *testing.T) {
	changed := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		mtime, ctime, age time.Duration // the times are after changed
		settled           bool
	}{
		{0, 0, 2 * time.Second, false},
		{0, 0, 2*time.Second + 1, true},
		{1, 1, 100 * time.Millisecond, false},
		{1, 1, 100*time.Millisecond + 1, true},
		{-time.Hour, 1, 100*time.Millisecond + 1, true},
		{1, 0, 100*time.Millisecond + 1, false}, // the mtime was set
		{time.Hour, 1, 0, false},
	} {
		now := changed.Add(max(c.mtime, c.ctime) + c.age)
		info := Info{MtimeNS: changed.Add(c.mtime).UnixNano(), CtimeNS: changed.Add(c.ctime).UnixNano()}
		require.Equal(t, c.settled, settled(info, now), "%+v", c)
	}
}
