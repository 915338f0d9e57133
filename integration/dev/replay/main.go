// Command replay measures how often a stale change carries over to a file that another writer has
// changed meanwhile, on the histories of Go modules: go run -C integration/dev ./replay.
//
// For three consecutive versions v0, v1 and v2 of a file it takes the difference from v0 to v1 as the
// change of the other writer. The model has seen v0 and makes
//
//   - the difference from v1 to v2, moved to the lines of v0. Both changes together are v2 as its
//     authors made it. If the two differences meet in a line, this change cannot be made on v0, and
//     the triple counts as overlapping.
//   - the same with the two changes exchanged.
//   - the whole difference from v0 to v2, which contains the other writer's change. Nearly all of
//     these must be conflicts.
//
// A result is wrong if it is neither a conflict nor the bytes of both changes, made in either order
// by code of this command. The versions come from the Go module proxy, or from a git repository.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"
)

func main() {
	flags := flag.NewFlagSet("replay", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: replay [flags] [module ...]")
		flags.PrintDefaults()
	}
	versions := flags.Int("versions", 8, "the `number` of each module's releases, the latest ones")
	repository := flags.String("git", "", "instead of modules, replay the history of the checked-out branch of this git `repository`")
	record := flags.String("record", "", "also write a selection of the triples to this `file`")
	_ = flags.Parse(os.Args[1:]) // it exits on errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, flags.Args(), *versions, *repository, *record); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

var errWrong = errors.New("there are wrong results")

func run(ctx context.Context, out io.Writer, modules []string, versions int, repository, record string) error {
	var all counts
	var recorded recording
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "triples\toverlapping\tstale\tcarried\tconflict\trate\twhole carried\twrong\t source\t")
	each := func(source string, files histories) {
		var c counts
		for name, contents := range files.sorted() {
			for i := range max(0, len(contents)-2) {
				t := triple{contents[i], contents[i+1], contents[i+2]}
				j := judge(t)
				if j.wrong() {
					fmt.Fprintf(os.Stderr, "wrong: %s %s, version %d\n", source, name, i)
				}
				c.add(j)
				recorded.add(name, t, j)
			}
		}
		all.plus(c)
		c.print(w, source)
	}
	if repository != "" {
		files, err := gitHistories(ctx, repository)
		if err != nil {
			return err
		}
		each(repository, files)
	} else {
		if len(modules) == 0 {
			modules = defaultModules()
		}
		for _, m := range modules {
			files, err := moduleHistories(ctx, m, versions)
			if err != nil {
				return fmt.Errorf("%s: %w", m, err)
			}
			each(m, files)
		}
	}
	all.print(w, "all")
	err := w.Flush()
	if record != "" {
		err = cmp.Or(err, recorded.write(record))
	}
	if err == nil && all.wrong > 0 {
		err = errWrong
	}
	return err
}

// counts are the numbers of a row.
type counts struct {
	triples, overlapping int
	carried, conflict    int // of changes that are stale and do not overlap, in both senses
	wholes               int // differences from v0 to v2 that carried over
	wrong                int
}

func (c *counts) add(j judgement) {
	c.triples++
	for _, r := range j.moved {
		c.count(r, &c.carried, &c.conflict)
	}
	if j.moved == nil {
		c.overlapping++
	}
	var conflicts int
	c.count(j.whole, &c.wholes, &conflicts)
}

func (c *counts) count(r result, carried, conflict *int) {
	switch r {
	case landed:
		*carried++
	case refused:
		*conflict++
	case differs:
		c.wrong++
	}
}

func (c *counts) plus(d counts) {
	c.triples += d.triples
	c.overlapping += d.overlapping
	c.carried += d.carried
	c.conflict += d.conflict
	c.wholes += d.wholes
	c.wrong += d.wrong
}

func (c *counts) print(w io.Writer, source string) {
	stale := c.carried + c.conflict
	rate := "-"
	if stale > 0 {
		rate = fmt.Sprintf("%.1f %%", 100*float64(c.carried)/float64(stale))
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t %s\t\n", c.triples, c.overlapping, stale, c.carried, c.conflict, rate, c.wholes, c.wrong, source)
}
