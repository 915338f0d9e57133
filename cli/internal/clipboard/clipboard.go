// Package clipboard reads an image from the clipboard of the desktop, by a program of
// the system. It runs that program for a limited time and reads a limited number of
// bytes.
package clipboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// MaxBytes limits an image.
	MaxBytes = 10 << 20
	// readTime limits the time of a program.
	readTime = 5 * time.Second
	// closeTime is the further time until its output is closed.
	closeTime = time.Second
)

// ErrNone is returned if the clipboard has no image.
var ErrNone = errors.New("the clipboard has no image")

// Reader reads the clipboard.
type Reader struct {
	OS   string                               // as runtime.GOOS
	Look func(program string) (string, error) // finds a program, as [exec.LookPath]
}

// commands returns the programs of a system that write a PNG image of the clipboard to
// their output, and the advice if all are missing.
func commands(system string) (all [][]string, install string) {
	switch system {
	case "darwin":
		return [][]string{{"pngpaste", "-"}}, "pngpaste"
	case "windows":
		return nil, ""
	}
	return [][]string{
		{"wl-paste", "--no-newline", "--type", "image/png"},
		{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"},
	}, "wl-clipboard (Wayland) or xclip (X11)"
}

// Image returns the image of the clipboard. The error is [ErrNone], that of ctx, or names
// the program to install or the limit.
func (r Reader) Image(ctx context.Context) ([]byte, error) {
	all, install := commands(r.OS)
	if install == "" {
		return nil, errors.New("images of the clipboard cannot be read on this system: save the image and type @ and its path")
	}
	found := false
	for _, command := range all {
		path, err := r.Look(command[0])
		if err != nil {
			continue
		}
		found = true
		data, err := output(ctx, path, command[1:])
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errTooLong):
			return nil, err
		case err == nil && Type(data) != "":
			return data, nil
		}
	}
	if !found {
		return nil, fmt.Errorf("no program reads images of the clipboard: install %s", install)
	}
	return nil, ErrNone
}

var errTooLong = fmt.Errorf("the image is larger than %d MiB", MaxBytes>>20)

// output returns the output of a program.
func output(ctx context.Context, path string, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // a program of the table above
	cmd.WaitDelay = closeTime
	var out limited
	cmd.Stdout = &out
	err := cmd.Run()
	if out.exceeded {
		return nil, errTooLong
	}
	return out.data, err
}

// limited keeps what is written, and fails beyond MaxBytes, which ends the program.
type limited struct {
	data     []byte
	exceeded bool
}

func (l *limited) Write(p []byte) (int, error) {
	if len(l.data)+len(p) > MaxBytes {
		l.exceeded = true
		return 0, io.ErrShortWrite
	}
	l.data = append(l.data, p...)
	return len(p), nil
}

// Type returns the media type of an image that models accept, by its first bytes; "" for
// other data.
func Type(data []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return kind
	}
	return ""
}
