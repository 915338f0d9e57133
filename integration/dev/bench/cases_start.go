package main

import (
	"context"
	"os"
)

// starting is a command of the cases start/KEY and size/KEY.
type starting struct {
	Key  string
	Args []string
	// Most is the limit of the time over that of [doesNothing], in nanoseconds.
	Most float64
}

func starts() []starting {
	return []starting{{"version", []string{"--version"}, 11e6}, {"help", []string{"--help"}, 11e6}, {"tools", []string{"tools"}, 14e6}}
}

const doesNothing = "a Go program that does nothing"

func startCases() []Case {
	var all []Case
	for _, s := range starts() {
		all = append(all, Case{ID: "start/" + s.Key, Title: "`fettle " + s.Args[0] + "`", Description: "From start to end of the process.",
			Budgets: []Budget{{Kind: Difference, Most: s.Most, Against: doesNothing}},
			Contestants: []Contestant{
				{"fettle", Ours, command((*Lab).Fettle, s.Args...)},
				{doesNothing, Floor, command((*Lab).Nothing)},
			}})
	}
	return all
}

// command prepares a program in an empty directory with an empty home.
func command(program func(*Lab, context.Context) (string, error), args ...string) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		path, err := program(lab, ctx)
		if err != nil {
			return nil, err
		}
		env, err := lab.Environment(ctx)
		if err != nil {
			return nil, err
		}
		dir, err := lab.TempDir("start")
		return started(dir, env, append([]string{path}, args...)...), err
	}
}

// peakOf prepares a program whose peak memory is measured.
func peakOf(program func(*Lab, context.Context) (string, error), args ...string) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		path, err := program(lab, ctx)
		if err != nil {
			return nil, err
		}
		env, err := lab.Environment(ctx)
		if err != nil {
			return nil, err
		}
		dir, err := lab.TempDir("start")
		return &Prepared{Run: func(ctx context.Context) (Measured, error) {
			peak, err := peakBytes(ctx, dir, env, append([]string{path}, args...)...)
			return Measured{Value: peak}, err
		}}, err
	}
}

// fileSize prepares the size of a program's file.
func fileSize(program func(*Lab, context.Context) (string, error)) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		path, err := program(lab, ctx)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		return &Prepared{Run: func(context.Context) (Measured, error) { return Measured{Value: float64(info.Size())}, nil }}, nil
	}
}

func sizeCases() []Case {
	all := []Case{{ID: "size/binary", Title: "the stripped program", Description: "Built with -trimpath -ldflags '-s -w', without cgo.", Unit: Bytes, Turns: 1,
		Budgets: []Budget{{Kind: Absolute, Most: 42e6}},
		Contestants: []Contestant{
			{"fettle", Ours, fileSize((*Lab).Fettle)},
			{doesNothing, Floor, fileSize((*Lab).Nothing)},
		}}}
	for _, s := range starts() {
		all = append(all, Case{ID: "size/" + s.Key, Title: "`fettle " + s.Args[0] + "`: peak memory", Description: "The peak memory of the process, as the system reports it.", Unit: Bytes, Turns: 7,
			Budgets: []Budget{{Kind: Absolute, Most: 30e6}},
			Contestants: []Contestant{
				{"fettle", Ours, peakOf((*Lab).Fettle, s.Args...)},
				{doesNothing, Floor, peakOf((*Lab).Nothing)},
			}})
	}
	for _, c := range searchCalls() {
		if c.key == noSearch {
			continue
		}
		all = append(all, Case{ID: "size/search-" + c.key, Title: "one call, " + c.title + ": peak memory", Description: "A process that makes one call in the generated files.", Unit: Bytes, Turns: 3,
			Budgets: []Budget{{Kind: Absolute, Most: 64e6, Full: true}},
			Contestants: []Contestant{
				{"fettle", Ours, peakOfSearch(c.key)},
				{"the same process without a call", Floor, peakOfSearch(noSearch)},
			}})
	}
	return all
}
