//go:build linux && (amd64 || arm64)

package sandbox

import (
	"runtime"
	"strings"
	"syscall"
	"unsafe" // also for go:linkname

	"golang.org/x/sys/unix"
)

// op is one step of a child: a system call, or one of the pseudo calls below.
type op struct {
	nr   uintptr
	a    [6]uintptr
	arg  int           // argument 0 is the result of the step that saved to this slot; 0: it is a[0]
	save int           // the slot for the result; 0: none
	mem  *int32        // receives the value of slot arg, for opStore
	may  syscall.Errno // this error is ignored; 0: none
	skip bool          // ignore every error
	what string        // the step, for errors
}

// Pseudo calls.
const (
	opStore   = ^uintptr(iota) // copies a slot to memory
	opSignals                  // sets the handlers of signals to the default and unblocks signals
	opFork                     // continues in a sibling, and ends this child
)

// program is a list of steps that a child performs. The child shares the memory of this process,
// which is suspended in the meantime, and must not allocate, grow its stack or take a lock.
type program struct {
	ops    []op
	keep   []any // memory that steps refer to
	slots  []uintptr
	used   int
	bad    bool  // a string contains a zero byte
	held   []int // numbers of descriptors that only steps use
	pid    int32 // of the sibling that opFork started
	failed int   // the number of the failed step, from 1; 0: none
	errno  syscall.Errno
}

//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

//go:noescape
func rawClone(flags uintptr, parentTID *int32) (pid, errno uintptr)

// cloning are the flags of every child: it shares memory with this process, whose thread is
// suspended until the child has ended or executed a program.
const cloning = unix.CLONE_VFORK | unix.CLONE_VM

// run performs the program in a child and waits until it has ended, or has been replaced by the
// executed program. It returns the ID of the child's last process: that of the sibling if the
// program has opFork. A child that did not execute a program has been reaped.
func (p *program) run() (pid int, err error) {
	if p.bad {
		return 0, &Error{Step: "pass arguments", Err: syscall.EINVAL}
	}
	p.slots = make([]uintptr, p.used+1)
	syscall.ForkLock.Lock()
	first, errno := spawn(p)
	runtimeAfterFork()
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(p)
	if errno != 0 {
		return 0, &Error{Step: "start a process", Err: syscall.Errno(errno)}
	}
	executes := len(p.ops) > 0 && p.ops[len(p.ops)-1].nr == unix.SYS_EXECVE
	pid = int(first) //nolint:gosec // an ID
	if p.pid != 0 {
		reap(pid)
		pid = int(p.pid)
	}
	if p.failed != 0 {
		reap(pid)
		return 0, &Error{Step: p.ops[p.failed-1].what, Err: p.errno}
	}
	if !executes {
		reap(pid)
	}
	return pid, nil
}

// reap waits for a process that has ended or is about to.
func reap(pid int) {
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR { //nolint:errorlint // a plain errno
			return
		}
	}
}

// spawn starts the child. The parent returns at once, because the child has overwritten this stack
// frame.
//
//go:noinline
//go:norace
//go:nocheckptr
func spawn(p *program) (pid, errno uintptr) {
	var (
		i      int
		o      *op
		result uintptr
		failed uintptr
		err    syscall.Errno
	)
	runtimeBeforeFork()
	pid, errno = rawClone(cloning|uintptr(unix.SIGCHLD), nil)
	if errno != 0 || pid != 0 {
		return
	}
	for i = 0; i < len(p.ops); i++ {
		o = &p.ops[i]
		if o.arg > 0 {
			o.a[0] = p.slots[o.arg]
		}
		result, err = 0, 0
		switch o.nr {
		case opStore:
			*o.mem = int32(o.a[0]) //nolint:gosec // a descriptor
		case opSignals:
			runtimeAfterForkInChild()
		case opFork:
			result, failed = rawClone(cloning|unix.CLONE_PARENT|unix.CLONE_PARENT_SETTID|uintptr(unix.SIGCHLD), &p.pid)
			if err = syscall.Errno(failed); failed == 0 && result != 0 {
				exit(0)
			}
		default:
			result, _, err = syscall.RawSyscall6(o.nr, o.a[0], o.a[1], o.a[2], o.a[3], o.a[4], o.a[5])
		}
		if err != 0 && err != o.may && !o.skip {
			p.failed, p.errno = i+1, err
			exit(1)
		}
		if o.save > 0 {
			p.slots[o.save] = result
		}
	}
	exit(0)
	return
}

// exit ends the child.
//
//go:nosplit
//go:norace
func exit(code uintptr) {
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, code, 0, 0)
	}
}

// call adds a system call.
func (p *program) call(what string, nr uintptr, args ...uintptr) *op {
	o := op{nr: nr, what: what}
	copy(o.a[:], args)
	p.ops = append(p.ops, o)
	return &p.ops[len(p.ops)-1]
}

// slot returns an unused slot.
func (p *program) slot() int {
	p.used++
	return p.used
}

// number returns the number of a descriptor that nothing but steps use until release.
func (p *program) number() (int, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &Error{Step: "reserve a descriptor", Err: err}
	}
	p.held = append(p.held, fd)
	return fd, nil
}

// release releases the descriptors of number.
func (p *program) release() {
	for _, fd := range p.held {
		_ = unix.Close(fd)
	}
	p.held = nil
}

// text returns the address of a string that ends with a zero byte.
func (p *program) text(s string) uintptr {
	b := p.bytes(s)
	p.keep = append(p.keep, b)
	return uintptr(unsafe.Pointer(b))
}

// bytes returns a string with a zero byte at its end.
func (p *program) bytes(s string) *byte {
	p.bad = p.bad || strings.IndexByte(s, 0) >= 0
	b := append([]byte(s), 0)
	return &b[0]
}

// list returns the address of an array of strings that ends with a null pointer.
func (p *program) list(all []string) uintptr {
	pointers := make([]*byte, len(all)+1)
	for i, s := range all {
		pointers[i] = p.bytes(s)
	}
	p.keep = append(p.keep, pointers)
	return uintptr(unsafe.Pointer(&pointers[0]))
}

// address returns the address of a value, which the program keeps alive.
func address[T any](p *program, v *T) uintptr {
	p.keep = append(p.keep, v)
	return uintptr(unsafe.Pointer(v))
}

// from makes a slot argument 0 of the step.
func (o *op) from(slot int) *op { o.arg = slot; return o }

// to saves the result of the step in a slot.
func (o *op) to(slot int) *op { o.save = slot; return o }

// optional ignores an error of the step.
func (o *op) optional(errno syscall.Errno) *op { o.may = errno; return o }

// attempt ignores every error of the step.
func (o *op) attempt() *op { o.skip = true; return o }
