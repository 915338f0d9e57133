package commit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// hugeSize is the size of a sparse file that would take minutes to hash.
const hugeSize = 1 << 40

// TestGrownHugely checks that a file that became much larger than the base is refused without being
// read to its end, at any step of the commit.
func TestGrownHugely(t *testing.T) { // FS-59
	for name, system := range map[string]system{
		"exchange": kernel{}, "no leases": noLeases{kernel{}}, "link": methods[MethodLink], "rename": methods[MethodRename],
	} {
		for _, step := range []Step{StepLocked, StepChecked, StepTempLinked} {
			t.Run(name+"/"+string(step), func(t *testing.T) {
				fx := newFixture(t, oldText)
				c := newOn(system, Options{Hook: at(step, func() error { return os.Truncate(fx.file, hugeSize) })})
				_, err := c.Commit(t.Context(), fx.request(oldText, newText))
				requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
				info, err := os.Stat(fx.file)
				require.NoError(t, err)
				require.EqualValues(t, hugeSize, info.Size())
			})
		}
	}
	for _, step := range []Step{StepLocked, StepChecked, StepRecoverySaved, StepInPlaceWritten} {
		t.Run("in place/"+string(step), func(t *testing.T) {
			fx := linked(t)
			c := newOn(noLeases{kernel{}}, Options{RecoveryDir: t.TempDir(), Hook: at(step, func() error { return os.Truncate(fx.file, hugeSize) })})
			_, err := c.Commit(t.Context(), fx.request(oldText, newText))
			requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		})
	}
	t.Run("recovery", func(t *testing.T) {
		fx, c := killedInPlace(t)
		require.NoError(t, os.Truncate(fx.file, hugeSize))
		left, err := c.Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, LeftoverUnresolved, left[0].State)
	})
	t.Run("the base was empty", func(t *testing.T) {
		fx := newFixture(t, oldText)
		require.NoError(t, os.Truncate(fx.file, hugeSize))
		r := fx.request(oldText, newText)
		r.Base, r.BaseSize = sumOf(nil), 0
		_, err := New(Options{}).Commit(t.Context(), r)
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
	})
}

// TestBaseSizeUnknown checks that the size only saves time.
func TestBaseSizeUnknown(t *testing.T) {
	for _, size := range []int64{0, -1} {
		fx := newFixture(t, oldText)
		r := fx.request(oldText, newText)
		r.BaseSize = size
		_, err := New(Options{}).Commit(t.Context(), r)
		require.NoError(t, err)
	}
}

// cancelling ends a context once a lease is requested; hashing comes next.
type cancelling struct {
	system
	cancel context.CancelFunc
}

func (s cancelling) lease(f *os.File, exclusive bool) error {
	s.cancel()
	return s.system.lease(f, exclusive)
}

// TestHashCancelled checks that hashing ends with the context.
func TestHashCancelled(t *testing.T) { // AR-29
	fx := newFixture(t, oldText)
	require.NoError(t, os.Truncate(fx.file, hugeSize))
	r := fx.request(oldText, newText)
	r.BaseSize = -1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := newOn(cancelling{kernel{}, cancel}, Options{}).Commit(ctx, r)
	requireCode(t, err, fault.Cancelled, "")
}

// TestKeptInBlocks checks that late bytes are copied without being held in memory.
func TestKeptInBlocks(t *testing.T) { // FS-59
	fx := newFixture(t, oldText)
	late, err := os.Open(fx.file)
	require.NoError(t, err)
	defer late.Close()
	const size = 64 << 20
	s := noLeases{kernel{}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := newOn(s, Options{Hook: at(StepUnlinked, func() error {
		f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", late.Fd()), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(size), f.Close())
	})}).Commit(t.Context(), fx.request(oldText, newText))
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, out.KeptFiles, 1)
	info, err := os.Stat(out.KeptFiles[0])
	require.NoError(t, err)
	require.EqualValues(t, size, info.Size())
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/2))
}
