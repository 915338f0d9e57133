package process

import (
	"os"
	"os/exec"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// platform is the state of a child on Windows: a process in a job that contains every process that
// it starts. The job ends with the shell, so a command leaves nothing running; there is no polite
// termination signal. This file is built but not tested.
type platform struct{ job windows.Handle }

// group is empty: nothing is left running.
type group struct{}

func (g group) empty() bool { return true }

func (g group) pids() []int { return nil }

func (c *child) launch(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))) //nolint:gosec // the call takes it so
	if err == nil {
		err = c.begin(cmd)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	c.job = job
	_ = cmd.Process.WithHandle(func(handle uintptr) { // on failure only the shell is ended
		_ = windows.AssignProcessToJobObject(job, windows.Handle(handle))
	})
	return nil
}

func (p *platform) awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() } // the process state has the details

func (p *platform) terminate() { p.kill() }

func (p *platform) kill() { _ = windows.TerminateJobObject(p.job, 1) }

func (p *platform) lives() bool { return false }

// beforeFinish ends the processes that still hold the output, because pipes have no deadlines on
// Windows.
func (p *platform) beforeFinish() { p.kill() }

func (p *platform) leftBehind(time.Duration) group { return group{} }

func (p *platform) reap(cmd *exec.Cmd) Exit {
	_ = windows.CloseHandle(p.job)
	return exitOf(cmd.ProcessState)
}

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	return Exit{Code: state.ExitCode()}
}

func endLeft([]group, string, time.Duration) {}
