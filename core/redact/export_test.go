package redact

import "strings"

// Sample is a text with a secret in it.
type Sample struct{ Name, Text, Secret string }

// Samples returns at least one sample for each shape.
func Samples() []Sample {
	var all []Sample
	for i := range tokens {
		t := tokens[i]
		for _, prefix := range t.prefixes {
			s := sample(&t, prefix)
			all = append(all, Sample{t.name, "it is " + s + " here", s})
		}
	}
	for name, texts := range samples {
		for _, marked := range texts {
			before, rest, _ := strings.Cut(marked, "«")
			in, after, _ := strings.Cut(rest, "»")
			all = append(all, Sample{name, before + in + after, in})
		}
	}
	return all
}
