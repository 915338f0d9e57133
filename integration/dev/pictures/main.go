// Command pictures plays sessions of fettle in a terminal and writes their screens into
// docs/pictures, as SVG. The model's turns come from a script; the program, its tools and the
// terminal are real.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	to := flag.String("to", "../../docs/pictures", "the `directory` to write the pictures into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := write(ctx, *to); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// write plays every scene and writes its picture.
func write(ctx context.Context, to string) error {
	bin, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	program := filepath.Join(bin, "fettle")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/fettle-dev/fettle/cli/fettle").CombinedOutput(); err != nil {
		return fmt.Errorf("build fettle: %w\n%s", err, out)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, s := range scenes() {
		frames, err := s.play(ctx, program)
		if err != nil {
			return fmt.Errorf("the scene %s: %w", s.name, err)
		}
		if err := os.WriteFile(filepath.Join(to, s.name+".svg"), []byte(picture(s, frames)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
