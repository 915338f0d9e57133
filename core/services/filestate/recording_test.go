package filestate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A read counts once its Recording is committed, and never if it is dropped.
func TestRecording(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "one\ntwo\n")
	p := f.path("a.txt")
	for _, shown := range []bool{false, true} {
		ctx, r := f.Begin(t.Context())
		got, err := f.Read(ctx, ReadRequest{Path: p})
		require.NoError(t, err)
		require.NotNil(t, got.State.SHA256, "the whole is read")
		require.Empty(t, f.Cache.Recent())
		require.False(t, f.Seen(p))
		if !shown {
			r.Drop()
			require.Empty(t, f.Cache.Recent())
			require.True(t, f.Dropped(p, ""))
			require.True(t, f.Dropped(f.path("other"), *got.State.SHA256))
			require.False(t, f.show(t.Context(), p, f.snap("a.txt"), 0).Shown())
			require.Nil(t, f.Decide(Check{Path: p, Proof: *got.State.SHA256}))
			continue
		}
		r.Commit()
		require.Equal(t, []string{p.String()}, f.Cache.Recent())
		require.False(t, f.Dropped(p, *got.State.SHA256))
		require.True(t, f.show(t.Context(), p, f.snap("a.txt"), 0).Shown())
	}
	// Records after the end are dropped.
	ctx, r := f.Begin(t.Context())
	r.Commit()
	f.write("late.txt", "x\n")
	_, err := f.Read(ctx, ReadRequest{Path: f.path("late.txt")})
	require.NoError(t, err)
	require.False(t, f.Seen(f.path("late.txt")))
}

// Pages of one file in one call add up; dropping one leaves a gap.
func TestRecordingPages(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "one\ntwo\nthree\n")
	p := f.path("a.txt")
	page := func(ctx context.Context, offset, limit int) *State {
		got, err := f.Read(ctx, ReadRequest{Path: p, Offset: offset, Limit: limit, Ranged: true})
		require.NoError(t, err)
		return got.State
	}
	ctx, r := f.Begin(t.Context())
	require.Nil(t, page(ctx, 0, 1).SHA256)
	require.NotNil(t, page(ctx, 1, 2).SHA256)
	r.Withhold(1)
	r.Commit()
	require.False(t, f.Seen(p))
	e, _ := f.Cache.ByPath(p.String())
	require.Equal(t, [][2]int{{0, 1}}, e.missing())
	page(t.Context(), 0, 1)
	require.True(t, f.Seen(p))
}

// A call within a call passes its records to the outer one; the Recording of another conversation
// is not affected.
func TestRecordingNested(t *testing.T) {
	f, other := newFixture(t), newFixture(t)
	for _, name := range []string{"outer.txt", "inner.txt"} {
		f.write(name, "x\n")
	}
	read := func(ctx context.Context, name string) {
		_, err := f.Read(ctx, ReadRequest{Path: f.path(name)})
		require.NoError(t, err)
	}
	ctx, outer := f.Begin(t.Context())
	read(ctx, "outer.txt")
	mark := outer.Mark()
	within, inner := f.Begin(ctx)
	read(within, "inner.txt")
	inner.Commit()
	require.Empty(t, f.Cache.Recent())
	outer.Withhold(mark)
	outer.Commit()
	require.Equal(t, []string{f.path("inner.txt").String()}, f.Cache.Recent())

	theirs, r := other.Begin(t.Context())
	read(theirs, "outer.txt")
	require.Len(t, f.Cache.Recent(), 2)
	r.Drop()
}

// A write is on disk whether or not its result is shown, and known only if it is shown.
func TestRecordingWrites(t *testing.T) {
	f := newFixture(t)
	for _, shown := range []bool{true, false} {
		p := f.write("a.txt", "x\n")
		ctx, r := f.Begin(t.Context())
		st := f.Written(ctx, p, f.info("a.txt"), "x\n", Sum([]byte("x\n")))
		require.NotNil(t, st.SHA256)
		require.False(t, f.Seen(p))
		require.Equal(t, []string{p.String()}, f.Cache.Written())
		if shown {
			r.Commit()
		} else {
			r.Drop()
		}
		require.Equal(t, shown, f.Seen(p))
	}
	// A later write is not marked as known by an earlier commit.
	f = newFixture(t)
	p := f.write("a.txt", "x\n")
	ctx, r := f.Begin(t.Context())
	f.Written(ctx, p, f.info("a.txt"), "x\n", Sum([]byte("x\n")))
	p = f.write("a.txt", "y\n")
	f.Cache.recordUnseenWrite(p.String(), f.info("a.txt"), Sum([]byte("y\n")), 1, f.now())
	r.Commit()
	require.False(t, f.Seen(p))
}

// A report of changed files that is dropped is made again.
func TestRecordingTouched(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "x\n")
	_, err := f.Read(t.Context(), ReadRequest{Path: f.path("a.txt")})
	require.NoError(t, err)
	f.write("a.txt", "changed\n")
	for _, shown := range []bool{false, true} {
		ctx, r := f.Begin(t.Context())
		changed, _ := f.Touched(ctx, f.disk.Resolve)
		require.Len(t, changed, 1)
		if shown {
			r.Commit()
		} else {
			r.Drop()
		}
	}
	changed, _ := f.Touched(t.Context(), f.disk.Resolve)
	require.Empty(t, changed)
}

// A read in a call that holds many reads of other files examines only those of its own file.
func TestRecordingHeld(t *testing.T) {
	f := newFixture(t)
	ctx, r := f.Begin(t.Context())
	for range 2 {
		for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
			f.write(name, name)
			_, err := f.Read(ctx, ReadRequest{Path: f.path(name)})
			require.NoError(t, err)
		}
	}
	last := r.events[len(r.events)-1].read
	require.Len(t, r.held(last.key()), 2)
	require.Equal(t, f.path("c.txt"), r.held(last.key())[0].path)
	r.Withhold(len(r.events) - 1)
	require.Equal(t, []*heldRead{last}, r.held(last.key()))
	r.Drop()
	require.Empty(t, r.held(last.key()))
}
