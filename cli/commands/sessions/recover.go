package sessions

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// movedAway returns the directories of protected paths that were moved away.
func movedAway(c *config.Config) (dirs []string) {
	storage, err := c.Storage()
	if err != nil || storage.ProjectTempDir == "" {
		return nil
	}
	dirs, _ = filepath.Glob(filepath.Join(storage.ProjectTempDir, "cache", "removed", "*", "*"))
	for i, dir := range dirs {
		for { // the path in the workspace follows
			below, err := os.ReadDir(dir)
			if err != nil || len(below) != 1 || !below[0].IsDir() {
				break
			}
			dir = filepath.Join(dir, below[0].Name())
		}
		dirs[i] = dir
	}
	return dirs
}

// RecoverCommand returns the fettle recover command.
func RecoverCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "recover",
		Short: "Complete or undo writes that a killed run left unfinished",
		Long: `Completes or undoes the writes to files of this project that a killed run left
unfinished, as every session does at its start. A set of changes is undone, or
completed if only temporary files were left. Changes of other programs are kept. The
exit code is 0 also if there is nothing to do, and 1 if a write stays unresolved.

Lists the protected files that were moved away because a confined process created
them, or may have, and where they are kept. Move those back that are yours, and remove
the others.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
				left, err := s.Config().Recover(ctx)
				unresolved, notices := false, 0
				for _, l := range left {
					if notice := program.LeftoverNotice(l); notice != "" {
						fmt.Fprintln(p.Out, display.Line(p.Masked(notice)))
						notices++
					}
					unresolved = unresolved || l.State == commit.LeftoverUnresolved
				}
				for _, kept := range movedAway(s.Config()) {
					fmt.Fprintln(p.Out, display.Line(p.Masked("A protected path was moved away, because a confined process may have created it: "+kept)))
					notices++
				}
				switch {
				case ctx.Err() != nil:
					return program.Interrupted()
				case err != nil:
					return err
				case unresolved:
					return &program.ExitError{Code: program.ExitToolError}
				case notices == 0:
					fmt.Fprintln(p.Out, "There is nothing to recover.")
				}
				return nil
			})
		},
	}
}
