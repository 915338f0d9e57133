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

// container starts a command in a container of its own. The process that is
// begun is the program that runs it, as docker run.
type container struct {
	s       *Service
	program string
	env     []string // of the program
	name    string   // of the container; "" until it is begun
	mark    string   // file that holds something until the command itself begins
	halted  bool     // by us
	began   bool     // the command itself; known once the program has ended
}

// program returns the path of what runs containers.
func (c Confinement) program() (string, error) {
	const remedy = "Set the program that runs containers, as podman, and the image."
	switch {
	case c.Program == "":
		return "", unsupported("Commands are to run in a container, and no program that runs it is set.", remedy)
	case c.Image == "":
		return "", unsupported("Commands are to run in a container, and no image for it is set.", remedy)
	case strings.HasPrefix(c.Image, "-"):
		return "", unsupported(fmt.Sprintf("%.80q is no name of an image.", c.Image), remedy)
	}
	path, err := exec.LookPath(c.Program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", unsupported(fmt.Sprintf("Commands are to run in a container, and its program cannot be run: %v.", err),
			"Install the program, or set another one.")
	}
	return path, shareable(c.Writable...)
}

// shareable reports a directory that the option for it would take for two.
func shareable(folders ...string) error {
	for _, folder := range folders {
		if strings.Contains(folder, ":") {
			return unsupported(fmt.Sprintf("The directory %s cannot be shared with a container, as its path has a colon.", folder),
				"Rename the directory, or confine commands in another way.")
		}
	}
	return nil
}

// begin turns the command, which is a shell with -c and a line, into the run of
// a container, and starts that.
func (b *container) begin(cmd *exec.Cmd) error {
	c := &b.s.o.Confinement
	program, err := c.program()
	if err == nil {
		err = c.folders()
	}
	if err != nil {
		return err
	}
	real, err := b.s.scratch.writable(c.Writable)
	if err != nil {
		return err
	}
	dir, err := b.s.scratch.folder()
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
	// The program's own processes are not the command's.
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
	// An image may name a program of its own, which would take bash for an argument.
	args = append(args, "--entrypoint", "bash", c.Image, "-c", first, b.mark, cmd.Args[len(cmd.Args)-1])
	cmd.Path, cmd.Args, cmd.Env = program, args, b.env
	if err := cmd.Start(); err != nil {
		_ = os.Remove(b.mark)
		return err
	}
	b.name = name
	return nil
}

// isTerminal reports whether a command's input, which is a pipe or a terminal,
// is the latter.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// mounts returns the options that share directories with the container, at the same
// paths. real are where the writable ones lead. /tmp is the container's own.
func (b *container) mounts(real []string, temporary, dir string) []string {
	folders := []string{temporary}
	volumes := []string{"-v", temporary + ":" + temporary}
	for i, folder := range b.s.o.Confinement.Writable {
		if folder = filepath.Clean(folder); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
			volumes = append(volumes, "-v", real[i]+":"+folder)
		}
	}
	if !holds(folders, dir) {
		volumes = append(volumes, "-v", dir+":"+dir+":ro")
	}
	if !slices.Contains(folders, "/tmp") {
		volumes = append([]string{"--tmpfs", "/tmp"}, volumes...)
	}
	return append(volumes, "-w", dir)
}

// variables returns the variables of a command that are not the machine's.
func (b *container) variables(env []string) []string {
	var all []string
	for _, name := range []string{b.s.o.Marker, b.s.o.Marker + "_COMMAND_ID", "PWD", "PAGER", "GIT_PAGER", "TERM"} {
		if value := variable(env, name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// user returns the options with which the files that a command makes are the
// user's: podman maps its user to the one in the container if it is told to,
// and others run the container as the user. Root is root in both.
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

// How long the program may take to answer, and to end a container.
const (
	versionLimit = 5 * time.Second
	endLimit     = 10 * time.Second
)

// ask runs the program with arguments, for at most limit, and returns what it
// prints.
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

// halt ends the container: it outlives the program that runs it.
func (b *container) halt() {
	if b.name == "" || b.halted {
		return
	}
	b.halted = true
	b.ask(endLimit, "kill", b.name)
}

// ended notes whether the command itself had begun. Where its program was ended
// before the container, that is ended too, and removed: nobody else would.
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

// failure tells the program's own failure from a command that ended with the
// same code.
func (b *container) failure(r Result) error {
	const own = 125 // by which docker and podman say that it was not the command
	if r.Ending != "" || r.Code != own || b.began {
		return nil
	}
	said := cmp.Or(strings.TrimSpace(r.Text), "it said nothing")
	return fault.Wrap(fault.ShellExecuteError, confining,
		fmt.Sprintf("The command was not run: %s could not run a container of the image %s: %s", b.s.o.Confinement.Program, b.s.o.Confinement.Image, said),
		"Tell the user that commands cannot be run in a container.", errors.New("exit code 125"))
}
