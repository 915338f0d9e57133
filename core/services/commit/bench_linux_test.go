package commit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkCommit replaces a file; BenchmarkFloor writes, flushes and renames directly, including a
// flush of the directory, without checks.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{10 << 10, 2 << 20} {
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			fx, data := benchFile(b, size)
			c := New(Options{})
			sums := [2]string{sumOf(data[0]), sumOf(data[1])}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, err := c.Commit(b.Context(), Request{Dir: fx.dir, Name: "target.txt", Path: fx.file, Data: data[(i+1)%2], Base: sums[i%2]})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCommitWithoutFlush neither flushes nor waits, to measure the remaining work.
func BenchmarkCommitWithoutFlush(b *testing.B) {
	for _, size := range []int{10 << 10, 2 << 20} {
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			fx, data := benchFile(b, size)
			c := newOn(noSync{kernel{}}, Options{Settle: -1})
			sums := [2]string{sumOf(data[0]), sumOf(data[1])}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, err := c.Commit(b.Context(), Request{Dir: fx.dir, Name: "target.txt", Path: fx.file, Data: data[(i+1)%2], Base: sums[i%2]})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFloor(b *testing.B) {
	for _, size := range []int{10 << 10, 2 << 20} {
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			fx, data := benchFile(b, size)
			temp := filepath.Join(fx.path, "temp")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				f, err := os.Create(temp)
				if err != nil {
					b.Fatal(err)
				}
				_, err = f.Write(data[(i+1)%2])
				if err == nil {
					err = f.Sync()
				}
				if err == nil {
					err = f.Close()
				}
				if err == nil {
					err = os.Rename(temp, fx.file)
				}
				if err == nil {
					err = fx.dir.Sync()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLock(b *testing.B) {
	fx := newFixture(b, oldText)
	c := New(Options{})
	for b.Loop() {
		unlock, err := c.Lock(b.Context(), fx.dir)
		if err != nil {
			b.Fatal(err)
		}
		unlock()
	}
}

func benchFile(b *testing.B, size int) (*fixture, [2][]byte) {
	b.Helper()
	data := [2][]byte{bytes.Repeat([]byte("a"), size), bytes.Repeat([]byte("b"), size)}
	fx := newFixture(b, oldText)
	require.NoError(b, os.WriteFile(fx.file, data[0], 0o644))
	return fx, data
}
