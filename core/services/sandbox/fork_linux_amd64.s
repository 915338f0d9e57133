#include "textflag.h"

// func rawClone(flags uintptr, parentTID *int32) (pid, errno uintptr)
//
// The child runs on the same stack while the parent is suspended, and overwrites the return
// address. It is therefore kept in a register, which the kernel preserves.
TEXT ·rawClone(SB),NOSPLIT|NOFRAME,$0-32
	MOVQ	flags+0(FP), DI
	MOVQ	parentTID+8(FP), DX
	MOVQ	$0, SI
	MOVQ	$0, R10
	MOVQ	$0, R8
	MOVQ	$0, R9
	MOVQ	$56, AX // clone
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	CMPQ	AX, $0xfffffffffffff001
	JLS	started
	MOVQ	$0, pid+16(FP)
	NEGQ	AX
	MOVQ	AX, errno+24(FP)
	RET
started:
	MOVQ	AX, pid+16(FP)
	MOVQ	$0, errno+24(FP)
	RET
