package integration_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is a program for the scripts,
//
//	terminal AHEAD ANSWERS PROGRAM ARGS…
//
// It runs PROGRAM with a terminal as its stderr; its stdin and stdout stay as they are. AHEAD is
// typed before the program starts. When the program asks a question, the next letter of ANSWERS is
// typed twice: as a line, and at once again. The letter C is Ctrl-C. The output of the terminal
// goes to stderr, and the exit code is that of PROGRAM.
func terminal() {
	code, err := runInTerminal(os.Args[1], os.Args[2], exec.Command(os.Args[3], os.Args[4:]...))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 125
	}
	os.Exit(code)
}

func runInTerminal(ahead, answers string, program *exec.Cmd) (int, error) {
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return 0, err
	}
	defer user.Close()
	fd := int(user.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return 0, err
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return 0, err
	}
	if _, err := user.WriteString(ahead); err != nil {
		return 0, err
	}
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, tty
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	err = program.Start()
	tty.Close()
	if err != nil {
		return 0, err
	}
	prompt := regexp.MustCompile(`(\[n\](\x1b\[0m)?o|your own answer|your answer.*) > `)
	var unanswered []byte
	chunk := make([]byte, 4096)
	for {
		n, err := user.Read(chunk)
		if err != nil { // the program has ended
			break
		}
		os.Stderr.Write(chunk[:n])
		unanswered = append(unanswered, chunk[:n]...)
		at := prompt.FindIndex(unanswered)
		if at == nil {
			continue
		}
		if answers == "" {
			_ = program.Process.Kill()
			break
		}
		unanswered = unanswered[at[1]:]
		keys := answers[:1] + "\n" + answers[:1] + "\n"
		if answers[0] == 'C' {
			keys = "\x03"
		}
		if answers[0] == 'D' {
			keys = "\x04"
		}
		if _, err := user.WriteString(keys); err != nil {
			return 0, err
		}
		answers = answers[1:]
	}
	err = program.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
