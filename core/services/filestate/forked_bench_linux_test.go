package filestate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// FK-08: reads of 4 KB through a fork and in the project, encoding included; the ratio of the least times is
// at most 1.3. go test -bench ForkRead -run '^$' ./core/services/filestate
func BenchmarkForkRead(b *testing.B) {
	top, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	dir, upper := filepath.Join(top, "project"), filepath.Join(top, "upper")
	names := map[string]string{"unchanged": "other/pkg/file.go", "beside a change": "core/pkg/file.go", "changed": "core/pkg/changed.go"}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(sourceText(4096)), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Mkdir(upper, 0o755); err != nil {
		b.Fatal(err)
	}
	plain, err := workspace.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	forked, err := workspace.OpenOverlays([]workspace.Overlay{{Dir: dir, Upper: upper}}, dir)
	if err != nil {
		b.Fatal(err)
	}
	defer forked.Close()
	changed, err := forked.Resolve(names["changed"])
	if err != nil {
		b.Fatal(err)
	}
	at, err := forked.Locate(changed)
	if err != nil {
		b.Fatal(err)
	}
	_ = at.Close()
	for name, path := range names {
		b.Run(name, func(b *testing.B) {
			later := time.Now().Add(time.Hour) // so that the file is not racily clean
			var least [2]time.Duration
			var services [2]*Service
			for i, w := range []*workspace.Workspace{plain, forked} {
				services[i] = New(Options{Files: w, Now: func() time.Time { return later }})
			}
			p, err := plain.Resolve(path)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				for i, s := range services {
					const times = 50
					begun := time.Now()
					for range times {
						r, err := s.Read(b.Context(), ReadRequest{Path: p, Repeat: true})
						if err != nil || r.State == nil {
							b.Fatal(r, err)
						}
						encode(b, r.State)
					}
					if took := time.Since(begun) / times; least[i] == 0 || took < least[i] {
						least[i] = took
					}
				}
			}
			b.ReportMetric(float64(least[0].Nanoseconds()), "plain-ns")
			b.ReportMetric(float64(least[1].Nanoseconds()), "fork-ns")
			b.ReportMetric(float64(least[1])/float64(least[0]), "ratio")
		})
	}
}
