package main

import (
	"testing"
	"os"
)

func BenchmarkZZ(b *testing.B) {
	lab := newLab(b)
	cases, err := allCases()
	if err != nil { b.Fatal(err) }
	for _, c := range cases {
		if c.ID != os.Getenv("ZZ") { continue }
		for _, o := range c.Contestants {
			if o.Name != "fettle" { continue }
			p, err := o.Prepare(b.Context(), lab)
			if err != nil { b.Fatal(err) }
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if p.Reset != nil { b.StopTimer(); p.Reset(b.Context()); b.StartTimer() }
				if _, err := p.Run(b.Context()); err != nil { b.Fatal(err) }
			}
			if p.Close != nil { p.Close() }
		}
	}
}
