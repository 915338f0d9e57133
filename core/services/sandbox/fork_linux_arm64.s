#include "textflag.h"

// func rawClone(flags uintptr, parentTID *int32) (pid, errno uintptr)
//
// The child runs on the same stack while the parent is suspended. The return address stays in the
// link register.
TEXT ·rawClone(SB),NOSPLIT,$0-32
	MOVD	flags+0(FP), R0
	MOVD	$0, R1
	MOVD	parentTID+8(FP), R2
	MOVD	$0, R3
	MOVD	$0, R4
	MOVD	$0, R5
	MOVD	$220, R8 // clone
	SVC
	CMN	$4095, R0
	BCC	started
	MOVD	$0, R4
	MOVD	R4, pid+16(FP)
	NEG	R0, R0
	MOVD	R0, errno+24(FP)
	RET
started:
	MOVD	R0, pid+16(FP)
	MOVD	$0, R4
	MOVD	R4, errno+24(FP)
	RET
