package filestate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// benchmarked returns a conversation over a real file, without the counting and the logging of a
// fixture.
func benchmarked(b *testing.B, content string) (*Service, workspace.Path) {
	b.Helper()
	top, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	w, err := workspace.Open(top)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	if err := os.WriteFile(filepath.Join(top, "file.go"), []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	p, err := w.Resolve("file.go")
	if err != nil {
		b.Fatal(err)
	}
	later := time.Now().Add(time.Hour) // so that the file is not racily clean
	return New(Options{Files: w, Now: func() time.Time { return later }, Limits: Limits{Lines: 1 << 20, Bytes: 4 << 20}}), p
}

// sourceText returns n bytes of lines like those of a program.
func sourceText(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "\tif err := step%d(ctx, \"name\"); err != nil { // <%d>\n", i, i)
	}
	return b.String()[:n]
}

// encode encodes a state as the tool layer does.
func encode(b *testing.B, v any) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		b.Fatal(err)
	}
	_ = out.String()
}

// BenchmarkReadPlaceholder measures an unchanged re-read that only needs a stat. Budget: 10 µs.
func BenchmarkReadPlaceholder(b *testing.B) {
	s, p := benchmarked(b, sourceText(1<<20))
	for range 2 {
		if _, err := s.Read(b.Context(), ReadRequest{Path: p}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := s.Read(b.Context(), ReadRequest{Path: p})
		if err != nil || r.Placeholder == nil {
			b.Fatal(r, err)
		}
	}
}

// BenchmarkRead1MB shows a file of 1 MB, encoding included. Budget: 1.5 times
// the floor.
func BenchmarkRead1MB(b *testing.B) {
	content := sourceText(1 << 20)
	b.Run("read", func(b *testing.B) {
		s, p := benchmarked(b, content)
		b.ReportAllocs()
		b.SetBytes(1 << 20)
		for b.Loop() {
			r, err := s.Read(b.Context(), ReadRequest{Path: p, Repeat: true})
			if err != nil || r.State == nil || r.State.SHA256 == nil {
				b.Fatal(r, err)
			}
			encode(b, r.State)
		}
	})
	b.Run("floor", func(b *testing.B) { // the same without the Service
		_, p := benchmarked(b, content)
		b.ReportAllocs()
		b.SetBytes(1 << 20)
		for b.Loop() {
			data, err := os.ReadFile(p.String())
			if err != nil {
				b.Fatal(err)
			}
			sum := sha256.Sum256(data)
			encode(b, struct {
				FilePath, SHA256, Content string
				Version                   int64
			}{p.String(), hex.EncodeToString(sum[:]), string(data), 1})
		}
	})
}

// BenchmarkDecide measures a decision that only needs a stat.
func BenchmarkDecide(b *testing.B) {
	s, p := benchmarked(b, "x\n")
	if _, err := s.Read(b.Context(), ReadRequest{Path: p}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r := s.Decide(Check{Path: p, Verb: editing}); r != nil {
			b.Fatal(r)
		}
	}
}
