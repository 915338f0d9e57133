package sandbox

import (
	"os"
	"os/exec"
	"testing"
)

func BenchmarkCommand(b *testing.B) {
	b.Run("unconfined", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("confined", func(b *testing.B) {
		temp, ws := b.TempDir(), b.TempDir()
		os.Mkdir(ws+"/.git", 0o755)
		s := New(Options{Home: "/root"})
		defer s.Close()
		for b.Loop() {
			cmd := exec.Command("/bin/bash", "-c", "true")
			cmd.Dir = ws
			if err := s.Start(cmd, Rules{Writable: []string{ws}, Temp: temp, Protected: []string{ws + "/.git"}}); err != nil {
				b.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
