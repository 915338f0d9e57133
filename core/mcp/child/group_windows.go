package child

import (
	"fmt"
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a program and its descendants: a job object that contains all of them
// and ends with this process. Windows has no signal for a polite request. This is
// compiled but untested.
type group struct{ job windows.Handle }

func launch(cmd *exec.Cmd, start func(*exec.Cmd) error) (group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return group{}, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))) //nolint:gosec // the call takes it so
	if err == nil {
		err = start(cmd)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return group{}, err
	}
	_ = cmd.Process.WithHandle(func(handle uintptr) { // on failure only the program itself is terminated
		_ = windows.AssignProcessToJobObject(job, windows.Handle(handle))
	})
	return group{job}, nil
}

func (g group) terminate()  { g.kill() }
func (g group) kill()       { _ = windows.TerminateJobObject(g.job, 1) }
func (g group) release()    { _ = windows.CloseHandle(g.job) }
func (g group) lives() bool { return false }

func ending(state *os.ProcessState) string {
	return fmt.Sprintf("exited with status %d", state.ExitCode())
}

func executable(info os.FileInfo) bool { return info.Mode().IsRegular() }
