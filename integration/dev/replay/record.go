package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
)

// The limits of a recording.
const (
	recordEvery = 8     // of the triples that are small enough, one is recorded
	recordFile  = 3_000 // bytes of a version; four of them fit into the window of gzip
	recordMost  = 250   // triples
)

// recording is a selection of triples. Its file contains a JSON object a line, compressed with gzip.
type recording struct {
	seen    int
	triples []recordedTriple
}

type recordedTriple struct {
	Name   string `json:"name"`
	Base   string `json:"base"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
	Both   string `json:"both"`
}

// add records a triple of a sense in which the changes do not overlap, from time to time.
func (r *recording) add(name string, t triple, j judgement) {
	if j.moved == nil || max(len(t.v0), len(t.v1), len(t.v2)) > recordFile || len(r.triples) == recordMost {
		return
	}
	if r.seen++; r.seen%recordEvery == 0 {
		r.triples = append(r.triples, recordedTriple{name, t.v0, j.ours, t.v1, t.v2})
	}
}

func (r *recording) write(path string) error {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	e := json.NewEncoder(z)
	e.SetEscapeHTML(false)
	for _, t := range r.triples {
		if err := e.Encode(t); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
