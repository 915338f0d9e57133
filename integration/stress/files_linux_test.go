package stress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/files"
)

// editSection writes the numbers of its attempts into its section with core/files: it reads, edits and
// repeats. It prints as patchSection does.
func editSection(args []string) error {
	ctx, owner := context.Background(), args[2]
	dir, err := files.Open(args[0], files.Options{Rebase: true})
	if err != nil {
		return err
	}
	defer dir.Close()
	return untilStopped(func(n int, out io.Writer) error {
		base, err := dir.Read(ctx, target)
		if err != nil {
			return err
		}
		seen, ok := parse(base.Data)
		if !ok { // an editor was writing
			fmt.Fprintln(out, "half")
			return nil
		}
		fmt.Fprintln(out, "number", owner, n, seen.counters[owner])
		file, err := dir.Edit(ctx, base, marker(owner, seen.counters[owner]), marker(owner, n))
		for _, name := range append(file.Kept, files.Kept(err)...) {
			fmt.Fprintln(out, "kept", name)
		}
		if errors.Is(err, &fault.Error{Code: fault.FileChangedSinceRead}) {
			return nil
		}
		if err != nil {
			return err
		}
		after, ok := parse(file.Data)
		before := after.with(owner, seen.counters[owner])
		how := map[bool]string{false: "direct", true: "carried"}[file.Carried]
		switch {
		case !ok || after.counters[owner] != n:
			return fmt.Errorf("acknowledged is %q", file.Data)
		case !file.Carried && sumOf([]byte(before.text())) != base.SHA256:
			return fmt.Errorf("%s is not base %s with the number %d of %s", after.save, base.SHA256, n, owner)
		}
		fmt.Fprintln(out, how, after.save, before.save)
		return nil
	})
}

// FD-01: a program on core/files beside eight writers, half of them sessions and half such programs,
// and two editors that do not cooperate: no save is lost, as in TestEditorsAndRebases.
func TestEditorsAndFiles(t *testing.T) {
	writers := map[string]string{program: "program"}
	for i := range patchers {
		writers[fmt.Sprint("F", i)] = []string{"rebaser", "program"}[i%2]
	}
	raceApart(t, writers)
}
