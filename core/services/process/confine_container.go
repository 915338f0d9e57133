package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// container starts a command in a container of its own. The started process is the container
// runtime, as in docker run.
type container struct {
	s       *Service
	program string
	env     []string // of the runtime
	name    string   // of the container; "" before it starts
	mark    string   // a non-empty file until the command itself begins
	halted  bool     // the Service ended it
	began   bool     // the command itself began; known once the runtime has ended
}

func (b *container) removed() ([]string, error) { return nil, nil }
func (b *container) visible(pids []int) []int   { return pids }

// program returns the path of the container runtime.
func (c Confinement) program() (string, error) {
	const remedy = "Set the container program, such as podman, and the image."
	switch {
	case c.Program == "":
		return "", unsupported("Commands are configured to run in a container, but no container program is set.", remedy)
	case c.Image == "":
		return "", unsupported("Commands are configured to run in a container, but no image is set.", remedy)
	case strings.HasPrefix(c.Image, "-"):
		return "", unsupported(fmt.Sprintf("%.80q is not a valid image name.", c.Image), remedy)
	}
	path, err := exec.LookPath(c.Program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", unsupported(fmt.Sprintf("Commands are configured to run in a container, but its program cannot be run: %v.", err),
			"Install the program, or set a different one.")
	}
	return path, shareable(c.Writable...)
}

// shareable returns an error for a directory whose path the mount option would split.
func shareable(dirs ...string) error {
	for _, directory := range dirs {
		if strings.Contains(directory, ":") {
			return unsupported(fmt.Sprintf("The directory %s cannot be shared with a container, as its path has a colon.", directory),
				"Rename the directory, or use another kind of confinement.")
		}
	}
	return nil
}

// begin replaces the command, a shell with -c and a line, by a container that runs it, and starts
// that.
func (b *container) begin(cmd *exec.Cmd) error {
	c := b.s.confinement()
	program, err := c.program()
	if err == nil {
		err = c.dirs()
	}
	if err != nil {
		return err
	}
	real, err := b.s.scratch.writable(c.Writable)
	if err != nil {
		return err
	}
	dir, err := b.s.scratch.directory()
	if err == nil {
		err = shareable(append(real, dir, cmd.Dir)...)
	}
	if err != nil {
		return err
	}
	id := b.s.o.Marker + "_COMMAND_ID"
	cookie := variable(cmd.Env, id)
	name := "fettle-" + cookie[strings.LastIndexByte(cookie, ':')+1:]
	b.program, b.mark = program, filepath.Join(dir, "."+name)
	if err := os.WriteFile(b.mark, []byte("1"), 0o600); err != nil {
		return err
	}
	// The runtime's own processes do not belong to the command.
	b.env = slices.DeleteFunc(slices.Clone(cmd.Env), func(v string) bool { return strings.HasPrefix(v, id+"=") })

	args := []string{program, "run", "--rm", "--init", "-i", "--name", name}
	if f, ok := cmd.Stdin.(*os.File); ok && isTerminal(f) {
		args = append(args, "-t")
	}
	args = append(args, b.user(dir)...)
	args = append(args, b.mounts(real, dir, cmd.Dir)...)
	for _, variable := range append(b.variables(cmd.Env), temporary(dir)...) {
		args = append(args, "-e", variable)
	}
	if c.NoTCP {
		args = append(args, "--network", "none")
	}
	const first = `: 2>/dev/null >"$0"; exec bash -c "$1"` // the mark, then the line
	// An image may set an entrypoint, which would receive bash as an argument.
	args = append(args, "--entrypoint", "bash", c.Image, "-c", first, b.mark, cmd.Args[len(cmd.Args)-1])
	cmd.Path, cmd.Args, cmd.Env = program, args, b.env
	if err := cmd.Start(); err != nil {
		_ = os.Remove(b.mark)
		return err
	}
	b.name = name
	return nil
}

// isTerminal reports whether a command's input, a pipe or a terminal, is a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// mounts returns the options that mount directories into the container at the same paths. real are
// the resolved writable directories. /tmp is the container's own.
func (b *container) mounts(real []string, temporary, dir string) []string {
	dirs := []string{temporary}
	volumes := []string{"-v", temporary + ":" + temporary}
	for i, directory := range b.s.confinement().Writable {
		if directory = filepath.Clean(directory); !slices.Contains(dirs, directory) {
			dirs = append(dirs, directory)
			volumes = append(volumes, "-v", real[i]+":"+directory)
		}
	}
	if !holds(dirs, dir) {
		volumes = append(volumes, "-v", dir+":"+dir+":ro")
	}
	if !slices.Contains(dirs, "/tmp") {
		volumes = append([]string{"--tmpfs", "/tmp"}, volumes...)
	}
	return append(volumes, "-w", dir)
}

// variables returns the variables that were added for the command, without those of the machine.
func (b *container) variables(env []string) []string {
	var all []string
	for _, name := range []string{b.s.o.Marker, b.s.o.Marker + "_COMMAND_ID", "PWD", "PAGER", "GIT_PAGER", "TERM"} {
		if value := variable(env, name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// user returns the options that make the user own the files that a command creates. podman can map
// its user into the container; other runtimes run the container as the user. Root is root in both.
func (b *container) user(home string) []string {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid <= 0 || runtime.GOOS != "linux" {
		return nil
	}
	if version := b.ask(versionLimit, "--version"); strings.Contains(version, "podman") {
		return []string{"--userns=keep-id"}
	}
	return []string{"--user", fmt.Sprintf("%d:%d", uid, gid), "-e", "HOME=" + home}
}

// Time limits for the runtime to answer, and to end a container.
const (
	versionLimit = 5 * time.Second
	endLimit     = 10 * time.Second
)

// ask runs the runtime with arguments, for at most limit, and returns its output.
func (b *container) ask(limit time.Duration, args ...string) string {
	cmd := exec.Command(b.program, args...) //nolint:gosec,noctx // the user's own program; the timer ends it
	cmd.Env, cmd.WaitDelay = b.env, time.Second
	var out strings.Builder
	cmd.Stdout = &out
	if cmd.Start() != nil {
		return ""
	}
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	return out.String()
}

// halt ends the container, which outlives the runtime process.
func (b *container) halt() {
	if b.name == "" || b.halted {
		return
	}
	b.halted = true
	b.ask(endLimit, "kill", b.name)
}

// ended records whether the command itself had begun. If the runtime process ended before the
// container, ended also ends and removes the container, because nothing else would.
func (b *container) ended(e Exit) {
	if b.name == "" {
		return
	}
	if e.Code < 0 {
		b.halt()
	}
	if b.halted {
		b.ask(endLimit, "rm", "-f", b.name)
	}
	info, err := os.Stat(b.mark)
	b.began = err != nil || info.Size() == 0
	_ = os.Remove(b.mark)
}

// failure distinguishes a failure of the runtime from a command with the same exit code.
func (b *container) failure(r Result) error {
	const own = 125 // exit code of docker and podman for their own failures
	if r.Ending != "" || r.Code != own || b.began {
		return nil
	}
	output := cmp.Or(strings.TrimSpace(r.Text), "no output")
	return fault.Wrap(fault.ShellExecuteError, confining,
		fmt.Sprintf("The command was not run: %s could not run a container of the image %s: %s", b.s.confinement().Program, b.s.confinement().Image, output),
		"Tell the user that commands cannot be run in a container.", errors.New("exit code 125"))
}
