// Command release writes the files of a release besides the programs: the manual, a
// page for each command, shell completion scripts, and the list of modules that a
// program was linked from.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/fettle-dev/fettle/cli"
)

func main() {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	to := flags.String("to", ".release", "the `directory` to write man/man1 and completions into")
	date := flags.String("date", "", "the `date` of the manual, as 2006-01-02, with or without a time after it; empty: today")
	program := flags.String("sbom", "", "instead, write the list of this `program`'s modules in CycloneDX JSON")
	out := flags.String("out", "", "the `file` of that list; empty: the program's name with .cdx.json")
	_ = flags.Parse(os.Args[1:]) // it exits on errors
	var err error
	switch {
	case flags.NArg() > 0:
		fmt.Fprintf(os.Stderr, "release: unknown argument %q; see -help\n", flags.Arg(0))
		os.Exit(2)
	case *program != "":
		if *out == "" {
			*out = *program + ".cdx.json"
		}
		err = writeSBOM(*program, *out)
	default:
		err = write(*to, *date)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// write creates missing directories and replaces existing files. Equal sources and
// dates give equal files.
func write(to, date string) error {
	day := time.Now()
	if date != "" {
		var err error
		if day, err = time.Parse(time.DateOnly, date[:min(len(date), len(time.DateOnly))]); err != nil {
			return fmt.Errorf("the date: %w", err)
		}
	}
	manual := filepath.Join(to, "man", "man1")
	if err := writeManual(cli.CommandTree(), manual, day); err != nil {
		return err
	}
	if err := writeGuardManual(manual, day); err != nil {
		return err
	}
	return writeCompletions(cli.CommandTree(), filepath.Join(to, "completions"))
}

// writeManual writes a man page for each command, such as fettle-mcp-add.1.
func writeManual(root *cobra.Command, dir string, day time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tidy(root)
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "fettle", Manual: "fettle", Date: &day}, dir)
}

// tidy removes the line with the generator and the date of a page.
func tidy(c *cobra.Command) {
	c.DisableAutoGenTag = true
	for _, sub := range c.Commands() {
		tidy(sub)
	}
}

// writeCompletions writes each script with the name that its shell expects.
func writeCompletions(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, generate := range map[string]func(io.Writer) error{
		"fettle.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_fettle":     root.GenZshCompletion,
		"fettle.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"fettle.ps1":  root.GenPowerShellCompletionWithDesc,
	} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		err = generate(file)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
