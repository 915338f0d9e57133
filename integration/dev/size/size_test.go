package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCode(t *testing.T) {
	source := "// Package p is one.\npackage p\n\n/* a\nb */\nvar x = 1 // one\n\nvar y = `a\n\nb`\n"
	want := []string{"package p", "var x = 1 // one", "var y = `a", "b`"}
	if got := code([]byte(source)); !slices.Equal(got, want) {
		t.Errorf("code(...) = %q, want %q", got, want)
	}
}

// A line that moved to another package is kept; the second of two equal lines is new.
func TestReport(t *testing.T) {
	then := tree{"core/a": {"x", "y", "}"}, "core/b": {"z"}}
	now := tree{"core/a": {"x", "}", "}"}, "core/c": {"y", "new"}}
	var out strings.Builder
	if err := report(&out, then, now); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"then now kept added package", "3 3 2 1 core/a", "1 0 0 0 core/b", "0 2 1 1 core/c", "4 5 3 2 all"}
	if !slices.Equal(got, want) {
		t.Errorf("report(...) = %q, want %q", got, want)
	}
}
