package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxFile is the size in bytes of the largest file that is replayed.
const maxFile = 1 << 20

// histories holds the versions of files by name, the oldest first. Consecutive ones differ.
type histories map[string][]string

// add adds a version of a file, unless it is not text.
func (h histories) add(name, content string) {
	if len(content) > maxFile || !utf8.ValidString(content) || strings.ContainsRune(content, 0) {
		return
	}
	if had := h[name]; len(had) == 0 || had[len(had)-1] != content {
		h[name] = append(had, content)
	}
}

func (h histories) sorted() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if !yield(name, h[name]) {
				return
			}
		}
	}
}

// defaultModules returns the modules that are replayed if none is named.
func defaultModules() []string {
	return []string{
		"github.com/BurntSushi/toml", "github.com/fsnotify/fsnotify", "github.com/gin-gonic/gin", "github.com/go-chi/chi/v5",
		"github.com/google/go-cmp", "github.com/google/uuid", "github.com/gorilla/mux", "github.com/hashicorp/go-version",
		"github.com/klauspost/compress", "github.com/labstack/echo/v4", "github.com/rogpeppe/go-internal", "github.com/rs/zerolog",
		"github.com/sirupsen/logrus", "github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/spf13/viper",
		"github.com/stretchr/testify", "github.com/urfave/cli/v2", "go.uber.org/zap", "golang.org/x/mod",
		"golang.org/x/tools", "mvdan.cc/sh/v3",
	}
}

// moduleHistories returns the files of a module's latest releases.
func moduleHistories(ctx context.Context, module string, releases int) (histories, error) {
	out, err := goCommand(ctx, "list", "-m", "-versions", "-f", "{{join .Versions \" \"}}", module)
	if err != nil {
		return nil, err
	}
	versions := slices.DeleteFunc(strings.Fields(string(out)), func(v string) bool { return strings.ContainsAny(v, "-+") })
	versions = versions[max(0, len(versions)-releases):]
	if len(versions) < 3 {
		return nil, fmt.Errorf("it has only %d releases", len(versions))
	}
	args := []string{"mod", "download", "-json"}
	for _, v := range versions {
		args = append(args, module+"@"+v)
	}
	if out, err = goCommand(ctx, args...); err != nil {
		return nil, err
	}
	zips := map[string]string{} // by version
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Version, Zip string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		zips[m.Version] = m.Zip
	}
	h := histories{}
	for _, v := range versions {
		if err := h.addZip(zips[v], module+"@"+v+"/"); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// goCommand runs the go command outside of any module.
func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

func (h histories) addZip(path, prefix string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if f.UncompressedSize64 > maxFile {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
		h.add(strings.TrimPrefix(f.Name, prefix), string(data))
	}
	return nil
}

// gitHistories returns the files of the first-parent history of a repository.
func gitHistories(ctx context.Context, dir string) (histories, error) {
	log := exec.CommandContext(ctx, "git", "-C", dir, "log", "--first-parent", "-m", "--reverse", "--raw", "--no-abbrev", "--no-renames", "--format=")
	log.Stderr = os.Stderr
	out, err := log.Output()
	if err != nil {
		return nil, err
	}
	var names, blobs []string
	for line := range strings.Lines(string(out)) { // :100644 100644 BEFORE AFTER M\tNAME
		about, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if fields := strings.Fields(about); len(fields) == 5 && strings.HasPrefix(fields[1], "100") {
			names, blobs = append(names, name), append(blobs, fields[3])
		}
	}
	cat := exec.CommandContext(ctx, "git", "-C", dir, "cat-file", "--batch")
	cat.Stdin = strings.NewReader(strings.Join(blobs, "\n") + "\n")
	cat.Stderr = os.Stderr
	pipe, err := cat.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cat.Start(); err != nil {
		return nil, err
	}
	h := histories{}
	err = func() error {
		r := bufio.NewReader(pipe)
		for _, name := range names {
			head, err := r.ReadString('\n') // SHA blob SIZE
			if err != nil {
				return err
			}
			fields := strings.Fields(head)
			size, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				return fmt.Errorf("git cat-file printed %q", head)
			}
			data := make([]byte, size+1)
			if _, err := io.ReadFull(r, data); err != nil {
				return err
			}
			h.add(name, string(data[:size]))
		}
		return nil
	}()
	if err != nil {
		_ = cat.Process.Kill() // err is reported
	}
	return h, errors.Join(err, cat.Wait())
}
