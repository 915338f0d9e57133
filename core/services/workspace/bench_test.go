package workspace

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkStat(b *testing.B) {
	top := tree(b, "ws/one/two/three/file x")
	path := top + "/ws/one/two/three/file"
	b.Run("os.Lstat", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.Lstat(path); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, openDirectory := range map[string]func(string) (directory, error){"workspace": openDirectory, "os.Root": openRootDirectory} {
		b.Run(name, func(b *testing.B) {
			w, err := open(openDirectory, []string{top + "/ws"})
			require.NoError(b, err)
			defer w.Close()
			p := resolve(b, w, path)
			for b.Loop() {
				if _, err := w.Stat(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpenRead(b *testing.B) {
	top := tree(b, "ws/one/two/three/file x", "ws/abs ->$/ws/one/two/three/file")
	w, err := Open(top + "/ws")
	require.NoError(b, err)
	defer w.Close()
	b.Run("os.Open", func(b *testing.B) {
		for b.Loop() {
			f, err := os.Open(top + "/ws/one/two/three/file")
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
	for name, path := range map[string]string{"workspace": "one/two/three/file", "absolute link": "abs"} {
		p := resolve(b, w, path)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f, err := w.OpenRead(p)
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}

func BenchmarkLocate(b *testing.B) {
	top := tree(b, "ws/one/two/three/file x")
	w, err := Open(top + "/ws")
	require.NoError(b, err)
	defer w.Close()
	p := resolve(b, w, "one/two/three/file")
	for b.Loop() {
		l, err := w.Locate(p)
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}
